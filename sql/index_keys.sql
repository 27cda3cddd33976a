-- Keys before the vector: a search with a key finds only its rows, and all of them.
SET jit = off;
SET enable_bitmapscan = off;
SET client_min_messages = warning;
CREATE TYPE keys_color AS ENUM ('red', 'green', 'blue');
CREATE DOMAIN keys_small AS smallint;
CREATE TABLE doc (id int PRIMARY KEY, v vector(8), tenant int, region keys_small, other int) WITH (autovacuum_enabled = off, fillfactor = 50);
-- tenant k has about 1600 / k rows; NULL is a tenant, too
CREATE FUNCTION add_doc(first int, last int) RETURNS void LANGUAGE sql AS $$
INSERT INTO doc SELECT i, CASE WHEN i % 61 <> 0 THEN (SELECT array_agg(sin(i * (d + 0.7) * 1.13) + i % 11 ORDER BY d) FROM generate_series(1, 8) d WHERE i > 0)::vector(8) END,
	nullif(floor(1 / (0.02 + 0.98 * (i * 7919 % 1601) / 1601.0) * 2)::int, 5), i % 4, i
FROM generate_series(first, last) i $$;
SELECT add_doc(1, 3000);
CREATE INDEX doc_v ON doc USING hybrid (tenant, v) WITH (list_size = 32);
ANALYZE doc;
SELECT pg_get_indexdef('doc_v'::regclass);
SELECT hybrid_index_check('doc_v');
SELECT amvalidate(oid), opcname FROM pg_opclass WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'hybrid') AND opcnamespace = 'public'::regnamespace AND opcname !~ 'vec|bit' ORDER BY 2;
SELECT a, p, pg_index_column_has_property('doc_v'::regclass, a, p) FROM generate_series(1, 2) a, unnest(ARRAY['distance_orderable', 'search_nulls', 'orderable']) p;

-- the rows of a condition by the index, as codes and as vectors, against those of the table
CREATE FUNCTION same(condition text, rel text DEFAULT 'doc', OUT n int, OUT codes bool, OUT vectors bool) LANGUAGE plpgsql AS $$
DECLARE
	q text := quote_literal(array_fill(2, ARRAY[8])::vector);
	statement text := format('SELECT array_agg(id ORDER BY id) FROM (SELECT id FROM %s WHERE v IS NOT NULL AND (%s) ORDER BY v <-> %s::vector LIMIT 100000) s', rel, condition, q);
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
	SET LOCAL hybrid.target_recall = 1;
	EXECUTE statement INTO ids;
	vectors := ids IS NOT DISTINCT FROM table_ids;
	SET LOCAL hybrid.target_recall = 0.95;
	SET LOCAL enable_seqscan = on;
END $$;
-- PostgreSQL 18 says which nodes are disabled
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

-- conditions on the key, other types of the family, IN, NULL, and conditions that are no index conditions
SELECT c, s.* FROM unnest(ARRAY['tenant = 3', 'tenant = 3::bigint', 'tenant = 3::smallint', '3 = tenant', 'tenant = 40', 'tenant = 77', 'tenant = -1', 'tenant = 3000000000', 'tenant IN (3, 4, NULL, 90)',
	'tenant = ANY (ARRAY[2, 60]::bigint[])', 'tenant = ANY (ARRAY[]::int[])', 'tenant = ANY (NULL::int[])', 'tenant = NULL::int', 'tenant IS NULL', 'tenant IS NOT NULL', 'tenant = 3 OR tenant = 4', 'tenant > 60',
	'tenant <> 3', 'tenant = 3 AND region = 2', 'tenant = region', 'true']) c, same(c) s;
