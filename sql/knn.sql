-- hybrid_distances and hybrid_knn: exact answers, whose rows, and what is refused
\set VERBOSITY terse

-- distances, in the order of the targets
SELECT hybrid_distances('[0,0]', ARRAY['[3,4]', '[1,0]', '[0,0]']::vector[]);
SELECT hybrid_distances('[1,2]', ARRAY['[3,4]', NULL, '[-1,0]']::vector[], 'ip');
SELECT hybrid_distances('[1,0]', ARRAY['[2,0]', '[0,5]', '[-3,0]', '[0,0]']::vector[], 'cosine');
SELECT hybrid_distances('[1,1]', ARRAY['[3,-4]']::vector[], 'l1');
SELECT hybrid_distances('[1,1]', '{}');
SELECT hybrid_distances('[1,1]', ARRAY[NULL]::vector[]);
SELECT hybrid_distances('[1,1]', NULL);
SELECT hybrid_distances('[1,1]', ARRAY['[1,2,3]']::vector[]);
SELECT hybrid_distances('[1,1]', ARRAY['[1,2]']::vector[], 'hamming');
SELECT hybrid_distances('[1,1]', ARRAY[ARRAY['[1,2]'], ARRAY['[1,2]']]::vector[]);

-- nearest rows; (i % 7) makes ties, which go by row position
CREATE TABLE item (id int PRIMARY KEY, v vector(3));
INSERT INTO item SELECT i, format('[%s,%s,%s]', i % 7, i % 5, i % 3)::vector FROM generate_series(1, 500) i;
INSERT INTO item VALUES (501, NULL);
SELECT query, item.id, distance
FROM hybrid_knn('item', 'v', ARRAY['[0,0,0]', '[6,4,2]']::vector[], 4) k JOIN item ON item.ctid = k.tid
ORDER BY query, distance, item.ctid;

