#!/bin/bash
# The recall reached for hybrid.target_recall, for rows and queries of many shapes.
#
#	bench/recall.sh [--rows N] [--queries N] [--seed N] [--quick] [CASE ...]
#
# Cases are those of recall_cases.py, and 'three_ip' (default: all). Some cases also use an index that grew from empty,
# has another storage or type, or has lost half of its rows. Without --seed each run has data of its own.
#
# CSV on stdout, one line for each kind of queries, LIMIT and target: the mean recall and its standard error; the share
# of queries with a recall of .5 or less; the lists, and the share of all rows, that a search examines; the ratio of
# these rows to those of the smallest hybrid.probes with the same mean recall; milliseconds; and whether all requirements
# are met. They are a recall of the target less .01 and two standard errors, at most 1% of such queries at .95, and at
# most 1.3 times the rows. Progress goes to stderr. Exit status 1: a requirement was not met.
set -euo pipefail

cd "$(dirname "$0")/.."
# shellcheck source=bench/side_by_side.sh
. bench/side_by_side.sh

{
	build
	server_settings=("shared_buffers = 4GB" "max_wal_size = 16GB")
	start_server
	psql_in postgres -c 'CREATE DATABASE hybrid' </dev/null
	psql_in hybrid -c 'CREATE EXTENSION hybrid' </dev/null
} >&2
RECALL_CACHE=$(cache_directory) OPENBLAS_NUM_THREADS=1 /usr/bin/python3 bench/recall.py "$server" "$@"
