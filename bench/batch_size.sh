#!/bin/sh
# Builds the benchmark of the accumulator's batch size and runs it on one processor.
#
#	bench/batch_size.sh [ROWS]
#
# CSV on stdout, see bench/batch_size.c.
set -eu

exec "$(dirname "$0")/alone.sh" batch_size 'core dispatch dispatch/* emulated' "$@"
