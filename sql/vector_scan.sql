-- Distances remember what a query does not change; the bits are those of a batch all the same.

-- Rows of several kilobytes and less, in place one below the other, and out of line.
CREATE TABLE scanned (id int, wide vector(700), narrow vector(150), half halfvec(700), away vector(700),
	sparse sparsevec(700), sparser sparsevec(15000));
ALTER TABLE scanned ALTER wide SET STORAGE plain, ALTER narrow SET STORAGE plain, ALTER half SET STORAGE plain,
	ALTER sparse SET STORAGE plain, ALTER sparser SET STORAGE plain;
INSERT INTO scanned SELECT id, v, subvector(v, 1, 150), v::halfvec, v,
	(SELECT '{' || string_agg(i || ':' || i % 17 + id, ',') || '}/700' FROM generate_series(1 + id % 3, 700, 5) AS i)::sparsevec,
	(SELECT '{' || string_agg(i || ':' || i % 17 + id, ',') || '}/15000' FROM generate_series(1 + id % 3, 15000, 90) AS i)::sparsevec
	FROM (
	SELECT id, (SELECT array_agg(((id * 7919 + i * 104729) % 2003 - 1001) / 512.0)
		FROM generate_series(1, 700) AS i)::vector(700) AS v FROM generate_series(1, 60) AS id) AS made;

-- The query as a constant on either side, as a parameter, and looked up; each against the batch.
CREATE FUNCTION asked(col text, operator text, metric text, OUT distances int, OUT constant_right bool,
	OUT constant_left bool, OUT parameter bool, OUT looked_up bool) LANGUAGE plpgsql AS $$
DECLARE
	type text := CASE WHEN col LIKE 'sparse%' THEN 'sparsevec' WHEN col = 'half' THEN 'halfvec' ELSE 'vector' END;
	query text;
	expected float8[];
	found float8[];
BEGIN
	EXECUTE format('SELECT %I FROM scanned WHERE id = 17', col) INTO query;
	-- halves widen exactly, and what a sparse vector lacks is zero
	EXECUTE format('SELECT hybrid_distances(%L::%s::vector, array_agg(%I::vector ORDER BY id), %L) FROM scanned',
		query, type, col, metric) INTO expected;
	distances := cardinality(expected);
	EXECUTE format('SELECT array_agg(%I %s %L::%s ORDER BY id) FROM scanned', col, operator, query, type) INTO found;
	constant_right := found = expected;
	EXECUTE format('SELECT array_agg(%L::%s %s %I ORDER BY id) FROM scanned', query, type, operator, col) INTO found;
	constant_left := found = expected;
	EXECUTE format('PREPARE search(%s) AS SELECT array_agg(%I %s $1 ORDER BY id) FROM scanned', type, col, operator);
	SET LOCAL plan_cache_mode = force_generic_plan;
	EXECUTE format('EXECUTE search(%L)', query) INTO found;
	DEALLOCATE search;
	parameter := found = expected;
	EXECUTE format('SELECT array_agg(%1$I %2$s (SELECT %1$I FROM scanned WHERE id = 17) ORDER BY id) FROM scanned',
		col, operator) INTO found;
	looked_up := found = expected;
END
$$;
SELECT col, operator, asked.* FROM (VALUES ('wide'), ('narrow'), ('half'), ('away'), ('sparse'), ('sparser')) AS c (col),
	(VALUES ('<=>', 'cosine'), ('<->', 'l2'), ('<#>', 'ip'), ('<+>', 'l1')) AS o (operator, metric),
	asked(col, operator, metric) ORDER BY col, operator;

-- An expression of PL/pgSQL is kept while its variables change, even where they are constants to it.
DO $do$
DECLARE
	col text;
BEGIN
	FOREACH col IN ARRAY '{wide,half,sparse,sparser}'::text[] LOOP
		EXECUTE replace($function$
			CREATE FUNCTION one_by_one_COL() RETURNS bool LANGUAGE plpgsql AS $$
			DECLARE
				first scanned.COL%TYPE;
				other scanned.COL%TYPE;
				found float8[];
				expected float8[];
			BEGIN
				SELECT COL INTO first FROM scanned WHERE id = 1;
				FOR i IN 1 .. 60 LOOP
					SELECT COL INTO other FROM scanned WHERE id = i;
					found := found || (first <=> other) || (other <=> first);
					expected := expected || hybrid_distances(first::vector, ARRAY[other::vector], 'cosine')
						|| hybrid_distances(other::vector, ARRAY[first::vector], 'cosine');
				END LOOP;
				RETURN found = expected;
			END
			$$ $function$, 'COL', col);
	END LOOP;
END
$do$;
SELECT one_by_one_wide(), one_by_one_half(), one_by_one_sparse(), one_by_one_sparser();

-- One that looks the same, for it lies in the same place, each time the subquery is run again.
SELECT bool_and(found = expected) FROM (
	SELECT (SELECT array_agg(r.half <=> q.half ORDER BY r.id) FROM scanned AS r) AS found,
		(SELECT hybrid_distances(q.half::vector, array_agg(r.half::vector ORDER BY r.id), 'cosine') FROM scanned AS r) AS expected
	FROM (SELECT half FROM scanned OFFSET 0) AS q) AS each;
SELECT bool_and(found = expected) FROM (
	SELECT (SELECT array_agg(r.sparse <=> q.sparse ORDER BY r.id) FROM scanned AS r) AS found,
		(SELECT hybrid_distances(q.sparse::vector, array_agg(r.sparse::vector ORDER BY r.id), 'cosine') FROM scanned AS r) AS expected
	FROM (SELECT sparse FROM scanned OFFSET 0) AS q) AS each;

-- Pairs of which nothing stands still, and dimensions that differ under a constant.
SELECT bool_and(a.wide <=> b.wide = (hybrid_distances(a.wide, ARRAY[b.wide], 'cosine'))[1])
	FROM scanned AS a, scanned AS b WHERE (a.id * b.id) % 7 = 3;
SELECT count(wide::vector <=> '[1,2,3]') FROM scanned;

DROP FUNCTION asked, one_by_one_wide, one_by_one_half, one_by_one_sparse, one_by_one_sparser;
DROP TABLE scanned;
