-- hybrid_knn_graph with a recall: many rows beside a list at once, if work_mem holds all vectors
\set VERBOSITY terse
SET client_min_messages = warning;

-- clusters, few different rows, random rows of many dimensions, and few dimensions far from the origin; some rows have no vector or
-- no direction
CREATE TABLE shape (name text, id int, v vector);
INSERT INTO shape
SELECT name, i, CASE WHEN i % 500 = 7 THEN NULL WHEN i % 500 = 8 THEN array_fill(0, ARRAY[dims])::vector ELSE
	(SELECT array_agg(CASE name
		WHEN 'clusters' THEN sin(i * (d + 0.7) * 1.13) + 4 * sin(i % 40 * d * 0.7)
		WHEN 'copies' THEN sin(i % 90 * (d + 0.7) * 1.13)
		WHEN 'random' THEN hashint4(i * 100 + d) / 2147483648.0
		ELSE 50 + hashint4(i * 100 + d) / 2147483648.0 END ORDER BY d) FROM generate_series(1, dims) d WHERE i IS NOT NULL)::vector END
FROM (VALUES ('clusters', 24), ('copies', 16), ('random', 64), ('few dimensions', 3)) s (name, dims), generate_series(1, 1600) i;


-- graph_of(): whether the graph has the recall (a row as near as the k-th counts), the rows with another number of edges than in
-- the exact graph, the edges of a row with itself, those that exist twice, the weights that are not those of the distances, the
-- rows whose edges are out of order, and whether lists were compared: then the index is read once, and not searched for each row
CREATE TABLE item (id int, v vector);
CREATE FUNCTION graph_of(metric text, k int, recall float8) RETURNS TABLE (enough bool, fewer bigint, self bigint, twice bigint,
	wrong bigint, unordered bigint, lists bool) LANGUAGE plpgsql AS $$
DECLARE
	weight text := CASE metric WHEN 'ip' THEN 'one' ELSE 'similarity' END;
	operator text := CASE metric WHEN 'l2' THEN '<->' WHEN 'ip' THEN '<#>' WHEN 'cosine' THEN '<=>' ELSE '<+>' END;
	scans bigint := pg_stat_get_xact_numscans('item_v'::regclass);
	once bool;
