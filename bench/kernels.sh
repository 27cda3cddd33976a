#!/bin/sh
# Builds the micro-benchmark of the distance kernels and runs it on one processor.
#
#	bench/kernels.sh [SECONDS [MEGABYTES [LEVEL]]]
#
# CSV on stdout, see bench/kernels.c.
set -eu

cd "$(dirname "$0")/.."
mkdir -p build/bench
"${CC:-gcc}" -std=c11 -O2 -g -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno -Isrc \
	-o build/bench/kernels bench/kernels.c src/core/*.c -lm
if command -v taskset >/dev/null; then
	exec taskset -c 0 build/bench/kernels "$@"
fi
exec build/bench/kernels "$@"
