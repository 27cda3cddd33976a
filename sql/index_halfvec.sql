-- Indexes of halfvec, by codes.  A halfvec is stored as given unless the storage is int8, so that distances have
-- the operator's own bits.
SET jit = off;
-- what a search by codes may leave out is not asked here
SET hybrid.target_recall = 1;

-- ties, a NULL, a vector of zeroes, the least and the greatest halves
CREATE TABLE item (id int, h halfvec(5));
INSERT INTO item
SELECT i, (SELECT array_agg(((i * 7919 + j * 104729 + (i * j) % 97) % 61) / 8.0 - 3 ORDER BY j)
	FROM generate_series(1, 5) j)::real[]::halfvec
FROM generate_series(1, 3000) i;
INSERT INTO item VALUES (3001, NULL), (3002, '[0,0,0,0,0]'), (3003, '[65504,-65504,65504,65504,65504]'), (3004, '[6e-8,0,0,0,-6e-8]'), (3005, '[6e-8,0,0,1e-5,0]');

-- half of the rows by the build, half by inserts; compares all rows with what a sort gives
CREATE FUNCTION compare(storage text, query halfvec) RETURNS TABLE (op text, checked bigint, equal bigint, different bigint, codes boolean)
LANGUAGE plpgsql AS $$
DECLARE
	class text;
	line text;
	plan text;
BEGIN
	FOR op, class IN VALUES ('<->', 'halfvec_l2_ops'), ('<#>', 'halfvec_ip_ops'), ('<=>', 'halfvec_cosine_ops'), ('<+>', 'halfvec_l1_ops') LOOP
		CREATE TEMP TABLE t AS SELECT * FROM item WHERE id % 2 = 0;
		ALTER TABLE t ALTER h TYPE halfvec(5);
		EXECUTE format('CREATE INDEX t_h ON t USING hybrid (h %s) WITH (storage = %s)', class, storage);
		INSERT INTO t SELECT * FROM item WHERE id % 2 = 1;
		checked := hybrid_index_check('t_h');
		codes := (SELECT lists > 1 FROM hybrid_index_stats('t_h'));
		PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true);
		plan := '';
		FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY h %s %L', op, query) LOOP
			plan := plan || line;
		END LOOP;
		IF plan !~ 'Index Scan using t_h .*Order By' THEN
			RAISE 'not an index scan: %', plan;
		END IF;
		EXECUTE format('CREATE TEMP TABLE ours AS SELECT row_number() OVER () AS r, d FROM
			(SELECT h %1$s %2$L AS d FROM t ORDER BY h %1$s %2$L) s WHERE d <> ''NaN''', op, query);
		PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true);
		EXECUTE format('CREATE TEMP TABLE theirs AS SELECT row_number() OVER () AS r, d FROM
			(SELECT h %1$s %2$L AS d FROM t WHERE h IS NOT NULL ORDER BY h %1$s %2$L) s WHERE d <> ''NaN''', op, query);
		SELECT count(*) FILTER (WHERE ours.d = theirs.d), count(*) FILTER (WHERE ours.d IS DISTINCT FROM theirs.d)
			INTO equal, different FROM ours FULL JOIN theirs USING (r);
		DROP TABLE ours, theirs, t;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT storage, q, c.* FROM (VALUES ('float16', '[1,-2,3.5,0.25,-1]'::halfvec), ('float16', '[0.1,0.2,0.3,60000,-6e-8]'), ('float32', '[1,-2,3.5,0.25,-1]'),
	('int8', '[1,-2,3.5,0.25,-1]')) s(storage, q), compare(storage, q) c;

-- the default is float16: nothing is computed again, since nothing was lost; half the room of float32
CREATE INDEX item_h ON item USING hybrid (h);
CREATE INDEX item_full ON item USING hybrid (h) WITH (storage = float32);
SELECT a.storage, b.storage, a.vector_pages <= b.vector_pages AS no_larger FROM hybrid_index_stats('item_h') a, hybrid_index_stats('item_full') b;
DROP INDEX item_full;

