-- The aggregate hybrid_nearest.
CREATE TABLE doc (id bigint, g int, v vector(4));
INSERT INTO doc SELECT i, i % 3, ARRAY[i * 7 % 101, i * 13 % 97, i % 5, 1]::vector FROM generate_series(1, 500) i;
CREATE TABLE query (id int, v vector(4));
INSERT INTO query VALUES (1, '[50,50,2,1]'), (2, '[-1,0,0,0]'), (3, '[100,3,4,1]'), (4, NULL);

SELECT hybrid_nearest(id, v, '[50,50,2,1]', 3) FROM doc;
SELECT n.* FROM (SELECT hybrid_nearest(id, v, '[50,50,2,1]', 3, 'l2') AS near FROM doc) s, unnest(near) n;
SELECT g, hybrid_nearest(id, v, '[50,50,2,1]', 2, 'l1') FROM doc GROUP BY g ORDER BY g;
-- what is in FROM can have numbers
SELECT n.* FROM (SELECT hybrid_nearest(id, v, '[50,50,2,1]', 2) AS near FROM doc) s, unnest(near) WITH ORDINALITY n;

-- the same as a sort by (distance, id), for every metric and both types, to the bit
CREATE FUNCTION by_sort(operator text, type text, k int) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT string_agg(d.id || '' '' || d.distance, '','' ORDER BY d.distance, d.id) FROM query q CROSS JOIN LATERAL '
		'(SELECT id, v::%2$s %1$s q.v::%2$s AS distance FROM doc ORDER BY 2, 1 LIMIT %3$s) d WHERE q.v IS NOT NULL AND d.distance <> ''NaN'' GROUP BY q.id ORDER BY q.id',
		operator, type, k);
END $$;
CREATE FUNCTION by_aggregate(metric text, type text, k int) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT (SELECT string_agg(n.id || '' '' || n.distance, '','' ORDER BY n.ordinality) FROM unnest(near) WITH ORDINALITY n) '
		'FROM (SELECT q.id, hybrid_nearest(d.id, d.v::%2$s, q.v::%2$s, %3$s, %1$L) AS near FROM doc d, query q WHERE q.v IS NOT NULL GROUP BY q.id) s ORDER BY id',
		metric, type, k);
END $$;
SELECT metric, type, k, md5(string_agg(a, ';')) = md5(string_agg(s, ';')) AS same, count(a)
	FROM (VALUES ('l2', '<->'), ('ip', '<#>'), ('cosine', '<=>'), ('l1', '<+>')) m (metric, operator),
		 unnest('{vector,halfvec}'::text[]) type, unnest('{1,16,17,40,500,1000}'::int[]) k,
		 ROWS FROM (by_aggregate(metric, type, k), by_sort(operator, type, k)) r (a, s)
	GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- ties go by id, and rows with the same id are different rows
SELECT hybrid_nearest(id, '[1,2]'::vector, '[0,0]', 3) FROM generate_series(9, 1, -1) id;
SELECT hybrid_nearest(7, v::vector, '[0,0]'::vector, 3) FROM unnest('{"[1,1]","[3,3]","[2,2]","[1,1]"}'::text[]) v;
SELECT hybrid_nearest(id, v, '[0]', 2) FROM (VALUES ((-9223372036854775808)::bigint, '[1]'::vector), (9223372036854775807, '[1]'), (0, '[1]')) d (id, v);

-- rows without a distance, and groups without rows
SELECT hybrid_nearest(id, v, '[1,1,1,1]', 3) FROM doc WHERE false;
SELECT g, hybrid_nearest(id, v, '[1,1,1,1]', 3) FROM doc WHERE false GROUP BY g;
SELECT hybrid_nearest(id, NULL::vector, '[1,1,1,1]', 3), hybrid_nearest(NULL, NULL::vector, '[1]', 3), hybrid_nearest(id, v, NULL, 3) FROM doc;
SELECT q.id, hybrid_nearest(d.id, d.v, q.v, 1) FROM query q LEFT JOIN doc d ON q.id <> 2 GROUP BY q.id ORDER BY q.id;
SELECT hybrid_nearest(id, v, '[1,0]', 5, 'cosine') FROM (VALUES (1, '[0,0]'::vector), (2, '[1,1]'), (3, NULL), (4, '[0,0]')) d (id, v);
SELECT hybrid_nearest(1, '[0,0]'::vector, '[1,0]', 5, 'cosine') IS NULL AS no_direction, hybrid_nearest(1, '[1,0]'::vector, '[0,0]', 5, 'cosine') IS NULL AS nor_here;
-- infinite distances come last, or first if the product is infinite
SELECT hybrid_nearest(id, v, '[3e38,0]', 5) FROM (VALUES (1, '[-3e38,0]'::vector), (2, '[3e38,5]'), (3, '[0,0]')) d (id, v);
SELECT hybrid_nearest(id, v, '[3e38,3e38]', 5, 'ip') FROM (VALUES (1, '[-3e38,0]'::vector), (2, '[3e38,0]'), (3, '[0,0]'), (4, '[3e38,-3e38]')) d (id, v);

