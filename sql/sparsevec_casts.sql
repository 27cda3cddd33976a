-- Arrays and dense vectors to sparse ones, and back.

SELECT ARRAY[1,0,-2]::sparsevec, ARRAY[0.5,0]::sparsevec, '{0,-0,1e-45}'::real[]::sparsevec, '{0,0}'::numeric[]::sparsevec;
SELECT '{1,0.1,0,1e-46,-1e-46}'::double precision[]::sparsevec, '{123456789.123456789,0}'::numeric[]::sparsevec;
SELECT '{1,0,2}'::integer[]::sparsevec(3), '{1,0,2}'::real[]::sparsevec(3), '{1,0,2}'::double precision[]::sparsevec(3), '{1,0,2}'::numeric[]::sparsevec(3);
SELECT '{1,0,2}'::real[]::sparsevec(2);
SELECT '[0,1.5,0,-3.5]'::vector::sparsevec, '[0,1.5,0,-3.5]'::halfvec::sparsevec, '[0,-0]'::vector::sparsevec(2);
SELECT '[0,1]'::vector::sparsevec(3);
SELECT '[0,1]'::halfvec::sparsevec(3);
SELECT '{2:1.5,4:-3.5}/5'::sparsevec::vector, '{2:1.5,4:-3.5}/5'::sparsevec::halfvec, '{}/2'::sparsevec::vector(2), '{1:0.1,2:1e-8}/2'::sparsevec::halfvec(2);
SELECT '{}/2'::sparsevec::vector(3);
SELECT '{}/2'::sparsevec::halfvec(3);
SELECT '{}/2'::sparsevec::sparsevec(2), '{}/2'::sparsevec::sparsevec;
SELECT '{}/2'::sparsevec::sparsevec(3);
-- There and back.
SELECT bool_and(v::sparsevec::vector = v), bool_and(v::halfvec::sparsevec::halfvec = v::halfvec)
	FROM generate_series(1, 300) n, LATERAL (SELECT array_agg(CASE WHEN i % (1 + n % 7) = 0 THEN sin(i * n) ELSE 0 END ORDER BY i)::vector AS v FROM generate_series(1, n) i) x;

-- Refused.
SELECT '{}'::real[]::sparsevec;
SELECT '{{1}}'::real[]::sparsevec;
SELECT '{NULL}'::integer[]::sparsevec;
SELECT '{1,NaN}'::real[]::sparsevec;
SELECT '{0,-Infinity}'::double precision[]::sparsevec;
SELECT '{4e38,0}'::double precision[]::sparsevec;
SELECT '{NaN}'::numeric[]::sparsevec;
SELECT array_agg(i)::sparsevec FROM generate_series(1, 16001) i;
SELECT '{}/16001'::sparsevec::vector;
SELECT '{}/16001'::sparsevec::halfvec;
SELECT '{}/1000000000'::sparsevec::vector;
SELECT '{1:65520}/1'::sparsevec::halfvec;
-- Many elements, few of them not zero.
SELECT array_agg(i / 100000)::sparsevec FROM generate_series(1, 100001) i;

-- From an array in assignments only; from a vector everywhere.
CREATE TABLE assigned (v sparsevec(2), w vector(2), h halfvec(2));
INSERT INTO assigned (v) VALUES (ARRAY[1,0]), ('[0,2]'::vector), ('[3,0]'::halfvec), (ARRAY[0,0.5]);
INSERT INTO assigned (w, h) VALUES ('{1:1}/2'::sparsevec, '{2:1}/2'::sparsevec);
SELECT * FROM assigned;
SELECT l2_norm(ARRAY[3,4]);
SELECT '{1:1}/2'::sparsevec <-> '[0,1]'::vector AS mixed;
DROP TABLE assigned;
