-- MaxSim: arrays of vectors, one of a query and one of a document.

SELECT hybrid_maxsim(ARRAY['[1,0]','[0,1]']::vector[], ARRAY['[2,0]','[1,1]','[0,3]']::vector[]),
	hybrid_maxsim(ARRAY['[1,0]','[0,1]']::halfvec[], ARRAY['[2,0]','[1,1]','[0,3]']::halfvec[]);
-- The operator has the document on its left, and the best document has the smallest value.
SELECT ARRAY['[2,0]','[1,1]','[0,3]']::vector[] @# ARRAY['[1,0]','[0,1]']::vector[],
	ARRAY['[2,0]','[1,1]','[0,3]']::halfvec[] @# ARRAY['[1,0]','[0,1]']::halfvec[],
	hybrid_maxsim_distance(ARRAY['[1,0]']::vector[], ARRAY['[1,0]','[2,0]']::vector[]);
-- The largest may be negative, and nothing is -0.
SELECT hybrid_maxsim(ARRAY['[1]']::vector[], ARRAY['[-3]','[-2]']::vector[]), ARRAY['[0]']::vector[] @# ARRAY['[1]']::vector[];

-- An array without a vector has no MaxSim, as NULL has none.
SELECT hybrid_maxsim('{}'::vector[], ARRAY['[1]']::vector[]) IS NULL, hybrid_maxsim(ARRAY['[1]']::vector[], '{}') IS NULL,
	'{}'::halfvec[] @# '{}'::halfvec[] IS NULL, NULL::vector[] @# ARRAY['[1]']::vector[] IS NULL;
-- An array may begin anywhere.
SELECT hybrid_maxsim('[0:1]={"[1,0]","[0,1]"}'::vector[], '[-5:-5]={"[1,2]"}'::vector[]);

-- Bad input.
SELECT hybrid_maxsim(ARRAY['[1]',NULL]::vector[], ARRAY['[1]']::vector[]);
SELECT ARRAY['[1]',NULL]::halfvec[] @# ARRAY['[1]']::halfvec[];
SELECT hybrid_maxsim(ARRAY['[1]','[1,2]']::vector[], ARRAY['[1]']::vector[]);
SELECT hybrid_maxsim(ARRAY['[1]']::halfvec[], ARRAY['[1,2]','[1]','[3,4]']::halfvec[]);
SELECT hybrid_maxsim(ARRAY['[1]']::vector[], ARRAY['[1,2]']::vector[]);
SELECT ARRAY['[1]']::halfvec[] @# ARRAY['[1,2]']::halfvec[];
SELECT hybrid_maxsim(ARRAY[ARRAY['[1]','[2]']]::vector[], ARRAY['[1]']::vector[]);
SELECT hybrid_maxsim('{}'::vector[], ARRAY['[1]',NULL]::vector[]);

-- Beyond single precision: infinity is the largest, and NaN does not count unless there is nothing else.
SELECT hybrid_maxsim(ARRAY['[3e38,3e38]']::vector[], ARRAY['[1,1]','[2,0]','[-2,-2]']::vector[]) AS inf,
	hybrid_maxsim(ARRAY['[3e38,3e38]']::vector[], ARRAY['[-2,-2]']::vector[]) AS minus,
	hybrid_maxsim(ARRAY['[3e38,3e38]']::vector[], ARRAY['[2,-2]','[0,1]']::vector[]) AS other,
	hybrid_maxsim(ARRAY['[3e38,3e38]']::vector[], ARRAY['[2,-2]']::vector[]) AS "NaN",
	ARRAY['[2,2]']::vector[] @# ARRAY['[3e38,3e38]','[-3e38,-3e38]']::vector[] AS both;

-- Documents of 1 to 90 vectors, 33 dimensions; some are stored out of line, some compressed.
CREATE FUNCTION v(seed int, n int) RETURNS vector[] IMMUTABLE LANGUAGE sql AS
	$$SELECT array_agg((SELECT array_agg(round(sin(seed * 7919 + i * 131 + j * 17.3)::numeric, 3)) FROM generate_series(1, 33) j)::vector ORDER BY i) FROM generate_series(1, n) i$$;
