#!/bin/sh
# Builds the micro-benchmark of codes and rotations and runs it on one processor.
#
#	bench/codes.sh [SECONDS]
#
# CSV on stdout, see bench/codes.c.
set -eu

cd "$(dirname "$0")/.."
mkdir -p build/bench
"${CC:-gcc}" -std=c11 -O2 -g -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno -Isrc \
	-o build/bench/codes bench/codes.c src/core/*.c -lm
if command -v taskset >/dev/null; then
	exec taskset -c 0 build/bench/codes "$@"
fi
exec build/bench/codes "$@"
