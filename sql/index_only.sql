-- Index-only scans: the rows of the index are those of the table.
SET jit = off;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
CREATE TABLE only_rows (id int, v vector(8), h halfvec(8), b bit(64), i2 smallint, i8 bigint, f4 real, f8 float8, flag bool, d date, ts timestamp, tz timestamptz, c "char", o oid,
	t text, n numeric, other int) WITH (autovacuum_enabled = off, fillfactor = 70);
CREATE FUNCTION add_only_rows(first int, last int) RETURNS void LANGUAGE sql AS $$
INSERT INTO only_rows SELECT i, v, v, ('x' || md5(i::text))::bit(64), nullif(i % 65536 - 32768, 0), CASE i % 5 WHEN 0 THEN -9223372036854775808 WHEN 1 THEN -9223372036854775807 WHEN 2 THEN 9223372036854775807 WHEN 3 THEN -i END,
	CASE i % 7 WHEN 0 THEN '-0' WHEN 1 THEN '0' WHEN 2 THEN 'NaN' WHEN 3 THEN '-Infinity' WHEN 4 THEN '3.4e38' WHEN 5 THEN -1e-45::real ELSE sin(i) END::real,
	CASE i % 7 WHEN 0 THEN '-0' WHEN 1 THEN '0' WHEN 2 THEN 'NaN' WHEN 3 THEN 'Infinity' WHEN 4 THEN '-1.7e308' WHEN 5 THEN 5e-324 ELSE sin(i) END::float8,
	CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END,
	CASE i % 6 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN '4713-01-01 BC' WHEN 3 THEN '5874897-12-31' WHEN 4 THEN '2026-02-28' END::date,
	CASE i % 5 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN '294276-12-31 23:59:59.999999' WHEN 3 THEN '1969-12-31 23:59:59' END::timestamp,
	CASE i % 5 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN '4713-01-02 00:00:00+00 BC' ELSE '2026-01-01 00:00:00+00'::timestamptz + i * interval '1 hour' END::timestamptz,
	nullif(chr(i % 128 + 1), 'a')::"char", (i::bigint * 1000003 % 4294967296)::oid, 'text ' || i, i / 7.0, i
FROM (SELECT i, (SELECT array_agg(CASE WHEN d = 3 AND i % 4 = 0 THEN '-0' ELSE sin(i * (d + 0.7) * 1.13) + i % 11 END ORDER BY d) FROM generate_series(1, 8) d WHERE i > 0)::vector(8) AS v FROM generate_series(first, last) i) s $$;
SELECT add_only_rows(1, 2000);
INSERT INTO only_rows (id) VALUES (0);

-- same: whether a statement has an index-only scan, its rows, whether they are those of an index scan and how many of them the scan has fetched from the table
CREATE FUNCTION same(statement text, OUT alone bool, OUT n int, OUT same bool, OUT fetched int) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	by_index text[];
	by_table text[];
BEGIN
	alone := false;
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || statement LOOP
		alone := alone OR line ~ 'Index Only Scan';
		fetched := coalesce(substring(line FROM 'Heap Fetches: (\d+)')::int, fetched);
	END LOOP;
	statement := format('SELECT array_agg(s::text) FROM (%s) s', statement);
	EXECUTE statement INTO by_index;
	SET LOCAL enable_indexonlyscan = off;
	EXECUTE statement INTO by_table;
	SET LOCAL enable_indexonlyscan = on;
	n := coalesce(cardinality(by_table), 0);
	same := by_index IS NOT DISTINCT FROM by_table;
END $$;
\set q '''[2,1,2,3,2,1,2,4]'''

