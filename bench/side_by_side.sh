#!/bin/bash
# Sourced by knn.sh, scan.sh and input.sh, which compare hybrid with FAISS and pgvector. index.sh and sessions.sh use
# some of it.
#
# Each contender is one session or one process, on one thread, or with --all-cores on as many threads as
# there are processors; only knn.sh has this option, and --graph, and sessions.sh always does so. All of them are measured in one run, in
# rounds in which they take turns, because the speed of a machine drifts within minutes. Times of
# statements are measured in the server. A ratio is the median of the ratios of the rounds.
#
# pgvector takes part if the server has it (see start_server in wordnet.sh), in a separate database with
# the same rows. FAISS takes part if Python finds it (Debian's python3-faiss). A figure of a missing
# contender is 'not available'. Progress goes to stderr, CSV to stdout:
#
#	case,metric,value,unit,ratio_to_faiss,ratio_to_pgvector,asked,met
#
# Ratios are of speeds: above 1 is faster than the yardstick. "asked" is the project's target, and "met"
# whether the run reached it, '-' if there is no target. The answers are verified as well, and a wrong
# answer fails the run.
#
# --busy: measures processor time instead of elapsed time, for a machine with other users; they still
# slow its memory down.
# --quick: some thousand generated rows instead of WordNet, to test the bench itself in seconds. Its
# ratios mean nothing, so 'met' is '-' except for exactness.

# shellcheck source=bench/wordnet.sh
. bench/wordnet.sh

# side_by_side PROGRAM [--quick] [--busy] [--all-cores] [ROUNDS]
side_by_side()
{
	local program=$1 quick='' busy='' rounds='' threads=1

	shift
	while [ $# -gt 0 ]; do
		case $1 in
		--quick) quick=--quick ;;
		--busy) busy=--busy ;;
		--all-cores) threads=$(nproc) ;;
		--graph) program=knn_graph ;;
		[1-9]*) rounds=$1 ;;
		*)
			echo "usage: bench/$program.sh [--quick] [--busy]$([ "$program" != knn ] || echo " [--all-cores] [--graph]") [ROUNDS]" >&2
			exit 2
			;;
		esac
		shift
	done
	export OPENBLAS_NUM_THREADS=$threads OMP_NUM_THREADS=$threads

	{
		build
		[ -n "$quick" ] || vectors
		# all tables in shared buffers
		server_settings=("shared_buffers = 4GB" "max_wal_size = 16GB"
			"max_parallel_workers_per_gather = $((threads - 1))")
		start_server
		prepare "$quick"
	} >&2
	/usr/bin/python3 "bench/$program.py" "$server" "${rounds:-$([ -n "$quick" ] && echo 2 || echo 7)}" $quick $busy
}

# prepare QUICK: the databases, and the files
prepare()
{
	create_databases
	[ -n "$1" ] || write_files
}

create_databases()
{
	psql_in postgres -c 'CREATE DATABASE hybrid' </dev/null
	psql_in hybrid -c 'CREATE EXTENSION hybrid' </dev/null
	if [ -n "$(pgvector_version)" ]; then
		psql_in postgres -c 'CREATE DATABASE pgvector' </dev/null
		psql_in pgvector -c 'CREATE EXTENSION vector' </dev/null
	fi
}

# item.bin and query.bin (id bigint, v vector), for COPY, of WordNet
write_files()
{
	psql_in postgres -c 'CREATE DATABASE wordnet TEMPLATE hybrid' </dev/null
	PGDATABASE=wordnet load_wordnet
	step "holding out 1,000 queries"
	split wordnet
	psql_in wordnet -c "COPY (SELECT id, v FROM item ORDER BY id) TO '$server/tmp/item.bin' (FORMAT binary)" \
		-c "COPY (SELECT n::bigint, v FROM query ORDER BY n) TO '$server/tmp/query.bin' (FORMAT binary)" </dev/null
	psql_in postgres -c 'DROP DATABASE wordnet' </dev/null
	done_step
}
