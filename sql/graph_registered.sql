-- Registered graphs: CREATE INDEX ... USING hybrid_graph.
SET client_min_messages = warning;
CREATE TABLE link (source bigint, target bigint, weight real, type text);
CREATE INDEX graph ON link USING hybrid_graph (source, target, weight, type);
INSERT INTO link VALUES (1, 2, 1, 'a'), (1, 3, 4, 'b'), (2, 3, 1, 'a'), (3, 4, 1, 'b'), (4, 2, 1, 'a'), (5, 6, 1, NULL);
SELECT pg_relation_size('graph') AS size;

-- the same as an edges query
SELECT * FROM hybrid_degree('graph');
CREATE FUNCTION differences(graph text, query text) RETURNS bigint LANGUAGE sql STABLE AS $$
	SELECT count(*) FROM (
		(SELECT * FROM hybrid_spread(graph, ARRAY[1, 5], hops => 4) EXCEPT ALL SELECT * FROM hybrid_spread(query, ARRAY[1, 5], hops => 4))
		UNION ALL
		(SELECT * FROM hybrid_spread(query, ARRAY[1, 5], hops => 4) EXCEPT ALL SELECT * FROM hybrid_spread(graph, ARRAY[1, 5], hops => 4))) s
$$;
SELECT differences('graph', 'TABLE link');
SELECT differences('public.graph', 'TABLE link'), differences('"graph"', 'TABLE link');
SELECT * FROM hybrid_neighbors('graph', ARRAY[1], types => ARRAY['a']);
SELECT * FROM hybrid_neighbors('graph', ARRAY[1], types => ARRAY['b', 'none']);
SELECT * FROM hybrid_neighbors('graph', ARRAY[1], types => '{}');
SELECT * FROM hybrid_subgraph('graph', ARRAY[1], direction => 'out');
SELECT * FROM hybrid_shortest_path('graph', 1, 4);
SELECT id, round(rank::numeric, 6) AS rank FROM hybrid_pagerank('graph');
SELECT q, (SELECT array_agg(id) FROM hybrid_neighbors('graph', ARRAY[q])) FROM generate_series(1, 5) q;

-- a page is read once, and again after a change only
VACUUM link;
-- where there are checksums, VACUUM changes the LSN of a page whose bit in the map it sets
SELECT kept, pages_by_map, pages_by_lsn + pages_read AS others, edges, differences FROM hybrid_graph_check('graph');
SELECT kept, pages_by_map, pages_by_lsn, pages_read, edges, differences FROM hybrid_graph_check('graph');
UPDATE link SET weight = 2 WHERE source = 3;
SELECT kept, pages_by_map, pages_by_lsn, pages_read, edges, differences FROM hybrid_graph_check('graph');
SELECT differences('graph', 'TABLE link');

-- a table of many pages: only the pages that changed are read
CREATE TABLE large (id serial, source int, target smallint, weight float8) WITH (fillfactor = 70);
CREATE INDEX large_graph ON large USING hybrid_graph (source, target, weight);
INSERT INTO large (source, target, weight) SELECT i, i * 7 % 1000, i FROM generate_series(1, 20000) i;
VACUUM large;
SELECT kept, pages_read > 100 AS read, edges, differences FROM hybrid_graph_check('large_graph');
SELECT kept, pages_by_map > 100 AS by_map, pages_by_lsn, pages_read, edges, differences FROM hybrid_graph_check('large_graph');
UPDATE large SET weight = 0.5 WHERE id IN (1, 10000);
-- by the map or by the LSN: in some versions, clearing a bit changes the LSN of the map's page
SELECT kept, pages_by_map + pages_by_lsn > 100 AS unread, pages_read <= 4 AS few_read, edges, differences FROM hybrid_graph_check('large_graph');
SELECT kept, pages_by_map > 100 AS by_map, pages_read, edges, differences FROM hybrid_graph_check('large_graph');
DELETE FROM large WHERE id > 5000;
VACUUM large;
SELECT kept, edges, differences FROM hybrid_graph_check('large_graph');
INSERT INTO large (source, target, weight) SELECT i, 7, 1 FROM generate_series(1, 20000) i;
SELECT kept, edges, differences FROM hybrid_graph_check('large_graph');
VACUUM FREEZE large;
SELECT kept, edges, differences FROM hybrid_graph_check('large_graph');
SELECT differences('large_graph', 'SELECT source, target, weight FROM large');

