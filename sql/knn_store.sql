-- hybrid_knn over the store of an index: the answer is the table's, to the bit
\set VERBOSITY terse
SET jit = off;

-- ties (i % 7), an update that keeps its place in the index (HOT), dead rows that no VACUUM has met
CREATE TABLE item (id int, n int DEFAULT 0, v vector(5)) WITH (fillfactor = 60, autovacuum_enabled = off);
CREATE FUNCTION noise(i int, j int) RETURNS real LANGUAGE sql IMMUTABLE AS
	'SELECT (hashint4(i * 8 + j) % 1000)::real / 777';
CREATE FUNCTION made(i int) RETURNS vector LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN i % 3 = 0 THEN ARRAY[i % 7, i % 5, i % 3, 1, 2]::vector
		ELSE ARRAY[noise(i, 0), noise(i, 1), noise(i, 2), noise(i, 3), noise(i, 4)]::vector END $$;
INSERT INTO item SELECT i, 0, made(i) FROM generate_series(1, 1500) i;
INSERT INTO item VALUES (2001, 0, NULL), (2002, 0, '[0,0,0,0,0]'), (2003, 0, '[1e-30,0,0,0,0]');
CREATE TABLE query AS SELECT array_agg(v ORDER BY id) AS v FROM item WHERE id IN (3, 4, 5, 9, 42, 77, 1000);

-- rows of the answer that only the table, or only the store, gives; ids are ctids, so they show versions too
CREATE FUNCTION by_table(metric text, k int, rows text) RETURNS TABLE (nr bigint, query int, id tid, distance float8)
LANGUAGE sql SET enable_indexscan = off AS $$
	SELECT row_number() OVER (), f.* FROM query, hybrid_knn('item', 'v', query.v, k, metric, rows) f $$;
CREATE FUNCTION by_store(metric text, k int, rows text) RETURNS TABLE (nr bigint, query int, id tid, distance float8)
LANGUAGE sql SET enable_indexscan = on AS $$
	SELECT row_number() OVER (), f.* FROM query, hybrid_knn('item', 'v', query.v, k, metric, rows) f $$;
CREATE FUNCTION differences(metric text, k int, rows text DEFAULT NULL) RETURNS bigint LANGUAGE sql AS $$
	WITH ours AS MATERIALIZED (SELECT * FROM by_store(metric, k, rows)),
		theirs AS MATERIALIZED (SELECT * FROM by_table(metric, k, rows))
	SELECT CASE WHEN NOT EXISTS (SELECT FROM theirs) THEN -1 ELSE count(*) END
	FROM ((TABLE ours EXCEPT ALL TABLE theirs) UNION ALL (TABLE theirs EXCEPT ALL TABLE ours)) d $$;
CREATE FUNCTION all_differences() RETURNS TABLE (metric text, at_1 bigint, at_10 bigint, at_100 bigint) LANGUAGE sql AS $$
	SELECT metric, differences(metric, 1), differences(metric, 10), differences(metric, 100)
	FROM unnest(ARRAY['l2', 'ip', 'cosine', 'l1']) metric $$;

-- whether it was used is told at DEBUG1
SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v);
CREATE INDEX item_exact ON item USING hybrid (v) WITH (storage = float32, list_size = 4096);
SET client_min_messages = debug1;
SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v);
SET enable_indexscan = off;
SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v);
RESET enable_indexscan;
RESET client_min_messages;
SELECT * FROM all_differences();

