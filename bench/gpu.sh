#!/bin/bash
# Measures the CUDA plug-in on a real device; CSV to the screen and to bench/results/local.
#
#	bench/gpu.sh [DEVICE]
#
# Needs a driver and a tree in which `make gpu-programs` was run; fails where there is no GPU.
set -uo pipefail

cd "$(dirname "$0")/.." || exit 2
program=build/cuda/gpubench
if [ -n "${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}" ]; then
	make -s gpu-programs || exit 1
elif [ ! -x $program ] || [ ! -f hybrid_cuda.so ]; then
	echo "hybrid_cuda.so and $program are not built, and nvcc was not found: run 'make gpu-programs' where it is."
	exit 1
fi
output=$(mktemp)
trap 'rm -f "$output"' EXIT
echo "# $(date -u +%FT%TZ), commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)" | tee "$output"
$program "$PWD" "$@" | tee -a "$output"
status=${PIPESTATUS[0]}
if [ "$status" = 0 ]; then
	mkdir -p bench/results/local
	cp "$output" "bench/results/local/gpu-$(date -u +%Y%m%dT%H%M%SZ).csv"
fi
exit "$status"
