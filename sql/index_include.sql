-- INCLUDE columns: conditions on them are judged in the index. No row is lost, and none comes that does not satisfy them.
SET jit = off;
SET enable_bitmapscan = off;
SET client_min_messages = warning;
CREATE TYPE include_color AS ENUM ('red', 'green', 'blue');
CREATE DOMAIN include_small AS smallint;
CREATE TABLE inc (id int PRIMARY KEY, v vector(8), i2 include_small, i8 bigint, f4 real, n numeric, t varchar, b bool, ts timestamptz, other int)
WITH (autovacuum_enabled = off, fillfactor = 50);
CREATE FUNCTION add_inc(first int, last int) RETURNS void LANGUAGE sql AS $$
INSERT INTO inc SELECT i, (SELECT array_agg(sin(i * (d + 0.7) * 1.13) + i % 11 ORDER BY d) FROM generate_series(1, 8) d WHERE i > 0)::vector(8),
	nullif(i * 7919 % 101, 100),
	CASE i % 7 WHEN 0 THEN 9223372036854775807 WHEN 1 THEN -9223372036854775808 WHEN 2 THEN -9223372036854775807 WHEN 3 THEN NULL ELSE i - 2000 END,
	CASE i % 9 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN '0' WHEN 3 THEN 'Infinity' WHEN 4 THEN '-Infinity' ELSE sin(i) END::real,
	CASE i % 8 WHEN 0 THEN 'NaN' WHEN 1 THEN '1e400' WHEN 2 THEN '-1e400' WHEN 3 THEN 0.1 WHEN 4 THEN 0.10000000000000000001 WHEN 5 THEN 'Infinity' ELSE i / 1000.0 END::numeric,
	CASE WHEN i % 13 <> 0 THEN repeat(chr(97 + i % 26), 1 + i % 3) END, CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END,
	'2026-01-01'::timestamptz + i * interval '1 hour', i
FROM generate_series(first, last) i $$;
SELECT add_inc(1, 1500);
CREATE INDEX inc_v ON inc USING hybrid (v) INCLUDE (i2, i8, f4, n, t, b, ts) WITH (list_size = 64);
ANALYZE inc;
SELECT pg_get_indexdef('inc_v'::regclass);
SELECT hybrid_index_check('inc_v');

-- the rows of a condition by the index, as codes and as vectors, against those of the table: rows, whether they are the same, and how many were excluded
CREATE FUNCTION same(condition text, rel text DEFAULT 'inc', OUT n int, OUT codes bool, OUT vectors bool, OUT excluded bigint) LANGUAGE plpgsql AS $$
DECLARE
	q text := quote_literal(array_fill(2, ARRAY[8])::vector);
	statement text := format('SELECT array_agg(id ORDER BY id) FROM (SELECT id FROM %s WHERE %s ORDER BY v <-> %s::vector LIMIT 100000) s', rel, condition, q);
	table_ids int[];
	ids int[];
BEGIN
	SET LOCAL enable_indexscan = off;
	EXECUTE statement INTO table_ids;
	SET LOCAL enable_indexscan = on;
	SET LOCAL enable_seqscan = off;
	EXECUTE statement INTO ids;
	n := coalesce(cardinality(table_ids), 0);
	codes := ids IS NOT DISTINCT FROM table_ids;
	SELECT rows_excluded INTO excluded FROM hybrid_last_scan();
	SET LOCAL hybrid.target_recall = 1;
	EXECUTE statement INTO ids;
	vectors := ids IS NOT DISTINCT FROM table_ids AND excluded = (SELECT rows_excluded FROM hybrid_last_scan());
	SET LOCAL hybrid.target_recall = 0.95;
	SET LOCAL enable_seqscan = on;
END $$;

