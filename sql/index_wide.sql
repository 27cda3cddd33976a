-- From one dimension to 16,000: hundreds of vectors a page, one vector on eight pages.
-- plans that are forced look expensive, and compiling them would take longer than they do
SET jit = off;
-- what a search by codes may leave out is not asked here
SET hybrid.target_recall = 1;

CREATE FUNCTION wide(i int, dims int) RETURNS vector LANGUAGE sql IMMUTABLE AS
$$ SELECT array_agg(((i * j) % 23 + (i % 5) + 1) / 4.0 ORDER BY j)::real[]::vector FROM generate_series(1, dims) j $$;

CREATE FUNCTION try(dims int, n int, storage text) RETURNS TABLE (checked bigint, wrong bigint)
LANGUAGE plpgsql AS $$
DECLARE
	op text;
	errors bigint;
BEGIN
	EXECUTE format('CREATE TABLE t (id int, v vector(%s))', dims);
	-- half of them by the build, half by inserts
	EXECUTE format('INSERT INTO t SELECT i, wide(i, %s) FROM generate_series(1, %s, 2) i', dims, n);
	EXECUTE format('CREATE INDEX t_v ON t USING hybrid (v) WITH (storage = %s)', storage);
	EXECUTE format('CREATE INDEX t_ip ON t USING hybrid (v vector_ip_ops) WITH (storage = %s)', storage);
	EXECUTE format('CREATE INDEX t_cosine ON t USING hybrid (v vector_cosine_ops) WITH (storage = %s)', storage);
	EXECUTE format('INSERT INTO t SELECT i, wide(i, %s) FROM generate_series(2, %s, 2) i', dims, n);
	SELECT count(DISTINCT hybrid_index_check(i)) * 1000000 + min(hybrid_index_check(i)) - 1000000 INTO checked
	FROM unnest(ARRAY['t_v', 't_ip', 't_cosine']::regclass[]) i;
	wrong := 0;
	FOREACH op IN ARRAY ARRAY['<->', '<#>', '<=>'] LOOP
		PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true);
		EXECUTE format('CREATE TEMP TABLE ours AS SELECT row_number() OVER () AS r, d FROM
			(SELECT v %1$s wide(7, %2$s) AS d FROM t ORDER BY v %1$s wide(7, %2$s)) s', op, dims);
		PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true);
		EXECUTE format('CREATE TEMP TABLE theirs AS SELECT row_number() OVER () AS r, d FROM
			(SELECT v %1$s wide(7, %2$s) AS d FROM t ORDER BY v %1$s wide(7, %2$s)) s', op, dims);
		SELECT count(*) INTO errors FROM ours FULL JOIN theirs USING (r) WHERE ours.d IS DISTINCT FROM theirs.d;
		wrong := wrong + errors;
		DROP TABLE ours, theirs;
	END LOOP;
	DROP TABLE t;
	RETURN NEXT;
END $$;

SELECT dims, storage, t.* FROM
	(VALUES (1, 1000), (2, 1000), (3, 1000), (64, 300), (509, 20), (1018, 20), (1019, 20), (2036, 12), (2037, 12), (3000, 12), (4077, 8), (16000, 6)) d(dims, n),
	unnest(ARRAY['float32', 'float16']) storage, try(dims, n, storage) t;

DROP FUNCTION wide, try;
