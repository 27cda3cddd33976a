#!/bin/bash
# Check the CUDA plug-in on a real device: the CPU's bits, limits, cancel, reopening, and sessions of a server.
#
#	test/cuda/gpucheck.sh [DEVICE] [SECTION ...]
#
#	ops			every operation, compared with the CPU (gpucheck.c)
#	filter		many queries and many centroids, and the accuracy of the matrix unit (gpucheck_filter.c)
#	sanitizer	small shapes of both under compute-sanitizer: memcheck, initcheck, racecheck
#	regress		pg_regress in a server that prefers the device (test/device.sh)
#	server		sessions on the device, and failures there (test/device.sh)
#
# Without a SECTION, all sections run.  A section runs even if an earlier one failed.  At the end, the script prints one
# line per section, with the result and the seconds.  A section that lacks something it needs is 'not available', which
# is no failure.  A section may take at most HYBRID_GPUCHECK_LIMIT seconds (600).  All sections together may take
# HYBRID_GPUCHECK_ALL seconds, and a section for which no time is left does not run.  A section is ok if its program
# exits with 0 and every test that it planned is ok.  compute-sanitizer must also report no error.
#
# Needs a driver, and the output of `make gpu-programs`, which needs nvcc.  regress and server also need PostgreSQL 15
# where test/server.sh looks for it, and hybrid.so and hybrid_emulated.so, which `make` builds.  If nvcc is found, the
# programs are built first, unless they were copied here without their object files.  Fails if there is no GPU.
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 2
# where the programs and the plug-in are; the fake device's for a test of this script
built=${HYBRID_GPUCHECK_BUILT:-build/cuda}
plugin=$PWD
extent=()
sessions=test/device.sh
# below which PostgreSQL is installed, if not below a directory of its own
root=
[ "${HYBRID_GPU_HOUR-}" != small ] || extent=(small)
if [ "$built" != build/cuda ]; then
	plugin=$built
	sessions=$built/device.sh
	root=${HYBRID_GPUCHECK_ROOT-}
fi
all=(ops filter sanitizer regress server)
limit=${HYBRID_GPUCHECK_LIMIT:-600}
whole=${HYBRID_GPUCHECK_ALL:-0}
device=0
if [[ ${1-} =~ ^[0-9]+$ ]]; then
	device=$1
	shift
fi
for section in "$@"; do
	if [[ " ${all[*]} " != *" $section "* ]]; then
		echo "usage: test/cuda/gpucheck.sh [DEVICE] [SECTION ...]; sections: ${all[*]}"
		exit 2
	fi
