-- avg and sum.

CREATE TABLE summed (id int, g int, v halfvec);
INSERT INTO summed VALUES (1, 1, '[1,2,3]'), (2, 1, '[3,5,7]'), (3, 2, NULL), (4, 3, '[-1,0,1]'),
	(5, 3, NULL), (6, 3, '[1,1,1]'), (7, 3, '[0,5,-2]');
SELECT g, avg(v), sum(v), count(v), pg_typeof(avg(v)) FROM summed GROUP BY g ORDER BY g;
SELECT avg(v), sum(v) FROM summed WHERE false;
SELECT id, sum(v) OVER (ORDER BY id), avg(v) OVER (ORDER BY id ROWS 1 PRECEDING) FROM summed ORDER BY id;
DROP TABLE summed;
SELECT avg(v) FROM unnest(ARRAY['[1,2]'::halfvec, '[3]']) v;
SELECT sum(v) FROM unnest(ARRAY['[1,2]'::halfvec, '[3]']) v;

-- Sums are fp64, rounded at the end; only a result that does not fit is an overflow.
SELECT sum(v) FROM unnest(ARRAY['[2048]'::halfvec, '[0.5]', '[0.5]', '[1]']) v;
SELECT sum(v) FROM unnest(ARRAY['[65504]'::halfvec, '[65504]', '[-65504]']) v;
SELECT sum(v) FROM unnest(ARRAY['[65504]'::halfvec, '[65504]']) v;
SELECT avg(v) FROM unnest(ARRAY['[65504]'::halfvec, '[65504]']) v;

-- In parallel; integers, so every order gives the same.
CREATE TABLE many AS
	SELECT i, ARRAY[i % 3 - 1, i % 7]::halfvec AS v FROM generate_series(1, 10000) i;
ALTER TABLE many SET (parallel_workers = 2);
ANALYZE many;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT avg(v), sum(v) FROM many;
SELECT sum(v) = ARRAY[sum(i % 3 - 1), sum(i % 7)]::numeric[]::halfvec AS sum,
	   avg(v) = ARRAY[avg(i % 3 - 1), avg(i % 7)]::numeric[]::halfvec AS avg
	FROM many;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
DROP TABLE many;

-- The parts, called with states of any kind.
SELECT halfvec_accum('{0}', '[1,2,3]'), halfvec_accum('{1,10,20}', '[1,2]');
SELECT halfvec_accum('{0,0}', '[1,2]');
SELECT halfvec_sum_accum('{0,0}', '[1,2]');
SELECT halfvec_accum('{{0}}', '[1]');
SELECT halfvec_sum_accum('{NULL}', '[1]');
SELECT halfvec_combine('{1,2,3}', '{2,10,20}'), halfvec_combine('{0}', '{1,2}');
SELECT halfvec_combine('{1,2}', '{1,2,3}');
SELECT halfvec_combine('{}', '{0}');
SELECT halfvec_combine('{0}', array_fill(1::float8, ARRAY[16002]));
SELECT halfvec_avg('{2,2,4,6}'), halfvec_avg('{0}'), halfvec_avg('{0,1}');
SELECT halfvec_avg('{1}');
SELECT halfvec_avg('{}');
SELECT halfvec_avg('{1,65520}');
SELECT halfvec_avg('{1,1e39}');
SELECT halfvec_avg('{1,NaN}');
SELECT halfvec_sum('{2,2,4,6}'), halfvec_sum('{0}'), halfvec_sum('{1,65519}');
SELECT halfvec_sum('{1,65520}');
SELECT halfvec_sum('{1,NaN}');
SELECT halfvec_sum('{{1,2}}');