-- versions: HOT updates, moved rows, dead rows
UPDATE item SET n = n + 1 WHERE id % 4 = 0;
UPDATE item SET n = n + 1 WHERE id % 8 = 0;
SELECT pg_stat_get_xact_tuples_hot_updated('item'::regclass) > 0 AS hot;
UPDATE item SET v = made(id + 1) WHERE id % 11 = 0;
DELETE FROM item WHERE id % 5 = 0;
SELECT * FROM all_differences();
SELECT differences('ip', 5000) AS all_rows;
-- own changes that are not committed, and those of a savepoint that was rolled back
BEGIN;
INSERT INTO item SELECT i, 0, made(i) FROM generate_series(3000, 3100) i;
DELETE FROM item WHERE id % 7 = 0;
SAVEPOINT s;
INSERT INTO item SELECT i, 0, made(i - 3000) FROM generate_series(3101, 3300) i;
DELETE FROM item WHERE id % 2 = 0;
UPDATE item SET v = made(id + 2) WHERE id % 9 = 0;
SELECT * FROM all_differences();
ROLLBACK TO s;
SELECT * FROM all_differences();
ROLLBACK;
SELECT * FROM all_differences();
-- most rows are dead: candidates are not enough, the queries are asked again with more
DELETE FROM item WHERE id % 30 <> 1;
SET client_min_messages = debug1;
SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v, 3);
RESET client_min_messages;
SELECT * FROM all_differences();
-- where work_mem has no room for so many, the table answers
SET work_mem = '64kB';
SET client_min_messages = debug1;
SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v, 30);
SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v, 1000);
RESET client_min_messages;
SELECT metric, differences(metric, 30) AS at_30, differences(metric, 1000) AS at_1000 FROM unnest(ARRAY['l2', 'ip', 'cosine', 'l1']) metric;
RESET work_mem;
VACUUM item;
INSERT INTO item SELECT i, 0, made(i) FROM generate_series(4000, 5500) i;
-- entries refilled in the order of their coming: positions do not ascend
SELECT * FROM all_differences();
SET hybrid.batch_max = 7;
SELECT * FROM all_differences();
RESET hybrid.batch_max;

-- a filter of most rows uses the store, one of few reads those rows
SET client_min_messages = debug1;
SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v, 10, 'l2', 'SELECT ctid FROM item WHERE id % 5 <> 0');
SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v, 10, 'l2', 'SELECT ctid FROM item WHERE id % 100 = 0');
RESET client_min_messages;
SELECT differences('l2', 10, 'SELECT ctid FROM item WHERE id % 5 <> 0'), differences('cosine', 10, 'SELECT ctid FROM item WHERE id % 5 <> 0'),
	differences('l2', 10, 'SELECT ctid FROM item WHERE id % 100 = 0'),
	differences('l1', 10, 'SELECT ctid FROM item UNION ALL SELECT format(''(%s,%s)'', i, 7)::tid FROM generate_series(1, 3000) i');

-- float16: bounds certify, distances come from the table
DROP INDEX item_exact;
CREATE INDEX item_half ON item USING hybrid (v) WITH (storage = float16);
SET client_min_messages = debug1;
SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v);
RESET client_min_messages;
SELECT * FROM all_differences();
UPDATE item SET n = n + 1 WHERE id % 4 = 0;
UPDATE item SET v = made(id + 1) WHERE id % 11 = 0;
DELETE FROM item WHERE id % 3 = 0;
SELECT * FROM all_differences();
SELECT differences('l1', 5000) AS all_rows;
SET work_mem = '64kB';
SELECT metric, differences(metric, 30) AS at_30 FROM unnest(ARRAY['l2', 'ip', 'cosine', 'l1']) metric;
RESET work_mem;
-- values so near to each other that binary16 cannot tell them apart: the table answers
INSERT INTO item SELECT 6000 + i, 0, ARRAY[1 + i * 1e-6, 0, 0, 1, 2]::vector FROM generate_series(1, 400) i;
SELECT * FROM all_differences();
SET work_mem = '64kB';
UPDATE query SET v = v || '[1.0002,0,0,1,2]'::vector;
INSERT INTO item SELECT 7000 + i, 0, ARRAY[1 + i * 1e-6, 0, 0, 1, 2]::vector FROM generate_series(1, 400) i;
SET client_min_messages = debug1;
SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v);
RESET client_min_messages;
SELECT metric, differences(metric, 10) AS at_10 FROM unnest(ARRAY['l2', 'ip', 'cosine', 'l1']) metric;
RESET work_mem;

-- short vectors of which the copy keeps nothing, a few among others, and many: none is missed, and a few cost
-- the other rows no certainty
CREATE TABLE short (id int, v vector(2)) WITH (autovacuum_enabled = off);
INSERT INTO short SELECT i, ARRAY[cos(i), sin(i)]::vector FROM generate_series(1, 500) i;
INSERT INTO short SELECT 1000 + i, ARRAY[1e-10 * cos(i), 1e-10 * sin(i)]::vector FROM generate_series(1, 20) i;
INSERT INTO short VALUES (2000, '[60000,60001]');
CREATE INDEX ON short USING hybrid (v) WITH (storage = float16);
CREATE FUNCTION short(metric text, k int) RETURNS TABLE (id int, distance float8) LANGUAGE sql AS $$
	SELECT t.id, distance FROM hybrid_knn('short', 'v', ARRAY['[1,0.002]', '[0,0]', '[0,-1]']::vector[], k, metric) k JOIN short t ON t.ctid = k.tid $$;
