#!/bin/bash
# Measures the CUDA plug-in on a real device; CSV to the screen and to bench/results.
#
#	bench/gpu.sh [--quick] [DEVICE [SECTION ...]]
#
# Sections are those of bench/gpu.c, and 'faiss' and 'sql': FAISS on the device where python3 has it, and
# hybrid_calibrate() and hybrid_audit() in a server where PostgreSQL is found.  A whole run is kept as
# bench/results/DATE-DEVICE-gpu.csv, any other under bench/results/local; GPUBENCH_RESULTS names another
# directory, and where neither can be written it is a new one in TMPDIR.
#
# Needs a driver and what `make gpu-programs` builds.  Where nvcc is found, that is built first, unless it was
# carried here: without the objects that it was made of.  Fails where there is no GPU.
set -uo pipefail

cd "$(dirname "$0")/.." || exit 2
program=build/cuda/gpubench
quick=()
if [ "${1-}" = --quick ]; then
	quick=(--quick)
	shift
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
# yardsticks are always measured, so this says only that not all are
own=()
[ ${#sections[@]} = 0 ] || own=(yardsticks)
for section in "${sections[@]}"; do
	[ "$section" = faiss ] || [ "$section" = sql ] || own+=("$section")
done
echo "# $(date -u +%FT%TZ), commit $(git -c safe.directory="$PWD" describe --always --dirty 2>/dev/null || echo unknown)" | tee "$output"
$program "${quick[@]}" "$PWD" "$device" "${own[@]}" | tee -a "$output"
status=${PIPESTATUS[0]}
if [ "$status" != 0 ]; then
	[ "$status" != 2 ] || rm -f "$output"
	exit "$status"
fi
# others have one device: of those that may be seen, that one
IFS=, read -ra visible <<<"${CUDA_VISIBLE_DEVICES-}"
one=${visible[device]:-$device}
if wanted faiss; then
	CUDA_VISIBLE_DEVICES=$one python3 bench/gpu_faiss.py "${quick[@]}" 2>/dev/null | tee -a "$output"
	[ "${PIPESTATUS[0]}" = 0 ] || echo "faiss_top10,,us,,not available,python3 with FAISS failed" | tee -a "$output"
fi
if wanted sql; then
	CUDA_VISIBLE_DEVICES=$one bench/gpu_sql.sh hybrid_cuda | tee -a "$output"
fi
if [ ${#sections[@]} = 0 ] && [ ${#quick[@]} = 0 ]; then
	name=$(sed -nE '2s/^# (NVIDIA )?([^,]*),.*/\2/p' "$output" | tr '[:upper:]' '[:lower:]' | tr -cs '[:alnum:]\n' -)
	output_kept=$results/$(date -u +%F)-${name%-}-gpu.csv
	mv "$output" "$output_kept"
	echo "# kept as $output_kept"
fi
