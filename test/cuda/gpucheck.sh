#!/bin/bash
# The CUDA plug-in on a real device: the same bits as the CPU, limits, cancel, reopening.
#
#	test/cuda/gpucheck.sh [DEVICE]
#
# Needs a driver and a tree in which hybrid_cuda.so and build/cuda/gpucheck were built (`make
# gpu-programs`, which needs nvcc); where nvcc is found, it builds them first.  Where
# compute-sanitizer is found, small shapes run under it too; where test/server.sh finds a PostgreSQL and hybrid.so
# is built, a server with sessions on the device follows (test/device.sh).  Fails where there is no GPU.
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 2
program=build/cuda/gpucheck
if [ -n "${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}" ]; then
	make -s -j"$(nproc)" gpu-programs || exit 1
elif [ ! -x $program ] || [ ! -x ${program}_filter ] || [ ! -f hybrid_cuda.so ]; then
	echo "hybrid_cuda.so and $program are not built, and nvcc was not found: run 'make gpu-programs' where it is."
	exit 1
fi
$program "$PWD" "$@" || exit
${program}_filter "$PWD" "$@" || exit

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
if [ -z "$sanitizer" ]; then
	echo "# compute-sanitizer was not found: memcheck and racecheck are skipped"
else
	for tool in memcheck racecheck; do
		echo "# under $tool"
		for each in $program ${program}_filter; do
			"$sanitizer" --tool $tool --error-exitcode 3 "$each" "$PWD" "${1:-0}" small || exit 1
		done
	done
fi

if [ ! -e hybrid.so ]; then
	echo "# hybrid.so is not built: nothing runs in a server"
	exit 0
fi
if [ ! -x /usr/lib/postgresql/15/bin/postgres ] && ! command -v postgres >/dev/null; then
	echo "# PostgreSQL 15 was not found: nothing runs in a server"
	exit 0
fi
echo "# in a server"
CUDA_VISIBLE_DEVICES=${1:-${CUDA_VISIBLE_DEVICES:-0}} exec test/device.sh cuda