SET enable_seqscan = off;
SELECT plan('SELECT id FROM doc WHERE tenant = 7 ORDER BY v <-> ''[1,1,1,1,1,1,1,1]'' LIMIT 5');
SELECT plan('SELECT id FROM doc WHERE tenant = 7::bigint ORDER BY v <-> ''[1,1,1,1,1,1,1,1]'' LIMIT 5');
SELECT plan('SELECT id FROM doc WHERE tenant IN (7, 8) AND region = 1 ORDER BY v <-> ''[1,1,1,1,1,1,1,1]'' LIMIT 5');
SELECT plan('SELECT id FROM doc WHERE tenant IS NULL ORDER BY v <-> ''[1,1,1,1,1,1,1,1]'' LIMIT 5');
SELECT plan('SELECT id FROM doc ORDER BY v <-> ''[1,1,1,1,1,1,1,1]'' LIMIT 5');
-- the index has no rows whose vector is NULL: it does not serve a condition on the key alone, nor all rows in order
SET enable_bitmapscan = on;
SELECT plan('SELECT count(*) FROM doc WHERE tenant = 3');
SELECT count(*) FROM plan('SELECT count(*) FROM doc WHERE tenant = 3 OR tenant = 4') p WHERE p ~ 'doc_v';
SELECT plan('SELECT id FROM doc WHERE tenant = 3 AND v IS NULL');
SELECT count(*), count(v) FROM doc WHERE tenant = 3;
SET enable_sort = off;
SELECT count(*), count(v) FROM (SELECT v FROM doc WHERE tenant = 3 ORDER BY v <-> '[1,1,1,1,1,1,1,1]') s;
RESET enable_sort;
-- within a sphere, with and without an order, and by a bitmap
SELECT count(*), bool_and(tenant = 3) FROM (SELECT tenant FROM doc WHERE tenant = 3 AND v <<->> hybrid_sphere('[2,2,2,2,2,2,2,2]', 5) ORDER BY v <-> '[2,2,2,2,2,2,2,2]' LIMIT 1000) s;
SET enable_indexscan = off;
SELECT count(*), bool_and(tenant = 3) FROM doc WHERE tenant = 3 AND v <<->> hybrid_sphere('[2,2,2,2,2,2,2,2]', 5);
SET enable_indexscan = on;
SET enable_bitmapscan = off;
SELECT count(*), bool_and(tenant = 3) FROM doc WHERE tenant = 3 AND v <<->> hybrid_sphere('[2,2,2,2,2,2,2,2]', 5);
SET enable_indexscan = off;
SELECT count(*) FROM doc WHERE tenant = 3 AND (v <-> '[2,2,2,2,2,2,2,2]') + 0 <= 5;
SET enable_indexscan = on;

-- parameters: a generic plan, NULL, arrays; rows of another table; a subquery; a policy
PREPARE near(int) AS SELECT count(*), bool_and(tenant = $1) FROM (SELECT tenant FROM doc WHERE tenant = $1 ORDER BY v <-> '[1,1,1,1,1,1,1,1]' LIMIT 5) s;
SET plan_cache_mode = force_generic_plan;
EXECUTE near(3);
EXECUTE near(40);
EXECUTE near(NULL);
RESET plan_cache_mode;
DEALLOCATE near;
PREPARE near(int[]) AS SELECT count(*), bool_and(tenant = ANY ($1)) FROM (SELECT tenant FROM doc WHERE tenant = ANY ($1) ORDER BY v <-> '[1,1,1,1,1,1,1,1]' LIMIT 5) s;
SET plan_cache_mode = force_generic_plan;
EXECUTE near('{3,NULL,4}');
EXECUTE near('{NULL}');
EXECUTE near(NULL);
RESET plan_cache_mode;
DEALLOCATE near;
CREATE TABLE tenant (k bigint, q vector(8));
INSERT INTO tenant SELECT k, array_fill(k % 11, ARRAY[8])::vector FROM generate_series(1, 60) k;
ANALYZE tenant;
SELECT plan('SELECT t.k, s.id FROM tenant t, LATERAL (SELECT id FROM doc WHERE doc.tenant = t.k ORDER BY v <-> t.q LIMIT 3) s');
SELECT t.k, count(*), bool_and(s.tenant = t.k) FROM tenant t, LATERAL (SELECT doc.tenant FROM doc WHERE doc.tenant = t.k ORDER BY v <-> t.q LIMIT 3) s WHERE t.k < 6 GROUP BY 1 ORDER BY 1;
SELECT count(*), bool_and(tenant = 7) FROM (SELECT tenant FROM doc WHERE tenant = (SELECT max(7)) ORDER BY v <-> '[1,1,1,1,1,1,1,1]' LIMIT 5) s;
CREATE ROLE keys_reader;
GRANT SELECT ON doc TO keys_reader;
ALTER TABLE doc ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON doc FOR SELECT TO keys_reader USING (tenant = current_setting('keys.tenant')::int);
SET keys.tenant = 3;
SET ROLE keys_reader;
SELECT plan('SELECT id FROM doc ORDER BY v <-> ''[1,1,1,1,1,1,1,1]'' LIMIT 5');
SELECT count(*), bool_and(tenant = 3) FROM (SELECT tenant FROM doc ORDER BY v <-> '[1,1,1,1,1,1,1,1]' LIMIT 5) s;
RESET ROLE;
DROP OWNED BY keys_reader;
DROP ROLE keys_reader;
ALTER TABLE doc DISABLE ROW LEVEL SECURITY;
RESET enable_seqscan;

