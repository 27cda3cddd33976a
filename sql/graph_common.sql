-- Triangles, clustering and similar nodes, against joins that compute the same.
CREATE TABLE link (source bigint, target bigint, weight real, kind text);
-- self loops, parallel edges, edges in both directions, weights of 0
INSERT INTO link SELECT (i * 1103515245 + 12345) / 65536 % 40, (i * 22695477 + 1) / 65536 % 41 - 1, i % 3, (ARRAY['a', 'b'])[1 + i % 2] FROM generate_series(1::bigint, 220) i;
\set edges '\'TABLE link\''
CREATE FUNCTION differ(a text, b text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM ((%1$s EXCEPT ALL %2$s) UNION ALL (%2$s EXCEPT ALL %1$s)) d', a, b) INTO n;
	RETURN n;
END $$;
-- the neighbors of each node, by direction
CREATE TABLE neighbor AS
	SELECT 'out' AS direction, source AS id, target AS other FROM link UNION SELECT 'in', target, source FROM link UNION
	SELECT 'both', source, target FROM link UNION SELECT 'both', target, source FROM link;
ANALYZE link, neighbor;

-- triangles: three different nodes that are neighbors of each other
CREATE TABLE triangle AS
	SELECT a.id AS a, b.id AS b, c.id AS c FROM neighbor a JOIN neighbor b ON b.id = a.other JOIN neighbor c ON c.id = b.other AND c.other = a.id
	WHERE a.id < b.id AND b.id < c.id AND a.direction = 'both' AND b.direction = 'both' AND c.direction = 'both';
SELECT count(*) > 50 AS many FROM triangle;
SELECT count(*) FILTER (WHERE source = target) AS loops, count(*) - count(DISTINCT (source, target)) AS parallel FROM link;
SELECT differ('SELECT id, triangles FROM hybrid_triangles(''TABLE link'')', 'SELECT id, (SELECT count(*) FROM triangle WHERE n.id IN (a, b, c)) FROM (SELECT DISTINCT id FROM neighbor) n');
SELECT differ('SELECT id, clustering FROM hybrid_triangles(''TABLE link'')',
	'SELECT id, CASE WHEN d < 2 THEN 0 ELSE (SELECT count(*) FROM triangle WHERE n.id IN (a, b, c)) / (d * (d - 1) / 2.0::float8) END
	FROM (SELECT id, count(*) FILTER (WHERE other <> id) AS d FROM neighbor WHERE direction = ''both'' GROUP BY 1) n');
SELECT * FROM hybrid_triangles('VALUES (1, 2), (2, 3), (3, 1), (3, 4), (4, 4), (2, 1)');
SELECT differ('SELECT * FROM hybrid_triangles(''TABLE link'', types => ''{a}'')', 'SELECT * FROM hybrid_triangles(''SELECT * FROM link WHERE kind = $1'', params => ''{a}'')');

-- similar nodes: of every node, by the sets of neighbors
CREATE TABLE similar_node AS
	WITH size AS (SELECT direction, id, count(*) FROM neighbor GROUP BY 1, 2),
		popular AS (SELECT direction, other, count(*) FROM neighbor GROUP BY 1, 2)
	SELECT a.direction, a.id AS node, b.id, count(*) / (sa.count + sb.count - count(*))::float8 AS jaccard, sum(1 / ln(h.count::float8) ORDER BY h.other) AS adamic_adar
	FROM neighbor a JOIN neighbor b USING (direction, other) JOIN popular h USING (direction, other)
		JOIN size sa ON sa.direction = a.direction AND sa.id = a.id JOIN size sb ON sb.direction = b.direction AND sb.id = b.id
	WHERE a.id <> b.id GROUP BY 1, 2, 3, sa.count, sb.count;
SELECT direction, method, count(*) > 200 AS many, differ(
	format('SELECT n.id, s.* FROM (SELECT DISTINCT id FROM neighbor) n, LATERAL hybrid_similar_nodes(''TABLE link'', n.id, %L, NULL, %L) s', method, direction),
	format('SELECT node, id, %I FROM similar_node WHERE direction = %L', method, direction))
FROM similar_node, unnest(ARRAY['jaccard', 'adamic_adar']) method GROUP BY 1, 2 ORDER BY 1, 2;
-- the order; k; ties; a self loop is a neighbor; types
SELECT * FROM hybrid_similar_nodes('VALUES (1, 7), (1, 8), (2, 7), (3, 8), (4, 7), (4, 8), (5, 9)', 1, direction => 'out');
SELECT * FROM hybrid_similar_nodes('VALUES (1, 7), (1, 8), (2, 7), (3, 8), (4, 7), (4, 8), (5, 9)', 1, k => 2, direction => 'out');
SELECT * FROM hybrid_similar_nodes('VALUES (1, 7), (7, 7)', 1);
SELECT * FROM hybrid_similar_nodes('VALUES (1, 7, 1, ''a''), (2, 7, 1, ''a''), (3, 7, 1, ''b'')', 1, types => '{a}');
-- no neighbors in common; no such node; no nodes
SELECT * FROM hybrid_similar_nodes('VALUES (1, 7), (2, 8)', 1);
SELECT * FROM hybrid_similar_nodes('VALUES (1, 7), (2, 8)', 1, direction => 'in');
SELECT * FROM hybrid_similar_nodes('VALUES (1, 7), (2, 8)', 3);
SELECT * FROM hybrid_similar_nodes('SELECT 1, 2 WHERE false', 1);
SELECT * FROM hybrid_triangles('SELECT 1, 2 WHERE false');
-- refused
SELECT * FROM hybrid_similar_nodes(:edges, NULL);
SELECT * FROM hybrid_similar_nodes(:edges, 1, 'cosine');
SELECT * FROM hybrid_similar_nodes(:edges, 1, NULL);
SELECT * FROM hybrid_similar_nodes(:edges, 1, k => 0);
SELECT * FROM hybrid_similar_nodes(:edges, 1, direction => 'sideways');
SET hybrid.graph_memory_limit = '64kB';
SELECT count(*) FROM hybrid_triangles('SELECT i, 1000 + i FROM generate_series(1, 540) i');
RESET hybrid.graph_memory_limit;

DROP TABLE link, neighbor, triangle, similar_node;
DROP FUNCTION differ;
