#!/bin/sh
# Builds the benchmark of the dispatcher's own cost and runs it on one processor.
#
#	bench/dispatch.sh [CALLS [MEGABYTES [CASE]]]
#
# CSV on stdout, see bench/dispatch.c.
set -eu

cd "$(dirname "$0")/.."
mkdir -p build/bench
"${CC:-gcc}" -std=c11 -O2 -g -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno -Isrc \
	-o build/bench/dispatch bench/dispatch.c src/core/*.c src/dispatch/*.c src/emulated/*.c -lm -ldl
if command -v taskset >/dev/null; then
	exec taskset -c 0 build/bench/dispatch "$@"
fi
exec build/bench/dispatch "$@"
