-- Who wants all rows gets all, and where an index scan has to end before, it gives what it has found.
CREATE TABLE every (id int, v vector(64));
INSERT INTO every SELECT i, (SELECT array_agg(sin(i * (j + 0.7) * 1.13) + cos(i % 100 * j)) FROM generate_series(1, 64) j)::vector
	FROM generate_series(1, 12000) i;
CREATE INDEX every_v ON every USING hybrid (v vector_l2_ops);
VACUUM ANALYZE every;
CREATE TABLE asked AS SELECT v AS q FROM every WHERE id = 7;
-- the nodes of a plan
CREATE FUNCTION plan(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		IF line ~ '^ *(->  )?(Limit|Sort|Seq Scan|Index Scan)\M' AND line !~ ' Key:' THEN
			RETURN NEXT line;
		END IF;
	END LOOP;
END $$;

-- cheap as the index may be, rows that are found late would be left out
SET random_page_cost = 0.1;
SELECT plan('SELECT id, v FROM every ORDER BY v <-> (SELECT q FROM asked)');
CREATE TABLE copied AS SELECT id, v FROM every ORDER BY v <-> (SELECT q FROM asked);
SELECT count(*) FROM copied;
SELECT count(*), max(rank) FROM (SELECT id, rank() OVER (ORDER BY v <-> (SELECT q FROM asked)) FROM every) s;
-- those who want some
SELECT plan('SELECT id FROM every ORDER BY v <-> (SELECT q FROM asked) LIMIT 10');
SELECT plan('DECLARE c CURSOR FOR SELECT id FROM every ORDER BY v <-> (SELECT q FROM asked)');

-- max_scan_tuples is for who has a LIMIT
SET enable_seqscan = off;
SET enable_sort = off;
SET hybrid.max_scan_tuples = 100;
SET work_mem = '64MB';
SET hybrid.iterative_scan = relaxed_order;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM every ORDER BY v <-> (SELECT q FROM asked) OFFSET 0) s;
-- without memory for all rows it says so
SET work_mem = '64kB';
SELECT count(*) BETWEEN 100 AND 11999 AS some FROM (SELECT id FROM every ORDER BY v <-> (SELECT q FROM asked)) s;
RESET work_mem;
-- LIMIT NULL is no LIMIT, once the parameter is known
PREPARE nearest (int) AS SELECT count(*) FROM (SELECT id FROM every ORDER BY v <-> (SELECT q FROM asked) LIMIT $1) s;
SET plan_cache_mode = force_generic_plan;
EXECUTE nearest(10);
EXECUTE nearest(NULL);
RESET plan_cache_mode;
DEALLOCATE nearest;
RESET hybrid.iterative_scan;

-- what was found when a limit is reached is not thrown away
CREATE TABLE one AS SELECT 1;
SET hybrid.max_scan_tuples = 1000;
SELECT count(*) BETWEEN 1000 AND 11000 AS all_that_were_looked_at
FROM (SELECT every.id FROM every, one ORDER BY v <-> (SELECT q FROM asked) LIMIT 100000) s;
DROP TABLE every, copied, asked, one;
DROP FUNCTION plan;
