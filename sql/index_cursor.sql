-- Ordered scans under cursors, row locks, a serializable transaction, and over domains.
-- what a search by codes may leave out is not asked here
SET hybrid.target_recall = 1;
CREATE TABLE item (id int PRIMARY KEY, n int DEFAULT 0, v vector(2));
INSERT INTO item (id, v) SELECT i, format('[%s,%s]', i, i % 10)::vector FROM generate_series(1, 2000) i;
CREATE INDEX item_v ON item USING hybrid (v);
SET enable_seqscan = off;

-- rows may change under a cursor: it shows what its snapshot shows
BEGIN;
DECLARE near CURSOR FOR SELECT id, n FROM item ORDER BY v <-> '[0,0]' FOR UPDATE;
FETCH 2 FROM near;
UPDATE item SET n = n + 1 WHERE CURRENT OF near;
DELETE FROM item WHERE id = 3;
FETCH 2 FROM near;
SAVEPOINT s;
DELETE FROM item WHERE CURRENT OF near;
ROLLBACK TO s;
COMMIT;
SELECT id, n FROM item ORDER BY v <-> '[0,0]' LIMIT 4;

-- backwards, and over the end of the transaction
BEGIN;
DECLARE kept SCROLL CURSOR WITH HOLD FOR SELECT id FROM item ORDER BY v <-> '[0,0]' LIMIT 5;
COMMIT;
FETCH LAST FROM kept;
FETCH PRIOR FROM kept;
FETCH FIRST FROM kept;
CLOSE kept;

-- a row that is locked and skipped, a serializable transaction
SELECT id FROM item ORDER BY v <-> '[0,0]' LIMIT 2 FOR UPDATE SKIP LOCKED;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT id FROM item ORDER BY v <-> '[0,0]' LIMIT 2;
UPDATE item SET n = 7 WHERE id = 1;
SELECT id, n FROM item ORDER BY v <-> '[0,0]' LIMIT 2;
COMMIT;

-- more rows than the first pass keeps, in the order of a sort
SELECT count(*) AS rows, bool_and(d >= before) AS ordered
FROM (SELECT d, lag(d, 1, 0) OVER () AS before FROM (SELECT v <-> '[500,3]' AS d FROM item ORDER BY v <-> '[500,3]') s) t;

-- a column of a domain has the dimensions of what it is over
CREATE DOMAIN pair AS vector(2);
CREATE TABLE pairs (v pair);
INSERT INTO pairs VALUES ('[1,2]'), ('[5,6]');
CREATE INDEX pairs_v ON pairs USING hybrid (v);
SELECT v FROM pairs ORDER BY v <-> '[5,5]' LIMIT 1;
SELECT hybrid_index_check('pairs_v');
DROP TABLE item, pairs;
DROP DOMAIN pair;

-- lists that are counted are looked into again for each lot, and their rows come once
CREATE TABLE lot (id int, v vector(8)) WITH (autovacuum_enabled = off);
INSERT INTO lot SELECT i, (SELECT array_agg(sin(i * (k * k + 0.7))) FROM generate_series(1, 8) k)::vector(8) FROM generate_series(1, 6000) i;
CREATE INDEX lot_v ON lot USING hybrid (v vector_l2_ops);
DELETE FROM lot WHERE id % 2 = 0;
BEGIN;
SET LOCAL enable_seqscan = off;
SET LOCAL jit = off;
SET LOCAL hybrid.probes = 20;
SELECT sum(dup) FROM generate_series(1, 60) q, LATERAL (SELECT count(*) - count(DISTINCT id) AS dup FROM
	(SELECT id FROM lot ORDER BY v <-> (SELECT v FROM lot WHERE id = q * 2 + 1) LIMIT 100) s) d;
-- more than all
RESET hybrid.probes;
SELECT count(*) FROM (SELECT id FROM lot WHERE id % 100 = 7 ORDER BY v <-> (SELECT v FROM lot WHERE id = 77) LIMIT 9223372036854775807) s;
SELECT count(*) FROM (SELECT id FROM lot WHERE id % 100 = 7 ORDER BY v <-> (SELECT v FROM lot WHERE id = 77) LIMIT 9223372036854775807 OFFSET 5) s;
ROLLBACK;
DROP TABLE lot;

-- a cursor by codes, and rows of the same session that split the lists it has yet to read: their pages are not taken
-- while it is open, neither of a table nor of a temporary one
CREATE TABLE own (id int, v vector(2)) WITH (autovacuum_enabled = off);
CREATE TEMP TABLE private (LIKE own);
CREATE FUNCTION beside_own_splits(own regclass, OUT rows bigint, OUT ids bigint, OUT new bigint) LANGUAGE plpgsql AS $$
DECLARE c refcursor; this int; BEGIN
	CREATE TEMP TABLE seen (id int) ON COMMIT DROP;
	OPEN c FOR EXECUTE format('SELECT id FROM %s ORDER BY v <-> ''[0,0]''', own);
	FOR i IN 1 .. 2 LOOP FETCH c INTO this; INSERT INTO seen VALUES (this); END LOOP;
	EXECUTE format('INSERT INTO %s SELECT 5000 + i, ARRAY[i %% 40, i / 40.0]::vector FROM generate_series(1, 4000) i', own);
	LOOP FETCH c INTO this; EXIT WHEN NOT FOUND; INSERT INTO seen VALUES (this); END LOOP;
	SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE id > 5000) INTO rows, ids, new FROM seen;
	DROP TABLE seen;
END $$;
CREATE INDEX own_v ON own USING hybrid (v) WITH (list_size = 32);
CREATE INDEX private_v ON private USING hybrid (v) WITH (list_size = 32);
INSERT INTO own SELECT i, ARRAY[i % 40, i / 40.0]::vector FROM generate_series(1, 1200) i;
INSERT INTO private SELECT * FROM own;
ANALYZE own, private;
BEGIN;
SET LOCAL enable_sort = off;
SET LOCAL hybrid.target_recall = 0.95;
SET LOCAL hybrid.probes = 1000000;
SET LOCAL hybrid.max_scan_tuples = 1000000;
SET LOCAL enable_seqscan = off;
-- plan: a plan without what 18 says of disabled nodes
CREATE FUNCTION plan(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		IF line !~ 'Disabled: true' THEN
			RETURN NEXT line;
		END IF;
	END LOOP;
END $$;
SELECT plan($$SELECT id FROM own ORDER BY v <-> '[0,0]'$$);
SELECT * FROM beside_own_splits('own');
SELECT * FROM beside_own_splits('private');
COMMIT;
DROP FUNCTION beside_own_splits, plan;
DROP TABLE own, private;
