-- Indexes of sparsevec: every stored vector is looked at, whatever its length, and distances have the
-- operator's own bits.
SET jit = off;

-- from no element to 700, of 100,000 dimensions; ties; a NULL
CREATE TABLE item (id int, s sparsevec(100000));
CREATE FUNCTION sparse(i int, elements int) RETURNS sparsevec LANGUAGE sql IMMUTABLE AS
$$ SELECT ('{' || coalesce((SELECT string_agg(format('%s:%s', k * (1 + i % 13), (i * k) % 37 / 4.0 - 5.125), ',' ORDER BY k)
	FROM generate_series(1, elements) k), '') || '}/100000')::sparsevec $$;
INSERT INTO item SELECT i, sparse(i, CASE WHEN i % 50 = 0 THEN 700 ELSE (i * 7) % 90 END) FROM generate_series(1, 1000) i;
INSERT INTO item VALUES (1001, NULL), (1002, '{}/100000'), (1003, '{100000:3e38}/100000'), (1004, '{1:-3e38,2:3e38}/100000');

CREATE FUNCTION compare(query sparsevec, n int) RETURNS TABLE (op text, equal bigint, different bigint)
LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text;
BEGIN
	FOREACH op IN ARRAY ARRAY['<->', '<#>', '<=>', '<+>'] LOOP
		PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true);
		plan := '';
		FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT id FROM item ORDER BY s %s %L', op, query) LOOP
			plan := plan || line;
		END LOOP;
		IF plan !~ 'Index Scan using item_.* on item *Order By' THEN
			RAISE 'not an index scan: %', plan;
		END IF;
		EXECUTE format('CREATE TEMP TABLE ours AS SELECT row_number() OVER () AS r, id, d FROM
			(SELECT id, s %1$s %2$L AS d FROM item ORDER BY s %1$s %2$L LIMIT %3$s) s WHERE d <> ''NaN''', op, query, n);
		PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true);
		EXECUTE format('CREATE TEMP TABLE theirs AS SELECT row_number() OVER () AS r, id, d FROM
			(SELECT id, s %1$s %2$L AS d FROM item WHERE s IS NOT NULL ORDER BY s %1$s %2$L, ctid LIMIT %3$s) s WHERE d <> ''NaN''', op, query, n);
		SELECT count(*) FILTER (WHERE (ours.id, ours.d) = (theirs.id, theirs.d)), count(*) FILTER (WHERE (ours.id, ours.d) IS DISTINCT FROM (theirs.id, theirs.d))
			INTO equal, different FROM ours FULL JOIN theirs USING (r);
		DROP TABLE ours, theirs;
		RETURN NEXT;
	END LOOP;
END $$;

CREATE INDEX item_l2 ON item USING hybrid (s);
CREATE INDEX item_ip ON item USING hybrid (s sparsevec_ip_ops);
CREATE INDEX item_cosine ON item USING hybrid (s sparsevec_cosine_ops);
CREATE INDEX item_l1 ON item USING hybrid (s sparsevec_l1_ops);
CREATE VIEW checked AS SELECT i AS index, hybrid_index_check(i::regclass) AS entries FROM unnest(ARRAY['item_l2', 'item_ip', 'item_cosine', 'item_l1']) i;
TABLE checked;
SELECT q, c.* FROM (VALUES (0, sparse(77, 30)), (1, '{1:1,50:-2,99999:7}/100000'), (2, '{}/100000')) s(q, s), compare(s, 10) c;
SELECT * FROM compare(sparse(77, 30), 5000);
-- a batch of one row at a time
SET work_mem = '64kB';
SELECT * FROM compare(sparse(5, 80), 700);
RESET work_mem;

-- inserts, into room that VACUUM made and beyond it; nothing is lost and nothing overlaps
INSERT INTO item SELECT i + 2000, sparse(i, (i * 11) % 120) FROM generate_series(1, 500) i;
TABLE checked;
DELETE FROM item WHERE id % 3 = 0;
VACUUM item;
TABLE checked;
INSERT INTO item SELECT i + 4000, sparse(i, (i * 5) % 100) FROM generate_series(1, 300) i;
TABLE checked;
SELECT * FROM compare(sparse(77, 30), 5000);
UPDATE item SET s = sparse(id, (id * 13) % 60) WHERE id % 4 = 0;
VACUUM item;
TABLE checked;
SELECT * FROM compare(sparse(12, 40), 100);

