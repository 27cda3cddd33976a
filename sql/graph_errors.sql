-- Bad edges, bad queries and bad arguments get an error that says so.

-- edges
SELECT * FROM hybrid_spread('SELECT NULL::int, 2', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, NULL::int', '{1}');
SELECT * FROM hybrid_spread('SELECT NULL::int, NULL::int', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 2, NULL::real', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 2, ''NaN''::real', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 2, ''NaN''::numeric', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 2, ''infinity''::float8', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 2, ''-infinity''::real', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 2, ''infinity''::numeric', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 2, -0.5', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 2, -1', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 2, 1e300::float8', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 2, 1e300::numeric', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 2, 1e400::numeric', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 2, -1e400::numeric', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 2, 1e-300::float8', '{1}');
-- also where its type is not asked for
SELECT * FROM hybrid_spread('SELECT 1, 2, -1, ''a''', '{1}', types => '{b}');
-- parallel edges whose sum is too large
SELECT * FROM hybrid_spread('VALUES (1, 2, 3e38::real), (1, 2, 3e38::real)', '{1}');

-- columns
SELECT * FROM hybrid_spread('SELECT 1', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 2, 3, ''a'', 5', '{1}');
SELECT * FROM hybrid_spread('SELECT 1.5, 2', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, ''2''::text', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 2, ''2''::text', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 2, 3, 4', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 2, 3', '{1}', types => '{a}');

-- queries
CREATE TABLE target (a int, b int);
SELECT * FROM hybrid_spread('a_registered_graph', '{1}');
SELECT * FROM hybrid_spread('selection', '{1}');
SELECT * FROM hybrid_spread('', '{1}');
SELECT * FROM hybrid_spread('/* SELECT 1, 2', '{1}');
SELECT * FROM hybrid_spread('INSERT INTO target VALUES (1, 2) RETURNING a, b', '{1}');
SELECT * FROM hybrid_spread('WITH i AS (INSERT INTO target VALUES (1, 2) RETURNING a, b) SELECT * FROM i', '{1}');
SELECT * FROM hybrid_spread('WITH i AS (SELECT 1) INSERT INTO target SELECT 1, 2 RETURNING a, b', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 2 INTO another', '{1}');
SELECT * FROM hybrid_spread('SELECT a, b FROM target FOR UPDATE', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 2; DELETE FROM target', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 2; SELECT 3, 4', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 2 FROM nowhere', '{1}');
SELECT * FROM hybrid_spread('SELECT 1,, 2', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, $1', '{1}');
SELECT * FROM hybrid_spread('SELECT 1, 1 / (i - 3) FROM generate_series(1, 5) i', '{1}');
SELECT count(*) FROM target;
DROP TABLE target;

-- arguments
\set edges '\'VALUES (1, 2, 2.0), (2, 1, 1.0)\''
SELECT * FROM hybrid_spread(NULL, '{1}');
SELECT * FROM hybrid_spread(:edges, NULL);
SELECT * FROM hybrid_spread(:edges, '{1,NULL}');
SELECT * FROM hybrid_spread(:edges, '{{1,2},{3,4}}');
SELECT * FROM hybrid_spread(:edges, '{1}', '{1,2}');
SELECT * FROM hybrid_spread(:edges, '{1}', '{}');
SELECT * FROM hybrid_spread(:edges, '{1}', '{NULL}');
SELECT * FROM hybrid_spread(:edges, '{1}', '{NaN}');
SELECT * FROM hybrid_spread(:edges, '{1}', '{Infinity}');
SELECT * FROM hybrid_spread(:edges, '{1}', '{-0.5}');
SELECT * FROM hybrid_spread(:edges, '{1,1}', '{1.7e308,1.7e308}');
SELECT * FROM hybrid_spread(:edges, '{1}', hops => -1);
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 1.5);
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 'NaN');
SELECT * FROM hybrid_spread(:edges, '{1}', decay => NULL);
SELECT * FROM hybrid_spread(:edges, '{1}', fan => 0.7);
SELECT * FROM hybrid_spread(:edges, '{1}', fan => NULL);
SELECT * FROM hybrid_spread(:edges, '{1}', threshold => -1);
SELECT * FROM hybrid_spread(:edges, '{1}', threshold => 'NaN');
SELECT * FROM hybrid_spread(:edges, '{1}', threshold => NULL);
SELECT * FROM hybrid_spread(:edges, '{1}', refire => 0);
SELECT * FROM hybrid_spread(:edges, '{1}', combine => 'mean');
SELECT * FROM hybrid_spread(:edges, '{1}', combine => NULL);
SELECT * FROM hybrid_spread(:edges, '{1}', direction => 'up');
SELECT * FROM hybrid_spread(:edges, '{1}', direction => NULL);
SELECT * FROM hybrid_spread(:edges, '{1}', types => '{NULL}');
SELECT * FROM hybrid_spread(:edges, '{1}', normalized => NULL);
SELECT * FROM hybrid_spread(:edges, '{1}', tolerance => 0);
SELECT * FROM hybrid_spread(:edges, '{1}', tolerance => NULL);
SELECT * FROM hybrid_spread(:edges, '{1}', k => 0);

-- until convergence, where it may never come
SELECT * FROM hybrid_spread(:edges, '{1}', hops => NULL, decay => 1);
SELECT * FROM hybrid_spread(:edges, '{1}', hops => NULL, decay => 0.75, fan => 0);
-- activation beyond what a double holds
SELECT * FROM hybrid_spread('VALUES (1, 2, 1e38::real), (2, 1, 1e38::real)', '{1}', hops => 20, fan => 0);

-- memory
SET hybrid.graph_memory_limit = '64kB';
SELECT * FROM hybrid_spread('SELECT i, i + 1 FROM generate_series(1, 1000) i', '{1}', hops => 1);
SELECT * FROM hybrid_spread('SELECT i, i + 1 FROM generate_series(1, 100) i', '{1}', hops => 1);
-- few enough edges to be read, too many nodes to spread over
SELECT * FROM hybrid_spread('SELECT i, 1000 + i FROM generate_series(1, 620) i', '{1}', hops => 1);
RESET hybrid.graph_memory_limit;

-- time: while edges are read, and while activation spreads
\set VERBOSITY terse
SET hybrid.graph_memory_limit = '4GB';
SET statement_timeout = '150ms';
SELECT count(*) FROM hybrid_spread('WITH RECURSIVE e (i) AS (SELECT 1 UNION ALL SELECT i % 1000 + 1 FROM e) SELECT i, i + 1 FROM e', '{1}');
SELECT count(*) FROM hybrid_spread('VALUES (1, 2), (2, 1)', '{1}', decay => 1, hops => 2147483647);
RESET statement_timeout;
RESET hybrid.graph_memory_limit;
\set VERBOSITY default

-- nothing is left behind, neither by success nor by failure
CREATE FUNCTION held() RETURNS bigint LANGUAGE sql AS 'SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts';
CREATE FUNCTION calls(n int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. n LOOP
		PERFORM count(*) FROM hybrid_spread('SELECT i, i % 100 FROM generate_series(1, 2000) i', '{1}');
		BEGIN
			PERFORM count(*) FROM hybrid_spread('SELECT i, i % 100, 1999 - i FROM generate_series(1, 2000) i', '{1}');
		EXCEPTION WHEN numeric_value_out_of_range THEN NULL;
		END;
		BEGIN
			PERFORM count(*) FROM hybrid_spread('SELECT i, i % 100 FROM generate_series(1, 2000) i', '{1}', hops => NULL, decay => 1);
		EXCEPTION WHEN invalid_parameter_value THEN NULL;
		END;
	END LOOP;
END $$;
SELECT calls(10);
SELECT held() AS before \gset
SELECT calls(100);
SELECT held() - :before < 1000000 AS nothing_held;
SELECT count(*) AS contexts FROM pg_backend_memory_contexts WHERE name IN ('hybrid graph call', 'hybrid row');
-- nor between the calls of one statement
SELECT max(contexts) AS contexts
FROM generate_series(1, 5) i, LATERAL (SELECT count(*) FROM hybrid_spread('VALUES (1, 2)', ARRAY[i])) c,
	LATERAL (SELECT count(*) AS contexts FROM pg_backend_memory_contexts
		WHERE name IN ('hybrid graph call', 'hybrid row') AND i + c.count > 0) m;
DROP FUNCTION calls, held;

-- comments within comments, as SQL has them
SELECT * FROM hybrid_spread('/* a /* b */ c */ SELECT 1, 2', ARRAY[1], hops => 1);
SELECT * FROM hybrid_spread('/* a /* b */ SELECT 1, 2', ARRAY[1]);

-- a session keeps working memory for the next call, at most 1/32 of the limit
CREATE TABLE wide AS SELECT i AS source, i * 7 % 20000 AS target FROM generate_series(0, 19999) i;
CREATE INDEX wide_graph ON wide USING hybrid_graph (source, target);
CREATE FUNCTION scratch() RETURNS bigint LANGUAGE sql AS $$ SELECT coalesce(sum(total_bytes), 0)::bigint FROM pg_backend_memory_contexts WHERE name = 'hybrid graph scratch' $$;
CREATE FUNCTION spread_wide() RETURNS text LANGUAGE sql AS $$ SELECT md5(string_agg(s::text, ',')) FROM hybrid_spread('wide_graph', '{1,5,99}', hops => 9) s $$;
\c -
SELECT scratch();
SELECT spread_wide() AS before \gset
SELECT spread_wide() = :'before' AS same, scratch() > 20000 * 30 AND scratch() < 8 * 1024 * 1024 AS kept;
-- it is also kept after an error, and a call inside another call does not use it

SELECT count(*) FROM hybrid_spread('wide_graph', '{1,3}', '{1e308,1e308}', hops => 0, normalized => true);
SELECT spread_wide() = :'before' AS same;
SELECT count(*) FROM hybrid_neighbors($$SELECT a.id, (SELECT count(*) FROM hybrid_degree('wide_graph')) FROM hybrid_spread('wide_graph', '{1,5,99}') a$$, '{5}');
SELECT spread_wide() = :'before' AS same;
SET hybrid.graph_memory_limit = '16MB';
SELECT spread_wide() = :'before' AS same, scratch() < 512 * 1024 + 8192 AS fits;
RESET hybrid.graph_memory_limit;
-- a call takes it when it has read the edges, so the calls within its edges query use it, too
\c -
SELECT count(*) FROM hybrid_neighbors($$SELECT a.id, (SELECT count(*) FROM hybrid_degree('wide_graph')) FROM hybrid_spread('wide_graph', '{1,5,99}') a$$, '{5}');
SELECT scratch() > 20000 * 30 AS kept;
-- a batch of many slices uses the same memory for each slice, so it needs no more than this limit leaves
\c -
CREATE FUNCTION spread_many() RETURNS text LANGUAGE sql AS $$
	SELECT md5(string_agg(s::text, ',')) FROM (SELECT array_agg(i) AS sets, array_agg(i * 31 % 20000) AS seeds FROM generate_series(1::bigint, 300) i) a,
		hybrid_spread_batch('wide_graph', sets, seeds) s $$;
SELECT spread_many() AS before \gset
SELECT spread_many() = :'before' AS same, scratch() > 20000 * 200 AS kept;
DROP FUNCTION scratch, spread_wide, spread_many;
DROP TABLE wide;
