-- How many rows are expected within a sphere, of columns whose values have not all the same dimensions: a plan is made
-- wherever the statement itself succeeds.
SET jit = off;
CREATE FUNCTION expected(statement text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || statement INTO plan;
	RETURN plan->0->'Plan'->'Plan Rows';
END $$;

-- 1,000 of two dimensions, 1,000 of three of which 400 are one vector, and 200 NULLs
CREATE TABLE mixed (id int, v vector, h halfvec);
ALTER TABLE mixed ALTER v SET STATISTICS 1000, ALTER h SET STATISTICS 1000;
INSERT INTO mixed SELECT i, ARRAY[hashint4extended(i, 1) % 1000, 1]::real[]::vector FROM generate_series(1, 1000) i;
INSERT INTO mixed SELECT i, ARRAY[CASE WHEN i % 5 < 2 THEN 0 ELSE hashint4extended(i, 1) % 1000 END, 2, 3]::real[]::vector FROM generate_series(1001, 2000) i;
INSERT INTO mixed SELECT i FROM generate_series(2001, 2200) i;
UPDATE mixed SET h = v::halfvec;
VACUUM ANALYZE mixed;
EXPLAIN (COSTS OFF) SELECT count(*) FROM mixed WHERE vector_dims(v) = 3 AND v <<->> hybrid_sphere('[1,2,3]', 2);
SELECT count(*) FROM mixed WHERE vector_dims(v) = 3 AND v <<->> hybrid_sphere('[1,2,3]', 2);
-- all operators of both types, a center of either, and one that no row can be compared with
CREATE FUNCTION planned(what text, center text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	RETURN expected(format('SELECT id FROM mixed WHERE %s hybrid_sphere(%L, 2)', what, center)) BETWEEN 1 AND 2000;
END $$;
SELECT c || ' ' || op AS what, planned(c || ' ' || op, '[1,2,3]') AS three, planned(c || ' ' || op, '[1,2]') AS two, planned(c || ' ' || op, '[1]') AS none
FROM unnest(ARRAY['v', 'h']) c, unnest(ARRAY['<<->>', '<<#>>', '<<=>>', '<<+>>']) WITH ORDINALITY o(op, n) ORDER BY c DESC, n;
-- the share of those that can be compared counts for all 2,000: none, four tenths, seven, all
SELECT c, radius, expected(format('SELECT id FROM mixed WHERE %s <<->> hybrid_sphere(''[0,2,3]'', %s)', c, radius)) BETWEEN least AND most AS near
FROM unnest(ARRAY['v', 'h']) c, (VALUES (-1, 0, 50), (0.5, 750, 850), (500, 1250, 1550), (1000000, 1900, 2000)) r(radius, least, most) ORDER BY c DESC, radius;
-- and where all can be compared it is what matchingsel says
CREATE OPERATOR <<~>> (LEFTARG = vector, RIGHTARG = hybrid_sphere, FUNCTION = vector_within_l2, RESTRICT = matchingsel, JOIN = matchingjoinsel);
CREATE TABLE plain AS SELECT id, v FROM mixed WHERE id > 1000;
CREATE TABLE short AS SELECT id, v FROM plain WHERE id BETWEEN 1000 AND 1080;
CREATE TABLE unknown AS SELECT * FROM plain;
ANALYZE plain;
ANALYZE short;
SELECT t, count(*), count(*) FILTER (WHERE expected(format('SELECT id FROM %I WHERE v <<->> hybrid_sphere(''[0,2,3]'', %s)', t, radius)) =
	expected(format('SELECT id FROM %I WHERE v <<~>> hybrid_sphere(''[0,2,3]'', %s)', t, radius))) AS equal
FROM unnest(ARRAY['plain', 'short', 'unknown']) t, unnest(ARRAY[-1, 0.5, 10, 100, 400, 500, 900, 1000000]) radius GROUP BY t ORDER BY t;

-- NULL, fields that are, a parameter, one of several
SELECT expected('SELECT id FROM mixed WHERE v <<->> NULL::hybrid_sphere') AS rows;
SELECT expected(format('SELECT id FROM mixed WHERE v <<->> ROW(%s)::hybrid_sphere', r)) < 10 AS few FROM unnest(ARRAY['NULL, 1', '''[1,2,3]'', NULL', 'NULL, NULL']) r;
PREPARE around(vector, float8) AS SELECT count(*) FROM mixed WHERE vector_dims(v) = 3 AND v <<->> hybrid_sphere($1, $2);
SET plan_cache_mode = force_custom_plan;
EXECUTE around('[0,2,3]', 0.5);
EXECUTE around('[0,2,3]', NULL);
SET plan_cache_mode = force_generic_plan;
EXECUTE around('[0,2,3]', 0.5);
RESET plan_cache_mode;
SELECT count(*) FROM mixed WHERE vector_dims(v) = 3 AND v <<->> ANY (ARRAY[hybrid_sphere('[0,2,3]', 0.5), hybrid_sphere('[3,2,3]', 1), NULL]);
-- what raises when it runs is planned all the same
EXPLAIN (COSTS OFF) SELECT count(*) FROM mixed WHERE v <<->> hybrid_sphere('[1,2,3,4]', 2);
SELECT count(*) FROM mixed WHERE v <<->> hybrid_sphere('[1,2,3,4]', 2);

-- a column of spheres, also without a center or a radius, and joins
CREATE TABLE ball (id int, s hybrid_sphere);
ALTER TABLE ball ALTER s SET STATISTICS 1000;
INSERT INTO ball SELECT i, hybrid_sphere((ARRAY['[0,2,3]', '[1,2]'])[1 + i % 2]::vector, i) FROM generate_series(1, 300) i;
INSERT INTO ball SELECT i, ROW(CASE WHEN i % 2 = 0 THEN '[1,2]'::vector END, CASE WHEN i % 3 = 0 THEN i END)::hybrid_sphere FROM generate_series(301, 330) i;
ANALYZE ball;
SELECT expected('SELECT id FROM ball WHERE ''[150,2,3]''::vector <<->> s') BETWEEN 100 AND 220 AS half;
SELECT count(*) FROM ball WHERE vector_dims((s).center) = 3 AND '[150,2,3]'::vector <<->> s;
SELECT count(*) FROM mixed JOIN ball ON vector_dims(v) = vector_dims((s).center) AND v <<->> s WHERE ball.id < 5;
SELECT expected('SELECT FROM mixed JOIN ball ON v <<->> s') > 1 AS joined, expected('SELECT FROM mixed JOIN ball ON h <<=>> s') > 1 AS halves;
SELECT count(*) FROM ball b, LATERAL (SELECT FROM mixed m WHERE vector_dims(m.v) = 3 AND m.v <<->> b.s OFFSET 0) x WHERE b.id IN (2, 4);

-- with an index, on an expression
CREATE INDEX mixed_v ON mixed USING hybrid ((v::vector(3))) WHERE vector_dims(v) = 3;
ANALYZE mixed;
SET enable_seqscan = off;
SET hybrid.target_recall = 1;
EXPLAIN (COSTS OFF) SELECT count(*) FROM mixed WHERE vector_dims(v) = 3 AND v::vector(3) <<->> hybrid_sphere('[0,2,3]', 100);
SELECT count(*) FROM mixed WHERE vector_dims(v) = 3 AND v::vector(3) <<->> hybrid_sphere('[0,2,3]', 100);
RESET enable_seqscan;

-- nobody learns from a plan what row security hides
CREATE ROLE hybrid_estimates;
GRANT SELECT ON plain TO hybrid_estimates;
ALTER TABLE plain ENABLE ROW LEVEL SECURITY;
CREATE POLICY odd ON plain USING (id % 2 = 1);
SET ROLE hybrid_estimates;
SELECT count(DISTINCT expected(format('SELECT id FROM plain WHERE v <<->> hybrid_sphere(''[0,2,3]'', %s)', radius))) AS estimates FROM unnest(ARRAY[-1, 0.5, 500, 1000000]) radius;
RESET ROLE;

-- every operator of spheres goes by it
SELECT count(*), count(*) FILTER (WHERE oprrest = '_hybrid_within_selectivity'::regproc AND oprjoin = 'matchingjoinsel'::regproc) AS by_it
FROM pg_operator WHERE oprright = 'hybrid_sphere'::regtype AND oprname <> '<<~>>';
DROP TABLE mixed, plain, short, unknown, ball;
DROP OPERATOR <<~>> (vector, hybrid_sphere);
DROP FUNCTION expected, planned;
DROP ROLE hybrid_estimates;
