-- PageRank against its definition, and batches of seed sets against single calls.
CREATE TABLE link (source bigint, target bigint, weight real, kind text);
-- self loops, parallel edges, weights of 0, and nodes without outgoing edges or weight
INSERT INTO link SELECT i * 7 % 50, i * i * 5 % 83, i * 11 % 8 / 4.0, (ARRAY['a', 'b'])[1 + i % 2] FROM generate_series(1, 140) i;
INSERT INTO link VALUES (90, 91, 0, 'a');
\set edges '\'TABLE link\''
SELECT count(*) AS nodes, count(*) FILTER (WHERE degree = 0) AS dangling, count(*) FILTER (WHERE degree > 0 AND weight = 0) AS weightless
FROM hybrid_degree(:edges, 'out');
CREATE FUNCTION differ(a text, b text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM ((%1$s EXCEPT ALL %2$s) UNION ALL (%2$s EXCEPT ALL %1$s)) d', a, b) INTO n;
	RETURN n;
END $$;

-- the definition, repeated until nothing changes: p = d T'p + d (what dangling nodes have) v + (1 - d) v
CREATE FUNCTION ranks(d float8, seeds bigint[], activation float8[], direction text) RETURNS TABLE (id bigint, rank float8) LANGUAGE plpgsql AS $$
DECLARE
	p float8[];
BEGIN
	CREATE TEMP TABLE e AS SELECT a, b, sum(weight::float8) AS w FROM (
		SELECT source, target, weight FROM link WHERE direction <> 'in' UNION ALL
		SELECT target, source, weight FROM link WHERE direction <> 'out') l (a, b, weight) GROUP BY 1, 2;
	ANALYZE e;
	CREATE TEMP TABLE v AS
		SELECT row_number() OVER (ORDER BY i) AS n, i AS node, coalesce(u.v, 0) / sum(u.v) OVER () AS v, coalesce((SELECT sum(w) FROM e WHERE a = i), 0) AS s
		FROM (SELECT a AS i FROM e UNION SELECT b FROM e) i LEFT JOIN (
			SELECT u.seed, sum(coalesce(u.act, 1)) AS v FROM unnest(seeds, activation) u (seed, act) GROUP BY 1
			UNION ALL SELECT f.x, 1 FROM (SELECT a FROM e UNION SELECT b FROM e) f (x) WHERE seeds IS NULL) u ON u.seed = i;
	CREATE TEMP TABLE t AS SELECT x.n AS a, y.n AS b, w / x.s AS share FROM e JOIN v x ON x.node = a JOIN v y ON y.node = b WHERE x.s > 0;
	ANALYZE v, t;
	SELECT array_agg(v.v ORDER BY n) INTO p FROM v;
	FOR i IN 1 .. ceil(-23 / ln(greatest(d, 0.01)))::int LOOP
		SELECT array_agg((d * (SELECT coalesce(sum(p[n]), 0) FROM v WHERE s = 0) + 1 - d) * m.v + d * coalesce(moved, 0) ORDER BY n) INTO p
		FROM v m LEFT JOIN (SELECT b, sum(p[a] * share) AS moved FROM t GROUP BY 1) x ON b = n;
	END LOOP;
	RETURN QUERY SELECT node, p[n] FROM v WHERE p[n] > 0;
	DROP TABLE e, v, t;
END $$;
SELECT d, seeds, activation, direction, count(*) AS nodes, max(abs(r.rank - p.rank)) < 1e-9 AS close, bool_and(r.id IS NOT NULL AND p.id IS NOT NULL) AS same_nodes, abs(sum(p.rank) - 1) < 1e-12 AS one
FROM (VALUES (0.85, NULL::bigint[], NULL::float8[], 'out'), (0.5, NULL, NULL, 'in'), (0.7, NULL, NULL, 'both'), (0, NULL, NULL, 'out'),
	(0.6, '{3}', NULL, 'out'), (0.5, '{3,7,3,90}', NULL, 'out'), (0.85, '{3,7,-1}', '{1,5,100}', 'out'), (0.5, '{91}', NULL, 'out')) v (d, seeds, activation, direction),
	LATERAL ranks(d, seeds, activation, direction) r FULL JOIN LATERAL hybrid_pagerank('TABLE link', d, seeds, activation, direction, tolerance => 1e-13) p USING (id)
GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;
-- a walk that can go nowhere; the order; k; types
SELECT * FROM hybrid_pagerank('SELECT 1, 2', seeds => '{2}');
SELECT * FROM hybrid_pagerank('VALUES (1, 2), (3, 2), (4, 4)', damping => 0.5, k => 3);
SELECT differ('SELECT * FROM hybrid_pagerank(''TABLE link'', types => ''{a}'')', 'SELECT * FROM hybrid_pagerank(''SELECT * FROM link WHERE kind = $1'', params => ''{a}'')');
-- no nodes; seeds that are not in the graph; seeds without activation; activation near the end of what a double holds
SELECT count(*) FROM hybrid_pagerank('SELECT 1, 2 WHERE false');
SELECT count(*) FROM hybrid_pagerank(:edges, seeds => '{-1,-2}');
SELECT count(*) FROM hybrid_pagerank(:edges, seeds => '{}');
SELECT count(*) FROM hybrid_pagerank(:edges, seeds => '{3}', activation => '{0}');
SELECT differ('SELECT * FROM hybrid_pagerank(''TABLE link'', seeds => ''{3,4}'', activation => ''{1.7e308,1.7e308}'')', 'SELECT * FROM hybrid_pagerank(''TABLE link'', seeds => ''{3,4}'')');
-- a coarse tolerance ends sooner
SELECT max(abs(a.rank - b.rank)) BETWEEN 1e-6 AND 1e-2 AS coarse FROM hybrid_pagerank(:edges) a JOIN hybrid_pagerank(:edges, tolerance => 0.01) b USING (id);
SELECT * FROM hybrid_pagerank(:edges, damping => 1);
SELECT * FROM hybrid_pagerank(:edges, damping => -0.1);
SELECT * FROM hybrid_pagerank(:edges, damping => 'NaN');
-- not for hours
SELECT * FROM hybrid_pagerank(:edges, damping => 0.999999999);
SELECT count(*) FROM hybrid_pagerank(:edges, damping => 0.9997);
-- a tolerance near rounding
SELECT differ('SELECT * FROM hybrid_pagerank(''TABLE link'', damping => 0.99, tolerance => 1e-300)', 'SELECT * FROM hybrid_pagerank(''TABLE link'', damping => 0.99, tolerance => 2.0::float8 ^ -53)');
SELECT * FROM hybrid_pagerank(:edges, tolerance => 0);
SELECT * FROM hybrid_pagerank(:edges, activation => '{1}');
SELECT * FROM hybrid_pagerank(:edges, seeds => '{1,2}', activation => '{1}');
SELECT * FROM hybrid_pagerank(:edges, k => 0);
SELECT * FROM hybrid_pagerank(:edges, direction => 'up');

-- batches: each set as a single call would have it, bit for bit; sets in any order, of any size, with seeds that are not in the graph
CREATE TABLE seed AS SELECT (i * 7 % 23 - 11) * 1000000000000 AS set, i * 13 % 97 - 4 AS id, 1 + i % 4 / 4.0::float8 AS activation FROM generate_series(1, 120) i;
CREATE TABLE sets AS SELECT set, array_agg(id::bigint) AS ids, array_agg(activation) AS activation FROM seed GROUP BY set;
SELECT array_agg(set) AS sets, array_agg(id::bigint) AS seeds, array_agg(activation) AS activation FROM seed \gset
SELECT arguments, differ(format('SELECT * FROM hybrid_spread_batch(''TABLE link'', %L, %L, %L %s)', :'sets', :'seeds', :'activation', arguments),
	format('SELECT set, s.* FROM sets, LATERAL hybrid_spread(''TABLE link'', ids, activation %s) s', arguments))
FROM unnest(ARRAY['', ', hops => 5, k => 4', ', hops => NULL, tolerance => 1e-3', ', hops => NULL, tolerance => 1e-3, normalized => true, k => 7', ', direction => ''both'', fan => 0.5, threshold => 0.1, refire => 1, combine => ''max''', ', types => ''{a}''']) arguments;
SELECT count(*) AS rows, count(DISTINCT set) AS sets FROM hybrid_spread_batch(:edges, :'sets', :'seeds', :'activation');
-- as many sets at a time as there is memory for, here a few of the 23, and the same answer
INSERT INTO link SELECT 1000 + i, 2000 + i, 1 FROM generate_series(1, 150) i;
SET hybrid.graph_memory_limit = '64kB';
CREATE TABLE little AS SELECT * FROM hybrid_spread_batch(:edges, :'sets', :'seeds', :'activation', hops => NULL);
RESET hybrid.graph_memory_limit;
SELECT differ('TABLE little', format('SELECT * FROM hybrid_spread_batch(''TABLE link'', %L, %L, %L, hops => NULL)', :'sets', :'seeds', :'activation'));
-- in order; without activation; a seed twice; no sets
SELECT * FROM hybrid_spread_batch('VALUES (1, 2), (1, 3)', '{5,-5,5,5}', '{1,1,9,1}', decay => 0.5);
SELECT * FROM hybrid_spread_batch('SELECT 1, 2', '{}', '{}');
SELECT * FROM hybrid_spread_batch('SELECT 1, 2 WHERE false', '{3}', '{1}');
SELECT * FROM hybrid_spread_batch(:edges, NULL, '{1}');
SELECT * FROM hybrid_spread_batch(:edges, '{1,2}', '{1}');
SELECT * FROM hybrid_spread_batch(:edges, '{NULL}', '{1}');
SELECT * FROM hybrid_spread_batch(:edges, '{1}', NULL);
SELECT * FROM hybrid_spread_batch(:edges, '{1}', '{1}', '{1,2}');
SELECT * FROM hybrid_spread_batch(:edges, '{1}', '{1}', hops => NULL, decay => 1);

DROP TABLE link, seed, sets, little;
DROP FUNCTION differ, ranks;