CREATE TABLE by_index AS SELECT metric, k, s.* FROM unnest(ARRAY['l2', 'ip', 'cosine', 'l1']) metric, unnest(ARRAY[3, 10, 600]) k, short(metric, k) s;
SET enable_indexscan = off;
CREATE TABLE by_scan AS SELECT metric, k, s.* FROM unnest(ARRAY['l2', 'ip', 'cosine', 'l1']) metric, unnest(ARRAY[3, 10, 600]) k, short(metric, k) s;
RESET enable_indexscan;
SELECT count(*) FROM ((TABLE by_index EXCEPT ALL TABLE by_scan) UNION ALL (TABLE by_scan EXCEPT ALL TABLE by_index)) d;
SELECT metric, k, count(*), count(*) FILTER (WHERE id BETWEEN 1001 AND 1020) AS short FROM by_index GROUP BY metric, k ORDER BY metric, k;
SET client_min_messages = debug1;
SELECT count(*) FROM short('cosine', 10);
SELECT count(*) FROM short('l2', 10);
RESET client_min_messages;
INSERT INTO short SELECT 3000 + i, ARRAY[1e-10 * cos(i), 1e-10 * sin(i)]::vector FROM generate_series(1, 100) i;
SET client_min_messages = debug1;
SELECT count(*) FROM short('cosine', 10);
RESET client_min_messages;
TRUNCATE by_index, by_scan;
INSERT INTO by_index SELECT metric, k, s.* FROM unnest(ARRAY['l2', 'ip', 'cosine', 'l1']) metric, unnest(ARRAY[3, 10, 600]) k, short(metric, k) s;
SET enable_indexscan = off;
INSERT INTO by_scan SELECT metric, k, s.* FROM unnest(ARRAY['l2', 'ip', 'cosine', 'l1']) metric, unnest(ARRAY[3, 10, 600]) k, short(metric, k) s;
RESET enable_indexscan;
SELECT count(*) FROM ((TABLE by_index EXCEPT ALL TABLE by_scan) UNION ALL (TABLE by_scan EXCEPT ALL TABLE by_index)) d;
DROP TABLE short, by_index, by_scan CASCADE;
DROP FUNCTION short;

-- an exact store is preferred to a rounded one
CREATE INDEX item_exact ON item USING hybrid (v vector_ip_ops) WITH (storage = float32, list_size = 4096);
SET client_min_messages = debug1;
SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v);
RESET client_min_messages;
SELECT * FROM all_differences();

-- an index by cosine has no zero vectors: it serves cosine only
DROP INDEX item_exact, item_half;
CREATE INDEX item_cosine ON item USING hybrid (v vector_cosine_ops) WITH (storage = float32, list_size = 4096);
SET client_min_messages = debug1;
SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v, 10, 'l2');
SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v, 10, 'cosine');
RESET client_min_messages;
SELECT * FROM all_differences();
SELECT differences('cosine', 10), differences('l1', 3000);

-- indexes that do not show every row of the column: partial, on an expression, invalid, on another column
DROP INDEX item_cosine;
ALTER TABLE item ADD COLUMN w vector(5);
CREATE INDEX item_partial ON item USING hybrid (v) WHERE id < 100;
CREATE INDEX item_expression ON item USING hybrid (((v + v)::vector(5)));
CREATE INDEX item_other ON item USING hybrid (w);
CREATE INDEX item_invalid ON item USING hybrid (v);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'item_invalid'::regclass;
SET client_min_messages = debug1;
SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v);
SELECT count(*) FROM query, hybrid_knn('item', 'w', query.v);
UPDATE pg_index SET indisvalid = true, indisready = false WHERE indexrelid = 'item_invalid'::regclass;
SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v);
RESET client_min_messages;
UPDATE pg_index SET indisready = true WHERE indexrelid = 'item_invalid'::regclass;
SELECT * FROM all_differences();

-- other lengths than the column's are told, whatever the index says
SELECT * FROM hybrid_knn('item', 'v', ARRAY['[1,2]']::vector[]);
-- no queries
SELECT count(*) FROM hybrid_knn('item', 'v', '{}'::vector[]);

