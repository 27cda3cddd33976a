#!/bin/bash
# Filtered searches: conditions judged in the index (INCLUDE), beside an index without the column, and beside a btree
# index on the column with exact distances.
#
#	bench/include.sh [ROWS [DIMS [QUERIES]]]
#
# Rows are generated: clusters of about 200 rows. For each share of the rows, there are three conditions: random; near,
# where the rows are a part of a cluster or whole clusters, and the query is among them, so that small shares have other
# rows for each query; and far, where the rows are those around one point, and the queries are elsewhere.
# LIMIT 10, default settings, all pages in memory. CSV on stdout: the recall with INCLUDE, median times in milliseconds
# (only execution), the recall and the time of the index without the column, the plan that the planner chooses between
# INCLUDE, btree and the table, and whether it takes at most twice as long as the fastest of these.
set -euo pipefail

cd "$(dirname "$0")/.."
# shellcheck source=bench/wordnet.sh
. bench/wordnet.sh

rows=${1:-1000000}
dims=${2:-128}
queries=${3:-20}
{
	build
	server_settings=("shared_buffers = 3GB" "max_wal_size = 8GB" "work_mem = 4MB")
	start_server
} >&2

psql_in postgres >/dev/null <<SQL
CREATE EXTENSION hybrid;
SET client_min_messages = warning;
SELECT setseed(0.5);
CREATE TABLE center AS SELECT i AS id, (SELECT array_agg(random() + random() + random() - 1.5) FROM generate_series(1, $dims) WHERE i > 0)::vector AS v
FROM generate_series(1, greatest($rows / 200, 1)) i;
CREATE TABLE made AS SELECT i AS id, c.id AS cluster, (random() * 1e9)::int AS random, c.v + n.v AS v
FROM generate_series(1, $rows) i JOIN center c ON c.id = 1 + i % greatest($rows / 200, 1),
	LATERAL (SELECT array_agg((random() + random() + random() - 1.5) * 0.7) FROM generate_series(1, $dims) WHERE i > 0) n0 (a),
	LATERAL (SELECT n0.a::vector AS v) n;
-- clusters by their distance to one point, and the rows of a cluster by their distance to its center
CREATE TABLE item AS SELECT m.id, random, (row_number() OVER (ORDER BY c.v <-> o.v, c.id, m.v <-> c.v))::int AS place, m.v::vector($dims)
FROM made m JOIN center c ON c.id = cluster, (SELECT v FROM center WHERE id = 1) o ORDER BY hashint4(m.id);
DROP TABLE made;
CREATE INDEX item_random ON item (random);
CREATE INDEX item_place ON item (place);
CREATE INDEX item_include ON item USING hybrid (v vector_l2_ops) INCLUDE (random, place);
CREATE INDEX item_plain ON item USING hybrid (v vector_l2_ops);
VACUUM ANALYZE item;
-- use only these indexes
CREATE FUNCTION use(VARIADIC names text[]) RETURNS void LANGUAGE sql AS \$\$
	UPDATE pg_index SET indisvalid = indexrelid::regclass::text = ANY (names) WHERE indrelid = 'item'::regclass \$\$;
-- the median time, the recall, and the plan of most queries; a condition may name the block of places that has the query
CREATE FUNCTION measured(condition text, asked int[], indexes text[], seqscan text, OUT ms float8, OUT recall float8, OUT plan text) LANGUAGE plpgsql AS \$\$
DECLARE
	statement text;
	explained json;
	truth int[];
	found int[];
	times float8[];
	plans text[];
	hits float8 := 0;
	wanted float8 := 0;
	q record;
BEGIN
	FOR q IN SELECT place, v FROM item JOIN unnest(asked) a (place) USING (place) LOOP
		statement := format('SELECT id FROM item WHERE %s ORDER BY v <-> %L LIMIT 10',
			replace(condition, 'block', ((q.place - 1) / (regexp_match(condition, '\\d+'))[1]::int)::text), q.v);
		PERFORM use('item_random', 'item_place');
		EXECUTE 'SELECT array_agg(id) FROM (' || statement || ') s' INTO truth;
		PERFORM use(VARIADIC indexes);
		PERFORM set_config('enable_seqscan', seqscan, true);
		-- a filter that is checked on the rows of the table may check all of them
		PERFORM set_config('hybrid.max_scan_tuples', '1000000000', true);
		EXECUTE 'SELECT array_agg(id) FROM (' || statement || ') s' INTO found;
		EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT json) ' || statement INTO explained;
		times := times || (explained->0->>'Execution Time')::float8;
		plans := plans || coalesce(substring(explained::text FROM 'item_\w+'), 'table');
		wanted := wanted + cardinality(truth);
		hits := hits + (SELECT count(*) FROM unnest(found) f WHERE f = ANY (truth));
	END LOOP;
	SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t) INTO ms FROM unnest(times) t;
	SELECT mode() WITHIN GROUP (ORDER BY p) INTO plan FROM unnest(plans) p;
	recall := hits / wanted;
END \$\$;
SQL

echo rows,dims,percent,kind,include_recall,include_ms,plain_recall,plain_ms,btree_ms,table_ms,chosen,chosen_ms,within_2x
for percent in 0.01 0.1 1 10 50; do
	for kind in random near far; do
		psql_in postgres <<SQL
CREATE TEMP TABLE question AS SELECT array_agg(place) AS asked FROM (SELECT place FROM item
	WHERE '$kind' <> 'far' OR place > $rows * 0.6 ORDER BY random LIMIT $queries) s;
SELECT concat_ws(',', $rows, $dims, $percent, '$kind', round(i.recall::numeric, 3), round(i.ms::numeric, 3), round(p.recall::numeric, 3),
	round(p.ms::numeric, 3), round(b.ms::numeric, 3), round(t.ms::numeric, 3), c.plan, round(c.ms::numeric, 3), c.ms <= 2 * least(i.ms, b.ms, t.ms))
FROM question,
	LATERAL (SELECT format(CASE '$kind' WHEN 'random' THEN 'random < %s' WHEN 'near' THEN 'place > %1\$s * block AND place <= %1\$s * (block + 1)'
		ELSE 'place <= %s' END, (CASE '$kind' WHEN 'random' THEN 1e9 ELSE $rows END * $percent / 100)::int) OFFSET 0) w (condition),
	LATERAL measured(condition, asked, '{item_include}', 'off') i, LATERAL measured(condition, asked, '{item_plain}', 'off') p,
	LATERAL measured(condition, asked, '{item_random,item_place}', 'off') b, LATERAL measured(condition, asked[1:1], '{}', 'on') t,
	LATERAL measured(condition, asked, '{item_include,item_random,item_place}', 'on') c;
SQL
	done
done
