-- WITH (storage = ...): float32 keeps the bits; float16 halves the vectors and gives the same answers.
-- plans that are forced look expensive, and compiling them would take longer than they do
SET jit = off;
-- what a search by codes may leave out is not asked here
SET hybrid.target_recall = 1;

CREATE TABLE item (id int, v vector(32));
INSERT INTO item SELECT i, (SELECT array_agg(sin(i * 0.37 + j * 1.7) * (1 + i % 9) ORDER BY j) FROM generate_series(1, 32) j)::real[]::vector
FROM generate_series(1, 2000) i;
CREATE INDEX item_full ON item USING hybrid (v) WITH (storage = float32);
CREATE INDEX item_half ON item USING hybrid (v) WITH (storage = float16);
SELECT i, entries, dims, storage, list_size FROM unnest(ARRAY['item_full', 'item_half']::regclass[]) i, hybrid_index_stats(i) s;
SELECT f.vector_pages > h.vector_pages AS smaller
FROM hybrid_index_stats('item_full') f, hybrid_index_stats('item_half') h;
SELECT hybrid_index_check('item_full'), hybrid_index_check('item_half');
SELECT pg_get_indexdef('item_half'::regclass);
DROP INDEX item_full;
DROP INDEX item_half;

-- the same order and the same distances from rounded vectors; under cosine without the rows whose
-- squares underflow
CREATE TABLE query AS SELECT id, v::text FROM item WHERE id IN (1, 1777);
-- differences: of the distances by a new index and without one, for each query and number of rows
CREATE FUNCTION differences(op text, opclass text, numbers int[]) RETURNS TABLE (id int, n int, differences bigint) LANGUAGE plpgsql AS $$
DECLARE
	q record;
	indexed bool;
	distances float8[];
BEGIN
	CREATE TEMP TABLE answer (id int, n int, indexed bool, distances float8[]);
	EXECUTE format('CREATE INDEX item_half ON item USING hybrid (v %s) WITH (storage = float16)', opclass);
	PERFORM set_config('enable_seqscan', 'off', true);
	FOREACH indexed IN ARRAY '{t,f}'::bool[] LOOP
		FOR q IN SELECT * FROM query, unnest(numbers) number LOOP
			EXECUTE format('SELECT array_agg(d) FROM (SELECT v %1$s %2$L::vector AS d FROM item
				WHERE %1$L <> ''<=>'' OR vector_norm(v) > 1e-15 ORDER BY v %1$s %2$L::vector LIMIT %3$L) s', op, q.v, q.number) INTO distances;
			INSERT INTO answer VALUES (q.id, q.number, indexed, distances);
		END LOOP;
		IF indexed THEN
			DROP INDEX item_half;
		END IF;
	END LOOP;
	RETURN QUERY SELECT a.id, a.n, (SELECT count(*) FROM unnest(a.distances, b.distances) AS t(x, y) WHERE x IS DISTINCT FROM y)
		FROM answer a JOIN answer b USING (id, n) WHERE a.indexed AND NOT b.indexed;
	DROP TABLE answer;
END $$;
CREATE TABLE metric (op text, opclass text);
INSERT INTO metric VALUES ('<->', 'vector_l2_ops'), ('<#>', 'vector_ip_ops'), ('<=>', 'vector_cosine_ops'), ('<+>', 'vector_l1_ops');
SELECT op, id, n, differences FROM metric, differences(op, opclass, ARRAY[10, 2000]) ORDER BY 1, 2, 3;
-- tiny, subnormal and large values, and queries out of all proportion
TRUNCATE item, query;
INSERT INTO item SELECT i, (SELECT array_agg(CASE i % 5 WHEN 0 THEN 1e-30 WHEN 1 THEN 1e-8 WHEN 2 THEN 3e-6 WHEN 3 THEN 9000.123 ELSE 0.1 END
	* ((i * j) % 11 - 5 + 0.01) ORDER BY j) FROM generate_series(1, 32) j)::real[]::vector FROM generate_series(1, 1000) i;
INSERT INTO query SELECT n, (SELECT array_agg((j % 3 - 0.7) * scale::float8) FROM generate_series(1, 32) j)::real[]::vector::text
	FROM unnest(ARRAY['1e-37', '1e-20', '1', '1e19', '1e37']) WITH ORDINALITY AS s(scale, n);
