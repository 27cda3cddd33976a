-- Neighbors, subgraphs, paths, components and degrees, against queries that compute the same.
CREATE TABLE link (source bigint, target bigint, weight real, kind text);
-- two parts: 0 .. 59 and 1000 .. 1019; self loops, parallel edges, edges in both directions, weights whose sums are exact
INSERT INTO link SELECT i * 7 % 60, i * i * 5 % 61 % 60, 1 + i * 11 % 8, (ARRAY['a', 'b'])[1 + i % 2] FROM generate_series(1, 110) i;
INSERT INTO link SELECT 1000 + i % 20, 1000 + i * 3 % 20, i % 4, NULL FROM generate_series(1, 25) i;
SELECT count(*), count(DISTINCT (source, target)) AS pairs, count(*) FILTER (WHERE source = target) AS loops FROM link;
\set edges '\'TABLE link\''
CREATE TABLE node AS SELECT source AS id FROM link UNION SELECT target FROM link;
-- the edges from a to b in each direction
CREATE TABLE directed AS
	SELECT 'out' AS direction, source AS a, target AS b, weight, kind FROM link UNION ALL
	SELECT 'in', target, source, weight, kind FROM link UNION ALL
	SELECT 'both', source, target, weight, kind FROM link UNION ALL
	SELECT 'both', target, source, weight, kind FROM link;
