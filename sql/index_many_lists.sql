-- An index with so many lists that a search does not order all of them.
SET client_min_messages = warning;
SELECT setseed(0.25);
CREATE TABLE many (id int, v vector(16));
INSERT INTO many SELECT i, ARRAY[g * 3 + random(), (g * 7) % 5 + random(), random(), random(), random(), random(), random(), random(),
	random(), random(), random(), random(), random(), random(), random(), random()]::vector
FROM generate_series(1, 190000) i, LATERAL (SELECT i % 12 AS g) c;
CREATE INDEX many_v ON many USING hybrid (v) WITH (list_size = 32);
ANALYZE many;
SELECT lists > 9000 AS many_lists, inner_lists > 36 AS many_inner_lists, levels FROM hybrid_index_stats('many_v');
SELECT hybrid_index_check('many_v') AS checked;
CREATE TABLE asked AS
	SELECT i AS id, ARRAY[(i % 12) * 3 + random(), (i % 12 * 7) % 5 + random(), random(), random(), random(), random(), random(), random(),
		random(), random(), random(), random(), random(), random(), random(), random()]::vector AS v FROM generate_series(1, 20) i
	UNION ALL SELECT 100 + i, ARRAY[random() * 36, random() * 5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]::vector
		FROM generate_series(1, 20) i;
-- The nearest rows of queries near rows, and of queries between all of them.
SELECT target, recall >= target - 0.01 AS reached, low_share = 0 AS none_low
	FROM hybrid_index_measure('many_v', (SELECT array_agg(v) FROM asked WHERE id < 100)) m;
SELECT target, recall >= target - 0.01 AS reached, low_share = 0 AS none_low
	FROM hybrid_index_measure('many_v', (SELECT array_agg(v) FROM asked WHERE id > 100), 200) m;
SET enable_seqscan = off;
-- A fixed number of lists, fewer and more than those that a search orders at first.
SET hybrid.probes = 2;
SELECT count(*) FROM (SELECT id FROM many ORDER BY v <-> (SELECT v FROM asked WHERE id = 1) LIMIT 5) s;
SELECT lists FROM hybrid_last_scan();
SET hybrid.probes = 600;
SELECT count(*) FROM (SELECT id FROM many ORDER BY v <-> (SELECT v FROM asked WHERE id = 1) LIMIT 5) s;
SELECT lists FROM hybrid_last_scan();
SET hybrid.probes = 30000;
SELECT count(*) AS exact FROM
	(SELECT id FROM many ORDER BY v <-> (SELECT v FROM asked WHERE id = 101) LIMIT 50) s
	JOIN (SELECT id FROM many ORDER BY (v <-> (SELECT v FROM asked WHERE id = 101)) + 0 LIMIT 50) t USING (id);
RESET hybrid.probes;
-- Few rows satisfy the condition, and they may be anywhere.
SET hybrid.iterative_scan = strict_order;
SET hybrid.max_scan_tuples = 1000000;
SET work_mem = '64MB';
SELECT count(*), bool_and(d >= before) AS ordered FROM
	(SELECT d, lag(d, 1, d) OVER () AS before FROM
		(SELECT v <-> (SELECT v FROM asked WHERE id = 2) AS d FROM many WHERE id % 20000 = 7 ORDER BY 1 LIMIT 20) s) t;
-- All rows, once each.
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM many ORDER BY v <-> (SELECT v FROM asked WHERE id = 3) LIMIT 300000) s;
DROP TABLE many, asked;