-- recall within the tenant, for tenants of each size
CREATE FUNCTION recall(fewest int, largest int, condition text DEFAULT 'tenant = $2') RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	statement text := format('SELECT array_agg(id) FROM (SELECT id FROM doc WHERE v IS NOT NULL AND (%s) ORDER BY v <-> $1 LIMIT 10) s', condition);
	found int[];
	truth int[];
	hits int := 0;
	wanted int := 0;
	a record;
BEGIN
	FOR a IN SELECT tenant, (array_agg(v ORDER BY id))[1] AS v FROM doc WHERE v IS NOT NULL GROUP BY tenant, id % 3 HAVING count(*) BETWEEN fewest / 3 AND largest / 3 LOOP
		SET LOCAL enable_indexscan = off;
		EXECUTE statement INTO truth USING a.v, a.tenant;
		SET LOCAL enable_indexscan = on;
		SET LOCAL enable_seqscan = off;
		EXECUTE statement INTO found USING a.v, a.tenant;
		SET LOCAL enable_seqscan = on;
		CONTINUE WHEN truth IS NULL;
		wanted := wanted + cardinality(truth);
		hits := hits + (SELECT count(*) FROM unnest(found) f WHERE f = ANY (truth));
	END LOOP;
	RETURN round(hits / wanted::numeric, 2);
END $$;
SELECT recall(1, 30) >= 0.99 AS small, recall(60, 300) >= 0.95 AS middle, recall(301, 3000) >= 0.95 AS large, recall(1, 3000, 'true OR $2 IS NULL') >= 0.95 AS no_key;
-- a search reads the lists of its key only: how many lists it examines, and rows of other keys
CREATE FUNCTION read(condition text, OUT lists_read int, OUT others int) LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL enable_seqscan = off;
	EXECUTE 'SELECT count(*) FROM (SELECT id FROM doc WHERE ' || condition || ' ORDER BY v <-> ''[2,2,2,2,2,2,2,2]'' LIMIT 1000) s';
	SET LOCAL enable_seqscan = on;
	SELECT lists, rows_excluded INTO lists_read, others FROM hybrid_last_scan();
END $$;
SELECT c, lists_read <= most AS few_lists, others <= 64 * ends AS few_others FROM (VALUES ('tenant = 40', 1, 1), ('tenant IN (40, 90)', 2, 2), ('tenant = 3', 40, 2), ('tenant IS NULL', 20, 2), ('tenant = -1', 1, 1)) w (c, most, ends), read(c);

