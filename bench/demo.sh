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
finished=1
echo
echo "Done in $((SECONDS - begin)) s."
