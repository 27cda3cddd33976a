-- Text into a vector and back.

-- Spellings of a number, and where white space may stand.
SELECT '[1,2,3]'::vector;
SELECT replace('s[s1s,s2s]s', 's', E' \t\n\r\x0b\f')::vector;
SELECT '[-1,+1,.5,5.,-.25e1,1E2,1e-2,007]'::vector;
SELECT '[0x10,0x1.8p1]'::vector;
SELECT '[0,-0]'::vector;

-- The shortest text that reads back to the same float, at the edges of float4.
SELECT '[0.1,0.3,1.1,16777216,16777217,33554435]'::vector;
SELECT '[3.4028235e38,-3.4028235e38,3.40282351e38,1.17549435e-38,1e-45,1.4e-45]'::vector;
SELECT '[1e-46,-1e-46]'::vector;
SELECT '[123456,1234567,1e15,1e16,0.0001,0.00001]'::vector;
-- One rounding, straight to float4: a detour over float8 would give 1.0000001 and 1.
SELECT '[1.00000017881393432617187499,1.00000005960464477539062501]'::vector;
-- Halfway cases go to the even neighbour.
SELECT '[1.000000178813934326171875,1.000000059604644775390625]'::vector;

-- What every float4 written reads back to.
SELECT count(*), bool_and(v::text::vector = v) AS same
	FROM (SELECT ARRAY[power(2, e), power(2, e) * 1.3, -power(10, e / 4)]::vector AS v
		  FROM generate_series(-149, 126) e) x;

-- Malformed.
SELECT '[hello,1]'::vector;
SELECT '[1,2,3'::vector;
SELECT '[1,2,3]9'::vector;
SELECT '[1,2,3]]'::vector;
SELECT '1,2,3'::vector;
SELECT '{1,2,3}'::vector;
SELECT '(1,2,3)'::vector;
SELECT ''::vector;
SELECT '  '::vector;
SELECT '['::vector;
SELECT '[ '::vector;
SELECT '[,'::vector;
SELECT '[,]'::vector;
SELECT '[1,]'::vector;
SELECT '[1, '::vector;
SELECT '[,1]'::vector;
SELECT '[1a]'::vector;
SELECT '[1 2]'::vector;
SELECT '[1;2]'::vector;
SELECT '[1,,3]'::vector;
SELECT '[1, ,3]'::vector;
SELECT '[--1]'::vector;
SELECT '[1e]'::vector;
SELECT '[[1]]'::vector;
SELECT '["1"]'::vector;

-- No elements.
SELECT '[]'::vector;
SELECT ' [ ] '::vector;

-- Not finite.
SELECT '[NaN,1]'::vector;
SELECT '[1,nan]'::vector;
SELECT '[-NaN]'::vector;
SELECT '[Infinity,1]'::vector;
SELECT '[-Infinity,1]'::vector;
SELECT '[1,inf]'::vector;

-- Out of range; the value is shown as it was written.
SELECT '[4e38,1]'::vector;
SELECT '[1, -4e38 ]'::vector;
SELECT '[3.40282357e38]'::vector;
SELECT '[1e400]'::vector;

-- As many dimensions as there may be, and one more.
SELECT vector_dims(('[' || repeat('1,', 15999) || '2]')::vector);
SELECT ('[' || repeat('1,', 16000) || '2]')::vector;

-- What a program sees: the SQLSTATE.
CREATE FUNCTION sqlstate_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN 'none';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;
SELECT text, sqlstate_of(format('SELECT %L::vector', text))
	FROM (VALUES ('[1]'), ('1'), ('[1'), ('[1]1'), ('[]'), ('[nan]'), ('[inf]'), ('[1e39]')) x(text);
SELECT sqlstate_of('SELECT (''['' || repeat(''1,'', 16000) || ''2]'')::vector');
-- The first mistake is the one that is reported.
SELECT sqlstate_of('SELECT (''['' || repeat(''1,'', 16000) || ''x'')::vector');
SELECT sqlstate_of('SELECT (''[x'' || repeat('',1'', 16000) || '']'')::vector');
SELECT sqlstate_of('SELECT ''[nan,x,1e39]''::vector'), sqlstate_of('SELECT ''[1e39,nan]''::vector');
SELECT sqlstate_of('SELECT vector_in(''[1,2]'', 0, 3)');
DROP FUNCTION sqlstate_of;
