#!/bin/sh
# Builds the micro-benchmark of the distance kernels and runs it on one processor.
#
#	bench/kernels.sh [SECONDS [MEGABYTES [LEVEL]]]
#
# CSV on stdout, see bench/kernels.c.
set -eu

exec "$(dirname "$0")/alone.sh" kernels core "$@"