-- a changed graph has the bits of a new one: other weights, new and old nodes, parallel edges, in each direction
CREATE TABLE moving (source int, target int, weight real, type text) WITH (fillfactor = 60);
CREATE INDEX moving_graph ON moving USING hybrid_graph (source, target, weight, type);
INSERT INTO moving SELECT i * 37 % 1009 * 3, i * i % 997 * 3, 1 / (1 + i % 17)::real, 't' || i % 3 FROM generate_series(1, 12000) i;
VACUUM moving;
CREATE FUNCTION moved(direction text, types text[]) RETURNS bigint LANGUAGE sql AS $$
	WITH copied AS MATERIALIZED (SELECT * FROM hybrid_spread('moving_graph', ARRAY[0, 3, 999], direction => direction, types => types, hops => 4)
		UNION ALL SELECT id, cost, step, NULL FROM hybrid_shortest_path('moving_graph', 3, 999, direction => direction, types => types)),
	built AS MATERIALIZED (SELECT * FROM hybrid_spread('TABLE moving', ARRAY[0, 3, 999], direction => direction, types => types, hops => 4)
		UNION ALL SELECT id, cost, step, NULL FROM hybrid_shortest_path('TABLE moving', 3, 999, direction => direction, types => types))
	SELECT count(*) FROM ((TABLE copied EXCEPT ALL TABLE built) UNION ALL (TABLE built EXCEPT ALL TABLE copied)) d
$$;
CREATE FUNCTION moved() RETURNS bigint LANGUAGE sql AS $$
	SELECT sum(moved(d, t)) FROM unnest(ARRAY['out', 'in', 'both']) d, (VALUES (NULL), (ARRAY['t1']), (ARRAY['t0', 't2'])) v (t)
$$;
SELECT moved();
DO $$
DECLARE
	change text;
	found bigint;
BEGIN
	FOREACH change IN ARRAY ARRAY[
		'UPDATE moving SET weight = weight * 3 WHERE source = 3 OR source = 999',
		'UPDATE moving SET source = source + 1 WHERE source % 300 = 0',
		'INSERT INTO moving SELECT i * 100 + 1, i * 90 + 2, 0.1, ''t1'' FROM generate_series(-3, 30) i',
		'INSERT INTO moving SELECT source, target, 0.3, ''t2'' FROM moving WHERE source < 30',
		'DELETE FROM moving WHERE ctid < ''(3,1)''',
		'DELETE FROM moving WHERE source % 100 = 1 OR target % 90 = 2',
		'UPDATE moving SET weight = 0 WHERE target = 999',
		'UPDATE moving SET type = ''t1'' WHERE source = 6',
		'DELETE FROM moving WHERE source BETWEEN 600 AND 610 OR target > 2900']
	LOOP
		EXECUTE change;
		found = moved();
		IF found <> 0 THEN
			RAISE WARNING '% differences after %', found, change;
		END IF;
	END LOOP;
END $$;
SELECT moved();
SELECT kept, edges, differences FROM hybrid_graph_check('moving_graph');
-- a sum that is out of range raises at each call, until it is not
BEGIN;
INSERT INTO moving VALUES (1, 2, 3e38, 't1'), (1, 2, 3e38, 't1');
SAVEPOINT s;
SELECT moved('out', NULL);
ROLLBACK TO s;
SELECT moved('out', NULL);
ROLLBACK;
SELECT moved();
-- a numeric weight that is not 0, but nearer to it than any double precision
CREATE TABLE fine (source int, target int, weight numeric);
CREATE INDEX fine_graph ON fine USING hybrid_graph (source, target, weight);
INSERT INTO fine VALUES (1, 2, 0), (2, 3, 0.0), (3, 4, 1e-400);
SELECT * FROM hybrid_subgraph('fine_graph', ARRAY[1]);
UPDATE fine SET weight = -weight;
SELECT * FROM hybrid_subgraph('fine_graph', ARRAY[1]);
DELETE FROM fine WHERE source = 3;
SELECT * FROM hybrid_subgraph('fine_graph', ARRAY[1]);
DROP TABLE moving, fine;
DROP FUNCTION moved(), moved(text, text[]);

