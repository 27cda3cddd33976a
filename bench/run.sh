#!/bin/bash
# `make bench`: writes one CSV file under bench/results/local, one row per figure, and draws its curves as SVG (draw.py).
#
#	bench/run.sh [SECONDS]		of each pgbench run (BENCH_SECONDS, 10)
#
# Columns: date, machine, commit, postgres, pgvector, case, metric, value, better (higher or lower).
# The kernels, the tiles, the codes, the threads and the dispatcher are measured by their own programs. Searches and spreading are
# measured by pgbench with one client, on WordNet with 1,000 glosses held out as queries. If pgvector is installed in
# the same PostgreSQL (or in BENCH_PGVECTOR, see wordnet.sh), its indexes and its exact scan answer the same queries in
# the same run. They use a separate database, because the types have the same name.
set -euo pipefail

cd "$(dirname "$0")/.."
# shellcheck source=bench/wordnet.sh
. bench/wordnet.sh
seconds=${1:-${BENCH_SECONDS:-10}}

# row CASE METRIC VALUE BETTER
row()
{
	printf '%s,%s,%s,%s,%s,%s,%s,%s,%s\n' "$date" "$machine" "$commit" "$postgres" "$pgvector" "$@" >>"$result"
	printf '    %-44s %-20s %14s\n' "$1" "$2" "$3"
}

# program NAME COMMAND ...: a program that prints CSV with a header.  Its columns of numbers are
# figures, the others name the case; what is counted in time is better lower.  One whose header has a
# column 'better' says itself: a row a figure, in the columns case, metric, value and better.
program()
{
	local name=$1 case metric value better

	shift
	echo "  $name"
	"$@" </dev/null | awk -F, -v name="$name" '
		NR == 1 { for (i = 1; i <= NF; i++) { head[i] = $i; column[$i] = i } next }
		"better" in column {
			print name " " $column["case"] "," $column["metric"] "," $column["value"] "," $column["better"]
			next
		}
		{
			key = name
			for (i = 1; i <= NF; i++) if ($i !~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/) key = key " " $i
			for (i = 1; i <= NF; i++) if ($i ~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/)
				print key "," head[i] "," $i "," (head[i] ~ /(^|_)(ns|us|ms|s|seconds|percent)(_|$)/ && head[i] !~ /_per_s$/ ? "lower" : "higher")
		}' >build/bench.csv
	while IFS=, read -r case metric value better; do
		row "$case" "$metric" "$value" "$better"
	done <build/bench.csv
}

# timed DATABASE CASE SQL: what building an index takes
timed()
{
	local begin

	begin=$(date +%s%N)
	psql_in "$1" -c "$3" </dev/null
	row "$2" build_s "$(awk -v ns=$(($(date +%s%N) - begin)) 'BEGIN { printf "%.2f", ns / 1e9 }')" lower
}

# rate DATABASE CASE FILE FACTOR [SETTING=VALUE]: answers a second with one client
rate()
{
	local tps

	mkdir -p "$server/scripts"
	cp "$3" "$server/scripts/bench.sql"
	chmod -R a+rX "$server/scripts"
	tps=$(PGDATABASE=$1 PGOPTIONS="${5:+-c $5}" test/server.sh run "$server" pgbench -n -c 1 -T "$seconds" \
		-f "$server/scripts/bench.sql" 2>&1 </dev/null | sed -nE 's/^tps = ([0-9.]+).*/\1/p')
	[ -n "$tps" ] || { echo "pgbench failed: $2" >&2; exit 1; }
	row "$2" qps "$(awk -v tps="$tps" -v factor="$4" 'BEGIN { printf "%.2f", tps * factor }')" higher
}

# recall DATABASE CASE [SETTING=VALUE]: of the ten nearest, by distance, over 100 queries
recall()
{
	row "$2" recall_at_10 "$(PGOPTIONS="${3:+-c $3}" psql_in "$1" -c "
		SELECT round(avg((SELECT count(*) FROM (SELECT q.v <=> item.v AS d FROM item
			ORDER BY item.v <=> q.v LIMIT 10) AS s WHERE d <= truth.tenth + 1e-6) / 10.0), 4)
		FROM query AS q JOIN truth USING (n)" </dev/null)" higher
}

sequential="enable_indexscan=off"
indexed="enable_seqscan=off"

mkdir -p bench/results/local build
date=$(date -u +%Y-%m-%dT%H:%M:%SZ)
machine=$(sed -nE 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1 | tr -d ',')
machine="${machine:-$(uname -m)} x $(nproc)"
commit=$(git -c safe.directory="$PWD" describe --always --dirty 2>/dev/null || echo unknown)
result=bench/results/local/$(date -u +%Y%m%d-%H%M%S).csv
postgres=
pgvector=
server=
echo "date,machine,commit,postgres,pgvector,case,metric,value,better" >"$result"

