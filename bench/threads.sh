#!/bin/sh
# Builds the benchmark of threads and runs it on all processors.
#
#	bench/threads.sh [THREADS [ROUNDS [NAME]]]
#
# CSV on stdout, see bench/threads.c.
set -eu

ALL_PROCESSORS=1 exec "$(dirname "$0")/alone.sh" threads core "$@"
