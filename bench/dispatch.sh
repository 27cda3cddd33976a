#!/bin/sh
# Builds the benchmark of the dispatcher's own cost and runs it on one processor.
#
#	bench/dispatch.sh [CALLS [MEGABYTES [CASE]]]
#
# CSV on stdout, see bench/dispatch.c.
set -eu

exec "$(dirname "$0")/alone.sh" dispatch 'core dispatch dispatch/* emulated' "$@"
