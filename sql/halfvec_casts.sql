-- Arrays and vectors to halfvecs and back.

SELECT ARRAY[1,2,3]::halfvec, ARRAY[1.5,2.5]::halfvec;
SELECT '{1,-2.5,6e-8,1e-8}'::real[]::halfvec;
SELECT '{1,0.1,1e-46,-1e-46,65519}'::double precision[]::halfvec;
SELECT '{1,0.1,12345.678}'::numeric[]::halfvec;
SELECT '{2049,-65519}'::integer[]::halfvec(2);
SELECT '{1,2,3}'::real[]::halfvec(2);

-- In an assignment, not by itself.
CREATE TABLE assigned (v halfvec(2), w vector(2), a real[]);
INSERT INTO assigned (v) VALUES (ARRAY[1,2]), (ARRAY[1.5,2.5]), ('{3,4}'::real[]), ('{5,6}'::float8[]);
INSERT INTO assigned (v) VALUES (ARRAY[1,2,3]);
UPDATE assigned SET w = v, a = v;
SELECT * FROM assigned;
SELECT vector_norm(v) FROM assigned;
SELECT array_length(v, 1) FROM assigned;
-- A vector is a halfvec where one is asked for.
SELECT halfvec_cmp('[3,4]'::vector, '[3,4]'), halfvec_add(w, '[1,1]') FROM assigned LIMIT 1;
SELECT v <-> w AS of_both, v = w AS same FROM assigned ORDER BY v;
DROP TABLE assigned;

-- Refused.
SELECT '{}'::integer[]::halfvec;
SELECT '{{1,2},{3,4}}'::integer[]::halfvec;
SELECT '{1,NULL}'::integer[]::halfvec;
SELECT '{NaN}'::real[]::halfvec;
SELECT '{-Infinity}'::double precision[]::halfvec;
SELECT '{4e38}'::double precision[]::halfvec;
SELECT '{1,65520}'::integer[]::halfvec;
SELECT '{-65520}'::real[]::halfvec;
SELECT '{65519.9999}'::double precision[]::halfvec;
SELECT '{1e5}'::numeric[]::halfvec;
SELECT array_agg(1)::halfvec FROM generate_series(1, 16001) i;

-- To an array, and to and from vectors.
SELECT '[1,-2.5,6e-8]'::halfvec::real[];
SELECT array_ndims(a), array_lower(a, 1), array_upper(a, 1)
	FROM (SELECT '[1,2,3]'::halfvec::real[] AS a) x;
SELECT '[1,0.1,6e-8]'::halfvec::vector, '[1,2,3]'::halfvec::vector(3);
SELECT '[1,2,3]'::halfvec::vector(2);
SELECT '[1,0.1,2049,1e-8]'::vector::halfvec, '[1,2,3]'::vector::halfvec(3);
SELECT '[1,2,3]'::vector::halfvec(2);
SELECT '[1,65520]'::vector::halfvec;
SELECT '[-1e30]'::vector::halfvec;
-- Each half survives the way through a vector.
SELECT count(*), bool_and(halfvec_send(v::vector::halfvec) = halfvec_send(v)) AS same
	FROM (SELECT ARRAY[power(2, e) * (1 + i / 1024.0), -power(2, e) * (1 + i / 1024.0)]::halfvec AS v
		  FROM generate_series(-24, 15) e, generate_series(0, 1023, 33) i) x;
