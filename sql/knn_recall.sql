-- hybrid_knn, hybrid_knn_join and hybrid_knn_graph with a recall: through an index, list by list
\set VERBOSITY default

-- clusters; some rows without a vector, some without a direction
CREATE TABLE item (id int, part int, v vector(24)) WITH (fillfactor = 70, autovacuum_enabled = off);
INSERT INTO item
SELECT i, i % 10, CASE WHEN i % 500 = 7 THEN NULL WHEN i % 500 = 8 THEN array_fill(0, ARRAY[24])::vector ELSE
	(SELECT array_agg(2 * sin(i * (d + 0.7) * 1.13) + 4 * sin(i % 40 * d * 0.7) ORDER BY d) FROM generate_series(1, 24) d WHERE i IS NOT NULL)::vector(24) END
FROM generate_series(1, 4000) i;
CREATE TABLE query AS SELECT array_agg(v ORDER BY id) AS all FROM item WHERE id % 40 = 0;

-- what is refused
SELECT * FROM hybrid_knn('item', 'v', (SELECT q.all FROM query q), recall => 0.95);
SELECT * FROM hybrid_knn_join('item', 'v', 'item', 'v', 3, 'ip', recall => 0.95);
-- the hint names the schema if the name of the table alone does not suffice
CREATE SCHEMA hybrid_elsewhere CREATE TABLE "Item" (v halfvec(3));
SELECT * FROM hybrid_knn('hybrid_elsewhere."Item"', 'v', ARRAY['[1,2,3]']::vector[], recall => 0.95);
DROP SCHEMA hybrid_elsewhere CASCADE;
CREATE INDEX item_part ON item USING hybrid (v vector_cosine_ops) WHERE part = 1;
CREATE INDEX item_expression ON item USING hybrid ((v::halfvec(24)) halfvec_cosine_ops);
SELECT * FROM hybrid_knn_graph('item', 'id', 'v', 3, recall => 0.95);
DROP INDEX item_part, item_expression;
CREATE INDEX item_v ON item USING hybrid (v vector_cosine_ops);
\set VERBOSITY terse
SELECT * FROM hybrid_knn_graph('item', 'id', 'v', 3, 'l2', recall => 0.95);
SELECT * FROM hybrid_knn_graph('item', 'id', 'v', 3, recall => 0.49);
SELECT * FROM hybrid_knn_graph('item', 'id', 'v', 3, recall => 1.01);
SELECT * FROM hybrid_knn_graph('item', 'id', 'v', 3, recall => 'NaN');
SELECT * FROM hybrid_knn_join('item', 'v', 'item', 'v', 3, 'cosine', recall => '-Infinity');
SELECT * FROM hybrid_knn('item', 'v', ARRAY['[1,2]']::vector[], 3, 'cosine', recall => 0.9);
SELECT * FROM hybrid_knn('item', 'v', (SELECT q.all FROM query q), 0, 'cosine', recall => 0.9);
CREATE VIEW shown AS SELECT ctid, id, v FROM item;
SELECT * FROM hybrid_knn('shown', 'v', (SELECT q.all FROM query q), 3, 'cosine', recall => 0.9);
-- no queries: the relation is looked at all the same
SELECT count(*) FROM hybrid_knn('item', 'v', '{}', 3, 'cosine', recall => 0.9);
SELECT count(*) FROM hybrid_knn('item', 'v', '{}', 3, 'l2', recall => 0.9);

-- row security: the rows that a policy hides are not found by way of the index
CREATE ROLE hybrid_knn_reader;
GRANT SELECT ON item, query TO hybrid_knn_reader;
CREATE POLICY hidden ON item USING (part = 1);
ALTER TABLE item ENABLE ROW LEVEL SECURITY;
SET ROLE hybrid_knn_reader;
SELECT count(*) FROM hybrid_knn('item', 'v', (SELECT q.all FROM query q), 3, 'cosine', recall => 0.9);
RESET ROLE;
ALTER TABLE item DISABLE ROW LEVEL SECURITY;
DROP POLICY hidden ON item;

-- answers(): the share of the exact answers that a call with a recall finds (a row as near as the k-th counts), the distances
-- that are not the exact ones, the queries that have another number of rows, and the results that are out of order
CREATE FUNCTION answers(metric text, k int, recall float8, rows text DEFAULT NULL) RETURNS TABLE (enough bool, wrong bigint, fewer bigint, unordered bigint)
LANGUAGE sql AS $$
	WITH n AS MATERIALIZED (SELECT row_number() OVER () AS nr, n.* FROM hybrid_knn('item', 'v', (SELECT q.all FROM query q), k, metric, rows, recall) n),
	e AS MATERIALIZED (SELECT * FROM hybrid_knn('item', 'v', (SELECT q.all FROM query q), k, metric, rows)),
	a AS MATERIALIZED (SELECT query, tid, distance FROM hybrid_knn('item', 'v', (SELECT q.all FROM query q), 40, metric, rows)),
	last AS (SELECT query, max(distance) AS farthest, count(*) AS rows FROM e GROUP BY query)
	SELECT (SELECT count(*) FROM n JOIN last USING (query) WHERE distance <= farthest) >= recall * (SELECT count(*) FROM e),
		(SELECT count(*) FROM n JOIN a USING (query, tid) WHERE a.distance <> n.distance),
		(SELECT count(*) FROM last LEFT JOIN (SELECT query, count(*) AS rows FROM n GROUP BY query) c USING (query) WHERE c.rows IS DISTINCT FROM last.rows),
		(SELECT count(*) FROM (SELECT *, lag((query, distance, tid)) OVER (ORDER BY nr) AS before FROM n) o WHERE (query, distance, tid) <= before)
