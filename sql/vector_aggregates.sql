-- avg and sum.

CREATE TABLE summed (id int, g int, v vector);
INSERT INTO summed VALUES (1, 1, '[1,2,3]'), (2, 1, '[3,5,7]'), (3, 2, NULL), (4, 3, '[-1,0,1]'),
	(5, 3, NULL), (6, 3, '[1,1,1]'), (7, 3, '[0,5,-2]');
SELECT avg(v), sum(v) FROM summed WHERE g = 1;
SELECT g, avg(v), sum(v), count(v) FROM summed GROUP BY g ORDER BY g;
SELECT avg(v), sum(v) FROM summed WHERE false;
SELECT avg(v), sum(v) FROM summed WHERE v IS NULL;
SELECT avg(DISTINCT v), sum(v) FILTER (WHERE id < 3) FROM summed WHERE g = 1;

-- As window functions, where a state is looked at more than once.
SELECT id, sum(v) OVER (ORDER BY id), avg(v) OVER (ORDER BY id ROWS 1 PRECEDING),
	   sum(v) OVER (PARTITION BY g ORDER BY id)
	FROM summed ORDER BY id;
-- Two aggregates over one input share a state or not, and do not disturb each other.
SELECT sum(v), avg(v), sum(v) FROM summed;
DROP TABLE summed;

-- Other dimensions.
SELECT avg(v) FROM unnest(ARRAY['[1,2]'::vector, '[3]']) v;
SELECT sum(v) FROM unnest(ARRAY['[1,2]'::vector, '[3]']) v;

-- Sums are fp64: what is small beside a large sum is not lost, order does not matter, and only a
-- result that does not fit is an overflow.
SELECT sum(v) FROM unnest(ARRAY['[1e8]'::vector, '[1]', '[-1e8]']) v;
SELECT sum(v) FROM unnest(ARRAY['[3e38]'::vector, '[3e38]', '[-3e38]']) v;
SELECT sum(v) FROM unnest(ARRAY['[3e38]'::vector, '[3e38]']) v;
SELECT sum(v) FROM unnest(ARRAY['[1,-3e38]'::vector, '[1,-3e38]']) v;
SELECT avg(v) FROM unnest(ARRAY['[3e38]'::vector, '[3e38]']) v;

-- In parallel; integers, so every order gives the same.
CREATE TABLE many AS
	SELECT i, ARRAY[i, -i, i % 7]::vector AS v FROM generate_series(1, 10000) i;
ALTER TABLE many SET (parallel_workers = 2);
ANALYZE many;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT avg(v), sum(v) FROM many;
SELECT avg(v), sum(v) FROM many;
SELECT sum(v) = ARRAY[sum(i), -sum(i), sum(i % 7)]::numeric[]::vector AS right FROM many;
SELECT avg(v), sum(v) FROM many WHERE i < 0;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
DROP TABLE many;

-- The parts, called with states of any kind.
SELECT vector_accum('{0}', '[1,2,3]'), vector_accum('{1,10,20}', '[1,2]');
SELECT vector_accum('{0,0}', '[1,2]');
SELECT vector_sum_accum('{1,10,20}', '[1,2]');
SELECT vector_sum_accum('{0,0}', '[1,2]');
SELECT vector_accum('{1,1e308}', '[1]');
SELECT vector_accum('{}', '[1]');
SELECT vector_accum('{{0}}', '[1]');
SELECT vector_accum('{NULL}', '[1]');
SELECT vector_combine('{1,2,3}', '{2,10,20}'), vector_combine('{0}', '{1,2}'),
	   vector_combine('{1,2}', '{0}'), vector_combine('{0}', '{0}');
SELECT vector_combine('{1,2}', '{1,2,3}');
SELECT vector_combine('{1,1e308}', '{1,1e308}');
SELECT vector_combine('{}', '{0}');
SELECT vector_combine('{0}', '{{1,2}}');
SELECT vector_combine('{1,NULL}', '{0}');
SELECT vector_combine('{0}', array_fill(1::float8, ARRAY[16002]));
SELECT vector_avg('{2,2,4,6}'), vector_avg('{0}'), vector_avg('{0,1}');
SELECT vector_avg('{1}');
SELECT vector_avg('{}');
SELECT vector_avg('{NULL,1}');
SELECT vector_avg('{{1,2}}');
SELECT vector_avg('{1,NaN}');
SELECT vector_avg('{1,1e39}');
SELECT vector_avg('{NaN,1}');
SELECT vector_avg(array_fill(1::float8, ARRAY[16002]));
SELECT vector_sum('{2,2,4,6}'), vector_sum('{0}');
SELECT vector_sum('{1}');
SELECT vector_sum('{}');
SELECT vector_sum('{1,NaN}');
SELECT vector_sum('{1,1e39}');
SELECT vector_sum(array_fill(1::float8, ARRAY[16002]));

-- Outside of an aggregate the state is someone else's: here, in the page of a table.
CREATE TABLE states (s float8[]);
INSERT INTO states VALUES (array_fill(1::float8, ARRAY[41]));
SELECT (vector_accum(s, array_fill(1, ARRAY[40])::vector))[1:3] AS accum,
	   (vector_sum_accum(s, array_fill(1, ARRAY[40])::vector))[1:3] AS sum_accum,
	   (vector_combine(s, s))[1:3] AS combine
	FROM states;
SELECT s = array_fill(1::float8, ARRAY[41]) AS unchanged FROM states;
DROP TABLE states;
