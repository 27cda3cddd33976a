#!/bin/sh
# Builds the benchmark of when a search goes by rounded products, and runs it on one processor.
#
#	bench/filter.sh [-v] [MILLISECONDS]
#
# CSV on stdout, see bench/filter.c.
set -eu

cd "$(dirname "$0")/.."
mkdir -p build/bench
"${CC:-gcc}" -std=c11 -O2 -g -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno -Isrc \
	-o build/bench/filter bench/filter.c src/core/*.c -lm
if command -v taskset >/dev/null; then
	exec taskset -c 0 build/bench/filter "$@"
fi
exec build/bench/filter "$@"
