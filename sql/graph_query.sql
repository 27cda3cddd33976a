-- A statement that calls hybrid_spread for each of many rows runs the edges query for each row, in the state of that moment.
\set VERBOSITY terse
CREATE TABLE link (source int, target int, weight real, kind text);
INSERT INTO link SELECT i % 40, i * 7 % 41, 1 + i % 5, CASE i % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'b' END FROM generate_series(1, 200) i;
CREATE TABLE seed (row int PRIMARY KEY, ids bigint[]);
INSERT INTO seed SELECT i, ARRAY[i * 9 % 40, i] FROM generate_series(1, 5) i;
-- a stable function that returns the table's rows, and reports each call
CREATE FUNCTION told(what text DEFAULT 'edges') RETURNS SETOF link STABLE LANGUAGE plpgsql AS
	$$ BEGIN RAISE NOTICE 'reads %', what; RETURN QUERY TABLE link; END $$;
\set told '\'SELECT * FROM told()\''

-- the same number of single calls, each in a statement of its own
CREATE TABLE alone (row int, id bigint, activation float8, hop int, via bigint);
DO $$
DECLARE s record;
BEGIN
	FOR s IN TABLE seed LOOP
		INSERT INTO alone SELECT s.row, a.* FROM hybrid_spread('TABLE link', s.ids) a;
	END LOOP;
END $$;

-- the same bits as rows of one statement; the query runs for each of them
CREATE TABLE together AS SELECT s.row, a.* FROM seed s, LATERAL hybrid_spread(:told, s.ids) a;
SELECT count(*) > 100 AS many FROM together;
CREATE FUNCTION differ() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM (TABLE alone EXCEPT ALL TABLE together) a FULL JOIN (TABLE together EXCEPT ALL TABLE alone) b ON false $$;
SELECT differ();
-- seeds and parameters may differ from row to row
TRUNCATE alone, together;
\set shaped ', hops => CASE WHEN s.row % 2 = 0 THEN NULL ELSE s.row END, decay => 0.3 + s.row % 3 * 0.2, fan => (s.row % 4 <> 1)::int::float8, threshold => s.row * 0.001, refire => s.row, combine => CASE WHEN s.row < 3 THEN \'max\' ELSE \'sum\' END, normalized => s.row = 4, tolerance => 1e-3 / s.row, k => 50 - s.row'
INSERT INTO together SELECT s.row, a.* FROM (SELECT row % 5 + 1 AS row, ids FROM seed) s, LATERAL hybrid_spread(:told, s.ids :shaped) a;
SELECT format('INSERT INTO alone SELECT s.row, a.* FROM (SELECT row %% 5 + 1 AS row, ids FROM seed WHERE row = %s) s, LATERAL hybrid_spread(''TABLE link'', s.ids %s) a', row, :'shaped') FROM seed \gexec
SELECT count(*) > 50 AS many, differ() FROM together;
-- a call within the edges query of another call, for each row of the inner query
SELECT count(*) FROM hybrid_spread($$SELECT s.row, a.id FROM seed s, LATERAL hybrid_spread('SELECT * FROM told(''inner'')', s.ids) a$$, '{1}');
SELECT count(*) FROM seed s, LATERAL hybrid_spread($$SELECT s.row, a.id FROM told('outer') t, seed s, LATERAL hybrid_spread('SELECT * FROM told(''inner'')', s.ids) a$$, s.ids) a;
-- settings that change between the rows: the role, the path, one that a policy asks for, row security, the limit
CREATE TABLE guarded AS SELECT * FROM link LIMIT 0;
CREATE ROLE regress_graph_query;
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON link, seed, guarded TO regress_graph_query;
INSERT INTO guarded VALUES (1, 2, 1, 'a'), (1, 3, 1, 'b'), (1, 4, 1, 'b');
CREATE POLICY tenant ON guarded TO regress_graph_query USING (kind = current_setting('graph.tenant', true));
CREATE FUNCTION set_between(name text, value text, id bigint) RETURNS bigint VOLATILE LANGUAGE plpgsql AS
	$$ BEGIN PERFORM set_config(name, value, false); RETURN id; END $$;
