-- Keys before the vector in trees of several levels: an index that grew by inserts keeps its keys together, in splits and merges
-- of inner lists, too.
SET jit = off;
SET client_min_messages = warning;
CREATE TABLE note (id serial, name text, n int, v vector(8)) WITH (autovacuum_enabled = off);
CREATE INDEX note_name ON note USING hybrid (name, v) WITH (list_size = 32);
CREATE INDEX note_n ON note USING hybrid (n, v vector_ip_ops) WITH (list_size = 32);
-- keys of 1 to about 2,000 rows
CREATE FUNCTION add_note(first int, last int) RETURNS void LANGUAGE sql AS $$
INSERT INTO note (name, n, v) SELECT 'note ' || x, x, (SELECT array_agg(sin(i * (d + 0.7) * 1.13) + i % 13 ORDER BY d) FROM generate_series(1, 8) d WHERE i > 0)::vector
FROM (SELECT i, floor(exp((i * 7919::bigint % 10007) / 10007.0 * 7))::int - 1 AS x FROM generate_series(first, last) i) s $$;
-- the keys whose rows are not all found, and the rows of other keys that a search for the rows of the smallest key reads
CREATE FUNCTION wrong(OUT by_name int, OUT by_n int, OUT few_others bool) LANGUAGE plpgsql AS $$
DECLARE
	q text := quote_literal(array_fill(2, ARRAY[8])::vector);
	r record;
	c bigint;
BEGIN
	by_name := 0;
	by_n := 0;
	SET LOCAL enable_seqscan = off;
	FOR r IN SELECT name, n, count(*) AS c FROM note GROUP BY 1, 2 ORDER BY 3 DESC LOOP
		EXECUTE format('SELECT count(*) FROM (SELECT id FROM note WHERE name = %L ORDER BY v <-> %s LIMIT 1000000) s', r.name, q) INTO c;
		by_name := by_name + (c <> r.c)::int;
		EXECUTE format('SELECT count(*) FROM (SELECT id FROM note WHERE n = %L ORDER BY v <#> %s LIMIT 1000000) s', r.n, q) INTO c;
		by_n := by_n + (c <> r.c)::int;
	END LOOP;
	few_others := rows_excluded <= 64 FROM hybrid_last_scan();
END $$;
SELECT add_note(1, 20000);
SELECT hybrid_index_check('note_name'), hybrid_index_check('note_n');
SELECT a.levels, b.levels FROM hybrid_index_stats('note_name') a, hybrid_index_stats('note_n') b;
SELECT * FROM wrong();
-- merges of leaves and of inner lists
DELETE FROM note WHERE id % 4 <> 0 AND n > 3;
VACUUM note;
SELECT hybrid_index_check('note_name'), hybrid_index_check('note_n');
SELECT * FROM wrong();
-- whole keys go, others come
DELETE FROM note WHERE n BETWEEN 2 AND 500;
VACUUM note;
SELECT a.levels < 3 AS lower, b.levels < 3 AS lower FROM hybrid_index_stats('note_name') a, hybrid_index_stats('note_n') b;
SELECT hybrid_index_check('note_name'), hybrid_index_check('note_n');
SELECT * FROM wrong();
SELECT add_note(20001, 40000);
SELECT hybrid_index_check('note_name'), hybrid_index_check('note_n');
SELECT * FROM wrong();
-- new lists for all rows
VACUUM note;
SELECT hybrid_index_check('note_name'), hybrid_index_check('note_n');
SELECT * FROM wrong();
DROP TABLE note;
DROP FUNCTION add_note, wrong;
