#!/bin/sh
# Builds the benchmark of the accumulator's choice and runs it on one processor.
#
#	bench/batch_size.sh [ROWS]
#
# CSV on stdout, see bench/batch_size.c.
set -eu

cd "$(dirname "$0")/.."
mkdir -p build/bench
"${CC:-gcc}" -std=c11 -O2 -g -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno -Isrc \
	-o build/bench/batch_size bench/batch_size.c src/core/*.c src/dispatch/*.c src/emulated/*.c -lm -ldl
if command -v taskset >/dev/null; then
	exec taskset -c 0 build/bench/batch_size "$@"
fi
exec build/bench/batch_size "$@"