ANALYZE link, directed, node;
-- how many rows of two queries are not in the other
CREATE FUNCTION differ(a text, b text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM ((%1$s EXCEPT ALL %2$s) UNION ALL (%2$s EXCEPT ALL %1$s)) d', a, b) INTO n;
	RETURN n;
END $$;

-- neighbors: those of a recursive query
CREATE TABLE reached AS
	WITH RECURSIVE r (direction, start, id, hop) AS (
		SELECT direction, id, id, 0 FROM node, (SELECT DISTINCT direction FROM directed) d
		UNION SELECT r.direction, start, b, hop + 1 FROM r JOIN directed d ON d.direction = r.direction AND d.a = r.id WHERE hop < 5)
	SELECT direction, start, id, min(hop) AS hop FROM r GROUP BY 1, 2, 3;
ANALYZE reached;
SELECT hops, count(*) AS rows, differ(format('SELECT * FROM reached WHERE hop <= %s', hops), format(
	'SELECT direction, start, n.* FROM (SELECT DISTINCT direction, start FROM reached) s, LATERAL hybrid_neighbors(''TABLE link'', ARRAY[start], %s, direction) n', hops))
FROM (VALUES (0), (1), (2), (5)) h (hops) JOIN reached ON hop <= hops GROUP BY 1 ORDER BY 1;
-- from several nodes, the nearest counts; any number of hops; a node twice; a node that is not there; none; the order
SELECT differ('SELECT * FROM hybrid_neighbors(''TABLE link'', ARRAY[3, 1004, 3, -8], 5)',
	'SELECT id, min(hop) FROM reached WHERE direction = ''out'' AND start IN (3, 1004) GROUP BY 1');
SELECT differ('SELECT id FROM hybrid_neighbors(''TABLE link'', ARRAY[3], NULL, ''both'')', 'SELECT id FROM node WHERE id < 1000');
SELECT count(*) FROM hybrid_neighbors(:edges, ARRAY[-8], NULL);
SELECT count(*) FROM hybrid_neighbors(:edges, '{}', NULL);
SELECT * FROM hybrid_neighbors('VALUES (1, 9), (1, 3), (3, 2), (9, 1), (2, 1)', '{1}', NULL);

-- subgraph: the edges between them, whatever direction the search took
SELECT direction, hops, differ(
	format('SELECT source, target, weight FROM hybrid_subgraph(''TABLE link'', ARRAY[3, 1004], %s, %L)', hops, direction),
	format('SELECT source, target, sum(weight) FROM link WHERE ARRAY[source, target] <@ (SELECT array_agg(id) FROM reached WHERE start IN (3, 1004) AND hop <= %s AND direction = %L) GROUP BY 1, 2', hops, direction))
FROM unnest(ARRAY['out', 'in', 'both']) direction, generate_series(0, 2) hops ORDER BY 1, 2;
SELECT * FROM hybrid_subgraph('VALUES (1, 2, 1), (2, 3, 2), (1, 2, 4), (2, 1, 8), (3, 4, 16), (2, 2, 32)', '{1}');
-- what it returns is a graph
SELECT * FROM hybrid_neighbors('SELECT * FROM hybrid_subgraph(''TABLE link'', ''{3}'', NULL)', '{3}') EXCEPT SELECT * FROM hybrid_neighbors(:edges, '{3}');

-- shortest path: the distances from every ninth node, by relaxing all edges until nothing changes
CREATE TABLE distance (direction text, source bigint, target bigint, weighted bool, cost float8, PRIMARY KEY (direction, source, target, weighted));
DO $$
DECLARE changed bigint := 1;
BEGIN
	INSERT INTO distance SELECT direction, id, id, weighted, 0 FROM node, (SELECT DISTINCT direction FROM directed) d, (VALUES (true), (false)) w (weighted) WHERE id % 9 = 0;
	WHILE changed > 0 LOOP
		INSERT INTO distance AS d
			SELECT d.direction, d.source, e.b, weighted, min(cost + CASE WHEN weighted THEN weight ELSE 1 END)
			FROM distance d JOIN directed e ON e.direction = d.direction AND e.a = d.target GROUP BY 1, 2, 3, 4
			ON CONFLICT (direction, source, target, weighted) DO UPDATE SET cost = excluded.cost WHERE excluded.cost < d.cost;
		GET DIAGNOSTICS changed = ROW_COUNT;
	END LOOP;
END $$;
ANALYZE distance;
CREATE TABLE path AS SELECT d.direction, d.weighted, a.id AS source, b.id AS target, p.*
FROM node a, node b, (SELECT DISTINCT direction, weighted FROM distance) d,
	LATERAL hybrid_shortest_path(:edges, a.id, b.id, d.weighted, d.direction) p WHERE a.id % 9 = 0;
ANALYZE path;
SELECT direction, weighted, count(*) > 100 AS many FROM distance GROUP BY 1, 2 ORDER BY 1, 2;
-- the cost at the end is the distance; there is a path where there is a distance
SELECT differ('TABLE distance',
	'SELECT direction, source, target, weighted, max(cost) FROM path GROUP BY 1, 2, 3, 4');
-- each step is an edge that costs the difference; steps begin at the source and end at the target
SELECT count(*) > 1000 AS many, count(*) FILTER (WHERE b.cost - a.cost IS DISTINCT FROM
	(SELECT min(CASE WHEN a.weighted THEN weight ELSE 1 END) FROM directed d WHERE d.direction = a.direction AND d.a = a.id AND d.b = b.id)) AS wrong
FROM path a JOIN path b USING (direction, weighted, source, target) WHERE b.step = a.step + 1;
SELECT count(*) FILTER (WHERE (step = 0) <> (id = source) OR (step = last) <> (id = target) OR cost < 0 OR (step = 0 AND cost <> 0)) AS wrong
FROM (SELECT *, max(step) OVER (PARTITION BY direction, weighted, source, target) AS last FROM path) p;
-- no path; not a node; from a node to itself; a weight of 0; the lighter of parallel edges
SELECT * FROM hybrid_shortest_path('VALUES (1, 2)', 2, 1);
SELECT * FROM hybrid_shortest_path('VALUES (1, 2)', 1, 3);
SELECT * FROM hybrid_shortest_path('VALUES (1, 2)', 3, 3);
SELECT * FROM hybrid_shortest_path('VALUES (1, 2)', 2, 2);
SELECT * FROM hybrid_shortest_path('VALUES (1, 2, 0), (2, 3, 5), (1, 3, 5.5), (2, 3, 4.5)', 1, 3);

-- components: those of a recursive query
SELECT differ('SELECT * FROM hybrid_components(''TABLE link'')', 'SELECT start, min(id) FROM (
	WITH RECURSIVE r (start, id) AS (SELECT id, id FROM node UNION SELECT start, b FROM r JOIN directed ON a = id) TABLE r) c GROUP BY 1');
SELECT component, count(*), min(id) = component AS smallest FROM hybrid_components(:edges) GROUP BY 1 ORDER BY 1;
SELECT * FROM hybrid_components('VALUES (7, 3), (5, 9), (9, 7), (4, 4), (8, 6)');

-- degree: grouped
SELECT direction, differ(format('SELECT * FROM hybrid_degree(''TABLE link'', %L)', direction),
	format('SELECT id, count(DISTINCT b), coalesce(sum(weight::float8), 0) FROM node LEFT JOIN (SELECT * FROM directed WHERE direction = %L) d ON a = id GROUP BY 1', direction))
FROM unnest(ARRAY['out', 'in', 'both']) direction;
SELECT * FROM hybrid_degree('VALUES (1, 2), (1, 2), (2, 1), (3, 3)');
SELECT * FROM hybrid_degree('VALUES (1, 2), (1, 2), (2, 1), (3, 3)', 'out');

-- types, as each function filters by them; an edge without a type is of none of them
CREATE VIEW link_a AS SELECT * FROM link WHERE kind = 'a';
SELECT differ(format('SELECT * FROM hybrid_%s(''TABLE link''%s, types => ''{a}'')', f, a), format('SELECT * FROM hybrid_%s(''TABLE link_a''%s)', f, a))
FROM (VALUES ('neighbors', ', ''{3}'', 3'), ('subgraph', ', ''{3}'', 3'), ('shortest_path', ', 3, 27'), ('components', ''), ('degree', '')) v (f, a);

-- params: $1, $2, ... of the query, each a text; NULL; none
SELECT * FROM hybrid_neighbors('SELECT source, target FROM (VALUES (1, 2, ''a''), (1, 3, ''b''), (1, 4, ''c'')) v (source, target, kind) WHERE kind = $1 OR target = $2::int', '{1}', params => '{a,4}');
SELECT * FROM hybrid_neighbors('SELECT 1, coalesce($1::int, 7)', '{1}', params => '{NULL}');
SELECT * FROM hybrid_neighbors('SELECT 1, 2', '{1}', params => '{}');
SELECT * FROM hybrid_spread('SELECT 1, $1::int', '{1}', hops => 1, decay => 1, params => '{5}');
-- no text of a parameter becomes part of the query
SELECT * FROM hybrid_neighbors('SELECT 1, length($1)', '{1}', params => ARRAY['x''; DROP TABLE link; --']);
SELECT * FROM hybrid_neighbors('SELECT 1, $2::int', '{1}', params => '{5}');
SELECT * FROM hybrid_neighbors('SELECT 1, $1 + 1', '{1}', params => '{5}');
SELECT * FROM hybrid_neighbors('SELECT 1, $1::int', '{1}', params => '{x}');
SELECT * FROM hybrid_neighbors('SELECT 1, $1::int', '{1}', params => '{{5}}');
-- each row uses its own parameters
CREATE FUNCTION told(what text) RETURNS TABLE (source int, target int) STABLE LANGUAGE plpgsql AS
	$$ BEGIN RAISE NOTICE 'reads %', what; RETURN QUERY SELECT 1, what::int; END $$;
SELECT i, (SELECT max(id) FROM hybrid_neighbors('SELECT * FROM told($1)', ARRAY[1, i], params => ARRAY[(i / 2)::text])) FROM generate_series(4, 7) i;

-- an empty graph; ids at the ends of bigint
SELECT (SELECT count(*) FROM hybrid_neighbors(q, '{1}')) + (SELECT count(*) FROM hybrid_subgraph(q, '{1}')) + (SELECT count(*) FROM hybrid_shortest_path(q, 1, 1)) +
	(SELECT count(*) FROM hybrid_components(q)) + (SELECT count(*) FROM hybrid_degree(q)) AS rows
FROM (VALUES ('SELECT 1, 2 WHERE false')) v (q);
\set far '\'SELECT -9223372036854775808, 9223372036854775807\''
SELECT * FROM hybrid_neighbors(:far, '{-9223372036854775808}');
SELECT * FROM hybrid_subgraph(:far, '{9223372036854775807}');
SELECT * FROM hybrid_shortest_path(:far, -9223372036854775808, 9223372036854775807);
SELECT * FROM hybrid_components(:far);

-- bad arguments and bad edges
SELECT * FROM hybrid_neighbors(NULL, '{1}');
SELECT * FROM hybrid_neighbors('a name', '{1}');
SELECT * FROM hybrid_neighbors(:edges, NULL);
SELECT * FROM hybrid_neighbors(:edges, '{1,NULL}');
SELECT * FROM hybrid_neighbors(:edges, '{{1},{2}}');
SELECT * FROM hybrid_neighbors(:edges, '{1}', -1);
SELECT * FROM hybrid_neighbors(:edges, '{1}', 1, 'up');
SELECT * FROM hybrid_subgraph(:edges, '{1}', direction => NULL);
SELECT * FROM hybrid_shortest_path(:edges, NULL, 1);
SELECT * FROM hybrid_shortest_path(:edges, 1, NULL);
SELECT * FROM hybrid_shortest_path(:edges, 1, 1, weighted => NULL);
SELECT * FROM hybrid_shortest_path('VALUES (1, 2, 1), (2, 3, -1)', 1, 3);
SELECT * FROM hybrid_degree('SELECT 1, 2, ''infinity''::real');
SELECT * FROM hybrid_components('SELECT 1, NULL::int');

-- labels: the query may call any function
SELECT DISTINCT provolatile, proparallel, proisstrict FROM pg_proc WHERE proname IN ('hybrid_spread', 'hybrid_spread_batch', 'hybrid_pagerank', 'hybrid_neighbors', 'hybrid_subgraph',
	'hybrid_shortest_path', 'hybrid_components', 'hybrid_degree', 'hybrid_triangles', 'hybrid_similar_nodes', 'hybrid_communities');

-- memory
SET hybrid.graph_memory_limit = '64kB';
SELECT count(*) FROM hybrid_components('SELECT i, i + 1 FROM generate_series(1, 1000) i');
SELECT count(*) FROM hybrid_shortest_path('SELECT i, 1000 + i FROM generate_series(1, 600) i', 1, 2);
RESET hybrid.graph_memory_limit;
SELECT count(*) AS contexts FROM pg_backend_memory_contexts WHERE name IN ('hybrid graph call', 'hybrid row', 'hybrid graph');

-- subgraphs with types: parallel edges of the same type are added
CREATE TABLE typed (source int, target int, weight real, type text);
INSERT INTO typed VALUES (1, 2, 1, 'b'), (1, 2, 2, 'a'), (1, 2, 4, 'b'), (1, 2, 8, NULL), (2, 1, 16, 'ab'), (2, 3, 32, 'a'), (3, 4, 64, 'a'), (NULL, 2, 1, 'a');
CREATE INDEX typed_graph ON typed USING hybrid_graph (source, target, weight, type);
SELECT * FROM hybrid_subgraph('typed_graph', '{1}');
SELECT * FROM hybrid_subgraph('typed_graph', '{1}', types => '{a}');
SELECT * FROM hybrid_subgraph('SELECT * FROM typed WHERE source > $1::int', '{2}', params => '{1}');
SELECT count(*) FROM hybrid_neighbors('SELECT * FROM hybrid_subgraph(''typed_graph'', ''{1}'', 9)', '{1}', NULL, types => '{a}');
-- they are sorted within work_mem, and on disk if they are more
SET work_mem = '64kB';
SELECT count(*), min(weight), max(weight), bool_and(target = source + 1) AS right FROM hybrid_subgraph('SELECT i % 5000, i % 5000 + 1, 1, ''a'' FROM generate_series(1, 20000) i', '{0}', NULL);
RESET work_mem;
SELECT * FROM hybrid_subgraph('SELECT 1, 2, 3e38, ''a'' FROM generate_series(1, 2)', '{1}');
DROP TABLE typed;

DROP VIEW link_a;
DROP TABLE link, node, directed, reached, distance, path;
DROP FUNCTION differ, told;