-- an index that older snapshots may not use (indcheckxmin), since a chain of versions is broken there
DROP INDEX item_partial, item_expression, item_invalid;
BEGIN;
UPDATE item SET v = made(id + 3) WHERE id % 4 = 0;
UPDATE item SET v = NULL WHERE id % 8 = 0;
CREATE INDEX item_chains ON item USING hybrid (v);
SELECT indcheckxmin FROM pg_index WHERE indexrelid = 'item_chains'::regclass;
SET LOCAL client_min_messages = debug1;
SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v);
SET LOCAL client_min_messages = notice;
SELECT * FROM all_differences();
COMMIT;
SELECT * FROM all_differences();

-- row security: no index shows what a policy hides
CREATE ROLE regress_hybrid_reader;
GRANT SELECT ON item, query TO regress_hybrid_reader;
ALTER TABLE item ENABLE ROW LEVEL SECURITY;
CREATE POLICY odd ON item USING (id % 2 = 1);
SET ROLE regress_hybrid_reader;
SET client_min_messages = debug1;
SELECT count(*) = (SELECT count(*) FROM item WHERE v IS NOT NULL) * 8 AS odd FROM query, hybrid_knn('item', 'v', query.v, 5000);
RESET client_min_messages;
RESET ROLE;

-- a domain, a dropped column, a materialised view
CREATE DOMAIN embedding AS vector(2);
CREATE TABLE of_domain (gone int, v embedding, id int);
ALTER TABLE of_domain DROP COLUMN gone;
INSERT INTO of_domain SELECT ARRAY[i, 0]::vector, i FROM generate_series(1, 100) i;
CREATE INDEX ON of_domain USING hybrid (v);
CREATE MATERIALIZED VIEW copy AS SELECT id, v::vector(2) FROM of_domain;
CREATE INDEX ON copy USING hybrid (v);
SET client_min_messages = debug1;
SELECT t.id, distance FROM hybrid_knn('of_domain', 'v', ARRAY['[50,0]']::vector[], 2) k JOIN of_domain t ON t.ctid = k.tid ORDER BY distance;
SELECT t.id, distance FROM hybrid_knn('copy', 'v', ARRAY['[50,0]']::vector[], 2) k JOIN copy t ON t.ctid = k.tid ORDER BY distance;
RESET client_min_messages;
SELECT * FROM hybrid_knn('of_domain', 'gone', ARRAY['[50,0]']::vector[], 2);

-- vectors longer than a page, and of which a page holds two
CREATE TABLE wide (id int, v vector(5000), w vector(900));
INSERT INTO wide SELECT i, (SELECT array_agg(noise(i, j)) FROM generate_series(1, 5000) j)::vector,
	(SELECT array_agg(noise(i, j)) FROM generate_series(1, 900) j)::vector FROM generate_series(1, 60) i;
CREATE INDEX ON wide USING hybrid (v);
CREATE INDEX ON wide USING hybrid (w) WITH (storage = float16);
CREATE TABLE wide_query AS SELECT array_agg(v) AS v, array_agg(w) AS w FROM wide WHERE id IN (7, 8);
SET client_min_messages = debug1;
SELECT count(*) AS same FROM (
	SELECT query, tid, distance FROM wide_query q, hybrid_knn('wide', 'v', q.v, 5)
	INTERSECT SELECT a.nr, b.ctid, b.v <-> a.v FROM (SELECT v, row_number() OVER (ORDER BY id) AS nr FROM wide WHERE id IN (7, 8)) a, wide b) s;
SELECT count(*) AS same FROM (
	SELECT query, tid, distance FROM wide_query q, hybrid_knn('wide', 'w', q.w, 5)
	INTERSECT SELECT a.nr, b.ctid, b.w <-> a.w FROM (SELECT w, row_number() OVER (ORDER BY id) AS nr FROM wide WHERE id IN (7, 8)) a, wide b) s;
RESET client_min_messages;
SELECT count(*) FROM wide_query q, hybrid_knn('wide', 'v', q.v, 5) k WHERE distance > (SELECT max(d) FROM
	(SELECT v <-> q.v[k.query] AS d FROM wide ORDER BY 1 LIMIT 5) s);

DROP TABLE item, query, of_domain, wide, wide_query CASCADE;
DROP DOMAIN embedding;
DROP FUNCTION by_store, by_table, differences, all_differences, noise, made;
DROP ROLE regress_hybrid_reader;
