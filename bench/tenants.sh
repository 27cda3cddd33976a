#!/bin/bash
# Searches within a tenant: a key before the vector, beside an index without the key, one with the key as an included
# column, and pgvector's HNSW: its iterative scan over one index, and a partial index for each of the largest tenants.
#
#	bench/tenants.sh [--server DIR] [ROWS [DIMS [TENANTS [QUERIES]]]]
#
# Rows are generated: each tenant has its own clusters, and the number of its rows follows Zipf's law, from 1 to about 4% of
# all rows. LIMIT 10, default settings, all pages in memory, two processes for a build. CSV on stdout. First a line for
# each index: the time of its build, its size, and the inserts per second into random tenants by two clients. Then a line
# for each size of tenant, with the recall within the tenant and the times of searches (execution only): the median and
# the 99th percentile, in milliseconds. The line with fewest = 0 is for searches without a condition.
#
# pgvector is found as in wordnet.sh (BENCH_PGVECTOR) and is measured in a database of its own, with the same rows. An
# index for each of the 100 largest tenants answers only searches within these. Progress goes to stderr.
#
# --server DIR keeps the server there, with the tables and pgvector's indexes, for the next run; test/server.sh down DIR
# removes it.
set -euo pipefail

cd "$(dirname "$0")/.."
# shellcheck source=bench/wordnet.sh
. bench/wordnet.sh

if [ "${1:-}" = --server ]; then
	kept_server=${2:?}
	shift 2
fi
rows=${1:-1000000}
dims=${2:-128}
tenants=${3:-100000}
queries=${4:-300}
server_room=10000000
{
	build
	server_settings=("shared_buffers = 4GB" "max_wal_size = 8GB" "work_mem = 4MB" "maintenance_work_mem = 2GB"
		"max_parallel_maintenance_workers = 1")
	start_server
} >&2

# The tables item, added and question. A question has the ids of its answer, by the exact distances.
make_tables()
{
	psql_in postgres -c 'CREATE DATABASE hybrid' </dev/null
	psql_in hybrid >/dev/null <<-SQL
		CREATE EXTENSION hybrid;
		SET client_min_messages = warning;
		SELECT setseed(0.5);
		-- tenant k has rows / (k + 1) of all rows, scaled
		CREATE TABLE tenant AS SELECT k, greatest((s.scale / (k + 1))::int, 1) AS n
		FROM generate_series(1, $tenants) k, (SELECT $rows / sum(1.0 / (k + 1)) AS scale FROM generate_series(1, $tenants) k) s;
		CREATE TABLE noise AS SELECT i AS id, (SELECT array_agg(random() + random() + random() - 1.5) FROM generate_series(1, $dims) WHERE i > 0)::vector AS v
		FROM generate_series(0, 19999) i;
		ALTER TABLE noise ADD PRIMARY KEY (id);
		CREATE TABLE made AS SELECT k, 1 + hashint8extended(k, i / 200) & 16383 AS center, (random() * 19999)::int AS near, (random() * 19999)::int AS also
		FROM tenant, generate_series(1, n) i;
		CREATE TABLE item AS SELECT (row_number() OVER ())::int AS id, made.k AS tenant, (c.v + a.v * array_fill(0.35, ARRAY[$dims])::vector + b.v * array_fill(0.35, ARRAY[$dims])::vector)::vector($dims) AS v
		FROM made JOIN noise c ON c.id = center % 20000 JOIN noise a ON a.id = near JOIN noise b ON b.id = also ORDER BY random();
		DROP TABLE made;
		CREATE TABLE added AS SELECT i AS id, t.tenant, t.v FROM generate_series(1, 10000) i JOIN item t ON t.id = 1 + (i * 7919::bigint % (SELECT max(id) FROM item));
		ALTER TABLE added ADD PRIMARY KEY (id);
		CREATE INDEX item_tenant ON item (tenant);
		VACUUM ANALYZE item;
		CREATE TABLE question AS
		WITH numbered AS (SELECT id, tenant, v, count(*) OVER (PARTITION BY tenant) AS n FROM item),
			candidate AS (SELECT DISTINCT ON (tenant, id % 64) * FROM numbered WHERE id % 3 > 0),
			size (fewest, most, queries) AS (VALUES (1, 50, $queries), (51, 1000, $queries), (1001, 10000, $queries), (10001, 100000, $queries), (0, 100000, 20)),
			chosen AS (SELECT size.fewest, size.most, s.* FROM size, LATERAL (SELECT * FROM candidate WHERE n BETWEEN fewest AND most ORDER BY hashint4(id) LIMIT queries) s)
		SELECT fewest, most, tenant, v, n, ARRAY(SELECT id FROM item WHERE item.tenant = chosen.tenant AND fewest > 0 ORDER BY item.v <-> chosen.v LIMIT 10) AS truth FROM chosen;
		SET enable_indexscan = off;
		UPDATE question SET truth = ARRAY(SELECT id FROM item ORDER BY item.v <-> question.v LIMIT 10) WHERE fewest = 0;
		ALTER TABLE item ADD PRIMARY KEY (id);
		DROP INDEX item_tenant;
	SQL
	[ -z "$with_pgvector" ] || copy_tables
}

