-- Activation spreading on graphs small enough to be reckoned by hand.
CREATE TABLE rel (src int, dst int, weight real, kind text);
-- 1 passes a quarter to 2 and three quarters to 3; 2 passes all to 3; 3 all to 1
INSERT INTO rel VALUES (1, 2, 1, 'a'), (1, 3, 3, 'b'), (2, 3, 1, 'a'), (3, 1, 4, 'b');
\set edges '\'SELECT src, dst, weight, kind FROM rel\''

-- the defaults: 3 hops, decay 0.85, fan 1
SELECT * FROM hybrid_spread(:edges, '{1}');
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5);

-- hops
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 0);
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 1);
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 2);
-- until nothing moves: with a = 1 + c/2, b = a/8, c = 3a/8 + b/2, that is 32/25, 4/25 and 14/25
SELECT id, round(activation::numeric, 9) AS activation, hop
FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => NULL, tolerance => 1e-12);
-- a coarse tolerance ends after the second hop: what moves is 1/2, then 1/4
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => NULL, tolerance => 0.3);
-- more hops than there is anything to pass on
SELECT * FROM hybrid_spread('VALUES (1, 2), (2, 3)', '{1}', decay => 0.5, hops => 2147483647);

-- seeds and their activation; given twice: the sum; 0: does not show
SELECT * FROM hybrid_spread(:edges, '{1,2}', '{2,0.5}', decay => 0.5, hops => 1);
SELECT * FROM hybrid_spread(:edges, '{2,1,2}', '{0.25,2,0.25}', decay => 0.5, hops => 1);
SELECT * FROM hybrid_spread(:edges, '{1,2}', '{1,0}', decay => 0.5, hops => 1);
SELECT * FROM hybrid_spread(:edges, '{}');
SELECT * FROM hybrid_spread(:edges, '{1}', '{0}');
SELECT * FROM hybrid_spread(:edges, '{1}', '{0}', hops => NULL);
-- no seeds, no rows
SELECT * FROM hybrid_spread(:edges, NULL);
SELECT * FROM hybrid_spread_batch(:edges, NULL, NULL);
-- a seed that no edge touches is returned only if that is wanted, and keeps what it has
SELECT * FROM hybrid_spread(:edges, '{1,77,-5}', '{1,0.2,0.75}', decay => 0.5, hops => 1, unknown => true);
SELECT * FROM hybrid_spread(:edges, '{77}', hops => NULL, unknown => true);
SELECT * FROM hybrid_spread(:edges, '{1,77}', decay => 0, normalized => true);
SELECT * FROM hybrid_spread(:edges, '{1,77}', decay => 0, normalized => true, unknown => true);
SELECT * FROM hybrid_spread_batch(:edges, '{1,2,2}', '{77,1,77}', hops => 0);
SELECT * FROM hybrid_spread(:edges, '{1,77,-5}', '{1,0.2,0.75}', decay => 0.5, hops => 1);
SELECT * FROM hybrid_spread(:edges, '{77}', hops => NULL);

-- fan: weights as they are, over the root of their sum, over their sum
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 1, fan => 0);
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 1, fan => 0.5);
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 1, fan => 1);

-- hub: what arrives is divided by a power of the weights that lead there, here 4 for 1, 1 for 2 and 4 for 3
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 1, hub => 0.5);
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 1, hub => 1);
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 2, hub => 1, combine => 'max');
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 1, hub => 1, direction => 'in');
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => NULL, hub => 1, tolerance => 0.1);
-- as a query: each node gets its share of each hop
WITH w AS (SELECT src, dst, weight / sum(weight) OVER (PARTITION BY src) / sum(weight) OVER (PARTITION BY dst) ^ 0.3 AS t FROM (SELECT src, dst, weight::float8 FROM rel) r),
	one AS (SELECT dst AS id, sum(0.85 * t) AS y FROM w WHERE src = 1 GROUP BY dst),
	two AS (SELECT dst AS id, sum(0.85 * y * t) AS y FROM w JOIN one ON id = src GROUP BY dst)
SELECT id, abs(activation - (coalesce(one.y, 0) + coalesce(two.y, 0) + (id = 1)::int)) < 1e-15 AS same
FROM hybrid_spread(:edges, '{1}', hops => 2, hub => 0.3) LEFT JOIN one USING (id) LEFT JOIN two USING (id);
SELECT hybrid_spread(:edges, '{1}', hub => -0.1);
SELECT hybrid_spread(:edges, '{1}', hub => 1.5);
SELECT hybrid_spread(:edges, '{1}', hub => 'NaN');
SELECT hybrid_spread(:edges, '{1}', hub => NULL);
-- with a light hub more comes out than goes in
SELECT hybrid_spread('VALUES (1, 2, 0.01), (2, 1, 0.01)', '{1}', hops => NULL, hub => 0.5);