-- k is a limit, and takes no memory by itself
SELECT array_length(hybrid_nearest(id, v, '[1,1,1,1]', 2147483647), 1), array_length(hybrid_nearest(id, v, '[1,1,1,1]', 100), 1) FROM doc;

-- FILTER, DISTINCT, ORDER BY, two at once, other types of ids
SELECT hybrid_nearest(id, v, '[50,50,2,1]', 2) FILTER (WHERE g = 1), hybrid_nearest(id, v, '[50,50,2,1]', 2) FILTER (WHERE g > 9) FROM doc;
SELECT hybrid_nearest(DISTINCT id, v, '[0]', 9) FROM (VALUES (1, '[1]'::vector), (1, '[1]'), (1, '[2]'), (2, '[1]')) d (id, v);
SELECT hybrid_nearest(id, v, '[50,50,2,1]', 2 ORDER BY v DESC) FROM doc;
SELECT hybrid_nearest(id, v, '[50,50,2,1]', 1), hybrid_nearest(id, v, '[50,50,2,1]', 2), hybrid_nearest(id, v, '[50,50,2,1]', 1, 'ip') FROM doc;
SELECT hybrid_nearest(id::int, v, '[50,50,2,1]', 1), hybrid_nearest(id::smallint, v, '[50,50,2,1]', 1) FROM doc;
SELECT hybrid_nearest(id, v::halfvec(4), '[50,50,2,1]'::vector, 1), hybrid_nearest(id, v, '[50,50,2,1]'::halfvec, 1) FROM doc;

-- as a window function, where the result of a state is looked at more than once
SELECT id, hybrid_nearest(id, v, '[50,50,2,1]', 2) OVER (ORDER BY id) AS up_to_here,
	   hybrid_nearest(id, v, '[50,50,2,1]', 2) OVER (ORDER BY id ROWS 1 PRECEDING) AS last_two
	FROM doc WHERE id BETWEEN 40 AND 46 ORDER BY id;
SELECT count(*), count(DISTINCT near) FROM (SELECT hybrid_nearest(id, v, '[50,50,2,1]', 3) OVER () AS near FROM doc) s;
SELECT array_agg(array_length(near, 1)) FROM (SELECT hybrid_nearest(id, v, '[0,0,0,0]', 100) OVER (ORDER BY id) AS near FROM doc WHERE id <= 40) s;

-- errors
SELECT hybrid_nearest(id, v, '[1,1,1,1]', 0) FROM doc;
SELECT hybrid_nearest(id, v, '[1,1,1,1]', -5, 'ip') FROM doc;
SELECT hybrid_nearest(id, NULL::vector, '[1,1,1,1]', 0) FROM doc;
SELECT hybrid_nearest(id, v, '[1,1,1,1]', NULL) FROM doc;
SELECT hybrid_nearest(id, v, '[1,1,1,1]', 1, NULL) FROM doc;
SELECT hybrid_nearest(id, v, '[1,1,1,1]', 1, 'L2') FROM doc;
SELECT hybrid_nearest(id, v, '[1,1,1,1]', 1, 'L' || 2) FROM doc;
SELECT hybrid_nearest(NULL, v, '[1,1,1,1]', 1) FROM doc;
SELECT hybrid_nearest(id, v, '[1,1,1]', 1) FROM doc;
SELECT hybrid_nearest(id, v::halfvec, '[1,1,1]', 1) FROM doc;
SELECT hybrid_nearest(i, v::vector, '[1]', 1) FROM (VALUES (1, '[1]'), (2, '[1,2]')) d (i, v);
SELECT hybrid_nearest(id, v, '[1,1,1,1]', id::int % 2 + 3) FROM doc;
SELECT hybrid_nearest(id, v, '[1,1,1,1]', 3, CASE WHEN id = 7 THEN 'cosine' ELSE 'ip' END::text) FROM doc;
SELECT hybrid_nearest(d.id, d.v, q.v, 3) FROM doc d, query q;
SELECT hybrid_nearest(d.id, d.v::halfvec, q.v::halfvec, 3) FROM doc d, query q;
SELECT hybrid_nearest(1, '[1,2]'::vector, ('[1' || repeat(',1', i) || ']')::vector, 3) FROM generate_series(1, 2) i;