-- types and metrics: only an index that has the values whole
CREATE INDEX only_v ON only_rows USING hybrid (v) INCLUDE (id, i2, i8, f4, f8, flag, d, tz) WITH (storage = float32, list_size = 64);
VACUUM ANALYZE only_rows;
EXPLAIN (VERBOSE, COSTS OFF) SELECT id, v <-> :q FROM only_rows ORDER BY v <-> :q LIMIT 3;
-- the distance is left out if nobody reads it
EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM only_rows ORDER BY v <-> :q LIMIT 3;
SELECT attname, pg_index_column_has_property('only_v'::regclass, attnum, 'returnable') FROM pg_attribute WHERE attrelid = 'only_v'::regclass ORDER BY attnum;
SELECT * FROM same('SELECT id, v <-> ' || quote_literal(:q) || ', v FROM only_rows ORDER BY v <-> ' || quote_literal(:q) || ' LIMIT 300');
SELECT * FROM same('SELECT id, i2, d, flag FROM only_rows ORDER BY v <-> ' || quote_literal(:q) || ' LIMIT 300');
-- a few values share a word with others: these rows come from the table
SELECT c, s.* FROM unnest(ARRAY['i8', 'f4', 'f8', 'tz']) c, same(format('SELECT %s, v FROM only_rows ORDER BY v <-> %L LIMIT 300', c, :q)) s;
-- all rows, and those of conditions that words judge, that they do not judge, on the vector, and of spheres
SELECT c, s.* FROM unnest(ARRAY['true', 'i2 < -32500', 'flag AND d = ''infinity''', 'f8 = 0', 'tz = ''infinity''', 'id % 10 = 3', 'flag IS NOT TRUE AND id % 10 = 3', 'i2 + id > -32000', format('v <-> %L < 9', :q),
	'i2 IN (-32000, -31000, NULL)', format('v <<->> hybrid_sphere(%L, 7)', :q), format('v <<->> hybrid_sphere(%L, 7) AND v <<->> hybrid_sphere(''[3,1,2,3,2,1,2,4]'', 7) AND flag', :q)]) c,
	same(format('SELECT id, i2, i8, f4, f8, flag, d, tz, v <-> %L AS distance FROM only_rows WHERE %s ORDER BY v <-> %1$L LIMIT 5000', :q, c)) s;
SELECT * FROM same(format('SELECT id FROM only_rows WHERE v <<->> hybrid_sphere(%L, 7) OFFSET 0', :q));
-- by all vectors, by no vector, in the order of two distances, and without the index's decision to go on: the rows come from the table
SET hybrid.target_recall = 1;
SELECT * FROM same(format('SELECT id, v <-> %L FROM only_rows WHERE i2 < -31000 ORDER BY v <-> %1$L LIMIT 30', :q));
RESET hybrid.target_recall;
SELECT * FROM same('SELECT id, v FROM only_rows ORDER BY v <-> (SELECT NULL::vector) LIMIT 30');
SELECT * FROM same(format('SELECT id, v FROM only_rows ORDER BY v <-> %L, v <-> ''[1,1,1,1,1,1,1,1]'' LIMIT 30', :q));
SET hybrid.iterative_scan = off;
SELECT * FROM same(format('SELECT id, v FROM only_rows WHERE id %% 2 = 0 ORDER BY v <-> %L LIMIT 30', :q));
SET hybrid.iterative_scan = strict_order;
SELECT * FROM same(format('SELECT id, v FROM only_rows WHERE id %% 2 = 0 ORDER BY v <-> %L LIMIT 30', :q));
RESET hybrid.iterative_scan;
SET hybrid.probes = 3;
SELECT * FROM same(format('SELECT id, v FROM only_rows ORDER BY v <-> %L LIMIT 30', :q));
RESET hybrid.probes;
-- columns that the index does not have or cannot return, system columns, row locks, and no order
SELECT c, s.alone, s.same FROM unnest(ARRAY['t', 'other', 'ctid, id', 'only_rows']) c, same(format('SELECT %s FROM only_rows ORDER BY v <-> %L LIMIT 30', c, :q)) s;
EXPLAIN (COSTS OFF) SELECT id FROM only_rows ORDER BY v <-> :q LIMIT 3 FOR UPDATE;
SELECT alone, n, same FROM same('SELECT count(*) FROM only_rows');
SELECT alone, n, same FROM same('SELECT id, v FROM only_rows WHERE id = 5');

