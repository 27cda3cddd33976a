-- The recall that an index has for given queries. Figures lie in bounds, or are those of the same searches in SQL.
\set VERBOSITY terse
SET jit = off;
SELECT setseed(0.25);
CREATE TABLE item AS SELECT i AS id, i % 3 AS kind, CASE WHEN i % 50 > 0 THEN
	(SELECT array_agg(random() + random() - 0.7 + CASE WHEN i % 5 = 0 THEN i % 7 ELSE 0 END + 0 * g) FROM generate_series(1, 16) g)::vector(16) END AS v
	FROM generate_series(1, 9000) i;
ALTER TABLE item SET (autovacuum_enabled = off), ALTER v TYPE vector(16);
-- the same row again and again, rows without an angle, rows that have gone
INSERT INTO item SELECT 9000 + i, 1, v FROM item, generate_series(1, 40) i WHERE id = 1;
INSERT INTO item SELECT 10000 + i, 1, array_fill(0, ARRAY[16])::vector FROM generate_series(1, 5) i;
DELETE FROM item WHERE id % 9 = 4;
CREATE INDEX item_l2 ON item USING hybrid (v vector_l2_ops) WITH (list_size = 32);
CREATE INDEX item_int8 ON item USING hybrid (v vector_l2_ops) WITH (list_size = 32, storage = int8);
CREATE INDEX item_ip ON item USING hybrid (v vector_ip_ops) WITH (list_size = 32);
CREATE INDEX item_cosine ON item USING hybrid (v vector_cosine_ops) WITH (list_size = 32, storage = float32);
DELETE FROM item WHERE id % 11 = 4;
ANALYZE item;
CREATE TABLE query AS SELECT array_agg(v) AS v FROM (
	SELECT (SELECT array_agg(random() * 3 - 0.7) FROM generate_series(1, 16) WHERE i > 0)::vector AS v FROM generate_series(1, 20) i
	UNION ALL SELECT v FROM item WHERE id IN (1, 2, 3)) s;

-- the same in SQL: distances by the index, and by a sort of all rows
CREATE TYPE figures AS (target float8, recall float8, low_share float8, lists float8, rows_scored float8);
CREATE FUNCTION by_sql(tab text, op text, queries vector[], k int, expression text DEFAULT 'v', cond text DEFAULT 'true') RETURNS SETOF figures LANGUAGE plpgsql
	SET enable_seqscan = off SET enable_sort = off SET hybrid.target_recall = 0.95 AS $$
DECLARE
	target float8;
	query vector;
	exact float8[];
	near float8[];
	answers text[] := '{}';
	low float8[] := '{}';
	lists float8[] := '{}';
	scored float8[] := '{}';
BEGIN
	FOREACH query IN ARRAY queries LOOP
		EXECUTE format('SELECT array_agg(d) FROM (SELECT (%1$s %2$s $1) + 0 AS d FROM %3$s WHERE %4$s AND (%1$s %2$s $1) + 0 <> ''NaN'' ORDER BY 1 LIMIT %5$s) s', expression, op, tab, cond, k) INTO exact USING query;
		answers := answers || exact::text;
	END LOOP;
	FOREACH target IN ARRAY '{0.5, 0.9, 0.95, 0.99}'::float8[] LOOP
		PERFORM set_config('hybrid.target_recall', target::text, true);
		low := '{}'; lists := '{}'; scored := '{}';
		FOR i IN 1 .. cardinality(queries) LOOP
			EXECUTE format('SELECT array_agg(d) FROM (SELECT %1$s %2$s $1 AS d FROM %3$s WHERE %4$s ORDER BY 1 LIMIT %5$s) s', expression, op, tab, cond, k) INTO near USING queries[i];
			lists := lists || (SELECT l.lists FROM hybrid_last_scan() l)::float8;
			scored := scored || (SELECT l.rows_scored FROM hybrid_last_scan() l)::float8;
			exact := answers[i];
			low := low || (SELECT count(*) FROM unnest(near) d WHERE d <= exact[cardinality(exact)])::float8 / cardinality(exact);
		END LOOP;
		RETURN QUERY SELECT target, (SELECT avg(l) FROM unnest(low) l), (SELECT avg((l <= 0.5)::int)::float8 FROM unnest(low) l),
			(SELECT avg(l) FROM unnest(lists) l), (SELECT avg(l) FROM unnest(scored) l);
	END LOOP;
