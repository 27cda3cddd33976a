-- Conditions beside an order by distance: LIMIT is filled, and what is thrown away is not computed first.
SET jit = off;
SET enable_seqscan = off;
SET enable_bitmapscan = off;

CREATE TABLE item (id int PRIMARY KEY, category int, note text, v vector(16)) WITH (fillfactor = 50);
INSERT INTO item
SELECT i, i * 7919 % 10007 % 100, 'n' || i % 10, (SELECT array_agg(sin(i * (d + 0.7) * 1.13) + cos(i * 0.001 * d) ORDER BY d)
	FROM generate_series(1, 16) d WHERE i IS NOT NULL)::vector(16)
FROM generate_series(1, 12000) i;
CREATE INDEX item_v ON item USING hybrid (v vector_l2_ops);
VACUUM ANALYZE item;
CREATE TABLE asked AS SELECT id, v FROM item WHERE id % 600 = 0;

-- how many of the nearest rows that meet a condition are found, and whether they are in order
CREATE FUNCTION found(condition text, most int, OUT fewest int, OUT mean numeric, OUT ordered bool) LANGUAGE plpgsql AS $$
DECLARE
	statement text := format('SELECT count(*) AS n, count(*) FILTER (WHERE d <= (SELECT max(d) FROM
			(SELECT a.v <-> v AS d FROM item WHERE %1$s ORDER BY (a.v <-> v) + 0 LIMIT %2$s) t)) AS hits,
			bool_and(d >= before) AS ordered
		FROM (SELECT d, lag(d, 1, 0) OVER () AS before FROM
			(SELECT a.v <-> v AS d FROM item WHERE %1$s ORDER BY a.v <-> v LIMIT %2$s) s) o', condition, most);
BEGIN
	EXECUTE format('SELECT min(n), round(avg(hits), 1), bool_and(s.ordered) FROM asked a, LATERAL (%s) s', statement)
		INTO fewest, mean, ordered;
END $$;
CREATE FUNCTION node(statement text, pattern text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || statement LOOP
		IF line ~ pattern THEN
			RETURN NEXT regexp_replace(regexp_replace(ltrim(line), '(rows=\d+)\.00', '\1'), '\d{3,}', 'many');
		END IF;
	END LOOP;
END $$;

SELECT c, fewest, mean >= 9, ordered
FROM unnest(ARRAY['category = 7', 'category < 10', 'category < 60', 'category = 7 OR id = 600', 'id % 1000 = 3', 'true']) c, found(c, 10);
SELECT c, fewest, mean >= 0.9 * fewest, ordered FROM unnest(ARRAY['category = 7', 'category < 10']) c, found(c, 60);
SELECT c, fewest, mean, ordered FROM unnest(ARRAY['category = 7', 'category = -1', 'id + 0 = 77']) c, found(c, 1);
-- rows were thrown away, and EXPLAIN says so; few are fetched for their vectors
SELECT node('SELECT id FROM item WHERE category = 7 ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10', 'Index Scan|Rows Removed');
-- fewer than asked for, and none
SELECT count(*) FROM (SELECT id FROM item WHERE id + 0 IN (5, 600, 9999) ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10) s;
SELECT count(*) FROM (SELECT id FROM item WHERE category = -1 ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10) s;
-- with no limit that is known: all of them
SET hybrid.max_scan_tuples = 1000000;
SET work_mem = '64MB';
SET hybrid.iterative_scan = relaxed_order;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM item WHERE category < 10 ORDER BY v <-> (SELECT v FROM asked LIMIT 1)) s;
SELECT count(*) FROM item WHERE category < 10;
RESET work_mem;
RESET hybrid.max_scan_tuples;
RESET hybrid.iterative_scan;

-- the same by each way of storing and of asking
SET hybrid.iterative_scan = relaxed_order;
SELECT fewest, mean >= 9 FROM found('category = 7', 10);
RESET hybrid.iterative_scan;
SET hybrid.probes = 1000;
SELECT fewest, mean, ordered FROM found('category = 7', 10);
RESET hybrid.probes;
SET hybrid.target_recall = 1;
SELECT fewest, mean, ordered FROM found('category = 7', 10);
RESET hybrid.target_recall;
CREATE INDEX item_int8 ON item USING hybrid (v vector_l2_ops) WITH (storage = int8);
DROP INDEX item_v;
SELECT fewest, mean >= 9, ordered FROM found('category = 7', 10);
CREATE INDEX item_v ON item USING hybrid (v vector_l2_ops) WITH (storage = float32);
DROP INDEX item_int8;
SELECT fewest, mean >= 9, ordered FROM found('category = 7', 10);

