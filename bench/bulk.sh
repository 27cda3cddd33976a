#!/bin/sh
# Builds the benchmark of tasks in pieces and runs it on one processor.
#
#	bench/bulk.sh [REPEATS]
#
# CSV on stdout, see bench/bulk.c.
set -eu

cd "$(dirname "$0")/.."
mkdir -p build/bench
"${CC:-gcc}" -std=c11 -O2 -g -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno -Isrc \
	-o build/bench/bulk bench/bulk.c src/core/*.c src/dispatch/*.c src/emulated/*.c -lm -ldl
if command -v taskset >/dev/null; then
	exec taskset -c 0 build/bench/bulk "$@"
fi
exec build/bench/bulk "$@"