END $$;
-- one index at a time, so that SQL takes the one that is measured
CREATE FUNCTION agrees(index regclass, op text, k int, expression text DEFAULT 'v', cond text DEFAULT 'true', OUT targets bigint, OUT alike bool, OUT not_all bool, OUT times bool, OUT scanned text) LANGUAGE plpgsql
	SET hybrid.target_recall = 0.5 AS $$
DECLARE
	tab text := (SELECT indrelid::regclass::text FROM pg_index WHERE indexrelid = index);
	queries vector[] := (SELECT v FROM query);
BEGIN
	CREATE TEMP TABLE measured ON COMMIT DROP AS SELECT * FROM hybrid_index_measure(index, queries, k);
	scanned := (SELECT l.index::text FROM hybrid_last_scan() l);
	UPDATE pg_index SET indisvalid = false WHERE indrelid = tab::regclass AND indexrelid <> index;
	SELECT count(*), bool_and(abs(m.recall - s.recall) < 1e-9 AND abs(m.low_share - s.low_share) < 1e-9 AND abs(m.lists - s.lists) < 1e-6 AND abs(m.rows_scored - s.rows_scored) < 1e-6),
		min(m.recall) < 1, bool_and(0 < m.p50_ms AND m.p50_ms <= m.p99_ms)
		INTO targets, alike, not_all, times FROM measured m JOIN by_sql(tab, op, queries, k, expression, cond) s USING (target);
	UPDATE pg_index SET indisvalid = true WHERE indrelid = tab::regclass;
	DROP TABLE measured;
END $$;
SELECT * FROM agrees('item_l2', '<->', 10);
SELECT * FROM agrees('item_int8', '<->', 10);
SELECT * FROM agrees('item_ip', '<#>', 10);
SELECT * FROM agrees('item_cosine', '<=>', 10);
SELECT * FROM agrees('item_l2', '<->', 1);
SELECT * FROM agrees('item_cosine', '<=>', 100);

-- a row for each target, the session's own one, too; at 1 all stored vectors are read
SELECT target, recall BETWEEN 0.6 AND 1 AS high, low_share BETWEEN 0 AND 0.6 AS not_most, m.lists BETWEEN 1 AND s.lists AS some_lists, rows_scored BETWEEN 10 AND s.entries AS some_rows
FROM hybrid_index_measure('item_l2', (SELECT v FROM query)) m, hybrid_index_stats('item_l2') s;
SET hybrid.target_recall = 1;
SELECT target, CASE WHEN target = 1 THEN recall END AS recall, CASE WHEN target = 1 THEN low_share END AS low_share, CASE WHEN target = 1 THEN rows_scored END AS rows_scored
FROM hybrid_index_measure('item_l2', (SELECT v FROM query), 5) m;
SET hybrid.target_recall = 0.97;
-- hybrid.probes counts for nothing
SET hybrid.probes = 1;
SELECT target, lists > 1 AS by_target FROM hybrid_index_measure('item_l2', (SELECT v FROM query), k => 5) m;
RESET hybrid.target_recall;
RESET hybrid.probes;
-- k beyond the rows
SELECT target, recall > 0.9 AS nearly_all FROM hybrid_index_measure('item_ip', (SELECT v[1:2] FROM query), 4000);
-- changes of this transaction
BEGIN;
DELETE FROM item WHERE id <> 1;
SELECT target, recall, low_share FROM hybrid_index_measure('item_l2', (SELECT v FROM query));
ROLLBACK;
-- queries with nothing to be found do not count for recall
SELECT target, recall, low_share, lists > 0 AS searched FROM hybrid_index_measure('item_cosine', ARRAY[array_fill(0, ARRAY[16])::vector]);
SELECT count(*), bool_and(a.recall = b.recall AND a.low_share = b.low_share) AS alike FROM hybrid_index_measure('item_cosine', (SELECT v FROM query)) a
	JOIN hybrid_index_measure('item_cosine', (SELECT v || array_fill(0, ARRAY[16])::vector FROM query)) b USING (target);
