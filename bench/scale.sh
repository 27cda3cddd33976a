#!/bin/bash
# Measures inputs of the simulation in scale.py: how the times of a build and of a search grow with the rows of a shard, and how
# much time of the coordinator each foreign server of a query takes.
#
#	bench/scale.sh [--quick]
#
# CSV on stdout, as in bench/results. The simulation itself, bench/scale.py, needs no server.
set -euo pipefail

cd "$(dirname "$0")/.."
# shellcheck source=bench/side_by_side.sh
. bench/side_by_side.sh

{
	build
	server_settings=("shared_buffers = 3GB" "max_wal_size = 8GB" "max_connections = 200")
	start_server
	psql_in postgres -c 'CREATE DATABASE hybrid' </dev/null
	psql_in hybrid -c 'CREATE EXTENSION hybrid' </dev/null
} >&2
OPENBLAS_NUM_THREADS=1 /usr/bin/python3 bench/scale.py --measure "$server" "$@"
