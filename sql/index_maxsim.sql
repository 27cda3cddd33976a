-- An index on arrays of vectors, in the order of MaxSim.
SET max_parallel_workers_per_gather = 0;

-- A document has 1 to 24 vectors near some of 60 directions: most of them those of its topic.
CREATE FUNCTION direction(seed int) RETURNS vector IMMUTABLE LANGUAGE sql AS
	$$SELECT l2_normalize(array_agg(sin(seed * 12.9898 + j * 78.233 + seed * j * 0.37) * (1 + sin(seed * 7.77 + j)))::vector) FROM generate_series(1, 16) j$$;
CREATE TABLE direction AS SELECT i AS id, direction(i) AS v FROM generate_series(1, 2000) i;
CREATE FUNCTION documents(first int, last int) RETURNS TABLE (id int, d vector[]) LANGUAGE sql AS $$
	SELECT i, array_agg(l2_normalize(a.v + b.v * array_fill(0.6, ARRAY[16])::vector) ORDER BY j)
	FROM generate_series(first, last) i, LATERAL generate_series(1, 1 + i * 7 % 24) j, direction a, direction b
	WHERE a.id = 1 + CASE WHEN j % 3 = 0 THEN hashint4(i * 31 + j) & 63 ELSE (i % 40 + (hashint4(i * 17 + j) & 7)) % 60 END
		AND b.id = 100 + (hashint4(i * 1000 + j) & 1023)
	GROUP BY i $$;
CREATE TABLE page (id int PRIMARY KEY, topic int, d vector(16)[], h halfvec(16)[]);
INSERT INTO page SELECT id, id % 40, d, d::halfvec[] FROM documents(1, 900);
INSERT INTO page VALUES (901, 1, '{}', '{}'), (902, 1, NULL, NULL);
CREATE TABLE asked AS SELECT id, d FROM documents(5001, 5024);
CREATE INDEX page_d ON page USING hybrid (d) WITH (list_size = 64);
CREATE INDEX page_h ON page USING hybrid (h halfvec_maxsim_ops) WITH (list_size = 64);
ANALYZE page;
-- Each vector is an entry.
SELECT entries = (SELECT sum(cardinality(d)) FROM page) AS all_vectors, lists > 50 AS several_lists, dims FROM hybrid_index_stats('page_d');
SELECT hybrid_index_check('page_d') = hybrid_index_check('page_h') AS checked;

-- How many of the k best documents the index finds, and whether they come in order; once each, those without a vector never.
CREATE FUNCTION found(k int, col text, filter text DEFAULT 'true', OUT recall float8, OUT ordered bool, OUT once bool) LANGUAGE plpgsql AS $$
DECLARE r record; truth int[]; ids int[]; distances float8[]; n int := 0; plan text;
BEGIN
	recall := 0; ordered := true; once := true;
	FOR r IN SELECT * FROM asked LOOP
		SET LOCAL enable_indexscan = off;
		SET LOCAL enable_seqscan = on;
		EXECUTE format('SELECT array_agg(id) FROM (SELECT id FROM page WHERE %s AND cardinality(%I) > 0 ORDER BY %2$I @# $1, id LIMIT %s) s', filter, col, k)
			INTO truth USING CASE WHEN col = 'd' THEN r.d END;
		SET LOCAL enable_indexscan = on;
		SET LOCAL enable_seqscan = off;
		EXECUTE format('SELECT array_agg(id), array_agg(m) FROM (SELECT id, %2$I @# $1 AS m FROM page WHERE %1$s ORDER BY %2$I @# $1 LIMIT %3$s) s', filter, col, k)
			INTO ids, distances USING r.d;
		recall := recall + (SELECT count(*) FROM unnest(ids) i WHERE i = ANY (truth)) / greatest(cardinality(truth), 1)::float8;
		n := n + 1;
		ordered := ordered AND distances = (SELECT array_agg(m ORDER BY m) FROM unnest(distances) m);
		once := once AND cardinality(ids) = (SELECT count(DISTINCT i) FROM unnest(ids) i);
	END LOOP;
	recall := recall / n;