$$;
CREATE INDEX item_l2 ON item USING hybrid (v vector_l2_ops) WITH (storage = float32);
CREATE INDEX item_ip ON item USING hybrid (v vector_ip_ops) WITH (storage = int8);
CREATE INDEX item_l1 ON item USING hybrid (v vector_l1_ops);
SELECT metric, k, recall, a.* FROM unnest(ARRAY['l2', 'ip', 'cosine', 'l1']) metric, unnest(ARRAY[1, 10]) k, unnest(ARRAY[0.9, 0.99]) recall,
	answers(metric, k, recall) a ORDER BY 1, 2, 3;
-- 1 is the exact answer, and NULL
SELECT metric, (SELECT count(*) FROM ((SELECT * FROM hybrid_knn('item', 'v', (SELECT q.all FROM query q), 5, metric, recall => 1)
	EXCEPT ALL SELECT * FROM hybrid_knn('item', 'v', (SELECT q.all FROM query q), 5, metric))) d) AS differences
FROM unnest(ARRAY['l2', 'ip', 'cosine', 'l1']) metric;
-- each query is a search of the index
DO $$
DECLARE
	before bigint := pg_stat_get_xact_numscans('item_v'::regclass);
	before_l1 bigint := pg_stat_get_xact_numscans('item_l1'::regclass);
BEGIN
	PERFORM hybrid_knn('item', 'v', (SELECT q.all FROM query q), 3, 'l1', recall => 0.9);
	RAISE NOTICE '% searches by taxicab distance', pg_stat_get_xact_numscans('item_l1'::regclass) - before_l1;
	PERFORM hybrid_knn('item', 'v', (SELECT q.all FROM query q), 3, 'cosine', recall => 0.9);
	RAISE NOTICE '% searches', pg_stat_get_xact_numscans('item_v'::regclass) - before;
	-- a query without a direction has no rows by cosine distance, and needs no search
	PERFORM hybrid_knn('item', 'v', ARRAY[array_fill(0, ARRAY[24])::vector, array_fill(1e-30, ARRAY[24])::vector], 3, 'cosine', recall => 0.9);
	RAISE NOTICE '% searches', pg_stat_get_xact_numscans('item_v'::regclass) - before;
END $$;

-- more rows than there are: all of them
SELECT metric, count(*), count(DISTINCT tid) FROM unnest(ARRAY['l2', 'ip', 'cosine']) metric,
	hybrid_knn('item', 'v', (SELECT q.all[1:2] FROM query q), 5000, metric, recall => 0.9) GROUP BY 1 ORDER BY 1;

-- a filter that allows many rows, and one that allows few
SELECT metric, few, a.* FROM unnest(ARRAY['l2', 'ip', 'cosine']) metric, unnest(ARRAY['part < 5', 'part < 1', 'false']) few,
	answers(metric, 10, 0.95, 'SELECT ctid FROM item WHERE ' || few) a ORDER BY 1, 2;

-- HOT chains, moved rows, dead rows that the index still has, own changes that are not committed, and rows that came later
UPDATE item SET part = part + 1 WHERE id % 4 = 0;
UPDATE item SET v = v + '[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]' WHERE id % 9 = 0;
DELETE FROM item WHERE id % 40 BETWEEN 1 AND 19;
SELECT metric, a.* FROM unnest(ARRAY['l2', 'ip', 'cosine']) metric, answers(metric, 10, 0.95) a ORDER BY 1;
BEGIN;
INSERT INTO item SELECT 10000 + id, part, v + '[.1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]' FROM item WHERE id % 3 = 0;
SAVEPOINT s;
DELETE FROM item WHERE id % 40 > 30;
ROLLBACK TO s;
DELETE FROM item WHERE id % 40 = 0;
SELECT metric, a.* FROM unnest(ARRAY['l2', 'ip', 'cosine']) metric, answers(metric, 10, 0.95) a ORDER BY 1;
ROLLBACK;
SELECT metric, a.* FROM unnest(ARRAY['l2', 'ip', 'cosine']) metric, answers(metric, 10, 0.95) a ORDER BY 1;
VACUUM item;
SELECT metric, a.* FROM unnest(ARRAY['l2', 'ip', 'cosine']) metric, answers(metric, 10, 0.95) a ORDER BY 1;

