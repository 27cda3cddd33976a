-- Arithmetic, element by element.

SELECT '[1,2,3]'::halfvec + '[4,5,6]', '[1,2,3]'::halfvec - '[4,5,6]', '[1,2,3]'::halfvec * '[4,5,-6]';
SELECT '[1,2]'::halfvec + NULL;
SELECT '[1,2]'::halfvec + '[3]';
SELECT '[1,2]'::halfvec - '[3]';
SELECT '[1,2]'::halfvec * '[3]';
-- Rounded once, to even.
SELECT '[2048,2048,1]'::halfvec + '[1,3,0.00048828125]', '[2048]'::halfvec - '[0.5]',
	   '[1.0009766]'::halfvec * '[1.0009766]';
-- Overflow and underflow are errors, in any element; a product with zero is neither.
SELECT '[65504]'::halfvec + '[65504]';
SELECT '[1,-65504]'::halfvec - '[1,16]';
SELECT '[65504]'::halfvec + '[15.99]', '[65504]'::halfvec - '[65504]';
SELECT '[256]'::halfvec * '[256]';
SELECT '[1,1e-4]'::halfvec * '[1,-1e-4]';
SELECT '[6e-8]'::halfvec * '[0.51]', '[0,1e-4]'::halfvec * '[1e-4,0]';
SELECT a + b = (SELECT array_agg(3 * i)::halfvec FROM generate_series(1, 600) i) AS add,
	   b - a = a AS sub
	FROM (SELECT array_agg(i)::halfvec AS a, array_agg(2 * i)::halfvec AS b
		  FROM generate_series(1, 600) i) x;
SELECT a * b = (SELECT array_agg(2 * i * i)::halfvec FROM generate_series(1, 100) i) AS mul
	FROM (SELECT array_agg(i)::halfvec AS a, array_agg(2 * i)::halfvec AS b
		  FROM generate_series(1, 100) i) x;

-- End to end.
SELECT '[1,2,3]'::halfvec || '[4,5]', '[1]'::halfvec || NULL;
SELECT vector_dims(array_fill(1, ARRAY[15999])::halfvec || '[1]');
SELECT array_fill(1, ARRAY[16000])::halfvec || '[1]';

-- Order.
WITH v(v) AS (VALUES ('[1,2]'::halfvec), ('[1,2,3]'), ('[2]'), ('[-1,5]'), ('[1,2]'))
SELECT a.v AS a, b.v AS b, halfvec_cmp(a.v, b.v),
	   a.v < b.v AS lt, a.v <= b.v AS le, a.v = b.v AS eq, a.v <> b.v AS ne, a.v >= b.v AS ge,
	   a.v > b.v AS gt
	FROM v a, v b ORDER BY a.v, b.v;
SELECT '[0]'::halfvec = '[-0]', halfvec_cmp('[-0,1]', '[0,1]'), halfvec_cmp('[-6e-8]', '[0]'),
	   halfvec_cmp('[-2]', '[-1]'), halfvec_cmp('[6e-8]', '[1e-7]');
SELECT halfvec_cmp(a, a + d), halfvec_cmp(a + d, a), halfvec_cmp(a, a)
	FROM (SELECT array_fill(1, ARRAY[1000])::halfvec AS a,
				 (array_fill(0, ARRAY[999]) || 1)::halfvec AS d) x;

-- Sorting, DISTINCT, btree and merge joins.
CREATE TABLE sorted (id int, v halfvec);
INSERT INTO sorted VALUES (1, '[0,0,0]'), (2, '[1,2,3]'), (3, '[1,1,1]'), (4, NULL), (5, '[1,2]'),
	(6, '[1,2,3]'), (7, '[-1]');
SELECT v, count(*) FROM sorted GROUP BY v ORDER BY v DESC;
CREATE INDEX sorted_v ON sorted (v);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM sorted WHERE v = '[1,2,3]';
SELECT id FROM sorted WHERE v = '[1,2,3]' ORDER BY id;
SELECT id FROM sorted WHERE v <= '[1,1,1]' ORDER BY v, id;
SET enable_nestloop = off;
SET enable_hashjoin = off;
SET enable_material = off;
EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM sorted a JOIN sorted b ON a.v = b.v;
SELECT a.id, b.id FROM sorted a JOIN sorted b ON a.v = b.v ORDER BY 1, 2;
RESET enable_nestloop;
RESET enable_hashjoin;
RESET enable_material;
RESET enable_bitmapscan;
RESET enable_seqscan;
DROP TABLE sorted;
