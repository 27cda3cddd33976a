#!/bin/bash
# Sourced by demo.sh, run.sh, index.sh, graph.sh and side_by_side.sh: a private server that contains WordNet, and
# progress lines.

# step TEXT: what begins now; done_step: that it is over, and how long it took
step()
{
	printf '  %-76s' "$1"
	step_begin=$(date +%s%N)
}

done_step()
{
	local ms=$((($(date +%s%N) - step_begin) / 1000000))

	printf '%4d.%d s\n' $((ms / 1000)) $((ms % 1000 / 100))
}

# usage: prints the comment at the top of the script, and ends
usage()
{
	sed -n '2,/^set -/{/^#/s/^# \{0,1\}//p}' "$0" >&2
	exit 2
}

# quietly COMMAND ...: its output only where it fails
quietly()
{
	local log status=0

	log=$(mktemp)
	"$@" >"$log" 2>&1 </dev/null || status=$?
	if [ "$status" != 0 ]; then
		printf '\n'
		tail -n 60 "$log" >&2
	fi
	rm -f "$log"
	return "$status"
}

# Where what was computed once is kept: never in a place that may not be written.
cache_directory()
{
	local base=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}

	if [ -n "$base" ] && mkdir -p "$base/hybrid" 2>/dev/null && [ -w "$base/hybrid" ]; then
		echo "$base/hybrid/wordnet"
	else
		echo "$PWD/build/cache/wordnet"
	fi
}

# A directory for a throw-away server: there must be room, in kB, for WordNet, twice or so, and its index.
server_room=3000000
private_directory()
{
	local place room=$server_room

	for place in "${TMPDIR:-/tmp}" /tmp /var/tmp; do
		if [ -w "$place" ] && [ "$(df --output=avail -k "$place" | tail -n 1)" -gt "$room" ]; then
			mktemp -d "$place/hybrid.XXXXXX"
			return
		fi
	done
	echo "$((room / 1000000)) GB of room are needed in /tmp, /var/tmp or TMPDIR" >&2
	return 1
}

# Nothing of the caller's session may point at another server or change a plan.
unset "${!PG@}" MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
export LC_ALL=C.UTF-8 PG_CONFIG=/usr/lib/postgresql/15/bin/pg_config

build()
{
	step "building hybrid"
	quietly make -s -j"$(nproc)" all || exit 1
	done_step
}

vectors()
{
	cache=$(cache_directory)
	echo "  reading WordNet and making its vectors (once; kept in $cache)"
	step_begin=$(date +%s%N)
	# Debian's Python, which has scikit-learn, whichever comes first in PATH
	/usr/bin/python3 bench/wordnet.py "$cache"
	printf '  %-76s' ''
	done_step
}

# psql_server [ARG ...]: psql on the private server
psql_server()
{
	test/server.sh run "$server" psql -X -q -v ON_ERROR_STOP=1 "$@"
}

# psql_in DATABASE [ARG ...]
psql_in()
{
	PGDATABASE=$1 psql_server -At "${@:2}"
}

# With pgvector in it where the machine's PostgreSQL has it, or where BENCH_PGVECTOR names a directory
# that `make install DESTDIR=...` of pgvector has filled.
# kept_server, where it is set, is the directory, and the server is not stopped at the end. A script that ends in
# another way defines a stop_server of its own.
server_settings=()
kept_server=''
start_server()
{
	server=$kept_server
	[ -n "$server" ] || server=$(private_directory) || exit 1
	trap stop_server EXIT
	trap 'exit 130' INT TERM
	step "starting a private PostgreSQL 15 in $server"
	test/server.sh up "$server" "shared_buffers = 1GB" "maintenance_work_mem = 512MB" \
		"work_mem = 64MB" "wal_level = minimal" "max_wal_senders = 0" "max_wal_size = 4GB" \
		"max_parallel_workers_per_gather = 0" "jit = off" "autovacuum = off" "${server_settings[@]}" || exit 1
	add_pgvector
	done_step
}

# shellcheck disable=SC2317  # called by the trap
stop_server()
{
	[ -z "$kept_server" ] || return 0
	test/server.sh down "$server"
	rm -rf "$server"
}

add_pgvector()
{
	local lib=usr/lib/postgresql/15/lib share=usr/share/postgresql/15/extension from=${BENCH_PGVECTOR:-}

	if [ ! -r "$from/$lib/vector.so" ]; then
		[ -n "$from" ] || return 0
		echo "BENCH_PGVECTOR: there is no $from/$lib/vector.so" >&2
		exit 1
	fi
	rm -f "$server/tree/$lib/hybrid_vector.so" "$server/tree/$share"/vector{.control,--*.sql}
	install -m 755 "$from/$lib/vector.so" "$server/tree/$lib/"
	install -m 644 "$from/$share"/vector{.control,--*.sql} "$server/tree/$share/"
}

# The version of pgvector that the server could install; nothing where there is none.
pgvector_version()
{
	# without this library, an extension named vector is hybrid's
	[ -e "$server/tree/usr/lib/postgresql/15/lib/vector.so" ] || return 0
	psql_in postgres -c "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'" </dev/null
}

# load_wordnet: the tables synset and relation in the database of PGDATABASE
load_wordnet()
{
	step "loading 117,659 synsets and 377,592 relations"
	# a table that is made and filled in one transaction needs no WAL
	psql_server -1 -c 'CREATE TABLE synset (id bigint PRIMARY KEY, pos text NOT NULL,
			words text[] NOT NULL, gloss text NOT NULL, v vector(768))' \
		-c 'COPY synset FROM STDIN (FORMAT binary)' <"$cache/synset.copy"
	psql_server -1 -c 'CREATE TABLE relation (source bigint NOT NULL, target bigint NOT NULL,
			kind text NOT NULL)' \
		-c 'COPY relation FROM STDIN (FORMAT binary)' <"$cache/relation.copy"
	psql_server -c 'VACUUM ANALYZE synset' -c 'VACUUM ANALYZE relation' </dev/null
	done_step
}

# split DATABASE: of WordNet in it, 1,000 glosses held out as queries, the other ones as items
split()
{
	psql_in "$1" -1 -f - <<-'SQL'
		CREATE TABLE query AS SELECT (row_number() OVER (ORDER BY hashint8(id), id))::int AS n, id, v
			FROM synset WHERE v IS NOT NULL ORDER BY n LIMIT 1000;
		ALTER TABLE query ADD PRIMARY KEY (n);
		CREATE TABLE item AS SELECT id, v FROM synset
			WHERE v IS NOT NULL AND id NOT IN (SELECT id FROM query);
		ANALYZE query; ANALYZE item;
	SQL
}