SELECT r, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('TABLE guarded', ARRAY[set_between('role', r, 1)], unknown => true)) FROM (VALUES ('none'), ('regress_graph_query'), ('none')) v (r);
SET ROLE regress_graph_query;
SELECT t, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('TABLE guarded', ARRAY[set_between('graph.tenant', t, 1)], unknown => true)) FROM (VALUES ('a'), ('b'), ('c'), ('a')) v (t);
SELECT t, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('TABLE guarded', ARRAY[set_between('row_security', t, 1)], unknown => true)) FROM (VALUES ('on'), ('off')) v (t);
RESET row_security;
RESET ROLE;
CREATE SCHEMA elsewhere CREATE TABLE link (source int, target int);
INSERT INTO elsewhere.link VALUES (1, 1001);
SELECT p, (SELECT max(id) FROM hybrid_spread('SELECT source, target FROM link', ARRAY[public.set_between('search_path', p, 1)])) FROM (VALUES ('public'), ('elsewhere, public'), ('public')) v (p);
RESET search_path;
SELECT count(*) > 0 FROM (VALUES ('4MB'), ('2MB'), ('64kB')) v (l), LATERAL hybrid_spread('SELECT i, i + 1 FROM generate_series(1, 3000) i', ARRAY[set_between('hybrid.graph_memory_limit', l, 1)]);
RESET hybrid.graph_memory_limit;
-- the snapshot of a statement does not change while it runs; names are looked up again for each row
CREATE TEMP TABLE passing (source int, target int);
INSERT INTO passing VALUES (1, 2);
CREATE FUNCTION change_between(command text, id bigint) RETURNS bigint VOLATILE LANGUAGE plpgsql AS $$ BEGIN EXECUTE command; RETURN id; END $$;
SELECT i, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('SELECT source, target FROM passing', ARRAY[change_between('INSERT INTO passing VALUES (1, ' || 10 + i || ')', 1)], unknown => true)) FROM generate_series(1, 3) i;
SELECT i, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('SELECT source, target FROM passing', ARRAY[change_between(CASE i WHEN 2 THEN 'TRUNCATE passing' ELSE 'DELETE FROM passing' END, 1)], unknown => true)) FROM generate_series(1, 3) i;
CREATE VIEW changing AS SELECT 1 AS source, 2 AS target;
SELECT i, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('TABLE changing', ARRAY[change_between('CREATE OR REPLACE VIEW changing AS SELECT 1 AS source, ' || i || ' AS target', 1)], unknown => true)) FROM generate_series(5, 7) i;
CREATE TABLE labelled (source int, target int);
INSERT INTO labelled VALUES (1, 2), (1, 3);
-- rights, granted and revoked: membership in a role, BYPASSRLS, on a schema, on a table
CREATE ROLE regress_graph_owner;
ALTER TABLE labelled ENABLE ROW LEVEL SECURITY;
CREATE POLICY owners ON labelled TO regress_graph_query USING (pg_has_role('regress_graph_owner', 'member'));
CREATE SCHEMA closing CREATE TABLE link (source int, target int);
INSERT INTO closing.link VALUES (1, 5);
GRANT USAGE ON SCHEMA closing TO regress_graph_query;
GRANT SELECT ON labelled, closing.link TO regress_graph_query;
ALTER FUNCTION change_between SECURITY DEFINER;
SET ROLE regress_graph_query;
SELECT i, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('SELECT source, target FROM labelled', ARRAY[change_between(CASE i WHEN 2 THEN 'GRANT regress_graph_owner TO regress_graph_query' WHEN 3 THEN 'REVOKE regress_graph_owner FROM regress_graph_query' ELSE 'SELECT' END, 1)], unknown => true)) FROM generate_series(1, 3) i;
SELECT i, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('SELECT source, target FROM labelled', ARRAY[change_between(CASE i WHEN 2 THEN 'ALTER ROLE regress_graph_query BYPASSRLS' WHEN 3 THEN 'ALTER ROLE regress_graph_query NOBYPASSRLS' ELSE 'SELECT' END, 1)], unknown => true)) FROM generate_series(1, 3) i;
SELECT i, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('SELECT source, target FROM closing.link', ARRAY[change_between(CASE i WHEN 2 THEN 'REVOKE USAGE ON SCHEMA closing FROM regress_graph_query' ELSE 'SELECT' END, 1)], unknown => true)) FROM generate_series(1, 3) i;
SELECT i, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('SELECT source, target FROM labelled', ARRAY[change_between(CASE i WHEN 2 THEN 'REVOKE SELECT ON labelled FROM regress_graph_query' ELSE 'SELECT' END, 1)], unknown => true)) FROM generate_series(1, 3) i;
RESET ROLE;
ALTER FUNCTION change_between SECURITY INVOKER;
DROP SCHEMA closing CASCADE;
DROP TABLE labelled;
DROP ROLE regress_graph_owner;
-- a temporary table that is created and dropped
SELECT i, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('SELECT source, target FROM guarded', ARRAY[change_between(CASE i WHEN 2 THEN 'CREATE TEMP TABLE guarded AS SELECT 1 AS source, 77 AS target' WHEN 3 THEN 'DROP TABLE pg_temp.guarded' ELSE 'SELECT' END, 1)], unknown => true)) FROM generate_series(1, 3) i;

