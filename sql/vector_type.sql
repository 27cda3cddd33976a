-- The type as a column: modifier, storage, arrays, NULL.

SELECT '[1,2,3]'::vector(3);
SELECT '[1,2,3]'::vector(2);
SELECT '[1]'::vector(16000);
SELECT '[1,2,3]'::vector(3, 2);
SELECT '[1,2,3]'::vector('a');
SELECT '[1,2,3]'::vector(0);
SELECT '[1,2,3]'::vector(-1);
SELECT '[1,2,3]'::vector(16001);

SELECT vector_in('[1,2,3]', 0, -1);
SELECT vector_in('[1,2,3]', 0, 3);
SELECT vector_in('[1,2,3]', 0, 2);

SELECT format_type('vector'::regtype, -1), format_type('vector'::regtype, 3);
SELECT typlen, typbyval, typalign, typstorage, typcategory
	FROM pg_type WHERE oid = 'vector'::regtype;

SELECT unnest('{"[1,2,3]","[4,5,6]"}'::vector[]);
SELECT ARRAY['[1,2]', NULL]::vector(2)[];
SELECT '{"[1,2,3]"}'::vector(2)[];

CREATE TABLE vectors (id serial PRIMARY KEY, v vector(3), w vector DEFAULT '[7]');
INSERT INTO vectors (v) VALUES ('[1,2,3]'), (NULL), ('[4,5,6]');
INSERT INTO vectors (v) VALUES ('[1,2]');
INSERT INTO vectors (v) VALUES ('[1,2]'::vector);
INSERT INTO vectors (v) SELECT w FROM vectors LIMIT 1;
INSERT INTO vectors (v, w) SELECT v, v FROM vectors WHERE id = 1;
UPDATE vectors SET v = '[1]' WHERE id = 1;
SELECT * FROM vectors ORDER BY id;
SELECT attname, format_type(atttypid, atttypmod), attstorage
	FROM pg_attribute WHERE attrelid = 'vectors'::regclass AND attname IN ('v', 'w') ORDER BY 1;
ALTER TABLE vectors ALTER v TYPE vector(2);
ALTER TABLE vectors ALTER v TYPE vector;
ALTER TABLE vectors ALTER v TYPE vector(3);
SELECT v::vector(2) FROM vectors WHERE id = 1;
DROP TABLE vectors;

-- Out of line, and with the one-byte header that short values get.
CREATE TABLE stored (id int, v vector);
INSERT INTO stored SELECT dims, array_agg(i)::vector
	FROM unnest(ARRAY[1, 29, 30, 31, 500, 2000, 16000]) dims, generate_series(1, dims) i
	GROUP BY dims;
SELECT id, vector_dims(v), pg_column_size(v),
	   v = (SELECT array_agg(i)::vector FROM generate_series(1, id) i) AS intact
	FROM stored ORDER BY id;
SELECT vector_dims(v::vector(2000)) FROM stored WHERE id = 2000;
SELECT vector_dims(v::vector(1999)) FROM stored WHERE id = 2000;
SELECT vector_dims(v::vector(29)) FROM stored WHERE id = 29;
SELECT vector_dims(v::vector(30)) FROM stored WHERE id = 29;
SELECT a.id FROM stored a JOIN stored b ON a.v = b.v ORDER BY 1;
DROP TABLE stored;

-- Compressed, where someone asked for it.
CREATE TABLE squeezed (v vector);
ALTER TABLE squeezed ALTER v SET STORAGE main;
INSERT INTO squeezed VALUES (array_fill(1, ARRAY[5000])::vector);
SELECT pg_column_size(v) < 5000 AS compressed, vector_dims(v), vector_dims(v::vector(5000)),
	   v = array_fill(1, ARRAY[5000])::vector AS intact, v <+> v AS distance
	FROM squeezed;
DROP TABLE squeezed;

-- Each function of vectors is immutable, strict, safe in parallel plans, and says what it does.
SELECT p.oid::regprocedure
	FROM pg_proc p
	WHERE p.prorettype <> 'internal'::regtype AND p.prokind = 'f' AND p.proname !~ '^hybrid'
	  AND p.probin ~ 'hybrid' AND 'vector'::regtype = ANY (p.proargtypes::oid[] || p.prorettype)
	  AND (p.provolatile <> 'i' OR NOT p.proisstrict AND p.oid NOT IN (SELECT aggtransfn FROM pg_aggregate) OR p.proparallel <> 's' OR
		   obj_description(p.oid, 'pg_proc') IS NULL);
SELECT count(*) > 30 AS looked_at_some
	FROM pg_proc p
	WHERE p.probin ~ 'hybrid' AND 'vector'::regtype = ANY (p.proargtypes::oid[] || p.prorettype);
SELECT obj_description('vector'::regtype, 'pg_type');

-- Operators and casts: what stands behind each.
SELECT o.oprname, o.oprcode, c.oprname AS commutator, n.oprname AS negator, o.oprcanmerge,
	   o.oprcanhash, o.oprrest, o.oprjoin
	FROM pg_operator o
	LEFT JOIN pg_operator c ON c.oid = o.oprcom LEFT JOIN pg_operator n ON n.oid = o.oprnegate
	WHERE o.oprleft = 'vector'::regtype AND o.oprright = 'vector'::regtype
	ORDER BY o.oprname COLLATE "C";
SELECT castsource::regtype, casttarget::regtype, castfunc::regprocedure, castcontext
	FROM pg_cast WHERE castsource = 'vector'::regtype OR casttarget = 'vector'::regtype
	ORDER BY castsource::regtype::text COLLATE "C", casttarget::regtype::text COLLATE "C";
