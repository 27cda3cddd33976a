-- A query that calls hybrid_spread for each of many rows reads the edges once, where they are the same ones.
\set VERBOSITY terse
CREATE TABLE link (source int, target int, weight real, kind text);
INSERT INTO link SELECT i % 40, i * 7 % 41, 1 + i % 5, CASE i % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'b' END FROM generate_series(1, 200) i;
CREATE TABLE seed (row int PRIMARY KEY, ids bigint[]);
INSERT INTO seed SELECT i, ARRAY[i * 9 % 40, i] FROM generate_series(1, 5) i;
-- says when it is called; a stable function of the table's rows
CREATE FUNCTION told(what text DEFAULT 'edges') RETURNS SETOF link STABLE LANGUAGE plpgsql AS
	$$ BEGIN RAISE NOTICE 'reads %', what; RETURN QUERY TABLE link; END $$;
\set told '\'SELECT * FROM told()\''

-- as many single calls, each a statement of its own
CREATE TABLE alone (row int, id bigint, activation float8, hop int, via bigint);
DO $$
DECLARE s record;
BEGIN
	FOR s IN TABLE seed LOOP
		INSERT INTO alone SELECT s.row, a.* FROM hybrid_spread('TABLE link', s.ids) a;
	END LOOP;
END $$;

-- once for all rows, with the same bits
CREATE TABLE together AS SELECT s.row, a.* FROM seed s, LATERAL hybrid_spread(:told, s.ids) a;
SELECT count(*) > 100 AS many FROM together;
CREATE FUNCTION differ() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM (TABLE alone EXCEPT ALL TABLE together) a FULL JOIN (TABLE together EXCEPT ALL TABLE alone) b ON false $$;
SELECT differ();
-- what is spread, and how far, may be others each time: decay and fan, too, to and fro
TRUNCATE alone, together;
\set shaped ', hops => CASE WHEN s.row % 2 = 0 THEN NULL ELSE s.row END, decay => 0.3 + s.row % 3 * 0.2, fan => (s.row % 4 <> 1)::int::float8, threshold => s.row * 0.001, refire => s.row, combine => CASE WHEN s.row < 3 THEN \'max\' ELSE \'sum\' END, normalized => s.row = 4, tolerance => 1e-3 / s.row, k => 50 - s.row'
INSERT INTO together SELECT s.row, a.* FROM (SELECT row % 5 + 1 AS row, ids FROM seed) s, LATERAL hybrid_spread(:told, s.ids :shaped) a;
SELECT format('INSERT INTO alone SELECT s.row, a.* FROM (SELECT row %% 5 + 1 AS row, ids FROM seed WHERE row = %s) s, LATERAL hybrid_spread(''TABLE link'', s.ids %s) a', row, :'shaped') FROM seed \gexec
SELECT count(*) > 50 AS many, differ() FROM together;
-- a graph that converges with one decay and not with another
SELECT decay, (SELECT count(*) > 0 FROM hybrid_spread(:told, '{1}', hops => NULL, fan => 0, decay => d.decay)) FROM (VALUES (0.001), (0.002)) d (decay);
SELECT decay, (SELECT count(*) > 0 FROM hybrid_spread(:told, '{1}', hops => NULL, fan => 0, decay => d.decay)) FROM (VALUES (0.001), (0.9)) d (decay);