-- parameters, of a statement and of the row outside; a cursor without a limit
PREPARE near(int, vector) AS SELECT count(*), bool_and(category = $1) FROM (SELECT category FROM item WHERE category = $1 ORDER BY v <-> $2 LIMIT 10) s;
SET plan_cache_mode = force_generic_plan;
SELECT v AS q FROM asked LIMIT 1 \gset
EXECUTE near(7, :'q');
EXECUTE near(8, :'q');
RESET plan_cache_mode;
SELECT a.id, count(*), bool_and(n.category = a.id % 100) FROM asked a,
	LATERAL (SELECT category FROM item WHERE category = a.id % 100 ORDER BY v <-> a.v LIMIT 5) n WHERE a.id < 2000 GROUP BY 1 ORDER BY 1;
BEGIN;
DECLARE c CURSOR FOR SELECT category FROM item WHERE category = 7 ORDER BY v <-> (SELECT v FROM asked LIMIT 1);
FETCH 3 FROM c;
-- what is deleted and changed by now was there when the cursor was opened
DELETE FROM item WHERE category = 7;
FETCH 3 FROM c;
SELECT count(*) FROM (SELECT id FROM item WHERE category = 7 ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10) s;
ROLLBACK;

-- versions that are not in the index: the condition is asked of the one that the snapshot sees
BEGIN;
UPDATE item SET category = 1000 WHERE id % 500 = 0;
SELECT count(*), bool_and(id % 500 = 0) FROM (SELECT id FROM item WHERE category = 1000 ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10) s;
SELECT count(*) FROM (SELECT id FROM item WHERE category < 100 AND id % 500 = 0 ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10) s;
ROLLBACK;
SELECT count(*) FROM (SELECT id FROM item WHERE category = 1000 ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10) s;
BEGIN;
SELECT count(*) FROM (SELECT id FROM item WHERE category = 7 ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10 FOR UPDATE) s;
ROLLBACK;

-- what is volatile is asked once for each row that comes, in their order; nor are dear conditions asked beforehand
CREATE SEQUENCE times;
SELECT count(*) FROM (SELECT id FROM item WHERE nextval('times') > 0 AND category < 50 ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 3) s;
SELECT last_value < 30 FROM times;
CREATE FUNCTION even(i int) RETURNS bool LANGUAGE plpgsql STABLE COST 1000 AS 'BEGIN RETURN i % 2 = 0; END';
SELECT count(*) FROM (SELECT id FROM item WHERE even(category) ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10) s;
SELECT count(*) FROM (SELECT id FROM item WHERE v <-> (SELECT v FROM asked LIMIT 1) > 1 ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10) s;
SELECT count(*) FROM (SELECT id FROM item i WHERE EXISTS (SELECT FROM asked WHERE asked.id = i.id) ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10) s;
-- a condition that searches the same index, and one that raises
CREATE FUNCTION itself(i int, c int) RETURNS bool LANGUAGE sql STABLE COST 1 AS
	'SELECT c = 7 AND i = (SELECT id FROM item WHERE category = 7 ORDER BY v <-> (SELECT v FROM item WHERE id = i) LIMIT 1)';
SELECT count(*) FROM (SELECT id FROM item WHERE itself(id, category) ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10) s;
SELECT id FROM item WHERE 1 / (category - 7) > 5 ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10;
SELECT count(*) FROM (SELECT id FROM item WHERE category = 7 ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10) s;

-- a sphere and a condition
SELECT count(*) = (SELECT count(*) FROM item, (SELECT v AS q FROM asked LIMIT 1) a WHERE category = 7 AND (v <-> q) + 0 <= 4.5)
FROM (SELECT i.id FROM item i WHERE v <<->> hybrid_sphere((SELECT v FROM asked LIMIT 1), 4.5) AND category = 7
	ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 1000) s;

-- rows that others may not see are not shown to a condition of somebody else's
CREATE ROLE hybrid_filter_reader;
CREATE FUNCTION seen(i int) RETURNS bool LANGUAGE plpgsql STABLE COST 0.1 AS
	'BEGIN IF i % 100 <> 7 THEN RAISE NOTICE ''saw %'', i; END IF; RETURN true; END';
ALTER TABLE item ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON item USING (category = 7);
GRANT SELECT ON item, asked TO hybrid_filter_reader;
SET ROLE hybrid_filter_reader;
SELECT count(*), bool_and(category = 7) FROM (SELECT category FROM item WHERE seen(category) ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10) s;
RESET ROLE;
ALTER TABLE item DISABLE ROW LEVEL SECURITY;
REVOKE ALL ON item, asked FROM hybrid_filter_reader;
DROP ROLE hybrid_filter_reader;

-- limits, and that reaching them is counted
CREATE FUNCTION limits() RETURNS jsonb LANGUAGE sql AS $$
	SELECT coalesce((SELECT scan_limits FROM hybrid_stats WHERE backend = 'cpu' AND operation = 'distance'), '{}') $$;