-- integers: equality, ranges, other types of the family, the ends of the range, IN, NULL
SELECT c, s.* FROM unnest(ARRAY['i2 = 7', 'i2 = 7::bigint', '7 = i2', 'i2 < 3', 'i2 <= 3', 'i2 > 97', 'i2 >= 97', '3::bigint > i2', 'i2 BETWEEN 3 AND 5',
	'i2 IN (1, 2, NULL, 99)', 'i2 = ANY (ARRAY[1, 2]::bigint[])', 'i2 = ANY (ARRAY[]::int[])', 'i2 = ANY (NULL::int[])', 'i2 IS NULL', 'i2 IS NOT NULL', 'i2 = NULL::int', 'i2 = 40000',
	'i8 = 9223372036854775807', 'i8 > 9223372036854775806', 'i8 >= 9223372036854775807', 'i8 > 9223372036854775807', 'i8 < -9223372036854775807', 'i8 <= -9223372036854775808',
	'i8 > -9223372036854775808 AND i8 < 0', 'i8 > -9223372036854775807 AND i8 < -1900', 'i8 = -9223372036854775808', 'i8 = -9223372036854775807', 'i8 = 4 AND i2 > 3']) c, same(c) s;
-- floats: -0 is 0, and NaN is the greatest
SELECT c, s.* FROM unnest(ARRAY['f4 = 0', 'f4 = ''-0''::float8', 'f4 > 0', 'f4 < 0', 'f4 = ''NaN''', 'f4 > ''Infinity''', 'f4 >= ''Infinity''', 'f4 < ''NaN''', 'f4 < ''-Infinity''',
	'f4 <= ''-Infinity''', 'f4 > 0.999', 'f4 IN (0, ''NaN'')']) c, same(c) s;
-- numeric: several values have one word, and the table decides
SELECT c, s.* FROM unnest(ARRAY['n = 0.1', 'n < 0.10000000000000000001 AND n >= 0.1', 'n > 0.1 AND n < 0.1001', 'n >= 1e400', 'n > 1e400', 'n = ''NaN''', 'n < ''NaN'' AND n > 1e399',
	'n = ''Infinity''', 'n < -1e300', 'n IN (0.1, 0.125)', 'n IS NULL']) c, same(c) s;
-- text by hashes, bool, times
SELECT c, s.* FROM unnest(ARRAY['t = ''bbb''', 't IN (''aa'', ''bbb'', ''none'')', 't IS NULL', 't = ''bbb'' COLLATE "C"', 'b', 'NOT b', 'b = false', 'b IS NULL', 'b IS NOT NULL', 'b AND t = ''c''',
	'ts < ''2026-01-03 00:00+00''', 'ts >= ''2026-03-01''::timestamptz - interval ''1 day''', 'ts = ''infinity''', 'ts > ''-infinity'' AND i2 = 5']) c, same(c) s;
-- not judged, or in part
SELECT c, s.* FROM unnest(ARRAY['t < ''c''', 'i2 <> 7', 'i2 + 1 = 8', 'i2 = id % 101', 'i2 = 7 OR i2 = 8', 'ts = ''2026-01-02''::date', 'b IS NOT TRUE', 'i2 = 7 AND other > 700', 'i2 <> ALL (ARRAY[1, 2])',
	'i2 IS NOT DISTINCT FROM 7', 'i2::text = ''7''']) c, same(c) s;
-- the plan shows the conditions as a filter
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM inc WHERE i2 = 7 ORDER BY v <-> '[1,1,1,1,1,1,1,1]' LIMIT 5;