-- via: who gave most, over all hops; the smallest of several; not the node itself; nobody gave to the seed 4
SELECT * FROM hybrid_spread('VALUES (1, 3, 1), (2, 3, 1), (3, 3, 9), (3, 1, 1), (4, 2, 1)', '{1,2,4}', hops => 2);
SELECT * FROM hybrid_spread('VALUES (1, 3, 1), (2, 3, 1)', '{1,2}', '{1,2}', hops => 1);
SELECT * FROM hybrid_spread('VALUES (1, 3, 1), (2, 3, 1)', '{1,2}', hops => 0);
-- 2 gives 3 a bit once; 1 gives less at a time, but more in all
SELECT via FROM hybrid_spread('VALUES (1, 1, 1), (1, 3, 1), (2, 3, 1)', '{1,2}', '{1,0.9}', decay => 1, fan => 0, hops => 2) WHERE id = 3;
SELECT via FROM hybrid_spread('VALUES (1, 1, 1), (1, 3, 1), (2, 3, 1)', '{1,2}', '{1,1.1}', decay => 1, fan => 0, hops => 2, combine => 'max') WHERE id = 3;
-- a path from a row to a seed
WITH RECURSIVE found AS MATERIALIZED (SELECT * FROM hybrid_spread('VALUES (1, 2), (2, 3), (3, 4)', '{1}')),
	path AS (SELECT id, via, 1 AS step FROM found WHERE id = 4 UNION SELECT f.id, f.via, step + 1 FROM path p JOIN found f ON f.id = p.via)
SELECT string_agg(id::text, ' <- ' ORDER BY step) FROM path;

-- sums that overflow
SELECT hybrid_spread(:edges, '{1,2}', '{1e308,1e308}', decay => 0.1, hops => 0, normalized => true);
SELECT hybrid_spread(:edges, '{1,2}', '{1e308,1e308}', decay => 0.1, hops => NULL);
SELECT count(*) FROM hybrid_spread(:edges, '{1,2}', '{1e308,1e308}', decay => 0.1, hops => 1);
-- what may take more than 100,000 hops
SELECT hybrid_spread(:edges, '{1}', decay => 0.999999, hops => NULL);
SELECT hybrid_spread(:edges, '{1}', decay => 0.999999999, hops => NULL, tolerance => 0.9999999999);

-- threshold: reached exactly, or not; who does not reach it is returned all the same
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 2, threshold => 0.125);
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 2, threshold => 0.126);
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 2, threshold => 'infinity');

-- refire: how often a node may pass on
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 3);
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 3, refire => 2);
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 3, refire => 1);

-- combine: the best path
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 3, combine => 'max');
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 2, fan => 0, combine => 'max');

-- direction
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 2, direction => 'in');
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 1, direction => 'both');

-- types: an edge without one is of none of them
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, types => '{a}');
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, types => '{b,c}');
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, types => '{}');
SELECT * FROM hybrid_spread($$ VALUES (1, 2, 1, NULL), (1, 3, 1, 'a') $$, '{1}', types => '{a}');

-- normalized: over all nodes, before k
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 1, fan => 0, normalized => true);
SELECT * FROM hybrid_spread(:edges, '{1}', decay => 0.5, hops => 1, fan => 0, normalized => true, k => 1);
SELECT * FROM hybrid_spread(:edges, '{1,9}', decay => 0, hops => 1, normalized => true);

-- k, and the order of equals
SELECT * FROM hybrid_spread('VALUES (1, 5), (1, -5), (1, 4), (1, 3)', '{1}', decay => 1, hops => 1, k => 3);

-- edges: parallel ones add up, self loops and edges of no weight count as edges
SELECT * FROM hybrid_spread('VALUES (1, 2, 1), (1, 3, 1), (1, 2, 2)', '{1}', decay => 1, hops => 1);
SELECT * FROM hybrid_spread('VALUES (1, 1, 1), (1, 2, 1)', '{1}', decay => 1, hops => 2);
SELECT * FROM hybrid_spread('VALUES (1, 1, 1), (1, 2, 1)', '{1}', decay => 1, hops => 1, direction => 'both');
SELECT * FROM hybrid_spread('VALUES (1, 2, 0), (2, 3, 1)', '{1}', hops => NULL);
SELECT * FROM hybrid_spread('SELECT 1, 2 WHERE false', '{7}');