SELECT hybrid_reset_stats();
SELECT count(*) FROM (SELECT id FROM item WHERE category = 7 ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10) s;
SELECT limits();
SET hybrid.max_scan_tuples = 300;
SELECT count(*) BETWEEN 1 AND 9 AS fewer FROM (SELECT id FROM item WHERE category = 7 ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10) s;
SELECT limits();
-- of rows that come one lot after another, too
SELECT count(*) BETWEEN 300 AND 3000 AS fewer FROM (SELECT id FROM item, (SELECT 1 OFFSET 0) one ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 100000) s;
SELECT limits();
-- the first lot is whatever was asked for
SELECT count(*) FROM (SELECT id FROM item ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 1000) s;
SELECT limits();
RESET hybrid.max_scan_tuples;
SET work_mem = '64kB';
SELECT count(*) < 10 AS fewer FROM (SELECT id FROM item WHERE category = -1 OR id = 12000 ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10) s;
SELECT limits();
SET hybrid.scan_mem_multiplier = 100;
SELECT count(*) FROM (SELECT id FROM item WHERE category = -1 OR id = 12000 ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10) s;
SELECT limits();
SELECT hybrid_reset_stats();
SELECT limits();
RESET hybrid.scan_mem_multiplier;
RESET work_mem;

-- what is volatile in a subquery is asked once a row, too
ALTER SEQUENCE times RESTART;
SELECT count(*) FROM (SELECT id FROM item WHERE category = 7 AND (SELECT nextval('times') + 0 * item.id) > 0 ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 3) s;
SELECT currval('times');

-- rows that are dead and not yet vacuumed are not counted where nobody searches on
SET hybrid.iterative_scan = off;
SELECT count(*) FROM (SELECT id FROM item ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10) s;
ALTER TABLE item SET (autovacuum_enabled = off);
DELETE FROM item WHERE id IN (SELECT id FROM item ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 400);
SELECT count(*) FROM (SELECT id FROM item ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10) s;
DELETE FROM item WHERE id % 10 <> 0;
SELECT count(*), bool_and(id % 10 = 0) FROM (SELECT id FROM item ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10) s;
SELECT count(*) FROM (SELECT id FROM item ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 100) s;
-- while what does not meet a condition is
SELECT count(*) < 10 AS fewer FROM (SELECT id FROM item WHERE category = 7 ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10) s;
-- not even in a transaction that others' snapshots keep from being over
BEGIN;
DELETE FROM item WHERE id % 20 = 0;
SELECT count(*), bool_and(id % 20 = 10) FROM (SELECT id FROM item ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 10) s;
ROLLBACK;
RESET hybrid.iterative_scan;
SELECT count(*) FROM (SELECT id FROM item WHERE category = 7 ORDER BY v <-> (SELECT v FROM asked LIMIT 1) LIMIT 5) s;

DROP TABLE item, asked;
DROP FUNCTION found, node, limits, even, itself, seen;
DROP SEQUENCE times;

-- few rows satisfy the filter, so that most rows are nearer than the tenth of them: the default of hybrid.max_scan_tuples does
-- not end these scans (with 20,000, recall was .73)
SELECT setseed(0.5);
CREATE TABLE far AS SELECT i AS id, (SELECT array_agg((random() - 0.5)::float4) FROM generate_series(1, 32) WHERE i > 0)::vector(32) AS v
	FROM generate_series(1, 30000) i;
CREATE INDEX far_v ON far USING hybrid (v vector_l2_ops);
SET enable_seqscan = off;
CREATE FUNCTION searched(divisor int, OUT hits int, OUT checked bigint) LANGUAGE plpgsql AS $$
DECLARE
	q vector;
BEGIN
	hits := 0;
	checked := 0;
	FOR q IN SELECT v FROM far WHERE id <= 20 LOOP
		hits := hits + (SELECT count(*) FROM (SELECT id FROM far WHERE id % divisor = 3 ORDER BY v <-> q LIMIT 10) a
			JOIN (SELECT id FROM far WHERE id % divisor = 3 ORDER BY (v <-> q) + 0 LIMIT 10) b USING (id));
		checked := checked + (SELECT rows_rescored + rows_rejected FROM hybrid_last_scan());
	END LOOP;
END $$;
SELECT hits > 190 AS recall_above_95, checked / 20 > 20000 AS more_than_20000_checked FROM searched(2500);
-- a tenth of the rows: those that are not likely to be among the nearest are checked last (1,307 rows would be checked otherwise)
SELECT hits > 190 AS recall_above_95, checked / 20 < 1150 AS fewer_than_1150_checked FROM searched(10);
DROP FUNCTION searched;
RESET enable_seqscan;
DROP TABLE far;
