#!/bin/bash
# The CUDA plug-in on a real device: the same bits as the CPU, limits, cancel, reopening; sessions of a server.
#
#	test/cuda/gpucheck.sh [DEVICE] [SECTION ...]
#
#	ops			every operation, against the CPU (gpucheck.c)
#	filter		many queries and many centroids, and how exact the matrix unit is (gpucheck_filter.c)
#	sanitizer	small shapes of both under compute-sanitizer: memcheck, initcheck, racecheck
#	regress		pg_regress in a server that prefers the device (test/device.sh)
#	server		sessions on the device, and what can go wrong there (the same)
#
# All of them without any; also after one that failed.  At the end there is a line each: what it came to and how many
# seconds that took; what could not run for want of something is 'not available', and no failure.  None may take
# longer than HYBRID_GPUCHECK_LIMIT seconds (600).
#
# Needs a driver, and what `make gpu-programs` builds, which needs nvcc; regress and server also need PostgreSQL 15,
# hybrid.so and hybrid_emulated.so, which `make` builds.  Where nvcc is found, the programs are built first, unless
# they were carried here: without the objects that they were made of.  Fails where there is no GPU.
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 2
# where the programs and the plug-in are; the fake device's for a test of this script
built=${HYBRID_GPUCHECK_BUILT:-build/cuda}
plugin=$PWD
extent=()
if [ "$built" != build/cuda ]; then
	plugin=$built
	extent=(small)
fi
all=(ops filter sanitizer regress server)
limit=${HYBRID_GPUCHECK_LIMIT:-600}
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

# part NAME COMMAND ...: within its time, whatever became of those before
part()
{
	local name=$1 begin=$SECONDS status

	shift
	echo "# $name"
	timeout -k 30 "$limit" "$@" 2>&1 | tee "$said"
	status=${PIPESTATUS[0]}
	if [ "$status" != 0 ] && grep -q 'no GPU' "$said"; then
		exit 1
	elif [ "$status" != 0 ] && grep -qi 'Device not supported' "$said"; then
		verdict "$name" "not available: compute-sanitizer says Device not supported" $((SECONDS - begin))
	elif [ "$status" = 124 ] || [ "$status" = 137 ]; then
		verdict "$name" "FAILED: no end after $limit s" $((SECONDS - begin))
		failed=1
	elif [ "$status" != 0 ]; then
		verdict "$name" "FAILED: status $status" $((SECONDS - begin))
		failed=1
	elif grep -q '^# not available: ' "$said"; then
		verdict "$name" "ok, in part; $(sed -n 's/^# not available/not available/p' "$said" | paste -sd ';')" $((SECONDS - begin))
	else
		verdict "$name" ok $((SECONDS - begin))
	fi
}

[[ $wanted != *" ops "* ]] || part ops "$built/gpucheck" "$plugin" "$device" "${extent[@]}"
[[ $wanted != *" filter "* ]] || part filter "$built/gpucheck_filter" "$plugin" "$device" "${extent[@]}"

if [[ $wanted = *" sanitizer "* ]]; then
	sanitizer=${SANITIZER:-$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)}
	for tool in memcheck initcheck racecheck; do
		options=(--tool "$tool" --error-exitcode 3)
		# who calls looks at what each call said; the runtime asks drivers for what they may lack, and events that have
		# not come yet are no error either
		[ "$tool" != memcheck ] || options+=(--report-api-errors no)
		for program in gpucheck gpucheck_filter; do
			if [ -z "$sanitizer" ]; then
				not_available "$tool $program" "compute-sanitizer was not found"
			else
				part "$tool $program" "$sanitizer" "${options[@]}" "$built/$program" "$plugin" "$device" small
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
	elif [ ! -x /usr/lib/postgresql/15/bin/postgres ] && ! command -v postgres >/dev/null; then
		not_available $section "PostgreSQL 15 was not found"
	else
		name=regress
		[ $section = regress ] || name=sessions
		part $section env CUDA_VISIBLE_DEVICES="${visible[device]:-$device}" test/device.sh cuda $name
	fi
done

echo "# in all"
printf '%s\n' "${sum[@]}"
exit $failed
