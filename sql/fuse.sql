-- hybrid_fuse: two ranked lists of ids as one
\set VERBOSITY terse
SELECT id, round(score::numeric, 6) AS score, rank_a, rank_b FROM hybrid_fuse(ARRAY[7, 3, 9], ARRAY[3, 5, 7]);
-- the formula, on many random lists
CREATE TABLE fuse_list AS
	SELECT l.list, s.id, row_number() OVER (PARTITION BY l.list ORDER BY hashint8(s.id * 10 + l.list), s.id) AS rank
	FROM (VALUES (1), (2)) l (list), generate_series(1, 3000) s (id) WHERE hashint8(s.id * 100 + l.list) % 3 <> 0;
WITH plain AS (
	SELECT id, coalesce(0.7::float8 / (10 + a.rank), 0) + coalesce(0.2::float8 / (10 + b.rank), 0) AS score, a.rank AS rank_a, b.rank AS rank_b
	FROM (SELECT * FROM fuse_list WHERE list = 1) a FULL JOIN (SELECT * FROM fuse_list WHERE list = 2) b USING (id)
), numbered AS (
	SELECT *, row_number() OVER (ORDER BY score DESC, id) AS n FROM plain
)
SELECT count(*) > 2500 AS many, count(*) FILTER (WHERE p.id IS DISTINCT FROM f.id OR p.score IS DISTINCT FROM f.score
	OR p.rank_a IS DISTINCT FROM f.rank_a OR p.rank_b IS DISTINCT FROM f.rank_b) AS different
FROM numbered p FULL JOIN
	hybrid_fuse((SELECT array_agg(id ORDER BY rank) FROM fuse_list WHERE list = 1),
		(SELECT array_agg(id ORDER BY rank) FROM fuse_list WHERE list = 2), 0.7, 0.2, 10) WITH ORDINALITY f (id, score, rank_a, rank_b, n) USING (n);
-- weights, the constant, and the number of rows
SELECT id, score FROM hybrid_fuse(ARRAY[1, 2], ARRAY[2, 1], weight_a => 2, rank_constant => 0);
SELECT id, score FROM hybrid_fuse(ARRAY[1, 2], ARRAY[3], weight_a => 0, rank_constant => 1);
SELECT id FROM hybrid_fuse(ARRAY[1, 2, 3], ARRAY[3, 4], k => 2);
SELECT count(*) FROM hybrid_fuse(ARRAY[1, 2, 3], ARRAY[3, 4], k => 2147483647);
-- ties are ordered by id, at both ends of the type
SELECT id, rank_a, rank_b FROM hybrid_fuse(ARRAY[9223372036854775807], ARRAY[-9223372036854775808]);
-- empty lists
SELECT * FROM hybrid_fuse('{}', NULL);
SELECT id, rank_a, rank_b FROM hybrid_fuse(NULL, ARRAY[4]);
SELECT id, rank_a, rank_b FROM hybrid_fuse(ARRAY[4], '{}');
SELECT * FROM hybrid_fuse(ARRAY[NULL]::bigint[], '{}');
-- of an id given twice, the first position counts; NULL elements keep their positions
SELECT id, rank_a, rank_b FROM hybrid_fuse(ARRAY[5, 5, 6, 5], ARRAY[NULL, 6, 7, 6]);
-- what is refused
SELECT * FROM hybrid_fuse(ARRAY[1], ARRAY[1], weight_a => -1);
SELECT * FROM hybrid_fuse(ARRAY[1], ARRAY[1], weight_b => 'NaN');
SELECT * FROM hybrid_fuse(ARRAY[1], ARRAY[1], weight_b => NULL);
SELECT * FROM hybrid_fuse(ARRAY[1], ARRAY[1], rank_constant => 'infinity');
SELECT * FROM hybrid_fuse(ARRAY[1], ARRAY[1], rank_constant => -0.5);
SELECT * FROM hybrid_fuse(ARRAY[1], ARRAY[1], k => 0);
SELECT * FROM hybrid_fuse(ARRAY[1], ARRAY[[1], [2]]);
SELECT * FROM hybrid_fuse(ARRAY[1], ARRAY[1], 1.7e308, 1.7e308, 0);
-- as it is declared: a query that searches by it may be parallel, and its rows are estimated
SELECT provolatile, proparallel, proisstrict, prorows FROM pg_proc WHERE proname = 'hybrid_fuse';
-- each row of a query fuses its own lists
SELECT q, f.id FROM (VALUES (1, ARRAY[1, 2]::bigint[]), (2, ARRAY[2, 3])) v (q, ids), LATERAL hybrid_fuse(v.ids, ARRAY[3], k => 1) f;
DROP TABLE fuse_list;
