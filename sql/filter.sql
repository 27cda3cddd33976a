-- searches for many queries: rounded products propose, exact distances decide, with the same answer
\set VERBOSITY terse

CREATE TABLE item (id int PRIMARY KEY, v vector(24));
-- neither sorted nor random: the same on every machine, with ties, zero vectors and NULLs
INSERT INTO item
SELECT i, CASE WHEN i % 97 = 0 THEN NULL ELSE
	(SELECT array_agg(CASE WHEN i % 101 = 0 THEN 0 ELSE ((i * 7919 + j * 104729 + i * j * 31) % 2003) / 100.0 - 10 END ORDER BY j)
	 FROM generate_series(1, 24) j)::vector END
FROM generate_series(1, 3000) i;
INSERT INTO item SELECT id + 3000, v FROM item WHERE id % 13 = 0;
CREATE TABLE query AS SELECT array_agg(v ORDER BY id) AS v FROM item WHERE id <= 60;
UPDATE query SET v = array_remove(v, NULL);

CREATE FUNCTION answer(how text, metric text, k int) RETURNS TABLE (query int, id int, distance float8) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('hybrid.precision', how, true);
	RETURN QUERY SELECT n.query, item.id, n.distance
		FROM public.query q, hybrid_knn('item', 'v', q.v, k, metric) n JOIN item ON item.ctid = n.tid;
END $$;

SELECT metric, k, count(*) AS differences
FROM (VALUES ('l2'), ('ip'), ('cosine'), ('l1')) m(metric), (VALUES (1), (10), (200)) k(k),
	LATERAL ((SELECT * FROM answer('exact', metric, k) EXCEPT ALL SELECT * FROM answer('auto', metric, k))
		UNION ALL (SELECT * FROM answer('auto', metric, k) EXCEPT ALL SELECT * FROM answer('exact', metric, k))) d
GROUP BY metric, k;

SELECT metric, k, count(*) AS answers, count(DISTINCT a.query) AS queries
FROM (VALUES ('l2'), ('ip'), ('cosine'), ('l1')) m(metric), (VALUES (1), (10), (200)) k(k), answer('auto', metric, k) a
GROUP BY metric, k ORDER BY metric, k;

SET hybrid.precision = fast;
SHOW hybrid.precision;
DROP FUNCTION answer;
DROP TABLE item, query;