BEGIN
	CREATE TEMP TABLE near ON COMMIT DROP AS SELECT row_number() OVER () AS nr, g.* FROM hybrid_knn_graph('item', 'id', 'v', k, metric, weight, recall) g;
	once := pg_stat_get_xact_numscans('item_v'::regclass) - scans < 10;
	CREATE TEMP TABLE exact ON COMMIT DROP AS SELECT * FROM hybrid_knn_graph('item', 'id', 'v', k, metric, weight);
	RETURN QUERY EXECUTE format('
		WITH n AS (SELECT near.*, a.v %1$s b.v AS distance FROM near JOIN item a ON a.id = source JOIN item b ON b.id = target),
		last AS (SELECT source, max(a.v %1$s b.v) AS farthest, count(*) AS edges FROM exact JOIN item a ON a.id = source JOIN item b ON b.id = target GROUP BY 1)
		SELECT (SELECT count(*) FROM n JOIN last USING (source) WHERE distance <= farthest) >= $2 * (SELECT count(*) FROM exact),
			(SELECT count(*) FROM last FULL JOIN (SELECT source, count(*) AS edges FROM n GROUP BY 1) c USING (source) WHERE c.edges IS DISTINCT FROM last.edges),
			(SELECT count(*) FROM n WHERE source = target),
			(SELECT count(*) - count(DISTINCT (source, target)) FROM n),
			(SELECT count(*) FROM n WHERE weight <> CASE $1 WHEN ''ip'' THEN 1 WHEN ''cosine'' THEN greatest(0, 1 - distance)::real ELSE (1 / (1 + distance))::real END),
			(SELECT count(*) FROM (SELECT source, distance, lag(source) OVER w AS other, lag(distance) OVER w AS before FROM n WINDOW w AS (ORDER BY nr)) o
				WHERE source = other AND distance < before), $3', operator) USING metric, recall, once;
	DROP TABLE near, exact;
END $$;
CREATE FUNCTION take(kind text, metric text, k int, recall float8, type text DEFAULT 'vector', storage text DEFAULT NULL) RETURNS TABLE (enough bool, fewer bigint,
	self bigint, twice bigint, wrong bigint, unordered bigint, lists bool) LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE item;
	EXECUTE format('CREATE TABLE item AS SELECT id, v::%s(%s) FROM shape WHERE name = %L ORDER BY hashint4(id)', type,
		(SELECT max(vector_dims(v)) FROM shape WHERE name = kind), kind);
	EXECUTE format('CREATE INDEX item_v ON item USING hybrid (v %s_%s_ops) %s', type, metric, 'WITH (storage = ' || storage || ')');
	RETURN QUERY SELECT * FROM graph_of(metric, k, recall);
END $$;
SELECT name, metric, enough, fewer, self, twice, wrong, unordered FROM (VALUES ('clusters', 'ip'), ('clusters', 'l1'), ('copies', 'l2'), ('copies', 'cosine'),
	('random', 'cosine'), ('few dimensions', 'l2')) s (name, metric), take(name, metric, 10, 0.95) t ORDER BY 1, 2;
SELECT enough, fewer, self, twice, wrong, unordered FROM graph_of('l2', 1, 0.9);
SELECT * FROM take('clusters', 'cosine', 10, 0.95, 'halfvec');

-- HOT chains, moved rows, dead rows that the index still has, own changes that are not committed, and rows that came later
SELECT * FROM take('clusters', 'cosine', 10, 0.95);
UPDATE item SET id = id WHERE id % 4 = 0;
UPDATE item SET v = v + array_fill(1, ARRAY[24])::vector WHERE id % 9 = 0;
DELETE FROM item WHERE id % 40 BETWEEN 1 AND 10;
SELECT * FROM graph_of('cosine', 10, 0.95);
BEGIN;
INSERT INTO item SELECT 10000 + id, v + (ARRAY[.1] || array_fill(0, ARRAY[23]))::vector FROM item WHERE id % 3 = 0;
SAVEPOINT s;
DELETE FROM item WHERE id % 40 > 30;
ROLLBACK TO s;
DELETE FROM item WHERE id % 40 = 0;
SELECT * FROM graph_of('cosine', 10, 0.95);
ROLLBACK;
VACUUM item;
SELECT * FROM graph_of('cosine', 10, 0.95);

-- the number of threads does not matter
CREATE TABLE one AS SELECT * FROM hybrid_knn_graph('item', 'id', 'v', 20, recall => 0.98);
SET hybrid.threads = 1;
SELECT count(*) AS differences FROM ((TABLE one EXCEPT ALL SELECT * FROM hybrid_knn_graph('item', 'id', 'v', 20, recall => 0.98))
	UNION ALL (SELECT * FROM hybrid_knn_graph('item', 'id', 'v', 20, recall => 0.98) EXCEPT ALL TABLE one)) d;
RESET hybrid.threads;
-- one row of a hundred has no neighbor yet, which a small sample may miss
CREATE TABLE rare AS SELECT i AS id, (SELECT array_agg((CASE WHEN i % 2 = 0 THEN 1 ELSE -1 END) * (CASE WHEN i % 4 < 2 THEN (CASE WHEN d = 1 + (i / 4) % 8 THEN 1 ELSE 0 END)
	ELSE hashint4(i * 100 + d) / 2147483648.0 END) ORDER BY d) FROM generate_series(1, 8) d WHERE i IS NOT NULL)::vector(8) AS v FROM generate_series(1, 4000) i;
CREATE INDEX rare_v ON rare USING hybrid (v vector_cosine_ops);
SELECT count(*) >= 0.99 * 4000 AS enough FROM hybrid_knn_graph('rare', 'id', 'v', 1, recall => 0.99) g JOIN hybrid_knn_graph('rare', 'id', 'v', 1) e USING (source)
	WHERE g.weight >= e.weight;
-- means without a direction
CREATE TABLE pole AS SELECT i AS id, ARRAY[i % 2 * 2 - 1, 0]::vector(2) AS v FROM generate_series(1, 3000) i;
CREATE INDEX pole_v ON pole USING hybrid (v vector_cosine_ops);
SELECT count(*) AS edges, min(weight) FROM hybrid_knn_graph('pole', 'id', 'v', 5, recall => 0.9);
-- little memory: each row is searched for
SET work_mem = '256kB';
SELECT * FROM graph_of('cosine', 10, 0.95);
RESET work_mem;

-- no rows, one row, and fewer rows than k
CREATE TABLE few (id int, v vector(2));
CREATE INDEX few_v ON few USING hybrid (v vector_l2_ops);
SELECT * FROM hybrid_knn_graph('few', 'id', 'v', 3, 'l2', recall => 0.9);
INSERT INTO few VALUES (1, '[1,2]');
SELECT * FROM hybrid_knn_graph('few', 'id', 'v', 3, 'l2', recall => 0.9);
INSERT INTO few VALUES (2, '[1,3]'), (3, '[1,2]'), (4, NULL);
SELECT * FROM hybrid_knn_graph('few', 'id', 'v', 3, 'l2', recall => 0.9);
-- an id that is NULL: of a row without a vector, with one, and by cosine of one that the index does not contain
CREATE INDEX few_cosine ON few USING hybrid (v vector_cosine_ops);
UPDATE few SET id = NULL WHERE v IS NULL;
SELECT count(*) FROM hybrid_knn_graph('few', 'id', 'v', 3, recall => 0.9);
INSERT INTO few VALUES (NULL, '[0,0]');
SELECT count(*) FROM hybrid_knn_graph('few', 'id', 'v', 3, recall => 0.9);
SELECT count(*) FROM hybrid_knn_graph('few', 'id', 'v', 3);
DELETE FROM few WHERE v = '[0,0]';
INSERT INTO few VALUES (NULL, '[5,0]');
SELECT count(*) FROM hybrid_knn_graph('few', 'id', 'v', 3, recall => 0.9);

DROP FUNCTION graph_of, take;
DROP TABLE shape, item, one, few, rare, pole;