CREATE TABLE empty (v vector(16));
CREATE INDEX empty_v ON empty USING hybrid (v);
SELECT target, recall, low_share FROM hybrid_index_measure('empty_v', (SELECT v FROM query));

-- halfvec: queries are rounded as the operator does it
CREATE TABLE half ("h x" halfvec(16), d int);
INSERT INTO half SELECT v::halfvec, id FROM item;
CREATE INDEX half_h ON half USING hybrid ("h x" halfvec_l2_ops) WITH (list_size = 32);
CREATE INDEX half_cosine ON half USING hybrid ("h x" halfvec_cosine_ops) WITH (list_size = 32);
ANALYZE half;
SELECT * FROM agrees('half_h', '<->', 10, '"h x"');
SELECT * FROM agrees('half_cosine', '<=>', 10, '"h x"');
SELECT count(*) FROM hybrid_index_measure('half_h', (SELECT array_agg("h x") FROM half WHERE d IN (1, 2))::vector[]);
SELECT * FROM hybrid_index_measure('half_h', ARRAY[array_fill(100000, ARRAY[16])::vector]);

-- a partial index: the rows that it has
CREATE INDEX item_part ON item USING hybrid (v vector_l2_ops) WITH (list_size = 32) WHERE kind = 1 AND id % 2 = 0;
SELECT * FROM agrees('item_part', '<->', 10, 'v', 'kind = 1 AND id % 2 = 0');
-- by taxicab distance; a materialised view; a column whose type is a domain
CREATE INDEX item_l1 ON item USING hybrid (v vector_l1_ops);
SELECT * FROM agrees('item_l1', '<+>', 10);
CREATE MATERIALIZED VIEW seen AS SELECT id AS d, v::vector(16) AS s FROM item;
CREATE INDEX seen_v ON seen USING hybrid (s);
SELECT * FROM agrees('seen_v', '<->', 10, 's');
CREATE DOMAIN place AS vector(16);
CREATE TABLE placed (p place);
INSERT INTO placed SELECT v FROM item;
CREATE INDEX placed_p ON placed USING hybrid (p);
SELECT * FROM agrees('placed_p', '<->', 10, 'p');

-- what somebody might set up to be called instead
CREATE SCHEMA evil;
CREATE FUNCTION evil.trap(float8, float8) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
CREATE OPERATOR evil.<= (FUNCTION = evil.trap, LEFTARG = float8, RIGHTARG = float8);
CREATE FUNCTION evil.trap(vector, vector) RETURNS float8 LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
CREATE OPERATOR evil.<-> (FUNCTION = evil.trap, LEFTARG = vector, RIGHTARG = vector);
CREATE FUNCTION evil.hybrid_knn(regclass, name, vector[], int, text, text) RETURNS TABLE (query int, id tid, distance float8) LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
CREATE DOMAIN evil.vector AS int;
CREATE TABLE evil.item (v int);
BEGIN;
SET LOCAL search_path = evil, pg_catalog, public;
SELECT count(*) FROM public.hybrid_index_measure('item_l2', (SELECT v FROM public.query));
SELECT count(*) FROM public.hybrid_index_measure('item_part', (SELECT v FROM public.query));
SELECT count(*) FROM public.hybrid_index_measure('half_h', (SELECT v FROM public.query));
ROLLBACK;
SET client_min_messages = warning;
DROP SCHEMA evil CASCADE;
RESET client_min_messages;

