-- An edges query runs with the rights, the row security and the search_path of the caller.
CREATE ROLE regress_graph_reader;
CREATE ROLE regress_graph_stranger;
CREATE SCHEMA graph_test;
GRANT USAGE ON SCHEMA graph_test TO regress_graph_reader, regress_graph_stranger;
CREATE TABLE graph_test.rel (src int, dst int, weight real, owner name);
INSERT INTO graph_test.rel VALUES (1, 2, 1, 'regress_graph_reader'), (1, 3, 1, 'somebody'),
	(2, 4, 1, 'regress_graph_reader'), (3, 5, 1, 'somebody');
ALTER TABLE graph_test.rel ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON graph_test.rel TO regress_graph_reader USING (owner = current_user);
GRANT SELECT ON graph_test.rel TO regress_graph_reader;
\set edges '\'SELECT src, dst, weight FROM graph_test.rel\''

-- the owner sees all edges
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 1);
-- the policy hides half of them, which also changes what each edge carries
SET ROLE regress_graph_reader;
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 1);
-- it cannot be switched off
SET row_security = off;
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 1);
RESET row_security;
-- a plan made for one role is not used for another
PREPARE p AS SELECT * FROM hybrid_spread('SELECT src, dst, weight FROM graph_test.rel', '{1}', decay => 1);
EXECUTE p;
RESET ROLE;
EXECUTE p;

-- no right to read, or not these columns
SET ROLE regress_graph_stranger;
SELECT * FROM hybrid_spread(:edges, '{1}');
RESET ROLE;
GRANT SELECT (src, dst) ON graph_test.rel TO regress_graph_stranger;
CREATE POLICY all_rows ON graph_test.rel TO regress_graph_stranger USING (true);
SET ROLE regress_graph_stranger;
SELECT * FROM hybrid_spread(:edges, '{1}');
SELECT * FROM hybrid_spread('SELECT src, dst FROM graph_test.rel', '{1}', decay => 1, hops => 1);
RESET ROLE;

-- a function that runs with its owner's rights lends them, as with any query
CREATE FUNCTION graph_test.lend() RETURNS SETOF bigint LANGUAGE sql SECURITY DEFINER
	SET search_path = public, pg_temp
	AS $$ SELECT id FROM hybrid_spread('SELECT src, dst, weight FROM graph_test.rel', '{1}') $$;
SET ROLE regress_graph_stranger;
SELECT * FROM graph_test.lend() ORDER BY 1;
RESET ROLE;

-- names are looked up as the caller would have them, and only those in the query
CREATE TEMP TABLE rel (src int, dst int);
INSERT INTO rel VALUES (1, 99);
SELECT id FROM hybrid_spread('SELECT src, dst FROM rel', '{1}');
SET search_path = graph_test, pg_temp, public;
SELECT id FROM hybrid_spread('SELECT src, dst FROM rel', '{1}');
SET search_path = '';
SELECT id FROM public.hybrid_spread('SELECT src, dst FROM graph_test.rel', '{1}');
SELECT id FROM public.hybrid_spread('SELECT src, dst FROM nowhere', '{1}');
RESET search_path;

-- what a function in the query may do is what it may do in any query of this transaction
CREATE FUNCTION graph_test.write() RETURNS int LANGUAGE sql VOLATILE
	AS $$ INSERT INTO graph_test.rel VALUES (8, 9, 1, 'x') RETURNING src $$;
BEGIN READ ONLY;
SELECT id FROM hybrid_spread('SELECT src, dst FROM graph_test.rel', '{1}');
SELECT id FROM hybrid_spread('SELECT graph_test.write(), 2', '{1}');
ROLLBACK;

DROP SCHEMA graph_test CASCADE;
DROP ROLE regress_graph_reader, regress_graph_stranger;
