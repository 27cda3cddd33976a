-- A registered graph over a partitioned table: the session keeps a copy of the edges of all leaves.
SET client_min_messages = warning;
CREATE TABLE parted (id int, source int, target int, weight real, type text) PARTITION BY RANGE (id);
CREATE INDEX parted_graph ON parted USING hybrid_graph (source, target, weight, type);

-- without a leaf there are no edges
SELECT kept, edges, differences FROM hybrid_graph_check('parted_graph');

-- two levels of partitions, and a leaf with another order of columns
CREATE TABLE low PARTITION OF parted FOR VALUES FROM (0) TO (1000) WITH (fillfactor = 10);
CREATE TABLE mid PARTITION OF parted FOR VALUES FROM (1000) TO (2000) PARTITION BY HASH (source);
CREATE TABLE mid_0 PARTITION OF mid FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE mid_1 PARTITION OF mid FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE high (type text, gone int, weight real, target int, source int, id int);
ALTER TABLE high DROP COLUMN gone;
ALTER TABLE parted ATTACH PARTITION high FOR VALUES FROM (2000) TO (3000);
INSERT INTO parted SELECT i, i * 37 % 101, i * i % 97, 1 / (1 + i % 17)::real, 't' || i % 3 FROM generate_series(0, 2999) i;
VACUUM parted;

-- differences: the rows of spreading, in each direction, that a copy and an edges query do not have in common
CREATE FUNCTION differences(graph text, query text) RETURNS numeric LANGUAGE sql STABLE AS $$
	SELECT sum((SELECT count(*) FROM (
		(SELECT * FROM hybrid_spread(graph, ARRAY[1, 5], direction => d) EXCEPT ALL SELECT * FROM hybrid_spread(query, ARRAY[1, 5], direction => d))
		UNION ALL
		(SELECT * FROM hybrid_spread(query, ARRAY[1, 5], direction => d) EXCEPT ALL SELECT * FROM hybrid_spread(graph, ARRAY[1, 5], direction => d))) s))
	FROM unnest(ARRAY['out', 'in', 'both']) d
$$;
-- parted_check: whether a copy is kept, and all differences
CREATE VIEW parted_check AS SELECT kept, edges, c.differences, differences('parted_graph', 'SELECT source, target, weight, type FROM parted') AS spread
	FROM hybrid_graph_check('parted_graph') c;
TABLE parted_check;
CREATE FUNCTION typed(graph text) RETURNS SETOF text LANGUAGE sql AS $$ SELECT d::text FROM hybrid_degree(graph, types => ARRAY['t1']) d $$;
SELECT count(*) FROM (SELECT typed('parted_graph') EXCEPT ALL SELECT typed('SELECT source, target, weight, type FROM parted')) d;
SELECT count(*) FROM (SELECT typed('SELECT source, target, weight, type FROM parted') EXCEPT ALL SELECT typed('parted_graph')) d;

-- only the pages that changed are read
SELECT pages_by_map + pages_by_lsn > 50 AS unread, pages_read FROM hybrid_graph_check('parted_graph');
UPDATE parted SET weight = 3 WHERE id IN (10, 2500);
SELECT pages_by_map + pages_by_lsn > 50 AS unread, pages_read BETWEEN 2 AND 6 AS few_read, kept, differences FROM hybrid_graph_check('parted_graph');
TABLE parted_check;

-- rows that move: to another leaf of the same level, to another level, and back
UPDATE parted SET id = id + 1500 WHERE id = 20;
SELECT pages_by_map + pages_by_lsn > 50 AS unread, pages_read BETWEEN 2 AND 6 AS few_read, kept, differences FROM hybrid_graph_check('parted_graph');
UPDATE parted SET source = source + 1 WHERE id BETWEEN 1000 AND 1010;
TABLE parted_check;
UPDATE parted SET id = id + 1000 WHERE id BETWEEN 1990 AND 1995;
TABLE parted_check;
UPDATE parted SET id = id - 2000 WHERE id BETWEEN 2980 AND 2999 AND source % 2 = 0;
TABLE parted_check;

-- expressions and a predicate, which a leaf with other columns has in its own way
CREATE INDEX parted_half ON parted USING hybrid_graph (source, target, (weight::float8 / 2)) WHERE id % 4 < 3 AND id > 1500;
SELECT kept, c.differences, edges = (SELECT count(*) FROM parted WHERE id % 4 < 3 AND id > 1500) AS all_edges,
	differences('parted_half', 'SELECT source, target, weight::float8 / 2 FROM parted WHERE id % 4 < 3 AND id > 1500') AS spread FROM hybrid_graph_check('parted_half') c;