-- what is refused
SELECT hybrid_index_measure(NULL, (SELECT v FROM query));
SELECT hybrid_index_measure('item_l2', NULL);
SELECT hybrid_index_measure('item_l2', (SELECT v FROM query), NULL);
SELECT hybrid_index_measure('item_l2', '{}');
SELECT hybrid_index_measure('item_l2', ARRAY[NULL]::vector[]);
SELECT hybrid_index_measure('item_l2', (SELECT v || NULL::vector FROM query));
SELECT hybrid_index_measure('item_l2', ARRAY[['[1]'], ['[2]']]::vector[]);
SELECT hybrid_index_measure('item_l2', ARRAY['[1,2]']::vector[]);
SELECT hybrid_index_measure('item_l2', (SELECT v || '[1,2]'::vector FROM query));
SELECT hybrid_index_measure('empty_v', ARRAY['[1,2]']::vector[]);
SELECT hybrid_index_measure('item_l2', (SELECT v FROM query), 0);
SELECT hybrid_index_measure('item_l2', (SELECT v FROM query), 2000000000);
SELECT hybrid_index_measure('item', (SELECT v FROM query));
SELECT hybrid_index_measure(4294967295::oid, (SELECT v FROM query));
CREATE INDEX item_id ON item (id);
SELECT hybrid_index_measure('item_id', (SELECT v FROM query));
CREATE INDEX item_sum ON item USING hybrid (((v + v)::vector(16)));
SELECT hybrid_index_measure('item_sum', (SELECT v FROM query));
CREATE TABLE other (s sparsevec(3), b bit(3));
CREATE INDEX other_s ON other USING hybrid (s);
CREATE INDEX other_b ON other USING hybrid (b);
SELECT hybrid_index_measure('other_s', ARRAY['[1,2,3]']::vector[]);
SELECT hybrid_index_measure('other_b', ARRAY['[1,2,3]']::vector[]);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'item_ip'::regclass;
SELECT hybrid_index_measure('item_ip', (SELECT v FROM query));
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'item_ip'::regclass;
CREATE TABLE parted (id int, v vector(16)) PARTITION BY RANGE (id);
CREATE TABLE part_0 PARTITION OF parted FOR VALUES FROM (0) TO (20000);
CREATE INDEX parted_v ON parted USING hybrid (v);
INSERT INTO parted SELECT id, v FROM item;
SELECT hybrid_index_measure('parted_v', (SELECT v FROM query));
SELECT count(*) FROM hybrid_index_measure('part_0_v_idx', (SELECT v FROM query));
CREATE TABLE child () INHERITS (item);
SELECT hybrid_index_measure('item_l2', (SELECT v FROM query));
DROP TABLE child;
-- an index that this transaction may not use, since it does not have the versions that older snapshots see
CREATE TABLE broken (v vector(16));
INSERT INTO broken SELECT v FROM item WHERE id < 100;
BEGIN;
UPDATE broken SET v = v + v;
CREATE INDEX broken_v ON broken USING hybrid (v);
SELECT hybrid_index_measure('broken_v', (SELECT v FROM query));
ROLLBACK;

