-- hybrid_knn_graph: the nearest rows of each row as edges
\set VERBOSITY terse

CREATE TABLE doc (id bigint, v vector(2));
INSERT INTO doc VALUES (1, '[1,0]'), (2, '[0.9,0.1]'), (3, '[0,1]'), (4, '[0,2]'), (5, '[-1,0]'), (6, NULL), (7, '[0,0]');
SELECT source, target, round(weight::numeric, 4) AS weight FROM hybrid_knn_graph('doc', 'id', 'v', 2);
SELECT source, target, round(weight::numeric, 4) AS weight FROM hybrid_knn_graph('doc', 'id', 'v', 2, 'l2');
SELECT source, target, weight FROM hybrid_knn_graph('doc', 'id', 'v', 1, 'l1');
SELECT source, target, weight FROM hybrid_knn_graph('doc', 'id', 'v', 1, 'ip', 'one');
-- distances far above 1 and vectors that point away: weights stay between 0 and 1, and are finite
INSERT INTO doc VALUES (8, '[1e18,-1e18]'), (9, '[-1e18,1e18]'), (10, '[1e-18,0]');
SELECT metric, bool_and(weight >= 0 AND weight <= 1) AS sane, count(*) FROM unnest(ARRAY['l2', 'cosine', 'l1']) metric,
	LATERAL hybrid_knn_graph('doc', 'id', 'v', 20, metric) GROUP BY metric ORDER BY metric;

-- a row is no neighbour of itself, its duplicates are; also where more of them are as near than are asked for
CREATE TABLE twin (id int, v vector(2));
INSERT INTO twin SELECT i, ARRAY[i / 5, 1]::vector FROM generate_series(0, 49) i;
SELECT count(*), count(*) FILTER (WHERE source = target) AS self, count(*) FILTER (WHERE source / 5 = target / 5) AS twins,
	count(DISTINCT (source, target)) FROM hybrid_knn_graph('twin', 'id', 'v', 4, 'l2', 'one');
SELECT count(*), count(*) FILTER (WHERE source = target) AS self, count(*) FILTER (WHERE source / 5 = target / 5) AS twins,
	count(DISTINCT (source, target)) FROM hybrid_knn_graph('twin', 'id', 'v', 2, 'l2', 'one');
SELECT count(*), count(*) FILTER (WHERE source = target) AS self, count(DISTINCT (source, target)) FROM hybrid_knn_graph('twin', 'id', 'v', 1000, 'l2');

-- the same as a join of the table with itself; in groups; over a store; through a query
CREATE TABLE doc2 (id smallint, n int, v vector(3)) WITH (fillfactor = 70, autovacuum_enabled = off);
INSERT INTO doc2 SELECT i, 0, ARRAY[i % 11, i % 6, hashint4(i) % 100]::vector FROM generate_series(1, 400) i;
CREATE VIEW shown AS SELECT ctid, id, v FROM doc2;
CREATE FUNCTION differences(metric text, k int, rel text DEFAULT 'doc2') RETURNS bigint LANGUAGE sql AS $$
	WITH ours AS (SELECT row_number() OVER () AS nr, source, target FROM hybrid_knn_graph(rel, 'id', 'v', k, metric, 'one')),
	theirs AS (SELECT row_number() OVER (ORDER BY a.ctid, rank) AS nr, a.id::bigint, b.id::bigint FROM (
			SELECT *, row_number() OVER (PARTITION BY left_tid ORDER BY distance, right_tid) AS rank
			FROM hybrid_knn_join('doc2', 'v', 'doc2', 'v', k + 1, metric) WHERE left_tid <> right_tid) j
		JOIN doc2 a ON a.ctid = j.left_tid JOIN doc2 b ON b.ctid = j.right_tid WHERE rank <= k)
	SELECT count(*) FROM ((TABLE ours EXCEPT ALL TABLE theirs) UNION ALL (TABLE theirs EXCEPT ALL TABLE ours)) d $$;
SELECT metric, differences(metric, 3), differences(metric, 50), differences(metric, 3, 'shown') AS shown
FROM unnest(ARRAY['l2', 'ip', 'cosine', 'l1']) metric;
SET work_mem = '64kB';
SELECT metric, differences(metric, 3), differences(metric, 50), differences(metric, 3, 'shown') AS shown
FROM unnest(ARRAY['l2', 'ip', 'cosine', 'l1']) metric;
RESET work_mem;
CREATE INDEX doc2_v ON doc2 USING hybrid (v) WITH (storage = float32, list_size = 4096);
UPDATE doc2 SET n = 1 WHERE id % 4 = 0;
UPDATE doc2 SET v = v + '[1,0,0]' WHERE id % 10 = 0;
DELETE FROM doc2 WHERE id % 7 = 0;
SET client_min_messages = debug1;
SELECT count(*) FROM hybrid_knn_graph('doc2', 'id', 'v', 3);
RESET client_min_messages;
SELECT metric, differences(metric, 3), differences(metric, 50), differences(metric, 3, 'shown') AS shown
FROM unnest(ARRAY['l2', 'ip', 'cosine', 'l1']) metric;

