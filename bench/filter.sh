#!/bin/sh
# Builds the benchmark of the decision whether a search uses rounded products, and runs it on one processor.
#
#	bench/filter.sh [-v] [MILLISECONDS]
#
# CSV on stdout, see bench/filter.c.
set -eu

exec "$(dirname "$0")/alone.sh" filter core "$@"
