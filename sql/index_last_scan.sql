-- What the last scan of an index did. Counts lie in bounds: which rows are scored and read depends on the instruction set.
SET jit = off;
SET enable_seqscan = off;
CREATE TABLE item (id int, v vector(16)) WITH (autovacuum_enabled = off);
INSERT INTO item SELECT i, (SELECT array_agg(sin(i * (k * k + 0.7)) + i % 20) FROM generate_series(1, 16) k)::vector(16) FROM generate_series(1, 4000) i;
CREATE INDEX item_v ON item USING hybrid (v) WITH (list_size = 64);
ANALYZE item;
SELECT lists FROM hybrid_index_stats('item_v') \gset
\set q '''[1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0]'''

-- no scan yet: what CREATE INDEX searches for is none
SELECT count(*) FROM hybrid_last_scan();
SELECT provolatile, proparallel, proretset FROM pg_proc WHERE proname = 'hybrid_last_scan';

-- by codes
SELECT count(id) FROM (SELECT id FROM item ORDER BY v <-> :q LIMIT 10) s;
SELECT index, target_recall, probes, rounds BETWEEN 1 AND 3 AS few_rounds, lists BETWEEN 2 AND :lists / 2 AS some_lists, rows_scored BETWEEN lists AND 2000 AS some_rows,
	rows_rescored BETWEEN 10 AND rows_scored AS few_read, rows_rejected, rows_returned = 10 AS ten,
	expected_recall BETWEEN 0.95 - 1e-6 AND 1 AS expected FROM hybrid_last_scan();
-- the settings are those that it began with
BEGIN;
SET LOCAL hybrid.target_recall = 0.8;
SET LOCAL hybrid.probes = 3;
SELECT count(id) FROM (SELECT id FROM item ORDER BY v <-> :q LIMIT 10) s;
COMMIT;
SELECT target_recall, probes, lists, expected_recall FROM hybrid_last_scan();

-- all stored vectors: for a recall of 1, within a sphere, without codes
SET hybrid.target_recall = 1;
SET hybrid.probes = 3;
SELECT count(id) FROM (SELECT id FROM item ORDER BY v <-> :q LIMIT 10) s;
SELECT target_recall, probes, rounds, lists = :lists AS all_lists, rows_scored, rows_rescored, rows_rejected, rows_returned BETWEEN 10 AND 20 AS ten, expected_recall FROM hybrid_last_scan();
RESET hybrid.target_recall;
RESET hybrid.probes;
SELECT count(id) > 0 AS any FROM item WHERE v <<->> hybrid_sphere(:q, 10);
SELECT target_recall, probes, rounds, lists = :lists AS all_lists, rows_scored, rows_rescored, rows_returned BETWEEN 1 AND 3999 AS some FROM hybrid_last_scan();
CREATE INDEX item_exact ON item USING hybrid ((v::sparsevec(16)) sparsevec_l1_ops);
SELECT count(id) FROM (SELECT id FROM item ORDER BY v::sparsevec(16) <+> :q::vector::sparsevec(16) LIMIT 10) s;
SELECT index, target_recall, rounds, lists, rows_scored, rows_rescored FROM hybrid_last_scan();
-- nothing is within a radius that is not a number, and nothing is read
SELECT count(*) FROM item WHERE v <<->> hybrid_sphere(:q, 'NaN');
SELECT index, rounds, lists, rows_rescored, rows_returned FROM hybrid_last_scan();

-- a scan that a limit has ended expects less
SET hybrid.max_scan_tuples = 1;
SELECT count(id) > 0 AS some FROM (SELECT id FROM item WHERE id % 1000 = 3 ORDER BY v <-> :q LIMIT 4) s;
SELECT expected_recall < 0.95 OR expected_recall IS NULL AS less FROM hybrid_last_scan();
RESET hybrid.max_scan_tuples;

-- without a condition the first rows are found whatever the limit, also where nobody searches on (8 were)
SET hybrid.max_scan_tuples = 1;
SET hybrid.iterative_scan = off;
SELECT count(id) FROM (SELECT id FROM item ORDER BY v <-> :q LIMIT 10) s;
RESET hybrid.iterative_scan;
RESET hybrid.max_scan_tuples;

-- rows that a filter refuses before their vectors are read
SELECT count(id) FROM (SELECT id FROM item WHERE id % 100 = 3 ORDER BY v <-> :q LIMIT 10) s;
SELECT rows_rejected > 100 AS refused, rows_rescored + rows_rejected <= rows_scored AS of_those_scored, rows_returned BETWEEN 10 AND 20 AS ten FROM hybrid_last_scan();

-- a cursor that is read further searches again, and ends when it is closed
BEGIN;
DECLARE near CURSOR FOR SELECT id FROM item ORDER BY v <-> :q;
MOVE 300 FROM near;
SELECT rows_rejected > 100 AS still_the_one_before FROM hybrid_last_scan();
CLOSE near;
SELECT rounds > 1 AS more_rounds, rows_returned BETWEEN 300 AND 400 AS returned, rows_rescored >= rows_returned AS read FROM hybrid_last_scan();
COMMIT;

-- a join starts the scan again for each row, and the last of them counts
SELECT count(*) FROM (SELECT v FROM item WHERE id <= 30 ORDER BY id) q, LATERAL (SELECT id FROM item ORDER BY item.v <-> q.v LIMIT 4) n;
SELECT index, rounds BETWEEN 1 AND 3 AS few_rounds, rows_returned BETWEEN 4 AND 10 AS of_one FROM hybrid_last_scan();

