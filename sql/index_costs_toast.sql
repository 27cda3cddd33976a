-- A distance costs what it takes to fetch the value from TOAST, in the table's plan and not in the index's.
SET jit = off;
SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION numbers(i int, dims int) RETURNS real[] LANGUAGE sql AS $$ SELECT array_agg(sin(i * (d + 0.7) * 1.13)::real) FROM generate_series(1, dims) d $$;

CREATE TABLE pool AS SELECT i AS id, numbers(i, 1536)::vector AS v FROM generate_series(1, 2000) i;

-- what is chosen of few rows, right after they were inserted and when they are analyzed
CREATE FUNCTION plan(condition text, type text, dims int, OUT node text) LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN SELECT id FROM item WHERE %s ORDER BY v <-> %L::%s LIMIT 10', condition, numbers(0, dims)::vector, type) LOOP
		node := coalesce(node, substring(line FROM 'Index Scan using item_v|Seq Scan'));
	END LOOP;
END $$;
CREATE FUNCTION plans(type text, dims int, rows int, OUT inserted text, OUT analyzed text, OUT few text, OUT built text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE item (id int, v %s(%s))', type, dims);
	EXECUTE format('CREATE INDEX item_v ON item USING hybrid (v %s_l2_ops)', type);
	EXECUTE format('INSERT INTO item SELECT id, subvector(v, 1, %s)::%s FROM pool WHERE id <= %s', dims, type, rows);
	inserted := plan('true', type, dims);
	ANALYZE item;
	analyzed := plan('true', type, dims);
	few := plan('id % 100 = 7', type, dims);
	IF rows <= 200 THEN
		REINDEX INDEX item_v;
		built := plan('true', type, dims);
	END IF;
	DROP TABLE item;
END $$;
SELECT type, dims, rows, p.* FROM (VALUES ('vector', 384, 2000), ('vector', 768, 200), ('vector', 1536, 200), ('vector', 1536, 2000), ('halfvec', 1536, 2000)) t(type, dims, rows),
	LATERAL plans(type, dims, rows) p;

-- the price of an expression, by row of a sequential scan
CREATE FUNCTION price(expression text, rows text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	with_it jsonb;
	without jsonb;
BEGIN
	EXECUTE format('EXPLAIN (FORMAT json) SELECT %s FROM %s', expression, rows) INTO with_it;
	EXECUTE format('EXPLAIN (FORMAT json) SELECT FROM %s', rows) INTO without;
	RETURN round((((with_it->0->'Plan'->'Total Cost')::numeric - (without->0->'Plan'->'Total Cost')::numeric) / (with_it->0->'Plan'->'Plan Rows')::numeric), 2);
END $$;
CREATE TABLE wide (id int, v vector(1536), h halfvec(1536), small vector(3), free vector, b bit(40000), s sparsevec);
ALTER TABLE wide ALTER b SET STORAGE external;
INSERT INTO wide SELECT i, n, n, '[1,2,3]', n, repeat('01', 20000)::bit(40000), n::vector::sparsevec FROM (SELECT id i, v n FROM pool WHERE id <= 100) p;
ANALYZE wide;
CREATE VIEW expressions AS SELECT * FROM (VALUES ('small <-> ''[1,2,3]'''), ('v <-> array_fill(1, ARRAY[1536])::vector'), ('array_fill(1, ARRAY[1536])::vector <=> v'), ('v <+> v'), ('v::halfvec(1536) <#> h'),
	('h <-> array_fill(1, ARRAY[1536])::vector::halfvec'), ('free <-> array_fill(1, ARRAY[1536])::vector'), ('free <-> NULLIF(small, small)'), ('b <~> repeat(''01'', 20000)::bit(40000)'),
	('s <-> array_fill(1, ARRAY[1536])::vector::sparsevec'), ('v <<->> hybrid_sphere(array_fill(1, ARRAY[1536])::vector, 1)'), ('inner_product(v, array_fill(1, ARRAY[1536])::vector)')) e(expression);
SELECT expression, price(expression, 'wide') AS analyzed FROM expressions;
-- by the dimensions, as long as there are no statistics
DELETE FROM pg_statistic WHERE starelid = 'wide'::regclass;
SELECT expression, price(expression, 'wide') AS unknown FROM expressions WHERE expression ~ '^(small|v|h) ';
-- what is stored in line has nothing to fetch, and a row that is too long by another column has
CREATE TABLE inline (v vector(400), more text);
ALTER TABLE inline ALTER more SET STORAGE main;
INSERT INTO inline SELECT numbers(i, 400)::vector, '' FROM generate_series(1, 100) i;
ANALYZE inline;
SELECT price('v <-> v', 'inline') AS short;
UPDATE inline SET more = (SELECT string_agg(md5(v::text || i), '') FROM generate_series(1, 30) i);
VACUUM (FULL, ANALYZE) inline;
SELECT price('v <-> v', 'inline') AS long;
-- the price of the function is still what it is told to be; a row that has gone through a subquery is not of a table
SELECT price('v <-> (''['' || repeat(''1,'', 1535) || ''1]'')::vector', '(SELECT v FROM wide OFFSET 0) x') IN (0.04, 0.05) AS of_a_subquery;
BEGIN;
ALTER FUNCTION l2_distance(vector, vector) COST 1020;
SELECT price('v <-> array_fill(1, ARRAY[1536])::vector', 'wide') AS dearer, price('small <-> ''[1,2,3]''', 'wide') AS dearer_in_line;
ROLLBACK;

-- a partitioned table has no storage, and the price of its columns is that of its partitions
CREATE TABLE parted (id int, v vector(1536), small vector(3)) PARTITION BY HASH (id);
CREATE TABLE part0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE part1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE INDEX ON parted USING hybrid (v);
INSERT INTO parted SELECT id, v, '[1,2,3]' FROM pool;
SELECT price('v <-> v', 'parted') AS parted, price('small <-> small', 'parted') AS small;
ANALYZE parted;
SELECT price('v <-> v', 'parted') AS parted, price('small <-> small', 'parted') AS small;
PREPARE near(vector) AS SELECT id FROM parted ORDER BY v <-> $1 LIMIT 10;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE near(NULL);
RESET plan_cache_mode;
DEALLOCATE near;

-- the index has vectors of its own
CREATE TABLE plain (id int, v vector(1000));
ALTER TABLE plain ALTER v SET STORAGE plain;
CREATE TABLE out_of_line (id int, v vector(1000));
INSERT INTO plain SELECT id, subvector(v, 1, 1000) FROM pool WHERE id <= 300;
INSERT INTO out_of_line SELECT * FROM plain;
CREATE INDEX plain_v ON plain USING hybrid (v);
CREATE INDEX out_of_line_v ON out_of_line USING hybrid (v);
ANALYZE plain;
ANALYZE out_of_line;
CREATE FUNCTION startup(relation text, OUT cost numeric) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE format('EXPLAIN (FORMAT json) SELECT id FROM %I ORDER BY v <-> %L::vector LIMIT 1', relation, numbers(0, 1000)::vector) INTO plan;
	cost := plan->0->'Plan'->'Startup Cost';
END $$;
SET enable_seqscan = off;
SELECT startup('out_of_line') / startup('plain') BETWEEN 0.8 AND 1.2 AS by_codes;
SET hybrid.target_recall = 1;
SELECT startup('out_of_line') / startup('plain') BETWEEN 0.8 AND 1.2 AS exact;
-- arrays: by what the rows have in the TOAST table
CREATE TABLE arrays4 AS SELECT id, array_fill(subvector(v, 1, 300), ARRAY[4])::vector(300)[] AS d FROM pool WHERE id <= 100;
CREATE TABLE arrays40 AS SELECT id, array_fill(subvector(v, 1, 300), ARRAY[40])::vector(300)[] AS d FROM pool WHERE id <= 100;
ALTER TABLE arrays4 ALTER d SET STORAGE external;
ALTER TABLE arrays40 ALTER d SET STORAGE external;
UPDATE arrays4 SET d = d || '{}'::vector[];
UPDATE arrays40 SET d = d || '{}'::vector[];
SELECT price('hybrid_maxsim(d, d)', 'arrays4') - 5 AS unknown;
VACUUM (FULL, ANALYZE) arrays4;
VACUUM (FULL, ANALYZE) arrays40;
SELECT price('hybrid_maxsim(d, d)', 'arrays4') - 5 AS four, price('hybrid_maxsim(d, d)', 'arrays40') - 5 AS forty;
-- and by the number of vectors of the query, if that is known
SELECT vectors, round(price(format('d @# array_fill(array_fill(1, ARRAY[300])::vector, ARRAY[%s])', vectors), 'arrays4') - 5 * vectors / 32.0, 2) AS four FROM unnest('{16,32,96}'::int[]) vectors;
CREATE INDEX arrays40_d ON arrays40 USING hybrid (d);
PREPARE asked(vector[]) AS SELECT id FROM arrays40 ORDER BY d @# $1 LIMIT 1;
CREATE FUNCTION startups(vectors int, mode text, OUT cost numeric) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	PERFORM set_config('plan_cache_mode', mode, true);
	EXECUTE format('EXPLAIN (FORMAT json) EXECUTE asked(%L)', array_fill(array_fill(1, ARRAY[300])::vector, ARRAY[vectors])) INTO plan;
	cost := plan->0->'Plan'->'Startup Cost';
END $$;
SELECT startups(16, mode) < startups(32, mode) AS grows, startups(32, mode) < startups(96, mode) AS further, startups(96, mode) / startups(32, mode) <= 3 AS at_most_so FROM unnest('{force_custom_plan,force_generic_plan}'::text[]) mode;
DEALLOCATE asked;
DROP FUNCTION startups;
DROP TABLE arrays4, arrays40;
DROP VIEW expressions;
DROP TABLE pool, wide, parted, inline, plain, out_of_line;
DROP FUNCTION numbers, plan, plans, price, startup;
