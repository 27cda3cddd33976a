-- Indexes by taxicab distance: lists and codes are those of the Euclidean distance.
SET jit = off;
CREATE TABLE item (id int, k int, v vector(24)) WITH (autovacuum_enabled = off);
-- kinds of rows whose taxicab distances follow from their Euclidean ones in different ways: clusters, rows of zeros and
-- ones, rows with a few large numbers, and rows whose columns have different sizes
CREATE FUNCTION made(kind text, i int) RETURNS vector LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg(CASE kind
		WHEN 'clusters' THEN sin(i % 40 * d * 0.7) + 0.4 * sin(i * (d + 0.7) * 1.13)
		WHEN 'bits' THEN (hashint8extended(i % 40 * 100 + d, 1) & 3 = 0)::int - (hashint8extended(i * 100 + d, 2) & 7 = 0)::int
		WHEN 'few' THEN (hashint8extended(i * 100 + d, 3) & 7 = 0)::int * (1 + (hashint8extended(i * 100 + d, 4) & 255) / 50.0)
		ELSE (sin(i * (d + 0.7) * 1.13) + sin(i % 40 * d * 0.7)) * exp(d % 6 - 3.0) END ORDER BY d)::vector
	FROM generate_series(1, 24) d $$;
-- recall: whether searches for 10 rows near other rows of this kind find what is asked, and whether they read all
CREATE FUNCTION recall(kind text, type text, target float8, OUT reached boolean, OUT reads text) LANGUAGE plpgsql AS $$
DECLARE
	q record;
	farthest float8;
	more int;
	near int := 0;
	rows_read float8 := 0;
	entries float8;
BEGIN
	PERFORM set_config('hybrid.target_recall', target::text, true);
	EXECUTE format('SELECT count(v) FROM item') INTO entries;
	FOR q IN SELECT made(kind, i)::text AS v FROM generate_series(20001, 20040) i LOOP
		PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true);
		EXECUTE format('SELECT max(d) FROM (SELECT v <+> %L::%s AS d FROM item WHERE v IS NOT NULL ORDER BY 1 LIMIT 10) s', q.v, type) INTO farthest;
		PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true);
		EXECUTE format('SELECT count(*) FILTER (WHERE d <= $1) FROM (SELECT v <+> %1$L::%2$s AS d FROM item ORDER BY v <+> %1$L::%2$s LIMIT 10) s', q.v, type)
			INTO more USING farthest;
		near := near + least(more, 10);
		rows_read := rows_read + (SELECT scan.rows_scored FROM hybrid_last_scan() scan);
	END LOOP;
	reached := near >= 400 * (target - 0.02);
	reads := CASE WHEN rows_read < 40 * entries * 0.9 THEN 'some' ELSE format('%s of %s', rows_read, 40 * entries) END;
END $$;
CREATE TABLE result (kind text, step text, target float8, reached boolean, reads text);
CREATE PROCEDURE try(kind text, type text, step text) LANGUAGE sql AS $$
	INSERT INTO result SELECT kind, step, t, r.reached, r.reads FROM unnest('{0.9,0.95,0.99}'::float8[]) t, recall(kind, type, t) r $$;

-- after a build, after inserts and VACUUM, and in an index that grew from empty
DO $$
DECLARE
	kind text;
BEGIN
	FOREACH kind IN ARRAY '{clusters,bits,few,sizes}'::text[] LOOP
		TRUNCATE item;
		INSERT INTO item SELECT i, i % 5, made(kind, i) FROM generate_series(1, 4000) i;
		CREATE INDEX item_v ON item USING hybrid (v vector_l1_ops) WITH (list_size = 32);
		IF hybrid_index_check('item_v') <> 4000 THEN
			RAISE 'the index does not have all rows';
		END IF;
		CALL try(kind, 'vector', 'built');
		DELETE FROM item WHERE id % 3 = 0;
		INSERT INTO item SELECT i, i % 5, made(kind, i) FROM generate_series(4001, 6000) i;
		CALL try(kind, 'vector', 'changed');
		DROP INDEX item_v;
	END LOOP;
END $$;
SELECT kind, step, bool_and(reached) AS reached, string_agg(DISTINCT reads, ', ') FILTER (WHERE target < 0.99 OR reads <> 'some') AS reads
FROM result WHERE kind <> 'few' OR target < 0.99 GROUP BY 1, 2 ORDER BY 1, 2;

-- halfvec, of which int8 loses something; from empty, with VACUUM; behind a key and with an included column
TRUNCATE item, result;
ALTER TABLE item ALTER v TYPE halfvec(24);
CREATE INDEX item_v ON item USING hybrid (v halfvec_l1_ops) WITH (list_size = 32, storage = int8);
CREATE INDEX item_key ON item USING hybrid (k, v halfvec_l1_ops) INCLUDE (id) WITH (list_size = 32);
INSERT INTO item SELECT i, i % 5, made('clusters', i)::halfvec FROM generate_series(1, 6000) i;
INSERT INTO item VALUES (6001, 1, NULL), (6002, 2, array_fill(0, ARRAY[24])::vector::halfvec);
DELETE FROM item WHERE id % 3 = 0;
VACUUM item;
INSERT INTO item SELECT i, i % 5, made('clusters', i)::halfvec FROM generate_series(6003, 8000) i;
SELECT hybrid_index_check('item_v') = count(v) AS all_of_them, hybrid_index_check('item_key') = count(v) AS here_too FROM item;
SELECT storage, levels > 1 AS has_levels, lists > 60 AS has_lists, measured_by FROM hybrid_index_stats('item_v');
CALL try('clusters', 'halfvec', 'grown');
SELECT target, reached, reads FROM result ORDER BY 1;
SET enable_seqscan = off;
SELECT made('clusters', 20007) AS q \gset
PREPARE near(halfvec) AS SELECT id FROM item WHERE k = 3 AND id < 5000 ORDER BY v <+> $1 LIMIT 10;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE near(NULL);
RESET plan_cache_mode;
DEALLOCATE near;
CREATE FUNCTION within_key(target float8) RETURNS bigint LANGUAGE sql AS $$
	SELECT set_config('hybrid.target_recall', target::text, true);
	SELECT count(*) FILTER (WHERE d <= farthest) FROM (SELECT made('clusters', i)::halfvec AS q FROM generate_series(20001, 20020) i) a,
		LATERAL (SELECT max(d) AS farthest FROM (SELECT v <+> q AS d FROM item WHERE k = 3 AND id < 5000 ORDER BY (v <+> q) + 0 LIMIT 10) s) b,
		LATERAL (SELECT v <+> q AS d FROM item WHERE k = 3 AND id < 5000 ORDER BY v <+> q LIMIT 10) c $$;
