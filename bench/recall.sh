#!/bin/bash
# The recall that is got for hybrid.target_recall, for rows and queries of many shapes.
#
#	bench/recall.sh [--rows N] [--queries N] [--seed N] [--quick] [CASE ...]
#
# Cases are those of recall_cases.py, and 'three_ip'; all of them where none is named.  Some have an index that grew
# from empty, with another storage, or half of whose rows were deleted.  Without --seed each run has data of its own.
#
# CSV on stdout, a line for each kind of queries, LIMIT and target: the mean recall and its standard error; the share of
# queries with a recall of .5 or less; lists, and the share of all rows, that a search looks at; that beside the smallest
# hybrid.probes with the same mean recall; milliseconds; and whether all is met that is asked: a recall of the target
# less .01 and two standard errors, at most 1% of such queries at .95, at most 1.3 times the rows.  Progress goes to
# stderr.  Exit status 1: something was not met.
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