-- the same as a sort, for every metric, whatever the batch
CREATE FUNCTION differences(metric text, k int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	operator text := CASE metric WHEN 'l2' THEN '<->' WHEN 'ip' THEN '<#>' WHEN 'cosine' THEN '<=>' ELSE '<+>' END;
	result bigint;
BEGIN
	EXECUTE format('
		WITH queries AS (SELECT array_agg(v ORDER BY id) AS v FROM item WHERE id BETWEEN 3 AND 9),
		ours AS (SELECT query, tid, distance FROM queries, hybrid_knn(''item'', ''v'', queries.v, %2$s, %1$L)),
		theirs AS (SELECT q.ordinality::int AS query, t.ctid AS id, t.distance FROM queries,
			unnest(queries.v) WITH ORDINALITY AS q(v, ordinality),
			LATERAL (SELECT ctid, item.v %3$s q.v AS distance FROM item
				WHERE item.v IS NOT NULL AND item.v %3$s q.v <> ''NaN'' ORDER BY 2, 1 LIMIT %2$s) t)
		SELECT count(*) FROM ((TABLE ours EXCEPT TABLE theirs) UNION ALL (TABLE theirs EXCEPT TABLE ours)) d',
		metric, k, operator) INTO result;
	RETURN result;
END $$;
SELECT metric, differences(metric, 10) AS at_10, differences(metric, 1000) AS at_1000
FROM unnest(ARRAY['l2', 'ip', 'cosine', 'l1']) metric;
-- queries in several groups: the heaps do not fit
SET work_mem = '64kB';
SELECT differences('l2', 900);
SELECT count(*) FROM hybrid_knn('item', 'v', ARRAY['[0,0,0]']::vector[], 2000);
RESET work_mem;

-- fewer rows than asked for, no queries, zero vectors under cosine
SELECT count(*) FROM hybrid_knn('item', 'v', ARRAY['[0,0,0]']::vector[], 1000);
SELECT count(*) FROM hybrid_knn('item', 'v', '{}'::vector[]);
SELECT count(*) FROM hybrid_knn('item', 'v', ARRAY['[0,0,0]']::vector[], 10, 'cosine');
SELECT count(*) = (SELECT count(*) FROM item WHERE v <> '[0,0,0]')
FROM hybrid_knn('item', 'v', ARRAY['[1,0,0]']::vector[], 1000, 'cosine');

-- only among the rows of a query; a tid that is not there is ignored, a repeated one counts once
SELECT item.id, distance FROM hybrid_knn('item', 'v', ARRAY['[0,0,0]']::vector[], 3, 'l2',
	'SELECT ctid FROM item WHERE id % 100 = 1 UNION ALL SELECT ''(999999,1)'' UNION ALL SELECT ''(0,0)''
	 UNION ALL SELECT ctid FROM item WHERE id % 100 = 1 UNION ALL SELECT NULL') k
	JOIN item ON item.ctid = k.tid ORDER BY distance, item.ctid;
SELECT count(*) FROM hybrid_knn('item', 'v', ARRAY['[0,0,0]']::vector[], 3, 'l2', 'SELECT ctid FROM item WHERE false');

-- the version that is visible, after a HOT update too
CREATE TABLE moved (v vector(2), n int) WITH (fillfactor = 50);
INSERT INTO moved VALUES ('[1,1]', 0);
UPDATE moved SET n = 1;
SELECT moved.n, distance FROM hybrid_knn('moved', 'v', ARRAY['[1,1]']::vector[], 1) k JOIN moved ON moved.ctid = k.tid;
BEGIN;
DELETE FROM moved;
SELECT count(*) FROM hybrid_knn('moved', 'v', ARRAY['[1,1]']::vector[], 1);
ROLLBACK;

-- what is refused
SELECT * FROM hybrid_knn('item', 'v', ARRAY['[1,2]']::vector[]);
SELECT * FROM hybrid_knn('item', 'v', ARRAY['[1,2,3]', '[1,2]']::vector[]);
SELECT * FROM hybrid_knn('item', 'v', ARRAY['[1,2,3]', NULL]::vector[]);
SELECT * FROM hybrid_knn('item', 'v', ARRAY[ARRAY['[1,2,3]'], ARRAY['[0,0,0]']]::vector[]);
SELECT * FROM hybrid_knn('item', 'v', ARRAY['[1,2,3]']::vector[], 0);
SELECT * FROM hybrid_knn('item', 'v', ARRAY['[1,2,3]']::vector[], -1);
SELECT * FROM hybrid_knn('item', 'v', ARRAY['[1,2,3]']::vector[], 2147483647);
SET work_mem = '16GB';
SELECT * FROM hybrid_knn('item', 'v', ARRAY['[1,2,3]']::vector[], 100000000);
RESET work_mem;
SELECT * FROM hybrid_knn('item', 'v', ARRAY['[1,2,3]']::vector[], 1, 'euclid');
SELECT * FROM hybrid_knn('item', 'w', ARRAY['[1,2,3]']::vector[]);
SELECT * FROM hybrid_knn('item', 'id', ARRAY['[1,2,3]']::vector[]);
SELECT * FROM hybrid_knn('item', 'ctid', ARRAY['[1,2,3]']::vector[]);
SELECT * FROM hybrid_knn('nothing', 'v', ARRAY['[1,2,3]']::vector[]);
SELECT * FROM hybrid_knn(NULL, 'v', ARRAY['[1,2,3]']::vector[]);
SELECT * FROM hybrid_knn(999999999::oid, 'v', ARRAY['[1,2,3]']::vector[]);
SELECT * FROM hybrid_knn('item', 'v', ARRAY['[1,2,3]']::vector[], 1, 'l2', 'SELECT id FROM item');
SELECT * FROM hybrid_knn('item', 'v', ARRAY['[1,2,3]']::vector[], 1, 'l2', 'DELETE FROM item RETURNING ctid');
SELECT * FROM hybrid_knn('item', 'v', ARRAY['[1,2,3]']::vector[], 1, 'l2', 'SELECT ctid FROM item; SELECT 1');
SELECT * FROM hybrid_knn('item', 'v', ARRAY['[1,2,3]']::vector[], 1, 'l2', 'VACUUM');
SELECT count(*) FROM item;

-- partitions and children
CREATE TABLE parent (v vector(2)) PARTITION BY LIST ((vector_dims(v)));
SELECT * FROM hybrid_knn('parent', 'v', ARRAY['[1,2]']::vector[]);
CREATE TABLE leaf_a PARTITION OF parent FOR VALUES IN (1, 2);
CREATE TABLE leaf_b PARTITION OF parent DEFAULT;
INSERT INTO parent VALUES ('[1,2]');
SELECT * FROM hybrid_knn('parent', 'v', ARRAY['[1,2]']::vector[]);
SELECT * FROM hybrid_knn('leaf_a', 'v', ARRAY['[1,2]']::vector[]);
CREATE TABLE base (v vector(2));
CREATE TABLE child () INHERITS (base);
SELECT * FROM hybrid_knn('base', 'v', ARRAY['[1,2]']::vector[]);
DROP TABLE child;
SELECT * FROM hybrid_knn('base', 'v', ARRAY['[1,2]']::vector[]);

-- materialised views yes; a view only if it has a ctid of its own
CREATE MATERIALIZED VIEW copy AS SELECT * FROM item WHERE id < 10;
SELECT count(*) FROM hybrid_knn('copy', 'v', ARRAY['[1,2,3]']::vector[], 100);
REFRESH MATERIALIZED VIEW copy WITH NO DATA;
SELECT count(*) FROM hybrid_knn('copy', 'v', ARRAY['[1,2,3]']::vector[], 100);
CREATE VIEW bare AS SELECT v FROM item;
SELECT count(*) FROM hybrid_knn('bare', 'v', ARRAY['[1,2,3]']::vector[], 100);
CREATE VIEW with_ctid AS SELECT ctid, v FROM item WHERE id < 20;
SELECT count(*) FROM hybrid_knn('with_ctid', 'v', ARRAY['[1,2,3]']::vector[], 100);
CREATE DOMAIN embedding AS vector(2);
CREATE TABLE of_domain (v embedding);
INSERT INTO of_domain VALUES ('[1,2]');
SELECT * FROM hybrid_knn('of_domain', 'v', ARRAY['[1,3]']::vector[]);

-- foreign tables: one whose wrapper cannot read it, one whose rows have no ctid
CREATE FOREIGN DATA WRAPPER regress_none;
CREATE SERVER regress_nowhere FOREIGN DATA WRAPPER regress_none;
CREATE FOREIGN TABLE nowhere (v vector(2)) SERVER regress_nowhere;
SELECT * FROM hybrid_knn('nowhere', 'v', ARRAY['[1,3]']::vector[]);
SELECT * FROM hybrid_knn_join('of_domain', 'v', 'nowhere', 'v');
SELECT * FROM hybrid_knn_join('nowhere', 'v', 'of_domain', 'v');
CREATE EXTENSION file_fdw;
CREATE SERVER regress_files FOREIGN DATA WRAPPER file_fdw;
CREATE FOREIGN TABLE file (id int, v vector(2)) SERVER regress_files OPTIONS (program 'echo "1;[1,2]"', format 'csv', delimiter ';');
SELECT id, v FROM file;
SELECT * FROM hybrid_knn('file', 'v', ARRAY['[1,3]']::vector[]);
SELECT * FROM hybrid_knn_join('file', 'v', 'of_domain', 'v');
SELECT * FROM hybrid_knn_graph('file', 'id', 'v');
DROP FOREIGN DATA WRAPPER regress_none CASCADE;
DROP EXTENSION file_fdw CASCADE;

-- a column without a typmod may hold several lengths
CREATE TABLE mixed (v vector);
INSERT INTO mixed VALUES ('[1,2]'), ('[1,2,3]');
SELECT * FROM hybrid_knn('mixed', 'v', ARRAY['[1,3]']::vector[]);

-- row security: the nearest row is hidden, so the next one is the answer
CREATE TABLE secret (id int, owner name, v vector(2));
INSERT INTO secret VALUES (1, 'somebody_else', '[0,0]'), (2, 'regress_hybrid_reader', '[1,1]'), (3, 'regress_hybrid_reader', '[5,5]');
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON secret USING (owner = current_user);
CREATE ROLE regress_hybrid_reader;
GRANT SELECT ON secret TO regress_hybrid_reader;
SELECT secret.id, distance FROM hybrid_knn('secret', 'v', ARRAY['[0,0]']::vector[], 1) k JOIN secret ON secret.ctid = k.tid;
SET ROLE regress_hybrid_reader;
SELECT secret.id, distance FROM hybrid_knn('secret', 'v', ARRAY['[0,0]']::vector[], 1) k JOIN secret ON secret.ctid = k.tid;
SELECT count(*) FROM hybrid_knn('secret', 'v', ARRAY['[0,0]']::vector[], 10);
SELECT count(*) FROM hybrid_knn('secret', 'v', ARRAY['[0,0]']::vector[], 10, 'l2', 'VALUES (''(0,1)''::tid), (''(0,2)'')');
SET row_security = off;
SELECT count(*) FROM hybrid_knn('secret', 'v', ARRAY['[0,0]']::vector[], 10);
RESET row_security;
-- rights: on the table, on single columns (which do not include ctid), on none
SELECT count(*) FROM hybrid_knn('item', 'v', ARRAY['[0,0,0]']::vector[]);
RESET ROLE;
GRANT SELECT (v) ON item TO regress_hybrid_reader;
SET ROLE regress_hybrid_reader;
SELECT count(*) FROM hybrid_knn('item', 'v', ARRAY['[0,0,0]']::vector[]);
RESET ROLE;

-- an oid does not reach into a schema that a name does not
CREATE SCHEMA hidden;
CREATE TABLE hidden.item AS SELECT v FROM item;
GRANT SELECT ON hidden.item TO regress_hybrid_reader;
SELECT 'hidden.item'::regclass::oid AS hidden_item \gset
SET ROLE regress_hybrid_reader;
SELECT count(*) FROM hybrid_knn(:hidden_item, 'v', ARRAY['[0,0,0]']::vector[]);
RESET ROLE;
DROP SCHEMA hidden CASCADE;

-- a child that comes after the relation was looked at (here through the rows query) brings no rows
CREATE TABLE early AS SELECT '[5,5]'::vector(2) AS v;
CREATE TABLE late AS SELECT '[1,1]'::vector(2) AS v;
ALTER TABLE early ENABLE ROW LEVEL SECURITY;
CREATE POLICY anyone ON early USING (true);
GRANT SELECT ON early TO regress_hybrid_reader;
CREATE FUNCTION attach() RETURNS SETOF tid LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	ALTER TABLE late INHERIT early;
	RETURN QUERY SELECT '(0,1)'::tid;
END $$;
SET ROLE regress_hybrid_reader;
SELECT * FROM hybrid_knn('early', 'v', ARRAY['[1,1]']::vector[], rows => 'SELECT * FROM attach()');
RESET ROLE;
DROP TABLE early CASCADE;
DROP FUNCTION attach();

-- whatever search_path says
CREATE SCHEMA trap;
CREATE FUNCTION trap.fails(vector, vector) RETURNS float8 LANGUAGE plpgsql AS 'BEGIN RAISE ''trapped''; END';
CREATE OPERATOR trap.<-> (LEFTARG = vector, RIGHTARG = vector, FUNCTION = trap.fails);
SET search_path = trap, public;
SELECT count(*) FROM hybrid_knn('item', 'v', ARRAY['[0,0,0]']::vector[]);
RESET search_path;

-- nothing that the rows query may call runs beside a parallel plan
SELECT proname, provolatile, proparallel FROM pg_proc WHERE proname IN ('hybrid_knn', 'hybrid_spread', 'hybrid_distances') ORDER BY 1;

-- inside a transaction that changed rows
BEGIN;
INSERT INTO item VALUES (502, '[100,100,100]');
SELECT item.id FROM hybrid_knn('item', 'v', ARRAY['[100,100,100]']::vector[], 1) k JOIN item ON item.ctid = k.tid;
ROLLBACK;
SELECT item.id FROM item WHERE ctid = ANY (SELECT tid FROM hybrid_knn('item', 'v', ARRAY['[100,100,100]']::vector[], 1));

-- more queries than heaps fit work_mem: the rows are read again for each group of queries, also
-- where they come by tid or through a query
CREATE VIEW shown AS SELECT ctid, v FROM item;
CREATE TABLE few_heaps AS SELECT array_agg(v ORDER BY id) AS queries FROM item WHERE id % 9 = 0;
CREATE FUNCTION grouped(relation regclass, work text, rows text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('work_mem', work, true);
	RETURN (SELECT md5(string_agg(k::text, ' ' ORDER BY k.query, k.distance, k.tid))
		FROM few_heaps, hybrid_knn(relation, 'v', queries, 100, 'l2', rows) k);
END $$;
SELECT array_length(queries, 1) > 40 AS many FROM few_heaps;
SELECT grouped('item', '64kB') = grouped('item', '64MB') AS by_scan,
	grouped('shown', '64kB') = grouped('item', '64MB') AS by_query,
	grouped('item', '64kB', 'SELECT ctid FROM item WHERE id % 2 = 0') =
		grouped('item', '64MB', 'SELECT ctid FROM item WHERE id % 2 = 0') AS by_tid,
	grouped('shown', '64kB', 'SELECT ctid FROM item WHERE id % 2 = 0') =
		grouped('item', '64MB', 'SELECT ctid FROM item WHERE id % 2 = 0') AS by_query_and_tid;
DROP FUNCTION grouped;
DROP TABLE few_heaps;
DROP VIEW shown;

DROP TABLE item, moved, parent, base, of_domain, mixed, secret CASCADE;
DROP DOMAIN embedding;
DROP FUNCTION differences;
DROP SCHEMA trap CASCADE;
DROP ROLE regress_hybrid_reader;