-- query, types and direction are others: read anew, also what was read before; the same: not
SELECT s.row, count(*) FROM seed s, LATERAL hybrid_spread('SELECT * FROM told(''' || s.row / 2 || ''')', s.ids) GROUP BY 1 ORDER BY 1;
SELECT s.row, count(*) FROM seed s, LATERAL hybrid_spread(:told, s.ids, types => CASE WHEN s.row > 1 THEN ARRAY[CASE WHEN s.row > 3 THEN 'a' ELSE 'b' END] END) GROUP BY 1 ORDER BY 1;
SELECT s.row, count(*) FROM seed s, LATERAL hybrid_spread(:told, s.ids, direction => CASE WHEN s.row > 2 THEN 'in' ELSE 'out' END) GROUP BY 1 ORDER BY 1;
SELECT s.row, count(*) FROM seed s, LATERAL hybrid_spread(:told, s.ids, direction => CASE s.row % 2 WHEN 0 THEN 'both' ELSE 'out' END) GROUP BY 1 ORDER BY 1;

-- each place of the query has a graph of its own
SELECT count(*) FROM seed s, ROWS FROM (hybrid_spread(:told, s.ids), hybrid_spread(:told, s.ids, direction => 'in')) a;
SELECT count(*) FROM (SELECT hybrid_spread(:told, ids) FROM seed) a;
SELECT count(*) FROM (SELECT hybrid_spread(:told, '{1}', k => 1) FROM seed) a;
SELECT row, (SELECT sum(id) FROM hybrid_spread(:told, ids, k => 3)) FROM seed ORDER BY row;
-- one within another, at each row of the inner one
SELECT count(*) FROM hybrid_spread($$SELECT s.row, a.id FROM seed s, LATERAL hybrid_spread('SELECT * FROM told(''inner'')', s.ids) a$$, '{1}');
SELECT count(*) FROM seed s, LATERAL hybrid_spread($$SELECT s.row, a.id FROM told('outer') t, seed s, LATERAL hybrid_spread('SELECT * FROM told(''inner'')', s.ids) a$$, s.ids) a;
-- statements in a loop are statements; a loop over one statement is one
DO $$
DECLARE found int;
BEGIN
	FOR i IN 1 .. 2 LOOP
		PERFORM count(*) FROM seed s, LATERAL hybrid_spread('SELECT * FROM told(''in a loop'')', s.ids || i::bigint);
	END LOOP;
	FOR found IN SELECT s.row FROM seed s, LATERAL hybrid_spread('SELECT * FROM told(''for a loop'')', s.ids, k => 30) LOOP
		BEGIN
			PERFORM 1 / (found - 3);
		EXCEPTION WHEN division_by_zero THEN NULL;
		END;
	END LOOP;
END $$;
PREPARE p(text, bigint) AS SELECT count(*) FROM seed s, LATERAL hybrid_spread($1, s.ids || $2);
EXECUTE p(:told, 2);
EXECUTE p(:told, 3);

-- what is volatile is called each time: in the query, deep in it, in a view, in a policy
CREATE FUNCTION wild() RETURNS bool VOLATILE LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'wild'; RETURN true; END $$;
CREATE FUNCTION wild_edges() RETURNS SETOF link LANGUAGE sql AS 'SELECT * FROM told(''wild edges'')';
CREATE VIEW wild_view AS SELECT * FROM link WHERE (SELECT wild());
CREATE TABLE guarded AS SELECT * FROM link LIMIT 1;
\set two ' FROM (SELECT * FROM seed LIMIT 2) s'
SELECT count(*) > 0 :two, LATERAL hybrid_spread('SELECT source, target, weight FROM told() WHERE random() < 2', s.ids);
SELECT count(*) > 0 :two, LATERAL hybrid_spread('WITH w AS MATERIALIZED (SELECT wild() AS is) SELECT source, target FROM link, w WHERE w.is', s.ids);
SELECT count(*) > 0 :two, LATERAL hybrid_spread('SELECT source, target FROM link WHERE (SELECT wild())', s.ids);
SELECT count(*) > 0 :two, LATERAL hybrid_spread('SELECT source, target FROM link WHERE (SELECT wild()) UNION SELECT 1, 2', s.ids);
SELECT count(*) > 0 :two, LATERAL hybrid_spread('SELECT * FROM wild_edges()', s.ids);
SELECT count(*) > 0 :two, LATERAL hybrid_spread('TABLE wild_view', s.ids);
-- also where a call is not in the query: defaults of arguments, what an aggregate is made of
CREATE SEQUENCE calls;
CREATE FUNCTION by_default(source bigint, target bigint DEFAULT nextval('calls')) RETURNS TABLE (s bigint, t bigint) IMMUTABLE LANGUAGE sql AS 'SELECT 1::bigint, 100 + $2';
CREATE FUNCTION by_its_default(target bigint DEFAULT (ARRAY[nextval('calls')])[1]) RETURNS bigint STABLE LANGUAGE sql AS 'SELECT target';
CREATE FUNCTION by_anothers(target bigint DEFAULT by_its_default()) RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT target';
CREATE VIEW by_view AS SELECT 1 AS source, 200 + by_anothers() AS target;
CREATE FUNCTION counted(bigint, int) RETURNS bigint VOLATILE LANGUAGE sql AS $$ SELECT nextval('calls') $$;
CREATE AGGREGATE counts(int) (SFUNC = counted, STYPE = bigint, INITCOND = '0');
CREATE FUNCTION constantly(bigint, bigint DEFAULT 7) RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT $2';
CREATE FUNCTION ring(a int DEFAULT 0, b int DEFAULT 1) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT a + b';
CREATE FUNCTION around(x int DEFAULT ring(1)) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT x';
CREATE OR REPLACE FUNCTION ring(a int DEFAULT around(), b int DEFAULT 1) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT a + b';
SELECT edges, (SELECT count(DISTINCT n) FROM (SELECT (SELECT max(id) FROM hybrid_spread(edges, ARRAY[1, -i])) AS n FROM generate_series(1, 2) i) d) AS graphs
FROM unnest(ARRAY['SELECT s, t + 0 * by_its_default(1) FROM by_default(1)', 'SELECT s, t FROM by_default(source => 1)', 'SELECT s, t FROM by_default(1, 2)', 'TABLE by_view', 'SELECT 1, counts(1)', 'SELECT 1, counts(1) OVER ()', 'SELECT 1, constantly(1)', 'SELECT 1, ring(2)', 'SELECT 1, 3 + sum(1) OVER () + rank() OVER ()']) WITH ORDINALITY e (edges, n) ORDER BY n;
-- a sample is another one each time, unless it is to be the same
SELECT count(*) > 0 :two, LATERAL hybrid_spread('SELECT l.source, l.target FROM link l TABLESAMPLE BERNOULLI (100), (SELECT count(*) FROM told(''for a sample'')) t', s.ids);
SELECT count(*) > 0 :two, LATERAL hybrid_spread('SELECT l.source, l.target FROM link l TABLESAMPLE BERNOULLI (100) REPEATABLE (1), (SELECT count(*) FROM told(''for one sample'')) t', s.ids);
-- what has no snapshot is read each time: a sequence, which shows what was done in between; a foreign table, be it a partition
CREATE SEQUENCE numbers START 100;
SELECT i, (SELECT max(id) FROM hybrid_spread('SELECT 1, last_value FROM numbers', ARRAY[nextval('numbers') * 0 + 1, -i])) FROM generate_series(1, 3) i;
CREATE EXTENSION file_fdw;
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
CREATE TABLE parted (source int, target int) PARTITION BY LIST (source);
CREATE TABLE parted_here PARTITION OF parted FOR VALUES IN (1);
SELECT count(*) > 0 :two, LATERAL hybrid_spread('SELECT p.* FROM parted p, (SELECT count(*) FROM told(''for partitions'')) t', s.ids, unknown => true);
CREATE FOREIGN TABLE parted_there PARTITION OF parted FOR VALUES IN (2) SERVER files OPTIONS (program 'echo 2,3', format 'csv');
SELECT count(*) > 0 :two, LATERAL hybrid_spread('SELECT p.* FROM parted_there p, (SELECT count(*) FROM told(''for a foreign table'')) t', s.ids, unknown => true);
SELECT count(*) > 0 :two, LATERAL hybrid_spread('SELECT p.* FROM parted p, (SELECT count(*) FROM told(''for a foreign partition'')) t', s.ids, unknown => true);
-- partitions that the query does not read are not locked
BEGIN;
SELECT count(*) FROM hybrid_spread('SELECT source, target FROM parted WHERE source = 1', '{1}', unknown => true);
SELECT relation::regclass FROM pg_locks WHERE relation::regclass::text LIKE 'parted%' ORDER BY 1;
COMMIT;
DROP TABLE parted;
DROP EXTENSION file_fdw CASCADE;
CREATE ROLE regress_graph_kept;
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY wild ON guarded TO regress_graph_kept USING (wild());
GRANT SELECT ON link, seed, guarded TO regress_graph_kept;
SET ROLE regress_graph_kept;
SELECT count(*) > 0 :two, LATERAL hybrid_spread('TABLE guarded', s.ids);
RESET ROLE;

-- settings that change between the rows: the role, the path, one that a policy asks for, row security, the limit
TRUNCATE guarded;
INSERT INTO guarded VALUES (1, 2, 1, 'a'), (1, 3, 1, 'b'), (1, 4, 1, 'b');
DROP POLICY wild ON guarded;
CREATE POLICY tenant ON guarded TO regress_graph_kept USING (kind = current_setting('graph.tenant', true));
CREATE FUNCTION set_between(name text, value text, id bigint) RETURNS bigint VOLATILE LANGUAGE plpgsql AS
	$$ BEGIN PERFORM set_config(name, value, false); RETURN id; END $$;
SELECT r, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('TABLE guarded', ARRAY[set_between('role', r, 1)], unknown => true)) FROM (VALUES ('none'), ('regress_graph_kept'), ('none')) v (r);
SET ROLE regress_graph_kept;
SELECT t, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('TABLE guarded', ARRAY[set_between('graph.tenant', t, 1)], unknown => true)) FROM (VALUES ('a'), ('b'), ('c'), ('a')) v (t);
SELECT t, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('TABLE guarded', ARRAY[set_between('row_security', t, 1)], unknown => true)) FROM (VALUES ('on'), ('off')) v (t);
RESET row_security;
RESET ROLE;
CREATE SCHEMA elsewhere CREATE TABLE link (source int, target int);
INSERT INTO elsewhere.link VALUES (1, 1001);
SELECT p, (SELECT max(id) FROM hybrid_spread('SELECT source, target FROM link', ARRAY[public.set_between('search_path', p, 1)])) FROM (VALUES ('public'), ('elsewhere, public'), ('public')) v (p);
RESET search_path;
-- without any change in between it is one reading, whatever else the function has set
SELECT count(*) > 0 FROM seed s, LATERAL hybrid_spread(:told, s.ids || set_between('graph.tenant', 'd', 1));
SELECT count(*) > 0 FROM (VALUES ('4MB'), ('2MB'), ('64kB')) v (l), LATERAL hybrid_spread('SELECT i, i + 1 FROM generate_series(1, 3000) i', ARRAY[set_between('hybrid.graph_memory_limit', l, 1)]);
RESET hybrid.graph_memory_limit;

-- settings of a size at which comparing them costs more than reading: read each time, and no error
SELECT set_between('graph.long', repeat('x', 5000000), 1);
SELECT count(*) > 0 :two, LATERAL hybrid_spread('SELECT * FROM told(''under a long setting'')', s.ids);
RESET graph.long;
-- what the statement sees does not change while it runs; names mean what they mean now
CREATE TEMP TABLE passing (source int, target int);
INSERT INTO passing VALUES (1, 2);
CREATE FUNCTION change_between(command text, id bigint) RETURNS bigint VOLATILE LANGUAGE plpgsql AS $$ BEGIN EXECUTE command; RETURN id; END $$;
SELECT i, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('SELECT source, target FROM passing', ARRAY[change_between('INSERT INTO passing VALUES (1, ' || 10 + i || ')', 1)], unknown => true)) FROM generate_series(1, 3) i;
SELECT i, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('SELECT source, target FROM passing', ARRAY[change_between(CASE i WHEN 2 THEN 'TRUNCATE passing' ELSE 'DELETE FROM passing' END, 1)], unknown => true)) FROM generate_series(1, 3) i;
CREATE VIEW changing AS SELECT 1 AS source, 2 AS target;
SELECT i, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('TABLE changing', ARRAY[change_between('CREATE OR REPLACE VIEW changing AS SELECT 1 AS source, ' || i || ' AS target', 1)], unknown => true)) FROM generate_series(5, 7) i;
CREATE FUNCTION changing_target() RETURNS int STABLE LANGUAGE sql AS 'SELECT 2';
CREATE FUNCTION nested_target() RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN changing_target(); END';
SELECT i, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('SELECT 1, nested_target()', ARRAY[change_between('CREATE OR REPLACE FUNCTION changing_target() RETURNS int STABLE LANGUAGE sql AS ''SELECT ' || i || '''', 1)], unknown => true)) FROM generate_series(5, 7) i;
CREATE TYPE cast_between AS (i int);
CREATE FUNCTION to_five(cast_between) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 5';
CREATE FUNCTION to_six(cast_between) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 6';
CREATE CAST (cast_between AS int) WITH FUNCTION to_five(cast_between);
SELECT i, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('SELECT 1, row(1)::cast_between::int', ARRAY[change_between(CASE i WHEN 2 THEN 'DO $d$ BEGIN DROP CAST (cast_between AS int); CREATE CAST (cast_between AS int) WITH FUNCTION to_six(cast_between); END $d$' ELSE 'SELECT' END, 1)], unknown => true)) FROM generate_series(1, 3) i;
CREATE TEXT SEARCH CONFIGURATION search_between (COPY = simple);
SELECT i, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread($$SELECT 1, 5 + length(to_tsvector('search_between', 'runs run'))$$, ARRAY[change_between(CASE i WHEN 2 THEN 'ALTER TEXT SEARCH CONFIGURATION search_between ALTER MAPPING FOR asciiword WITH english_stem' ELSE 'SELECT' END, 1)], unknown => true)) FROM generate_series(1, 3) i;
CREATE TYPE label_between AS ENUM ('open', 'shut');
CREATE TABLE labelled (source int, target int, l label_between);
INSERT INTO labelled VALUES (1, 2, 'open'), (1, 3, 'shut');
SELECT i, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread($$SELECT source, target FROM labelled WHERE l::text = 'open'$$, ARRAY[change_between(CASE i WHEN 2 THEN 'ALTER TYPE label_between RENAME VALUE ''open'' TO ''ajar''' WHEN 3 THEN 'ALTER TYPE label_between RENAME VALUE ''shut'' TO ''open''' ELSE 'SELECT' END, 1)], unknown => true)) FROM generate_series(1, 3) i;
CREATE TEXT SEARCH DICTIONARY words_between (TEMPLATE = simple);
CREATE TEXT SEARCH CONFIGURATION searched_between (COPY = simple);
ALTER TEXT SEARCH CONFIGURATION searched_between ALTER MAPPING FOR asciiword WITH words_between;
SELECT i, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread($$SELECT 1, 5 + length(to_tsvector('searched_between', 'the run'))$$, ARRAY[change_between(CASE i WHEN 2 THEN 'ALTER TEXT SEARCH DICTIONARY words_between (STOPWORDS = english)' ELSE 'SELECT' END, 1)], unknown => true)) FROM generate_series(1, 3) i;
DROP TEXT SEARCH CONFIGURATION searched_between;
DROP TEXT SEARCH DICTIONARY words_between;
-- rights, given and taken: those of another role, past row security, to a schema, to a table
CREATE ROLE regress_graph_owner;
ALTER TABLE labelled ENABLE ROW LEVEL SECURITY;
CREATE POLICY owners ON labelled TO regress_graph_kept USING (pg_has_role('regress_graph_owner', 'member'));
CREATE SCHEMA closing CREATE TABLE link (source int, target int);
INSERT INTO closing.link VALUES (1, 5);
GRANT USAGE ON SCHEMA closing TO regress_graph_kept;
GRANT SELECT ON labelled, closing.link TO regress_graph_kept;
ALTER FUNCTION change_between SECURITY DEFINER;
SET ROLE regress_graph_kept;
SELECT i, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('SELECT source, target FROM labelled', ARRAY[change_between(CASE i WHEN 2 THEN 'GRANT regress_graph_owner TO regress_graph_kept' WHEN 3 THEN 'REVOKE regress_graph_owner FROM regress_graph_kept' ELSE 'SELECT' END, 1)], unknown => true)) FROM generate_series(1, 3) i;
SELECT i, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('SELECT source, target FROM labelled', ARRAY[change_between(CASE i WHEN 2 THEN 'ALTER ROLE regress_graph_kept BYPASSRLS' WHEN 3 THEN 'ALTER ROLE regress_graph_kept NOBYPASSRLS' ELSE 'SELECT' END, 1)], unknown => true)) FROM generate_series(1, 3) i;
SELECT i, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('SELECT source, target FROM closing.link', ARRAY[change_between(CASE i WHEN 2 THEN 'REVOKE USAGE ON SCHEMA closing FROM regress_graph_kept' ELSE 'SELECT' END, 1)], unknown => true)) FROM generate_series(1, 3) i;
SELECT i, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('SELECT source, target FROM labelled', ARRAY[change_between(CASE i WHEN 2 THEN 'REVOKE SELECT ON labelled FROM regress_graph_kept' ELSE 'SELECT' END, 1)], unknown => true)) FROM generate_series(1, 3) i;
RESET ROLE;
ALTER FUNCTION change_between SECURITY INVOKER;
DROP SCHEMA closing CASCADE;
DROP TABLE labelled;
DROP TYPE label_between;
DROP ROLE regress_graph_owner;
DROP TYPE cast_between CASCADE;
DROP TEXT SEARCH CONFIGURATION search_between;
-- a temporary table that comes and goes
SELECT i, (SELECT array_agg(id ORDER BY id) FROM hybrid_spread('SELECT source, target FROM guarded', ARRAY[change_between(CASE i WHEN 2 THEN 'CREATE TEMP TABLE guarded AS SELECT 1 AS source, 77 AS target' WHEN 3 THEN 'DROP TABLE pg_temp.guarded' ELSE 'SELECT' END, 1)], unknown => true)) FROM generate_series(1, 3) i;