copy_tables()
{
	psql_in postgres -c 'CREATE DATABASE pgvector' </dev/null
	psql_in pgvector >/dev/null <<-SQL
		CREATE EXTENSION vector;
		CREATE TABLE item (id int, tenant int, v vector($dims));
		CREATE TABLE added (id int PRIMARY KEY, tenant int, v vector($dims));
		CREATE TABLE question (fewest int, most int, tenant int, v vector, n bigint, truth int[]);
	SQL
	for table in item added question; do
		psql_in hybrid -c "COPY $table TO STDOUT" </dev/null | psql_in pgvector -c "COPY $table FROM STDIN"
	done
	psql_in pgvector -c 'ALTER TABLE item ADD PRIMARY KEY (id)' </dev/null
}

# measured(fewest, most): recall and times of the questions about tenants of a size
make_function()
{
	psql_in "$1" <<-'SQL'
		CREATE OR REPLACE FUNCTION measured(smallest bigint, largest bigint, OUT n int, OUT recall float8, OUT p50 float8, OUT p99 float8) LANGUAGE plpgsql AS $$
		DECLARE
			statement text;
			explained json;
			found int[];
			times float8[];
			hits float8 := 0;
			wanted float8 := 0;
			q record;
		BEGIN
			n := 0;
			FOR q IN SELECT * FROM question WHERE question.fewest = smallest AND question.n <= largest LOOP
				statement := format('SELECT id FROM item WHERE %s ORDER BY v <-> %L LIMIT 10', CASE WHEN smallest = 0 THEN 'true' ELSE 'tenant = ' || q.tenant END, q.v);
				EXECUTE 'SELECT array_agg(id) FROM (' || statement || ') s' INTO found;
				EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT json) ' || statement INTO explained;
				times := times || (explained->0->>'Execution Time')::float8;
				n := n + 1;
				wanted := wanted + cardinality(q.truth);
				hits := hits + (SELECT count(*) FROM unnest(found) f WHERE f = ANY (q.truth));
			END LOOP;
			SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t), percentile_cont(0.99) WITHIN GROUP (ORDER BY t) INTO p50, p99 FROM unnest(times) t;
			recall := hits / nullif(wanted, 0);
		END $$;
	SQL
}

# inserts_per_second DATABASE: of two clients, each with half of the rows of the table added
inserts_per_second()
{
	local script=$server/insert.sql

	psql_in "$1" -c 'CREATE SEQUENCE next' </dev/null
	cat >"$script" <<-'SQL'
		INSERT INTO item SELECT id + 10000000, tenant, v FROM added WHERE id = (SELECT nextval('next'))
	SQL
	chmod a+r "$script"
	PGDATABASE=$1 test/server.sh run "$server" pgbench -n -c 2 -j 2 -t 5000 -f "$script" 2>&1 | sed -n 's/^tps = \([0-9]*\).*/\1/p'
	psql_in "$1" -c 'DELETE FROM item WHERE id > 10000000' -c 'VACUUM item' -c 'DROP SEQUENCE next' </dev/null
}

# built NAME DATABASE INDEX STATEMENT ...: run the statements, which create indexes of names like INDEX, and print their line
built()
{
	local begin took bytes name=$1 database=$2 index=$3

	shift 3
	begin=$(date +%s%N)
	printf '%s;\n' "$@" | psql_in "$database"
	took=$((($(date +%s%N) - begin) / 1000000))
	bytes=$(psql_in "$database" -c "SELECT sum(pg_relation_size(oid)) FROM pg_class WHERE relname LIKE '$index'" </dev/null)
	echo "$name,$rows,$dims,$tenants,$((took / 1000)).$((took / 100 % 10)),$bytes,$(inserts_per_second "$database")"
}

