-- Searches of an index again and again, while its rows come and go: where a device is open it keeps the vectors from one
-- search to the next, and the answers are those of a sort all the same.
SET client_min_messages = warning;
SET work_mem = '256kB';
SET hybrid.gpu_resident_memory = 1; -- MB: several units
CREATE FUNCTION resident_made(n int) RETURNS vector LANGUAGE sql AS $$
	SELECT array_agg(((n::bigint * 7919 + j * j * (n % 13 + 1)) % 1009 + (n % 20) * 100)::real)::vector FROM generate_series(1, 64) j $$;
CREATE TABLE resident (id serial PRIMARY KEY, v vector(64));
INSERT INTO resident (v) SELECT resident_made(n) FROM generate_series(1, 3000) n;
CREATE INDEX resident_v ON resident USING hybrid (v vector_l2_ops) WITH (storage = float32);
CREATE TABLE resident_query AS SELECT n AS number, resident_made(n * 37 + 11) AS v FROM generate_series(1, 9) n;

-- differences between five searches in a row and a sort, which uses no index
CREATE FUNCTION resident_wrong(metric text) RETURNS TABLE (search int, missing bigint, made_up bigint) LANGUAGE plpgsql AS $$
DECLARE
	sorted text := format('SELECT q.number::int AS query, r.ctid AS id, r.d AS distance FROM resident_query q,
		LATERAL (SELECT t.ctid, t.v %s q.v AS d FROM resident t ORDER BY t.v %1$s q.v, t.ctid LIMIT 8) r',
		CASE metric WHEN 'l2' THEN '<->' WHEN 'ip' THEN '<#>' ELSE '<+>' END);
BEGIN
	SET LOCAL enable_indexscan = off;
	EXECUTE 'CREATE TEMP TABLE resident_sorted ON COMMIT DROP AS ' || sorted;
	SET LOCAL enable_indexscan = on;
	FOR search IN 1 .. 5 LOOP
		CREATE TEMP TABLE resident_found ON COMMIT DROP AS
			SELECT * FROM hybrid_knn('resident', 'v', (SELECT array_agg(v ORDER BY number) FROM resident_query), 8, metric);
		SELECT count(*) INTO missing FROM (TABLE resident_sorted EXCEPT TABLE resident_found) s;
		SELECT count(*) INTO made_up FROM (TABLE resident_found EXCEPT TABLE resident_sorted) s;
		DROP TABLE resident_found;
		RETURN NEXT;
	END LOOP;
	DROP TABLE resident_sorted;
END $$;

SELECT * FROM resident_wrong('l2');
SELECT * FROM resident_wrong('ip');
SELECT * FROM resident_wrong('l1');

-- new rows, removed ones, both in one list, and what VACUUM makes of it
INSERT INTO resident (v) SELECT v FROM resident_query;
SELECT * FROM resident_wrong('l2');
DELETE FROM resident WHERE id % 7 = 3;
SELECT * FROM resident_wrong('l2');
VACUUM resident;
SELECT * FROM resident_wrong('l2');
INSERT INTO resident (v) SELECT resident_made(n * 3 + 1) FROM generate_series(1, 430) n;
SELECT * FROM resident_wrong('l2');
UPDATE resident SET v = resident_made(id + 5000) WHERE id % 11 = 1;
SELECT * FROM resident_wrong('l2');

-- own changes, and their end
BEGIN;
DELETE FROM resident WHERE id % 5 = 1;
INSERT INTO resident (v) SELECT resident_made(n * 7 + 3) FROM generate_series(1, 50) n;
SELECT * FROM resident_wrong('l2');
ROLLBACK;
SELECT * FROM resident_wrong('l2');

-- another file, and another index
REINDEX INDEX resident_v;
SELECT * FROM resident_wrong('l2');
DROP INDEX resident_v;
CREATE INDEX resident_v ON resident USING hybrid (v vector_ip_ops);
SELECT * FROM resident_wrong('l2');
SELECT * FROM resident_wrong('ip');
TRUNCATE resident;
INSERT INTO resident (v) SELECT resident_made(n) FROM generate_series(1, 500) n;
SELECT * FROM resident_wrong('ip');

-- one row is more than half of work_mem
SET work_mem = '64kB';
SET statement_timeout = '60s';
CREATE TABLE resident_wide (id int, v vector(9000));
INSERT INTO resident_wide SELECT n, (SELECT array_agg((i * n % 101)::real) FROM generate_series(1, 9000) i)::vector(9000) FROM generate_series(1, 5) n;
CREATE INDEX ON resident_wide USING hybrid (v vector_l2_ops) WITH (storage = float32);
SELECT (SELECT id FROM resident_wide w WHERE w.ctid = k.tid), k.distance FROM hybrid_knn('resident_wide', 'v', ARRAY[(SELECT v FROM resident_wide WHERE id = 3)], 1, 'l2') k;
SELECT (SELECT id FROM resident_wide w WHERE w.ctid = k.tid), k.distance FROM hybrid_knn('resident_wide', 'v', ARRAY[(SELECT v FROM resident_wide WHERE id = 3)], 1, 'l2') k;
RESET statement_timeout;
RESET work_mem;
DROP TABLE resident_wide;

DROP TABLE resident, resident_query;
DROP FUNCTION resident_wrong, resident_made;
