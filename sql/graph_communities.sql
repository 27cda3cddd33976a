-- Communities: their modularity against simple partitions, and what their definition promises.
CREATE TABLE link (source bigint, target bigint, weight real, kind text);
-- eight groups of 25 nodes, most edges within a group; group 7 is not connected with the rest; self loops
INSERT INTO link SELECT a, CASE WHEN i % 9 = 0 AND a < 175 THEN b % 175 ELSE a / 25 * 25 + b % 25 END, 1 + i % 3, (ARRAY['a', 'b'])[1 + i % 2]
FROM (SELECT i, (i * 1103515245 + 12345) / 65536 % 200 AS a, (i * 22695477 + 1) / 65536 % 1000 AS b FROM generate_series(1::bigint, 1100) i) e;
\set edges '\'TABLE link\''
SELECT count(*), count(*) FILTER (WHERE source = target) AS loops, count(*) FILTER (WHERE source / 25 <> target / 25) AS between FROM link;
ANALYZE link;
-- modularity, by its definition
CREATE FUNCTION modularity(partition text, resolution float8 DEFAULT 1) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE q float8;
BEGIN
	EXECUTE format('WITH p AS MATERIALIZED (%s), e AS (
			SELECT source AS a, target AS b, weight::float8 AS w FROM link UNION ALL SELECT target, source, weight FROM link),
		c AS (SELECT pa.community, sum(w) AS strength, sum(w) FILTER (WHERE pa.community = pb.community) AS inside
			FROM e JOIN p pa ON pa.id = a JOIN p pb ON pb.id = b GROUP BY 1)
		SELECT sum(coalesce(inside, 0)) / sum(strength) - %s * sum((strength / (SELECT sum(w) FROM e)) ^ 2) FROM c', partition, resolution) INTO q;
	RETURN q;
END $$;

-- the groups are found, or something better, whatever the seed
CREATE TABLE found AS SELECT method, seed, c.* FROM unnest(ARRAY['leiden', 'label_propagation']) method, generate_series(0, 4) seed,
	LATERAL hybrid_communities(:edges, method, seed => seed) c;
ANALYZE found;
SELECT seed, modularity('SELECT id, community FROM found WHERE method = ''leiden'' AND seed = ' || seed) >= modularity('SELECT DISTINCT source AS id, source / 25 AS community FROM link') - 1e-9 AS as_good,
	modularity('SELECT id, community FROM found WHERE method = ''label_propagation'' AND seed = ' || seed) > 0.5 AS good
FROM generate_series(0, 4) seed;
-- each node once; a community has the name of its smallest node
SELECT method, bool_and(nodes = 200) AS all_nodes, min(communities) >= 8 AS groups FROM (SELECT method, seed, count(*) AS nodes, count(DISTINCT community) AS communities FROM found GROUP BY 1, 2) f GROUP BY 1 ORDER BY 1;
SELECT count(*) AS wrong FROM (SELECT community, min(id) AS first FROM found GROUP BY method, seed, community) c WHERE first <> community;
-- none is connected with group 7 from outside; those of Leiden are connected within
SELECT count(*) AS wrong FROM found WHERE (id >= 175) <> (community >= 175);
SELECT count(*) AS nodes, count(*) FILTER (WHERE f.community <> c.component) AS wrong FROM generate_series(0, 4) s (seed), LATERAL (
	SELECT id, component FROM hybrid_components(format('SELECT source, target FROM link JOIN found a ON a.id = source JOIN found b ON b.id = target
		WHERE a.method = ''leiden'' AND b.method = ''leiden'' AND a.seed = %1$s AND b.seed = %1$s AND a.community = b.community', s.seed))) c
	JOIN found f ON f.id = c.id WHERE f.seed = s.seed AND f.method = 'leiden';
-- label propagation: no community of neighbors weighs more for a node than its own
WITH edge AS (SELECT source AS a, target AS b, weight AS w FROM link UNION ALL SELECT target, source, weight FROM link),
	near AS (SELECT f.seed, f.id, f.community AS own, g.community, sum(w) AS w FROM found f JOIN edge ON a = f.id AND a <> b
		JOIN found g ON g.id = b AND g.seed = f.seed AND g.method = f.method WHERE f.method = 'label_propagation' GROUP BY 1, 2, 3, 4)
SELECT count(DISTINCT seed) AS seeds, count(*) FILTER (WHERE w > 1e-6 + (SELECT coalesce(sum(m.w), 0) FROM near m
	WHERE (m.seed, m.id, m.community) = (near.seed, near.id, near.own))) AS wrong FROM near;
-- the same each time, in whatever order edges come
SELECT count(*) AS differ FROM found f JOIN hybrid_communities('SELECT * FROM link ORDER BY target, weight, source', seed => 3) c USING (id)
WHERE f.method = 'leiden' AND f.seed = 3 AND f.community <> c.community;
SELECT count(*) AS differ FROM found f JOIN hybrid_communities('SELECT * FROM link ORDER BY target, weight, source', 'label_propagation', seed => 3) c USING (id)
WHERE f.method = 'label_propagation' AND f.seed = 3 AND f.community <> c.community;
-- resolution: 0 gives components, a large one single nodes
SELECT count(*) AS differ FROM hybrid_communities(:edges, resolution => 0) a JOIN hybrid_components(:edges) b USING (id) WHERE community <> component;
SELECT count(DISTINCT community) FROM hybrid_communities(:edges, resolution => 1000);
SELECT modularity('SELECT * FROM hybrid_communities(''TABLE link'', resolution => 20)', 20) > modularity('SELECT * FROM hybrid_communities(''TABLE link'')', 20) AS better;
-- two triangles and an edge between them; weights move a node; types; params
SELECT * FROM hybrid_communities('VALUES (1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (5, 6), (6, 4)');
SELECT * FROM hybrid_communities('VALUES (1, 2, 1), (2, 3, 1), (3, 1, 1), (3, 4, 9), (4, 5, 1), (5, 6, 1), (6, 4, 1)');
SELECT count(*) AS differ FROM hybrid_communities(:edges, types => '{a}') a FULL JOIN hybrid_communities('SELECT * FROM link WHERE kind = $1', params => '{a}') b USING (id, community) WHERE a IS NULL OR b IS NULL;
-- no edges; no weight; a node with itself only
SELECT * FROM hybrid_communities('SELECT 1, 2 WHERE false');
SELECT * FROM hybrid_communities('VALUES (1, 2, 0), (2, 3, 0)');
SELECT * FROM hybrid_communities('VALUES (1, 2, 0), (2, 3, 0)', 'label_propagation');
SELECT * FROM hybrid_communities('VALUES (5, 5, 1), (1, 2, 1)');
-- refused
SELECT * FROM hybrid_communities(:edges, 'louvain');
SELECT * FROM hybrid_communities(:edges, NULL);
SELECT * FROM hybrid_communities(:edges, resolution => -1);
SELECT * FROM hybrid_communities(:edges, resolution => 'infinity');
SELECT * FROM hybrid_communities(:edges, resolution => 'NaN');
SELECT * FROM hybrid_communities(:edges, resolution => NULL);
SELECT * FROM hybrid_communities(:edges, seed => NULL);
SET hybrid.graph_memory_limit = '64kB';
SELECT count(*) FROM hybrid_communities('SELECT i, 1000 + i FROM generate_series(1, 400) i');
SELECT count(*) FROM hybrid_communities('SELECT i, 1000 + i FROM generate_series(1, 400) i', 'label_propagation');
RESET hybrid.graph_memory_limit;

DROP TABLE link, found;
DROP FUNCTION modularity;
