#!/bin/bash
# The graph functions beside what else computes the same: SQL, SuiteSparse:GraphBLAS, pgRouting and igraph.
#
#	bench/graph.sh [OPTION ...] [SECTION ...]
#
# Sections (default: all):
#
#	spread		hybrid_spread over WordNet, registered and warm, beside a recursive CTE and a query with a GROUP BY
#				for each hop; this one without and with an index on the edges
#	batch		64 sets of seeds: hybrid_spread_batch beside 64 rows of LATERAL hybrid_spread over a registered graph
#	first		the first answer of a new session that takes a graph which another session has built, and of one that
#				builds it, each compared with an edges query
#	insert		rows into a table with a registered graph, beside the table without it
#	associate	hybrid_associate over WordNet
#	quality		of random synsets without their relations, how often the true hypernym is among the first ten
#	answers		what each function answers over WordNet and over a random graph, beside igraph (python3-igraph); Leiden's
#				modularity, too
#	pagerank	an iteration over an R-MAT graph on one thread, beside GraphBLAS
#	paths		breadth-first search and shortest path there, beside pgRouting with its load
#	change		100 changed edges there, and 100 edges of new nodes: the next answer, beside building the graph again
#	validate	an unchanged copy: WordNet and that graph after VACUUM, and a table of as many edges that no VACUUM ever read
#	memory		copy and graph of 3 million nodes and 9 million edges
#
# Options:
#
#	--nodes N, --edges N	of the R-MAT graph (1,048,576 and 16,000,000)
#	--rounds N				rounds, in which the contenders take turns; medians count (5)
#	--queries N				synsets of the section quality, and calls of spread and associate (1,000)
#	--server DIR			keep the server there, with its tables, for the next section; test/server.sh down DIR
#							removes it
#	--quick					small graphs, one round: to test the bench itself; nothing is judged
#
# CSV on stdout: case,metric,value,unit,yardstick,yardstick_value,ratio,asked,met.  The ratio says how many times as
# good as the yardstick hybrid is, so above 1 is better. 'asked' is the project's target, and 'met' whether the run
# reached it, '-' if there is none. The answers of contenders are compared, and a wrong answer fails the run. A
# missing contender is 'not available' (Debian's libgraphblas7, postgresql-15-pgrouting and python3-igraph). Progress
# goes to stderr.
set -euo pipefail

cd "$(dirname "$0")/.."
# shellcheck source=bench/wordnet.sh
. bench/wordnet.sh

sections=()
options=()
while [ $# -gt 0 ]; do
	case $1 in
	--nodes | --edges | --rounds | --queries | --server) [ $# -gt 1 ] || usage ;;&
	--nodes | --edges | --rounds | --queries)
		options+=("$1" "$2")
		shift
		;;
	--server)
		kept_server=$(realpath -m "$2")
		shift
		;;
	--quick) options+=(--quick) ;;
	spread | batch | first | insert | associate | quality | answers | pagerank | paths | change | validate | memory)
		sections+=("$1")
		;;
	*) usage ;;
	esac
	shift
done
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

{
	build
	vectors
	if [ -n "$kept_server" ] && [ -e "$kept_server/data/PG_VERSION" ]; then
		server=$kept_server
		test/server.sh install "$server"
		psql_in postgres -c '' </dev/null 2>/dev/null || test/server.sh start "$server"
	else
		server_settings=("shared_buffers = 4GB" "max_wal_size = 16GB" "shared_preload_libraries = 'hybrid'" "hybrid.plugins = ''")
		server_room=8000000
		start_server
		psql_in postgres -c 'CREATE DATABASE hybrid' </dev/null
		psql_in hybrid -c 'CREATE EXTENSION hybrid' </dev/null
		PGDATABASE=hybrid load_wordnet
	fi
} >&2
/usr/bin/python3 bench/graph.py "$server" "${options[@]}" --sections "${sections[@]}"
