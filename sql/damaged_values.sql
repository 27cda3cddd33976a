-- Values whose header and length differ, as a damaged page would have them: an error, whatever reads them.
-- Casts without a function make them of the bytes of values.
CREATE CAST (bytea AS vector) WITHOUT FUNCTION;
CREATE CAST (bytea AS halfvec) WITHOUT FUNCTION;
CREATE CAST (bytea AS sparsevec) WITHOUT FUNCTION;
CREATE CAST (vector AS bytea) WITHOUT FUNCTION;
CREATE CAST (halfvec AS bytea) WITHOUT FUNCTION;
CREATE CAST (sparsevec AS bytea) WITHOUT FUNCTION;

-- '(v)' in a statement stands for the damaged value
CREATE FUNCTION says(statement text, bytes bytea, type text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE replace(replace(statement, '(v)', format('(%L::bytea::%s)', bytes, type)), 'a_type', type);
	RETURN 'nothing';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE VIEW damage AS
SELECT type, damage, bytes FROM (VALUES ('vector', '[1,2,3]'::vector::bytea, '[1,2,3]'), ('halfvec', '[1,2,3]'::halfvec::bytea, '[1,2,3]'),
	('sparsevec', '{1:1,3:3}/3'::sparsevec::bytea, '{1:1,3:3}/3')) whole (type, whole, text),
	LATERAL (VALUES (1, 'a byte less', substr(whole, 1, length(whole) - 1)), (2, 'a byte more', whole || '\x00'), (3, 'a header', substr(whole, 1, 4)),
		(4, 'half a header', substr(whole, 1, 2)), (5, 'nothing', ''::bytea),
		(6, 'too many dimensions', CASE type WHEN 'sparsevec' THEN overlay(whole placing '\x7f7f7f7f' from 1)
			ELSE overlay(substr(whole, 1, 4) placing '\x7f7f' from 1) || decode(repeat('00', 32639 * CASE type WHEN 'vector' THEN 4 ELSE 2 END), 'hex') END),
		(7, 'less than none', CASE type WHEN 'sparsevec' THEN overlay(whole placing '\xffffffff' from 5) ELSE overlay(whole placing '\xffff' from 1) END)) damaged (n, damage, bytes)
ORDER BY type, n;

-- each kind of damage; the whole value is none
SELECT type, damage, says('SELECT (v)::text', bytes, type) FROM damage;
SELECT says('SELECT (v)::text', '[1,2,3]'::vector::bytea, 'vector'), says('SELECT (v)::text', '[1,2,3]'::halfvec::bytea, 'halfvec'),
	says('SELECT (v)::text', '{1:1,3:3}/3'::sparsevec::bytea, 'sparsevec');

-- whatever reads it
CREATE VIEW reading AS SELECT * FROM (VALUES (1, 'SELECT (v) <-> (v)'), (2, 'SELECT (v) <=> (v)'), (3, 'SELECT (v) <#> (v)'), (4, 'SELECT (v) <+> (v)'),
	(5, 'SELECT (v) < (v)'), (6, 'SELECT l2_normalize((v))'), (7, 'CREATE TABLE made AS SELECT (v) AS v; DROP TABLE made'),
	(8, 'CREATE TABLE made (v a_type(3)); INSERT INTO made SELECT (v)::a_type; CREATE INDEX ON made USING hybrid (v a_type_l2_ops)'),
	(9, 'CREATE TABLE made (v a_type(3)); CREATE INDEX ON made USING hybrid (v a_type_l2_ops); INSERT INTO made SELECT (v)'),
	(10, 'CREATE TABLE made (v a_type(3)); CREATE INDEX ON made USING hybrid (v a_type_l2_ops); SET LOCAL enable_seqscan = off; SELECT * FROM made ORDER BY v <-> (v) LIMIT 1')) s (n, statement);
SELECT type, statement, says(statement, bytes, type) FROM reading, damage WHERE damage = 'a byte less' ORDER BY type, n;
SELECT statement, says(statement, substr('[1,2,3]'::vector::bytea, 1, 12), 'vector')
FROM unnest('{SELECT (v) + (v),SELECT (v) || (v),SELECT avg((v)),SELECT binary_quantize((v)),"SELECT subvector((v), 1, 2)",SELECT (v)::halfvec,SELECT (v)::sparsevec,SELECT (v)::real[],
	SELECT vector_send((v)),"SELECT hybrid_distances((v), ''{}'')","SELECT hybrid_distances(''[1,2,3]'', ARRAY[(v)])",
	"CREATE TABLE made AS SELECT (v) AS v; SELECT count(*) FROM hybrid_knn(''made'', ''v'', ''{\"[1,2,3]\"}'')",
	"SELECT ''[1,2,3]''::vector <<->> hybrid_sphere((v), 1)","SELECT hybrid_maxsim(ARRAY[''[1,2,3]'', (v)]::vector[], ''{\"[1,2,3]\"}'')"}'::text[]) statement;

-- the dimensions alone
SELECT says('SELECT vector_dims((v))', substr('[1,2,3]'::vector::bytea, 1, 12), 'vector'), says('SELECT vector_dims((v))', '', 'halfvec'),
	says('CREATE TABLE made AS SELECT (v) AS v; SELECT v::vector(3) FROM made', '', 'vector'), vector_dims('[1,2,3]'::vector), vector_dims('[1,2]'::halfvec);

-- an index beyond the dimensions
SELECT says('SELECT ' || expression, '\x030000000100000000000000ffffff7f0000803f', 'sparsevec')
FROM unnest(ARRAY['(v)::text', '(v)::vector', '(v)::halfvec', '(v) <-> ''{1:1,3:2}/3''', '(v) <=> ''{1:1,3:2}/3''', '(v) <#> ''{1:1,3:2}/3''']) expression;

DROP VIEW reading, damage;
DROP FUNCTION says;
DROP CAST (bytea AS vector);
DROP CAST (bytea AS halfvec);
DROP CAST (bytea AS sparsevec);
DROP CAST (vector AS bytea);
DROP CAST (halfvec AS bytea);
DROP CAST (sparsevec AS bytea);