UPDATE parted SET weight = 7, id = id + 1 WHERE id IN (1600, 2700);
SELECT kept, c.differences, differences('parted_half', 'SELECT source, target, weight::float8 / 2 FROM parted WHERE id % 4 < 3 AND id > 1500') AS spread
	FROM hybrid_graph_check('parted_half') c;
-- a part of the table: its own graph
SELECT kept, edges = (SELECT count(*) FROM mid) AS all_edges, differences FROM hybrid_graph_check('mid_source_target_weight_type_idx');
SELECT kept, edges = (SELECT count(*) FROM high) AS all_edges, differences FROM hybrid_graph_check('high_source_target_weight_type_idx');

-- own changes, savepoints, ROLLBACK
BEGIN;
INSERT INTO parted VALUES (1, 7, 8, 1, 'a'), (1001, 7, 9, 1, 'a'), (2001, 7, 10, 1, 'a');
TABLE parted_check;
SAVEPOINT s;
DELETE FROM parted WHERE id % 10 = 1;
UPDATE parted SET id = id + 1000 WHERE id BETWEEN 500 AND 520;
TABLE parted_check;
ROLLBACK TO s;
TABLE parted_check;
ROLLBACK;
TABLE parted_check;
-- an older cursor beside newer statements
BEGIN;
DECLARE old CURSOR FOR SELECT kept, edges, differences FROM hybrid_graph_check('parted_graph');
UPDATE parted SET id = id + 1000 WHERE id BETWEEN 800 AND 805;
DELETE FROM parted WHERE id = 700;
TABLE parted_check;
FETCH old;
TABLE parted_check;
COMMIT;
BEGIN;
DECLARE old CURSOR FOR SELECT kept, edges, differences FROM hybrid_graph_check('parted_graph');
INSERT INTO parted SELECT 1000 + i, i, i, 1 FROM generate_series(1, 9) i;
FETCH old;
TABLE parted_check;
ROLLBACK;

-- other leaves: ATTACH, DETACH, CREATE, DROP
BEGIN;
ALTER TABLE parted DETACH PARTITION high;
TABLE parted_check;
ROLLBACK;
TABLE parted_check;
ALTER TABLE parted DETACH PARTITION high;
TABLE parted_check;
SELECT kept, edges = (SELECT count(*) FROM high) AS all_edges, differences FROM hybrid_graph_check('high_source_target_weight_type_idx');
ALTER TABLE parted ATTACH PARTITION high FOR VALUES FROM (2000) TO (3000);
TABLE parted_check;
ALTER TABLE mid DETACH PARTITION mid_1;
TABLE parted_check;
ALTER TABLE mid ATTACH PARTITION mid_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
TABLE parted_check;
-- COPY FREEZE could add rows to a leaf of this transaction
BEGIN;
CREATE TABLE more PARTITION OF parted FOR VALUES FROM (3000) TO (4000);
INSERT INTO parted VALUES (3000, 1, 5, 2, 'a');
TABLE parted_check;
COMMIT;
TABLE parted_check;
-- a row in a leaf that had no page
CREATE TABLE rest PARTITION OF parted DEFAULT;
TABLE parted_check;
INSERT INTO parted VALUES (-1, 5, 1, 2, 'a');
SELECT pages_read, kept, differences FROM hybrid_graph_check('parted_graph');
TABLE parted_check;
DROP TABLE more;
TABLE parted_check;
DELETE FROM rest;
VACUUM rest;
SELECT pg_relation_size('rest') AS size;
TABLE parted_check;
DROP TABLE rest;

-- other storage of a leaf: TRUNCATE, VACUUM FULL, a column of another type
BEGIN;
TRUNCATE mid_0;
TABLE parted_check;
ROLLBACK;
TABLE parted_check;
BEGIN;
TRUNCATE mid_1;
COMMIT;
TABLE parted_check;
VACUUM FULL low;
TABLE parted_check;
ALTER TABLE parted ALTER target TYPE bigint;
TABLE parted_check;

-- a leaf that grows until its pages have no numbers: the graph is built anew, and patched otherwise
CREATE TEMP TABLE grown (built bool, kept bool, differences bigint);
DO $$
BEGIN
	FOR i IN 1 .. 40 LOOP
		INSERT INTO low SELECT id, i, id, 1, 'g' FROM generate_series(1, 160) id;
		COMMIT;
		INSERT INTO grown SELECT pages_by_map + pages_by_lsn = 0, c.kept, c.differences FROM hybrid_graph_check('parted_graph') c;
		COMMIT;
	END LOOP;
END $$;
SELECT count(*) FILTER (WHERE built) BETWEEN 1 AND 3 AS few_built, bool_and(kept) AS kept, sum(differences) AS differences FROM grown;
TABLE parted_check;
DELETE FROM low WHERE type = 'g';
VACUUM low;
TABLE parted_check;