-- own changes, savepoints, ROLLBACK
BEGIN;
INSERT INTO link VALUES (7, 8, 1, 'a');
SELECT edges, differences FROM hybrid_graph_check('graph');
SAVEPOINT s;
DELETE FROM link WHERE source = 1;
SELECT edges, differences FROM hybrid_graph_check('graph');
SELECT edges, differences FROM hybrid_graph_check('graph');
ROLLBACK TO s;
SELECT edges, differences FROM hybrid_graph_check('graph');
ROLLBACK;
SELECT edges, differences FROM hybrid_graph_check('graph');

-- MERGE, ON CONFLICT, and rows that foreign keys update and delete
CREATE TABLE person (id int PRIMARY KEY);
CREATE TABLE knows (source int REFERENCES person ON UPDATE CASCADE ON DELETE CASCADE, target int REFERENCES person ON UPDATE CASCADE ON DELETE SET NULL, weight real, PRIMARY KEY (source));
CREATE INDEX knows_graph ON knows USING hybrid_graph (source, target, weight);
INSERT INTO person SELECT generate_series(1, 100);
INSERT INTO knows SELECT i, i % 100 + 1, 1 FROM generate_series(1, 100) i;
SELECT kept, edges, differences FROM hybrid_graph_check('knows_graph');
MERGE INTO knows k USING generate_series(1, 20) i ON k.source = i WHEN MATCHED AND i % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET weight = 2;
SELECT kept, edges, differences FROM hybrid_graph_check('knows_graph');
INSERT INTO knows SELECT i, 50, 3 FROM generate_series(1, 20) i ON CONFLICT (source) DO UPDATE SET weight = 4;
SELECT kept, edges, differences FROM hybrid_graph_check('knows_graph');
UPDATE person SET id = id + 1000 WHERE id <= 10;
SELECT kept, edges, differences FROM hybrid_graph_check('knows_graph');
DELETE FROM person WHERE id BETWEEN 45 AND 55;
SELECT kept, edges, differences FROM hybrid_graph_check('knows_graph');
SELECT count(*), sum(weight) FROM hybrid_subgraph('knows_graph', ARRAY[1001, 1010], 1, 'out');
DROP TABLE knows, person;

-- TRUNCATE, and its ROLLBACK
BEGIN;
TRUNCATE link;
SELECT kept, edges, differences FROM hybrid_graph_check('graph');
INSERT INTO link VALUES (1, 2, 1, 'a');
SELECT kept, edges, differences FROM hybrid_graph_check('graph');
ROLLBACK;
SELECT kept, edges, differences FROM hybrid_graph_check('graph');

-- COPY FREEZE adds rows to a page that is all-visible, and changes nothing in the visibility map
BEGIN;
TRUNCATE link;
COPY link FROM stdin (FREEZE);
1	2	3	a
4	5	6	b
\.
SELECT kept, edges, differences FROM hybrid_graph_check('graph');
COPY link FROM stdin (FREEZE);
7	8	9	a
\.
SELECT kept, edges, differences FROM hybrid_graph_check('graph');
COMMIT;
SELECT kept, edges, differences FROM hybrid_graph_check('graph');
SELECT * FROM hybrid_neighbors('graph', ARRAY[7]);

-- an older cursor beside a newer statement
BEGIN;
DECLARE old CURSOR FOR SELECT edges, differences FROM hybrid_graph_check('graph');
INSERT INTO link VALUES (9, 10, 1, 'a');
SELECT edges, differences FROM hybrid_graph_check('graph');
FETCH old;
SELECT edges, differences FROM hybrid_graph_check('graph');
COMMIT;