-- groups that fit little memory have the same answers as one group
CREATE TABLE one AS SELECT * FROM hybrid_knn_join('item', 'v', 'item', 'v', 5, 'cosine', recall => 0.95);
SET work_mem = '64kB';
SELECT count(*) FROM ((TABLE one EXCEPT ALL SELECT * FROM hybrid_knn_join('item', 'v', 'item', 'v', 5, 'cosine', recall => 0.95))
	UNION ALL (SELECT * FROM hybrid_knn_join('item', 'v', 'item', 'v', 5, 'cosine', recall => 0.95) EXCEPT ALL TABLE one)) d;
RESET work_mem;
-- with parallel workers and without: also of rows that are not committed yet, and of temporary tables, which workers do not see
CREATE FUNCTION with_workers(rel regclass, workers int) RETURNS TABLE (l tid, r tid, distance float8) LANGUAGE sql AS $$
	SELECT set_config('max_parallel_workers_per_gather', workers::text, true);
	SELECT * FROM hybrid_knn_join(rel, 'v', rel, 'v', 5, 'cosine', recall => 0.95) $$;
CREATE FUNCTION differences(rel regclass) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM ((SELECT * FROM with_workers(rel, 0) EXCEPT ALL SELECT * FROM with_workers(rel, 4))
		UNION ALL (SELECT * FROM with_workers(rel, 4) EXCEPT ALL SELECT * FROM with_workers(rel, 0))) d $$;
BEGIN;
UPDATE item SET v = v + '[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]' WHERE id % 7 = 0;
SELECT count(*) FROM with_workers('item', 4) JOIN item ON ctid = r;
SELECT differences('item');
-- an error in the same statement, and after it
DO $$
BEGIN
	PERFORM 1 / (j.distance - j.distance) FROM hybrid_knn_join('item', 'v', 'item', 'v', 5, 'cosine', recall => 0.95) j;
EXCEPTION WHEN division_by_zero THEN
	RAISE NOTICE 'none left';
END $$;
SELECT count(*) FROM with_workers('item', 4);
-- files of the index that only this transaction sees
REINDEX INDEX item_v;
SELECT differences('item');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT differences('item');
COMMIT;
CREATE TEMP TABLE mine AS SELECT * FROM item;
CREATE INDEX ON mine USING hybrid (v vector_cosine_ops);
SELECT count(*), differences('mine') FROM with_workers('mine', 4);
DROP TABLE mine;
DROP FUNCTION with_workers, differences;
-- a table joined with itself, which is read in the order of the lists, and with a copy, which is not
CREATE TABLE copied AS SELECT ctid AS tid, id, v FROM item ORDER BY id;
SELECT count(*) AS differences FROM (SELECT left_tid, right_tid, distance FROM one EXCEPT ALL
	SELECT c.tid, right_tid, distance FROM hybrid_knn_join('copied', 'v', 'item', 'v', 5, 'cosine', recall => 0.95) j JOIN copied c ON c.ctid = j.left_tid) d;
-- the graph is this join without the rows themselves, if each row is searched for
SET work_mem = '64kB';
SELECT count(*) AS edges, count(*) FILTER (WHERE source = target) AS self, count(DISTINCT source) AS sources,
	count(*) FILTER (WHERE j.distance IS NULL) AS others
FROM hybrid_knn_graph('item', 'id', 'v', 4, recall => 0.95) g
	LEFT JOIN (SELECT l.id AS source, r.id AS target, distance FROM one JOIN item l ON l.ctid = left_tid JOIN item r ON r.ctid = right_tid) j USING (source, target);
RESET work_mem;
SELECT count(*) AS sources FROM item WHERE cosine_distance(v, v) <> 'NaN';

-- the index without keys is preferred, but one with keys is enough; a halfvec column; an index that grew from empty
DROP INDEX item_v;
CREATE INDEX item_keys ON item USING hybrid (part, v vector_cosine_ops) INCLUDE (id);
SELECT a.* FROM answers('cosine', 10, 0.95) a;
CREATE TABLE half (id int, v halfvec(24));
CREATE INDEX half_v ON half USING hybrid (v halfvec_l2_ops) WITH (list_size = 32);
SELECT count(*) FROM hybrid_knn('half', 'v', (SELECT q.all FROM query q), 3, recall => 0.9);
SELECT count(*) FROM hybrid_knn_graph('half', 'id', 'v', 3, 'l2', recall => 0.9);
INSERT INTO half SELECT id, v FROM item;
WITH n AS MATERIALIZED (SELECT * FROM hybrid_knn_join('half', 'v', 'half', 'v', 10, recall => 0.95)),
e AS MATERIALIZED (SELECT * FROM hybrid_knn_join('half', 'v', 'half', 'v', 10)),
last AS (SELECT left_tid, max(distance) AS farthest FROM e GROUP BY 1)
SELECT (SELECT count(*) FROM n JOIN last USING (left_tid) WHERE distance <= farthest) >= 0.95 * (SELECT count(*) FROM e) AS enough,
	(SELECT count(*) FROM n) = (SELECT count(*) FROM e) AS all;

DROP VIEW shown;
DROP FUNCTION answers;
DROP TABLE item, query, one, copied, half;
DROP ROLE hybrid_knn_reader;
