-- Distances of a pair.  All inputs are such that the results are exact.

SELECT l2_distance('[0,0]'::halfvec, '[3,4]'), '[0,0]'::halfvec <-> '[3,4]';
SELECT halfvec_l2_squared_distance('[0,0]', '[3,4]'), halfvec_l2_squared_distance('[65504]', '[-65504]');
SELECT inner_product('[1,2]'::halfvec, '[3,4]'), '[1,2]'::halfvec <#> '[3,4]',
	   halfvec_negative_inner_product('[1,2]', '[3,4]');
SELECT cosine_distance('[1,2]'::halfvec, '[2,4]'), '[1,0]'::halfvec <=> '[0,2]',
	   cosine_distance('[1,1]'::halfvec, '[-1,-1]'), cosine_distance('[1,2]'::halfvec, '[0,-0]');
SELECT l1_distance('[0,0]'::halfvec, '[3,-4]'), '[0,0]'::halfvec <+> '[3,-4]';
SELECT halfvec_spherical_distance('[1,0]', '[0,1]'), halfvec_spherical_distance('[1,0]', '[-1,0]'),
	   halfvec_spherical_distance('[1,0]', '[1,0]'), halfvec_spherical_distance('[2]', '[3]'),
	   halfvec_spherical_distance('[2]', '[-3]');
SELECT inner_product('[65504]'::halfvec, '[65504]'),
	   cosine_distance('[65504]'::halfvec, '[65504]'), '[6e-8]'::halfvec <+> '[-6e-8]';

-- Sizes around the lanes and flushes of the kernels: n ones against n twos.
SELECT n, a <-> b = sqrt(n::float8) AS l2, a <#> b AS ip, a <=> b AS cosine, a <+> b AS l1,
	   halfvec_l2_squared_distance(a, b) AS squared
	FROM unnest(ARRAY[1, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025,
					  2048, 15999, 16000]) n,
	LATERAL (SELECT array_fill(1, ARRAY[n])::halfvec AS a, array_fill(2, ARRAY[n])::halfvec AS b) x;
-- Every place counts: one element that differs, anywhere.
SELECT sum(a <-> b), sum(a <+> b), sum(inner_product(a, b)), sum(inner_product(a, c)) AS sum_of_1_to_200
	FROM generate_series(1, 200) i,
	LATERAL (SELECT array_agg((j = i)::int)::halfvec AS a, array_agg(0)::halfvec AS b,
					array_agg(j)::halfvec AS c
			 FROM generate_series(1, 200) j) x;

-- The same bits as the same numbers as vectors, on either side.
SELECT count(*),
	   bool_and(a <-> b = a::vector <-> b::vector AND a <#> b = a::vector <#> b::vector AND
				a <=> b = a::vector <=> b::vector AND a <+> b = a::vector <+> b::vector AND
				halfvec_l2_squared_distance(a, b) = vector_l2_squared_distance(a::vector, b::vector) AND
				halfvec_spherical_distance(a, b) = vector_spherical_distance(a::vector, b::vector)) AS vectors,
	   bool_and(a <-> b = b <-> a AND a <#> b = b <#> a AND a <=> b = b <=> a AND a <+> b = b <+> a) AS turned
	FROM generate_series(1, 300, 7) n,
	LATERAL (SELECT array_agg(sin(i * n))::halfvec AS a, array_agg(exp(-i % 17) * cos(i + n))::halfvec AS b
			 FROM generate_series(1, n * 5) i) x;

-- Different dimensions; NULL.
SELECT l2_distance('[1,2]'::halfvec, '[3]');
SELECT '[1,2]'::halfvec <-> '[3]';
SELECT '[1,2]'::halfvec <#> '[3]';
SELECT '[1,2]'::halfvec <=> '[3]';
SELECT '[1,2]'::halfvec <+> '[3]';
SELECT halfvec_l2_squared_distance('[1,2]', '[3]');
SELECT halfvec_spherical_distance('[1,2]', '[3]');
SELECT l2_distance(NULL::halfvec, '[1]'), '[1]'::halfvec <=> NULL;
