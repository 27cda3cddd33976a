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
