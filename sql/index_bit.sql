-- Indexes of bit: lists and codes, as of vectors of zeros and ones; distances are the operators'.
SET jit = off;
-- at first all stored strings are read
SET hybrid.target_recall = 1;

-- ties in abundance, strings of zeroes and of ones, a NULL; the last byte is not whole
CREATE TABLE item (id int, b bit(77));
INSERT INTO item SELECT i, (lpad('', i % 5, '1') || (i * 7919)::bit(24)::text || (i % 50)::bit(30)::text || lpad('', 30, '0'))::bit(77) FROM generate_series(1, 2000) i;
INSERT INTO item VALUES (2001, NULL), (2002, repeat('0', 77)::bit(77)), (2003, repeat('1', 77)::bit(77));

CREATE FUNCTION compare(query bit, n int) RETURNS TABLE (op text, equal bigint, different bigint)
LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text;
BEGIN
	FOREACH op IN ARRAY ARRAY['<~>', '<%>'] LOOP
		PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true);
		plan := '';
		FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT id FROM item ORDER BY b %s %L', op, query) LOOP
			plan := plan || line;
		END LOOP;
		IF plan !~ 'Index Scan using item_.* on item *Order By' THEN
			RAISE 'not an index scan: %', plan;
		END IF;
		EXECUTE format('CREATE TEMP TABLE ours AS SELECT row_number() OVER () AS r, id, d FROM
			(SELECT id, b %1$s %2$L AS d FROM item ORDER BY b %1$s %2$L LIMIT %3$s) s', op, query, n);
		PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true);
		EXECUTE format('CREATE TEMP TABLE theirs AS SELECT row_number() OVER () AS r, id, d FROM
			(SELECT id, b %1$s %2$L AS d FROM item WHERE b IS NOT NULL ORDER BY b %1$s %2$L, ctid LIMIT %3$s) s', op, query, n);
		SELECT count(*) FILTER (WHERE (ours.id, ours.d) = (theirs.id, theirs.d)), count(*) FILTER (WHERE (ours.id, ours.d) IS DISTINCT FROM (theirs.id, theirs.d))
			INTO equal, different FROM ours FULL JOIN theirs USING (r);
		DROP TABLE ours, theirs;
		RETURN NEXT;
	END LOOP;
END $$;

CREATE INDEX item_hamming ON item USING hybrid (b bit_hamming_ops);
CREATE INDEX item_jaccard ON item USING hybrid (b bit_jaccard_ops);
-- without codes: one list
CREATE INDEX item_long ON item USING hybrid ((b::bit(16008)) bit_hamming_ops);
SELECT hybrid_index_check('item_hamming'), hybrid_index_check('item_jaccard');
SELECT id, c.* FROM item, compare(b, 50) c WHERE id IN (7, 2002, 2003);
SELECT c.* FROM item, compare(b, 5000) c WHERE id = 7;
INSERT INTO item SELECT id + 5000, ~b FROM item WHERE id % 2 = 0;
DELETE FROM item WHERE id % 3 = 0;
VACUUM item;
INSERT INTO item SELECT id + 10000, b FROM item WHERE id % 5 = 0;
SELECT hybrid_index_check('item_hamming') = count(b) AS all_of_them, hybrid_index_check('item_jaccard') = count(b) AS here_too FROM item;
SELECT c.* FROM item, compare(b, 5000) c WHERE id = 7;
SELECT storage, dims FROM hybrid_index_stats('item_hamming');
-- rows that come and go: what VACUUM finds dead is used again, on every page
SELECT pages AS before FROM hybrid_index_stats('item_long') \gset
DELETE FROM item WHERE id % 4 = 0;
VACUUM item;
INSERT INTO item SELECT i * 4 + 0, ((i * 7919)::bit(32)::text || repeat('01', 30))::bit(77) FROM generate_series(5001, 5500) i;
DELETE FROM item WHERE id % 4 = 1;
VACUUM item;
INSERT INTO item SELECT i * 4 + 1, ((i * 7919)::bit(32)::text || repeat('01', 30))::bit(77) FROM generate_series(5001, 5500) i;
DELETE FROM item WHERE id % 4 = 2;
VACUUM item;
INSERT INTO item SELECT i * 4 + 2, ((i * 7919)::bit(32)::text || repeat('01', 30))::bit(77) FROM generate_series(5001, 5500) i;
DELETE FROM item WHERE id % 4 = 3;
VACUUM item;
INSERT INTO item SELECT i * 4 + 3, ((i * 7919)::bit(32)::text || repeat('01', 30))::bit(77) FROM generate_series(5001, 5500) i;
SELECT pages < :before * 1.1 AS as_many_pages, entries > 1900 AS as_many FROM hybrid_index_stats('item_long');
SELECT hybrid_index_check('item_hamming') = count(b) AS all_of_them, hybrid_index_check('item_jaccard') = count(b) AS here_too FROM item;
BEGIN;
SET LOCAL enable_seqscan = off;
DECLARE c CURSOR FOR SELECT id, b <~> repeat('0110', 20)::bit(77) AS d FROM item ORDER BY b <~> repeat('0110', 20)::bit(77);
FETCH 3 FROM c;
DELETE FROM item;
MOVE 700 IN c;
FETCH 2 FROM c;
ROLLBACK;

-- of the signs of vectors, and again by the vectors themselves
CREATE TABLE signs (id int, v vector(100));
INSERT INTO signs SELECT i, (SELECT array_agg(sin(i * j * j)) FROM generate_series(1, 100) j)::vector FROM generate_series(1, 300) i;
CREATE INDEX signs_b ON signs USING hybrid ((binary_quantize(v)::bit(100)) bit_hamming_ops);
SET enable_seqscan = off;
PREPARE near(vector) AS SELECT id FROM signs ORDER BY binary_quantize(v)::bit(100) <~> binary_quantize($1) LIMIT 20;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE near(NULL);
RESET plan_cache_mode;
DEALLOCATE near;
SELECT id FROM (SELECT * FROM signs ORDER BY binary_quantize(v)::bit(100) <~> binary_quantize((SELECT v FROM signs WHERE id = 17)) LIMIT 20) s
	ORDER BY v <-> (SELECT v FROM signs WHERE id = 17) LIMIT 1;

-- one bit, and as many as there can be
CREATE TABLE one_bit (id int, b bit);
INSERT INTO one_bit SELECT i, (i % 2)::bit FROM generate_series(1, 5) i;
CREATE INDEX one_b ON one_bit USING hybrid (b bit_hamming_ops);
SELECT id FROM one_bit ORDER BY b <~> B'1';
CREATE TABLE wide (id int, b bit(64000));
INSERT INTO wide SELECT i, (repeat('1', i * 1000))::bit(64000) FROM generate_series(1, 9) i;
CREATE INDEX wide_b ON wide USING hybrid (b bit_jaccard_ops);
INSERT INTO wide SELECT i, (repeat('1', i * 1000))::bit(64000) FROM generate_series(10, 64) i;
SELECT hybrid_index_check('wide_b');
SELECT id, b <%> repeat('1', 12500)::bit(64000) AS d FROM wide ORDER BY b <%> repeat('1', 12500)::bit(64000) LIMIT 3;

RESET hybrid.target_recall;
RESET enable_seqscan;
-- lists: strings in 60 clusters, with a fifth of the bits set; each search reads some of the lists and finds what it should
CREATE TABLE lists (id int, k int, b bit(200));
CREATE FUNCTION made(i int) RETURNS bit(200) LANGUAGE sql IMMUTABLE AS $$
	SELECT string_agg((((hashint8extended(i % 60 * 1000 + j, 1) & 3 = 0) <> (hashint8extended(i * 1000 + j, 2) & 15 = 0))::int)::text, '' ORDER BY j)::bit(200)
	FROM generate_series(1, 200) j $$;
CREATE FUNCTION recall(OUT op text, OUT reached boolean, OUT lists_read text) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	q record;
	farthest float8;
	near int;
	more int;
	lists int;
	leaves int := (SELECT stats.lists FROM hybrid_index_stats('lists_hamming') stats);
	asked int;
BEGIN
	FOREACH op IN ARRAY ARRAY['<~>', '<%>'] LOOP
		SELECT 0, 0, 0 INTO near, lists, asked;
		FOR q IN SELECT made(i) AS b FROM generate_series(20001, 20030) i LOOP
			PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true);
			EXECUTE format('SELECT max(d) FROM (SELECT b %1$s %2$L AS d FROM lists WHERE b IS NOT NULL ORDER BY 1 LIMIT 10) s', op, q.b) INTO farthest;
			PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true);
			EXECUTE format('SELECT count(*) FILTER (WHERE d <= $1) FROM (SELECT b %1$s %2$L AS d FROM lists ORDER BY b %1$s %2$L LIMIT 10) s', op, q.b) INTO more USING farthest;
			near := near + more;
			lists := lists + (SELECT scan.lists FROM hybrid_last_scan() scan);
			asked := asked + 1;
		END LOOP;
		reached := near >= asked * 10 * 0.93;
		lists_read := CASE WHEN lists < asked * leaves * 0.7 THEN 'some' ELSE format('%s of %s', lists, asked * leaves) END;
		RETURN NEXT;
	END LOOP;