-- a row whose source or target is NULL is no edge; it may have any weight
INSERT INTO link VALUES (NULL, 1, 1, 'a'), (1, NULL, -1, 'a'), (NULL, NULL, NULL, NULL);
SELECT edges, differences FROM hybrid_graph_check('graph');

-- a weight that is not allowed raises at the call, each time, and names its row
INSERT INTO link VALUES (20, 21, -1, 'a');
SELECT * FROM hybrid_neighbors('graph', ARRAY[20]);
SELECT * FROM hybrid_neighbors('graph', ARRAY[20]);
SELECT * FROM hybrid_neighbors('graph', ARRAY[20], types => ARRAY['none']);
UPDATE link SET weight = 'NaN' WHERE source = 20;
SELECT * FROM hybrid_neighbors('graph', ARRAY[20]);
UPDATE link SET weight = 'infinity' WHERE source = 20;
SELECT * FROM hybrid_neighbors('graph', ARRAY[20]);
UPDATE link SET weight = NULL WHERE source = 20;
SELECT * FROM hybrid_neighbors('graph', ARRAY[20]);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM hybrid_neighbors('graph', ARRAY[20]);
ROLLBACK;
UPDATE link SET weight = 0 WHERE source = 20;
SELECT * FROM hybrid_neighbors('graph', ARRAY[20]);

-- where no copy is kept, a query reads the edges
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT kept, edges, differences FROM hybrid_graph_check('graph');
COMMIT;
-- an index that is not valid, like one that CREATE INDEX CONCURRENTLY has left behind
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'graph'::regclass;
SELECT kept, edges, differences FROM hybrid_graph_check('graph');
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'graph'::regclass;
SELECT kept, edges, differences FROM hybrid_graph_check('graph');
CREATE UNLOGGED TABLE unlogged (source int, target int);
CREATE INDEX unlogged_graph ON unlogged USING hybrid_graph (source, target);
CREATE TEMP TABLE temporary (source int, target int);
CREATE INDEX temporary_graph ON temporary USING hybrid_graph (source, target);
CREATE TABLE part (source int, target int, weight numeric) PARTITION BY RANGE (source);
CREATE INDEX part_graph ON part USING hybrid_graph (source, target, weight);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (10);
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (10) TO (20);
INSERT INTO unlogged VALUES (1, 2), (NULL, 3);
INSERT INTO temporary VALUES (1, 2), (NULL, 3);
INSERT INTO part VALUES (1, 2, 0.1), (11, 2, 0.2), (12, NULL, 0);
SELECT kept, edges, differences FROM hybrid_graph_check('unlogged_graph');
SELECT kept, edges, differences FROM hybrid_graph_check('temporary_graph');
SELECT kept, edges, differences FROM hybrid_graph_check('part_graph');
SELECT kept, edges, differences FROM hybrid_graph_check('part_1_source_target_weight_idx');
SELECT * FROM hybrid_neighbors('part_graph', ARRAY[2], direction => 'in');
INSERT INTO part VALUES (12, 3, -0.5);
SELECT * FROM hybrid_neighbors('part_graph', ARRAY[2], direction => 'in');

-- plain inheritance: only the rows of the table itself
CREATE TABLE child () INHERITS (link);
INSERT INTO child VALUES (100, 101, 1, 'a');
SELECT * FROM hybrid_neighbors('graph', ARRAY[100]);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM hybrid_neighbors('graph', ARRAY[100]);
COMMIT;
DROP TABLE child;

-- a materialized view, once it has rows
CREATE MATERIALIZED VIEW seen AS SELECT source, target FROM link WITH NO DATA;
CREATE INDEX seen_graph ON seen USING hybrid_graph (source, target);
SELECT * FROM hybrid_neighbors('seen_graph', ARRAY[9]);
REFRESH MATERIALIZED VIEW seen;
SELECT kept, edges, differences FROM hybrid_graph_check('seen_graph');
SELECT * FROM hybrid_neighbors('seen_graph', ARRAY[9]);
DROP MATERIALIZED VIEW seen;

