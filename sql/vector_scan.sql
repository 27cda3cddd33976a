-- Distances remember what a query does not change; the bits are those of a batch all the same.

-- Rows of several kilobytes and less, in place one below the other, and out of line.
CREATE TABLE scanned (id int, wide vector(700), narrow vector(150), half halfvec(700), away vector(700));
ALTER TABLE scanned ALTER wide SET STORAGE plain, ALTER narrow SET STORAGE plain, ALTER half SET STORAGE plain;
INSERT INTO scanned SELECT id, v, subvector(v, 1, 150), v::halfvec, v FROM (
	SELECT id, (SELECT array_agg(((id * 7919 + i * 104729) % 2003 - 1001) / 512.0)
		FROM generate_series(1, 700) AS i)::vector(700) AS v FROM generate_series(1, 60) AS id) AS made;

-- The query as a constant on either side, as a parameter, and looked up; each against the batch.
CREATE FUNCTION asked(col text, operator text, metric text, OUT distances int, OUT constant_right bool,
	OUT constant_left bool, OUT parameter bool, OUT looked_up bool) LANGUAGE plpgsql AS $$
DECLARE
	type text := CASE col WHEN 'half' THEN 'halfvec' ELSE 'vector' END;
	query text;
	expected float8[];
	found float8[];
BEGIN
	EXECUTE format('SELECT %I FROM scanned WHERE id = 17', col) INTO query;
	-- halves widen exactly
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
SELECT col, operator, asked.* FROM (VALUES ('wide'), ('narrow'), ('half'), ('away')) AS c (col),
	(VALUES ('<=>', 'cosine'), ('<->', 'l2'), ('<#>', 'ip'), ('<+>', 'l1')) AS o (operator, metric),
	asked(col, operator, metric) ORDER BY col, operator;

-- An expression of PL/pgSQL is kept while its variables change, even where they are constants to it.
CREATE FUNCTION one_by_one() RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	first vector;
	other vector;
	found float8[];
	expected float8[];
BEGIN
	SELECT wide INTO first FROM scanned WHERE id = 1;
	FOR i IN 1 .. 60 LOOP
		SELECT wide INTO other FROM scanned WHERE id = i;
		found := found || (first <=> other) || (other <=> first);
		expected := expected || hybrid_distances(first, ARRAY[other], 'cosine') || hybrid_distances(other, ARRAY[first], 'cosine');
	END LOOP;
	RETURN found = expected;
END
$$;
SELECT one_by_one();

-- Pairs of which nothing stands still, and dimensions that differ under a constant.
SELECT bool_and(a.wide <=> b.wide = (hybrid_distances(a.wide, ARRAY[b.wide], 'cosine'))[1])
	FROM scanned AS a, scanned AS b WHERE (a.id * b.id) % 7 = 3;
SELECT count(wide::vector <=> '[1,2,3]') FROM scanned;

DROP FUNCTION asked, one_by_one;
DROP TABLE scanned;