-- in parallel: partial results are combined, also with those of workers that have no rows
CREATE TABLE many AS SELECT i AS id, i % 4 AS g, ARRAY[i * 7 % 1009, i * 13 % 997, i % 5]::vector AS v, ARRAY[i * 7 % 1009, i * 13 % 997, i % 5]::halfvec AS h
	FROM generate_series(1, 10000) i;
ALTER TABLE many SET (parallel_workers = 2);
ANALYZE many;
CREATE TABLE alone AS SELECT (SELECT array_agg((id, d)::hybrid_nearest_row) FROM (SELECT id, v <-> '[500,500,2]' AS d FROM many ORDER BY 2, 1 LIMIT 40) s) AS near,
	(SELECT array_agg((id, d)::hybrid_nearest_row) FROM (SELECT id, h <=> '[500,500,2]' AS d FROM many ORDER BY 2, 1 LIMIT 40) s) AS near_half;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT hybrid_nearest(id, v, '[500,500,2]', 40) FROM many;
SELECT hybrid_nearest(id, v, '[500,500,2]', 40) = near AS same, hybrid_nearest(id, h, '[500,500,2]', 40, 'cosine') = near_half AS same_half FROM many, alone GROUP BY near, near_half;
SET parallel_leader_participation = off;
SELECT hybrid_nearest(id, v, '[500,500,2]', 40) = (SELECT near FROM alone) AS same FROM many;
SELECT hybrid_nearest(id, v, '[500,500,2]', 3) FROM many WHERE id < 0;
SELECT hybrid_nearest(id, v, '[500,500,2]', 2) FROM many WHERE id IN (17, 5000);
SELECT hybrid_nearest(id, v, '[1]', 1) FROM (SELECT id, CASE WHEN id < 3 THEN NULL::vector END AS v FROM many) s;
EXPLAIN (COSTS OFF) SELECT g, hybrid_nearest(id, v, '[500,500,2]', 2) FROM many GROUP BY g;
SELECT g, hybrid_nearest(id, v, '[500,500,2]', 2) FROM many GROUP BY g ORDER BY g;
RESET parallel_leader_participation;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- partitions
CREATE TABLE parted (id int, g int, v vector(3)) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (100);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (100) TO (9000);
CREATE TABLE parted_3 PARTITION OF parted DEFAULT;
INSERT INTO parted SELECT id, g, v FROM many;
ANALYZE parted;
SET enable_partitionwise_aggregate = on;
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT hybrid_nearest(id, v, '[500,500,2]', 40) FROM parted;
SELECT hybrid_nearest(id, v, '[500,500,2]', 40) = (SELECT near FROM alone) AS same FROM parted;
SELECT hybrid_nearest(id, v, '[500,500,2]', 2) FROM parted WHERE id < 100;
RESET enable_partitionwise_aggregate;
RESET max_parallel_workers_per_gather;

-- groups that do not fit in memory
SET work_mem = '64kB';
SELECT count(*), sum(array_length(near, 1)), bool_and(near[1].distance = 0 AND near[1].id = g) FROM
	(SELECT a.id AS g, hybrid_nearest(b.id, b.v, a.v, 3) AS near FROM many a JOIN many b ON b.id BETWEEN a.id AND a.id + 4 WHERE a.id <= 2000 GROUP BY a.id) s;
RESET work_mem;

-- vectors in a TOAST table: of the queries, of the rows, of both; a value that is kept for the next row is the right one
CREATE TABLE long_doc AS SELECT i AS id, (SELECT array_agg(sin(i * j)) FROM generate_series(1, 900) j)::vector AS v FROM generate_series(1, 40) i;
CREATE TABLE long_query AS SELECT id, v FROM long_doc WHERE id % 13 = 0;
SELECT pg_relation_size(reltoastrelid) > 0 AS toasted FROM pg_class WHERE oid = 'long_doc'::regclass;
CREATE VIEW long_right AS SELECT q.id, (SELECT array_agg((s.id, s.d)::hybrid_nearest_row) FROM (SELECT d.id, d.v <-> q.v AS d FROM long_doc d ORDER BY 2, 1 LIMIT 5) s) AS near FROM long_query q;
SET enable_material = off;
SELECT bool_and(a.near = r.near), count(*) FROM (SELECT q.id, hybrid_nearest(d.id, d.v, q.v, 5) AS near FROM long_doc d, long_query q GROUP BY q.id) a JOIN long_right r USING (id);
SET enable_hashagg = off;
SELECT bool_and(a.near = r.near), count(*) FROM (SELECT q.id, hybrid_nearest(d.id, d.v, q.v, 5) AS near FROM long_doc d, long_query q GROUP BY q.id) a JOIN long_right r USING (id);
RESET enable_material;
RESET enable_hashagg;
SELECT bool_and(a.near = r.near), count(*) FROM (SELECT q.id, hybrid_nearest(d.id, (d.v::real[])::vector, q.v, 5) AS near FROM long_doc d, long_query q GROUP BY q.id) a JOIN long_right r USING (id);
SELECT hybrid_nearest(d.id, d.v, q.v, 5) FROM long_doc d, long_query q;
-- an equal query from another row is the same query
INSERT INTO long_query SELECT id + 1000, (v::real[])::vector FROM long_query WHERE id = 13;
SELECT array_length(hybrid_nearest(d.id, d.v, q.v, 100), 1) FROM long_doc d, long_query q WHERE q.id IN (13, 1013);

