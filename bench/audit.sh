#!/bin/sh
# Builds the audit of the dispatcher's routing and runs it.
#
#	bench/audit.sh [-b] [-v] [-r] [CALLS [SEED]]
#
# CSV on stdout, see bench/audit.c.
set -eu

cd "$(dirname "$0")/.."
mkdir -p build/bench
"${CC:-gcc}" -std=c11 -O2 -g -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno -Isrc \
	-Itest/unit -o build/bench/audit bench/audit.c src/core/*.c src/dispatch/*.c src/dispatch/*/*.c src/emulated/*.c -lm -ldl
exec build/bench/audit "$@"
