#!/bin/bash
# Sourced by knn.sh, scan.sh and input.sh, which set hybrid beside FAISS and pgvector; index.sh uses
# some of it.
#
# Each contender is one session or one process, on one thread; all of them are measured in one run, in
# rounds in which they take turns, since a machine's speed drifts within minutes.  Times of statements
# are taken in the server.  A ratio is the median of the ratios of the rounds.
#
# pgvector takes part where the server has it (start_server in wordnet.sh says how), in a database of
# its own with the same rows, and FAISS where Python finds it (Debian's python3-faiss); a figure of what
# is not there is 'not available'.  Progress goes to stderr, CSV to stdout:
#
#	case,metric,value,unit,ratio_to_faiss,ratio_to_pgvector,asked,met
#
# Ratios are of speeds: above 1 is faster than the yardstick.  "asked" is what the project asks for,
# "met" whether that was seen, '-' where nothing is asked.  What was answered is checked as well, and a
# wrong answer is a failure of the run.
#
# --busy: what counts is the time on a processor instead of the clock, for a machine that others use, too;
# they still slow its memory down.
# --quick: some thousand made-up rows instead of WordNet, for seconds, to try the bench itself; its
# ratios say nothing, so 'met' is '-' but of exactness.

# shellcheck source=bench/wordnet.sh
. bench/wordnet.sh

# shellcheck disable=SC2317  # called by the trap
stop_server()
{
	test/server.sh down "$server"
	rm -rf "$server"
}

# side_by_side PROGRAM [--quick] [--busy] [ROUNDS]
side_by_side()
{
	local program=$1 quick='' busy='' rounds=''

	shift
	while [ $# -gt 0 ]; do
		case $1 in
		--quick) quick=--quick ;;
		--busy) busy=--busy ;;
		[1-9]*) rounds=$1 ;;
		*)
			echo "usage: bench/$program.sh [--quick] [--busy] [ROUNDS]" >&2
			exit 2
			;;
		esac
		shift
	done
	export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

	{
		build
		[ -n "$quick" ] || vectors
		# all tables in shared buffers
		server_settings=("shared_buffers = 4GB" "max_wal_size = 16GB")
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