-- the functions of the aggregate, called directly or with other states
SELECT _hybrid_nearest_accum(NULL, 1, '[1]'::vector, '[1]'::vector, 1);
SELECT _hybrid_nearest_combine('\x00', '\x00');
SELECT _hybrid_nearest_final(NULL), _hybrid_nearest_final('\x00');
SELECT _hybrid_nearest_final(repeat('\000', 300)::bytea);
CREATE AGGREGATE state_of(bigint, vector, vector, int) (SFUNC = _hybrid_nearest_accum, STYPE = bytea);
CREATE AGGREGATE state_of(bigint, halfvec, halfvec, int) (SFUNC = _hybrid_nearest_accum, STYPE = bytea);
CREATE AGGREGATE combined(bytea) (SFUNC = _hybrid_nearest_combine, STYPE = bytea);
CREATE TABLE state AS SELECT g AS id, state_of(id, v, '[500,500,2]', 40) AS s FROM many GROUP BY g;
INSERT INTO state SELECT g + 10, state_of(id, v, '[500,500,2]', 4) FROM many GROUP BY g;
INSERT INTO state SELECT g + 20, state_of(id, v, '[500,500,3]', 40) FROM many GROUP BY g;
INSERT INTO state SELECT g + 30, state_of(id, h, '[500,500,2]', 40) FROM many GROUP BY g;
INSERT INTO state SELECT 40, state_of(1, '[1]'::vector, '[2]', 1);
SELECT _hybrid_nearest_final(combined(s)) = (SELECT near FROM alone) AS same, _hybrid_nearest_final(combined(s ORDER BY id DESC)) = (SELECT near FROM alone) AS same_in_reverse FROM state WHERE id < 10;
-- a state has space for k rows, or fewer if there are fewer, in steps
SELECT id, length(s) FROM state WHERE id IN (1, 11, 31, 40) ORDER BY id;
-- a state of few bytes, which a tuple stores with a short header
SELECT _hybrid_nearest_final(s), _hybrid_nearest_final(combined(s)) FROM state WHERE id = 40 GROUP BY s;
SELECT combined(s) FROM state WHERE id < 20;
SELECT combined(s) FROM state WHERE id IN (1, 21);
SELECT combined(s) FROM state WHERE id IN (1, 31);
SELECT combined(s) FROM state WHERE id IN (21, 40);
-- a cut state, and states with any byte changed: an error or some rows
SELECT _hybrid_nearest_final(substr(s, 1, 60)) FROM state WHERE id = 1;
CREATE FUNCTION survives(state bytea, place int, value int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	changed bytea := set_byte(state, place, value);
	answer bytea;
BEGIN
	PERFORM _hybrid_nearest_final(changed);
	SELECT combined(s) INTO answer FROM (VALUES (state), (changed), (changed)) x (s);
	SELECT combined(s) INTO answer FROM (VALUES (changed), (state), (changed)) x (s);
	RETURN 'rows';
EXCEPTION WHEN data_corrupted OR invalid_parameter_value OR datatype_mismatch THEN
	RETURN 'error';
END $$;
SELECT count(*) FROM state, generate_series(0, least(length(s) - 1, 200)) place, unnest('{0,1,127,128,255}'::int[]) value
	WHERE id IN (1, 11, 31) AND survives(s, place, value) IS NULL;

-- privileges: whoever may read the rows
CREATE ROLE regress_hybrid_nearest;
GRANT SELECT (id, v) ON doc TO regress_hybrid_nearest;
SET ROLE regress_hybrid_nearest;
SELECT hybrid_nearest(id, v, '[50,50,2,1]', 1) FROM doc;
SELECT hybrid_nearest(g, v, '[50,50,2,1]', 1) FROM doc;
RESET ROLE;
DROP TABLE doc, query, many, alone, parted, state, long_doc, long_query CASCADE;
DROP FUNCTION by_sort, by_aggregate, survives;
DROP AGGREGATE state_of(bigint, vector, vector, int), state_of(bigint, halfvec, halfvec, int), combined(bytea);
DROP ROLE regress_hybrid_nearest;