-- so does a search that reads all vectors
SET hybrid.target_recall = 1;
SELECT c, others <= 64 * ends AS few_others FROM (VALUES ('tenant = 40', 1), ('tenant = 3', 2)) w (c, ends), read(c);
RESET hybrid.target_recall;
-- no calibration, and none on queries
SELECT count(*) FROM hybrid_index_curve('doc_v');
SELECT hybrid_index_measure('doc_v', '{"[1,1,1,1,1,1,1,1]"}', keep => true);
-- measured is the column of the vector, also if the key is an expression
CREATE INDEX doc_e ON doc USING hybrid ((tenant % 3), v);
SELECT count(*) FROM hybrid_index_measure('doc_e', '{"[1,1,1,1,1,1,1,1]"}');
DROP INDEX doc_e;
-- rows stay with their key: inserts that split lists, deletes, VACUUM that merges lists, VACUUM that makes new ones, REINDEX
SELECT add_doc(3001, 6000);
SELECT hybrid_index_check('doc_v');
SELECT c, s.* FROM unnest(ARRAY['tenant = 3', 'tenant = 40', 'tenant IS NULL', 'tenant IN (2, 90)', 'true']) c, same(c) s;
DELETE FROM doc WHERE id BETWEEN 1000 AND 5300;
DELETE FROM doc WHERE tenant BETWEEN 30 AND 50;
VACUUM doc;
SELECT hybrid_index_check('doc_v');
SELECT c, s.* FROM unnest(ARRAY['tenant = 3', 'tenant = 40', 'tenant IS NULL', 'tenant IN (2, 90)', 'true']) c, same(c) s;
SELECT add_doc(6001, 12000);
SELECT lists AS before FROM hybrid_index_stats('doc_v') \gset
VACUUM doc;
SELECT lists <> :before AS made_again FROM hybrid_index_stats('doc_v');
SELECT hybrid_index_check('doc_v');
SELECT c, s.* FROM unnest(ARRAY['tenant = 3', 'tenant = 40', 'tenant IS NULL', 'tenant IN (2, 90)', 'true']) c, same(c) s;
SELECT c, lists_read <= most AS few_lists, others <= 64 * ends AS few_others FROM (VALUES ('tenant = 40', 2, 1), ('tenant = 3', 100, 3)) w (c, most, ends), read(c);
SELECT recall(1, 30) >= 0.99 AS small, recall(60, 300) >= 0.95 AS middle, recall(301, 6000) >= 0.95 AS large;
-- a tenant moves to another, and its rows with it
UPDATE doc SET tenant = 1000 WHERE tenant = 3;
SELECT hybrid_index_check('doc_v');
SELECT c, s.* FROM unnest(ARRAY['tenant = 3', 'tenant = 1000']) c, same(c) s;
VACUUM doc;
SELECT hybrid_index_check('doc_v');
SELECT c, s.* FROM unnest(ARRAY['tenant = 3', 'tenant = 1000']) c, same(c) s;
REINDEX INDEX doc_v;
SELECT hybrid_index_check('doc_v');
SELECT c, s.* FROM unnest(ARRAY['tenant = 3', 'tenant = 1000', 'tenant IS NULL']) c, same(c) s;
-- an update of another column stays HOT, one of the key does not
BEGIN;
UPDATE doc SET other = -1 WHERE id IN (7, 8, 9);
SELECT pg_stat_get_xact_tuples_hot_updated('doc'::regclass);
UPDATE doc SET tenant = 42 WHERE id IN (17, 18, 19);
SELECT pg_stat_get_xact_tuples_hot_updated('doc'::regclass);
SELECT * FROM same('tenant = 42');
ROLLBACK;
-- rows that a snapshot sees keep their keys for it
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM same('tenant = 7');
UPDATE doc SET tenant = 7 WHERE tenant = 8;
SELECT * FROM same('tenant = 7');
SELECT * FROM same('tenant = 8');
COMMIT;
-- all rows deleted, and an index that has only grown
DELETE FROM doc;
VACUUM doc;
SELECT hybrid_index_check('doc_v');
SELECT add_doc(1, 3000);
SELECT hybrid_index_check('doc_v');
SELECT c, s.* FROM unnest(ARRAY['tenant = 3', 'tenant = 40', 'tenant IS NULL', 'tenant IN (2, 90)', 'true']) c, same(c) s;
SELECT recall(1, 30) >= 0.99 AS small, recall(60, 300) >= 0.95 AS middle, recall(301, 3000) >= 0.95 AS large;
SELECT c, lists_read <= most AS few_lists, others <= 64 * ends AS few_others FROM (VALUES ('tenant = 40', 2, 1), ('tenant = 3', 60, 2)) w (c, most, ends), read(c);
-- the planner expects a search within a small tenant to read less
CREATE FUNCTION cost(condition text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	SET LOCAL enable_seqscan = off;
	EXECUTE 'EXPLAIN (FORMAT json) SELECT id FROM doc WHERE ' || condition || ' ORDER BY v <-> ''[1,1,1,1,1,1,1,1]'' LIMIT 10' INTO plan;
	RETURN plan->0->'Plan'->>'Total Cost';
END $$;
VACUUM ANALYZE doc;
SELECT cost('tenant = 40') < cost('tenant = 2') AS cheaper, cost('tenant = 2') <= cost('true') AS not_dearer;
-- a search without a condition uses an index without the key, if there is one
CREATE INDEX doc_plain ON doc USING hybrid (v) WITH (list_size = 32);
SET enable_seqscan = off;
SELECT plan('SELECT id FROM doc ORDER BY v <-> ''[1,1,1,1,1,1,1,1]'' LIMIT 5');
SELECT plan('SELECT id FROM doc WHERE tenant = 7 ORDER BY v <-> ''[1,1,1,1,1,1,1,1]'' LIMIT 5');
RESET enable_seqscan;
DROP INDEX doc_plain;
-- other features
SELECT count(*) FROM hybrid_knn('doc', 'v', ARRAY['[1,1,1,1,1,1,1,1]']::vector[], 5);
SELECT index, storage FROM hybrid_indexes WHERE rel = 'doc'::regclass;
DROP FUNCTION recall, read, cost;
DROP TABLE tenant;

-- each type, several keys with included columns, expressions, partial indexes, storages
CREATE TABLE kinds (id int, v vector(8), h halfvec(8), i2 smallint, i8 bigint, u uuid, t text, c varchar(20), b bool, d date, ts timestamp, tz timestamptz, n numeric, e keys_color) WITH (autovacuum_enabled = off);
INSERT INTO kinds SELECT i, x::vector(8), x::vector(8)::halfvec(8), i % 7, CASE i % 3 WHEN 0 THEN 9223372036854775807 WHEN 1 THEN -9223372036854775808 ELSE -9223372036854775807 END, md5((i % 50)::text)::uuid,
	'text ' || i % 20, 'char ' || i % 20, nullif(i % 3, 2)::bool, '2026-01-01'::date + i % 9, '2026-01-01'::timestamp + i % 9 * interval '1 hour', '2026-01-01 00:00+00'::timestamptz + i % 9 * interval '1 hour',
	CASE i % 4 WHEN 0 THEN 0.1 WHEN 1 THEN 0.10000000000000000001 WHEN 2 THEN 'NaN' ELSE 1.50 END, (enum_range(NULL::keys_color))[1 + i % 3]
FROM generate_series(1, 600) i, LATERAL (SELECT array_agg(cos(i * d) ORDER BY d) AS x FROM generate_series(1, 8) d WHERE i > 0) x;
CREATE FUNCTION kinds(definition text, VARIADIC conditions text[]) RETURNS TABLE (c text, n int, codes bool, vectors bool, checked bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'CREATE INDEX kinds_v ON kinds USING hybrid ' || definition;
	RETURN QUERY SELECT u.u, s.*, hybrid_index_check('kinds_v') FROM unnest(conditions) u, same(u.u, 'kinds') s;
	DROP INDEX kinds_v;
END $$;
SELECT * FROM kinds('(i2, v) WITH (list_size = 32)', 'i2 = 3', 'i2 = 3::bigint', 'i2 IN (1, 2)');
SELECT * FROM kinds('(i8, v)', 'i8 = -9223372036854775808', 'i8 = -9223372036854775807', 'i8 = 9223372036854775807', 'i8 = 5::smallint');
SELECT * FROM kinds('(u, v)', 'u = md5(''7'')::uuid', 'u IN (md5(''7'')::uuid, md5(''8'')::uuid)');
SELECT * FROM kinds('(t, v)', 't = ''text 7''', 't IN (''text 7'', ''none'')', 't = ''text 7'' COLLATE "C"');
SELECT * FROM kinds('(c, v)', 'c = ''char 7''', 'c IN (''char 7'', ''none'')');
SELECT * FROM kinds('(b, v)', 'b', 'NOT b', 'b = false', 'b IS NULL');
SELECT * FROM kinds('(d, v)', 'd = ''2026-01-03''', 'd = ''infinity''');
SELECT * FROM kinds('(ts, v)', 'ts = ''2026-01-01 03:00''');
SELECT * FROM kinds('(tz, v)', 'tz = ''2026-01-01 03:00+00''', 'tz IN (''2026-01-01 03:00+00'', ''-infinity'')');
SELECT * FROM kinds('(n, v)', 'n = 0.1', 'n = 0.10000000000000000001', 'n = ''NaN''', 'n = 1.5', 'n IN (1.500, 0.1)');
SELECT * FROM kinds('(e, v)', 'e = ''red''', 'e IN (''red'', ''blue'')', 'e IS NULL');
SELECT * FROM kinds('(i2, t, v) INCLUDE (d, e) WITH (storage = int8)', 'i2 = 3', 't = ''text 7''', 'i2 = 3 AND t = ''text 7''', 'i2 IN (3, 4) AND t IN (''text 7'', ''text 8'')', 'i2 = 3 AND d > ''2026-01-04'' AND e = ''red''');
SELECT * FROM kinds('(lower(t), (v::vector(8))) WITH (storage = float32) WHERE id > 0', 'id > 0 AND lower(t) = ''text 7''');
SELECT * FROM kinds('(i2, v vector_l1_ops)', 'i2 = 3');
DROP FUNCTION kinds;
-- batches do not confuse a key with the vector
CREATE INDEX kinds_h ON kinds USING hybrid (i2, h halfvec_cosine_ops);
SET enable_seqscan = off;
SELECT count(*), bool_and(i2 = 3) FROM (SELECT i2 FROM kinds WHERE i2 = 3 ORDER BY h <=> '[1,1,1,1,1,1,1,1]' LIMIT 10) s;
RESET enable_seqscan;

-- partitions; unlogged and temporary tables; an empty table
CREATE TABLE part (id int, v vector(8), k int, t text) PARTITION BY LIST (k);
CREATE TABLE part_a PARTITION OF part FOR VALUES IN (0, 1);
CREATE TABLE part_b PARTITION OF part FOR VALUES IN (2, 3);
CREATE INDEX ON part USING hybrid (t, v);
INSERT INTO part SELECT i, array_fill(i % 50, ARRAY[8])::vector, i % 4, 't' || i % 10 FROM generate_series(1, 400) i;
SET enable_seqscan = off;
SELECT t, count(*) FROM (SELECT t FROM part WHERE t IN ('t1', 't2') ORDER BY v <-> '[1,1,1,1,1,1,1,1]' LIMIT 1000) s GROUP BY t ORDER BY t;
RESET enable_seqscan;
CREATE UNLOGGED TABLE logless (id int, v vector(8), k int);
CREATE INDEX logless_v ON logless USING hybrid (k, v);
CREATE TEMP TABLE passing (id int, v vector(8), k int);
CREATE INDEX passing_v ON passing USING hybrid (k, v);
INSERT INTO logless SELECT id, v, k FROM part;
INSERT INTO passing SELECT id, v, k FROM part;
SELECT * FROM same('k = 3', 'logless');
SELECT * FROM same('k = 3', 'passing');
DROP TABLE part, logless, passing;

-- collations: values that differ in their bytes may be equal
CREATE COLLATION keys_nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE coll (id int, v vector(8), t text COLLATE keys_nocase);
INSERT INTO coll SELECT i, array_fill(i, ARRAY[8])::vector, CASE i % 3 WHEN 0 THEN 'Word' WHEN 1 THEN 'word' END FROM generate_series(1, 60) i;
CREATE INDEX coll_v ON coll USING hybrid (t, v);
SELECT c, s.* FROM unnest(ARRAY['t = ''WORD''', 't = ''word'' COLLATE "C"', 't IS NULL']) c, same(c, 'coll') s;

-- clear errors
CREATE INDEX ON doc USING hybrid (v, tenant);
CREATE INDEX ON doc USING hybrid (tenant);
CREATE INDEX ON doc USING hybrid (tenant, v, v);
CREATE INDEX ON doc USING hybrid (v, tenant, v);
CREATE INDEX ON doc USING hybrid (id, tenant, region, other, v) INCLUDE (id, tenant, region, other, id);
ALTER TABLE doc ADD j json;
CREATE INDEX ON doc USING hybrid (j, v);
-- another type, and an equality that words do not have
CREATE OPERATOR CLASS keys_interval_ops DEFAULT FOR TYPE interval USING hybrid AS OPERATOR 3 =;
ALTER TABLE doc ADD w interval;
UPDATE doc SET w = CASE id % 3 WHEN 0 THEN '24 hours' WHEN 1 THEN '1 day' ELSE '2 days' END::interval;
CREATE INDEX doc_w ON doc USING hybrid (w, v);
SELECT c, s.* FROM unnest(ARRAY['w = ''1 day''', 'w = ''48:00''']) c, same(c) s;
DROP INDEX doc_w;
CREATE FUNCTION keys_equal(int, int) RETURNS bool LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 % 2 = $2 % 2';
CREATE OPERATOR =% (LEFTARG = int, RIGHTARG = int, FUNCTION = keys_equal);
CREATE OPERATOR CLASS keys_int_ops FOR TYPE int USING hybrid AS OPERATOR 3 =%;
SET client_min_messages = info;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname IN ('keys_interval_ops', 'keys_int_ops') ORDER BY opcname;
SET client_min_messages = warning;
CREATE INDEX ON doc USING hybrid (tenant keys_int_ops, v);
DROP OPERATOR FAMILY keys_interval_ops USING hybrid;
DROP OPERATOR FAMILY keys_int_ops USING hybrid;
DROP OPERATOR =% (int, int);
DROP TABLE coll, kinds, doc;
DROP FUNCTION keys_equal, same, add_doc, plan;
DROP COLLATION keys_nocase;
DROP DOMAIN keys_small;
DROP TYPE keys_color;
