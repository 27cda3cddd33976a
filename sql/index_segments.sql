-- Segments: the inverted lists of an index on sparse vectors. Answers are exact, with few distances computed.
SET jit = off;
SET enable_seqscan = off;

-- more rows than a segment describes; elements: a few that most rows have, others that few have; some rows have none
CREATE TABLE seg (id int, lang int, s sparsevec(5000)) WITH (autovacuum_enabled = off);
CREATE FUNCTION seg_row(i int) RETURNS sparsevec LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN i % 1000 = 0 THEN '{}/5000' ELSE format('{%s:%s,%s:%s,%s:%s,%s:%s}/5000', 1 + i % 3, 1 + i * 7 % 1009 / 1000.0,
	4 + i * 13 % 40, (i * 17 % 101 - 30) / 16.0 + 0.01, 50 + i * 29 % 700, 1 + i * 31 % 50 / 7.0, 1000 + i % 4000, i % 997 / 97.0 + 0.001) END::sparsevec $$;
INSERT INTO seg SELECT i, i % 5, seg_row(i) FROM generate_series(1, 66000) i;
CREATE INDEX seg_ip ON seg USING hybrid (s sparsevec_ip_ops) INCLUDE (lang);

-- the k nearest rows by the index, and by a sort; how many distances the index scan computed
CREATE FUNCTION seg_compare(operator text, query sparsevec, n int, condition text DEFAULT 'true', OUT equal bool, OUT few bool)
LANGUAGE plpgsql AS $$
DECLARE
	ours text;
	theirs text;
	command text := format('SELECT string_agg(d::text || '' '' || id, '','') FROM (SELECT id, s %1$s %2$L AS d FROM seg WHERE %3$s ORDER BY s %1$s %2$L, ctid LIMIT %4$s) x',
		operator, query, condition, n);
BEGIN
	PERFORM set_config('enable_sort', 'off', true), set_config('enable_indexscan', 'on', true);
	-- an order by ctid, too, would need a sort
	EXECUTE replace(command, ', ctid LIMIT', ' LIMIT') INTO ours;
	SELECT rows_rescored < 4 * n + 2000 INTO few FROM hybrid_last_scan();
	PERFORM set_config('enable_sort', 'on', true), set_config('enable_indexscan', 'off', true);
	EXECUTE command INTO theirs;
	equal := ours = theirs;
END $$;
CREATE FUNCTION seg_all(operator text) RETURNS TABLE (query text, k int, equal bool, few bool) LANGUAGE sql AS
$$ SELECT q, n, c.* FROM (VALUES ('a row', seg_row(4711)), ('one element', '{2:1}/5000'), ('a rare element', '{1234:5}/5000'),
	('of both signs', '{1:-1,5:2,77:-3,4999:1}/5000'), ('nothing in common', '{5000:1}/5000'), ('empty', '{}/5000'))
	AS q(q, s), unnest(ARRAY[10, 300]) n, seg_compare(operator, s, n) c WHERE n < 100 OR q IN ('a row', 'a rare element') ORDER BY 1, 2 $$;
SELECT * FROM seg_all('<#>');
SELECT c.* FROM seg_compare('<#>', seg_row(99), 10, 'lang = 3') c;
SELECT c.* FROM seg_compare('<#>', seg_row(99), 10, 'lang IN (1, 4)') c;
SELECT c.equal FROM seg_compare('<#>', seg_row(99), 10, 'id % 500 = 7') c;
SELECT hybrid_index_check('seg_ip');

