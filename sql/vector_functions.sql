-- Of one vector.

SELECT vector_dims('[1,2,3]'::vector), vector_dims('[0]'::vector), vector_dims(NULL::vector);
SELECT vector_norm('[3,4]'), vector_norm('[0,-1]'), vector_norm('[0,0]'), vector_norm('[2]');
SELECT vector_norm('[1,1]') = sqrt(2::float8) AS fp64;
-- Squares far outside of float4.
SELECT vector_norm('[3e37,4e37]')::real, vector_norm('[3e-40,4e-40]')::real;
SELECT vector_norm(array_fill(3.4028235e38, ARRAY[16000])::vector)
	 / '3.4028235e38'::real::float8 / sqrt(16000::float8) BETWEEN 1 - 1e-12 AND 1 + 1e-12 AS fp64;

SELECT l2_normalize('[3,4]'::vector), l2_normalize('[3,0]'::vector), l2_normalize('[0,-0.1]'::vector);
SELECT l2_normalize('[0,0]'::vector), l2_normalize(NULL::vector);
SELECT l2_normalize('[3e38]'::vector), l2_normalize('[-1e-45]'::vector);
SELECT l2_normalize('[3e37,4e37]'::vector), l2_normalize('[-3.4028235e38,0]'::vector);
SELECT l2_normalize(array_fill(3.4028235e38, ARRAY[16000])::vector)
	 = array_fill(1 / sqrt(16000::float8), ARRAY[16000])::vector AS same;
SELECT vector_norm(l2_normalize(array_agg(i)::vector))::real FROM generate_series(1, 1000) i;

-- A part: counted from 1, as far as it exists, at the edges of integer as well.
SELECT subvector('[1,2,3,4,5]'::vector, 1, 3), subvector('[1,2,3,4,5]'::vector, 3, 2),
	   subvector('[1,2,3,4,5]'::vector, 3, 9), subvector('[1,2,3,4,5]'::vector, -1, 3),
	   subvector('[1,2,3,4,5]'::vector, 5, 1);
SELECT subvector('[1,2,3,4,5]'::vector, 3, 2147483647), subvector('[1,2,3,4,5]'::vector, -2147483644, 2147483647);
SELECT subvector('[1,2,3]'::vector, 1, 0);
SELECT subvector('[1,2,3]'::vector, 3, -1);
SELECT subvector('[1,2,3]'::vector, -1, 2);
SELECT subvector('[1,2,3]'::vector, 4, 1);
SELECT subvector('[1,2,3]'::vector, 2147483647, 2147483647);
SELECT subvector('[1,2,3]'::vector, -2147483648, -2147483648);
SELECT subvector('[1,2,3]'::vector, -2147483648, 2147483647);

-- The signs.
SELECT binary_quantize('[1,0,-1]'::vector), binary_quantize('[-0,1e-45,-1e-45]'::vector);
SELECT binary_quantize('[0,0.1,-0.2,-0.3,0.4,0.5,0.6,-0.7,0.8,-0.9,1]'::vector);
SELECT binary_quantize(array_agg(i % 3 - 1)::vector) = repeat('001', 5333)::bit(15999) AS as_many
	FROM generate_series(0, 15998) i;