# searched NAME DATABASE SETTINGS SIZE ...
searched()
{
	local name=$1 database=$2 settings=$3 size

	shift 3
	for size in "$@"; do
		psql_in "$database" <<-SQL | tail -n 1
			SET enable_seqscan = off;
			SET plan_cache_mode = force_custom_plan;
			$settings
			SELECT concat_ws(',', '$name', ${size/ /, }, n, round(recall::numeric, 3), round(p50::numeric, 3), round(p99::numeric, 3)) FROM measured(${size/ /, }) WHERE n > 0;
		SQL
	done
}

with_pgvector=$(pgvector_version)
exists=$(psql_in postgres -c "SELECT count(*) FROM pg_database WHERE datname = 'hybrid'" </dev/null)
if [ "$exists" = 0 ]; then
	step "making $rows rows of $tenants tenants, twice with pgvector" >&2
	make_tables
	done_step >&2
fi
make_function hybrid
all_sizes=("1 50" "51 1000" "1001 10000" "10001 100000")

echo "index,rows,dims,tenants,build_s,bytes,inserts_per_s"
echo "index,fewest,most,queries,recall,p50_ms,p99_ms"
built plain hybrid searched 'CREATE INDEX searched ON item USING hybrid (v vector_l2_ops)'
searched plain hybrid '' "0 100000"
psql_in hybrid -c 'DROP INDEX searched' </dev/null
built include hybrid searched 'CREATE INDEX searched ON item USING hybrid (v vector_l2_ops) INCLUDE (tenant)'
searched include hybrid '' "${all_sizes[@]}" "0 100000"
psql_in hybrid -c 'DROP INDEX searched' </dev/null
built key hybrid searched 'CREATE INDEX searched ON item USING hybrid (tenant, v vector_l2_ops)'
searched key hybrid '' "${all_sizes[@]}" "0 100000"
psql_in hybrid -c 'DROP INDEX searched' </dev/null
if [ -z "$with_pgvector" ]; then
	echo "pgvector,not available"
	exit 0
fi

use_whole_index()
{
	psql_in pgvector -c "UPDATE pg_index SET indisvalid = $1, indisready = $1 WHERE indexrelid = 'searched'::regclass" </dev/null
}

make_function pgvector
if [ "$(psql_in pgvector -c "SELECT count(*) FROM pg_class WHERE relname = 'searched'" </dev/null)" = 0 ]; then
	step "building pgvector's index" >&2
	built pgvector pgvector searched 'CREATE INDEX searched ON item USING hnsw (v vector_l2_ops)'
	done_step >&2
fi
searched pgvector_iterative pgvector "SET hnsw.iterative_scan = strict_order;" "${all_sizes[@]}" "0 100000"
use_whole_index false
if [ "$(psql_in pgvector -c "SELECT count(*) FROM pg_class WHERE relname LIKE 'partial\_%'" </dev/null)" = 0 ]; then
	step "building pgvector's partial indexes" >&2
	mapfile -t partial < <(psql_in hybrid -c "SELECT format('CREATE INDEX partial_%s ON item USING hnsw (v vector_l2_ops) WHERE tenant = %1\$s', k) FROM tenant ORDER BY n DESC, k LIMIT 100" </dev/null)
	built pgvector_with_partial pgvector 'partial\_%' "${partial[@]}"
	done_step >&2
fi
# the size of the 100th largest tenant
least=$(psql_in hybrid -c "SELECT min(n) FROM (SELECT n FROM tenant ORDER BY n DESC, k LIMIT 100) s" </dev/null)
psql_in pgvector -c "UPDATE question SET fewest = -1 WHERE fewest = 1001 AND n > $least" </dev/null
for width in 40 100; do
	searched "pgvector_partial_ef_$width" pgvector "SET hnsw.ef_search = $width;" "-1 10000" "10001 100000"
done
psql_in pgvector -c "UPDATE question SET fewest = 1001 WHERE fewest = -1" </dev/null
use_whole_index true