SELECT within_key(0.95) >= 186 AS found, within_key(1) AS of_all;

-- every row once, in order, whatever its distance; also by a cursor, and where all rows are asked of the vectors
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM item ORDER BY v <+> :'q' LIMIT 10000) s;
SELECT count(*) FILTER (WHERE d < before) AS wrong FROM (SELECT d, lag(d) OVER () AS before FROM (SELECT v <+> :'q' AS d FROM item ORDER BY v <+> :'q' LIMIT 3000) s) s;
SELECT count(*) = (SELECT count(*) FROM item WHERE (v <+> :'q') <= 9.5) AS in_the_sphere FROM item WHERE v <<+>> hybrid_sphere(:'q', 9.5);
SET hybrid.target_recall = 1;
SELECT (SELECT array_agg(d) FROM (SELECT v <+> :'q' AS d FROM item ORDER BY v <+> :'q' LIMIT 500) s)
	= (SELECT array_agg(d) FROM (SELECT v <+> :'q' AS d FROM item WHERE v IS NOT NULL ORDER BY (v <+> :'q') + 0 LIMIT 500) s) AS as_a_sort;
RESET hybrid.target_recall;

-- fewer rows than a prediction needs, and rows that are all equal to the query
CREATE TABLE few (id int, v vector(3));
CREATE INDEX few_v ON few USING hybrid (v vector_l1_ops) WITH (list_size = 32);
INSERT INTO few VALUES (1, '[1,2,3]'), (2, '[1,2,4]'), (3, '[9,2,3]');
SELECT id, v <+> '[1,2,3]' AS d FROM few ORDER BY v <+> '[1,2,3]' LIMIT 2;
INSERT INTO few SELECT i, '[1,2,3]' FROM generate_series(4, 2000) i;
SELECT count(*), max(d) FROM (SELECT v <+> '[1,2,3]' AS d FROM few ORDER BY v <+> '[1,2,3]' LIMIT 10) s;
SELECT count(*), max(d) FROM (SELECT v <+> '[1,2,3]' AS d FROM few ORDER BY v <+> '[1,2,3]' LIMIT 2000) s;
SELECT hybrid_index_check('few_v');

-- as many dimensions as there can be
CREATE TABLE wide (id int, v vector(16000));
INSERT INTO wide SELECT i, array_fill(i, ARRAY[16000])::vector FROM generate_series(1, 40) i;
CREATE INDEX wide_v ON wide USING hybrid (v vector_l1_ops) WITH (list_size = 32);
SELECT id FROM wide ORDER BY v <+> array_fill(17.4, ARRAY[16000])::vector LIMIT 3;
DROP TABLE item, few, wide, result;
DROP FUNCTION made, recall, within_key;
DROP PROCEDURE try;

-- rows with a few large numbers, and queries with one: lists are judged by the same distance as the rows in them
CREATE TABLE l1_spikes (id int, v vector(40));
SELECT setseed(.5);
INSERT INTO l1_spikes SELECT i, (SELECT array_agg(size * sign(r) * ln(1 - abs(r))) FROM (SELECT 1.9999 * random() - 1 AS r FROM generate_series(1, 40) WHERE i > 0) x)::vector
FROM (SELECT i, exp(sqrt(-2 * ln(1 - random())) * cos(6.2832 * random())) AS size FROM generate_series(1, 20000) i) y;
CREATE INDEX l1_spikes_v ON l1_spikes USING hybrid (v vector_l1_ops);
CREATE FUNCTION l1_found(target float8) RETURNS float8 LANGUAGE plpgsql SET enable_sort = off AS $$
DECLARE
	q vector;
	far float8;
	found float8 := 0;
BEGIN
	FOR i IN 1 .. 40 BY 4 LOOP
		q := array_fill(0, ARRAY[i - 1])::float8[] || 15::float8 || array_fill(0, ARRAY[40 - i])::float8[];
		SELECT max(d) INTO far FROM (SELECT (v <+> q) + 0 AS d FROM l1_spikes ORDER BY d LIMIT 100) s;
		PERFORM set_config('hybrid.target_recall', target::text, true);
		found := found + (SELECT count(*) FROM (SELECT v <+> q AS d FROM l1_spikes ORDER BY v <+> q LIMIT 100) s WHERE d <= far);
	END LOOP;
	RETURN found / 1000;
END $$;
SET enable_seqscan = off;
SELECT l1_found(.9) >= .89, l1_found(.95) >= .94;
RESET enable_seqscan;
DROP TABLE l1_spikes;
DROP FUNCTION l1_found;