-- rights: on the table; on the column, which hybrid_knn needs the ctid with; on none
CREATE ROLE regress_hybrid_measurer;
GRANT SELECT ON query TO regress_hybrid_measurer;
SET ROLE regress_hybrid_measurer;
SELECT hybrid_index_measure('item_l2', (SELECT v FROM query));
SELECT hybrid_index_measure('item_l2', ARRAY['[1,2]']::vector[]);
SELECT hybrid_index_measure('item_sum', (SELECT v FROM query));
RESET ROLE;
GRANT SELECT (v) ON item TO regress_hybrid_measurer;
SET ROLE regress_hybrid_measurer;
SELECT hybrid_index_measure('item_l2', (SELECT v FROM query));
RESET ROLE;
GRANT SELECT (ctid) ON item TO regress_hybrid_measurer;
SET ROLE regress_hybrid_measurer;
SELECT count(*) FROM hybrid_index_measure('item_l2', (SELECT v FROM query));
RESET ROLE;
GRANT SELECT ON item TO regress_hybrid_measurer;
-- row security: the rows that the caller sees
DROP INDEX item_int8, item_part;
ALTER TABLE item ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_kind ON item USING (kind = 2 AND id % 2 = 1);
SET ROLE regress_hybrid_measurer;
CREATE TEMP TABLE mine AS SELECT * FROM hybrid_index_measure('item_l2', (SELECT v FROM query));
CREATE TEMP TABLE same AS SELECT * FROM by_sql('item', '<->', (SELECT v FROM query), 10, 'v', 'true');
SELECT count(*), bool_and(abs(m.recall - s.recall) < 1e-9) AS alike, min(s.recall) > 0.5 AS found FROM mine m JOIN same s USING (target);
RESET ROLE;

-- an error in between, and all is as it was: the settings, and which indexes may be used
CREATE FUNCTION not_so_far(int) RETURNS bool LANGUAGE plpgsql STABLE AS $$
BEGIN
	IF current_setting('hybrid.target_recall') = '0.99' THEN RAISE 'that is too far'; END IF;
	RETURN true;
END $$;
CREATE POLICY also_far ON item AS RESTRICTIVE USING (not_so_far(id));
SET hybrid.probes = 7;
SET enable_indexscan = off;
SET ROLE regress_hybrid_measurer;
DO $$ BEGIN
	PERFORM hybrid_index_measure('item_l2', (SELECT v FROM query));
EXCEPTION WHEN raise_exception THEN RAISE NOTICE '%', SQLERRM; END $$;
SELECT name, setting FROM pg_settings WHERE name IN ('hybrid.target_recall', 'hybrid.probes', 'enable_indexscan', 'enable_seqscan', 'enable_sort') ORDER BY 1;
SELECT hybrid_index_measure('item_l2', (SELECT v FROM query));
SELECT name, setting FROM pg_settings WHERE name IN ('hybrid.target_recall', 'hybrid.probes', 'enable_indexscan', 'enable_seqscan', 'enable_sort') ORDER BY 1;
RESET ROLE;
RESET hybrid.probes;
RESET enable_indexscan;
BEGIN;
SELECT count(*) FROM hybrid_index_measure('item_l2', (SELECT v FROM query));
SELECT name, setting FROM pg_settings WHERE name IN ('hybrid.target_recall', 'hybrid.probes', 'enable_indexscan', 'enable_seqscan', 'enable_sort') ORDER BY 1;
COMMIT;
SET enable_seqscan = off;
EXPLAIN (COSTS off) SELECT id FROM item ORDER BY v <=> '[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]' LIMIT 5;

RESET enable_seqscan;

-- keep: rows in clusters, queries between the clusters
SELECT setseed(0.75);
CREATE TABLE spot AS SELECT c, array_agg(random()) AS x FROM generate_series(1, 60) c, generate_series(1, 24) d GROUP BY c;
CREATE TABLE doc (id int, v vector(24)) WITH (autovacuum_enabled = off);
INSERT INTO doc SELECT i, (SELECT array_agg(e - 0.4 + 0.5 * random() ORDER BY n) FROM unnest(x) WITH ORDINALITY AS u(e, n) WHERE i > 0)::vector
	FROM generate_series(1, 6000) i JOIN spot ON c = 1 + i % 60;