-- edges queries of all kinds and types
SELECT * FROM hybrid_spread('TABLE rel', '{1}', decay => 0.5, hops => 1);
SELECT * FROM hybrid_spread('WITH w AS (SELECT 1, 2) TABLE w', '{1}', decay => 0.5);
SELECT * FROM hybrid_spread('  -- a comment
 /* and another */ (SELECT 1, 2) UNION ALL (SELECT 2, 3);', '{1}', decay => 0.5);
SELECT * FROM hybrid_spread('SELECT 1::smallint, 9223372036854775807::bigint, 0.5::numeric', '{1}', decay => 0.5);
SELECT * FROM hybrid_spread('SELECT -9223372036854775808, 2, 3::bigint', '{-9223372036854775808}', decay => 0.5);
SELECT * FROM hybrid_spread('SELECT 1, 2, 0.5::float8, ''x''::varchar', '{1}', decay => 0.5, fan => 0, hops => 1);
CREATE DOMAIN node_id AS bigint;
CREATE DOMAIN share AS numeric(4,2);
SELECT * FROM hybrid_spread('SELECT 1::node_id, 2::node_id, 0.25::share', '{1}', decay => 1, fan => 0, hops => 1);
-- a weight becomes what a cast to real makes of it, in one rounding
SELECT activation = 1.000000059604644775390626::real::float8 AS as_cast, activation
FROM hybrid_spread('SELECT 1, 2, 1.000000059604644775390626', '{1}', decay => 1, fan => 0, hops => 1) WHERE id = 2;

-- in a select list, lateral, in a function, prepared; a rescan
SELECT hybrid_spread(:edges, '{3}', decay => 0.5, hops => 1);
SELECT s, a.* FROM generate_series(1, 3) s, LATERAL hybrid_spread(:edges, ARRAY[s], decay => 0.5, hops => 1) a;
PREPARE p(bigint) AS SELECT id FROM hybrid_spread(:edges, ARRAY[$1], hops => 1);
EXECUTE p(2);
EXECUTE p(3);
-- within one
SELECT * FROM hybrid_spread($$SELECT 1, id FROM hybrid_spread('VALUES (5, 6)', '{5}')$$, '{1}', decay => 0.5);

-- what the statement's snapshot sees: own changes, but not those of the same statement
BEGIN;
INSERT INTO rel VALUES (2, 4, 3, 'a');
SELECT * FROM hybrid_spread(:edges, '{2}', decay => 0.5, hops => 1);
WITH gone AS (DELETE FROM rel RETURNING 1)
SELECT * FROM hybrid_spread(:edges, '{2}', decay => 0.5, hops => 1);
SELECT * FROM hybrid_spread(:edges, '{2}', decay => 0.5, hops => 1);
ROLLBACK;

-- a parallel plan gives the same edges
CREATE TABLE many AS SELECT i % 1000 AS src, i * 7 % 1009 AS dst, i % 10 + 1 AS weight FROM generate_series(1, 20000) i;
ALTER TABLE many SET (parallel_workers = 2);
ANALYZE many;
CREATE TABLE serial AS SELECT * FROM hybrid_spread('TABLE many', '{1}', hops => 5);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) TABLE many;
SELECT count(*), count(*) FILTER (WHERE a.activation = b.activation AND a.hop = b.hop) AS equal
FROM hybrid_spread('TABLE many', '{1}', hops => 5) a FULL JOIN serial b USING (id);
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
DROP TABLE many, serial;

-- more than one block of rows, and a result that does not fit into memory
SET work_mem = '64kB';
SELECT count(*), min(activation), max(hop)
FROM hybrid_spread('SELECT 0, i FROM generate_series(1, 100000) i', '{0}', decay => 1, fan => 0, hops => 1);
RESET work_mem;

-- the tolerance is a share of all that was put in, also where no edge leads: of 101, not of 1
SELECT id, activation, hop
FROM hybrid_spread('SELECT i, i + 1 FROM generate_series(1, 20) i', '{1,999}', '{1,100}', decay => 0.5, hops => NULL, tolerance => 0.001)
ORDER BY id;

DROP TABLE rel;
DROP DOMAIN node_id, share;
