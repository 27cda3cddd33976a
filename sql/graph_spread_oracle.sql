-- Activation spreading against queries with one GROUP BY a hop, on 4000 edges.
CREATE TABLE rel AS
SELECT (i * 7919 % 601)::bigint AS src, ((i * i + 31 * i) % 997 - 300)::bigint AS dst,
	((i * 31 % 97 + 1) / 16.0)::real AS weight, (ARRAY['isa', 'part', 'like'])[i % 3 + 1] AS kind
FROM generate_series(1, 4000) i;
SELECT count(*), count(DISTINCT (src, dst)) AS pairs, count(*) FILTER (WHERE src = dst) AS loops FROM rel;

-- one hop: what moves along the edges of table e, whose t is decay * w / s^fan
CREATE FUNCTION hop_edges(direction text, kinds text[], decay float8, fan float8)
RETURNS TABLE (i bigint, j bigint, t float8) LANGUAGE sql STABLE AS $$
	WITH both_ways AS (
		SELECT src AS i, dst AS j, weight FROM rel
		WHERE direction <> 'in' AND (kinds IS NULL OR kind = ANY (kinds))
		UNION ALL
		SELECT dst, src, weight FROM rel
		WHERE direction <> 'out' AND (kinds IS NULL OR kind = ANY (kinds))
	), summed AS (
		SELECT i, j, sum(weight::float8) AS w FROM both_ways GROUP BY i, j
	), leaving AS (
		SELECT i, sum(w) AS s FROM summed GROUP BY i
	)
	SELECT i, j, decay * w / power(s, fan) FROM summed JOIN leaving USING (i)
$$;

-- four hops unrolled; a node fires at most refire times
CREATE FUNCTION oracle(seeds bigint[], hops int, decay float8, fan float8, threshold float8,
	refire int, combine text, direction text, kinds text[])
RETURNS TABLE (id bigint, activation float8, hop int) LANGUAGE sql STABLE AS $$
	WITH e AS MATERIALIZED (SELECT * FROM hop_edges(direction, kinds, decay, fan)),
	y0 AS (SELECT s AS n, count(*)::float8 AS y FROM unnest(seeds) s GROUP BY s),
	f0 AS (SELECT * FROM y0 WHERE y >= threshold AND hops > 0),
	y1 AS (SELECT j AS n, CASE combine WHEN 'sum' THEN sum(y * t) ELSE max(y * t) END AS y
		FROM f0 JOIN e ON n = i GROUP BY j),
	f1 AS (SELECT * FROM y1 WHERE y >= threshold AND hops > 1
		AND (refire IS NULL OR (SELECT count(*) FROM f0 WHERE f0.n = y1.n) < refire)),
	y2 AS (SELECT j AS n, CASE combine WHEN 'sum' THEN sum(y * t) ELSE max(y * t) END AS y
		FROM f1 JOIN e ON n = i GROUP BY j),
	f2 AS (SELECT * FROM y2 WHERE y >= threshold AND hops > 2
		AND (refire IS NULL OR (SELECT count(*) FROM (TABLE f0 UNION ALL TABLE f1) f WHERE f.n = y2.n) < refire)),
	y3 AS (SELECT j AS n, CASE combine WHEN 'sum' THEN sum(y * t) ELSE max(y * t) END AS y
		FROM f2 JOIN e ON n = i GROUP BY j),
	f3 AS (SELECT * FROM y3 WHERE y >= threshold AND hops > 3
		AND (refire IS NULL OR (SELECT count(*) FROM (TABLE f0 UNION ALL TABLE f1 UNION ALL TABLE f2) f WHERE f.n = y3.n) < refire)),
	y4 AS (SELECT j AS n, CASE combine WHEN 'sum' THEN sum(y * t) ELSE max(y * t) END AS y
		FROM f3 JOIN e ON n = i GROUP BY j),
	y AS (SELECT n, y, 0 AS h FROM y0 UNION ALL SELECT n, y, 1 FROM y1 UNION ALL
		SELECT n, y, 2 FROM y2 UNION ALL SELECT n, y, 3 FROM y3 UNION ALL SELECT n, y, 4 FROM y4)
	SELECT n, CASE combine WHEN 'sum' THEN sum(y) ELSE max(y) END, min(h) FROM y WHERE y > 0 GROUP BY n
$$;

-- rows of either that the other does not have, or has otherwise
SELECT c.*, count(*) AS rows,
	count(*) FILTER (WHERE a IS NULL OR o IS NULL) AS missing,
	count(*) FILTER (WHERE abs((a).activation - (o).activation) > 1e-12 * (o).activation) AS unequal,
	count(*) FILTER (WHERE (a).hop <> (o).hop) AS hops_unequal
