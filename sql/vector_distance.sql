-- Distances of a pair.  All inputs are such that the results are exact.

SELECT l2_distance('[0,0]'::vector, '[3,4]'), '[0,0]'::vector <-> '[3,4]';
SELECT l2_distance('[1,1,1,1,1,1,1,1,1]'::vector, '[1,1,1,1,1,1,1,4,5]');
SELECT inner_product('[1,2]'::vector, '[3,4]'), '[1,2]'::vector <#> '[3,4]',
	   vector_negative_inner_product('[1,2]', '[3,4]');
SELECT inner_product('[1,1,1,1,1,1,1,1,1]'::vector, '[1,2,3,4,5,6,7,8,9]');
SELECT inner_product('[1,0]'::vector, '[0,1]');
SELECT cosine_distance('[1,2]'::vector, '[2,4]'), '[1,2]'::vector <=> '[2,4]';
SELECT cosine_distance('[1,0]'::vector, '[0,2]'), cosine_distance('[1,1]'::vector, '[-1,-1]');
SELECT cosine_distance('[3,4]'::vector, '[4,3]')::real;
SELECT l1_distance('[0,0]'::vector, '[3,-4]'), '[0,0]'::vector <+> '[3,-4]';
SELECT l1_distance('[1,2,3,4,5,6,7,8,9]'::vector, '[0,3,2,5,4,7,6,9,8]');

SELECT vector_l2_squared_distance('[0,0]', '[3,4]'), vector_l2_squared_distance('[1,1]', '[0,0]');
-- The angle, as a part of the half circle.
SELECT vector_spherical_distance('[1,0]', '[0,1]'), vector_spherical_distance('[1,0]', '[-1,0]'),
	   vector_spherical_distance('[1,0]', '[1,0]'), vector_spherical_distance('[2]', '[3]'),
	   vector_spherical_distance('[2]', '[-3]');

-- A vector and itself; cosine stays within 0 and 2.
SELECT v <-> v AS l2, v <+> v AS l1, v <=> v AS cosine, v <=> v * '[-1,-1,-1]' AS opposite
	FROM (VALUES ('[1,2,3]'::vector), ('[0.1,0.7,0.3]'), ('[1.1,1.1,1.1]')) x(v);

-- A zero vector has no direction.
SELECT cosine_distance('[1,2]'::vector, '[0,0]'), cosine_distance('[0,0]'::vector, '[1,2]'),
	   cosine_distance('[0,0]'::vector, '[-0,0]');
SELECT '[0,0]'::vector <-> '[0,0]', inner_product('[0,0]'::vector, '[1,2]'), '[0,0]'::vector <+> '[0,0]';

-- Sizes around the lanes and flushes of the kernels: n ones against n twos.
SELECT n, a <-> b = sqrt(n::float8) AS l2, a <#> b AS ip, a <=> b AS cosine, a <+> b AS l1
	FROM unnest(ARRAY[1, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025,
					  2048, 15999, 16000]) n,
	LATERAL (SELECT array_fill(1, ARRAY[n])::vector AS a, array_fill(2, ARRAY[n])::vector AS b) x;
-- Every place counts: one element that differs, anywhere.
SELECT count(*), sum(a <-> b), sum(a <+> b), sum(inner_product(a, b))
	FROM generate_series(1, 200) i,
	LATERAL (SELECT array_agg((j = i)::int)::vector AS a, array_agg(0)::vector AS b
			 FROM generate_series(1, 200) j) x;
SELECT sum(inner_product(a, b)) AS sum_of_1_to_200
	FROM generate_series(1, 200) i,
	LATERAL (SELECT array_agg((j = i)::int)::vector AS a, array_agg(j)::vector AS b
			 FROM generate_series(1, 200) j) x;

-- Different dimensions; NULL.
SELECT l2_distance('[1,2]'::vector, '[3]');
SELECT inner_product('[1,2]'::vector, '[3]');
SELECT cosine_distance('[1,2]'::vector, '[3,4,5]');
SELECT l1_distance('[1]'::vector, '[3,4]');
SELECT vector_l2_squared_distance('[1]', '[3,4]');
SELECT vector_spherical_distance('[1]', '[3,4]');
SELECT '[1,2]'::vector <-> '[3]';
SELECT '[1,2]'::vector <#> '[3]';
SELECT '[1,2]'::vector <=> '[3]';
SELECT '[1,2]'::vector <+> '[3]';
SELECT l2_distance(NULL::vector, '[1]'), '[1]'::vector <=> NULL;

-- Nearest first; NaN after all distances, then NULL.
CREATE TABLE near (id int, v vector(2));
INSERT INTO near VALUES (1, '[3,4]'), (2, '[0,0]'), (3, '[1,0]'), (4, NULL), (5, '[-1,0]');
SELECT id, v <-> '[0,0]' AS l2 FROM near ORDER BY 2, 1;
SELECT id, v <#> '[1,0]' AS ip FROM near ORDER BY 2, 1;
SELECT id, v <=> '[1,0]' AS cosine FROM near ORDER BY v <=> '[1,0]', 1;
SELECT id, v <+> '[0,0]' AS l1 FROM near ORDER BY 2, 1;
DROP TABLE near;
