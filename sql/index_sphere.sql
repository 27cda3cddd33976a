-- Conditions: a vector within a sphere, with an index and without, with an order and without.
SET jit = off;
SET hybrid.target_recall = 1;

-- values are multiples of 1/8, so that many rows lie exactly on a sphere; a NULL, a vector of zeroes
CREATE TABLE item (id int, v vector(4), h halfvec(4));
INSERT INTO item
SELECT i, (SELECT array_agg(((i * 7919 + j * 104729 + (i * j) % 97) % 41) / 8.0 - 2 ORDER BY j)
	FROM generate_series(1, 4) j)::real[]::vector
FROM generate_series(1, 1000) i;
INSERT INTO item VALUES (3001, NULL), (3002, '[0,0,0,0]');
UPDATE item SET h = v::halfvec;
VACUUM ANALYZE item;

-- the type: text that reads back, fields, a row that is coerced
SELECT hybrid_sphere('[1,2,3]', 0.1), hybrid_sphere('[1,2,3]'::halfvec::vector, 'NaN'), '("[1,2,3]",0.5)'::hybrid_sphere,
	(hybrid_sphere('[1,2,3]', -1)).center, (hybrid_sphere('[1,2,3]', -1)).radius;
SELECT hybrid_sphere(NULL::vector, 1) IS NULL AS no_center, hybrid_sphere('[1]', NULL) IS NULL AS no_radius;
SELECT v <<->> hybrid_sphere('[1,0,0]', 1) AS l2, v <<#>> hybrid_sphere('[1,0,0]', -1) AS ip,
	v <<=>> hybrid_sphere('[1,0,0]', 0.5) AS cosine, v <<+>> hybrid_sphere('[1,0,0]', 1) AS l1, v <<->> ('[1,0,0]', 1) AS a_row
FROM unnest(ARRAY['[2,0,0]', '[1,0.5,0.5]', '[1,1,0]', '[0,0,0]']::vector[]) v;
SELECT h <<->> hybrid_sphere('[1,0,0]'::halfvec::vector, 1) AS l2, h <<#>> hybrid_sphere('[1,0,0]', -1) AS ip,
	h <<=>> hybrid_sphere('[1,0.1,0]', 0.5) AS cosine, h <<+>> hybrid_sphere('[1,0,0]', 1) AS l1
FROM unnest(ARRAY['[2,0,0]', '[1,0.5,0.5]', '[1,1,0]', '[0,0,0]']::halfvec[]) h;
-- a radius that is not a number, one without end, a negative one, and what is not known
SELECT radius, '[1,2]'::vector <<->> hybrid_sphere('[1,2]', radius) AS the_center, '[3e38,-3e38]'::vector <<->> hybrid_sphere('[-3e38,3e38]', radius) AS infinitely_far,
	'[0,0]'::vector <<=>> hybrid_sphere('[1,2]', radius) AS no_angle
FROM unnest(ARRAY['NaN', 'Infinity', 0, -1, '-Infinity', NULL]::float8[]) radius;
SELECT '[1,2]'::vector <<->> ROW(NULL, 1)::hybrid_sphere AS no_center, '[1,2]'::vector <<->> ROW('[1,2]', NULL)::hybrid_sphere AS no_radius,
	'[1,2]'::vector <<->> NULL::hybrid_sphere AS none;
SELECT '[1,2]'::vector <<->> hybrid_sphere('[1,2,3]', 1);
SELECT '[1,2]'::halfvec <<->> hybrid_sphere('[1,2,3]', 1);

-- every class, by an index scan, a bitmap scan, in order, and with a LIMIT, against a filter
CREATE FUNCTION compare(class text, storage text, radius float8) RETURNS TABLE (indexed text, rows bigint, plain text, bitmap text, ordered text, nearest text)
LANGUAGE plpgsql AS $$
DECLARE
	col text := CASE WHEN class ~ 'half' THEN 'h' ELSE 'v' END;
	type text := CASE WHEN class ~ 'half' THEN 'halfvec' ELSE 'vector' END;
	op text := CASE WHEN class ~ 'l2' THEN '<->' WHEN class ~ 'ip' THEN '<#>' WHEN class ~ 'cosine' THEN '<=>' ELSE '<+>' END;
	condition text := format('%s <%s> hybrid_sphere(''[1,0.5,-0.25,0.1]''::%s::vector, %L)', col, op, type, radius);
	in_order text := format('%s %s ''[1,0.5,-0.25,0.1]''', col, op);
	wanted int[];
	by_order text[];
	found int[];
	found_in_order text[];
	line text;
	plan text;
	i int;
