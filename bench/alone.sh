#!/bin/sh
# Builds a benchmark written in C and runs it on one processor, or on all if ALL_PROCESSORS is set.
#
#	bench/alone.sh NAME ROOMS [ARGUMENT ...]
#
# Compiles bench/NAME.c with the sources of the folders ROOMS of src, e.g. 'core dispatch dispatch/*'.
set -eu

cd "$(dirname "$0")/.."
name=$1
rooms=$2
shift 2
mkdir -p build/bench
sources=
for room in $rooms; do
	sources="$sources src/$room/*.c"
done
# shellcheck disable=SC2086 # a list of patterns
"${CC:-gcc}" -std=c11 -O2 -g -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno -Isrc \
	-o "build/bench/$name" "bench/$name.c" $sources -lm -ldl
if [ -z "${ALL_PROCESSORS-}" ] && command -v taskset >/dev/null; then
	exec taskset -c 0 "build/bench/$name" "$@"
fi
exec "build/bench/$name" "$@"