-- rows of another table, a cursor, a cursor that outlives its transaction
SELECT * FROM same('SELECT a.i, s.* FROM generate_series(1, 20) a (i), LATERAL (SELECT id, v <-> array_fill(a.i / 2, ARRAY[8])::vector FROM only_rows WHERE id % 20 > a.i / 3 ORDER BY v <-> array_fill(a.i / 2, ARRAY[8])::vector LIMIT 7) s');
SET plan_cache_mode = force_generic_plan;
PREPARE near(vector, int) AS SELECT array_agg(id), sum(distance) > 0 AS far FROM (SELECT id, v <-> $1 AS distance FROM only_rows WHERE id > $2 ORDER BY v <-> $1 LIMIT 5) s;
EXECUTE near(:q, 1000);
EXECUTE near(:q, 1500);
DEALLOCATE near;
RESET plan_cache_mode;
BEGIN;
DECLARE kept CURSOR WITH HOLD FOR SELECT id FROM only_rows ORDER BY v <-> :q LIMIT 20;
DECLARE near SCROLL CURSOR FOR SELECT id FROM only_rows ORDER BY v <-> :q;
MOVE 3 IN near;
FETCH 2 FROM near;
FETCH BACKWARD 1 FROM near;
-- rows that are deleted now are rows of the cursor
DELETE FROM only_rows WHERE id % 3 = 0;
FETCH 5 FROM near;
COMMIT;
FETCH 6 FROM kept;
CLOSE kept;
-- deleted, updated and inserted rows: pages that are not all-visible
SELECT n, same, fetched >= n AS fetched FROM same(format('SELECT id, v <-> %L FROM only_rows ORDER BY v <-> %1$L LIMIT 300', :q));
BEGIN;
UPDATE only_rows SET other = -1 WHERE id % 5 = 0;
UPDATE only_rows SET v = :q, i8 = 5, d = '2026-01-01' WHERE id % 50 = 1;
SELECT add_only_rows(2001, 2100);
SAVEPOINT s;
DELETE FROM only_rows WHERE id % 7 = 1;
ROLLBACK TO s;
SELECT n, same, fetched >= n AS fetched FROM same(format('SELECT id, i8, d, v FROM only_rows ORDER BY v <-> %L LIMIT 300', :q));
ROLLBACK;
SELECT n, same FROM same(format('SELECT id, i8, d, v FROM only_rows ORDER BY v <-> %L LIMIT 300', :q));
UPDATE only_rows SET v = :q, i8 = 5, d = '2026-01-01' WHERE id % 50 = 1;
SELECT add_only_rows(2001, 4000);
VACUUM ANALYZE only_rows;
SELECT * FROM same(format('SELECT id, d, v FROM only_rows ORDER BY v <-> %L LIMIT 3000', :q));
-- HOT updates change no column of the index
UPDATE only_rows SET other = -1 WHERE id % 9 = 0;
VACUUM only_rows;
SELECT * FROM same(format('SELECT id, d, v FROM only_rows ORDER BY v <-> %L LIMIT 3000', :q));
SELECT hybrid_index_check('only_v');

-- other metrics, the other types of columns, and keys
DROP INDEX only_v;
CREATE INDEX only_v ON only_rows USING hybrid (flag, v vector_cosine_ops) INCLUDE (id, ts, c, o, t, n) WITH (storage = float32);
VACUUM ANALYZE only_rows;
SELECT attname, pg_index_column_has_property('only_v'::regclass, attnum, 'returnable') FROM pg_attribute WHERE attrelid = 'only_v'::regclass ORDER BY attnum;
SELECT c, s.* FROM unnest(ARRAY['true', 'flag', 'NOT flag', 'flag = true AND id < 2500', 'flag IS NULL', 'o > 2000000']) c, same(format('SELECT flag, id, c, o, v FROM only_rows WHERE %s ORDER BY v <=> %L LIMIT 100', c, :q)) s;
SELECT s.* FROM same(format('SELECT ts FROM only_rows WHERE flag ORDER BY v <=> %L LIMIT 100', :q)) s;
SELECT s.alone, s.same FROM unnest(ARRAY['t', 'n']) c, same(format('SELECT %s FROM only_rows WHERE flag ORDER BY v <=> %L LIMIT 100', c, :q)) s;
DROP INDEX only_v;
DELETE FROM only_rows WHERE id > 500;
VACUUM ANALYZE only_rows;
-- an operator class, its operator, its column, the storage, and whether the index is used alone
CREATE FUNCTION same_of(class text, operator text, col text, query text, storage text) RETURNS TABLE (alone bool, n int, same bool, fetched int) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE INDEX only_v ON only_rows USING hybrid (%I %I) INCLUDE (id) %s', col, class, 'WITH (storage = ' || storage || ')');
	RETURN QUERY SELECT s.* FROM same(format('SELECT id, %I, %1$I %s %L FROM only_rows ORDER BY %1$I %2$s %3$L LIMIT 50', col, operator, query)) s;
	DROP INDEX only_v;
END $$;
SELECT class, storage, s.* FROM (VALUES ('vector_l2_ops', '<->', 'v', 'float32'), ('vector_ip_ops', '<#>', 'v', 'float32'), ('vector_cosine_ops', '<=>', 'v', 'float32'), ('vector_l1_ops', '<+>', 'v', 'float32'),
	('vector_l2_ops', '<->', 'v', 'float16'), ('vector_l2_ops', '<->', 'v', 'int8'), ('halfvec_l2_ops', '<->', 'h', 'float16'), ('halfvec_ip_ops', '<#>', 'h', 'float16'), ('halfvec_cosine_ops', '<=>', 'h', 'float16'),
	('halfvec_l1_ops', '<+>', 'h', 'float16'), ('halfvec_l2_ops', '<->', 'h', 'int8')) c (class, operator, col, storage), same_of(class, operator, col, :q, storage) s;