done
[ $# -gt 0 ] || set -- "${all[@]}"
wanted=" $* "
programs=("$plugin/hybrid_cuda.so" "$built/gpucheck" "$built/gpucheck_filter")
[ "$built" != build/cuda ] || programs+=("$built/hog")

# missing: the first of the programs that is not there
missing()
{
	local each

	for each in "${programs[@]}"; do
		[ -e "$each" ] || { echo "$each" && return; }
	done
}

if [ -z "$(missing)" ] && [ ! -e "$built/cuda/plugin.o" ]; then
	echo "# the programs that are here are run as they are"
elif [ "$built" = build/cuda ] && [ -n "${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}" ]; then
	make -s -j"$(nproc)" gpu-programs || exit 1
elif [ -n "$(missing)" ]; then
	echo "$(missing) is not built, and nvcc was not found: run 'make gpu-programs' where it is."
	exit 1
fi

said=$(mktemp)
trap 'rm -f "$said"' EXIT
sum=()
failed=0

# verdict NAME WHAT SECONDS
verdict()
{
	sum+=("$(printf '# %-24s %5d s  %s' "$1" "$3" "$2")")
	echo "${sum[-1]}"
}

# not_available NAME WHY
not_available()
{
	verdict "$1" "not available: $2" 0
}

# untested: what is wrong with the tests that were told: nothing where all that were planned are ok
untested()
{
	awk '
		/^1\.\.[0-9]+$/ { plans++; planned = substr($0, 4) + 0 }
		/^ok / { ok++ }
		/^not ok / { not_ok++ }
		END {
			if (not_ok > 0)
				print not_ok " tests not ok"
			else if (plans != 1)
				print "no plan of its tests"
			else if (ok != planned)
				print ok + 0 " tests ok, not " planned
			else if (planned == 0)
				print "no tests"
		}' "$said"
}

# unexamined TOOL: what is wrong with what the sanitizer says of itself in the end.  It counts warnings, such as that two
# threads may meet, but they do not change its exit status
unexamined()
{
	local summary='^========= ERROR SUMMARY: ' clean='0 errors$'

	if [ "$1" = racecheck ]; then
		summary='^========= RACECHECK SUMMARY: '
		clean='0 hazards displayed \(0 errors, 0 warnings\)$'
	fi
	if ! grep -qE "$summary" "$said"; then
		echo "compute-sanitizer has no summary"
	elif grep -E "$summary" "$said" | grep -qvE "$summary$clean"; then
		grep -E "$summary" "$said" | grep -vE "$summary$clean" | head -n 1 | sed 's/^=* //'
	fi
}

# part TOOL NAME COMMAND ...: within its time, whatever became of those before; TOOL is the sanitizer's, or '-'
part()
{
	local tool=$1 name=$2 begin=$SECONDS limit=$limit status trouble

	shift 2
	echo "# $name"
	# what is killed after its limit takes five seconds more
	if [ "$whole" -gt 0 ] && [ $((whole - SECONDS - 5)) -lt "$limit" ]; then
		limit=$((whole - SECONDS - 5))
		if [ "$limit" -lt 1 ]; then
			verdict "$name" "FAILED: not run, the time is over" 0
			failed=1
			return
		fi
	fi
	timeout -k 5 "$limit" "$@" 2>&1 | tee "$said"
	status=${PIPESTATUS[0]}
	[ "$status" = 0 ] || ! grep -q '^no GPU: ' "$said" || exit 1
	trouble=$(untested)
	if [ "$status" = 124 ] || [ "$status" = 137 ]; then
		trouble="no end after $limit s"
	elif [ "$tool" != - ] && grep -q '^========= .*Device not supported' "$said" && ! grep -q '^not ok ' "$said"; then
		verdict "$name" "not available: compute-sanitizer says Device not supported" $((SECONDS - begin))
		return
	elif [ "$status" != 0 ]; then
		trouble="status $status${trouble:+, $trouble}"
	elif [ "$trouble" = "no tests" ] && grep -q '^# not available: ' "$said"; then
		verdict "$name" "$(why_not)" $((SECONDS - begin))
		return
	elif [ -z "$trouble" ] && [ "$tool" != - ]; then
		trouble=$(unexamined "$tool")
	fi
	if [ -n "$trouble" ]; then
		verdict "$name" "FAILED: $trouble" $((SECONDS - begin))
		failed=1
	elif grep -q '^# not available: ' "$said"; then
		verdict "$name" "ok, in part; $(why_not)" $((SECONDS - begin))
	else
		verdict "$name" ok $((SECONDS - begin))
	fi
}

# why_not: what a section says that it could not run
why_not()
{
	sed -n 's/^# not available/not available/p' "$said" | paste -sd ';'
}

# no_server: why there is no PostgreSQL that test/server.sh could start; nothing where there is one
no_server()
{
	local lib=usr/lib/postgresql/15 found below=$root each version

	found=$(realpath "$(command -v postgres)" 2>/dev/null)
	[[ $found != */"$lib/bin/postgres" ]] || below=${found%"/$lib/bin/postgres"}
	if [ ! -x "$below/$lib/bin/postgres" ]; then
		echo "PostgreSQL 15 was not found as $below/$lib/bin/postgres${found:+, and $found does not lie so}"
		return
	fi
	for each in "$lib"/bin/{initdb,pg_ctl,psql} usr/share/postgresql/15; do
		[ -e "$below/$each" ] || { echo "$below/$each was not found" && return; }
	done
	version=$("$below/$lib/bin/postgres" --version 2>&1 | head -n 1)
	[[ $version =~ ^postgres\ \(PostgreSQL\)\ 15([^0-9]|$) ]] ||
		echo "$below/$lib/bin/postgres is not PostgreSQL 15: ${version:-it does not say what it is}"
}

[[ $wanted != *" ops "* ]] || part - ops "$built/gpucheck" "$plugin" "$device" "${extent[@]}"
[[ $wanted != *" filter "* ]] || part - filter "$built/gpucheck_filter" "$plugin" "$device" "${extent[@]}"

if [[ $wanted = *" sanitizer "* ]]; then
	sanitizer=${SANITIZER:-$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)}
	for tool in memcheck racecheck initcheck; do
		options=(--tool "$tool" --error-exitcode 3)
		# who calls looks at what each call said; the runtime asks drivers for what they may lack, and events that have
		# not come yet are no error either
		[ "$tool" != memcheck ] || options+=(--report-api-errors no)
		for program in gpucheck gpucheck_filter; do
			if [ -z "$sanitizer" ]; then
				not_available "$tool $program" "compute-sanitizer was not found"
			else
				part "$tool" "$tool $program" "$sanitizer" "${options[@]}" "$built/$program" "$plugin" "$device" small
			fi
		done
	done
fi

# a server has one device: of those that may be seen, that one
IFS=, read -ra visible <<<"${CUDA_VISIBLE_DEVICES-}"
for section in regress server; do
	[[ $wanted = *" $section "* ]] || continue
	if [ ! -e hybrid.so ]; then
		not_available $section "hybrid.so is not built"
	elif [ -n "$(no_server)" ]; then
		not_available $section "$(no_server)"
	else
		name=regress
		[ $section = regress ] || name=sessions
		part - $section env CUDA_VISIBLE_DEVICES="${visible[device]:-$device}" "$sessions" cuda $name
	fi
done

echo "# in all"
printf '%s\n' "${sum[@]}"
exit $failed