CREATE TABLE rounded AS SELECT id, v::halfvec(24) AS h FROM doc;
CREATE TABLE asked AS SELECT a.id, (SELECT avg(x) FROM (VALUES (a.v), (b.v)) AS u(x)) AS v FROM doc a JOIN doc b ON b.id = 1 + a.id * 7 % 5987 WHERE a.id <= 800;
CREATE INDEX doc_l2 ON doc USING hybrid (v vector_l2_ops) WITH (list_size = 32);
CREATE INDEX doc_ip ON doc USING hybrid (v vector_ip_ops) WITH (list_size = 32, storage = int8);
CREATE INDEX doc_cosine ON doc USING hybrid (v vector_cosine_ops) WITH (list_size = 32, storage = float32);
CREATE INDEX rounded_h ON rounded USING hybrid (h halfvec_l2_ops) WITH (list_size = 32);
CREATE INDEX doc_part ON doc USING hybrid (v vector_cosine_ops) WITH (list_size = 32) WHERE id % 2 = 0;
CREATE INDEX doc_l1 ON doc USING hybrid (v vector_l1_ops);
CREATE TABLE few (v vector(24));
CREATE INDEX few_v ON few USING hybrid (v);
INSERT INTO few SELECT v FROM doc WHERE id <= 20;
ANALYZE doc, rounded;
CREATE FUNCTION vectors(first int, last int) RETURNS vector[] LANGUAGE sql AS $$ SELECT array_agg(v ORDER BY id) FROM asked WHERE id BETWEEN first AND last $$;
CREATE FUNCTION curve(index regclass) RETURNS text LANGUAGE sql AS $$ SELECT string_agg(c::text, ' ') FROM hybrid_index_curve(index) c $$;
-- the recall that is asked for, by another amount of work; the table says what comes of it; other queries of the kind get as much
CREATE FUNCTION keeps(index regclass, OUT before text, OUT other_work bool, OUT enough bool, OUT others bool, OUT same_again bool, OUT whole bool, OUT after text) LANGUAGE plpgsql AS $$
BEGIN
	SELECT measured_by INTO before FROM hybrid_index_stats(index);
	CREATE TEMP TABLE rows_kept ON COMMIT DROP AS SELECT * FROM hybrid_index_measure(index, vectors(1, 400));
	CREATE TEMP TABLE queries_kept ON COMMIT DROP AS SELECT * FROM hybrid_index_measure(index, vectors(1, 400), keep => true);
	SELECT sum(q.rows_scored) <> sum(r.rows_scored), bool_and(q.recall > q.target - 0.02) INTO other_work, enough FROM rows_kept r JOIN queries_kept q USING (target);
	SELECT bool_and(recall > target - 0.03) INTO others FROM hybrid_index_measure(index, vectors(401, 800));
	SELECT bool_and(m.recall = q.recall AND m.rows_scored = q.rows_scored) INTO same_again FROM hybrid_index_measure(index, vectors(1, 400)) m JOIN queries_kept q USING (target);
	SELECT measured_by, hybrid_index_check(index) = entries INTO after, whole FROM hybrid_index_stats(index);
	DROP TABLE rows_kept, queries_kept;
END $$;
SELECT i AS index, k.* FROM unnest('{doc_l2,doc_ip,doc_cosine,rounded_h,doc_part}'::regclass[]) i, keeps(i) k;
-- what a user's queries miss is used unchanged. So if they are easy, searches read less than by the curve of rows. Of that
-- curve, more than four times 1 - recall is used only if the last half of the rows scored gives no near rows, because queries that are as easy, but unlike the rows, may miss more
-- at .9, most rows that searches score are in the first lists, which every search reads
CREATE TABLE factor AS SELECT array_agg(random() - 0.5 ORDER BY d)::vector(32) AS x FROM generate_series(1, 10) f, generate_series(1, 32) d GROUP BY f;
CREATE TABLE flat AS SELECT i AS id, (SELECT sum(x * array_fill((random() - 0.5)::real, ARRAY[32])::vector) FROM factor WHERE i > 0)::vector(32) AS v
	FROM generate_series(1, 6000) i;
