-- hybrid_knn, hybrid_knn_join, hybrid_knn_graph over columns of halfvec
\set VERBOSITY terse

-- ties, a NULL, a zero vector, the least and the greatest halves
CREATE TABLE item (id int PRIMARY KEY, h halfvec(5), v vector(5));
INSERT INTO item SELECT i, ARRAY[i % 7, i % 5 - 2, i % 3, (i % 11)::real / 8, 1 - i % 2]::halfvec FROM generate_series(1, 700) i;
INSERT INTO item VALUES (701, NULL), (702, '[0,0,0,0,0]'), (703, '[65504,-65504,65504,65504,65504]'), (704, '[6e-8,0,0,0,-6e-8]');
UPDATE item SET v = h::vector;
CREATE TABLE asked AS SELECT 0 AS first, array_agg(v ORDER BY id) AS queries FROM item WHERE id % 23 = 4 OR id >= 702;
-- what is between two halves
INSERT INTO asked SELECT 100, array_agg(ARRAY[i * 0.1, 0.3, i * 0.7, -1e-9, 1e5]::vector) FROM generate_series(1, 9) i;
SELECT item.id, distance, item.h <-> '[0,0,0,0,0]' = distance AS same
FROM hybrid_knn('item', 'h', ARRAY['[0,0,0,0,0]']::vector[], 4) k JOIN item ON item.ctid = k.tid ORDER BY distance, item.ctid;

-- the same as a sort by the operator on the same numbers, for every metric
CREATE VIEW by_sort AS
SELECT metric, first + nr AS query, item.ctid AS id, d.distance,
	row_number() OVER (PARTITION BY metric, first + nr ORDER BY d.distance, item.ctid) AS rank