END $$;
INSERT INTO lists SELECT i, i % 5, made(i) FROM generate_series(1, 4000) i;
INSERT INTO lists VALUES (4001, 1, NULL), (4002, 2, repeat('0', 200)::bit(200)), (4003, 3, repeat('1', 200)::bit(200));
CREATE INDEX lists_hamming ON lists USING hybrid (b) WITH (list_size = 32);
CREATE INDEX lists_jaccard ON lists USING hybrid (b bit_jaccard_ops) WITH (list_size = 32);
SELECT hybrid_index_check('lists_hamming'), hybrid_index_check('lists_jaccard');
SELECT storage, levels > 1 AS has_levels, lists > 60 AS has_lists, measured_by FROM hybrid_index_stats('lists_jaccard');
SELECT * FROM recall();
-- which the calibration found, whose queries are directions in the one and strings in the other
SELECT i, rows < 3000 AS some_rows FROM unnest('{lists_hamming,lists_jaccard}'::regclass[]) i, hybrid_index_curve(i) WHERE recall BETWEEN 0.94 AND 0.96;
-- every row once, of whatever distance
SET enable_seqscan = off;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM lists ORDER BY b <~> repeat('0110', 50)::bit(200) LIMIT 10000) s;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM lists ORDER BY b <%> repeat('0110', 50)::bit(200) LIMIT 10000) s;
-- no bit set: all rows are at the same distance, and a few lists suffice for any of them
SELECT count(*), min(d), max(d) FROM (SELECT b <%> repeat('0', 200)::bit(200) AS d FROM lists ORDER BY b <%> repeat('0', 200)::bit(200) LIMIT 10) s;
SELECT lists < 30 AS few FROM hybrid_last_scan();
SELECT count(*) FROM (SELECT id FROM lists ORDER BY b <%> repeat('0', 200)::bit(200) LIMIT 10000) s;
SET hybrid.target_recall = 1;
SELECT id FROM lists ORDER BY b <~> repeat('0', 200)::bit(200) LIMIT 1;
SELECT id FROM lists ORDER BY b <%> repeat('1', 200)::bit(200) LIMIT 1;
RESET hybrid.target_recall;
RESET enable_seqscan;
-- the index grows by inserts, shrinks, and is rebuilt by VACUUM
INSERT INTO lists SELECT i, i % 5, made(i) FROM generate_series(4004, 8000) i;
DELETE FROM lists WHERE id % 4 = 0;
VACUUM lists;
SELECT hybrid_index_check('lists_hamming') = count(b) AS all_of_them, hybrid_index_check('lists_jaccard') = count(b) AS here_too FROM lists;
SELECT * FROM recall();
TRUNCATE lists;
INSERT INTO lists SELECT i, i % 5, made(i) FROM generate_series(1, 4000) i;
VACUUM lists;
SELECT hybrid_index_check('lists_hamming') = count(b) AS all_of_them, hybrid_index_check('lists_jaccard') = count(b) AS here_too FROM lists;
SELECT * FROM recall();
-- behind a key, and beside a column
DROP INDEX lists_hamming, lists_jaccard;
CREATE INDEX lists_key ON lists USING hybrid (k, b) WITH (list_size = 32);
CREATE INDEX lists_include ON lists USING hybrid (b bit_jaccard_ops) INCLUDE (k) WITH (list_size = 32);
INSERT INTO lists SELECT i, i % 5, made(i) FROM generate_series(4001, 4500) i;
SELECT hybrid_index_check('lists_key'), hybrid_index_check('lists_include');
SET enable_seqscan = off;
SELECT count(*), min(id % 5), max(id % 5) FROM (SELECT id FROM lists WHERE k = 3 ORDER BY b <~> made(17) LIMIT 800) s;
SELECT count(*), min(id % 5), max(id % 5) FROM (SELECT id FROM lists WHERE k = 3 ORDER BY b <%> made(17) LIMIT 800) s;
RESET enable_seqscan;

-- what is refused
SELECT id FROM wide ORDER BY b <%> B'101';
CREATE TABLE wider (b bit(64001), v varbit(8));
CREATE INDEX ON wider USING hybrid (b bit_hamming_ops);
-- bit varying is bit to operators: only strings of the greatest length are indexed
CREATE INDEX ON wider USING hybrid (v bit_hamming_ops);
INSERT INTO wider VALUES (NULL, B'10101010');
INSERT INTO wider VALUES (NULL, B'1010101');
-- a greater length, which does not rebuild the index, does not damage it
ALTER TABLE wider ALTER v TYPE varbit(16);
SELECT hybrid_index_check('wider_v_idx');
INSERT INTO wider VALUES (NULL, B'10101011');
INSERT INTO wider VALUES (NULL, B'1010101111111111');
SELECT hybrid_index_check('wider_v_idx');
CREATE INDEX ON one_bit USING hybrid (b bit_hamming_ops) WITH (storage = int8);
DROP TABLE item, signs, one_bit, wide, wider, lists;
DROP FUNCTION compare, made, recall;
