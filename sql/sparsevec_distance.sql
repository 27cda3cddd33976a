-- Distances of a pair, norms.

SELECT '{}/2'::sparsevec <-> '{1:3,2:4}/2' AS l2, '{1:1,2:2}/2'::sparsevec <#> '{1:3,2:4}/2' AS ip,
	   '{1:1}/2'::sparsevec <=> '{2:2}/2' AS cosine, '{1:3}/3'::sparsevec <+> '{1:-1,3:4}/3' AS l1;
SELECT l2_distance('{1:3}/2'::sparsevec, '{2:4}/2'), sparsevec_l2_squared_distance('{1:3}/2', '{2:4}/2'),
	   inner_product('{1:1,3:3,5:5}/5'::sparsevec, '{2:4,3:6,4:8}/5'), sparsevec_negative_inner_product('{1:2}/2', '{1:3}/2'),
	   cosine_distance('{1:1,2:1}/2'::sparsevec, '{1:-1,2:-1}/2'), l1_distance('{1:1,3:3}/4'::sparsevec, '{2:2,4:4}/4');
-- Nothing in common, nothing at all.
SELECT inner_product('{1:1,3:3}/4'::sparsevec, '{2:2,4:4}/4'), '{}/9'::sparsevec <-> '{}/9', '{}/9'::sparsevec <+> '{}/9',
	   '{}/2'::sparsevec <=> '{1:1}/2', '{}/2'::sparsevec <=> '{}/2';
SELECT l2_distance(NULL, '{}/1'::sparsevec), '{}/1'::sparsevec <=> NULL;

-- The very distances of the dense vectors, whatever is left out: numbers whose sums round differently in another order.
CREATE TABLE pairs AS
	SELECT n, (SELECT array_agg(CASE WHEN (i * 7919 + n) % gap = 0 THEN sin(i * n) * 10 ^ (i % 7 - 3) ELSE 0 END ORDER BY i)::vector
			   FROM generate_series(1, dims) i) AS a,
		   (SELECT array_agg(CASE WHEN (i * 104729 + n) % gap IN (0, 1) THEN cos(i * n) * 10 ^ (i % 5 - 2) ELSE 0 END ORDER BY i)::vector
			   FROM generate_series(1, dims) i) AS b
	FROM generate_series(1, 60) n, LATERAL (SELECT 1 + (n * n * 257) % 16000 AS dims, 1 + n % 17 AS gap) x;
SELECT count(*), bool_and((a <-> b) = (a::sparsevec <-> b::sparsevec)) AS l2, bool_and((a <#> b) = (a::sparsevec <#> b::sparsevec)) AS ip,
	   bool_and((a <=> b) = (a::sparsevec <=> b::sparsevec)) AS cosine, bool_and((a <+> b) = (a::sparsevec <+> b::sparsevec)) AS l1,
	   bool_and(vector_l2_squared_distance(a, b) = sparsevec_l2_squared_distance(a, b)) AS l2_squared,
	   bool_and(vector_norm(a) = l2_norm(a::sparsevec)) AS norm, bool_and(l2_normalize(a) = l2_normalize(a::sparsevec)::vector) AS normalize,
	   count(DISTINCT a <-> b) > 50 AS various
	FROM pairs;
DROP TABLE pairs;
-- Sums beyond float4, as of vectors.
SELECT ('{2:3e38}/3'::sparsevec <-> '{2:-3e38}/3') = ('[0,3e38,0]'::vector <-> '[0,-3e38,0]') AS l2,
	   ('{2:3e38}/3'::sparsevec <+> '{2:-3e38}/3') = ('[0,3e38,0]'::vector <+> '[0,-3e38,0]') AS l1,
	   ('{2:3e38}/3'::sparsevec <#> '{2:3e38}/3') = ('[0,3e38,0]'::vector <#> '[0,3e38,0]') AS ip,
	   ('{2:3e38}/3'::sparsevec <=> '{2:3e38,3:1e-30}/3') AS cosine;

-- A billion dimensions cost no more than their elements.
SELECT '{1:3,500000000:1,1000000000:4}/1000000000'::sparsevec <-> '{500000000:1}/1000000000' AS l2,
	   '{1:3,500000000:2,1000000000:4}/1000000000'::sparsevec <#> '{2:5,500000000:-2,1000000000:1}/1000000000' AS ip;

SELECT '{}/2'::sparsevec <-> '{}/3';
SELECT '{}/2'::sparsevec <#> '{}/3';
SELECT '{}/2'::sparsevec <=> '{}/3';
SELECT '{}/2'::sparsevec <+> '{}/1';
SELECT sparsevec_l2_squared_distance('{}/2', '{}/3');

-- Of one.
SELECT l2_norm('{1:3,1000000:4}/1000000'::sparsevec), l2_norm('{}/5'::sparsevec), l2_norm('{1:3e37,2:4e37}/2'::sparsevec)::real,
	   l2_norm('{1:1,2:1}/2'::sparsevec) = sqrt(2::float8) AS fp64;
SELECT l2_normalize('{1:3,9:4}/9'::sparsevec), l2_normalize('{}/2'::sparsevec), l2_normalize('{2:-1e-45}/3'::sparsevec);
-- What vanishes is left out.
SELECT l2_normalize('{1:3e38,2:1e-37}/2'::sparsevec), l2_normalize('{2:3e37,4:3e-37,6:4e37,8:4e-37}/9'::sparsevec);

-- Nearest first; NaN after all distances, then NULL.
CREATE TABLE near (id int, v sparsevec(2));
INSERT INTO near VALUES (1, '{1:3,2:4}/2'), (2, '{}/2'), (3, '{1:1}/2'), (4, NULL), (5, '{1:-1}/2');
SELECT id, v <-> '{}/2' AS l2 FROM near ORDER BY v <-> '{}/2', 1;
SELECT id, v <=> '{1:1}/2' AS cosine FROM near ORDER BY v <=> '{1:1}/2', 1;
DROP TABLE near;