FROM item, asked, unnest(queries) WITH ORDINALITY q(v, nr), LATERAL (VALUES ('l2', h::vector <-> q.v), ('ip', h::vector <#> q.v),
	('cosine', h::vector <=> q.v), ('l1', h::vector <+> q.v)) d(metric, distance)
WHERE d.distance <> 'NaN';
CREATE TABLE sorted AS TABLE by_sort;
CREATE FUNCTION differences(metric text, k int) RETURNS bigint LANGUAGE sql AS $$
	WITH ours AS MATERIALIZED (SELECT first + query AS query, k.tid, k.distance FROM asked, hybrid_knn('item', 'h', queries, k, metric) k),
	theirs AS MATERIALIZED (SELECT query, id, distance FROM sorted s WHERE s.metric = differences.metric AND rank <= k)
	SELECT CASE WHEN NOT EXISTS (SELECT FROM theirs) THEN -1 ELSE count(*) END
	FROM ((TABLE ours EXCEPT ALL TABLE theirs) UNION ALL (TABLE theirs EXCEPT ALL TABLE ours)) d $$;
CREATE FUNCTION all_differences() RETURNS TABLE (metric text, at_1 bigint, at_10 bigint, at_900 bigint) LANGUAGE sql AS
	$$SELECT metric, differences(metric, 1), differences(metric, 10), differences(metric, 900) FROM unnest(ARRAY['l2', 'ip', 'cosine', 'l1']) metric$$;
SELECT * FROM all_differences();
SET hybrid.precision = exact;
SELECT * FROM all_differences();
RESET hybrid.precision;
-- batches of few rows, and queries in several groups
SET hybrid.batch_max = 64;
SET work_mem = '64kB';
SELECT * FROM all_differences();
RESET work_mem;
RESET hybrid.batch_max;
-- where queries are halves, the operator on halfvecs says the same
SELECT count(*), bool_and(item.h <-> wanted.h = distance) AS same
FROM hybrid_knn('item', 'h', (SELECT array_agg(h ORDER BY id)::vector[] FROM item WHERE id <= 20), 10) k
JOIN item ON item.ctid = k.tid JOIN item wanted ON wanted.id = k.query;

-- many dimensions, enough queries for rounded products to go first; inline, in TOAST, compressed
CREATE TABLE wide (id int, plain halfvec(150), toasted halfvec(1500), small halfvec(1500));
ALTER TABLE wide ALTER plain SET STORAGE plain, ALTER toasted SET STORAGE external, ALTER small SET STORAGE main;
INSERT INTO wide SELECT i,
	(SELECT array_agg(sin(i * 7919 + j * j)) FROM generate_series(1, 150) j)::halfvec,
	(SELECT array_agg(sin(i * 7919 + j * j)) FROM generate_series(1, 1500) j)::halfvec,
	(SELECT array_agg(sin(i * 7919 + j / 100 * 10)) FROM generate_series(1, 1500) j)::halfvec FROM generate_series(1, 300) i;
CREATE FUNCTION wide_differences(col name, metric text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	operator text := CASE metric WHEN 'l2' THEN '<->' WHEN 'ip' THEN '<#>' WHEN 'cosine' THEN '<=>' ELSE '<+>' END;
	result bigint;
BEGIN
	EXECUTE format('
		WITH queries AS (SELECT array_agg(%1$I::vector ORDER BY id) AS v FROM wide WHERE id %% 12 = 0),
		ours AS MATERIALIZED (SELECT query, k.tid, distance FROM queries, hybrid_knn(''wide'', %1$L, queries.v, 7, %2$L) k),
		theirs AS MATERIALIZED (SELECT q.id / 12 AS query, t.ctid AS id, t.distance FROM wide q,
			LATERAL (SELECT ctid, r.%1$I %3$s q.%1$I AS distance FROM wide r ORDER BY 2, 1 LIMIT 7) t WHERE q.id %% 12 = 0)
		SELECT CASE WHEN (SELECT count(*) FROM theirs) <> 175 THEN -1 ELSE count(*) END
		FROM ((TABLE ours EXCEPT ALL TABLE theirs) UNION ALL (TABLE theirs EXCEPT ALL TABLE ours)) d',
		col, metric, operator) INTO result;
	RETURN result;
END $$;
SELECT metric, wide_differences('plain', metric) AS plain, wide_differences('toasted', metric) AS toasted, wide_differences('small', metric) AS small
FROM unnest(ARRAY['l2', 'ip', 'cosine', 'l1']) metric;

-- only among the rows of a query; through a view, a materialised view, a domain
SELECT item.id, distance FROM hybrid_knn('item', 'h', ARRAY['[1,1,1,1,1]']::vector[], 3, 'l2', 'SELECT ctid FROM item WHERE id % 100 = 1') k
	JOIN item ON item.ctid = k.tid ORDER BY distance, item.ctid;
CREATE VIEW shown AS SELECT ctid, id, h FROM item WHERE id % 2 = 1;
CREATE VIEW halved AS SELECT ctid, id, h::halfvec AS h FROM item WHERE id % 2 = 1;
SELECT item.id, distance FROM hybrid_knn('shown', 'h', ARRAY['[1,1,1,1,1]']::vector[], 3) k JOIN item ON item.ctid = k.tid ORDER BY distance, item.ctid;
SELECT count(*) FROM hybrid_knn('halved', 'h', ARRAY['[1,1,1,1,1]']::vector[], 1000);
CREATE MATERIALIZED VIEW copy AS SELECT id, h FROM item WHERE id <= 10;
SELECT count(*) FROM hybrid_knn('copy', 'h', ARRAY['[1,1,1,1,1]']::vector[], 100);
CREATE DOMAIN embedding AS halfvec(5);
CREATE TABLE of_domain (id int, e embedding);
INSERT INTO of_domain SELECT id, h FROM item WHERE id <= 10;
SELECT count(*), min(distance) FROM hybrid_knn('of_domain', 'e', (SELECT ARRAY[h::vector] FROM item WHERE id = 3), 100);

-- an index of the same numbers as vectors is not the column's; one of its halfvecs is
CREATE INDEX ON item USING hybrid ((h::vector(5)));
SET client_min_messages = debug1;
SELECT count(*) FROM hybrid_knn('item', 'h', ARRAY['[1,1,1,1,1]']::vector[], 3);
RESET client_min_messages;
CREATE INDEX item_h ON item USING hybrid (h);
SET client_min_messages = debug1;
SELECT count(*) FROM hybrid_knn('item', 'h', ARRAY['[1,1,1,1,1]']::vector[], 3);
SELECT count(*) FROM hybrid_knn_join('item', 'h', 'item', 'h', 3);
RESET client_min_messages;
SELECT * FROM all_differences();
DROP INDEX item_h;
CREATE INDEX item_h ON item USING hybrid (h) WITH (storage = int8);
SELECT * FROM all_differences();
DROP INDEX item_h;

-- joins of either type with either; the store of the right side where it has one
CREATE VIEW joined_by_sort AS
SELECT metric, l.ctid AS left_tid, r.ctid AS right_tid, d.distance,
	row_number() OVER (PARTITION BY metric, l.ctid ORDER BY d.distance, r.ctid) AS rank
FROM item l, item r, LATERAL (VALUES ('l2', r.h <-> l.h), ('ip', r.h <#> l.h), ('cosine', r.h <=> l.h), ('l1', r.h <+> l.h)) d(metric, distance)
WHERE d.distance <> 'NaN' AND l.id % 5 = 1;
CREATE TABLE joined AS SELECT * FROM joined_by_sort WHERE rank <= 4;
CREATE VIEW fifth AS SELECT ctid, id, h, v FROM item WHERE id % 5 = 1;
CREATE FUNCTION join_differences(left_col name, right_col name, metric text) RETURNS bigint LANGUAGE sql AS $$
	WITH ours AS MATERIALIZED (SELECT * FROM hybrid_knn_join('fifth', left_col, 'item', right_col, 4, metric)),
	theirs AS MATERIALIZED (SELECT left_tid, right_tid, distance FROM joined s WHERE s.metric = join_differences.metric)
	SELECT CASE WHEN NOT EXISTS (SELECT FROM theirs) THEN -1 ELSE count(*) END
	FROM ((TABLE ours EXCEPT ALL TABLE theirs) UNION ALL (TABLE theirs EXCEPT ALL TABLE ours)) d $$;
CREATE FUNCTION all_join_differences() RETURNS TABLE (metric text, hh bigint, hv bigint, vh bigint, vv bigint) LANGUAGE sql AS
	$$SELECT metric, join_differences('h', 'h', metric), join_differences('h', 'v', metric), join_differences('v', 'h', metric),
		join_differences('v', 'v', metric) FROM unnest(ARRAY['l2', 'ip', 'cosine', 'l1']) metric$$;
SELECT * FROM all_join_differences();
SET work_mem = '64kB';
SELECT * FROM all_join_differences();
RESET work_mem;
CREATE INDEX item_v ON item USING hybrid (v) WITH (storage = float16);
SET client_min_messages = debug1;
SELECT count(*) FROM hybrid_knn_join('fifth', 'h', 'item', 'v', 4);
RESET client_min_messages;
SELECT * FROM all_join_differences();

-- graphs, which spread
SELECT count(*) FROM ((SELECT * FROM hybrid_knn_graph('item', 'id', 'h', 5, 'l2') EXCEPT ALL SELECT * FROM hybrid_knn_graph('item', 'id', 'v', 5, 'l2'))
	UNION ALL (SELECT * FROM hybrid_knn_graph('item', 'id', 'v', 5, 'l2') EXCEPT ALL SELECT * FROM hybrid_knn_graph('item', 'id', 'h', 5, 'l2'))) d;
SELECT count(*), count(*) FILTER (WHERE source = target) AS self, bool_and(weight BETWEEN 0 AND 1) AS weights FROM hybrid_knn_graph('item', 'id', 'h', 5);
SELECT count(*) > 5 AS spread FROM hybrid_spread('SELECT * FROM hybrid_knn_graph(''item'', ''id'', ''h'', 5)', ARRAY[7], hops => 2);

-- row security and rights, as for vectors
CREATE ROLE regress_hybrid_reader;
CREATE POLICY few ON item USING (id BETWEEN 11 AND 20);
GRANT SELECT (h) ON item TO regress_hybrid_reader;
SET ROLE regress_hybrid_reader;
SELECT * FROM hybrid_knn('item', 'h', ARRAY['[1,1,1,1,1]']::vector[], 3);
RESET ROLE;
GRANT SELECT ON item TO regress_hybrid_reader;
ALTER TABLE item ENABLE ROW LEVEL SECURITY;
SET ROLE regress_hybrid_reader;
SELECT count(*), bool_and(item.id BETWEEN 11 AND 20) AS allowed FROM hybrid_knn('item', 'h', ARRAY['[1,1,1,1,1]']::vector[], 1000) k JOIN item ON item.ctid = k.tid;
SELECT count(*), count(DISTINCT source), min(target), max(target) FROM hybrid_knn_graph('item', 'id', 'h', 3, 'l2');
RESET ROLE;

-- what is refused: other types, by name, and other lengths
CREATE TABLE other (id int, s sparsevec(3), b bit(3), a real[], h halfvec, v vector(3));
INSERT INTO other VALUES (1, '{1:1}/3', '101', '{1,2,3}', '[1,2,3]', '[1,2,3]'), (2, '{1:1}/3', '101', '{1,2,3}', '[1,2]', '[1,2,3]');
SELECT * FROM hybrid_knn('other', 's', ARRAY['[1,2,3]']::vector[]);
SELECT * FROM hybrid_knn('other', 'b', ARRAY['[1,2,3]']::vector[]);
SELECT * FROM hybrid_knn('other', 'a', ARRAY['[1,2,3]']::vector[]);
SELECT * FROM hybrid_knn_join('other', 's', 'item', 'h');
SELECT * FROM hybrid_knn_join('item', 'h', 'other', 'b');
SELECT * FROM hybrid_knn_graph('other', 'id', 's');
SELECT * FROM hybrid_knn('other', 'h', ARRAY['[1,2,3]']::vector[]);
SELECT * FROM hybrid_knn_join('other', 'h', 'other', 'v');
SELECT * FROM hybrid_knn_join('other', 'v', 'other', 'h');
SELECT * FROM hybrid_knn_join('other', 'v', 'item', 'h');
SELECT * FROM hybrid_knn('item', 'h', ARRAY['[1,2,3]']::vector[]);
-- a sparsevec is searched by way of a view
CREATE VIEW dense AS SELECT ctid, s::vector(3) AS v FROM other;
SELECT distance FROM hybrid_knn('dense', 'v', ARRAY['[1,2,3]']::vector[]);

DROP TABLE item, asked, sorted, wide, of_domain, joined, other CASCADE;
DROP DOMAIN embedding;
DROP FUNCTION differences, all_differences, wide_differences, join_differences, all_join_differences;
DROP ROLE regress_hybrid_reader;