CREATE INDEX only_v ON only_rows USING hybrid (b bit_hamming_ops) INCLUDE (id);
SELECT * FROM same('SELECT id, b FROM only_rows ORDER BY b <~> x''0123456789abcdef'' LIMIT 50');
DROP INDEX only_v;
CREATE INDEX only_v ON only_rows USING hybrid (b bit_jaccard_ops) INCLUDE (id);
SELECT * FROM same('SELECT id, b FROM only_rows ORDER BY b <%> x''0123456789abcdef'' LIMIT 50');
DROP INDEX only_v;
-- sparse vectors and arrays never
CREATE INDEX only_v ON only_rows USING hybrid ((v::sparsevec(8)) sparsevec_l2_ops) INCLUDE (id);
SELECT pg_index_column_has_property('only_v'::regclass, 1, 'returnable'), pg_index_column_has_property('only_v'::regclass, 2, 'returnable');
DROP INDEX only_v;
CREATE INDEX only_v ON only_rows USING hybrid ((ARRAY[v]) vector_maxsim_ops) INCLUDE (id) WITH (storage = float32);
SELECT pg_index_column_has_property('only_v'::regclass, 1, 'returnable'), pg_index_column_has_property('only_v'::regclass, 2, 'returnable');
DROP INDEX only_v;
-- a vector that is computed of included columns
CREATE FUNCTION vector_of(id int, f real) RETURNS vector LANGUAGE sql IMMUTABLE AS $$ SELECT ARRAY[id, CASE WHEN f < 2 THEN f ELSE 2 END]::public.vector $$;
ALTER FUNCTION vector_of COST 10000;
CREATE INDEX only_v ON only_rows USING hybrid ((vector_of(id, i2)::vector(2))) INCLUDE (id, i2) WITH (storage = float32);
SELECT * FROM same('SELECT id, i2 FROM only_rows ORDER BY vector_of(id, i2)::vector(2) <-> ''[300,1]'' LIMIT 30');
DROP INDEX only_v;
-- an expression that the query does not name is not computed: for conditions, for rows of the table, and for distances
CREATE FUNCTION key_of(id int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF current_setting('only_rows.query', true) = 'on' THEN
		RAISE EXCEPTION 'computed';
	END IF;
	RETURN id % 3;
END $$;
CREATE INDEX only_v ON only_rows USING hybrid (key_of(id), v) INCLUDE (id) WITH (storage = float32);
SET only_rows.query = 'on';
SELECT * FROM same(format('SELECT id FROM only_rows WHERE id %% 30 = 4 ORDER BY v <-> %L LIMIT 10', :q));
SET hybrid.target_recall = 1;
SELECT * FROM same(format('SELECT id FROM only_rows ORDER BY v <-> %L LIMIT 10', :q));
RESET hybrid.target_recall;
RESET only_rows.query;
DROP INDEX only_v;
CREATE INDEX only_v ON only_rows USING hybrid (key_of(id), v) WITH (storage = int8);
SET only_rows.query = 'on';
SELECT * FROM same(format('SELECT id FROM only_rows ORDER BY v <-> %L LIMIT 10', :q));
RESET only_rows.query;
DROP INDEX only_v;

-- vectors that are longer than a page, partitions, and an index that was built for other types
CREATE TABLE only_wide (id int, part int, v vector(5000)) PARTITION BY LIST (part);
CREATE TABLE only_wide_1 PARTITION OF only_wide FOR VALUES IN (0);
CREATE TABLE only_wide_2 PARTITION OF only_wide FOR VALUES IN (1);
INSERT INTO only_wide SELECT i, i % 2, (SELECT array_agg(sin(i * d)) FROM generate_series(1, 5000) d WHERE i > 0)::vector FROM generate_series(1, 99) i;
CREATE INDEX only_wide_v ON only_wide USING hybrid (v) INCLUDE (id) WITH (storage = float32);
VACUUM ANALYZE only_wide;
SELECT pg_index_column_has_property('only_wide_v'::regclass, 1, 'returnable'), pg_index_column_has_property('only_wide_1_v_id_idx'::regclass, 1, 'returnable');
SET enable_sort = off;
SELECT * FROM same(format('SELECT id, v FROM only_wide ORDER BY v <-> %L LIMIT 10', (SELECT v FROM only_wide WHERE id = 7)));
RESET enable_sort;
DROP TABLE only_wide;
CREATE INDEX only_v ON only_rows USING hybrid (v) INCLUDE (id) WITH (storage = float32);
ALTER TABLE only_rows ALTER id TYPE oid;
SELECT pg_index_column_has_property('only_v'::regclass, 1, 'returnable');
SELECT * FROM same(format('SELECT id, v FROM only_rows ORDER BY v <-> %L LIMIT 10', :q));

DROP TABLE only_rows;
DROP FUNCTION add_only_rows, same, same_of, vector_of, key_of;
