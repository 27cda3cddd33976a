-- hybrid_indexes: all indexes at a glance
SET jit = off;
SET enable_seqscan = off;
SET hybrid.target_recall = 0.9;
CREATE TABLE view_item (id int, v vector(8), h halfvec(8)) WITH (autovacuum_enabled = off);
INSERT INTO view_item SELECT i, a, a FROM generate_series(1, 3000) i, LATERAL (SELECT array_agg(sin(i * (k * k + 0.7))) FROM generate_series(1, 8) k) s (a);
CREATE INDEX view_item_v ON view_item USING hybrid (v);
CREATE INDEX view_item_h ON view_item USING hybrid ((h::sparsevec(8)) sparsevec_l1_ops); -- without codes
CREATE INDEX view_item_int8 ON view_item USING hybrid (v vector_cosine_ops) WITH (storage = int8);
CREATE INDEX view_item_id ON view_item (id);
CREATE TABLE view_parted (v vector(8)) PARTITION BY RANGE (v);
CREATE TABLE view_part PARTITION OF view_parted DEFAULT;
CREATE INDEX ON view_parted USING hybrid (v);
CREATE TEMP TABLE view_temp AS SELECT * FROM view_item;
CREATE INDEX view_temp_v ON view_temp USING hybrid (v);
-- one row for each index of this access method that has entries
SELECT index, rel, method, storage, bytes = pg_relation_size(index) AS bytes, entries, dead, target_recall, measured_by, scans, last_vacuum, advice
FROM hybrid_indexes WHERE rel::text LIKE 'view\_%' ORDER BY index::text COLLATE "C";
-- the figures are those of hybrid_index_stats
SELECT index, (v.bytes, v.entries, v.dead, v.storage, v.measured_by) IS NOT DISTINCT FROM (s.bytes, s.entries, s.dead, s.storage, s.measured_by) AS same
FROM hybrid_indexes v, hybrid_index_stats(index) s WHERE rel = 'view_item'::regclass ORDER BY index::text COLLATE "C";
-- ordinary searches count, whether or not the library is preloaded
SELECT count(*) FROM (SELECT id FROM view_item ORDER BY v <-> '[1,0,0,0,0,0,0,0]' LIMIT 5) s;
SELECT count(*) FROM (SELECT id FROM view_item ORDER BY v <-> '[0,1,0,0,0,0,0,0]' LIMIT 5) s;
SELECT pg_stat_force_next_flush();
SELECT index, scans FROM hybrid_indexes WHERE rel = 'view_item'::regclass ORDER BY index::text COLLATE "C";
-- a number of lists promises nothing; an exact index keeps its promise
SET hybrid.probes = 3;
SELECT index, target_recall FROM hybrid_indexes WHERE rel = 'view_item'::regclass ORDER BY index::text COLLATE "C";
RESET hybrid.probes;

-- advice: VACUUM for dead rows
DELETE FROM view_item WHERE id % 2 = 0;
SELECT pg_stat_force_next_flush();
SELECT index, entries, dead, advice FROM hybrid_indexes WHERE index = 'view_item_v'::regclass;
VACUUM view_item;
SELECT index, entries, last_vacuum BETWEEN now() - interval '1 hour' AND clock_timestamp() AS vacuumed, advice FROM hybrid_indexes WHERE index = 'view_item_v'::regclass;
-- for new lists, if most have come from splits
CREATE TABLE view_filled (v vector(8)) WITH (autovacuum_enabled = off);
CREATE INDEX view_filled_v ON view_filled USING hybrid (v) WITH (list_size = 32);
SELECT entries, measured_by, advice FROM hybrid_indexes WHERE rel = 'view_filled'::regclass;
INSERT INTO view_filled SELECT v FROM view_temp;
SELECT entries, measured_by, advice FROM hybrid_indexes WHERE rel = 'view_filled'::regclass;
VACUUM view_filled;
SELECT entries, measured_by, advice FROM hybrid_indexes WHERE rel = 'view_filled'::regclass;
-- and for an index whose build failed
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'view_item_h'::regclass;
SELECT index, storage, entries, advice FROM hybrid_indexes WHERE rel = 'view_item'::regclass ORDER BY index::text COLLATE "C";
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'view_item_h'::regclass;

-- who may not read an index sees that it is there
CREATE ROLE regress_hybrid_watcher;
SET ROLE regress_hybrid_watcher;
SELECT index, storage, bytes > 0 AS bytes, entries, target_recall, scans, advice FROM hybrid_indexes WHERE rel = 'view_item'::regclass ORDER BY index::text COLLATE "C";
RESET ROLE;
GRANT pg_stat_scan_tables TO regress_hybrid_watcher;
SET ROLE regress_hybrid_watcher;
SELECT index, storage, entries, target_recall FROM hybrid_indexes WHERE rel = 'view_item'::regclass ORDER BY index::text COLLATE "C";
RESET ROLE;
DROP ROLE regress_hybrid_watcher;

-- \df hybrid_* shows functions to call, and no others
SELECT p.oid::regprocedure FROM pg_proc p WHERE proname LIKE 'hybrid\_%'
	AND (prorettype IN ('internal'::regtype, 'index_am_handler'::regtype) OR 'internal'::regtype = ANY (proargtypes) OR proname ~ '_(get|run)_');
DROP TABLE view_item, view_parted, view_temp, view_filled;
