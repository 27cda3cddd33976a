#!/bin/bash
# Measures the CUDA plug-in on a real device; CSV to the screen and to bench/results.
#
#	bench/gpu.sh [--quick] [--limit SECONDS] [DEVICE [SECTION ...]]
#
# The sections are those of bench/gpu.c, and 'peers' and 'sql'. 'peers' runs FAISS or PyTorch on the device, if python3
# has one of them. 'sql' runs hybrid_calibrate() and hybrid_audit() in a server, if PostgreSQL is found. A section that
# takes longer than the limit is ended, and the later sections are run. A whole run is kept as
# bench/results/DATE-DEVICE-gpu.csv, any other run under bench/results/local. GPUBENCH_RESULTS names another directory.
# If neither can be written, the results go to a new directory in TMPDIR.
#
# Needs a driver and the output of `make gpu-programs`. If nvcc is found, the script builds that first, unless the
# programs were copied here, that is, their object files are missing. Fails if there is no GPU.
set -uo pipefail

cd "$(dirname "$0")/.." || exit 2
program=build/cuda/gpubench
quick=()
if [ "${1-}" = --quick ]; then
	quick=(--quick)
	shift
fi
limit=0
if [ "${1-}" = --limit ]; then
	limit=$2
	shift 2
fi
device=${1:-0}
shift || true
sections=("$@")
if [ -x $program ] && [ -f hybrid_cuda.so ] && [ ! -e build/cuda/cuda/plugin.o ]; then
	echo "# the programs that are here are run as they are"
elif [ -n "${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}" ]; then
	make -s -j"$(nproc)" gpu-programs || exit 1
elif [ ! -x $program ] || [ ! -f hybrid_cuda.so ]; then
	echo "hybrid_cuda.so and $program are not built, and nvcc was not found: run 'make gpu-programs' where it is."
	exit 1
fi

# wanted SECTION: whether it was asked for, by name or with all
wanted()
{
	[ ${#sections[@]} = 0 ] || [[ " ${sections[*]} " == *" $1 "* ]]
}

# where the tree is somebody else's, results go where this user may write
results=${GPUBENCH_RESULTS:-bench/results}
if ! { mkdir -p "$results/local" && [ -w "$results" ] && [ -w "$results/local" ]; } 2>/dev/null; then
	[ -z "${GPUBENCH_RESULTS:-}" ] || echo "# $results cannot be written"
	results=$(mktemp -d "${TMPDIR:-/tmp}/gpubench.XXXXXX") && mkdir "$results/local" || exit 1
	echo "# results go to $results"
fi
now=$(date -u +%Y%m%dT%H%M%SZ)
output=$results/local/gpu-$now.csv
# those of the program; yardsticks are always measured, so they alone say only that not all are
own=()
[ ${#sections[@]} = 0 ] || own=(yardsticks)
for section in "${sections[@]}"; do
	[ "$section" = peers ] || [ "$section" = sql ] || own+=("$section")
done
# a bundle that was carried here says of which commit it is
commit=$(cat commit 2>/dev/null || git -c safe.directory="$PWD" describe --always --dirty 2>/dev/null || echo unknown)
echo "# $(date -u +%FT%TZ), commit $commit" | tee "$output"

# where pip has put cuBLAS and what it needs, it is in nobody's path
libraries=$(python3 - 2>/dev/null <<-'EOF'
	import glob, importlib.util, os
	places = importlib.util.find_spec("nvidia").submodule_search_locations
	found = [os.path.dirname(f) for p in places for f in sorted(glob.glob(p + "/*/lib/libcublas.so.1*"))]
	print(found[-1] if found else "")
	EOF
) || libraries=
if [ -n "$libraries" ]; then
	export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$libraries"
	echo "# python3 has cuBLAS in $libraries" | tee -a "$output"
fi

# unended: the sections that are still to be run, in the program's order
unended()
{
	local each names

	read -ra names < <($program 2>&1 | sed -n 's/^sections: //p')
	for each in "${names[@]}"; do
		if [[ ${#own[@]} = 0 || " ${own[*]} " == *" $each "* ]] &&
			! grep -qE "^# $each: ([0-9.]+ s|no end after .*|failed, .*)$" "$output"; then
			echo "$each"
		fi
	done
}

# one section that fails, or does not end, does not take the others along; but they all are compared with the first
status=0
mapfile -t left < <(unended)
while [ ${#left[@]} -gt 0 ]; do
	$program "${quick[@]}" --limit "$limit" "$PWD" "$device" "${left[@]}" | tee -a "$output"
	ended=${PIPESTATUS[0]}
	if [ "$ended" = 2 ]; then
		grep -q '^# yardsticks: ' "$output" || rm -f "$output"
		exit 2
	fi
	mapfile -t left < <(unended)
	[ "$ended" != 0 ] || break
	status=$ended
	if [ "$ended" != 3 ] && [ ${#left[@]} -gt 0 ]; then
		echo "# ${left[0]}: failed, status $ended" | tee -a "$output"
		mapfile -t left < <(unended)
	fi
	if grep -qE '^# yardsticks: (no end|failed)' "$output"; then
		exit "$status"
	fi
done
# others have one device: of those that may be seen, that one
IFS=, read -ra visible <<<"${CUDA_VISIBLE_DEVICES-}"
one=${visible[device]:-$device}
if wanted peers; then
	CUDA_VISIBLE_DEVICES=$one timeout -k 5 "$limit" python3 bench/gpu_peers.py "${quick[@]}" 2> >(sed -u 's/^/# /' >&2) | tee -a "$output"
	case ${PIPESTATUS[0]} in
	0) ;;
	124 | 137) echo "peers,,us,,not available,python3 took more than $limit s" | tee -a "$output" ;;
	*) echo "peers,,us,,not available,python3 failed" | tee -a "$output" ;;
	esac
fi
if wanted sql; then
	CUDA_VISIBLE_DEVICES=$one timeout -k 15 "$limit" bench/gpu_sql.sh hybrid_cuda | tee -a "$output"
	[ "${PIPESTATUS[0]}" = 0 ] || echo "sql_audit_right_share,,ratio,>= 0.95,not available,it took too long" | tee -a "$output"
fi
if [ ${#sections[@]} = 0 ] && [ ${#quick[@]} = 0 ]; then
	name=$(sed -nE '2s/^# (NVIDIA )?([^,]*),.*/\2/p' "$output" | tr '[:upper:]' '[:lower:]' | tr -cs '[:alnum:]\n' -)
	output_kept=$results/$(date -u +%F)-${name%-}-gpu.csv
	mv "$output" "$output_kept"
	echo "# kept as $output_kept"
fi
exit "$status"