-- parameters: a generic plan, NULL, and the rows of another table
PREPARE near(int, text[]) AS SELECT count(*), bool_and(i2 = $1 AND t = ANY ($2)) FROM (SELECT i2, t FROM inc WHERE i2 = $1 AND t = ANY ($2) ORDER BY v <-> '[1,1,1,1,1,1,1,1]' LIMIT 5) s;
SET plan_cache_mode = force_generic_plan;
EXECUTE near(7, ARRAY['a', 'aa', 'bbb', 'c', 'ddd', 'ff', 'g', 'hh', 'iii', 'k']);
EXECUTE near(8, ARRAY['aa', NULL, 'bbb', 'c', 'i']);
SELECT rows_excluded > 1000 FROM hybrid_last_scan();
EXECUTE near(NULL, ARRAY['aa']);
EXECUTE near(7, NULL);
RESET plan_cache_mode;
DEALLOCATE near;
SELECT a.k, count(*), bool_and(i2 = a.k) FROM generate_series(1, 4) a (k), LATERAL (SELECT i2 FROM inc WHERE i2 = a.k ORDER BY v <-> array_fill(a.k, ARRAY[8])::vector LIMIT 5) s GROUP BY 1 ORDER BY 1;
SELECT count(*), bool_and(i2 = 7) FROM (SELECT i2 FROM inc WHERE i2 = (SELECT max(7)) ORDER BY v <-> '[1,1,1,1,1,1,1,1]' LIMIT 5) s;
-- a search that is not repeated has as many rows as it can
SET hybrid.iterative_scan = off;
SELECT count(*) FROM (SELECT id FROM inc WHERE i2 = 7 ORDER BY v <-> '[1,1,1,1,1,1,1,1]' LIMIT 10) s;
RESET hybrid.iterative_scan;
-- within a sphere, with and without an order, and by a bitmap
SELECT count(*), bool_and(i2 = 7) FROM (SELECT i2 FROM inc WHERE i2 = 7 AND v <<->> hybrid_sphere('[2,2,2,2,2,2,2,2]', 3) ORDER BY v <-> '[2,2,2,2,2,2,2,2]' LIMIT 100) s;
SELECT count(*), bool_and(i2 = 7) FROM inc WHERE i2 = 7 AND v <<->> hybrid_sphere('[2,2,2,2,2,2,2,2]', 3);
SET enable_bitmapscan = on;
SET enable_indexscan = off;
SELECT count(*), bool_and(i2 = 7) FROM inc WHERE i2 = 7 AND v <<->> hybrid_sphere('[2,2,2,2,2,2,2,2]', 3);
RESET enable_indexscan;
SET enable_bitmapscan = off;
SELECT count(*), bool_and(i2 = 7) FROM inc WHERE i2 = 7 AND (v <-> '[2,2,2,2,2,2,2,2]') + 0 <= 3;
RESET enable_seqscan;

-- words stay with their rows: inserts that split lists, deletes, VACUUM that merges them, VACUUM that makes new ones, REINDEX
SELECT add_inc(1501, 4000);
SELECT hybrid_index_check('inc_v');
SELECT c, s.* FROM unnest(ARRAY['i2 = 7', 't = ''bbb''', 'n = 0.1', 'b IS NULL AND i2 < 4', 'ts < ''2026-01-03 00:00+00''']) c, same(c) s;
SELECT lists AS before FROM hybrid_index_stats('inc_v') \gset
DELETE FROM inc WHERE id BETWEEN 1000 AND 3300;
VACUUM inc;
SELECT lists < :before AS merged FROM hybrid_index_stats('inc_v');
SELECT hybrid_index_check('inc_v');
SELECT c, s.* FROM unnest(ARRAY['i2 = 7', 't = ''bbb''', 'n = 0.1', 'b IS NULL AND i2 < 4', 'ts < ''2026-01-03 00:00+00''']) c, same(c) s;
SELECT add_inc(5001, 9000);
SELECT lists AS before FROM hybrid_index_stats('inc_v') \gset
VACUUM inc;
SELECT lists <> :before AS made_again FROM hybrid_index_stats('inc_v');
SELECT hybrid_index_check('inc_v');
SELECT c, s.* FROM unnest(ARRAY['i2 = 7', 't = ''bbb''', 'n = 0.1', 'b IS NULL AND i2 < 4', 'ts < ''2026-01-03 00:00+00''']) c, same(c) s;
REINDEX INDEX inc_v;
SELECT hybrid_index_check('inc_v');
SELECT c, s.* FROM unnest(ARRAY['i2 = 7', 't = ''bbb''', 'n = 0.1', 'b IS NULL AND i2 < 4', 'ts < ''2026-01-03 00:00+00''']) c, same(c) s;

-- an update of another column stays HOT, one of an included column does not
BEGIN;
UPDATE inc SET other = -1 WHERE id IN (7, 8, 9);
SELECT pg_stat_get_xact_tuples_hot_updated('inc'::regclass);
UPDATE inc SET i2 = 42, t = 'new' WHERE id IN (17, 18, 19);
SELECT pg_stat_get_xact_tuples_hot_updated('inc'::regclass);
SELECT c, s.* FROM unnest(ARRAY['t = ''new''', 'i2 = 42']) c, same(c) s;
ROLLBACK;
SELECT n, codes, vectors FROM same('t = ''new''');
-- rows that a snapshot sees keep their values for it
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT n, codes, vectors FROM same('i2 = 7');
UPDATE inc SET i2 = 7 WHERE i2 = 8;
SELECT n, codes, vectors FROM same('i2 = 7');
SELECT n, codes, vectors FROM same('i2 = 8');
COMMIT;
SELECT hybrid_index_check('inc_v');