-- as the edges of a graph: activation reaches the neighbours' neighbours
SELECT id, round(activation::numeric, 4) AS activation, hop
FROM hybrid_spread('SELECT source, target, weight FROM hybrid_knn_graph(''doc'', ''id'', ''v'', 2)', ARRAY[1], hops => 2);
CREATE TABLE edge AS SELECT * FROM hybrid_knn_graph('doc', 'id', 'v', 2);
SELECT (SELECT array_agg(s ORDER BY id) FROM hybrid_spread('TABLE edge', ARRAY[1]) s) =
	(SELECT array_agg(s ORDER BY id) FROM hybrid_spread('SELECT * FROM hybrid_knn_graph(''doc'', ''id'', ''v'', 2)', ARRAY[1]) s) AS same;

-- what is refused
SELECT * FROM hybrid_knn_graph('doc', 'id', 'v', 2, 'ip');
SELECT * FROM hybrid_knn_graph('doc', 'id', 'v', 2, 'cosine', 'heavy');
SELECT * FROM hybrid_knn_graph('doc', 'id', 'v', 0);
SELECT * FROM hybrid_knn_graph('doc', 'id', 'v', 2147483647);
SELECT count(*) FROM hybrid_knn_graph('doc', 'id', 'v', 65536);
SELECT count(*) FROM hybrid_knn_graph('doc', 'id', 'v', 65535);
SELECT * FROM hybrid_knn_graph('doc', 'v', 'v');
SELECT * FROM hybrid_knn_graph('doc', 'ctid', 'v');
SELECT * FROM hybrid_knn_graph('doc', 'nothing', 'v');
SELECT * FROM hybrid_knn_graph('doc', 'id', 'id');
SELECT * FROM hybrid_knn_graph('doc', NULL, 'v');
SELECT * FROM hybrid_knn_graph('doc', 'id', 'v', weight => NULL);
-- NULL as an id, unless the row has no vector
INSERT INTO doc VALUES (NULL, NULL);
SELECT count(*) FROM hybrid_knn_graph('doc', 'id', 'v', 2);
INSERT INTO doc VALUES (NULL, '[1,1]');
SELECT * FROM hybrid_knn_graph('doc', 'id', 'v', 2);
ALTER TABLE doc2 ADD COLUMN other bigint;
UPDATE doc2 SET other = id WHERE id < 300;
CREATE VIEW with_null AS SELECT ctid, other, v FROM doc2;
SELECT count(*) FROM hybrid_knn_graph('with_null', 'other', 'v', 2);
CREATE TABLE parent (id int, v vector(3)) PARTITION BY LIST (id);
CREATE TABLE leaf PARTITION OF parent DEFAULT;
SELECT * FROM hybrid_knn_graph('parent', 'id', 'v');

-- a view has other rows when it is read again: no id is made up
CREATE SEQUENCE reading;
CREATE VIEW shrinking AS SELECT ctid, id, v FROM doc2 WHERE id > (SELECT nextval('reading'));
SELECT * FROM hybrid_knn_graph('shrinking', 'id', 'v', 2, 'l2');

-- rows of two tables that a ctid does not tell apart
CREATE TABLE twin2 AS SELECT * FROM twin;
CREATE VIEW several AS SELECT ctid, id, v FROM twin UNION ALL SELECT ctid, id, v FROM twin2;
SELECT * FROM hybrid_knn_graph('several', 'id', 'v', 2, 'l2');
CREATE VIEW doubled AS SELECT twin.ctid, twin.id, twin.v FROM twin, generate_series(1, 2);
SELECT * FROM hybrid_knn_graph('doubled', 'id', 'v', 2, 'l2');

-- rights on single columns, row security
CREATE ROLE regress_hybrid_reader;
GRANT SELECT (id, v) ON doc2 TO regress_hybrid_reader;
SET ROLE regress_hybrid_reader;
SELECT * FROM hybrid_knn_graph('doc2', 'id', 'v', 2);
RESET ROLE;
GRANT SELECT ON doc2 TO regress_hybrid_reader;
ALTER TABLE doc2 ENABLE ROW LEVEL SECURITY;
CREATE POLICY odd ON doc2 USING (id % 2 = 1);
SET ROLE regress_hybrid_reader;
SELECT count(*) > 0 AS some, bool_and(source % 2 = 1 AND target % 2 = 1) AS odd FROM hybrid_knn_graph('doc2', 'id', 'v', 2);
RESET ROLE;

DROP TABLE doc, doc2, twin, twin2, edge, parent CASCADE;
DROP SEQUENCE reading;
DROP FUNCTION differences;
DROP ROLE regress_hybrid_reader;