-- a leaf that is read by a query: its index is missing or not valid, it is unlogged, temporary or foreign
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'mid_1_source_target_weight_type_idx'::regclass;
TABLE parted_check;
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'mid_1_source_target_weight_type_idx'::regclass;
TABLE parted_check;
CREATE INDEX only_graph ON ONLY parted USING hybrid_graph (source, target);
SELECT kept, edges > 0 AS read, differences FROM hybrid_graph_check('only_graph');
CREATE INDEX only_low ON low USING hybrid_graph (source, target);
ALTER INDEX only_graph ATTACH PARTITION only_low;
CREATE INDEX only_mid ON mid USING hybrid_graph (source, target);
ALTER INDEX only_graph ATTACH PARTITION only_mid;
SELECT kept, edges > 0 AS read, differences FROM hybrid_graph_check('only_graph');
CREATE INDEX only_high ON high USING hybrid_graph (source, target);
ALTER INDEX only_graph ATTACH PARTITION only_high;
SELECT kept, edges > 0 AS read, differences FROM hybrid_graph_check('only_graph');
REINDEX INDEX CONCURRENTLY only_high;
SELECT kept, edges > 0 AS read, pages_read, differences FROM hybrid_graph_check('only_graph');
CREATE UNLOGGED TABLE unlogged PARTITION OF parted FOR VALUES FROM (3000) TO (4000);
INSERT INTO parted VALUES (3000, 1, 5, 2, 'a');
TABLE parted_check;
ALTER TABLE unlogged SET LOGGED;
TABLE parted_check;
DROP TABLE unlogged;
CREATE EXTENSION file_fdw;
CREATE SERVER program FOREIGN DATA WRAPPER file_fdw;
CREATE FOREIGN TABLE elsewhere PARTITION OF parted FOR VALUES FROM (5000) TO (6000) SERVER program OPTIONS (program 'echo 5000,1,5,2,a', format 'csv');
TABLE parted_check;
DROP EXTENSION file_fdw CASCADE;
TABLE parted_check;
CREATE TEMP TABLE temporary (source int, target int) PARTITION BY LIST (source);
CREATE INDEX temporary_graph ON temporary USING hybrid_graph (source, target);
CREATE TEMP TABLE temporary_1 PARTITION OF temporary DEFAULT;
INSERT INTO temporary VALUES (1, 2);
SELECT kept, edges, differences FROM hybrid_graph_check('temporary_graph');
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT kept, differences FROM hybrid_graph_check('parted_graph');
COMMIT;

-- a weight that is not allowed names the row of the leaf
INSERT INTO parted VALUES (2001, 50, 51, -1, 'a');
DO $$
DECLARE
	detail text;
BEGIN
	PERFORM count(*) FROM hybrid_degree('parted_graph');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RAISE WARNING '%: %', SQLERRM, replace(detail, (SELECT ctid::text FROM high WHERE weight < 0), 'as found');
END $$;
DELETE FROM parted WHERE weight < 0;
TABLE parted_check;

-- privileges and row security are those of the partitioned table, and those of leaves do not matter
CREATE ROLE partition_reader;
GRANT SELECT (source, target, weight) ON parted TO partition_reader;
GRANT SELECT ON low, mid, mid_0, mid_1, high TO partition_reader;
SET ROLE partition_reader;
SELECT count(*) FROM hybrid_degree('parted_graph');
RESET ROLE;
REVOKE SELECT ON low, mid, mid_0, mid_1, high FROM partition_reader;
GRANT SELECT (type) ON parted TO partition_reader;
ALTER TABLE low ENABLE ROW LEVEL SECURITY;
SET ROLE partition_reader;
SELECT kept, edges > 0 AS read, differences FROM hybrid_graph_check('parted_graph');
SELECT count(*) FROM hybrid_degree('low_source_target_weight_type_idx');
RESET ROLE;
-- who may not read ctid is not told
INSERT INTO parted VALUES (2001, 50, 51, -1, 'a');
SET ROLE partition_reader;
SELECT * FROM hybrid_degree('parted_graph');
RESET ROLE;
DELETE FROM parted WHERE weight < 0;
ALTER TABLE parted ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON parted FOR SELECT TO partition_reader USING (type = 't2');
SET ROLE partition_reader;
SELECT kept, edges = (SELECT count(*) FROM parted) AS only_those, edges BETWEEN 1 AND 1500 AS few, differences FROM hybrid_graph_check('parted_graph');
RESET ROLE;
TABLE parted_check;

DROP VIEW parted_check;
DROP FUNCTION differences, typed;
DROP TABLE parted, temporary;
DROP ROLE partition_reader;
