-- Indexes of bit: every stored string is looked at; distances are the operators'.
SET jit = off;

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
SELECT pages AS before FROM hybrid_index_stats('item_hamming') \gset
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
SELECT pages - :before AS more_pages, entries > 1900 AS as_many FROM hybrid_index_stats('item_hamming');
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

-- what is refused
SELECT id FROM wide ORDER BY b <%> B'101';
CREATE TABLE wider (b bit(64001), v varbit(8));
CREATE INDEX ON wider USING hybrid (b bit_hamming_ops);
-- bit varying is bit to operators: only strings of the greatest length are indexed
CREATE INDEX ON wider USING hybrid (v bit_hamming_ops);
INSERT INTO wider VALUES (NULL, B'10101010');
INSERT INTO wider VALUES (NULL, B'1010101');
CREATE INDEX ON one_bit USING hybrid (b bit_hamming_ops) WITH (storage = int8);
DROP TABLE item, signs, one_bit, wide, wider;
DROP FUNCTION compare;