-- rows that were inserted later, and replaced ones, in slots that are used again; then VACUUM describes them, too
INSERT INTO seg SELECT i, i % 5, seg_row(i * 3 + 1) FROM generate_series(66001, 72000) i;
DELETE FROM seg WHERE id % 10 = 3;
VACUUM seg;
SELECT bool_and(equal), bool_and(few) FROM seg_all('<#>');
INSERT INTO seg SELECT i, i % 5, seg_row(i * 5 + 2) FROM generate_series(72001, 79000) i;
UPDATE seg SET s = seg_row(id + 1) WHERE id % 50 = 1;
SELECT bool_and(equal) FROM seg_all('<#>');
SELECT hybrid_index_check('seg_ip');
VACUUM seg;
SELECT bool_and(equal), bool_and(few) FROM seg_all('<#>');
SELECT hybrid_index_check('seg_ip');
-- replaced segments leave no pages behind
UPDATE seg SET lang = lang + 1 WHERE id % 9 = 1;
VACUUM seg;
SELECT pages - list_pages - vector_pages AS before, list_pages AS lists FROM hybrid_index_stats('seg_ip') \gset
UPDATE seg SET lang = lang - 1 WHERE id % 9 = 1;
VACUUM seg;
UPDATE seg SET lang = lang + 1 WHERE id % 9 = 1;
VACUUM seg;
SELECT hybrid_index_check('seg_ip');
SELECT pages - list_pages - vector_pages < 2 * :before AS pages_used_again, list_pages <= :lists * 1.1 AS slots_used_again FROM hybrid_index_stats('seg_ip');
-- most rows gone, and all of them
DELETE FROM seg WHERE id > 2000;
VACUUM seg;
SELECT bool_and(equal), bool_and(few) FROM seg_all('<#>');
SELECT hybrid_index_check('seg_ip');
DELETE FROM seg;
VACUUM seg;
SELECT hybrid_index_check('seg_ip');
SELECT count(*) FROM (SELECT FROM seg ORDER BY s <#> '{1:1}/5000') x;

-- the other distances; little memory, so that a segment is written in several steps
DROP INDEX seg_ip;
INSERT INTO seg SELECT i, i % 5, seg_row(i) FROM generate_series(1, 30000) i;
SET maintenance_work_mem = '1MB';
CREATE INDEX seg_l2 ON seg USING hybrid (s sparsevec_l2_ops);
CREATE INDEX seg_cosine ON seg USING hybrid (s sparsevec_cosine_ops);
CREATE INDEX seg_l1 ON seg USING hybrid (s sparsevec_l1_ops);
RESET maintenance_work_mem;
SELECT i, hybrid_index_check(i::regclass) FROM unnest(ARRAY['seg_l2', 'seg_cosine', 'seg_l1']) i;
SELECT o, bool_and(equal), bool_and(few) FROM unnest(ARRAY['<->', '<+>']) o, seg_all(o) GROUP BY o ORDER BY 1;
-- an index by cosine has no rows without a direction
SELECT bool_and(equal), bool_and(few) FROM unnest(ARRAY[1, 300]) n, unnest(ARRAY[seg_row(4711), '{2:1}/5000', '{1:-1,5:2,77:-3,4999:1}/5000']) q,
	seg_compare('<=>', q, n, 'id % 1000 <> 0');
-- to the last row, in several passes
SET work_mem = '64kB';
SELECT count(*), bool_and(d >= before) FROM (SELECT d, lag(d, 1, d) OVER () AS before FROM (SELECT s <-> seg_row(5) AS d FROM seg ORDER BY s <-> seg_row(5) LIMIT 20000) x) y;
RESET work_mem;

-- values at the ends of the range: sums that overflow, and distances that are NaN
CREATE TABLE seg_ends (id int, s sparsevec(10));
INSERT INTO seg_ends SELECT i, format('{1:%s,%s:%s}/10', (ARRAY['1', '3e38', '-3e38', '1e-44', '2e19', '3.4028235e38'])[1 + i % 6], 2 + i % 9, (ARRAY['1', '3e38', '1e-40'])[1 + i % 3])::sparsevec
	FROM generate_series(1, 1500) i;
CREATE INDEX ON seg_ends USING hybrid (s sparsevec_ip_ops);
CREATE INDEX ON seg_ends USING hybrid (s sparsevec_l2_ops);
CREATE INDEX ON seg_ends USING hybrid (s sparsevec_l1_ops);
DO $$
DECLARE
	operator text;
	query text;
	ours float8[];
	theirs float8[];
BEGIN
	FOREACH operator IN ARRAY ARRAY['<#>', '<->', '<+>'] LOOP
		FOREACH query IN ARRAY ARRAY['{1:1}/10', '{1:3e38,2:-3e38}/10', '{1:1e-44,3:1}/10', '{2:1e30}/10'] LOOP
			PERFORM set_config('enable_indexscan', 'on', true);
			EXECUTE format('SELECT array_agg(d) FROM (SELECT s %1$s %2$L AS d FROM seg_ends ORDER BY s %1$s %2$L LIMIT 700) x', operator, query) INTO ours;
			PERFORM set_config('enable_indexscan', 'off', true);
			EXECUTE format('SELECT array_agg(d) FROM (SELECT s %1$s %2$L AS d FROM seg_ends ORDER BY s %1$s %2$L LIMIT 700) x', operator, query) INTO theirs;
			IF ours <> theirs THEN
				RAISE 'other distances by % from %', operator, query;
			END IF;
		END LOOP;
	END LOOP;
END $$;
SELECT i, hybrid_index_check(i::regclass) FROM unnest(ARRAY['seg_ends_s_idx', 'seg_ends_s_idx1', 'seg_ends_s_idx2']) i;

-- every second row has a distance that is NaN, and comes last, in a later pass
CREATE TABLE seg_nan (id int, s sparsevec(10));
INSERT INTO seg_nan SELECT i, (CASE WHEN i % 2 = 0 THEN '{1:1}/10' ELSE '{1:3e38,2:-3e38}/10' END)::sparsevec FROM generate_series(1, 3000) i;
CREATE INDEX ON seg_nan USING hybrid (s sparsevec_ip_ops);
SET enable_indexscan = on;
SET enable_sort = off;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM seg_nan ORDER BY s <#> '{1:3e38,2:3e38}/10' OFFSET 0) x;
RESET enable_sort;

-- the planner takes the index, although a sequential scan is allowed
RESET enable_seqscan;
ANALYZE seg;
EXPLAIN (COSTS OFF) SELECT id FROM seg ORDER BY s <-> '{1:1}/5000' LIMIT 10;

DROP TABLE seg, seg_ends, seg_nan;
DROP FUNCTION seg_all, seg_compare, seg_row;
