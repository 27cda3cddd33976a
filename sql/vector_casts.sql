-- Arrays to vectors and back.

SELECT ARRAY[1,2,3]::vector;
SELECT ARRAY[1.5,2.5]::vector;
SELECT '{1,-2.5,1e-45}'::real[]::vector;
SELECT '{1,0.1,1e-46,-1e-46}'::double precision[]::vector;
SELECT '{1,0.1,123456789.123456789}'::numeric[]::vector;
SELECT '{2147483647,-2147483648,16777217}'::integer[]::vector;

-- With a modifier.
SELECT '{1,2,3}'::integer[]::vector(3), '{1,2,3}'::real[]::vector(3),
	   '{1,2,3}'::double precision[]::vector(3), '{1,2,3}'::numeric[]::vector(3);
SELECT '{1,2,3}'::integer[]::vector(2);
SELECT '{1,2,3}'::real[]::vector(4);
SELECT '{1,2,3}'::double precision[]::vector(2);
SELECT '{1,2,3}'::numeric[]::vector(2);

-- In an assignment, not by itself.
CREATE TABLE assigned (v vector(2));
INSERT INTO assigned VALUES (ARRAY[1,2]), (ARRAY[1.5,2.5]), ('{3,4}'::real[]), ('{5,6}'::float8[]);
INSERT INTO assigned VALUES (ARRAY[1,2,3]);
SELECT * FROM assigned;
SELECT vector_dims(ARRAY[1,2]);
DROP TABLE assigned;

-- Refused.
SELECT '{}'::integer[]::vector;
SELECT '{}'::real[]::vector;
SELECT '{}'::numeric[]::vector;
SELECT '{{1,2},{3,4}}'::integer[]::vector;
SELECT '{{1}}'::real[]::vector;
SELECT '{1,NULL}'::integer[]::vector;
SELECT '{NULL}'::real[]::vector;
SELECT '{NULL,1}'::double precision[]::vector;
SELECT '{1,NULL}'::numeric[]::vector;
SELECT '{NaN}'::real[]::vector;
SELECT '{1,NaN}'::double precision[]::vector;
SELECT '{NaN}'::numeric[]::vector;
SELECT '{Infinity}'::real[]::vector;
SELECT '{-Infinity}'::double precision[]::vector;
SELECT '{Infinity}'::numeric[]::vector;
SELECT '{4e38}'::double precision[]::vector;
SELECT '{4e38}'::numeric[]::vector;
SELECT array_agg(i)::vector FROM generate_series(1, 16001) i;
SELECT array_agg(i::numeric)::vector FROM generate_series(1, 16001) i;
SELECT array_to_vector(array_agg(i), 16001, false) FROM generate_series(1, 16001) i;
SELECT vector_dims(array_agg(i)::vector) FROM generate_series(1, 16000) i;

-- A bitmap of nulls without a null in it, and another lower bound, are no obstacle.
SELECT array_remove('{1,NULL,3}'::real[], NULL)::vector;
SELECT ('{1,2,NULL}'::double precision[])[1:2]::vector;
SELECT '[5:7]={1,2,3}'::integer[]::vector;

-- To an array, implicitly.
SELECT '[1,-2.5,1e-45]'::vector::real[];
SELECT array_ndims(a), array_lower(a, 1), array_upper(a, 1)
	FROM (SELECT '[1,2,3]'::vector::real[] AS a) x;
CREATE FUNCTION takes_reals(real[]) RETURNS real LANGUAGE sql IMMUTABLE AS 'SELECT $1[2]';
SELECT takes_reals('[1,2,3]'::vector);
DROP FUNCTION takes_reals;
SELECT ('[1,2,3]'::vector::real[])[2];
SELECT unnest('[1,2,3]'::vector::real[]);
SELECT '[1,2,3]'::vector::real[] = '{1,2,3}'::real[];
SELECT (SELECT array_agg(i)::vector::real[] FROM generate_series(1, 16000) i)
	 = (SELECT array_agg(i)::real[] FROM generate_series(1, 16000) i) AS same;

-- Arrays of numbers keep their own operators.
SELECT ARRAY[1,2,3] = ARRAY[1,2,3], ARRAY[1.5] < ARRAY[2.5], '{1}'::real[] || '{2}'::real[];