-- cursors: their snapshot, whatever is done between two of their rows
BEGIN;
DECLARE c CURSOR FOR SELECT s.row, a.n FROM seed s, LATERAL (SELECT count(*) AS n FROM hybrid_spread('SELECT c.source, c.target FROM changing c, told(''for a cursor'') LIMIT 1', s.ids || 1::bigint, unknown => true)) a;
FETCH 2 FROM c;
INSERT INTO link VALUES (1, 99);
FETCH c;
CREATE OR REPLACE VIEW changing AS SELECT 1 AS source, 3 AS target;
FETCH c;
-- what was read in a part that is rolled back is read again
SAVEPOINT a;
CREATE OR REPLACE VIEW changing AS SELECT 1 AS source, 4 AS target;
ROLLBACK TO a;
FETCH c;
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT s.row, a.ids FROM seed s, LATERAL (SELECT array_agg(id ORDER BY id) AS ids FROM hybrid_spread('TABLE changing', ARRAY[s.row * 100, 1], unknown => true)) a;
FETCH c;
SAVEPOINT a;
CREATE OR REPLACE VIEW changing AS SELECT 1 AS source, 4 AS target;
FETCH c;
ROLLBACK TO a;
FETCH c;
COMMIT;
-- each FETCH has a time of its own
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

