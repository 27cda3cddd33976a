#!/bin/bash
# The index beside pgvector's HNSW, in one server with the same settings, queried by the same client.
#
#	bench/index.sh [OPTION ...] [SECTION ...]
#
# Sections (default: all); those that change the table come last:
#
#	build		time with the same number of processes, size
#	search		recall@10, queries/s, latency, two clients: by hybrid.target_recall and hnsw.ef_search
#	memory		searches by a server with 150 MB of memory, and with memory for a quarter of the index, from cold; needs root
#	scale		builds over as many rows of 96 dimensions as the clustered set has, and over eight times as many
#	storage		float32, int8, float16: pages of vectors, recall, queries/s
#	filter		a condition that holds for 1% of the rows, LIMIT 10, beside pgvector's iterative scan
#	grown		an index created before the rows, and vacuumed, beside an index built on them
#	insert		rows per second by two clients into the full index
#	delete		half of the rows, VACUUM, and searches afterwards beside a fresh index
#
# Options:
#
#	--set NAME		wordnet (116,649 x 768, cosine, 1,000 glosses held out as queries) or clustered
#					(1,000,000 x 128, L2, generated: see index_data.py); default: both
#	--rows N		rows of each set (all)
#	--rounds N		rounds, in which the contenders take turns; the median counts (3)
#	--seconds S		length of each turn (3)
#	--processes N	processes that build an index (the number of processors)
#	--server DIR	keep the server there, with tables and indexes, for the next section;
#					test/server.sh down DIR removes it
#	--quick			5,000 rows, one round, half a second: to test the bench itself
#
# CSV on stdout: case,metric,value,better; progress on stderr.  draw.py draws its curves.  pgvector is found as in wordnet.sh
# (BENCH_PGVECTOR); without it there are no rows for it, and no ratios.
set -euo pipefail

cd "$(dirname "$0")/.."
# shellcheck source=bench/side_by_side.sh
. bench/side_by_side.sh

sets=()
sections=()
options=()
while [ $# -gt 0 ]; do
	case $1 in
	--set | --rows | --rounds | --seconds | --processes | --server) [ $# -gt 1 ] || usage ;;&
	--set)
		[[ $2 = wordnet || $2 = clustered ]] || usage
		sets+=("$2")
		shift
		;;
	--rows | --rounds | --seconds | --processes)
		options+=("$1" "$2")
		shift
		;;
	--server)
		kept_server=$(realpath -m "$2")
		shift
		;;
	--quick) options+=(--rows 5000 --rounds 1 --seconds 0.5) ;;
	build | search | memory | scale | storage | filter | grown | insert | delete) sections+=("$1") ;;
	*) usage ;;
	esac
	shift
done
[ ${#sets[@]} -gt 0 ] || sets=(wordnet clustered)
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

{
	build
	mkdir -p build/bench
	"${CC:-gcc}" -std=c11 -O2 -g -Wall -Wextra -Werror -o build/bench/client bench/client.c -lpq -pthread
	if [ -n "$kept_server" ] && [ -e "$kept_server/data/PG_VERSION" ]; then
		server=$kept_server
		test/server.sh install "$server"
		add_pgvector
		psql_in postgres -c '' </dev/null 2>/dev/null || test/server.sh start "$server"
	else
		# all that is searched in shared buffers, all of a graph in memory while it is built; two
		# databases with a million rows each, several indexes, one after the other
		server_settings=("shared_buffers = 6GB" "max_wal_size = 16GB" "maintenance_work_mem = 2GB"
			"dynamic_shared_memory_type = mmap")
		server_room=10000000
		start_server
		create_databases
	fi
	if [[ " ${sets[*]} " = *" wordnet "* ]] && [ ! -e "$server/tmp/query.bin" ]; then
		vectors
		write_files
	fi
} >&2
/usr/bin/python3 bench/index.py "$server" "${options[@]}" --sets "${sets[@]}" --sections "${sections[@]}"
