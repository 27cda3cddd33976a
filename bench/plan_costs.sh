#!/bin/bash
# Compares the planner's estimates for ORDER BY v <-> q LIMIT 10 with the measured times.
#
#	bench/plan_costs.sh [TYPE [DIMS [ROWS]]]
#
# Each argument is a list in quotes. Without arguments, all types, dimensions and numbers of rows are measured.
# Default settings, all pages in memory, index built or grown row by row. CSV on stdout: the plan that
# the planner chooses, median time and estimated cost of the index scan and of the sequential scan,
# and whether the chosen plan takes at most twice as long as the other.
set -euo pipefail

cd "$(dirname "$0")/.."
types=${1:-vector halfvec}
dims=${2:-3 128 384 768 1536 3072}
rows=${3:-200 2000 20000}
server=$(mktemp -d /tmp/hybrid-bench.XXXXXX)
chmod 755 "$server"
trap 'test/server.sh down "$server"; rm -rf "$server"' EXIT
test/server.sh up "$server" "autovacuum = off" "shared_buffers = 1GB"

sql()
{
	test/server.sh run "$server" psql -X -q -At -v ON_ERROR_STOP=1
}

sql <<'SQL'
CREATE EXTENSION hybrid;
-- median time in milliseconds and estimated cost of a plan, and the scan that it has
CREATE FUNCTION measured(query text, without text, OUT scan text, OUT cost float8, OUT ms float8) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	times float8[];
BEGIN
	IF without IS NOT NULL THEN
		PERFORM set_config('enable_' || without, 'off', true);
	END IF;
	FOR i IN 0..7 LOOP
		EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT json) ' || query INTO plan;
		IF i > 0 THEN
			times := times || (plan->0->>'Execution Time')::float8;
		END IF;
	END LOOP;
	scan := CASE WHEN plan::text LIKE '%item_v%' THEN 'index' ELSE 'table' END;
	cost := plan->0->'Plan'->>'Total Cost';
	SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t) INTO ms FROM unnest(times) t;
	IF without IS NOT NULL THEN
		PERFORM set_config('enable_' || without, 'on', true);
	END IF;
END $$;
SQL

echo type,dims,rows,index,condition,chosen,index_ms,table_ms,index_cost,table_cost,within_2x
for type in $types; do
	for dim in $dims; do
		sql <<SQL
SET client_min_messages = warning;
DROP TABLE IF EXISTS pool;
CREATE TABLE pool AS SELECT i AS id, (SELECT array_agg(random()) FROM generate_series(1, $dim) WHERE i > 0)::$type($dim) AS v
FROM generate_series(1, $(tr ' ' '\n' <<<"$rows" | sort -n | tail -1)) i;
SQL
		for row in $rows; do
			for made in built grown; do
				sql <<SQL
SET client_min_messages = warning;
DROP TABLE IF EXISTS item;
CREATE TABLE item (id int, v $type($dim));
$([ $made = built ] || echo "CREATE INDEX item_v ON item USING hybrid (v ${type}_l2_ops);")
INSERT INTO item SELECT * FROM pool WHERE id <= $row ORDER BY id;
$([ $made = grown ] || echo "CREATE INDEX item_v ON item USING hybrid (v ${type}_l2_ops);")
ANALYZE item;
SELECT concat_ws(',', '$type', $dim, $row, '$made', condition, chosen.scan, round(by_index.ms::numeric, 3), round(by_table.ms::numeric, 3),
	round(by_index.cost), round(by_table.cost), chosen_ms <= 2 * least(by_index.ms, by_table.ms))
FROM unnest(ARRAY['all', 'id % 100 = 7']) condition,
	LATERAL (SELECT format('SELECT id FROM item WHERE %s ORDER BY v <-> %L::$type LIMIT 10', CASE condition WHEN 'all' THEN 'true' ELSE condition END,
		(SELECT array_agg(random()) FROM generate_series(1, $dim) WHERE condition <> '')::$type::text) OFFSET 0) q(query),
	LATERAL measured(query, NULL) chosen, LATERAL measured(query, 'seqscan') by_index, LATERAL measured(query, 'indexscan') by_table,
	LATERAL (SELECT CASE chosen.scan WHEN 'index' THEN by_index.ms ELSE by_table.ms END) c(chosen_ms);
SQL
			done
		done
	done
done
