-- Which plan is chosen, by how many rows are wanted and how many meet a condition.
SET jit = off;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE item (id int, tenth int, hundredth int, thousandth int, v vector(256));
INSERT INTO item
SELECT i, i * 7919 % 10007 % 10, i * 7919 % 10007 % 100, i * 7919 % 10007 % 1000,
	(SELECT array_agg(sin(i * (d + 0.7) * 1.13)) FROM generate_series(1, 256) d WHERE i IS NOT NULL)::vector(256)
FROM generate_series(1, 20000) i;
CREATE INDEX item_v ON item USING hybrid (v vector_l2_ops);
VACUUM ANALYZE item;

CREATE FUNCTION plan(condition text, most int, OUT node text) LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN SELECT id FROM item WHERE %s ORDER BY v <-> (SELECT v FROM item WHERE id = 1) LIMIT %s', condition, most) LOOP
		node := coalesce(node, substring(line FROM 'Index Scan using item_v|Sort'));
	END LOOP;
END $$;
SELECT condition, most, plan(condition, most)
FROM unnest(ARRAY['true', 'tenth = 7', 'hundredth = 7', 'thousandth = 7']) condition, unnest(ARRAY[1, 10, 100, 1000, 20000]) most
WHERE NOT (condition, most) IN (('true', 1000), ('tenth = 7', 1000), ('tenth = 7', 100), ('hundredth = 7', 100), ('thousandth = 7', 10));
-- all rows that were asked for, whichever plan it is
CREATE FUNCTION filled(condition text, most int, OUT rows int) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(*) FROM (SELECT id FROM item WHERE %s ORDER BY v <-> (SELECT v FROM item WHERE id = 1) LIMIT %s) s', condition, most) INTO rows;
END $$;
SELECT most, sum(filled(condition, most)) FROM unnest(ARRAY['true', 'tenth = 7', 'hundredth = 7', 'thousandth = 7']) condition, unnest(ARRAY[1, 10]) most GROUP BY 1 ORDER BY 1;

-- a b-tree that finds the few rows of a condition is better than any order; and of a table of few rows there is no need for an index
CREATE INDEX item_id ON item (id);
SELECT plan('id BETWEEN 5 AND 9', 3);
CREATE TABLE small AS SELECT * FROM item WHERE id <= 10;
CREATE INDEX small_v ON small USING hybrid (v vector_l2_ops);
ANALYZE small;
PREPARE near(vector) AS SELECT id FROM small ORDER BY v <-> $1 LIMIT 3;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE near(NULL);
RESET plan_cache_mode;
DEALLOCATE near;

-- the startup cost grows with what a search looks at
CREATE FUNCTION startup(OUT cost numeric) LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN SELECT id FROM item ORDER BY v <-> %L::vector LIMIT 1', array_fill(0.5, ARRAY[256])::real[]::vector) LOOP
		cost := coalesce(cost, substring(line FROM 'cost=([0-9]+)')::numeric);
	END LOOP;
END $$;
SET enable_seqscan = off;
CREATE TABLE costs AS SELECT startup() AS usual;
SET hybrid.probes = 1;
ALTER TABLE costs ADD few numeric;
UPDATE costs SET few = startup();
SET hybrid.probes = 100000;
ALTER TABLE costs ADD every numeric;
UPDATE costs SET every = startup();
RESET hybrid.probes;
SET hybrid.target_recall = 1;
ALTER TABLE costs ADD exact numeric;
UPDATE costs SET exact = startup();
RESET hybrid.target_recall;
SELECT few < usual, usual < every, usual < exact FROM costs;
DROP TABLE costs;
RESET enable_seqscan;

-- many rows that are dead and not vacuumed yet: the index still gives all rows that are wanted, to whom it is given
ALTER TABLE item SET (autovacuum_enabled = off);
DELETE FROM item WHERE id % 10 <> 1;
SELECT most, plan('true', most), filled('true', most) FROM unnest(ARRAY[1, 10, 100]) most;
SELECT most, filled('true', most) FROM unnest(ARRAY[1000, 10000]) most;
ANALYZE item;
SELECT most, plan('true', most), filled('true', most) FROM unnest(ARRAY[1, 10, 100]) most;
SELECT most, filled('true', most) FROM unnest(ARRAY[1000, 10000]) most;
VACUUM ANALYZE item;
SELECT most, plan('true', most), filled('true', most) FROM unnest(ARRAY[1, 10]) most;
SELECT most, filled('true', most) FROM unnest(ARRAY[100, 1000, 10000]) most;
DROP TABLE item, small;
DROP FUNCTION plan, filled, startup;
