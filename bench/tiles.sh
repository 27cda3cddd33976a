#!/bin/sh
# Builds the micro-benchmark of the tiles of products and of the search that uses them, and runs it on one
# processor.
#
#	bench/tiles.sh [SECONDS [ROWS]]
#
# CSV on stdout, see bench/tiles.c.
set -eu

exec "$(dirname "$0")/alone.sh" tiles core "$@"
