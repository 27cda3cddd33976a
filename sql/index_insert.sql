-- Rows that come after the index: into an empty index, into dead slots, over page and group ends.
-- plans that are forced look expensive, and compiling them would take longer than they do
SET jit = off;
-- what a search by codes may leave out is not asked here
SET hybrid.target_recall = 1;

-- temporary, so that no other session's snapshot can hold up VACUUM
CREATE TEMP TABLE item (id int, v vector(600));
CREATE INDEX item_v ON item USING hybrid (v);
CREATE INDEX item_c ON item USING hybrid (v vector_cosine_ops);
-- three vectors of 600 dimensions fit a page
INSERT INTO item SELECT i, (SELECT array_agg((i * j) % 7 + i % 3 ORDER BY j) FROM generate_series(1, 600) j)::real[]::vector
FROM generate_series(1, 100) i;
SELECT entries, dead, dims, storage FROM hybrid_index_stats('item_v');
SELECT hybrid_index_check('item_v'), hybrid_index_check('item_c');
SET enable_seqscan = off;
SELECT id FROM item ORDER BY v <-> (SELECT v FROM item WHERE id = 42), id LIMIT 1;

-- what is rolled back is not seen, and its place is used again after vacuum
BEGIN;
INSERT INTO item SELECT id + 1000, v FROM item;
SELECT entries FROM hybrid_index_stats('item_v');
ROLLBACK;
SELECT count(*), min(id), max(id) FROM (SELECT id FROM item ORDER BY v <-> (SELECT v FROM item WHERE id = 1)) s;
SELECT entries, dead FROM hybrid_index_stats('item_v');
VACUUM item;
SELECT entries, dead FROM hybrid_index_stats('item_v');
INSERT INTO item SELECT id + 1000, v FROM item;
SELECT entries, dead FROM hybrid_index_stats('item_v');
SELECT hybrid_index_check('item_v'), hybrid_index_check('item_c');
SELECT count(*) FROM (SELECT id FROM item ORDER BY v <-> (SELECT v FROM item WHERE id = 1)) s;

-- in subtransactions
BEGIN;
INSERT INTO item SELECT 5000, v FROM item WHERE id = 1;
SAVEPOINT s;
INSERT INTO item SELECT 5001, v FROM item WHERE id = 1;
ROLLBACK TO s;
INSERT INTO item SELECT 5002, v FROM item WHERE id = 1;
COMMIT;
SELECT id FROM item WHERE id >= 5000 ORDER BY v <-> (SELECT v FROM item WHERE id = 1);
SELECT hybrid_index_check('item_v');

-- other dimensions, values out of reach
INSERT INTO item VALUES (1, '[1,2,3]');
DROP TABLE item;

-- an index grown row by row is the one a build makes: the same answers
CREATE TABLE grown (id int, v vector(2));
CREATE INDEX grown_v ON grown USING hybrid (v);
DO $$
BEGIN
	FOR i IN 1 .. 1200 LOOP
		INSERT INTO grown VALUES (i, ARRAY[(i * 37) % 101, (i * 53) % 97]::vector);
	END LOOP;
END $$;
CREATE TABLE built AS SELECT * FROM grown;
CREATE INDEX built_v ON built USING hybrid (v);
SELECT a.entries = b.entries AS entries, a.pages < b.pages * 2 AS pages, a.list_max <= a.list_size AS split
FROM hybrid_index_stats('grown_v') a, hybrid_index_stats('built_v') b;
SELECT (SELECT array_agg(id) FROM (SELECT id FROM grown ORDER BY v <-> '[50,50]') s) =
	(SELECT array_agg(id) FROM (SELECT id FROM built ORDER BY v <-> '[50,50]') s) AS same;
DROP TABLE grown, built;