-- partial indexes and expressions; a function that may be replaced is left to a query
CREATE INDEX partial ON link USING hybrid_graph (source, target) WHERE type = 'b';
SELECT kept, edges, differences FROM hybrid_graph_check('partial');
SELECT differences('partial', 'SELECT source, target FROM link WHERE type = ''b''');
CREATE INDEX halved ON link USING hybrid_graph (source, target, (weight::float8 / 2)) WHERE source > 1;
SELECT kept, edges, differences FROM hybrid_graph_check('halved');
UPDATE link SET type = 'b' WHERE source = 7;
SELECT kept, edges, differences FROM hybrid_graph_check('partial');
CREATE FUNCTION ten(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 10';
CREATE INDEX computed ON link USING hybrid_graph (ten(source), target, (weight::float8 / 2)) WHERE source > 1;
SELECT kept, edges, differences FROM hybrid_graph_check('computed');
SELECT * FROM hybrid_neighbors('computed', ARRAY[40]);
CREATE OR REPLACE FUNCTION ten(bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 * 100; END';
SELECT kept, edges, differences FROM hybrid_graph_check('computed');
SELECT * FROM hybrid_neighbors('computed', ARRAY[400]);

-- a column that was added after the rows; domains; long types
CREATE DOMAIN node AS int;
CREATE TABLE later (source node, target int);
INSERT INTO later SELECT i, i + 1 FROM generate_series(1, 5) i;
ALTER TABLE later ADD weight real DEFAULT 2.5, ADD type varchar DEFAULT 'x';
CREATE INDEX later_graph ON later USING hybrid_graph (source, target, weight, type);
INSERT INTO later SELECT 7, 8, 1, string_agg(md5(i::text), '') FROM generate_series(1, 2000) i;
SELECT kept, edges, differences FROM hybrid_graph_check('later_graph');
SELECT source, target, weight FROM hybrid_subgraph('later_graph', ARRAY[1], types => ARRAY['x']);
SELECT l.source, (SELECT count(*) FROM hybrid_neighbors('later_graph', ARRAY[7], types => ARRAY[l.type::text])) FROM later l WHERE l.source = 7;

-- the index may be built anew; the table, too
REINDEX INDEX graph;
SELECT kept, pages_read, differences FROM hybrid_graph_check('graph');
REINDEX INDEX CONCURRENTLY graph;
SELECT pg_get_indexdef('graph'::regclass);
CREATE INDEX CONCURRENTLY "Table" ON link USING hybrid_graph (source, target);
SELECT * FROM hybrid_neighbors('"Table"', ARRAY[9]);
SELECT * FROM hybrid_neighbors('public."Table"', ARRAY[9]);
SELECT * FROM hybrid_neighbors('table', ARRAY[9]);
SELECT kept, differences FROM hybrid_graph_check('graph');
VACUUM FULL link;
SELECT kept, pages_read, differences FROM hybrid_graph_check('graph');
ALTER TABLE link ALTER source TYPE int;
SELECT kept, differences FROM hybrid_graph_check('graph');
-- a build, which reads no rows, leaves their number as it is
ANALYZE link;
CREATE INDEX counted ON link USING hybrid_graph (source, target);
REINDEX INDEX counted;
SELECT reltuples = (SELECT count(*) FROM link) AS counted FROM pg_class WHERE relname = 'link';
DROP INDEX counted;
CREATE TEMP TABLE passing (source int, target int) ON COMMIT DELETE ROWS;
CREATE INDEX passing_graph ON passing USING hybrid_graph (source, target);
BEGIN;
INSERT INTO passing VALUES (1, 2);
SELECT * FROM hybrid_neighbors('passing_graph', ARRAY[1]);
COMMIT;
SELECT * FROM hybrid_neighbors('passing_graph', ARRAY[1]);
DROP TABLE passing;
CLUSTER link USING graph;

-- plan: a plan without what 18 says of disabled nodes
CREATE FUNCTION plan(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		IF line !~ 'Disabled: true' THEN
			RETURN NEXT line;
		END IF;
	END LOOP;
END $$;
-- no scan uses it
SET enable_seqscan = off;
SELECT plan('SELECT * FROM link WHERE source = 1');
SELECT plan($$SELECT source, target FROM link WHERE type = 'b'$$);
RESET enable_seqscan;
DROP FUNCTION plan;

-- memory: what does not fit is not kept
SET hybrid.graph_memory_limit = '400kB';
SELECT kept, differences FROM hybrid_graph_check('graph');
-- where sessions share graphs, the details differ
\set VERBOSITY terse
SELECT count(*) FROM hybrid_degree('large_graph', 'out');
\set VERBOSITY default
SET hybrid.graph_memory_limit = '4MB';
SELECT kept, edges, differences FROM hybrid_graph_check('large_graph');
SELECT count(*) FROM hybrid_degree('large_graph', 'out');
SELECT kept, differences FROM hybrid_graph_check('graph');
-- of two copies that do not fit together, the one that was used last is kept
SET hybrid.graph_memory_limit = '1900kB';
CREATE INDEX large_back ON large USING hybrid_graph (target, source, weight);
SELECT count(*) FROM hybrid_degree('large_graph', 'out');
SELECT count(*) FROM hybrid_degree('large_back', 'out');
SELECT kept, pages_read FROM hybrid_graph_check('large_back');
SELECT kept, pages_read > 0 OR shared AS read_or_shared, differences FROM hybrid_graph_check('large_graph');
-- one that does not fit alone is used, but not kept
SET hybrid.graph_memory_limit = '64kB';
CREATE TABLE wide (source int, target int);
CREATE INDEX wide_graph ON wide USING hybrid_graph (source, target);
INSERT INTO wide SELECT i, -i FROM generate_series(1, 650) i;
SELECT kept, pages_by_map, pages_by_lsn, pages_read, edges, differences FROM hybrid_graph_check('wide_graph');
DROP TABLE wide;
-- a change of many edges, for the memory that there is, makes the copy anew; one of fewer edges does not
SET hybrid.graph_memory_limit = '400kB';
CREATE TABLE growing (source int, target int);
CREATE INDEX growing_graph ON growing USING hybrid_graph (source, target);
INSERT INTO growing SELECT i, i + 1 FROM generate_series(1, 3000) i;
VACUUM growing;
SELECT kept, edges, differences FROM hybrid_graph_check('growing_graph');
INSERT INTO growing SELECT i, i + 1 FROM generate_series(3001, 4000) i;
SELECT kept, pages_read > 15 AS all_read, edges, differences FROM hybrid_graph_check('growing_graph');
INSERT INTO growing SELECT i, i + 1 FROM generate_series(4001, 4100) i;
SELECT kept, pages_read > 15 AS all_read, edges, differences FROM hybrid_graph_check('growing_graph');
DROP TABLE growing;
RESET hybrid.graph_memory_limit;

-- privileges on the columns, at each call
CREATE ROLE graph_reader;
SELECT kept FROM hybrid_graph_check('graph');
GRANT SELECT (source, target, weight) ON link TO graph_reader;
SET ROLE graph_reader;
SELECT count(*) FROM hybrid_degree('graph');
RESET ROLE;
GRANT SELECT (type) ON link TO graph_reader;
SET ROLE graph_reader;
SELECT count(*) > 0 AS read FROM hybrid_degree('graph');
SELECT kept FROM hybrid_graph_check('partial');
RESET ROLE;
-- no column: a privilege on any of them
CREATE INDEX constants ON link USING hybrid_graph ((1), (2));
SET ROLE graph_reader;
SELECT count(*) FROM hybrid_degree('constants');
RESET ROLE;
DROP INDEX constants;
UPDATE link SET weight = -2 WHERE source = 20;
SET ROLE graph_reader;
-- who may not read ctid is not told
SELECT * FROM hybrid_degree('graph');
RESET ROLE;
UPDATE link SET weight = 0 WHERE source = 20;
SET ROLE graph_reader;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) > 0 AS read FROM hybrid_degree('graph');
COMMIT;
RESET ROLE;
REVOKE SELECT (type) ON link FROM graph_reader;
SET ROLE graph_reader;
SELECT count(*) FROM hybrid_degree('graph');
SELECT count(*) FROM hybrid_degree('partial');
RESET ROLE;

-- row security: the caller sees the edges of visible rows
GRANT SELECT ON link TO graph_reader;
ALTER TABLE link ENABLE ROW LEVEL SECURITY;
CREATE POLICY b_only ON link FOR SELECT TO graph_reader USING (type = 'b');
SELECT kept, edges FROM hybrid_graph_check('graph');
SET ROLE graph_reader;
SELECT kept, edges FROM hybrid_graph_check('graph');
SELECT * FROM hybrid_degree('graph');
SET row_security = off;
SELECT * FROM hybrid_degree('graph');
RESET row_security;
RESET ROLE;
ALTER TABLE link DISABLE ROW LEVEL SECURITY;

-- errors
SELECT * FROM hybrid_neighbors('none', ARRAY[1]);
SELECT * FROM hybrid_neighbors('none.graph', ARRAY[1]);
SELECT * FROM hybrid_neighbors('a.b.c.d', ARRAY[1]);
SELECT * FROM hybrid_neighbors('link', ARRAY[1]);
SELECT * FROM hybrid_neighbors('partial', ARRAY[1], types => ARRAY['a']);
SELECT * FROM hybrid_graph_check(NULL);
SELECT * FROM hybrid_graph_check('TABLE link');
SELECT hybrid_index_check('graph');
CREATE INDEX ON link USING hybrid_graph (source);
CREATE INDEX ON link USING hybrid_graph (source, type);
CREATE INDEX ON link USING hybrid_graph (source, target, type);
CREATE INDEX ON link USING hybrid_graph (source, target, weight, weight);
CREATE INDEX ON link USING hybrid_graph (source, target, weight, type, source);
CREATE UNIQUE INDEX ON link USING hybrid_graph (source, target);
CREATE INDEX ON link USING hybrid_graph (source, target) INCLUDE (weight);
CREATE INDEX ON link USING hybrid_graph (source, target) WITH (fillfactor = 70);
CREATE INDEX ON link USING hybrid_graph (source, (ARRAY[target]));
SELECT opcname, amvalidate(c.oid) FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod WHERE amname = 'hybrid_graph' ORDER BY 1;

DROP TABLE link, large, unlogged, temporary, part, later;
DROP ROLE graph_reader;
DROP FUNCTION differences, ten;
DROP DOMAIN node;

-- what depends on more than the row is read by a query: the columns of a row type, a setting, a text search configuration
CREATE TABLE beyond (source int, target int, f float8, body text);
INSERT INTO beyond SELECT i, i + 1, i / 3.0, 'cats dogs' FROM generate_series(1, 5) i;
CREATE INDEX beyond_row ON beyond USING hybrid_graph (source, target) WHERE beyond IS NOT NULL;
CREATE INDEX beyond_setting ON beyond USING hybrid_graph (source, target, (1), (f::text));
CREATE TEXT SEARCH CONFIGURATION beyond_words (COPY = simple);
CREATE INDEX beyond_search ON beyond USING hybrid_graph (source, target) WHERE to_tsvector('beyond_words', body) @@ 'cats'::tsquery;
SELECT (SELECT count(*) FROM hybrid_degree('beyond_row')) AS by_row, (SELECT count(*) FROM hybrid_degree('beyond_search')) AS by_search,
	(SELECT count(*) FROM hybrid_degree('beyond_setting', types => ARRAY['0.3333333333333333'])) AS by_setting;
ALTER TABLE beyond ADD COLUMN x int;
ALTER TEXT SEARCH CONFIGURATION beyond_words ALTER MAPPING REPLACE simple WITH english_stem;
SET extra_float_digits = -10;
SELECT (SELECT count(*) FROM hybrid_degree('beyond_row')) AS by_row, (SELECT count(*) FROM hybrid_degree('beyond_search')) AS by_search,
	(SELECT count(*) FROM hybrid_degree('beyond_setting', types => ARRAY['0.3333333333333333'])) AS by_setting;
RESET extra_float_digits;
DROP TABLE beyond;
DROP TEXT SEARCH CONFIGURATION beyond_words;