CREATE TABLE page (id int, d vector(33)[], h halfvec(33)[]);
INSERT INTO page SELECT i, v(i, i), v(i, i)::halfvec[] FROM generate_series(1, 90) i;
INSERT INTO page VALUES (91, '{}', '{}'), (92, NULL, NULL);
CREATE TABLE asked AS SELECT n AS id, v(1000 + n, n) AS q FROM unnest(ARRAY[1, 3, 15, 16, 17, 32, 40]) n;
-- The definition, by single inner products.
CREATE VIEW slow AS SELECT p.id, a.id AS asked,
		(SELECT sum(best ORDER BY i) FROM (SELECT i, max(inner_product(x, y)) AS best
			FROM unnest(a.q) WITH ORDINALITY x(x, i), unnest(p.d) y GROUP BY i) s) AS maxsim,
		(SELECT sum(best ORDER BY i) FROM (SELECT i, max(inner_product(x, y)) AS best
			FROM unnest(a.q::halfvec[]) WITH ORDINALITY x(x, i), unnest(p.h) y GROUP BY i) s) AS half
	FROM page p, asked a;
SELECT count(*), count(*) FILTER (WHERE s.maxsim IS NOT DISTINCT FROM hybrid_maxsim(a.q, p.d) AND -s.maxsim IS NOT DISTINCT FROM p.d @# a.q) AS same,
	count(*) FILTER (WHERE s.half IS NOT DISTINCT FROM hybrid_maxsim(a.q::halfvec[], p.h) AND -s.half IS NOT DISTINCT FROM p.h @# a.q::halfvec[]) AS halves
	FROM slow s JOIN page p USING (id) JOIN asked a ON a.id = s.asked;
-- A constant query, whichever side it is on; and a constant document.
SELECT count(*), count(*) FILTER (WHERE s.maxsim = hybrid_maxsim(a.q, d)) AS same
	FROM slow s, asked a, page p WHERE a.id = s.asked AND p.id = s.id AND p.id BETWEEN 20 AND 25;
DO $$
DECLARE
	q vector[] := (SELECT q FROM asked WHERE id = 32);
	d vector[] := (SELECT d FROM page WHERE id = 50);
	different int;
BEGIN
	EXECUTE format('SELECT count(*) FROM slow JOIN page USING (id) WHERE asked = 32 AND (maxsim <> hybrid_maxsim(%1$L::vector[], d) OR maxsim <> -(d @# %1$L::vector[]))', q)
		INTO different;
	RAISE NOTICE 'a constant query: % differ', different;
	EXECUTE format('SELECT count(*) FROM slow s JOIN asked a ON a.id = s.asked WHERE s.id = 50 AND (maxsim <> hybrid_maxsim(q, %1$L::vector[]) OR maxsim <> -(%1$L::vector[] @# q))', d)
		INTO different;
	RAISE NOTICE 'a constant document: % differ', different;
END
$$;
-- Every other row another query, for one document: what was prepared for one query is not used for another.
SELECT count(DISTINCT m) FROM (SELECT hybrid_maxsim(CASE WHEN id % 2 = 0 THEN (SELECT q FROM asked WHERE id = 32) ELSE (SELECT q[2:33] FROM asked WHERE id = 40) END, d) AS m
	FROM (SELECT id, (SELECT d FROM page WHERE id = 60) AS d FROM page WHERE id <= 10) s) t;
-- The same with plain C kernels.
SELECT sum(hybrid_maxsim(q, d)) AS with_best FROM page, asked \gset
SET hybrid.simd = scalar;
SELECT sum(hybrid_maxsim(q, d)) = :'with_best'::float8 AS same FROM page, asked;
RESET hybrid.simd;

-- The best documents first; those without a vector last.
SELECT id, round((d @# q)::numeric, 3) FROM page, (SELECT q FROM asked WHERE id = 16) a ORDER BY d @# q, id LIMIT 3;
SELECT id FROM page, (SELECT q FROM asked WHERE id = 16) a ORDER BY d @# q, id OFFSET 90;

-- A statement that is canceled stops.
SET statement_timeout = '50ms';
SELECT hybrid_maxsim(array_fill(array_fill(1, ARRAY[1000])::vector, ARRAY[20000]), array_fill(array_fill(1, ARRAY[1000])::vector, ARRAY[20000]));
RESET statement_timeout;

DROP VIEW slow;
DROP TABLE page, asked;
DROP FUNCTION v;
