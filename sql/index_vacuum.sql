-- VACUUM: entries of removed rows die, stay out of every answer, and their slots are used again.
-- plans that are forced look expensive, and compiling them would take longer than they do
SET jit = off;

-- temporary, so that no other session's snapshot can hold up VACUUM
CREATE TEMP TABLE item (id int, v vector(4));
INSERT INTO item SELECT i, ARRAY[i, i % 7, i % 5, 1]::vector FROM generate_series(1, 3000) i;
CREATE INDEX item_v ON item USING hybrid (v);
CREATE INDEX item_c ON item USING hybrid (v vector_cosine_ops);
SELECT * FROM hybrid_index_stats('item_v');

-- nothing to do
VACUUM item;
SELECT * FROM hybrid_index_stats('item_v');
DELETE FROM item WHERE id % 3 = 0;
SET enable_seqscan = off;
SELECT id FROM item ORDER BY v <-> '[300,0,0,1]' LIMIT 4;
SELECT entries, dead FROM hybrid_index_stats('item_v');
VACUUM item;
SELECT entries, dead FROM hybrid_index_stats('item_v');
SELECT relname, reltuples, relpages FROM pg_class WHERE relname = 'item_v';
SELECT id FROM item ORDER BY v <-> '[300,0,0,1]' LIMIT 4;
SELECT hybrid_index_check('item_v'), hybrid_index_check('item_c');

-- new rows take the places of the old, in the heap and in the index
INSERT INTO item SELECT -i, ARRAY[-i, 1, 1, 1]::vector FROM generate_series(1, 1000) i;
SELECT pages, entries, dead FROM hybrid_index_stats('item_v');
SELECT hybrid_index_check('item_v'), hybrid_index_check('item_c');
SELECT id FROM item ORDER BY v <-> '[-500,1,1,1]' LIMIT 1;
SELECT count(*) FROM (SELECT id FROM item ORDER BY v <-> '[0,0,0,1]') s;

-- all of it, again and again: no growth
DO $$
BEGIN
	FOR i IN 1 .. 3 LOOP
		UPDATE item SET v = v + '[1,0,0,0]';
	END LOOP;
END $$;
VACUUM item;
SELECT entries FROM hybrid_index_stats('item_v');
SELECT pages AS before FROM hybrid_index_stats('item_v') \gset
UPDATE item SET v = v + '[1,0,0,0]';
VACUUM item;
UPDATE item SET v = v + '[1,0,0,0]';
VACUUM item;
SELECT pages <= :before AS bounded FROM hybrid_index_stats('item_v');
SELECT hybrid_index_check('item_v'), hybrid_index_check('item_c');
DELETE FROM item;
VACUUM item;
SELECT entries, dead > 0 AS dead FROM hybrid_index_stats('item_v');
SELECT id FROM item ORDER BY v <-> '[0,0,0,1]';
INSERT INTO item VALUES (1, '[1,1,1,1]');
SELECT id FROM item ORDER BY v <-> '[0,0,0,1]';
SELECT hybrid_index_check('item_v');
DROP TABLE item;

-- several indexes by parallel workers
CREATE TABLE item (id int, v vector(4)) WITH (autovacuum_enabled = off);
CREATE INDEX item_v ON item USING hybrid (v);
CREATE INDEX item_c ON item USING hybrid (v vector_cosine_ops);
INSERT INTO item SELECT i, ARRAY[i, i % 7, i % 5, 1]::vector FROM generate_series(1, 20000) i;
DELETE FROM item WHERE id % 2 = 0;
SET min_parallel_index_scan_size = 0;
VACUUM (PARALLEL 2) item;
RESET min_parallel_index_scan_size;
SELECT hybrid_index_check('item_v') >= 10000, hybrid_index_check('item_c') >= 10000;
SELECT count(*) FROM (SELECT id FROM item ORDER BY v <=> '[0,0,0,1]') s;
DROP TABLE item;

-- vectors longer than a page
CREATE TEMP TABLE wide (id int, v vector(2100));
CREATE INDEX wide_v ON wide USING hybrid (v);
INSERT INTO wide SELECT i, array_fill(i, ARRAY[2100])::vector FROM generate_series(1, 20) i;
SELECT pages, entries, dead FROM hybrid_index_stats('wide_v');
DELETE FROM wide WHERE id % 2 = 1;
VACUUM wide;
SELECT pages, entries, dead FROM hybrid_index_stats('wide_v');
INSERT INTO wide SELECT i, array_fill(i, ARRAY[2100])::vector FROM generate_series(101, 111) i;
SELECT pages, entries, dead FROM hybrid_index_stats('wide_v');
SELECT hybrid_index_check('wide_v');
SELECT id FROM wide ORDER BY v <-> array_fill(103, ARRAY[2100])::vector LIMIT 3;
DROP TABLE wide;