CREATE INDEX flat_v ON flat USING hybrid (v vector_l2_ops) WITH (list_size = 32);
CREATE TEMP TABLE by_rows AS SELECT * FROM hybrid_index_measure('flat_v', (SELECT array_agg(v) FROM flat WHERE id <= 400));
-- the number of rows that the planner expects is at least half and at most twice the number that searches score
SELECT target, c.rows BETWEEN r.rows_scored / 2 AND r.rows_scored * 2 AS alike FROM by_rows r JOIN hybrid_index_curve('flat_v') c ON c.recall = target::real ORDER BY target;
SELECT target, q.recall > target - 0.02 AS enough, q.rows_scored < r.rows_scored AS less
	FROM hybrid_index_measure('flat_v', (SELECT array_agg(v) FROM flat WHERE id <= 400), keep => true) q JOIN by_rows r USING (target) ORDER BY target;
DROP TABLE factor, flat, by_rows;
-- neither the order of the queries nor how often one is given matters, nor under cosine how long it is
SELECT curve('doc_l2') AS kept_l2, curve('doc_cosine') AS kept_cosine \gset
SELECT count(*) FROM hybrid_index_measure('doc_l2', (SELECT array_agg(v ORDER BY id DESC) FROM asked WHERE id <= 400) || vectors(1, 50) || vectors(1, 50), keep => true);
SELECT curve('doc_l2') = :'kept_l2' AS same;
SELECT count(*) FROM hybrid_index_measure('doc_cosine', (SELECT array_agg((v + v) + (v + v)) FROM asked WHERE id <= 400) || array_fill(0, ARRAY[24])::vector, keep => true);
SELECT curve('doc_cosine') = :'kept_cosine' AS same;
-- more queries than are searched for
SELECT count(*) FROM hybrid_index_measure('doc_ip', vectors(1, 800), keep => true);
-- the lock that VACUUM needs is not kept, and a ROLLBACK undoes nothing
BEGIN;
SELECT count(*) FROM hybrid_index_measure('doc_l2', vectors(1, 100), keep => true);
SELECT mode FROM pg_locks WHERE relation = 'doc'::regclass AND pid = pg_backend_pid();
ROLLBACK;
SELECT curve('doc_l2') <> :'kept_l2' AS another;
-- queries that are rows find themselves
SELECT count(*), bool_and(recall > target - 0.02) AS enough FROM hybrid_index_measure('doc_l2', (SELECT array_agg(v) FROM doc WHERE id % 20 = 0), keep => true);
-- VACUUM keeps the curve while there are about as many lists; then it measures on rows, and REINDEX does at once
SELECT curve('doc_l2') AS kept_l2 \gset
DELETE FROM doc WHERE id % 10 = 0;
VACUUM doc;
SELECT measured_by, curve('doc_l2') = :'kept_l2' AS same FROM hybrid_index_stats('doc_l2');
DROP INDEX doc_ip, doc_part, doc_l1;
INSERT INTO doc SELECT id, v + f FROM doc, (SELECT v AS f FROM asked WHERE id <= 2) s;
SELECT measured_by, curve('doc_l2') = :'kept_l2' AS same FROM hybrid_index_stats('doc_l2');
VACUUM doc;
SELECT i, measured_by FROM unnest('{doc_l2,doc_cosine}'::regclass[]) i, hybrid_index_stats(i) ORDER BY 1;
SELECT count(*) FROM hybrid_index_measure('doc_l2', vectors(1, 400), keep => true);
SELECT measured_by FROM hybrid_index_stats('doc_l2');
REINDEX INDEX doc_l2;
SELECT measured_by FROM hybrid_index_stats('doc_l2');
-- where searches read all rows
SELECT count(*), min(recall) FROM hybrid_index_measure('few_v', vectors(1, 100), keep => true);
SELECT measured_by FROM hybrid_index_stats('few_v');
CREATE INDEX few_l1 ON few USING hybrid (v vector_l1_ops);
SELECT count(*), min(recall) FROM hybrid_index_measure('few_l1', vectors(1, 100), keep => true);
SELECT measured_by FROM hybrid_index_stats('few_l1');
TRUNCATE few;
SELECT count(*), min(recall) FROM hybrid_index_measure('few_v', vectors(1, 100), keep => true);
-- an index that is left without entries forgets it
INSERT INTO few SELECT v FROM doc WHERE id <= 1000;
DROP INDEX few_l1;
SELECT count(*) FROM hybrid_index_measure('few_v', vectors(1, 100), keep => true);
SELECT measured_by FROM hybrid_index_stats('few_v');
DELETE FROM few;
VACUUM few;
SELECT measured_by, hybrid_index_check('few_v') FROM hybrid_index_stats('few_v');
-- a temporary table; a partition
CREATE TEMP TABLE brief AS SELECT v FROM doc;
CREATE INDEX brief_v ON brief USING hybrid (v);
SELECT count(*) FROM hybrid_index_measure('brief_v', vectors(1, 100), keep => true);
SELECT measured_by FROM hybrid_index_stats('brief_v');
SELECT hybrid_index_measure('parted_v', vectors(1, 100), keep => true);
SELECT count(*) FROM hybrid_index_measure('part_0_v_idx', (SELECT array_agg(subvector(v, 1, 16)) FROM asked), keep => true);
SELECT measured_by FROM hybrid_index_stats('part_0_v_idx');
-- what is refused, and nothing is kept then
CREATE FUNCTION refused(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN 'done';
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT refused($$SELECT hybrid_index_measure('doc_l2', vectors(1, 400), keep => NULL)$$);
SELECT refused($$SELECT hybrid_index_measure('doc_l2', vectors(1, 99), keep => true)$$);
SELECT refused($$SELECT hybrid_index_measure('doc_l2', vectors(1, 99) || vectors(1, 99), keep => true)$$);
SELECT refused($$SELECT hybrid_index_measure('doc_cosine', vectors(1, 99) || array_fill(0, ARRAY[24])::vector, keep => true)$$);
SELECT hybrid_index_measure('doc_cosine', vectors(1, 3), keep => true);
SELECT refused($$SELECT hybrid_index_measure('doc_l2', vectors(1, 400), k => 2000000000, keep => true)$$);
SELECT refused($$SELECT hybrid_index_measure('doc_l2', vectors(1, 400) || NULL::vector, keep => true)$$);
SELECT refused($$SELECT hybrid_index_measure('doc', vectors(1, 400), keep => true)$$);
SELECT refused($$SELECT hybrid_index_measure(99999, vectors(1, 400))$$);
BEGIN READ ONLY;
SELECT count(*) FROM hybrid_index_measure('doc_l2', vectors(1, 10));
SELECT refused($$SELECT hybrid_index_measure('doc_l2', vectors(1, 400), keep => true)$$);
COMMIT;
GRANT SELECT ON doc, asked TO regress_hybrid_measurer;
SET ROLE regress_hybrid_measurer;
SELECT count(*) FROM hybrid_index_measure('doc_l2', vectors(1, 10), keep => false);
SELECT refused($$SELECT hybrid_index_measure('doc_l2', vectors(1, 400), keep => true)$$);
RESET ROLE;
SELECT i, measured_by FROM unnest('{doc_l2,doc_cosine}'::regclass[]) i, hybrid_index_stats(i) ORDER BY 1;
-- who owns the table owns its indexes
ALTER TABLE doc OWNER TO regress_hybrid_measurer;
SET ROLE regress_hybrid_measurer;
SELECT count(*) FROM hybrid_index_measure('doc_cosine', vectors(1, 400), keep => true);
SELECT measured_by FROM hybrid_index_stats('doc_cosine');
RESET ROLE;
ALTER TABLE doc OWNER TO CURRENT_USER;

DROP FUNCTION agrees, by_sql;
DROP TYPE figures;
DROP MATERIALIZED VIEW seen;
DROP TABLE item, query, half, empty, other, parted, broken, placed, mine, same, spot, doc, rounded, asked, few, brief;
DROP FUNCTION vectors, curve, keeps, refused;
DROP DOMAIN place;
DROP FUNCTION not_so_far;
DROP ROLE regress_hybrid_measurer;
