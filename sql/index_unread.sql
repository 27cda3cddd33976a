-- the distance that rows are ordered by is left out of plans where nobody reads it
CREATE TABLE unread (id int, v vector(2));
INSERT INTO unread SELECT i, ARRAY[i, i % 3]::vector FROM generate_series(1, 40) i;
CREATE INDEX unread_v ON unread USING hybrid (v vector_l2_ops);
ANALYZE unread;
SET enable_seqscan = off;
SET jit = off;
-- plan: a plan without what 18 says of disabled nodes
CREATE FUNCTION plan(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || statement LOOP
		IF line !~ 'Disabled: true' THEN
			RETURN NEXT line;
		END IF;
	END LOOP;
END $$;

-- at the top, with a Limit and without
SELECT plan($$SELECT id FROM unread ORDER BY v <-> '[7,1]' LIMIT 3$$);
SELECT id FROM unread ORDER BY v <-> '[7,1]' LIMIT 3;
SET enable_sort = off;
SELECT plan($$SELECT id, v FROM unread ORDER BY v <-> '[7,1]'$$);
RESET enable_sort;
SELECT id, v FROM unread ORDER BY v <-> '[7,1]' LIMIT 2 OFFSET 1;

-- it stays where it is asked for, or another column is behind it
SELECT plan($$SELECT id, v <-> '[7,1]' FROM unread ORDER BY v <-> '[7,1]' LIMIT 3$$);
SELECT id, v <-> '[7,1]' FROM unread ORDER BY v <-> '[7,1]' LIMIT 3;
SELECT plan($$SELECT id FROM unread ORDER BY v <-> '[7,1]' FETCH FIRST 3 ROWS WITH TIES$$);
SELECT id FROM unread ORDER BY v <-> '[7,1]' FETCH FIRST 3 ROWS WITH TIES;
-- from 17 on, a sort may use the order of an index, or read its rows
SET enable_incremental_sort = off;
SET enable_indexscan = off;
SET enable_seqscan = on;
SELECT plan($$SELECT id FROM unread ORDER BY v <-> '[7,1]', id LIMIT 3$$);
SELECT id FROM unread ORDER BY v <-> '[7,1]', id LIMIT 3;
RESET enable_indexscan;
SET enable_seqscan = off;
SELECT plan($$SELECT id FROM unread ORDER BY v <-> '[7,1]' LIMIT 3 FOR UPDATE$$);
SELECT id FROM unread ORDER BY v <-> '[7,1]' LIMIT 3 FOR UPDATE;
-- nothing else is selected: a row of no columns would be left
SELECT plan($$SELECT FROM unread ORDER BY v <-> '[7,1]' LIMIT 3$$);

-- subqueries: in FROM, of each row, in a condition, of a set operation
SELECT plan($$SELECT a.id, b.id FROM unread a, LATERAL (SELECT id FROM unread ORDER BY v <-> a.v LIMIT 2) b WHERE a.id < 3$$);
SELECT a.id, b.id FROM unread a, LATERAL (SELECT id FROM unread ORDER BY v <-> a.v LIMIT 2) b WHERE a.id < 3 ORDER BY 1, 2;
CREATE FUNCTION outputs(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || statement LOOP
		IF line ~ 'Limit|Index Scan|Output: unread|Order By' THEN
			RETURN NEXT ltrim(line);
		END IF;
	END LOOP;
END $$;
SELECT outputs($$SELECT (SELECT id FROM unread ORDER BY v <-> '[9,0]' LIMIT 1), ARRAY(SELECT id FROM unread ORDER BY v <-> '[7,1]' LIMIT 3)$$);
DROP FUNCTION outputs;
SELECT (SELECT id FROM unread ORDER BY v <-> '[9,0]' LIMIT 1), ARRAY(SELECT id FROM unread ORDER BY v <-> '[7,1]' LIMIT 3);
SELECT count(*) FROM unread WHERE id IN (SELECT id FROM unread ORDER BY v <-> '[7,1]' LIMIT 3);
(SELECT id FROM unread ORDER BY v <-> '[7,1]' LIMIT 2) UNION ALL (SELECT id FROM unread ORDER BY v <-> '[20,1]' LIMIT 2);
WITH near AS MATERIALIZED (SELECT id FROM unread ORDER BY v <-> '[7,1]' LIMIT 2) SELECT * FROM near;

SELECT plan($$SELECT a.id, b.id FROM unread a JOIN (SELECT id FROM unread ORDER BY v <-> '[7,1]' LIMIT 2) b ON a.id = b.id + 1$$);
SELECT a.id, b.id FROM unread a JOIN (SELECT id FROM unread ORDER BY v <-> '[7,1]' LIMIT 2) b ON a.id = b.id + 1 ORDER BY 1;
SET enable_hashjoin = off; SET enable_mergejoin = off;
SELECT plan($$SELECT a.id, b.id FROM unread a LEFT JOIN (SELECT id FROM unread ORDER BY v <-> '[7,1]' LIMIT 2) b ON a.id > b.id WHERE a.id < 9$$);
SELECT count(*), count(b.id), sum(b.id) FROM unread a LEFT JOIN (SELECT id FROM unread ORDER BY v <-> '[7,1]' LIMIT 2) b ON a.id > b.id;
RESET enable_hashjoin; RESET enable_mergejoin;
SELECT n, b.id FROM generate_series(3, 5) n, LATERAL (SELECT id FROM unread ORDER BY v <-> ARRAY[n, n % 3]::vector LIMIT 1) b ORDER BY 1;

-- a subquery that is asked for all its columns passes on hidden ones
ALTER TABLE unread ADD odd boolean GENERATED ALWAYS AS (id % 2 = 1) STORED;
SELECT count(*) FROM (SELECT id, odd FROM unread ORDER BY v <-> '[7,1]' LIMIT 5) s WHERE odd;
SELECT a.id, n.id FROM unread a, LATERAL (SELECT id, odd FROM unread ORDER BY v <-> a.v LIMIT 3) n WHERE n.odd AND a.id < 4 ORDER BY 1, 2;
CREATE VIEW near AS SELECT id, odd FROM unread ORDER BY v <-> '[7,1]' LIMIT 5;
SELECT sum(id) OVER (ORDER BY id) FROM near WHERE odd;
SELECT odd, count(*) FROM near WHERE id > 0 GROUP BY odd ORDER BY odd;
DROP VIEW near;

-- who stores what was found
CREATE TABLE found AS SELECT id FROM unread ORDER BY v <-> '[7,1]' LIMIT 2;
INSERT INTO found SELECT id FROM unread ORDER BY v <-> '[20,1]' LIMIT 2;
SELECT * FROM found;
BEGIN;
DECLARE near SCROLL CURSOR FOR SELECT id FROM unread ORDER BY v <-> '[7,1]' LIMIT 3;
FETCH ALL FROM near;
FETCH BACKWARD 2 FROM near;
DECLARE nearest CURSOR FOR SELECT id FROM unread ORDER BY v <-> '[7,1]';
FETCH 2 FROM nearest;
UPDATE unread SET id = -id WHERE CURRENT OF nearest RETURNING id;
ROLLBACK;

-- a plan that is kept
PREPARE nearest(vector) AS SELECT id FROM unread ORDER BY v <-> $1 LIMIT 2;
SET plan_cache_mode = force_generic_plan;
EXECUTE nearest('[7,1]');
SELECT plan($$EXECUTE nearest('[7,1]')$$);

-- partitions are merged by that column
CREATE TABLE parted (id int, v vector(2)) PARTITION BY RANGE (id);
CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (0) TO (20);
CREATE TABLE parted_high PARTITION OF parted FOR VALUES FROM (20) TO (100);
INSERT INTO parted SELECT id, v FROM unread;
CREATE INDEX ON parted USING hybrid (v vector_l2_ops);
SELECT plan($$SELECT id FROM parted ORDER BY v <-> '[19,1]' LIMIT 3$$);
SELECT id FROM parted ORDER BY v <-> '[19,1]' LIMIT 3;

-- the rights to the distance are asked for all the same
CREATE ROLE unread_reader;
GRANT SELECT ON unread TO unread_reader;
BEGIN;
REVOKE EXECUTE ON FUNCTION l2_distance(vector, vector) FROM PUBLIC;
SET ROLE unread_reader;
SELECT id FROM unread ORDER BY v <-> '[7,1]' LIMIT 3;
ROLLBACK;

-- a statement whose planning loads the library is planned again
\c -
SET enable_seqscan = off;
SET plan_cache_mode = force_generic_plan;
CREATE FUNCTION explained() RETURNS SETOF text LANGUAGE plpgsql AS
	$$ BEGIN RETURN QUERY EXECUTE 'EXPLAIN (VERBOSE, COSTS off) EXECUTE nearest(NULL)'; END $$;
PREPARE nearest(vector) AS SELECT id FROM unread ORDER BY v <-> $1 LIMIT 2;
EXECUTE nearest(NULL);
SELECT * FROM explained();
DROP TABLE unread, parted, found;
DROP FUNCTION explained, plan;
DROP ROLE unread_reader;
