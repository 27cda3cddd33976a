-- hybrid_knn over stores and over tables of all kinds of numbers, drawn at random: never a difference
\set VERBOSITY terse
SET check_function_bodies = off;
CREATE FUNCTION by_store(q vector[], k int, metric text) RETURNS TABLE (nr bigint, query int, id tid, distance float8)
LANGUAGE sql STABLE SET enable_indexscan = on AS $$ SELECT row_number() OVER (), * FROM hybrid_knn('drawn', 'v', q, k, metric) $$;
CREATE FUNCTION by_table(q vector[], k int, metric text) RETURNS TABLE (nr bigint, query int, id tid, distance float8)
LANGUAGE sql STABLE SET enable_indexscan = off AS $$ SELECT row_number() OVER (), * FROM hybrid_knn('drawn', 'v', q, k, metric) $$;
RESET check_function_bodies;
-- a number of one of six kinds: even, whole, of all magnitudes, nearly equal, of a magnitude for each row, often zero
CREATE FUNCTION number(kind int, i int) RETURNS float8 LANGUAGE sql VOLATILE AS $$
	SELECT CASE kind WHEN 0 THEN random() WHEN 1 THEN (random() * 4)::int WHEN 2 THEN (random() - 0.5) * exp(random() * 20 - 14)
		WHEN 3 THEN 1 + random() * 1e-3 WHEN 4 THEN (random() - 0.5) * exp((i * 7919 % 40) - 32)
		ELSE CASE WHEN i % 3 = 0 THEN 0 ELSE random() - 0.5 END END $$;
CREATE FUNCTION vector_of(kind int, i int, dims int) RETURNS vector LANGUAGE sql VOLATILE AS $$
	SELECT array_agg(number(kind, i))::vector FROM generate_series(1, dims) $$;
CREATE FUNCTION rounds(many int) RETURNS TABLE (differences bigint, by_stores bool) LANGUAGE plpgsql AS $$
DECLARE
	dims int; n int; k int; kind int; metric text; storage text; q vector[]; wrong bigint; scans bigint := 0;
BEGIN
	differences := 0;
	FOR round IN 1 .. many LOOP
		dims := 1 + (random() * random() * 60)::int;
		n := 1 + (random() * random() * 400)::int;
		k := 1 + (random() * random() * random() * 300)::int;
		kind := (random() * 5)::int;
		storage := CASE WHEN random() < 0.75 THEN 'float16' ELSE 'float32' END;
		metric := (ARRAY['l2', 'ip', 'cosine', 'l1'])[1 + floor(random() * 4)::int];
		EXECUTE format('CREATE TABLE drawn (n int, v vector(%s)) WITH (fillfactor = %s, autovacuum_enabled = off)', dims, 50 + (random() * 50)::int);
		EXECUTE 'INSERT INTO drawn SELECT 0, vector_of($1, i, $2) FROM generate_series(1, $3) i' USING kind, dims, n;
		EXECUTE format('CREATE INDEX ON drawn USING hybrid (v %s) WITH (storage = %s)',
			CASE WHEN metric = 'cosine' AND random() < 0.5 THEN 'vector_cosine_ops' ELSE 'vector_l2_ops' END, storage);
		IF random() < 0.5 THEN EXECUTE 'UPDATE drawn SET n = 1 WHERE random() < 0.3'; END IF;
		IF random() < 0.5 THEN EXECUTE 'DELETE FROM drawn WHERE random() < 0.4'; END IF;
		IF random() < 0.3 THEN EXECUTE 'UPDATE drawn SET v = v + v WHERE random() < 0.2'; END IF;
		EXECUTE 'SELECT ARRAY(SELECT v FROM drawn ORDER BY random() LIMIT 6) || ARRAY(SELECT vector_of(0, i, $1) FROM generate_series(1, 3) i)' INTO q USING dims;
		PERFORM set_config('work_mem', CASE WHEN random() < 0.3 THEN '64kB' ELSE '4MB' END, true);
		SELECT count(*) INTO wrong FROM (
			(SELECT * FROM by_store(q, k, metric) EXCEPT ALL SELECT * FROM by_table(q, k, metric)) UNION ALL
			(SELECT * FROM by_table(q, k, metric) EXCEPT ALL SELECT * FROM by_store(q, k, metric))) d;
		IF wrong > 0 THEN
			RAISE WARNING 'round %: % of %, % rows of % dims, kind %, k %', round, metric, storage, n, dims, kind, k;
		END IF;
		differences := differences + wrong;
		scans := scans + (SELECT sum(pg_stat_get_xact_numscans(indexrelid)) FROM pg_index WHERE indrelid = 'drawn'::regclass);
		DROP TABLE drawn;
	END LOOP;
	by_stores := scans >= 2 * many;
	RETURN NEXT;
END $$;
SELECT setseed(0.4);
SELECT * FROM rounds(60);
DROP FUNCTION rounds, by_store, by_table, vector_of, number;