BEGIN
	EXECUTE format('CREATE INDEX item_i ON item USING hybrid (%s %s) WITH (storage = %s)', col, class, storage);
	indexed := class || ' ' || storage;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
	EXECUTE format('SELECT array_agg(id ORDER BY id) FROM item WHERE %s', condition) INTO wanted;
	EXECUTE format('SELECT array_agg((%1$s)::text) FROM (SELECT * FROM item WHERE %2$s ORDER BY %1$s) s', in_order, condition) INTO by_order;
	rows := coalesce(cardinality(wanted), 0);
	PERFORM set_config('enable_seqscan', 'off', true);
	FOR i IN 1 .. 4 LOOP
		PERFORM set_config('enable_indexscan', CASE WHEN i = 2 THEN 'off' ELSE 'on' END, true),
			set_config('enable_bitmapscan', CASE WHEN i = 2 THEN 'on' ELSE 'off' END, true);
		line := format('SELECT id, %s AS d FROM item WHERE %s', in_order, condition) || CASE WHEN i = 3 THEN ' ORDER BY 2' WHEN i = 4 THEN ' ORDER BY 2 LIMIT 7' ELSE '' END;
		-- the ids are sorted later: for an aggregate with an order of its own, all rows may be sorted
		EXECUTE format('SELECT (SELECT array_agg(i ORDER BY i) FROM unnest(ids) i), ds FROM (SELECT array_agg(id) AS ids, array_agg(d::text) AS ds FROM (%s) s) a', line) INTO found, found_in_order;
		plan := '';
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || line LOOP
			plan := plan || line;
		END LOOP;
		line := CASE WHEN plan !~ 'Index Cond: ' OR plan ~ 'Sort' THEN 'not by the index: ' || plan
			WHEN i = 4 THEN CASE WHEN found_in_order IS NOT DISTINCT FROM (CASE WHEN rows > 0 THEN by_order[1:7] END) THEN 'equal' ELSE format('%s and not %s', found_in_order, by_order[1:7]) END
			WHEN found IS DISTINCT FROM wanted THEN format('%s rows', coalesce(cardinality(found), 0))
			WHEN i = 3 AND found_in_order IS DISTINCT FROM by_order THEN 'other distances'
			ELSE 'equal' END;
		plain := CASE i WHEN 1 THEN line ELSE plain END;
		bitmap := CASE i WHEN 2 THEN line ELSE bitmap END;
		ordered := CASE i WHEN 3 THEN line ELSE ordered END;
		nearest := CASE i WHEN 4 THEN line ELSE nearest END;
	END LOOP;
	DROP INDEX item_i;
	RETURN NEXT;
END $$;
SELECT c.* FROM (VALUES ('vector', 'float32'), ('vector', 'int8'), ('halfvec', 'float16'), ('halfvec', 'int8')) t(type, storage),
	(VALUES ('l2', 1.5), ('ip', -2.5), ('cosine', 0.1), ('l1', 2.25)) m(metric, radius), compare(type || '_' || metric || '_ops', storage, radius) c;
-- none, all but those whose distance is NaN, one
SELECT radius, c.* FROM unnest(ARRAY['NaN', -1, 0.75, 'Infinity']::float8[]) radius, compare('vector_l2_ops', 'float16', radius) c;
SELECT radius, c.* FROM unnest(ARRAY[0, 'Infinity']::float8[]) radius, compare('vector_cosine_ops', 'float32', radius) c;

-- no angle to the center: the distance of every row is NaN
CREATE INDEX item_i ON item USING hybrid (v vector_cosine_ops) WITH (storage = float32);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM item WHERE v <<=>> hybrid_sphere('[0,0,0,0]', 'Infinity');
SELECT id FROM item WHERE v <<=>> hybrid_sphere('[0,0,0,0]', 'Infinity');
SELECT id FROM item WHERE v <<=>> hybrid_sphere('[0,0,0,0]', 'Infinity') ORDER BY v <=> '[0,0,0,0]';
RESET hybrid.target_recall;
SELECT id FROM item WHERE v <<=>> hybrid_sphere('[0,0,0,0]', 'Infinity') ORDER BY v <=> '[0,0,0,0]';
SET hybrid.target_recall = 1;
RESET enable_seqscan;
DROP INDEX item_i;

