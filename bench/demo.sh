#!/bin/bash
# `make demo`: hybrid on real data, in a private server that is removed at the end (KEEP=1 keeps it).
set -euo pipefail

cd "$(dirname "$0")/.."
# shellcheck source=bench/wordnet.sh
. bench/wordnet.sh

stop_server()
{
	if [ -n "${KEEP:-}" ] && [ -n "${finished:-}" ]; then
		echo "The server is kept. Into it, and away with it:"
		echo "  $PWD/test/server.sh run $server psql"
		echo "  $PWD/test/server.sh down $server"
	else
		test/server.sh down "$server"
		rm -rf "$server"
	fi
}

begin=$SECONDS
echo "hybrid: vectors and graphs in ordinary tables"
echo
build
vectors
start_server
psql_server -c 'CREATE EXTENSION hybrid' </dev/null
load_wordnet
step "CREATE INDEX synset_v ON synset USING hybrid (v vector_cosine_ops)"
psql_server -c 'CREATE INDEX synset_v ON synset USING hybrid (v vector_cosine_ops)' </dev/null
done_step
psql_server -f - <bench/demo.sql
if [ -n "$(pgvector_version)" ]; then
	step "the same table in pgvector, CREATE INDEX ... USING hnsw (m = 16, ef_construction = 64)"
	psql_server -c 'CREATE DATABASE pgvector' </dev/null
	PGDATABASE=pgvector psql_server -c 'CREATE EXTENSION vector' </dev/null
	PGDATABASE=pgvector psql_server -1 -c 'CREATE TABLE synset (id bigint PRIMARY KEY, pos text, words text[], gloss text, v vector(768))' \
		-c 'COPY synset FROM STDIN (FORMAT binary)' <"$cache/synset.copy"
	PGDATABASE=pgvector psql_server -c 'CREATE INDEX ON synset USING hnsw (v vector_cosine_ops)' </dev/null
	done_step
	page_of=pgvector
fi
step "measuring the figures of the page"
mkdir -p build
PGHOST=$server/socket PGPORT=5432 PGUSER=postgres PGDATABASE=postgres /usr/bin/python3 bench/page.py build/demo.html ${page_of:+"$page_of"}
done_step
finished=1
echo
echo "The figures and drawings are on one page, for a browser: $PWD/build/demo.html"
echo "Done in $((SECONDS - begin)) s."
