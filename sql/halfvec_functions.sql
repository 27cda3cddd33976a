-- Of one halfvec.

SELECT vector_dims('[1,2,3]'::halfvec), vector_dims(NULL::halfvec);
SELECT l2_norm('[3,4]'::halfvec), l2_norm('[0,-1]'::halfvec), l2_norm('[0,0]'::halfvec),
	   l2_norm('[65504]'::halfvec), l2_norm('[1,1]'::halfvec) = sqrt(2::float8) AS fp64;
SELECT l2_norm(array_fill(65504, ARRAY[16000])::halfvec)
	 / 65504 / sqrt(16000::float8) BETWEEN 1 - 1e-12 AND 1 + 1e-12 AS fp64;

SELECT l2_normalize('[3,4]'::halfvec), l2_normalize('[3,0]'::halfvec), l2_normalize('[0,-0.1]'::halfvec);
SELECT l2_normalize('[0,0]'::halfvec), l2_normalize('[65504]'::halfvec), l2_normalize('[-6e-8]'::halfvec);

SELECT subvector('[1,2,3,4,5]'::halfvec, 1, 3), subvector('[1,2,3,4,5]'::halfvec, 3, 9),
	   subvector('[1,2,3,4,5]'::halfvec, -1, 3), subvector('[1,2,3,4,5]'::halfvec, 3, 2147483647),
	   subvector('[1,2,3,4,5]'::halfvec, -2147483644, 2147483647);
SELECT subvector('[1,2,3]'::halfvec, 1, 0);
SELECT subvector('[1,2,3]'::halfvec, 4, 1);

SELECT binary_quantize('[1,0,-1]'::halfvec), binary_quantize('[-0,6e-8,-6e-8]'::halfvec);
SELECT binary_quantize('[1,2,3,-4,5,6,-7,8,1,-2,-3,4,5,-6,7,8,-1,2,3]'::halfvec);