-- infinitely far is within an infinite radius only
CREATE TABLE far (id int, v vector(2));
INSERT INTO far VALUES (1, '[3e38,-3e38]'), (2, '[1,1]'), (3, '[-3e38,3e38]');
CREATE INDEX far_v ON far USING hybrid (v) WITH (storage = float32);
SET enable_seqscan = off;
SELECT id, v <-> '[3e38,-3e38]' AS distance FROM far WHERE v <<->> hybrid_sphere('[3e38,-3e38]', 'Infinity') ORDER BY v <-> '[3e38,-3e38]', id;
SELECT id FROM far WHERE v <<->> hybrid_sphere('[3e38,-3e38]', 1e300);
RESET enable_seqscan;

-- an inner product that the stored copy does not bound
CREATE TABLE huge (id int, v vector(2));
INSERT INTO huge VALUES (1, '[1.4e19,1e17]'), (2, '[1,1]'), (3, '[1.5e19,1e17]');
CREATE INDEX huge_v ON huge USING hybrid (v vector_ip_ops) WITH (storage = float16);
SET enable_seqscan = off;
SET enable_sort = off;
SET hybrid.target_recall = 0.9;
SELECT id FROM huge WHERE v <<#>> hybrid_sphere('[1.5e19,0]', -1e30) ORDER BY v <#> '[1.5e19,0]';
SET hybrid.target_recall = 1;
RESET enable_sort;
RESET enable_seqscan;

-- where codes are searched, a condition without an order is complete all the same, and one in order stops at its radius
CREATE INDEX item_v ON item USING hybrid (v);
SET enable_seqscan = off;
SET hybrid.target_recall = 0.9;
SET hybrid.iterative_scan = off;
SELECT count(*) FROM item WHERE v <<->> hybrid_sphere('[1,0.5,-0.25,0.1]', 1.5);
RESET hybrid.iterative_scan;
SELECT count(*) > 35 AS most, bool_and(d <= 1.5) AS within FROM
	(SELECT v <-> '[1,0.5,-0.25,0.1]' AS d FROM item WHERE v <<->> hybrid_sphere('[1,0.5,-0.25,0.1]', 1.5) ORDER BY v <-> '[1,0.5,-0.25,0.1]') s;
SET hybrid.target_recall = 1;

-- two spheres; one that is not around the query; a parameter; a sphere for every row of a table; NULL
EXPLAIN (COSTS OFF) SELECT id FROM item WHERE v <<->> hybrid_sphere('[1,1,1,1]', 1) AND v <<->> hybrid_sphere('[1,1,1,0]', 0.75) ORDER BY v <-> '[1,1,1,1]';
SELECT array_agg(id ORDER BY id), bool_and(d <= next) AS in_order FROM (SELECT id, d, lead(d, 1, 1) OVER () AS next FROM (SELECT id, v <-> '[1,1,1,1]' AS d FROM item
	WHERE v <<->> hybrid_sphere('[1,1,1,1]', 1) AND v <<->> hybrid_sphere('[1,1,1,0]', 0.75) ORDER BY v <-> '[1,1,1,1]') o) s;