END $$;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM page ORDER BY d @# ARRAY['[1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]']::vector[] LIMIT 10;
SELECT k, recall >= 0.95 AS reached, ordered, once FROM unnest(ARRAY[1, 10, 50]) k, found(k, 'd');
-- It does not compare every document.
SELECT rows_rescored < 500 AS some, rows_scored > 0 AS scored FROM asked, LATERAL (SELECT id FROM page ORDER BY page.d @# asked.d LIMIT 3) s, hybrid_last_scan() LIMIT 1;
-- With conditions, all of which hold for few rows or for many.
SELECT filter, recall >= 0.95 AS reached, ordered, once FROM unnest(ARRAY['topic = 3', 'topic < 30', 'id % 2 = 0']) filter, found(10, 'd', filter);
-- All documents, in order, at the end of a scan.
SET hybrid.iterative_scan = strict_order;
SELECT count(*), count(DISTINCT id), bool_and(m >= before) AS ordered FROM
	(SELECT id, m, lag(m, 1, m) OVER () AS before FROM (SELECT id, d @# (SELECT d FROM asked ORDER BY id LIMIT 1) AS m FROM page ORDER BY d @# (SELECT d FROM asked ORDER BY id LIMIT 1) LIMIT 10000) s) t;
RESET hybrid.iterative_scan;
-- A target of 1: the answer of a sort.
SET hybrid.target_recall = 1;
SELECT k, recall, ordered, once FROM unnest(ARRAY[1, 10, 2000]) k, found(k, 'd');
RESET hybrid.target_recall;
-- A fixed number of lists.
SET hybrid.probes = 3;
SELECT recall > 0.3 AS some, ordered, once FROM found(10, 'd');
SELECT lists FROM (SELECT id FROM page ORDER BY d @# (SELECT d[1:1] FROM asked LIMIT 1) LIMIT 5) s, hybrid_last_scan() LIMIT 1;
-- and at the end of its rows
SELECT count(*) BETWEEN 10 AND 899 AS some FROM (SELECT id FROM page ORDER BY d @# (SELECT d[1:1] FROM asked LIMIT 1) LIMIT 10000) s;
RESET hybrid.probes;
-- Little memory for candidates: the rest of the documents are compared, and none is missing or comes twice; with a fixed number of
-- lists, the scan ends. A limit on the documents compared.
SET work_mem = '64kB';
SET enable_sort = off;
SET hybrid.iterative_scan = relaxed_order;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM page ORDER BY d @# (SELECT d FROM asked LIMIT 1)) s;
RESET hybrid.iterative_scan;
SET hybrid.probes = 20;
SELECT count(*) BETWEEN 10 AND 899 AS some, count(*) = count(DISTINCT id) AS once FROM (SELECT id FROM page ORDER BY d @# (SELECT d FROM asked LIMIT 1)) s;
RESET hybrid.probes;
RESET enable_sort;
RESET work_mem;
SET hybrid.max_scan_tuples = 100;
SELECT count(*) BETWEEN 1 AND 131 AS some FROM (SELECT id FROM page WHERE topic < 30 ORDER BY d @# (SELECT d FROM asked LIMIT 1) LIMIT 10000) s;
RESET hybrid.max_scan_tuples;
SET hybrid.iterative_scan = off;
SELECT count(*) >= 20 AS some FROM (SELECT id FROM page ORDER BY d @# (SELECT d FROM asked LIMIT 1) LIMIT 20) s;
RESET hybrid.iterative_scan;
-- halfvecs
SELECT count(*) = 10 AS ten, bool_and(m >= before) AS ordered FROM (SELECT m, lag(m, 1, m) OVER () AS before FROM
	(SELECT h @# (SELECT d::halfvec[] FROM asked LIMIT 1) AS m FROM page ORDER BY h @# (SELECT d::halfvec[] FROM asked LIMIT 1) LIMIT 10) s) t;

-- Queries without a vector: every document, at no distance; queries that do not fit.
SELECT count(*), count(m) FROM (SELECT d @# '{}' AS m FROM page ORDER BY d @# '{}' LIMIT 10000) s;
SELECT count(*) FROM (SELECT id FROM page ORDER BY d @# (SELECT NULL::vector[]) LIMIT 10000) s;
SELECT id FROM page ORDER BY d @# ARRAY['[1,2]']::vector[] LIMIT 1;
SELECT id FROM page ORDER BY d @# ARRAY[NULL]::vector[] LIMIT 1;

-- Each row of another table is a query; a query may be a document of the table.
SELECT count(*) AS queries, count(*) FILTER (WHERE nearest = id) AS own FROM
	(SELECT a.id, s.id AS nearest FROM page a, LATERAL (SELECT b.id FROM page b ORDER BY b.d @# a.d LIMIT 1) s WHERE a.id % 90 = 5) t;

-- Changes.
DELETE FROM page WHERE id % 3 = 0;
UPDATE page SET d = other.d, topic = 99 FROM documents(9001, 9902) other WHERE other.id = 9000 + page.id AND page.id % 10 = 1;
INSERT INTO page SELECT id + 20000, 50, d, d::halfvec[] FROM documents(2001, 2200);
SELECT recall >= 0.95 AS reached, ordered, once FROM found(10, 'd');
SELECT hybrid_index_check('page_d') >= (SELECT sum(cardinality(d)) FROM page) AS checked;
VACUUM page;
SELECT hybrid_index_check('page_d') = (SELECT sum(cardinality(d)) FROM page) AS checked;
SELECT recall >= 0.95 AS reached, ordered, once FROM found(10, 'd');
-- One that grew from nothing: VACUUM makes lists of all rows. An array may have equal vectors.
CREATE TABLE grown (id int, d vector(16)[]);
CREATE INDEX grown_d ON grown USING hybrid (d) WITH (list_size = 64);
INSERT INTO grown SELECT id, d || d[1:2] FROM page;
SELECT hybrid_index_check('grown_d') = (SELECT sum(cardinality(d)) FROM grown) AS checked;
SELECT lists AS before FROM hybrid_index_stats('grown_d') \gset
VACUUM grown;
SELECT hybrid_index_check('grown_d') = (SELECT sum(cardinality(d)) FROM grown) AS checked;
SELECT lists <> :before AS other_lists, dead, measured_by FROM hybrid_index_stats('grown_d');
INSERT INTO grown VALUES (1, ARRAY['[1,2]']::vector[]);
INSERT INTO grown VALUES (1, ARRAY[NULL]::vector[]);
INSERT INTO grown SELECT 1, ARRAY[d, d] FROM grown WHERE cardinality(d) = 5 LIMIT 1;
DROP TABLE grown;

-- Keys before the arrays, and INCLUDE.
DROP INDEX page_d, page_h;
CREATE INDEX page_key ON page USING hybrid (topic, d) INCLUDE (id) WITH (list_size = 64);
SELECT hybrid_index_check('page_key') = (SELECT sum(cardinality(d)) FROM page) AS checked;
SELECT filter, recall >= 0.95 AS reached, ordered, once FROM unnest(ARRAY['topic = 3', 'topic IN (5, 6)', 'topic = 7 AND id < 500']) filter, found(5, 'd', filter);
-- A search that has found all entries of a key does not look for more of them.
SELECT count(*) FROM (SELECT id FROM page WHERE topic = 3 ORDER BY d @# (SELECT d[1:1] FROM asked LIMIT 1) LIMIT 1) s;
SELECT lists AS lists_of_key FROM hybrid_last_scan() \gset
SELECT count(*) BETWEEN 5 AND 30 AS whole_key FROM (SELECT id FROM page WHERE topic = 3 ORDER BY d @# (SELECT d[1:1] FROM asked LIMIT 1) LIMIT 1000) s;
SELECT lists > 0 AND lists = :lists_of_key AS once FROM hybrid_last_scan();
DROP INDEX page_key;
-- The words of a row are computed once, whatever the length of its array: at an insert, a build and a check. (A build also samples it.)
SET client_min_messages = warning;
CREATE TYPE said;
CREATE FUNCTION said_in(cstring) RETURNS said LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION said_out(said) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE said (INPUT = said_in, OUTPUT = said_out, LIKE = text);
CREATE FUNCTION said_eq(said, said) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'byteaeq';
CREATE FUNCTION said_hash(said) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'hashvarlena';
CREATE FUNCTION said_hash(said, bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT AS $$BEGIN RAISE NOTICE 'a word is computed'; RETURN 1; END$$;
CREATE OPERATOR = (LEFTARG = said, RIGHTARG = said, FUNCTION = said_eq, COMMUTATOR = =, HASHES);
CREATE OPERATOR CLASS said_ops DEFAULT FOR TYPE said USING hash AS OPERATOR 1 =, FUNCTION 1 said_hash(said), FUNCTION 2 said_hash(said, bigint);
CREATE TABLE worded (d vector(16)[], s said);
CREATE INDEX worded_d ON worded USING hybrid (d) INCLUDE (s);
RESET client_min_messages;
INSERT INTO worded SELECT d, 'text' FROM page WHERE cardinality(d) = 24 LIMIT 1;
SELECT hybrid_index_check('worded_d');
REINDEX INDEX worded_d;
SET client_min_messages = warning;
DROP TABLE worded;
DROP TYPE said CASCADE;
RESET client_min_messages;
-- Built while others write.
CREATE INDEX CONCURRENTLY page_c ON page USING hybrid (d) WITH (list_size = 64);
SELECT hybrid_index_check('page_c') = (SELECT sum(cardinality(d)) FROM page) AS checked;
SELECT recall >= 0.95 AS reached, ordered, once FROM found(10, 'd');
SELECT hybrid_index_measure('page_c', ARRAY['[1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]']::vector[]);
DROP INDEX page_c;

-- Few documents are wanted among many that are nearly as good; and little memory, with a condition and without one.
CREATE TABLE close WITH (fillfactor = 50) AS SELECT i AS id, i % 5 AS part, (SELECT array_agg((SELECT array_agg(hashint4(i * 1000 + j * 50 + x) / 2147483648.0 ORDER BY x)
	FROM generate_series(1, 16) x)::vector(16) ORDER BY j) FROM generate_series(1, 6) j)::vector(16)[] AS d FROM generate_series(1, 2500) i;
CREATE INDEX close_d ON close USING hybrid (d);
ANALYZE close;
CREATE TABLE near AS SELECT i AS id, (SELECT array_agg((SELECT array_agg(hashint4(-i * 1000 - j * 50 - x) / 2147483648.0 ORDER BY x)
	FROM generate_series(1, 16) x)::vector(16) ORDER BY j) FROM generate_series(1, 4) j)::vector(16)[] AS d FROM generate_series(1, 40) i;
CREATE FUNCTION best(k int, filter text, OUT recall float8) LANGUAGE plpgsql AS $$
DECLARE r record; truth int[]; ids int[];
BEGIN
	recall := 0;
	FOR r IN SELECT * FROM near LOOP
		EXECUTE format('SELECT array_agg(id) FROM (SELECT id FROM close WHERE %s ORDER BY (d @# $1) + 0, id LIMIT %s) s', filter, k) INTO truth USING r.d;
		EXECUTE format('SELECT array_agg(id) FROM (SELECT id FROM close WHERE %s ORDER BY d @# $1 LIMIT %s) s', filter, k) INTO ids USING r.d;
		recall := recall + (SELECT count(*) FROM unnest(ids) i WHERE i = ANY (truth)) / k::float8 / 40;
	END LOOP;
END $$;
SELECT k, filter, recall >= 0.95 AS reached FROM (VALUES (1, 'true'), (3, 'true'), (3, 'part = 1')) s (k, filter), best(k, filter);
SET work_mem = '64kB';
SELECT k, filter, recall >= 0.9 AS nearly FROM (VALUES (10, 'true'), (10, 'part < 4')) s (k, filter), best(k, filter);
SELECT count(*) FROM (SELECT id FROM close WHERE part < 4 ORDER BY d @# (SELECT d FROM near LIMIT 1) LIMIT 100) s;
-- More documents are wanted than fit: exact passes return as many as fit, after those before, in one order or two. The table has more
-- pages than a read of the index can have positions for.
SELECT array_agg(id ORDER BY (d @# a) + 0, id) AS one FROM close, (SELECT d AS a FROM near LIMIT 1) s \gset
SELECT array_agg(id) = :'one'::int[] AS same FROM (SELECT id FROM close ORDER BY d @# (SELECT d FROM near LIMIT 1) LIMIT 10000) s;
SELECT rounds BETWEEN 2 AND 9 AS passes FROM hybrid_last_scan();
SELECT array_agg(id) = (SELECT array_agg(id ORDER BY (d @# a) + 0, (d @# b) + 0, id) FROM close, (SELECT d[1:1] AS a, d AS b FROM near LIMIT 1) s) AS same
	FROM (SELECT id FROM close ORDER BY d @# (SELECT d[1:1] FROM near LIMIT 1), d @# (SELECT d FROM near LIMIT 1) LIMIT 10000) s;
RESET work_mem;
-- Costs: a condition on a key, or the predicate of an index, leaves few lists and documents. VACUUM, which counts the entries of an
-- index, and ANALYZE, which counts the rows of the table, lead to the same costs.
CREATE INDEX close_key ON close USING hybrid (part, d) WITH (list_size = 32);
CREATE INDEX close_part ON close USING hybrid (d) WITH (list_size = 32) WHERE part = 1;
CREATE FUNCTION chosen(filter text, k int, OUT name text, OUT cost float8) LANGUAGE plpgsql AS $$
DECLARE plan json; query vector[] := (SELECT array_agg(v) FROM (SELECT unnest(d) AS v FROM close LIMIT 32) s);
BEGIN
	EXECUTE format('EXPLAIN (FORMAT JSON) SELECT id FROM close WHERE %s ORDER BY d @# %L::vector[] LIMIT %s', filter, query, k) INTO plan;
	name := coalesce(plan->0->'Plan'->'Plans'->0->>'Index Name', plan->0->'Plan'->'Plans'->0->>'Node Type');
	cost := plan->0->'Plan'->>'Total Cost';
END $$;
SET enable_seqscan = on;
ANALYZE close;
SELECT filter, k, name FROM (VALUES ('true', 10), ('part = 3', 10), ('part = 1', 10), ('part = 1', 100)) s (filter, k), chosen(filter, k);
SELECT sum(cost) AS cost FROM (VALUES ('true'), ('part = 3'), ('part = 1')) s (filter), chosen(filter, 10) \gset
VACUUM close;
SELECT sum(cost) = :cost AS same FROM (VALUES ('true'), ('part = 3'), ('part = 1')) s (filter), chosen(filter, 10);
SET enable_seqscan = off;
DROP TABLE close, near;
DROP FUNCTION best, chosen;

-- Without a condition on the key, documents of small keys are found, too. The lists that these share are wide.
SELECT setseed(0.3);
CREATE FUNCTION noise(scale float8) RETURNS vector LANGUAGE sql VOLATILE AS 'SELECT array_agg((random() + random() + random() - 1.5) * scale)::vector FROM generate_series(1, 16)';
CREATE TABLE center AS SELECT i, array_agg((random() - 0.5) * 4)::vector(16) AS x FROM generate_series(1, 60) i, generate_series(1, 16) GROUP BY i;
CREATE TABLE mixed (id int, small int, other float8, d vector(16)[]);
INSERT INTO mixed SELECT i, floor(power(random(), 3) * 30), random(), (SELECT array_agg(x + noise(0.8 + 0 * g))
	FROM center, generate_series(1, 6) g WHERE center.i = 1 + (d.i * 7 + g * (1 + d.i % 3)) % 60) FROM generate_series(1, 3000) d (i);
CREATE TABLE near AS SELECT id, (SELECT array_agg(v + noise(0.3)) FROM unnest(d[1:4]) v) AS q FROM mixed WHERE id % 50 = 0;
CREATE INDEX mixed_d ON mixed USING hybrid (small, d);
ANALYZE mixed;
SELECT sum(hits) / 600.0 >= 0.95 AS found FROM near,
	LATERAL (SELECT count(*) AS hits FROM (SELECT id FROM mixed ORDER BY d @# q LIMIT 10) s
		WHERE id = ANY (ARRAY(SELECT id FROM (SELECT id FROM mixed ORDER BY (d @# q) + 0, id LIMIT 10) t))) u;
DROP TABLE mixed, center, near;
DROP FUNCTION noise;

-- An expression; a column without dimensions.
CREATE INDEX page_e ON page USING hybrid (((d || d[1:1])::vector(16)[]));
SELECT count(*) FROM (SELECT id FROM page ORDER BY ((d || d[1:1])::vector(16)[]) @# (SELECT d FROM asked LIMIT 1) LIMIT 5) s;
CREATE INDEX ON page USING hybrid ((d::vector[]));

DROP TABLE page, asked, direction;
DROP FUNCTION found, documents, direction;
