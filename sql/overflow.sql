-- Distances whose sums leave the range of float4: infinite, or NaN where infinities of both signs meet
-- or a vector has no angle. Rows at infinity are rows; what is said of them is the same by operators,
-- by an index and by hybrid_knn.
SET jit = off;
-- what a search by codes may leave out is not asked here
SET hybrid.target_recall = 1;

SELECT '[3e38]'::vector <-> '[-3e38]' AS l2, '[3e38]'::vector <+> '[-3e38]' AS l1, '[3e38]'::vector <#> '[3e38]' AS ip,
	   '[3e38,3e38]'::vector <#> '[3e38,-3e38]' AS neither, '[3e38]'::vector <=> '[3e38]' AS cosine,
	   '[3e38]'::vector <=> '[1]' AS longest, '[1e-30]'::vector <=> '[1]' AS shortest;
SELECT inner_product('[3e38]'::vector, '[3e38]'), inner_product('[3e38]'::vector, '[-3e38]'),
	   vector_l2_squared_distance('[3e38]', '[1]'), vector_spherical_distance('[3e38]', '[3e38]'),
	   vector_spherical_distance('[3e38]', '[-3e38]'), vector_spherical_distance('[3e38,3e38]', '[3e38,-3e38]');
-- the squares of all halves are in range
SELECT array_fill(65504, ARRAY[16000])::halfvec <-> array_fill(-65504, ARRAY[16000])::halfvec AS l2,
	   array_fill(65504, ARRAY[16000])::halfvec <=> array_fill(65504, ARRAY[16000])::halfvec AS cosine;
SELECT hybrid_distances('[3e38,1]', ARRAY['[3e38,0]', '[-3e38,1]', '[1,1]', '[0,0]']::vector[], metric)
FROM unnest(ARRAY['l2', 'ip', 'cosine', 'l1']) metric;

-- half of the rows by the build, half by inserts
CREATE TABLE item (id int, v vector(3));
CREATE FUNCTION more(which int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO item SELECT i, (ARRAY['[3e38,3e38,1]', '[-3e38,3e38,1]', '[1e20,1,1]', '[1e19,1,1]', '[1e-30,0,0]', '[0,0,0]', '[1,2,3]',
		'[-1,-2,3]', '[2e19,1,0]', '[1,1e-30,-1]'])[1 + i % 10]::vector FROM generate_series(1, 60) i WHERE i % 2 = which
$$;
SELECT more(0);
CREATE INDEX item_l2 ON item USING hybrid (v) WITH (storage = float32);
CREATE INDEX item_ip ON item USING hybrid (v vector_ip_ops) WITH (storage = float32);
CREATE INDEX item_cosine ON item USING hybrid (v vector_cosine_ops) WITH (storage = float32);
CREATE INDEX item_l1 ON item USING hybrid (v vector_l1_ops) WITH (storage = float32);
SELECT more(1);
SELECT hybrid_index_check('item_l2') AS l2, hybrid_index_check('item_ip') AS ip, hybrid_index_check('item_cosine') AS cosine,
	   hybrid_index_check('item_l1') AS l1;
-- under cosine those with an angle to others
SELECT count(*) FROM item WHERE v <=> '[1,1,1]' <> 'NaN';

-- rows and distances, in order: by a sort, by an index, by hybrid_knn; NaN comes last, from the batch not at all
CREATE FUNCTION answers(metric text, op text, query vector, OUT rows bigint, OUT infinite bigint, OUT neither bigint,
	OUT by_index bool, OUT by_knn bool) LANGUAGE plpgsql AS $$
DECLARE
	statement text := format('SELECT array_agg((id, d)::text) FROM (SELECT id, v %1$s %2$L::vector AS d FROM item
		WHERE %1$L <> ''<=>'' OR v <=> ''[1,1,1]'' <> ''NaN'' ORDER BY v %1$s %2$L::vector', op, query);
	sorted text[];
	other text[];
BEGIN
	EXECUTE format('SELECT count(*), count(*) FILTER (WHERE abs(d) = ''Infinity''), count(*) FILTER (WHERE d = ''NaN'') FROM
		(SELECT v %s %L::vector AS d FROM item) s', op, query) INTO rows, infinite, neither;
	PERFORM set_config('enable_indexscan', 'off', true);
	EXECUTE statement || ', ctid) s' INTO sorted;
	PERFORM set_config('enable_indexscan', 'on', true), set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true);
	EXECUTE statement || ') s' INTO other;
	by_index := sorted = other;
	EXECUTE 'SELECT array_agg((item.id, k.distance)::text ORDER BY k.distance, k.tid) FROM hybrid_knn(''item'', ''v'', ARRAY[$1], 100, $2) k
		JOIN item ON item.ctid = k.tid' INTO other USING query, metric;
	SELECT array_agg(s ORDER BY n) INTO sorted FROM unnest(sorted) WITH ORDINALITY t(s, n) WHERE s !~ 'NaN';
	by_knn := sorted IS NOT DISTINCT FROM other;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_sort', 'on', true);
END $$;
EXPLAIN (COSTS OFF) SELECT id FROM item ORDER BY v <-> '[1,1,1]' LIMIT 1;
SELECT m.*, q.*, a.* FROM (VALUES ('l2', '<->'), ('ip', '<#>'), ('cosine', '<=>'), ('l1', '<+>')) m(metric, op),
	unnest(ARRAY['[1,2,3]', '[3e38,-3e38,0]', '[1e19,1e19,1e19]', '[1e-30,0,0]', '[0,0,0]']::vector[]) q, answers(m.metric, m.op, q) a;

-- rounded vectors: an inner product may overflow where that of the rounded vector does not
TRUNCATE item;
DROP INDEX item_l2, item_ip, item_cosine, item_l1;
INSERT INTO item SELECT i, ARRAY[1 + i * 1e-4, 0, -i * 1e-3]::vector FROM generate_series(-10, 10) i;
CREATE INDEX item_l2 ON item USING hybrid (v) WITH (storage = float16);
CREATE INDEX item_ip ON item USING hybrid (v vector_ip_ops) WITH (storage = float16);
CREATE INDEX item_cosine ON item USING hybrid (v vector_cosine_ops) WITH (storage = float16);
CREATE INDEX item_l1 ON item USING hybrid (v vector_l1_ops) WITH (storage = float16);
SELECT count(*) AS infinite, count(*) FILTER (WHERE subvector(v, 1, 1)::halfvec(1) = '[1]') AS rounded_in_range
FROM item WHERE v <#> '[3.402e38,0,0]' = '-Infinity';
SELECT m.metric, q.*, a.rows, a.infinite, a.neither, a.by_knn FROM (VALUES ('l2', '<->'), ('ip', '<#>'), ('cosine', '<=>'), ('l1', '<+>')) m(metric, op),
	unnest(ARRAY['[3.402e38,0,0]', '[3.402e38,0,3.402e38]', '[1.8446743e19,0,0]', '[1e-25,0,0]']::vector[]) q, answers(m.metric, m.op, q) a;
SET enable_seqscan = off;
SELECT op, q, count(*), bool_and(d >= before) AS ascend FROM (
	SELECT '<#>' AS op, q, v <#> q AS d, lag(v <#> q, 1, '-Infinity') OVER (PARTITION BY q) AS before
	FROM unnest(ARRAY['[3.402e38,0,0]', '[3.402e38,0,3.402e38]']::vector[]) q, LATERAL (SELECT v FROM item ORDER BY v <#> q) n) s GROUP BY 1, 2;
RESET enable_seqscan;
DROP TABLE item;
DROP FUNCTION more, answers;