-- recall of filtered searches, random and correlated with the vector
CREATE TABLE asked AS SELECT v, id % 11 AS place FROM inc WHERE id % 97 = 0;
CREATE FUNCTION recall(condition text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	statement text := format('SELECT array_agg(id) FROM (SELECT id FROM inc WHERE %s ORDER BY v <-> $1 LIMIT 10) s', condition);
	found int[];
	truth int[];
	hits int := 0;
	wanted int := 0;
	a asked;
BEGIN
	FOR a IN SELECT * FROM asked LOOP
		SET LOCAL enable_indexscan = off;
		EXECUTE statement INTO truth USING a.v, a.place;
		SET LOCAL enable_indexscan = on;
		SET LOCAL enable_seqscan = off;
		EXECUTE statement INTO found USING a.v, a.place;
		SET LOCAL enable_seqscan = on;
		wanted := wanted + cardinality(truth);
		hits := hits + (SELECT count(*) FROM unnest(found) f WHERE f = ANY (truth));
	END LOOP;
	RETURN round(hits / wanted::numeric, 2);
END $$;
SELECT c, recall(c) >= 0.94 AS found FROM unnest(ARRAY['i2 < 1', 'i2 < 10', 'i2 < 50', 'i2 IS NULL AND $2 IS NOT NULL']) c;
UPDATE inc SET i2 = id % 11;
VACUUM inc;
SELECT c, recall(c) >= 0.94 AS found FROM unnest(ARRAY['i2 = $2', 'i2 = 0', 'i2 <= $2', 'i2 IN (2, 3)']) c;

-- the planner expects fewer heap rows with the condition in the index
CREATE INDEX inc_alone ON inc USING hybrid (v) WITH (list_size = 64);
CREATE FUNCTION cost_by(name text, other text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE format('UPDATE pg_index SET indisvalid = (indexrelid = %L::regclass) WHERE indexrelid IN (%L::regclass, %L::regclass)', name, name, other);
	EXECUTE 'EXPLAIN (FORMAT json) SELECT id FROM inc WHERE i2 = 7 AND t = ''ff'' ORDER BY v <-> ''[1,1,1,1,1,1,1,1]'' LIMIT 10' INTO plan;
	EXECUTE format('UPDATE pg_index SET indisvalid = true WHERE indexrelid = %L::regclass', other);
	RETURN plan->0->'Plan'->>'Total Cost';
END $$;
SET enable_seqscan = off;
ANALYZE inc;
SELECT cost_by('inc_v', 'inc_alone') < cost_by('inc_alone', 'inc_v') AS cheaper;
RESET enable_seqscan;
DROP INDEX inc_alone;
-- an order without conditions, and no bitmap of all rows
SET enable_seqscan = off;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT id FROM inc WHERE i2 = 7 ORDER BY v <-> '[1,1,1,1,1,1,1,1]' LIMIT 5;
CREATE FUNCTION lines(statement text, pattern text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || statement LOOP
		IF line ~ pattern THEN
			RETURN NEXT ltrim(line);
		END IF;
	END LOOP;
END $$;
SET enable_indexscan = off;
SET enable_bitmapscan = on;
SELECT count(*) AS bitmaps FROM lines('SELECT id FROM inc WHERE b ORDER BY v <-> ''[1,1,1,1,1,1,1,1]'' LIMIT 5', 'Bitmap');
RESET enable_indexscan;
SET enable_bitmapscan = off;
-- what the index excludes counts as removed by the filter
SELECT lines('SELECT id FROM inc WHERE t = ''none'' ORDER BY v <-> ''[1,1,1,1,1,1,1,1]'' LIMIT 5', 'Removed');
SELECT rows_excluded FROM hybrid_last_scan();
SET hybrid.target_recall = 1;
SELECT lines('SELECT id FROM inc WHERE t = ''none'' ORDER BY v <-> ''[1,1,1,1,1,1,1,1]'' LIMIT 5', 'Removed');
-- once, although a query for more than 512 rows reads the vectors twice
SELECT lines('SELECT id FROM inc WHERE b ORDER BY v <-> ''[1,1,1,1,1,1,1,1]''', 'Removed');
SELECT rounds, rows_excluded, rows_returned FROM hybrid_last_scan();
RESET hybrid.target_recall;
DROP FUNCTION lines;
RESET enable_sort;
RESET enable_seqscan;
-- batches read the vectors of such an index, too
SELECT count(*) FROM hybrid_knn('inc', 'v', ARRAY['[1,1,1,1,1,1,1,1]']::vector[], 5);
-- the statistics of this session are counted before VACUUM, which says how many dead rows are left
SELECT pg_stat_force_next_flush();
VACUUM inc;
SELECT index, advice FROM hybrid_indexes WHERE rel = 'inc'::regclass;
DROP TABLE asked;
DROP FUNCTION recall, cost_by;

-- each storage, and classes without codes; an expression; a partial index; long vectors
CREATE TABLE alike (id int, v vector(8), k uuid, e include_color, a int[], d date, o oid, c "char", f float8, w interval) WITH (autovacuum_enabled = off);
INSERT INTO alike SELECT i, (SELECT array_agg(cos(i * d) ORDER BY d) FROM generate_series(1, 8) d WHERE i > 0)::vector(8), md5((i % 50)::text)::uuid,
	(enum_range(NULL::include_color))[1 + i % 3], ARRAY[i % 5, NULL, i % 2], '2026-01-01'::date + i % 365, 4294967295 - i % 100, chr(32 + i % 200)::"char", 1 / (1 + i % 40)::float8, (i % 30) * interval '1 day'
FROM generate_series(1, 600) i;
INSERT INTO alike SELECT 601, v, k, e, a, 'infinity', o, c, f, '24 hours' FROM alike WHERE id = 1;
CREATE FUNCTION alike(options text) RETURNS TABLE (c text, n int, codes bool, vectors bool, excluded bigint, checked bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'CREATE INDEX alike_v ON alike USING hybrid ' || options;
	RETURN QUERY SELECT u.u, s.*, hybrid_index_check('alike_v') FROM unnest(ARRAY['k = md5(''7'')::uuid', 'e = ''red''', 'e IN (''red'', ''blue'') AND d < ''2026-01-08''', 'a = ARRAY[3, NULL, 1]',
		'd > ''2026-12-20'' AND d < ''infinity''', 'd = ''infinity''', 'o >= 4294967290', 'c > ''~''', 'f = 0.25', 'w = ''1 day''']) u, same(u.u, 'alike') s;
	DROP INDEX alike_v;
END $$;
SELECT * FROM alike('(v) INCLUDE (k, e, a, d, o, c, f, w) WITH (list_size = 32)');
SELECT c, n, codes, vectors FROM alike('((v::vector(8))) INCLUDE (k) WITH (storage = int8)') WHERE c LIKE 'k%';
SELECT c, n, codes, vectors FROM alike('(v) INCLUDE (d, k) WITH (storage = float32) WHERE id > 0') WHERE c LIKE 'k%';
DROP FUNCTION alike;
CREATE TABLE exact (id int, v vector(8), b bit(16), s sparsevec(16), k int);
INSERT INTO exact SELECT i, array_fill(i % 100, ARRAY[8])::vector, (i * 7919 % 65536)::bit(16), format('{%s:%s,16:1}/16', 1 + i % 15, i)::sparsevec, i % 10 FROM generate_series(1, 700) i;
CREATE INDEX exact_l1 ON exact USING hybrid (v vector_l1_ops) INCLUDE (k);
CREATE INDEX exact_b ON exact USING hybrid (b bit_hamming_ops) INCLUDE (k);
CREATE INDEX exact_s ON exact USING hybrid (s sparsevec_l2_ops) INCLUDE (k);
INSERT INTO exact SELECT id + 700, v, b, s, k FROM exact;
DELETE FROM exact WHERE id % 3 = 0;
VACUUM exact;
INSERT INTO exact SELECT id + 1400, v, b, s, k + 1 FROM exact WHERE k = 3;
SELECT hybrid_index_check('exact_l1'), hybrid_index_check('exact_b'), hybrid_index_check('exact_s');
SET enable_seqscan = off;
SELECT count(*), bool_and(k = 4), (SELECT count(*) FROM exact WHERE k = 4) FROM (SELECT k FROM exact WHERE k = 4 ORDER BY v <+> '[1,1,1,1,1,1,1,1]' LIMIT 10000) s;
SELECT count(*), bool_and(k = 4) FROM (SELECT k FROM exact WHERE k = 4 ORDER BY b <~> '1111000011110000' LIMIT 10000) s;
SELECT count(*), bool_and(k = 4) FROM (SELECT k FROM exact WHERE k = 4 ORDER BY s <-> '{1:1}/16' LIMIT 10000) s;
SELECT index, rows_rescored, rows_excluded FROM hybrid_last_scan();
RESET enable_seqscan;
CREATE TABLE long (id int, v vector(3000), k1 int, k2 int, k3 int, k4 int, k5 int, k6 int, k7 int, k8 int);
INSERT INTO long SELECT i, (SELECT array_agg(sin(i * d)) FROM generate_series(1, 3000) d WHERE i > 0)::vector, i, i % 2, i % 3, i % 4, i % 5, i % 6, i % 7, i % 8 FROM generate_series(1, 150) i;
CREATE INDEX long_v ON long USING hybrid (v) INCLUDE (k1, k2, k3, k4, k5, k6, k7, k8) WITH (list_size = 32);
INSERT INTO long SELECT id + 150, v, k1 + 150, k2, k3, k4, k5, k6, k7, k8 FROM long;
SELECT hybrid_index_check('long_v');
SET enable_seqscan = off;
SELECT count(*), bool_and(k1 <= 200 AND k8 = 3) FROM (SELECT k1, k8 FROM long WHERE k1 <= 200 AND k8 = 3 ORDER BY v <-> (SELECT v FROM long WHERE id = 3) LIMIT 1000) s;
SELECT rows_excluded FROM hybrid_last_scan();
RESET enable_seqscan;
DROP TABLE exact, long;

-- partitions, and an unlogged table that is empty
CREATE TABLE part (id int, v vector(8), k int) PARTITION BY LIST (k);
CREATE TABLE part_a PARTITION OF part FOR VALUES IN (0, 1);
CREATE TABLE part_b PARTITION OF part FOR VALUES IN (2, 3);
CREATE INDEX ON part USING hybrid (v) INCLUDE (k);
INSERT INTO part SELECT i, array_fill(i % 50, ARRAY[8])::vector, i % 4 FROM generate_series(1, 400) i;
SET enable_seqscan = off;
SELECT k, count(*) FROM (SELECT k FROM part WHERE k IN (1, 2) ORDER BY v <-> '[1,1,1,1,1,1,1,1]' LIMIT 1000) s GROUP BY k ORDER BY k;
RESET enable_seqscan;
CREATE UNLOGGED TABLE logless (id int, v vector(8), k int);
CREATE INDEX logless_v ON logless USING hybrid (v) INCLUDE (k);
INSERT INTO logless SELECT * FROM part;
SELECT n, codes, vectors, excluded FROM same('k = 3', 'logless');
DROP TABLE part, logless;

-- collations: values that differ in their bytes may be equal
CREATE COLLATION include_nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE coll (id int, v vector(8), t text COLLATE include_nocase, u text);
INSERT INTO coll SELECT i, array_fill(i, ARRAY[8])::vector, CASE i % 3 WHEN 0 THEN 'Word' WHEN 1 THEN 'word' END, CASE i % 2 WHEN 0 THEN 'Word' ELSE 'word' END FROM generate_series(1, 60) i;
CREATE INDEX coll_v ON coll USING hybrid (v) INCLUDE (t, u);
SELECT c, s.* FROM unnest(ARRAY['t = ''WORD''', 't IS NULL', 'u = ''word''', 'u = ''WORD'' COLLATE include_nocase', 'u IN (''word'', ''x'')']) c, same(c, 'coll') s;

-- types: what is not comparable by a hash, too many columns, a type that changes below the index
CREATE INDEX ON coll USING hybrid (v) INCLUDE (v);
ALTER TABLE coll ADD j json, ADD p point, ADD a1 int, ADD a2 int;
CREATE INDEX ON coll USING hybrid (v) INCLUDE (a1, j);
CREATE INDEX ON coll USING hybrid (v) INCLUDE (p);
CREATE INDEX ON coll USING hybrid (v) INCLUDE (a1, a2, a1, a2, a1, a2, a1, a2, a1);
CREATE INDEX ON coll USING hybrid (v, a1);
CREATE INDEX coll_a ON coll USING hybrid (v) INCLUDE (a1, a2);
ALTER TABLE coll ALTER a1 TYPE bigint;
SELECT n, codes, vectors FROM same('a1 IS NULL', 'coll');
-- the bytes of an int are those of an oid, and the index is not built again
ALTER TABLE coll ALTER a2 TYPE oid;
INSERT INTO coll (id, v, a2) VALUES (61, '[1,1,1,1,1,1,1,1]', 7);
SELECT advice FROM hybrid_indexes WHERE index = 'coll_a'::regclass;
SELECT hybrid_index_check('coll_a');
SELECT n, codes, vectors, excluded FROM same('a2 IS NULL', 'coll');
VACUUM coll;
REINDEX INDEX coll_a;
INSERT INTO coll (id, v, a2) VALUES (61, '[1,1,1,1,1,1,1,1]', 7);
SELECT n, codes, vectors, excluded FROM same('a2 = 7', 'coll');
ALTER TABLE coll DROP COLUMN a2;
SELECT count(*) FROM pg_class WHERE relname = 'coll_a';
-- equal rows of a composite type have other hashes when the type gets an attribute, so no hash is compared
CREATE TYPE include_pair AS (a int, b int);
ALTER TABLE coll ADD r include_pair[];
UPDATE coll SET r = ARRAY[(1, id % 2)]::include_pair[];
CREATE INDEX coll_r ON coll USING hybrid (v) INCLUDE (r);
SELECT n, codes, vectors, excluded FROM same('r = ARRAY[(1, 0)]::include_pair[]', 'coll');
ALTER TYPE include_pair ADD ATTRIBUTE c int;
SELECT n, codes, vectors, excluded FROM same('r = ARRAY[(1, 0, NULL)]::include_pair[]', 'coll');

-- a type of a user with its own hash, which the check calls again
CREATE TYPE include_word;
CREATE FUNCTION include_word_in(cstring) RETURNS include_word LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION include_word_out(include_word) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE include_word (INPUT = include_word_in, OUTPUT = include_word_out, LIKE = text);
CREATE CAST (include_word AS text) WITHOUT FUNCTION;
CREATE FUNCTION include_word_eq(include_word, include_word) RETURNS bool LANGUAGE plpgsql IMMUTABLE STRICT AS 'BEGIN RETURN lower($1::text) = lower($2::text); END';
CREATE FUNCTION include_word_hash(include_word) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS 'SELECT hashtext(lower($1::text))';
CREATE OPERATOR = (LEFTARG = include_word, RIGHTARG = include_word, FUNCTION = include_word_eq, COMMUTATOR = =, HASHES);
CREATE OPERATOR CLASS include_word_ops DEFAULT FOR TYPE include_word USING hash AS OPERATOR 1 =, FUNCTION 1 include_word_hash(include_word);
CREATE TABLE own (id int, v vector(8), w include_word);
INSERT INTO own SELECT i, array_fill(i, ARRAY[8])::vector, (CASE i % 3 WHEN 0 THEN 'Word' WHEN 1 THEN 'word' ELSE 'other' END)::include_word FROM generate_series(1, 60) i;
CREATE INDEX own_v ON own USING hybrid (v) INCLUDE (w);
DROP OPERATOR FAMILY include_word_ops USING hash CASCADE;
CREATE FUNCTION include_word_hash(include_word, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS 'SELECT hashtextextended(lower($1::text), $2)';
CREATE OPERATOR CLASS include_word_ops DEFAULT FOR TYPE include_word USING hash AS OPERATOR 1 =, FUNCTION 1 include_word_hash(include_word), FUNCTION 2 include_word_hash(include_word, bigint);
CREATE INDEX own_v ON own USING hybrid (v) INCLUDE (w);
SELECT n, codes, vectors, excluded FROM same('w = ''WORD''', 'own');
SELECT hybrid_index_check('own_v');
CREATE OR REPLACE FUNCTION include_word_hash(include_word, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS 'SELECT hashtextextended(lower($1::text), $2) + 1';
SELECT hybrid_index_check('own_v');
-- another such type, whose hashes of the same bytes differ
CREATE TYPE include_name;
CREATE FUNCTION include_name_in(cstring) RETURNS include_name LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION include_name_out(include_name) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE include_name (INPUT = include_name_in, OUTPUT = include_name_out, LIKE = text);
CREATE FUNCTION include_name_eq(include_name, include_name) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'byteaeq';
CREATE FUNCTION include_name_hash(include_name) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'hashvarlena';
CREATE FUNCTION include_name_hash(include_name, bigint) RETURNS bigint LANGUAGE internal IMMUTABLE STRICT AS 'hashvarlenaextended';
CREATE OPERATOR = (LEFTARG = include_name, RIGHTARG = include_name, FUNCTION = include_name_eq, COMMUTATOR = =, HASHES);
CREATE OPERATOR CLASS include_name_ops DEFAULT FOR TYPE include_name USING hash AS OPERATOR 1 =, FUNCTION 1 include_name_hash(include_name), FUNCTION 2 include_name_hash(include_name, bigint);
CREATE CAST (include_word AS include_name) WITHOUT FUNCTION AS ASSIGNMENT;
ALTER TABLE own ALTER w TYPE include_name;
INSERT INTO own VALUES (61, '[1,1,1,1,1,1,1,1]', 'word');
REINDEX INDEX own_v;
SELECT n, codes, vectors, excluded FROM same('w = ''word''', 'own');
-- A search that needs nearly all lists, few of which have a wanted row, reads them in the order of the file; so does a
-- cursor that goes on.
CREATE TABLE thinly (id int, v vector(24), r int) WITH (autovacuum_enabled = off);
INSERT INTO thinly
SELECT i, (SELECT array_agg(sin(i * (d + 0.7) * 1.13) ORDER BY d) FROM generate_series(1, 24) d WHERE i IS NOT NULL)::vector(24), i * 7919 % 8000
FROM generate_series(1, 8000) i;
CREATE INDEX thinly_v ON thinly USING hybrid (v) INCLUDE (r) WITH (list_size = 32);
SELECT lists AS thinly_lists FROM hybrid_index_stats('thinly_v') \gset
SET enable_seqscan = off;
SELECT count(*) FROM (SELECT id FROM thinly WHERE r < 40 ORDER BY v <-> (SELECT v FROM thinly WHERE id = 77) LIMIT 5) s;
SELECT lists = :thinly_lists AS all_lists, rows_scored, rows_scored + rows_excluded AS of, expected_recall FROM hybrid_last_scan();
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM thinly WHERE r < 40 ORDER BY v <-> (SELECT v FROM thinly WHERE id = 77);
CREATE TEMP TABLE fetched (place serial, id int) ON COMMIT DROP;
DO $$
DECLARE
	id int;
	c refcursor := 'c';
BEGIN
	LOOP
		FETCH c INTO id;
		EXIT WHEN NOT FOUND;
		INSERT INTO fetched (id) VALUES (id);
	END LOOP;
END $$;
CLOSE c;
SELECT lists = :thinly_lists AS all_lists, rows_scored, rows_scored + rows_excluded AS of, expected_recall FROM hybrid_last_scan();
SET LOCAL enable_indexscan = off;
SET LOCAL enable_seqscan = on;
SELECT count(*), bool_and(f.id = e.id) AS in_order
FROM fetched f FULL JOIN (SELECT id, row_number() OVER (ORDER BY v <-> (SELECT v FROM thinly WHERE id = 77)) AS place FROM thinly WHERE r < 40) e USING (place);
COMMIT;
RESET enable_seqscan;
DROP TABLE thinly;
DROP TABLE own, coll, alike, inc;
DROP TYPE include_word, include_name, include_pair CASCADE;
DROP FUNCTION same, add_inc;
DROP COLLATION include_nocase;
DROP DOMAIN include_small;
DROP TYPE include_color;