-- by codes
SET hybrid.target_recall = 0.99;
SET enable_seqscan = off;
SELECT count(*) FILTER (WHERE id = found) >= 290 AS itself FROM (SELECT q.id, n.id AS found FROM item q,
	LATERAL (SELECT id FROM item ORDER BY h <-> q.h, id LIMIT 1) n WHERE q.id % 10 = 1 AND q.h IS NOT NULL) s;
SET hybrid.target_recall = 1;

-- VACUUM, and a cursor across it
DELETE FROM item WHERE id % 3 = 0;
VACUUM item;
INSERT INTO item SELECT id + 10000, h FROM item WHERE id % 7 = 0;
SELECT hybrid_index_check('item_h'), (SELECT count(h) FROM item) AS rows;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM item ORDER BY h <-> '[1,1,1,1,1]', id;
MOVE 1000 IN c;
DELETE FROM item WHERE id < 3000;
FETCH 3 FROM c;
ROLLBACK;

-- an index on the other type's values: a cast is an expression
CREATE TABLE both_types (id int, v vector(3));
INSERT INTO both_types SELECT i, ARRAY[i, i % 7, i % 11]::vector FROM generate_series(1, 300) i;
CREATE INDEX both_h ON both_types USING hybrid ((v::halfvec(3)) halfvec_cosine_ops);
EXPLAIN (COSTS OFF) SELECT id FROM both_types ORDER BY v::halfvec(3) <=> '[1,2,3]' LIMIT 3;
SELECT id FROM both_types ORDER BY v::halfvec(3) <=> '[1,2,3]' LIMIT 3;

-- hybrid_knn reads the store: the same as without an index
CREATE TABLE by_table AS SELECT query, tid, distance FROM hybrid_knn('item', 'h', ARRAY['[1,1,1,1,1]', '[-3,2,0.1,0,7]']::vector[], 20) LIMIT 0;
SET enable_indexscan = off;
INSERT INTO by_table SELECT query, tid, distance FROM hybrid_knn('item', 'h', ARRAY['[1,1,1,1,1]', '[-3,2,0.1,0,7]']::vector[], 20);
SET enable_indexscan = on;
SELECT pg_stat_force_next_flush();
SELECT idx_scan AS before FROM pg_stat_user_indexes WHERE indexrelname = 'item_h' \gset
SELECT count(*) FROM (TABLE by_table EXCEPT ALL SELECT query, tid, distance FROM hybrid_knn('item', 'h', ARRAY['[1,1,1,1,1]', '[-3,2,0.1,0,7]']::vector[], 20)) d;
SELECT pg_stat_force_next_flush();
SELECT idx_scan - :before AS by_the_index FROM pg_stat_user_indexes WHERE indexrelname = 'item_h';
DROP INDEX item_h;
CREATE INDEX item_byte ON item USING hybrid (h) WITH (storage = int8);
SELECT count(*) FROM (TABLE by_table EXCEPT ALL SELECT query, tid, distance FROM hybrid_knn('item', 'h', ARRAY['[1,1,1,1,1]', '[-3,2,0.1,0,7]']::vector[], 20)) d;

-- as wide as it can be; what is refused
CREATE TABLE wide (id int, h halfvec(16000));
INSERT INTO wide SELECT i, array_fill(i, ARRAY[16000])::halfvec FROM generate_series(1, 5) i;
CREATE INDEX wide_h ON wide USING hybrid (h);
INSERT INTO wide SELECT i, array_fill(i, ARRAY[16000])::halfvec FROM generate_series(6, 8) i;
SELECT hybrid_index_check('wide_h');
SELECT id FROM wide ORDER BY h <-> array_fill(4.4, ARRAY[16000])::halfvec LIMIT 3;
SELECT id FROM item ORDER BY h <-> '[1,2]' LIMIT 1;
CREATE TABLE loose (h halfvec);
CREATE INDEX ON loose USING hybrid (h);
CREATE INDEX ON loose USING hybrid ((h::halfvec(3)) vector_l2_ops);
DROP TABLE item, both_types, wide, by_table, loose;
DROP FUNCTION compare;
