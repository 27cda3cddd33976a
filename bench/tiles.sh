#!/bin/sh
# Builds the micro-benchmark of the tiles of products and of the search by them, and runs it on one
# processor.
#
#	bench/tiles.sh [SECONDS [ROWS]]
#
# CSV on stdout, see bench/tiles.c.
set -eu

cd "$(dirname "$0")/.."
mkdir -p build/bench
"${CC:-gcc}" -std=c11 -O2 -g -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno -Isrc \
	-o build/bench/tiles bench/tiles.c src/core/*.c -lm
if command -v taskset >/dev/null; then
	exec taskset -c 0 build/bench/tiles "$@"
fi
exec build/bench/tiles "$@"
