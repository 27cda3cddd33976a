#!/bin/sh
# Builds the benchmark of tasks in pieces and runs it on one processor.
#
#	bench/bulk.sh [REPEATS]
#
# CSV on stdout, see bench/bulk.c.
set -eu

exec "$(dirname "$0")/alone.sh" bulk 'core dispatch dispatch/* emulated' "$@"
