-- Text in and out.

SELECT '{1:1.5,3:3.5}/5'::sparsevec, ' { 1 : -2. , 3 : +4e0 } / 5 '::sparsevec, '{}/3'::sparsevec;
SELECT '{3:1,1:2,2:3}/3'::sparsevec AS ordered, '{1:0,2:1,3:-0}/3'::sparsevec AS zeros_left_out;
SELECT '{1:3.4028235e38,1000000000:-1e-45}/1000000000'::sparsevec;
SELECT '{1:0.1,2:1e10,3:123456.79,4:1e-5}/4'::sparsevec;
SELECT count(*), bool_and(v::text::sparsevec = v AND v::text = v::text::sparsevec::text) AS same
	FROM generate_series(1, 500) i,
	LATERAL (SELECT string_agg((j * j * 7919 + 1) || ':' || (sin(i * j) * 10 ^ (j % 60 - 30))::real, ',') AS inside
			 FROM generate_series(1, i % 100) j) x,
	LATERAL (SELECT ('{' || coalesce(inside, '') || '}/1000000000')::sparsevec AS v) y;

\set VERBOSITY terse
-- Malformed.
SELECT ''::sparsevec;
SELECT '[1:2]/3'::sparsevec;
SELECT '{'::sparsevec;
SELECT '{}'::sparsevec;
SELECT '{}/'::sparsevec;
SELECT '{}/x'::sparsevec;
SELECT '{}/1 2'::sparsevec;
SELECT '{1}/2'::sparsevec;
SELECT '{1:}/2'::sparsevec;
SELECT '{:1}/2'::sparsevec;
SELECT '{1:1,}/2'::sparsevec;
SELECT '{1:1 2:2}/2'::sparsevec;
SELECT '{1.5:1}/2'::sparsevec;
\set VERBOSITY default
SELECT '[1]'::sparsevec;
SELECT '{1:1}'::sparsevec;
SELECT '{1:1}/1x'::sparsevec;
\set VERBOSITY terse
-- Not a number that may be an element.
SELECT '{1:NaN}/1'::sparsevec;
SELECT '{1:inf}/1'::sparsevec;
SELECT '{1:-Infinity}/1'::sparsevec;
SELECT '{1:4e38}/1'::sparsevec;
SELECT '{1:-1e-46,2:1}/2'::sparsevec;
SELECT '{1:x}/1'::sparsevec;
-- Indices and dimensions.
SELECT '{0:1}/1'::sparsevec;
SELECT '{-1:1}/1'::sparsevec;
SELECT '{2:1}/1'::sparsevec;
SELECT '{99999999999999999999:1}/1'::sparsevec;
SELECT '{1:1,1:2}/1'::sparsevec;
SELECT '{2:1,1:1,2:2}/2'::sparsevec;
SELECT '{3:0}/2'::sparsevec;
SELECT '{}/0'::sparsevec;
SELECT '{}/-1'::sparsevec;
SELECT '{}/1000000001'::sparsevec;
SELECT '{}/99999999999999999999'::sparsevec;
-- At most 16,000, zeros included.
SELECT length(('{' || string_agg(i || ':1', ',') || '}/16000')::sparsevec::text) FROM generate_series(1, 16000) i;
SELECT ('{' || string_agg(i || ':1', ',') || '}/16001')::sparsevec FROM generate_series(1, 16001) i;
SELECT ('{' || string_agg(i || ':0', ',') || '}/16001')::sparsevec FROM generate_series(1, 16001) i;
\set VERBOSITY default

-- Type modifier.
SELECT '{}/3'::sparsevec(3), '{1:1}/1000000000'::sparsevec(1000000000);
SELECT '{}/3'::sparsevec(2);
SELECT '{}/3'::sparsevec(0);
SELECT '{}/3'::sparsevec(1000000001);
SELECT '{}/3'::sparsevec(3, 2);
SELECT '{}/3'::sparsevec('a');
CREATE TABLE typed (v sparsevec(3));
INSERT INTO typed VALUES ('{1:1}/3'), (NULL);
INSERT INTO typed VALUES ('{1:1}/4');
INSERT INTO typed SELECT '{1:1}/2'::sparsevec;
SELECT * FROM typed;
SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'typed'::regclass AND attname = 'v';
DROP TABLE typed;

-- On disk: a header of 16 bytes, 8 for each element; stored out of line, not compressed.
SELECT pg_column_size('{}/1000000000'::sparsevec) AS none, pg_column_size('{1:1,9:2}/10'::sparsevec) AS two;
SELECT typlen, typbyval, typalign, typstorage, typcategory FROM pg_type WHERE oid = 'sparsevec'::regtype;

-- Everything is described, and as safe as it can be.
SELECT p.oid::regprocedure FROM pg_proc p
	WHERE p.probin ~ 'hybrid' AND 'sparsevec'::regtype = ANY (p.proargtypes::oid[] || p.prorettype)
	  AND (provolatile <> 'i' OR NOT proisstrict OR proparallel <> 's' OR obj_description(p.oid, 'pg_proc') IS NULL);
SELECT oprname, oprcode, oprcom::regoperator, oprnegate::regoperator, oprrest, oprjoin, oprcanmerge, oprcanhash
	FROM pg_operator o WHERE o.oprleft = 'sparsevec'::regtype ORDER BY 1;
SELECT castsource::regtype, casttarget::regtype, castcontext
	FROM pg_cast WHERE castsource = 'sparsevec'::regtype OR casttarget = 'sparsevec'::regtype ORDER BY castsource::regtype::text, casttarget::regtype::text;