FROM (VALUES
	(1, 4, 0.85, 1.0, 0.0, NULL::int, 'sum', 'out', NULL::text[]),
	(2, 0, 0.85, 1.0, 0.0, NULL, 'sum', 'out', NULL),
	(3, 1, 0.85, 1.0, 0.0, NULL, 'sum', 'out', NULL),
	(4, 3, 0.5, 0.5, 0.0, NULL, 'sum', 'out', NULL),
	(5, 3, 0.5, 0.0, 0.0, NULL, 'sum', 'out', NULL),
	(6, 4, 0.85, 1.0, 0.0, NULL, 'sum', 'in', NULL),
	(7, 4, 0.85, 1.0, 0.0, NULL, 'sum', 'both', NULL),
	(8, 4, 0.85, 1.0, 0.031, NULL, 'sum', 'out', NULL),
	(9, 4, 0.85, 1.0, 0.0, 1, 'sum', 'both', NULL),
	(10, 4, 0.85, 1.0, 0.0, 2, 'sum', 'both', NULL),
	(11, 4, 0.85, 0.5, 0.4, 1, 'sum', 'both', NULL),
	(12, 4, 0.85, 1.0, 0.0, NULL, 'max', 'out', NULL),
	(13, 4, 0.85, 0.5, 0.0, NULL, 'max', 'both', NULL),
	(14, 4, 0.85, 1.0, 0.0, NULL, 'sum', 'out', '{isa}'),
	(15, 4, 0.85, 1.0, 0.0, 1, 'max', 'both', '{isa,like}')
) c (n, hops, decay, fan, threshold, refire, combine, direction, kinds),
LATERAL (SELECT array_agg(i * 37 % 601)::bigint[] AS seeds FROM generate_series(1, c.n) i) s,
LATERAL (
	SELECT a, o FROM hybrid_spread('SELECT src, dst, weight, kind FROM rel', s.seeds, NULL, c.hops, c.decay, c.fan, 0,
		c.threshold, c.refire, c.combine, c.direction, c.kinds) a
	FULL JOIN oracle(s.seeds, c.hops, c.decay, c.fan, c.threshold, c.refire, c.combine,
		c.direction, c.kinds) o USING (id)
) both_ways (a, o)
GROUP BY c.n, c.hops, c.decay, c.fan, c.threshold, c.refire, c.combine, c.direction, c.kinds
ORDER BY c.n;

-- what is switched in these cases does make a difference
SELECT count(DISTINCT total) AS different
FROM (VALUES (0.0, NULL::int, 'sum', 'out', NULL::text[]), (0.031, NULL, 'sum', 'out', NULL),
	(0.0, 1, 'sum', 'out', NULL), (0.0, 2, 'sum', 'out', NULL), (0.0, NULL, 'max', 'out', NULL),
	(0.0, NULL, 'sum', 'in', NULL), (0.0, NULL, 'sum', 'both', NULL), (0.0, NULL, 'sum', 'out', '{isa}')
) c (threshold, refire, combine, direction, kinds),
LATERAL (SELECT round(sum(activation)::numeric, 6) AS total
	FROM hybrid_spread('SELECT src, dst, weight, kind FROM rel', '{37,74,111}', NULL, 4, 0.85, 1, 0,
		c.threshold, c.refire, c.combine, c.direction, c.kinds)) t;

-- the order of the edges does not matter, to the bit
SELECT count(*) AS rows, bool_and(a.activation = b.activation AND a.hop = b.hop) AS equal
FROM hybrid_spread('SELECT src, dst, weight FROM rel ORDER BY src, dst, weight', '{37,74}', hops => 6) a
FULL JOIN hybrid_spread('SELECT src, dst, weight FROM rel ORDER BY dst DESC, weight DESC', '{74,37}', hops => 6) b
	USING (id);

-- until convergence is as good as very many hops; the rest is below tolerance / (1 - decay)
SELECT sum(abs(a.activation - b.activation)) < 1e-9 * 2 / 0.15 AS near, count(*) = count(a.id) AS all_there
FROM hybrid_spread('SELECT src, dst, weight FROM rel', '{37,74}', hops => NULL) a
FULL JOIN hybrid_spread('SELECT src, dst, weight FROM rel', '{37,74}', hops => 300) b USING (id);

DROP FUNCTION oracle, hop_edges;
DROP TABLE rel;
