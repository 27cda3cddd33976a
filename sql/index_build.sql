-- CREATE INDEX USING hybrid: what can be indexed, what a build reports, how the definition is kept.
-- plans that are forced look expensive, and compiling them would take longer than they do
SET jit = off;

SELECT amname, amtype, amhandler FROM pg_am WHERE amname = 'hybrid';
SELECT opcname, opcdefault, amvalidate(oid) FROM pg_opclass
WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'hybrid') ORDER BY 1;

CREATE TABLE item (id int, v vector(3));
INSERT INTO item SELECT i, ARRAY[i % 17, i % 13, i % 11]::vector FROM generate_series(1, 2000) i;
INSERT INTO item VALUES (0, '[0,0,0]'), (-1, NULL);
CREATE INDEX item_l2 ON item USING hybrid (v);
CREATE INDEX item_ip ON item USING hybrid (v vector_ip_ops);
CREATE INDEX item_cosine ON item USING hybrid (v vector_cosine_ops);
CREATE INDEX item_l1 ON item USING hybrid (v vector_l1_ops) WITH (storage = float32);
CREATE INDEX CONCURRENTLY item_later ON item USING hybrid (v);
SELECT i, entries, dead, dims, storage, levels > 1 AS tree, list_size, list_max <= 4 * list_size AS split,
	pages = meta_pages + list_pages + code_pages + vector_pages + free_pages AS all_used, bytes = pages * 8192 AS bytes, hybrid_index_check(i)
FROM unnest(ARRAY['item_l2', 'item_ip', 'item_cosine', 'item_l1', 'item_later']::regclass[]) i,
	hybrid_index_stats(i) s;
SELECT relname, reltuples, relpages > 1 AS pages FROM pg_class WHERE relname IN ('item_l2', 'item_cosine') ORDER BY 1;
SELECT pg_get_indexdef(i) FROM unnest(ARRAY['item_l2', 'item_ip', 'item_l1']::regclass[]) i;

SELECT p, pg_index_column_has_property('item_l2'::regclass, 1, p)
FROM unnest(ARRAY['asc', 'orderable', 'distance_orderable', 'returnable', 'search_array', 'search_nulls']) p;
SELECT p, pg_index_has_property('item_l2'::regclass, p)
FROM unnest(ARRAY['clusterable', 'index_scan', 'bitmap_scan', 'backward_scan']) p;
SELECT p, pg_indexam_has_property(oid, p) FROM pg_am,
	unnest(ARRAY['can_order', 'can_unique', 'can_multi_col', 'can_exclude', 'can_include']) p WHERE amname = 'hybrid';

REINDEX INDEX item_l2;
REINDEX TABLE CONCURRENTLY item;
SELECT hybrid_index_check('item_l2'), hybrid_index_check('item_later');
-- a table rewrite builds all of them again
VACUUM FULL item;
SELECT hybrid_index_check('item_l2'), hybrid_index_check('item_cosine');
TRUNCATE item;
SELECT * FROM hybrid_index_stats('item_l2') \gx
SELECT id FROM item ORDER BY v <-> '[1,2,3]';
INSERT INTO item VALUES (1, '[1,2,3]');
SELECT hybrid_index_check('item_l2'), hybrid_index_check('item_cosine');
CLUSTER item USING item_l2;
DROP TABLE item;

-- an empty table
CREATE TABLE nothing (v vector(3));
CREATE INDEX nothing_v ON nothing USING hybrid (v);
SELECT entries, dead, levels, lists, inner_lists, list_min, list_mean, list_max, hybrid_index_check('nothing_v')
FROM hybrid_index_stats('nothing_v');
SET enable_seqscan = off;
SELECT * FROM nothing ORDER BY v <-> '[1,2,3]';
SELECT * FROM nothing ORDER BY v <-> '[1,2]' LIMIT 1;
DROP TABLE nothing;

-- unlogged, temporary
CREATE UNLOGGED TABLE fast (id int, v vector(2));
CREATE INDEX fast_v ON fast USING hybrid (v);
INSERT INTO fast SELECT i, ARRAY[i, -i]::vector FROM generate_series(1, 1000) i;
SELECT id FROM fast ORDER BY v <-> '[500,-500]' LIMIT 2;
SELECT hybrid_index_check('fast_v');
ALTER TABLE fast SET LOGGED;
SELECT hybrid_index_check('fast_v');
DROP TABLE fast;
CREATE TEMP TABLE brief (id int, v vector(2)) ON COMMIT DELETE ROWS;
CREATE INDEX brief_v ON brief USING hybrid (v);
BEGIN;
INSERT INTO brief SELECT i, ARRAY[i, -i]::vector FROM generate_series(1, 1000) i;
SELECT id FROM brief ORDER BY v <-> '[500,-500]' LIMIT 2;
SELECT hybrid_index_check('brief_v');
COMMIT;
SELECT entries, dead, dims, storage, lists FROM hybrid_index_stats('brief_v');
-- the same file, built anew with other options
ALTER INDEX brief_v SET (storage = float32);
SELECT storage FROM hybrid_index_stats('brief_v');
BEGIN;
COMMIT;
BEGIN;
INSERT INTO brief SELECT i, ARRAY[i + 0.3, -i]::vector FROM generate_series(1, 1000) i;
SELECT storage, entries FROM hybrid_index_stats('brief_v');
SELECT hybrid_index_check('brief_v');
SELECT id FROM brief ORDER BY v <-> '[500,-500]' LIMIT 2;
COMMIT;
BEGIN;
ALTER INDEX brief_v RESET (storage);
SELECT storage FROM hybrid_index_stats('brief_v');
COMMIT;
SELECT storage FROM hybrid_index_stats('brief_v');
INSERT INTO brief VALUES (1, '[70000,1]');
DROP TABLE brief;

