#!/bin/bash
# Searches within a tenant: a key before the vector, beside an index without the key and with the key as an included column.
#
#	bench/tenants.sh [ROWS [DIMS [TENANTS [QUERIES]]]]
#
# Rows are generated: each tenant has its own clusters, and the number of its rows follows Zipf's law, from 1 to about 4% of
# all rows. LIMIT 10, default settings, all pages in memory. CSV on stdout. First a line for each index: the time of its
# build, its size, and the time of 10,000 inserts into random tenants. Then a line for each size of tenant, with the recall
# within the tenant and the times of searches (execution only): the median and the 99th percentile, in milliseconds. The
# line with fewest = 0 is for searches without a condition.
set -euo pipefail

cd "$(dirname "$0")/.."
# shellcheck source=bench/wordnet.sh
. bench/wordnet.sh

rows=${1:-1000000}
dims=${2:-128}
tenants=${3:-100000}
queries=${4:-300}
{
	build
	server_settings=("shared_buffers = 3GB" "max_wal_size = 8GB" "work_mem = 4MB")
	start_server
} >&2

psql_in postgres >/dev/null <<SQL
CREATE EXTENSION hybrid;
SET client_min_messages = warning;
SELECT setseed(0.5);
-- tenant k has rows / (k + 1) of all rows, scaled
CREATE FUNCTION size_of(k int, scale float8) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT greatest((scale / (k + 1))::int, 1)';
CREATE TABLE tenant AS SELECT k, size_of(k, s.scale) AS n
FROM generate_series(1, $tenants) k, (SELECT $rows / sum(1.0 / (k + 1)) AS scale FROM generate_series(1, $tenants) k) s;
CREATE TABLE noise AS SELECT i AS id, (SELECT array_agg(random() + random() + random() - 1.5) FROM generate_series(1, $dims) WHERE i > 0)::vector AS v
FROM generate_series(0, 19999) i;
ALTER TABLE noise ADD PRIMARY KEY (id);
CREATE TABLE made AS SELECT k, 1 + hashint8extended(k, i / 200) & 16383 AS center, (random() * 19999)::int AS near, (random() * 19999)::int AS also
FROM tenant, generate_series(1, n) i;
CREATE TABLE item AS SELECT (row_number() OVER ())::int AS id, made.k AS tenant, (c.v + a.v * array_fill(0.35, ARRAY[$dims])::vector + b.v * array_fill(0.35, ARRAY[$dims])::vector)::vector($dims) AS v
FROM made JOIN noise c ON c.id = center % 20000 JOIN noise a ON a.id = near JOIN noise b ON b.id = also ORDER BY random();
DROP TABLE made;
CREATE TABLE question AS SELECT id, tenant, v, count(*) OVER (PARTITION BY tenant) AS n FROM item;
DELETE FROM question WHERE id % 3 = 0;
ALTER TABLE item ADD PRIMARY KEY (id);
CREATE INDEX item_btree ON item (tenant);
VACUUM ANALYZE item;
CREATE TABLE added AS SELECT 10000000 + i AS id, t.tenant, t.v FROM generate_series(1, 10000) i JOIN item t ON t.id = 1 + (i * 7919::bigint % (SELECT max(id) FROM item));
CREATE FUNCTION use(VARIADIC names text[]) RETURNS void LANGUAGE sql AS \$\$
	UPDATE pg_index SET indisvalid = indexrelid::regclass::text = ANY (names) WHERE indrelid = 'item'::regclass \$\$;
CREATE FUNCTION built(definition text, OUT s float8, OUT bytes bigint, OUT inserts float8) LANGUAGE plpgsql AS \$\$
DECLARE
	at timestamptz := clock_timestamp();
BEGIN
	EXECUTE 'CREATE INDEX ' || definition;
	s := extract(epoch FROM clock_timestamp() - at);
	bytes := pg_relation_size(split_part(definition, ' ', 1)::regclass);
	at := clock_timestamp();
	INSERT INTO item SELECT * FROM added;
	inserts := extract(epoch FROM clock_timestamp() - at);
	DELETE FROM item WHERE id > 10000000;
END \$\$;
CREATE FUNCTION measured(name text, fewest int, most int, OUT n int, OUT recall float8, OUT p50 float8, OUT p99 float8) LANGUAGE plpgsql AS \$\$
DECLARE
	statement text;
	explained json;
	truth int[];
	found int[];
	times float8[];
	hits float8 := 0;
	wanted float8 := 0;
	q record;
BEGIN
	n := 0;
	FOR q IN SELECT * FROM (SELECT DISTINCT ON (tenant, id % 64) * FROM question WHERE question.n BETWEEN fewest AND most) s ORDER BY hashint4(id) LIMIT CASE WHEN fewest = 0 THEN 20 ELSE $queries END LOOP
		statement := format('SELECT id FROM item WHERE %s ORDER BY v <-> %L LIMIT 10', CASE WHEN fewest = 0 THEN 'true' ELSE 'tenant = ' || q.tenant END, q.v);
		PERFORM use('item_btree');
		PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_bitmapscan', 'on', true);
		EXECUTE 'SELECT array_agg(id) FROM (' || statement || ') s' INTO truth;
		PERFORM use(name);
		PERFORM set_config('enable_seqscan', 'off', true);
		EXECUTE 'SELECT array_agg(id) FROM (' || statement || ') s' INTO found;
		EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT json) ' || statement INTO explained;
		times := times || (explained->0->>'Execution Time')::float8;
		n := n + 1;
		wanted := wanted + cardinality(truth);
		hits := hits + (SELECT count(*) FROM unnest(found) f WHERE f = ANY (truth));
	END LOOP;
	SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t), percentile_cont(0.99) WITHIN GROUP (ORDER BY t) INTO p50, p99 FROM unnest(times) t;
	recall := hits / nullif(wanted, 0);
END \$\$;
SQL
echo "index,rows,dims,tenants,largest,build_s,bytes,inserts_s"
echo "index,fewest,most,queries,recall,p50_ms,p99_ms"
for index in "item_plain ON item USING hybrid (v vector_l2_ops)" "item_include ON item USING hybrid (v vector_l2_ops) INCLUDE (tenant)" \
	"item_key ON item USING hybrid (tenant, v vector_l2_ops)"; do
	name=${index%% *}
	psql_in postgres <<< "SELECT concat_ws(',', '$name', (SELECT sum(n) FROM tenant), $dims, $tenants, (SELECT max(n) FROM tenant), round(s::numeric, 1), bytes, round(inserts::numeric, 2)) FROM built('$index');"
	psql_in postgres <<< "VACUUM item;"
	for size in "1 50" "51 1000" "1001 10000" "10001 100000" "1 100000" "0 100000"; do
		# without the key's words, only searches without a condition are worth measuring
		[ "$name $size" = "item_plain 0 100000" ] || [ "$name" != item_plain ] || continue
		psql_in postgres <<< "SELECT concat_ws(',', '$name', ${size/ /, }, n, round(recall::numeric, 3), round(p50::numeric, 3), round(p99::numeric, 3)) FROM measured('$name', ${size/ /, }) WHERE n > 0;"
	done
	psql_in postgres <<< "DROP INDEX $name;"
done
