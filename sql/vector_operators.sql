-- Arithmetic, element by element, and order.

SELECT '[1,2,3]'::vector + '[4,5,6]';
SELECT '[1,2,3]'::vector - '[4,5,6]';
SELECT '[1,2,3]'::vector * '[4,5,-6]';
SELECT vector_add('[1]', '[2]'), vector_sub('[1]', '[2]'), vector_mul('[1]', '[2]');
SELECT '[1,2]'::vector + NULL, NULL - '[1]'::vector, '[1]'::vector * NULL;

SELECT '[1,2]'::vector + '[3]';
SELECT '[1,2]'::vector - '[3]';
SELECT '[1,2]'::vector * '[3]';

-- Overflow and underflow are errors, in any element; a product with zero is neither.
SELECT '[3e38]'::vector + '[3e38]';
SELECT '[1,-3e38]'::vector + '[1,-3e38]';
SELECT '[-3e38]'::vector - '[3e38]';
SELECT '[1e37]'::vector * '[1e37]';
SELECT '[1,1e-37]'::vector * '[1,-1e-37]';
SELECT '[1e-45]'::vector * '[0.5]';
SELECT '[1e-45]'::vector - '[1e-45]', '[0,1e-37]'::vector * '[1e-37,0]';
SELECT '[3.4028235e38]'::vector + '[-3.4028235e38]', '[1.7e38]'::vector * '[2]';

-- Every element takes part.
SELECT a + b = (SELECT array_agg(3 * i)::vector FROM generate_series(1, 1000) i) AS add,
	   b - a = a AS sub,
	   a * b = (SELECT array_agg(2 * i * i)::vector FROM generate_series(1, 1000) i) AS mul
	FROM (SELECT array_agg(i)::vector AS a, array_agg(2 * i)::vector AS b
		  FROM generate_series(1, 1000) i) x;

-- End to end.
SELECT '[1,2,3]'::vector || '[4,5]', '[1]'::vector || NULL;
SELECT vector_dims(array_fill(1, ARRAY[15999])::vector || '[1]');
SELECT array_fill(1, ARRAY[16000])::vector || '[1]';

-- Order.
WITH v(v) AS (VALUES ('[1,2]'::vector), ('[1,2,3]'), ('[2]'), ('[-1,5]'), ('[1,2]'))
SELECT a.v AS a, b.v AS b, vector_cmp(a.v, b.v),
	   a.v < b.v AS lt, a.v <= b.v AS le, a.v = b.v AS eq, a.v <> b.v AS ne, a.v >= b.v AS ge,
	   a.v > b.v AS gt
	FROM v a, v b ORDER BY a.v, b.v;
SELECT '[0]'::vector = '[-0]', vector_cmp('[-0,1]', '[0,1]');
SELECT '[1]'::vector < NULL, NULL = '[1]'::vector;
SELECT '[1,2]'::vector != '[1,2]';
-- The last of many elements decides as well.
SELECT vector_cmp(a, a + d), vector_cmp(a + d, a), vector_cmp(a, a)
	FROM (SELECT array_fill(1, ARRAY[1000])::vector AS a,
				 (array_fill(0, ARRAY[999]) || 1)::vector AS d) x;