-- an expression, a predicate
CREATE TABLE doc (id int, lang text, raw real[]);
INSERT INTO doc SELECT i, CASE i % 4 WHEN 0 THEN 'en' ELSE 'de' END, ARRAY[i, i % 10] FROM generate_series(1, 400) i;
CREATE INDEX doc_v ON doc USING hybrid ((raw::vector(2)));
CREATE INDEX doc_en ON doc USING hybrid ((raw::vector(2)) vector_l1_ops) WHERE lang = 'en';
SELECT hybrid_index_check('doc_v'), hybrid_index_check('doc_en');
EXPLAIN (COSTS OFF) SELECT id FROM doc ORDER BY raw::vector(2) <-> '[200,0]' LIMIT 3;
SELECT id FROM doc ORDER BY raw::vector(2) <-> '[200,0]' LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM doc WHERE lang = 'en' ORDER BY raw::vector(2) <+> '[200,0]' LIMIT 3;
SELECT id FROM doc WHERE lang = 'en' ORDER BY raw::vector(2) <+> '[200,0]' LIMIT 3;
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
-- there is no scan without an order, not even of fewer rows
SELECT plan($$SELECT count(*) FROM doc WHERE lang = 'en'$$);
DROP FUNCTION plan;
UPDATE doc SET lang = 'en' WHERE id = 201;
SELECT id FROM doc WHERE lang = 'en' ORDER BY raw::vector(2) <+> '[200,0]' LIMIT 3;
SELECT hybrid_index_check('doc_v'), hybrid_index_check('doc_en');
INSERT INTO doc VALUES (999, 'en', ARRAY[1, 2, 3]);
DROP TABLE doc;

-- a partitioned table: an ordered scan of each, merged
CREATE TABLE part (id int, v vector(2)) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (500);
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (500) TO (1001);
CREATE INDEX part_v ON part USING hybrid (v) WITH (storage = float32);
INSERT INTO part SELECT i, ARRAY[i, 0]::vector FROM generate_series(0, 1000) i;
ANALYZE part;
EXPLAIN (COSTS OFF) SELECT id FROM part ORDER BY v <-> '[500.2,0]' LIMIT 4;
SELECT id FROM part ORDER BY v <-> '[500.2,0]' LIMIT 4;
SELECT hybrid_index_check('part_1_v_idx'), hybrid_index_check('part_2_v_idx');
SELECT hybrid_index_stats('part_v');
DROP TABLE part;
RESET enable_seqscan;

-- phases by number, as pg_stat_progress_create_index asks for them
SELECT n, pg_indexam_progress_phasename((SELECT oid FROM pg_am WHERE amname = 'hybrid'), n) FROM generate_series(0, 10) n;

-- tables so small that all rows are the sample, and a third of them queries
CREATE TABLE few (n int, id int, v vector(3));
INSERT INTO few SELECT n, i, ARRAY[sin(i), cos(i * 1.7), sin(i * 2.9)]::vector FROM unnest(ARRAY[1200, 1201, 1799, 1800, 1801, 2400]) n, generate_series(1, n) i;
CREATE FUNCTION lists_of(rows int, OUT several boolean, OUT missing int) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE INDEX few_v ON few USING hybrid (v) WHERE n = %s', rows);
	several := (SELECT lists > 5 FROM hybrid_index_stats('few_v'));
	PERFORM hybrid_index_check('few_v');
	missing := rows - (SELECT entries FROM hybrid_index_stats('few_v'));
	DROP INDEX few_v;
END $$;
SELECT rows, (lists_of(rows)).* FROM unnest(ARRAY[1200, 1201, 1799, 1800, 1801, 2400]) rows;
DROP TABLE few;
DROP FUNCTION lists_of;

-- as many lists as there are rows for, whatever the statistics of the table say: there are none yet, or of more rows
CREATE TABLE loaded (id int, v vector(64));
INSERT INTO loaded SELECT i, (SELECT array_agg(sin(i * j)) FROM generate_series(1, 64) j)::vector FROM generate_series(1, 5000) i;
CREATE INDEX loaded_v ON loaded USING hybrid (v);
CREATE INDEX loaded_part ON loaded USING hybrid (v) WHERE id % 4 = 0;
SELECT lists AS lists_before, bytes AS bytes_before FROM hybrid_index_stats('loaded_v') \gset
ANALYZE loaded;
REINDEX INDEX loaded_v;
SELECT :lists_before BETWEEN lists * 0.6 AND lists * 1.6 AS lists, :bytes_before BETWEEN bytes * 0.6 AND bytes * 1.6 AS bytes,
	(SELECT lists FROM hybrid_index_stats('loaded_part')) BETWEEN lists * 0.08 AND lists * 0.4 AS part
FROM hybrid_index_stats('loaded_v');
DROP TABLE loaded;
