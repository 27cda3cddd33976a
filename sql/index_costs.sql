-- What a scan is said to cost, and that scans are counted.
SET jit = off;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE item (id int, tenth int, thousandth int, v vector(64));
INSERT INTO item SELECT i, i % 10, i % 1000, (SELECT array_agg(sin(i * (d + 0.7) * 1.13)) FROM generate_series(1, 64) d WHERE i IS NOT NULL)::vector(64)
FROM generate_series(1, 10000) i;
CREATE INDEX item_v ON item USING hybrid (v);
VACUUM ANALYZE item;
SET enable_seqscan = off;

-- who reads all rows in order, and wants few of them, has no vectors of others read: cheaper by far more
-- than the distances that are not shown
CREATE FUNCTION total(condition text, OUT cost float8) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
	node jsonb;
BEGIN
	EXECUTE format('EXPLAIN (FORMAT json) SELECT id FROM item WHERE %s ORDER BY v <-> %L::vector', condition, array_fill(0.5, ARRAY[64])::real[]::vector) INTO plan;
	node := plan->0->'Plan';
	IF node->>'Index Name' IS DISTINCT FROM 'item_v' THEN
		RAISE 'another plan: %', plan;
	END IF;
	cost := node->'Total Cost';
END $$;
SET enable_sort = off;
-- none is left out
SET hybrid.iterative_scan = relaxed_order;
SELECT total('thousandth = 7') * 1.5 < total('true') AS few_are_cheaper, total('thousandth = 7') * 1.1 < total('tenth = 7') AS fewer_than_a_tenth,
	total('thousandth >= 0') > total('true') AS all_are_not;
RESET enable_sort;
RESET hybrid.iterative_scan;

-- each scan is counted: by codes, by all vectors, of a bitmap, none of a plan that is not run
CREATE FUNCTION counted() RETURNS bigint LANGUAGE sql AS $$ SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'item_v' $$;
SELECT pg_stat_force_next_flush();
SELECT counted() AS before \gset
SHOW hybrid.target_recall;
SELECT count(*) FROM (SELECT id FROM item ORDER BY v <-> (SELECT v FROM item WHERE id = 7) LIMIT 3) s;
SELECT pg_stat_force_next_flush();
SELECT counted() - :before AS by_codes;
SELECT count(*) FROM generate_series(1, 4) i, LATERAL (SELECT id FROM item ORDER BY v <-> array_fill(i, ARRAY[64])::vector LIMIT 3) s;
SELECT pg_stat_force_next_flush();
SELECT counted() - :before AS four_more;
SET hybrid.target_recall = 1;
SELECT count(*) FROM (SELECT id FROM item ORDER BY v <-> (SELECT v FROM item WHERE id = 7) LIMIT 3) s;
SELECT pg_stat_force_next_flush();
SELECT counted() - :before AS by_all_vectors;
RESET hybrid.target_recall;
SET enable_indexscan = off;
SELECT count(*) FROM item WHERE v <<->> hybrid_sphere(array_fill(0.5, ARRAY[64])::vector, 1);
SELECT pg_stat_force_next_flush();
SELECT counted() - :before AS a_bitmap;
PREPARE inside(vector) AS SELECT count(*) FROM item WHERE v <<->> hybrid_sphere($1, 1);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE inside(NULL);
RESET plan_cache_mode;
DEALLOCATE inside;
SELECT pg_stat_force_next_flush();
SELECT counted() - :before AS no_more;
DROP TABLE item;
DROP FUNCTION total, counted;

RESET enable_indexscan;
SET enable_sort = off;
-- a search in an index without a curve goes on until its sample is full, or a quarter of the rows are scored; the numbers of rows
-- in the entries of lists, which it adds up, are rounded
CREATE TABLE grown (id int, v vector(32));
CREATE INDEX grown_v ON grown USING hybrid (v);
INSERT INTO grown SELECT i, (SELECT array_agg(sin(i * (d + 0.7) * 1.13) + 10 * sin((i % 20) * d)) FROM generate_series(1, 32) d WHERE i IS NOT NULL)::vector(32)
FROM generate_series(1, 10000) i;
ANALYZE grown;
CREATE FUNCTION startup(OUT cost float8) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE format('EXPLAIN (FORMAT json) SELECT id FROM grown ORDER BY v <-> %L::vector LIMIT 10', array_fill(0.5, ARRAY[32])::real[]::vector) INTO plan;
	plan := plan->0->'Plan'->'Plans'->0;
	IF plan->>'Index Name' IS DISTINCT FROM 'grown_v' THEN
		RAISE 'another plan: %', plan;
	END IF;
	cost := plan->'Startup Cost';
END $$;
SELECT startup() AS before \gset
SELECT count(*) FROM (SELECT id FROM grown ORDER BY v <-> (SELECT v FROM grown WHERE id = 7) LIMIT 10) s;
SELECT rows_scored BETWEEN 1900 AND 2600 AS about_a_quarter FROM hybrid_last_scan();
REINDEX INDEX grown_v;
SELECT count(*) FROM (SELECT id FROM grown ORDER BY v <-> (SELECT v FROM grown WHERE id = 7) LIMIT 10) s;
SELECT rows_scored < 1250 AS less_than_an_eighth, :before > 1.2 * startup() AS costs_less FROM hybrid_last_scan();
DROP TABLE grown;
DROP FUNCTION startup;