SELECT op, (ARRAY['1e-37', '1e-20', '1', '1e19', '1e37'])[id] AS scale, differences FROM metric, differences(op, opclass, ARRAY[1000]) ORDER BY op, id;
DROP FUNCTION differences;
DROP TABLE metric, query;

-- beyond the range of binary16
CREATE INDEX item_half ON item USING hybrid (v) WITH (storage = float16);
INSERT INTO item SELECT 0, array_fill(65504, ARRAY[32])::vector;
INSERT INTO item SELECT 0, array_fill(65505, ARRAY[32])::vector;
SELECT hybrid_index_check('item_half');
DROP INDEX item_half;
INSERT INTO item SELECT 0, array_fill(-70000, ARRAY[32])::vector;
CREATE INDEX item_half ON item USING hybrid (v) WITH (storage = float16);
CREATE INDEX item_byte ON item USING hybrid (v) WITH (storage = int8);
SELECT hybrid_index_check('item_half'), hybrid_index_check('item_byte');
DROP INDEX item_half, item_byte;

-- a changed option counts from the next build on
CREATE INDEX item_v ON item USING hybrid (v);
SELECT storage FROM hybrid_index_stats('item_v');
DELETE FROM item WHERE id = 0;
VACUUM item;
ALTER INDEX item_v SET (storage = float32);
SELECT storage FROM hybrid_index_stats('item_v');
INSERT INTO item SELECT 3000, v FROM item WHERE id = 3;
SELECT hybrid_index_check('item_v');
REINDEX INDEX item_v;
SELECT storage FROM hybrid_index_stats('item_v');
SELECT hybrid_index_check('item_v');
ALTER INDEX item_v RESET (storage);
REINDEX INDEX item_v;
SELECT storage FROM hybrid_index_stats('item_v');

-- so does another list_size
ALTER INDEX item_v SET (list_size = 64);
SELECT list_size FROM hybrid_index_stats('item_v');
REINDEX INDEX item_v;
SELECT list_size FROM hybrid_index_stats('item_v');
ALTER INDEX item_v SET (list_size = 31);
ALTER INDEX item_v RESET (list_size);

-- where storage cannot be chosen, REINDEX fails as CREATE INDEX does, and changes nothing, until the option is removed
CREATE TABLE other (id int, s sparsevec(8), b bit(8), v vector(8));
INSERT INTO other SELECT i, ('{1:' || i || '}/8')::sparsevec, i::bit(8), array_fill(i, ARRAY[8])::vector FROM generate_series(1, 50) i;
CREATE INDEX other_s ON other USING hybrid (s sparsevec_l2_ops);
CREATE INDEX other_b ON other USING hybrid (b bit_hamming_ops);
CREATE INDEX ON other USING hybrid (s sparsevec_l2_ops) WITH (storage = int8);
ALTER INDEX other_s SET (storage = int8);
ALTER INDEX other_b SET (storage = float16, list_size = 64);
INSERT INTO other SELECT * FROM other WHERE id = 7;
REINDEX INDEX other_s;
REINDEX INDEX other_b;
SELECT i, entries, hybrid_index_check(i) FROM unnest(ARRAY['other_b', 'other_s']::regclass[]) i, hybrid_index_stats(i) ORDER BY 1;
ALTER INDEX other_s RESET (storage);
ALTER INDEX other_b RESET (storage);
SELECT relname, reloptions FROM pg_class WHERE relname ~ '^other_' ORDER BY 1;
REINDEX TABLE other;
VACUUM FULL other;
SELECT i, entries, list_size, hybrid_index_check(i) FROM unnest(ARRAY['other_b', 'other_s']::regclass[]) i, hybrid_index_stats(i) ORDER BY 1;
-- by taxicab distance storage and list_size can be chosen
CREATE INDEX other_v ON other USING hybrid (v vector_l1_ops) WITH (list_size = 64);
ALTER INDEX other_v SET (storage = int8, list_size = 128);
REINDEX INDEX other_v;
SELECT storage, list_size, lists, entries FROM hybrid_index_stats('other_v');
DROP TABLE other;

CREATE INDEX ON item USING hybrid (v) WITH (storage = bfloat16);
CREATE INDEX ON item USING hybrid (v) WITH (list_size = 31);
CREATE INDEX ON item USING hybrid (v) WITH (list_size = 16385);
CREATE INDEX ON item USING hybrid (v) WITH (lists = 100);
CREATE INDEX ON item USING hybrid (v) WITH (storage);
DROP TABLE item;