-- a cursor keeps its snapshot, even if a table or view changes between two of its rows
BEGIN;
DECLARE c CURSOR FOR SELECT s.row, a.n FROM seed s, LATERAL (SELECT count(*) AS n FROM hybrid_spread('SELECT c.source, c.target FROM changing c, told(''for a cursor'') LIMIT 1', s.ids || 1::bigint, unknown => true)) a;
FETCH 2 FROM c;
INSERT INTO link VALUES (1, 99);
FETCH c;
CREATE OR REPLACE VIEW changing AS SELECT 1 AS source, 3 AS target;
FETCH c;
ROLLBACK;
-- each FETCH has its own statement_timestamp()
BEGIN;
DECLARE c CURSOR FOR SELECT a.ids = ARRAY[1, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint] AS now FROM seed s, LATERAL (SELECT array_agg(id ORDER BY id) AS ids FROM hybrid_spread('SELECT 1, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint', ARRAY[1 + 0 * s.row])) a;
FETCH c;
FETCH 2 FROM c;
COMMIT;
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT s.row, a.n FROM seed s, LATERAL (SELECT count(*) AS n FROM hybrid_spread(:told, s.ids)) a;
FETCH held;
COMMIT;
FETCH 2 FROM held;
CLOSE held;

-- errors before, during and after the build of a graph; later calls are right, and no graph stays in memory
CREATE FUNCTION try_rows(edges text, seeds text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE found text;
BEGIN
	EXECUTE format('SELECT string_agg(s.row || '':'' || a.n, '' '' ORDER BY s.row) FROM seed s, LATERAL (SELECT count(*) AS n FROM hybrid_spread(%s, %s)) a', edges, seeds) INTO found;
	RETURN found;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM || ', graphs: ' || (SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'hybrid graph');
END $$;
SELECT try_rows($$'TABLE link'$$, 's.ids');
SELECT try_rows($$'TABLE link'$$, 'CASE WHEN s.row = 3 THEN ARRAY[NULL::bigint] ELSE s.ids END');
SELECT try_rows($$CASE WHEN s.row = 3 THEN 'SELECT i, 1 / (5 - i) FROM generate_series(1, 5) i' ELSE 'TABLE link' END$$, 's.ids');
SELECT try_rows($$CASE WHEN s.row = 3 THEN 'SELECT i, 1, 3e38::real FROM generate_series(1, 5) i, generate_series(1, 5) j' ELSE 'TABLE link' END$$, 's.ids');
SELECT try_rows($$'TABLE link'$$, 's.ids, hops => CASE WHEN s.row < 4 THEN 3 END, decay => 1');
SELECT try_rows($$'TABLE link'$$, 's.ids');
SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'hybrid graph';
-- no graph is kept for the next row
SELECT count(*) > 0 AS some, max(m.graphs) AS graphs FROM seed s, LATERAL hybrid_spread('TABLE link', s.ids) a, LATERAL (SELECT count(*) AS graphs FROM pg_backend_memory_contexts WHERE name = 'hybrid graph' AND a.id >= 0) m;

DROP FUNCTION told, differ, set_between, change_between, try_rows;
DROP VIEW changing;
DROP TABLE link, seed, alone, together, guarded, passing, elsewhere.link;
DROP SCHEMA elsewhere;
DROP ROLE regress_graph_query;