build
vectors
start_server
postgres=$(psql_in postgres -c 'SHOW server_version' </dev/null | cut -d' ' -f1)
pgvector=$(pgvector_version)

program kernels bench/kernels.sh
program tiles bench/tiles.sh
program codes bench/codes.sh
program filter bench/filter.sh
program threads bench/threads.sh
program dispatch bench/dispatch.sh
program audit bench/audit.sh
program break_even bench/audit.sh -b
program batch_size bench/batch_size.sh
program bulk bench/bulk.sh

psql_in postgres -c 'CREATE DATABASE hybrid' </dev/null
psql_in hybrid -c 'CREATE EXTENSION hybrid' </dev/null
PGDATABASE=hybrid load_wordnet
step "holding out 1,000 queries, finding their true neighbours"
split hybrid
psql_in hybrid -c "SET enable_indexscan = off" -c "CREATE TABLE truth AS SELECT n, (SELECT max(d) FROM
	(SELECT q.v <=> item.v AS d FROM item ORDER BY item.v <=> q.v LIMIT 10) AS s) AS tenth
	FROM query AS q WHERE n <= 100" </dev/null
done_step
echo "  hybrid"
rate hybrid "hybrid sequential scan" bench/nearest.sql 1 "$sequential"
timed hybrid "hybrid index" "CREATE INDEX item_v ON item USING hybrid (v vector_cosine_ops)"
row "hybrid index" size_mb "$(psql_in hybrid -c "SELECT pg_relation_size('item_v') / 1000000" </dev/null)" lower
rate hybrid "hybrid index" bench/nearest.sql 1 "$indexed"
recall hybrid "hybrid index" "$indexed"
for target in 0.8 0.9 0.99; do
	rate hybrid "hybrid index target $target" bench/nearest.sql 1 "hybrid.target_recall=$target"
	recall hybrid "hybrid index target $target" "hybrid.target_recall=$target"
done
rate hybrid "hybrid_knn 64 queries" bench/batch.sql 64
rate hybrid "hybrid_spread 3 hops" bench/spread.sql 1
rate hybrid "hybrid_spread_batch 64 sets" bench/spread_batch.sql 64

if [ -z "$pgvector" ]; then
	echo "pgvector: skipped"
else
	echo "  pgvector $pgvector"
	psql_in postgres -c 'CREATE DATABASE pgvector' </dev/null
	psql_in pgvector -c 'CREATE EXTENSION vector' </dev/null
	PGDATABASE=pgvector load_wordnet
	split pgvector
	psql_in hybrid -c 'COPY truth TO STDOUT' </dev/null >build/truth.copy
	psql_in pgvector -c 'CREATE TABLE truth (n int, tenth float8)' -c 'COPY truth FROM STDIN' <build/truth.copy
	rate pgvector "pgvector sequential scan" bench/nearest.sql 1 "$sequential"
	timed pgvector "pgvector HNSW" "CREATE INDEX item_hnsw ON item USING hnsw (v vector_cosine_ops)"
	row "pgvector HNSW" size_mb "$(psql_in pgvector -c "SELECT pg_relation_size('item_hnsw') / 1000000" </dev/null)" lower
	for ef in 40 160 640; do
		rate pgvector "pgvector HNSW ef_search $ef" bench/nearest.sql 1 "hnsw.ef_search=$ef"
		recall pgvector "pgvector HNSW ef_search $ef" "hnsw.ef_search=$ef"
	done
	psql_in pgvector -c 'DROP INDEX item_hnsw' </dev/null
	timed pgvector "pgvector IVFFlat" "CREATE INDEX item_ivfflat ON item USING ivfflat (v vector_cosine_ops) WITH (lists = 342)"
	row "pgvector IVFFlat" size_mb "$(psql_in pgvector -c "SELECT pg_relation_size('item_ivfflat') / 1000000" </dev/null)" lower
	for probes in 10 40; do
		rate pgvector "pgvector IVFFlat probes $probes" bench/nearest.sql 1 "ivfflat.probes=$probes"
		recall pgvector "pgvector IVFFlat probes $probes" "ivfflat.probes=$probes"
	done
fi
echo "Results: $result"
if /usr/bin/python3 -c 'import matplotlib' 2>/dev/null; then
	echo "Curves: $(/usr/bin/python3 bench/draw.py "$result")"
else
	echo "Without matplotlib (Debian's python3-matplotlib), the curves are not drawn."
fi
