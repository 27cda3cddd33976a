-- A scan that goes on, lot by lot, comes by every row once: also by those of blocks of codes that it gave up at first.
CREATE TABLE lots (id int, v vector(768));
-- rows of all distances from one another, in each list
SELECT setseed(0.25);
INSERT INTO lots SELECT i, (SELECT array_agg((random() - 0.5) * size) FROM generate_series(1, 768), (VALUES (1.003 ^ (i % 1500))) s (size))::vector
	FROM generate_series(1, 3000) i;
CREATE INDEX lots_v ON lots USING hybrid (v vector_l2_ops) WITH (list_size = 64);
ANALYZE lots;
SET enable_seqscan = off;
SET hybrid.max_scan_tuples = 1000000;
SET hybrid.scan_mem_multiplier = 100;
SET hybrid.target_recall = 0.9;
CREATE FUNCTION all_by_cursor(q vector, OUT rows int, OUT others int) LANGUAGE plpgsql AS $$
DECLARE
	near CURSOR FOR SELECT id FROM lots ORDER BY v <-> q;
	ids int[] := '{}';
	one record;
BEGIN
	OPEN near;
	LOOP
		FETCH near INTO one;
		EXIT WHEN NOT FOUND;
		ids := ids || one.id;
	END LOOP;
	CLOSE near;
	rows := array_length(ids, 1);
	others := count(DISTINCT id) FROM unnest(ids) AS id;
END $$;
SET hybrid.iterative_scan = relaxed_order;
SELECT q.id, a.* FROM lots q, LATERAL all_by_cursor(q.v) a WHERE q.id IN (1, 500, 2500) ORDER BY 1;
-- and when a condition is met by few, so that lots are of one row
CREATE TABLE found AS SELECT q.id AS query, near.id FROM lots q,
	LATERAL (SELECT id FROM lots WHERE id % 50 = 3 ORDER BY v <-> q.v LIMIT 100) near WHERE q.id IN (1, 500, 2500);
SELECT query, count(*), count(DISTINCT id) FROM found GROUP BY 1 ORDER BY 1;
DROP TABLE lots, found CASCADE;
DROP FUNCTION all_by_cursor;