-- a dead entry's room is taken by what fits it, and only by that
CREATE TABLE room (id int, s sparsevec(100000));
INSERT INTO room SELECT i, sparse(i, 50) FROM generate_series(1, 100) i;
CREATE INDEX room_s ON room USING hybrid (s);
DELETE FROM room WHERE id % 2 = 0;
VACUUM room;
SELECT pages AS before FROM hybrid_index_stats('room_s') \gset
INSERT INTO room SELECT i, sparse(i, 50 - i % 5) FROM generate_series(101, 150) i;
SELECT pages = :before AS as_before, entries, dead FROM hybrid_index_stats('room_s');
DELETE FROM room WHERE id % 2 = 1;
VACUUM room;
INSERT INTO room SELECT i, sparse(i, 51) FROM generate_series(201, 250) i;
SELECT pages > :before AS more, entries, dead > 0 AS room_is_left FROM hybrid_index_stats('room_s');
SELECT hybrid_index_check('room_s'), (SELECT count(*) FROM room) AS rows;

-- a cursor shows what was there when it was opened
SET enable_seqscan = off;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM item ORDER BY s <-> '{1:1}/100000';
FETCH 2 FROM c;
INSERT INTO item VALUES (-1, '{1:1}/100000');
DELETE FROM item WHERE id > 100;
MOVE 600 IN c;
FETCH 2 FROM c;
SELECT id FROM item ORDER BY s <-> '{1:1}/100000' LIMIT 1;
ROLLBACK;

-- as many elements as there can be: on many pages each
CREATE TABLE long_values (id int, s sparsevec(1000000000));
INSERT INTO long_values SELECT i, ('{' || (SELECT string_agg(k * 60000 || ':' || i + k % 3, ',') FROM generate_series(1, 16000 - i % 2) k) || '}/1000000000')::sparsevec
FROM generate_series(1, 6) i;
CREATE INDEX long_s ON long_values USING hybrid (s);
INSERT INTO long_values SELECT i, ('{' || (SELECT string_agg(k * 60000 || ':' || i + k % 3, ',') FROM generate_series(1, 16000) k) || '}/1000000000')::sparsevec
FROM generate_series(7, 9) i;
INSERT INTO long_values VALUES (10, '{1000000000:1}/1000000000');
SELECT hybrid_index_check('long_s');
SELECT id FROM long_values ORDER BY s <-> (SELECT s FROM long_values WHERE id = 5) LIMIT 3;
SELECT dims, storage, vector_pages >= 9 * 15 AS many FROM hybrid_index_stats('long_s');

-- empty, then filled; unlogged
CREATE UNLOGGED TABLE later (id int, s sparsevec(10));
CREATE INDEX later_s ON later USING hybrid (s sparsevec_cosine_ops);
SELECT id FROM later ORDER BY s <=> '{1:1}/10';
INSERT INTO later SELECT i, format('{1:%s,%s:2}/10', i, 2 + i % 9)::sparsevec FROM generate_series(1, 50) i;
INSERT INTO later VALUES (51, '{}/10');
SELECT hybrid_index_check('later_s');
SELECT id FROM later ORDER BY s <=> '{1:1}/10' LIMIT 2;

-- hybrid_knn is for vectors; what is refused
SELECT * FROM hybrid_knn('later', 's', ARRAY['[1]']::vector[], 1);
SELECT id FROM later ORDER BY s <=> '{1:1}/11';
CREATE INDEX ON later USING hybrid (s) WITH (storage = float32);
CREATE TABLE loose (s sparsevec);
CREATE INDEX ON loose USING hybrid (s);
DROP VIEW checked;
DROP TABLE item, room, long_values, later, loose;
DROP FUNCTION compare, sparse;