-- of the indexes of partitions the one whose scan ended last
CREATE TABLE part (id int, v vector(16)) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (1000);
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (1000) TO (2000);
INSERT INTO part SELECT id, v FROM item WHERE id < 2000;
CREATE INDEX part_v ON part USING hybrid (v);
SELECT count(id) FROM (SELECT id FROM part ORDER BY v <-> :q LIMIT 10) s;
SELECT index IN ('part_1_v_idx', 'part_2_v_idx') AS of_a_partition, rows_returned BETWEEN 1 AND 20 AS its_own FROM hybrid_last_scan();

-- scans that an error ends: among the rows that a filter looks at, and among those that were returned
SELECT id FROM item WHERE 10 / (id % 50 - 7) > 5 ORDER BY v <-> :q LIMIT 100;
SELECT index, rounds, lists BETWEEN 1 AND :lists AS some_lists, rows_scored > 0 AS scored, rows_returned FROM hybrid_last_scan();
SELECT 1 / (7 - row_number() OVER ()) FROM (SELECT id FROM item ORDER BY v <-> :q LIMIT 20) s;
SELECT index, rows_rejected, rows_returned BETWEEN 7 AND 40 AS returned FROM hybrid_last_scan();
SELECT 1 / (7 - row_number() OVER ()) FROM (SELECT id FROM item ORDER BY v::sparsevec(16) <+> :q::vector::sparsevec(16) LIMIT 20) s;
SELECT index, rows_rescored, rows_returned BETWEEN 7 AND 40 AS returned FROM hybrid_last_scan();
-- one that could not begin is none
SELECT id FROM item ORDER BY v <-> '[1,2]' LIMIT 1;
SELECT index FROM hybrid_last_scan();

-- an index that was dropped
DROP INDEX item_exact;
SELECT index, rows_rescored FROM hybrid_last_scan();
-- what a worker scanned its leader has not seen; and no worker is asked
-- its name is debug_parallel_query from 16 on
SELECT set_config(name, 'on', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT rows_rescored FROM hybrid_last_scan();
SELECT set_config(name, 'off', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
-- EXPLAIN ANALYZE shows what the scans of each index have read, unless there is no summary.
CREATE FUNCTION read_from(query text, options text DEFAULT 'ANALYZE, TIMING OFF') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
		IF line LIKE 'Read from %' THEN RETURN NEXT line; END IF;
	END LOOP;
END $$;
SELECT line = (SELECT format('Read from item_v: scans=1 lists=%s scored=%s rescored=%s excluded=0 expected recall=%s', lists, rows_scored, rows_rescored, round(expected_recall::numeric, 3))
	FROM hybrid_last_scan()) AS same FROM read_from(format('SELECT id FROM item ORDER BY v <-> %L LIMIT 10', :q)) line;
SELECT regexp_replace(line, '(lists|scored|rescored|recall)=[0-9.]+', '\1=n', 'g') AS line
	FROM read_from('SELECT q.id, n.id FROM (SELECT id, v FROM item LIMIT 3) q, LATERAL (SELECT id FROM item ORDER BY item.v <-> q.v LIMIT 2) n') line;
SELECT count(*) FROM read_from(format('SELECT id FROM item ORDER BY v <-> %L LIMIT 10', :q), 'COSTS OFF');
SELECT count(*) FROM read_from(format('SELECT id FROM item ORDER BY v <-> %L LIMIT 10', :q), 'ANALYZE, TIMING OFF, SUMMARY OFF');
SELECT count(*) FROM read_from('SELECT 1', 'ANALYZE');
DROP FUNCTION read_from;
DROP TABLE item, part;

-- copies of one vector, which the rounded vectors of the index do not separate, are put in order without another batch
CREATE TABLE copies (id int, v vector(32)) WITH (autovacuum_enabled = off);
INSERT INTO copies SELECT i, (SELECT array_agg(sin((i % 250) * (k * k + 0.7)) * cos(i % 250 + k)) FROM generate_series(1, 32) k)::vector(32) FROM generate_series(1, 4000) i;
CREATE INDEX copies_v ON copies USING hybrid (v) WITH (list_size = 64);
CREATE FUNCTION nearest_copies(n int, OUT searches int, OUT sorted bool, OUT all_returned bool, OUT rounds int) LANGUAGE plpgsql AS $$
DECLARE
	q vector;
	d float8[];
	work record;
BEGIN
	searches := 0;
	sorted := true;
	all_returned := true;
	rounds := 0;
	FOR q IN SELECT c.v + (SELECT array_agg(0.01 * sin(id * k)) FROM generate_series(1, 32) k)::vector FROM copies c WHERE id <= 40 LOOP
		SELECT array_agg(s.d) INTO d FROM (SELECT v <-> q AS d FROM copies ORDER BY v <-> q LIMIT n) s;
		SELECT * INTO STRICT work FROM hybrid_last_scan();
		searches := searches + 1;
		sorted := sorted AND d = ARRAY(SELECT unnest(d) ORDER BY 1);
		all_returned := all_returned AND cardinality(d) = n;
		rounds := greatest(rounds, work.rounds);
	END LOOP;
END
$$;
SELECT n, (nearest_copies(n)).* FROM unnest(ARRAY[3, 10, 13, 40]) n;
DROP TABLE copies;
DROP FUNCTION nearest_copies;