-- errors, before, while and after there is a graph; what follows is right, and nothing stays
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
-- a graph at a time; none where nobody calls again
SELECT s.row, max(m.graphs) AS graphs FROM seed s, LATERAL (SELECT count(*) FROM hybrid_spread('SELECT i, i + 1 FROM generate_series(1, 100) i WHERE i > ' || s.row / 2, s.ids)) a,
	LATERAL (SELECT count(*) AS graphs FROM pg_backend_memory_contexts WHERE name = 'hybrid graph' AND a.count > 0) m GROUP BY 1 ORDER BY 1;
SELECT count(*) > 0 AS some, max(m.graphs) AS graphs FROM hybrid_spread('TABLE link', '{1}') a, LATERAL (SELECT count(*) AS graphs FROM pg_backend_memory_contexts WHERE name = 'hybrid graph' AND a.id >= 0) m;

DROP FUNCTION told, wild_edges, differ, set_between, change_between, changing_target, nested_target, try_rows;
DROP VIEW changing, wild_view;
DROP FUNCTION wild;
DROP TABLE link, seed, alone, together, guarded, passing;
DROP TABLE elsewhere.link;
DROP SCHEMA elsewhere;
DROP SEQUENCE numbers;
DROP VIEW by_view;
DROP AGGREGATE counts(int);
DROP FUNCTION by_default, by_its_default, by_anothers, counted, constantly;
DROP FUNCTION ring CASCADE;
DROP SEQUENCE calls;
DROP ROLE regress_graph_kept;
