-- The type as a column: modifier, storage, arrays, NULL.

SELECT '[1,2,3]'::halfvec(3);
SELECT '[1,2,3]'::halfvec(2);
SELECT '[1]'::halfvec(16000);
SELECT '[1]'::halfvec(1, 2);
SELECT '[1]'::halfvec('a');
SELECT '[1]'::halfvec(0);
SELECT '[1]'::halfvec(16001);
SELECT format_type('halfvec'::regtype, 3);
SELECT typlen, typbyval, typalign, typstorage, typcategory
	FROM pg_type WHERE oid = 'halfvec'::regtype;

SELECT unnest('{"[1,2,3]","[4,5,6]"}'::halfvec[]);
SELECT '{"[1,2,3]"}'::halfvec(2)[];

CREATE TABLE halves (id serial PRIMARY KEY, v halfvec(3));
INSERT INTO halves (v) VALUES ('[1,2,3]'), (NULL), ('[4,5,6]');
INSERT INTO halves (v) VALUES ('[1,2]');
INSERT INTO halves (v) VALUES ('[1,2]'::halfvec);
UPDATE halves SET v = '[1]' WHERE id = 1;
SELECT * FROM halves ORDER BY id;
ALTER TABLE halves ALTER v TYPE halfvec(2);
-- A column changes its element type, in place and back.
ALTER TABLE halves ALTER v TYPE vector(3);
ALTER TABLE halves ALTER v TYPE halfvec(3);
SELECT * FROM halves ORDER BY id;
DROP TABLE halves;

-- Out of line, and with the one-byte header that short values get; half the size of a vector.
CREATE TABLE stored (id int, v halfvec);
INSERT INTO stored SELECT dims, array_agg(i % 2048)::halfvec
	FROM unnest(ARRAY[1, 58, 59, 60, 1000, 4000, 16000]) dims, generate_series(1, dims) i
	GROUP BY dims;
SELECT id, vector_dims(v), pg_column_size(v),
	   v = (SELECT array_agg(i % 2048)::halfvec FROM generate_series(1, id) i) AS intact
	FROM stored ORDER BY id;
SELECT vector_dims(v::halfvec(4000)) FROM stored WHERE id = 4000;
SELECT vector_dims(v::halfvec(3999)) FROM stored WHERE id = 4000;
-- Wherever it lies and whatever its header, each function reads it.
SELECT id, v <-> v AS l2, v <=> v AS cosine, vector_dims(v || '[1]') AS longer,
	   subvector(v, 1, 1) AS first, length(binary_quantize(v)) AS bits,
	   (v::real[])[id] AS last
	FROM stored WHERE id < 16000 ORDER BY id;
DROP TABLE stored;

-- Each function of halfvecs is immutable, strict, safe in parallel plans, and says what it does.
SELECT p.oid::regprocedure
	FROM pg_proc p
	WHERE p.prokind = 'f' AND 'halfvec'::regtype = ANY (p.proargtypes::oid[] || p.prorettype)
	  AND (p.provolatile <> 'i' OR NOT p.proisstrict AND p.oid NOT IN (SELECT aggtransfn FROM pg_aggregate) OR p.proparallel <> 's' OR
		   obj_description(p.oid, 'pg_proc') IS NULL);
-- What is there for vectors is there for halfvecs; the norm has another name.
SELECT regexp_replace(proname, '^vector_(?!dims)', '') AS function
	FROM pg_proc
	WHERE 'vector'::regtype = ANY (proargtypes) AND proname !~ '^hybrid|_to_' AND proname <> 'vector'
EXCEPT
SELECT regexp_replace(proname, '^halfvec_', '')
	FROM pg_proc WHERE 'halfvec'::regtype = ANY (proargtypes);
SELECT o.oprname FROM pg_operator o WHERE o.oprleft = 'vector'::regtype AND o.oprright = 'vector'::regtype
EXCEPT
SELECT o.oprname FROM pg_operator o JOIN pg_proc p ON p.oid = oprcode
	WHERE o.oprleft = 'halfvec'::regtype AND o.oprright = 'halfvec'::regtype;

-- Operators and casts: what stands behind each.
SELECT o.oprname, o.oprcode::oid::regprocedure, c.oprname AS commutator, n.oprname AS negator,
	   o.oprcanmerge, o.oprcanhash, o.oprrest, o.oprjoin
	FROM pg_operator o
	LEFT JOIN pg_operator c ON c.oid = o.oprcom LEFT JOIN pg_operator n ON n.oid = o.oprnegate
	WHERE o.oprleft = 'halfvec'::regtype AND o.oprright = 'halfvec'::regtype
	ORDER BY o.oprname COLLATE "C";
SELECT castsource::regtype, casttarget::regtype, castfunc::regprocedure, castcontext
	FROM pg_cast WHERE 'halfvec'::regtype IN (castsource, casttarget)
	  AND NOT 'sparsevec' IN (castsource::regtype::text, casttarget::regtype::text)
	ORDER BY castsource::regtype::text COLLATE "C", casttarget::regtype::text COLLATE "C";