SELECT array_agg(id ORDER BY id) FROM item WHERE (v <-> '[1,1,1,1]') + 0 <= 1 AND (v <-> '[1,1,1,0]') + 0 <= 0.75;
SELECT array_agg(d) FROM (SELECT v <-> '[-1,-1,-1,-1]' AS d FROM item WHERE v <<->> hybrid_sphere('[1,1,1,1]', 1) AND id % 2 = 0 ORDER BY v <-> '[-1,-1,-1,-1]' LIMIT 5) s;
SELECT array_agg(d) FROM (SELECT (v <-> '[-1,-1,-1,-1]') + 0 AS d FROM item WHERE (v <-> '[1,1,1,1]') + 0 <= 1 AND id % 2 = 0 ORDER BY 1 LIMIT 5) s;
-- one or the other of two
EXPLAIN (COSTS OFF) SELECT count(*) FROM item WHERE v <<->> ANY (ARRAY[hybrid_sphere('[1,1,1,1]', 1), hybrid_sphere('[-1,0,0,1]', 0.75)]);
SELECT count(*) FROM item WHERE v <<->> ANY (ARRAY[hybrid_sphere('[1,1,1,1]', 1), hybrid_sphere('[-1,0,0,1]', 0.75)]);
EXPLAIN (COSTS OFF) SELECT count(*) FROM item WHERE v <<->> hybrid_sphere('[1,1,1,1]', 1) OR v <<->> hybrid_sphere('[-1,0,0,1]', 0.75);
SELECT count(*), (SELECT count(*) FROM item WHERE (v <-> '[1,1,1,1]') + 0 <= 1 OR (v <-> '[-1,0,0,1]') + 0 <= 0.75) AS counted
FROM item WHERE v <<->> hybrid_sphere('[1,1,1,1]', 1) OR v <<->> hybrid_sphere('[-1,0,0,1]', 0.75);
PREPARE around(vector, float8) AS SELECT count(*) FROM item WHERE v <<->> hybrid_sphere($1, $2);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE around('[1,1,1,1]', 1);
EXECUTE around('[1,1,1,1]', 1);
EXECUTE around('[1,1,1,1]', NULL);
EXECUTE around('[1,1,1]', 1);
RESET plan_cache_mode;
SELECT q.id, (SELECT count(*) FROM item n WHERE n.v <<->> hybrid_sphere(q.v, 0.75)) AS neighbours,
	(SELECT count(*) FROM item n WHERE (n.v <-> q.v) + 0 <= 0.75) AS counted FROM item q WHERE id IN (5, 6, 7, 3001) ORDER BY id;
SELECT count(*) FROM item WHERE v <<->> ROW('[1,1,1,1]', NULL)::hybrid_sphere;
SELECT count(*) FROM item WHERE v <<->> hybrid_sphere('[1,1,1,1]', 1) AND v <<->> hybrid_sphere('[1,1,1,1]', 'NaN');
SELECT count(*) FROM (SELECT id FROM item WHERE v <<->> hybrid_sphere('[1,1,1,1]', 0.5) ORDER BY v <-> NULL) s;

-- how many rows are expected: from the statistics of the column
RESET enable_seqscan;
CREATE FUNCTION expected(statement text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || statement INTO plan;
	RETURN plan->0->'Plan'->'Plan Rows';
END $$;
SELECT radius, abs(expected(format('SELECT id FROM item WHERE v <<->> hybrid_sphere(''[0,0,0,0]'', %s)', radius)) - (SELECT count(*) FROM item WHERE v <-> '[0,0,0,0]' <= radius)) < 150 AS near
FROM unnest(ARRAY[0.1, 2, 2.5, 3, 1000]) radius;

-- a cursor, VACUUM, a table that has spheres
SET enable_seqscan = off;
BEGIN;
DECLARE c CURSOR FOR SELECT v <-> '[1,1,1,1]' <= 1.25 AS within FROM item WHERE v <<->> hybrid_sphere('[1,1,1,1]', 1.25);
FETCH 2 FROM c;
DELETE FROM item;
FETCH 2 FROM c;
ROLLBACK;
DELETE FROM item WHERE id % 2 = 0;
VACUUM item;
SELECT count(*), (SELECT count(*) FROM item WHERE (v <-> '[1,1,1,1]') + 0 <= 1.25) AS counted FROM item WHERE v <<->> hybrid_sphere('[1,1,1,1]', 1.25);
CREATE TABLE ball (id int, s hybrid_sphere);
INSERT INTO ball SELECT i, hybrid_sphere(ARRAY[i, 0, 0, 0]::vector, i / 2.0) FROM generate_series(-1, 2) i;
SELECT ball.id, count(item.id) FROM ball LEFT JOIN item ON v <<->> s GROUP BY ball.id ORDER BY 1;

-- an operator class whose condition is none
CREATE OPERATOR FAMILY wrong USING hybrid;
CREATE OPERATOR CLASS wrong FOR TYPE vector USING hybrid FAMILY wrong AS
	OPERATOR 1 <-> (vector, vector) FOR ORDER BY pg_catalog.float_ops, OPERATOR 2 = (vector, vector), FUNCTION 1 _hybrid_index_l2(internal);
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'wrong';
DROP OPERATOR FAMILY wrong USING hybrid CASCADE;
DROP TABLE item, far, huge, ball;
DROP FUNCTION compare, expected;
