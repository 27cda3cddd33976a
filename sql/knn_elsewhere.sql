-- relations whose rows lie elsewhere: tables that Citus manages (by a stand-in for its catalog), foreign tables; and views
-- over several tables
SET client_min_messages = warning;
CREATE EXTENSION postgres_fdw;
DO $$ BEGIN
	EXECUTE format('CREATE SERVER regress_far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname %L, host %L, port %L)',
		current_database(), split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'));
END $$;
RESET client_min_messages;
CREATE USER MAPPING FOR CURRENT_USER SERVER regress_far;
\set one 'ARRAY[''[3,1]'']::vector[]'

CREATE TABLE doc (id int, v vector(2));
INSERT INTO doc SELECT i, ARRAY[i, 1]::vector FROM generate_series(1, 100) i;
CREATE INDEX doc_v ON doc USING hybrid (v);
CREATE TABLE shard AS SELECT * FROM doc;
CREATE INDEX shard_v ON shard USING hybrid (v);
CREATE TABLE parted (id int, v vector(2)) PARTITION BY RANGE (id);
CREATE TABLE "Low" PARTITION OF parted FOR VALUES FROM (0) TO (50);
CREATE TABLE high PARTITION OF parted FOR VALUES FROM (50) TO (101);
INSERT INTO parted SELECT * FROM doc;
CREATE INDEX parted_v ON parted USING hybrid (v);
CREATE VIEW shown AS SELECT ctid, id, v FROM doc;
CREATE VIEW nested AS WITH few AS (SELECT * FROM shown WHERE id < 50) SELECT * FROM few;
CREATE VIEW beside AS SELECT ctid, id, v FROM shard WHERE id IN (SELECT id FROM doc WHERE id < 10);
CREATE MATERIALIZED VIEW copy AS SELECT * FROM doc;

-- what each relation gives: the number of rows, or the error
CREATE FUNCTION says(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
	state text;
	message text;
	hint text;
BEGIN
	EXECUTE call INTO answer;
	RETURN answer;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' ', state, message, '| ' || nullif(hint, ''));
END $$;
CREATE VIEW found AS
SELECT rel, says(format('SELECT count(*) FROM hybrid_knn(%L, ''v'', %L::vector[], 200)', rel, ARRAY['[3,1]'])) AS knn
FROM unnest('{doc,shard,parted,"\"Low\"",high,shown,nested,beside,copy}'::text[]) rel;

-- without the catalog of Citus
TABLE found;

-- with a catalog that lists no table; then by a scan of it, and by its index
SET allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition (partmethod "char", logicalrelid regclass);
TABLE found;
INSERT INTO pg_dist_partition VALUES ('h', 'doc');
TABLE found;
INSERT INTO pg_dist_partition SELECT 'h', oid FROM pg_class WHERE relname LIKE 'regress_none%' OR relkind = 'S' OR oid = '"Low"'::regclass;
CREATE UNIQUE INDEX pg_dist_partition_logical_relid_index ON pg_catalog.pg_dist_partition (logicalrelid);
TABLE found;
-- a partitioned table is refused if it is listed, or a partition is
UPDATE pg_dist_partition SET logicalrelid = 'parted' WHERE logicalrelid = '"Low"'::regclass;
SELECT * FROM found WHERE rel IN ('parted', '"Low"', 'high');
-- either side of a join, and a graph
SELECT says('SELECT count(*) FROM hybrid_knn_join(''shard'', ''v'', ''doc'', ''v'', 2)');
SELECT says('SELECT count(*) FROM hybrid_knn_join(''nested'', ''v'', ''shard'', ''v'', 2)');
SELECT says('SELECT count(*) FROM hybrid_knn_join(''shard'', ''v'', ''copy'', ''v'', 2)');
SELECT says('SELECT count(*) FROM hybrid_knn_graph(''shown'', ''id'', ''v'', 2)');
SELECT says('SELECT count(*) FROM hybrid_knn_graph(''shard'', ''id'', ''v'', 2)');
-- functions of an index; the index can be made, because Citus makes one for each shard besides
SELECT says('SELECT entries FROM hybrid_index_stats(''doc_v'')');
SELECT says('SELECT count(*) FROM hybrid_index_curve(''doc_v'')');
SELECT says('SELECT hybrid_index_check(''doc_v'')');
SELECT says('SELECT count(*) FROM hybrid_index_measure(''doc_v'', ''{"[3,1]"}'')');
SELECT says('SELECT count(*) FROM hybrid_index_measure(''doc_v'', ''{"[3,1]"}'', keep => true)');
SELECT says('SELECT hybrid_index_check(''parted_v'')');
SELECT says('SELECT entries FROM hybrid_index_stats(''shard_v'')');
SELECT says('SELECT hybrid_index_check(''shard_v'')');
CREATE INDEX doc_v2 ON doc USING hybrid (v vector_cosine_ops);
REINDEX INDEX doc_v;
VACUUM doc;
-- no copy of the rows is kept of a registered graph on such a table; a query reads them
CREATE TABLE link AS SELECT id AS source, id % 7 + 1 AS target FROM doc;
CREATE INDEX links ON link USING hybrid_graph (source, target);
SELECT kept, edges FROM hybrid_graph_check('links');
INSERT INTO pg_dist_partition VALUES ('n', 'link');
SELECT kept, edges FROM hybrid_graph_check('links');
SELECT count(*), sum(activation) FROM hybrid_spread('links', ARRAY[9]);
DELETE FROM pg_dist_partition WHERE logicalrelid = 'link'::regclass;
SELECT count(*), sum(activation) FROM hybrid_spread('links', ARRAY[9]);
SELECT kept, edges FROM hybrid_graph_check('links');
DROP TABLE link;
-- whoever calls: a role that may not read the catalog is told as well
CREATE ROLE regress_hybrid_reader;
GRANT SELECT ON doc, shown TO regress_hybrid_reader;
SET ROLE regress_hybrid_reader;
SELECT says('SELECT count(*) FROM hybrid_knn(''doc'', ''v'', ''{"[3,1]"}'')');
SELECT says('SELECT count(*) FROM hybrid_knn(''shown'', ''v'', ''{"[3,1]"}'')');
RESET ROLE;
-- the catalog comes and goes; a table or view of that name that is none
DELETE FROM pg_dist_partition WHERE logicalrelid = 'doc'::regclass;
SELECT * FROM found WHERE rel IN ('doc', 'shown');
INSERT INTO pg_dist_partition VALUES ('h', 'doc');
SELECT * FROM found WHERE rel IN ('doc', 'shown');
BEGIN;
DROP TABLE pg_catalog.pg_dist_partition;
SELECT * FROM found WHERE rel IN ('doc', 'shown');
ROLLBACK;
SELECT * FROM found WHERE rel IN ('doc', 'shown');
ALTER TABLE pg_catalog.pg_dist_partition RENAME COLUMN logicalrelid TO other;
SELECT * FROM found WHERE rel = 'doc';
DROP TABLE pg_catalog.pg_dist_partition;
CREATE VIEW pg_catalog.pg_dist_partition AS SELECT 'doc'::regclass AS logicalrelid;
SELECT * FROM found WHERE rel = 'doc';
DROP VIEW pg_catalog.pg_dist_partition;
CREATE TABLE public.pg_dist_partition AS SELECT 'doc'::regclass AS logicalrelid;
SELECT * FROM found WHERE rel = 'doc';
DROP TABLE public.pg_dist_partition;
RESET allow_system_table_mods;

-- views whose ctids come from several tables, and such as do not
CREATE TABLE second AS SELECT id + 100 AS id, v FROM doc;
CREATE TABLE parent AS SELECT * FROM doc;
CREATE TABLE child () INHERITS (parent);
CREATE TABLE former AS SELECT * FROM doc;
CREATE TABLE adopted () INHERITS (former);
ALTER TABLE adopted NO INHERIT former;
CREATE VIEW v_union AS SELECT ctid, v FROM doc UNION ALL SELECT ctid, v FROM second;
CREATE VIEW v_deep AS SELECT * FROM (SELECT s.v, s.ctid FROM (SELECT v, ctid FROM shown UNION SELECT v, ctid FROM copy UNION ALL SELECT v, ctid FROM doc) s) t WHERE v <-> '[0,0]' < 10;
CREATE VIEW v_with AS WITH both_of AS (SELECT ctid, v FROM doc UNION ALL SELECT ctid, v FROM second) SELECT * FROM both_of;
CREATE VIEW v_parted AS SELECT ctid, v FROM parted;
CREATE VIEW v_parent AS SELECT ctid, v FROM parent;
CREATE VIEW v_view AS SELECT ctid, v FROM v_parent;
CREATE VIEW v_only AS SELECT ctid, v FROM ONLY parent;
CREATE VIEW v_former AS SELECT ctid, v FROM former;
CREATE VIEW v_halves AS SELECT ctid, v FROM doc WHERE id < 50 UNION ALL SELECT ctid, v FROM doc WHERE id > 50;
CREATE VIEW v_except AS SELECT ctid, v FROM doc EXCEPT ALL SELECT ctid, v FROM parent WHERE id > 20;
CREATE VIEW v_join AS SELECT second.ctid, doc.v FROM second JOIN doc ON second.id = doc.id + 100;
CREATE VIEW v_lateral AS SELECT l.ctid, doc.v FROM doc, LATERAL (SELECT doc.ctid) l;
CREATE VIEW v_made AS SELECT ('(0,' || id || ')')::tid AS ctid, v FROM doc UNION ALL SELECT ('(1,' || id || ')')::tid, v FROM second;
CREATE VIEW v_recursive AS WITH RECURSIVE r AS (SELECT ctid, v, 1 AS i FROM doc WHERE id = 1 UNION ALL SELECT ctid, v, i + 1 FROM r WHERE i < 3) SELECT * FROM r;
SELECT rel, says(format('SELECT count(*) FROM hybrid_knn(%L, ''v'', %L::vector[], 1000)', rel, ARRAY['[3,1]'])) AS knn
FROM unnest('{v_union,v_deep,v_with,v_parted,v_parent,v_view,v_only,v_former,v_halves,v_except,v_join,v_lateral,v_made,v_recursive}'::text[]) rel;
SELECT * FROM hybrid_knn('v_union', 'v', :one);
SELECT * FROM hybrid_knn('v_parted', 'v', :one);
-- views that read each other
CREATE VIEW loop_a AS SELECT '(0,1)'::tid AS ctid, '[1,2]'::vector AS v;
CREATE VIEW loop_b AS SELECT * FROM loop_a;
CREATE OR REPLACE VIEW loop_a AS SELECT ctid, v FROM loop_b;
SELECT count(*) FROM hybrid_knn('loop_a', 'v', :one);

-- foreign tables: a notice where many rows are fetched, by estimate or, where there is none, by count
CREATE TABLE there (id int, v vector(2));
INSERT INTO there SELECT i, ARRAY[i % 1000, i / 1000]::vector FROM generate_series(0, 99998) i;
CREATE FOREIGN TABLE away (id int, "V" vector(2) OPTIONS (column_name 'v')) SERVER regress_far OPTIONS (table_name 'there', fetch_size '10000');
CREATE VIEW v_away AS SELECT ctid, id, "V" FROM away;
CREATE VIEW v_few AS SELECT ctid, id, "V" FROM away WHERE id < 1000;
CREATE VIEW v_deeper AS WITH w AS MATERIALIZED (SELECT ctid, "V" FROM away) SELECT * FROM (SELECT ctid, v AS "V" FROM doc UNION ALL (SELECT '(7,1)', "V" FROM w ORDER BY "V" LIMIT 3)) s;
SELECT * FROM hybrid_knn('away', 'V', :one, 2);
INSERT INTO there VALUES (99999, '[0,99]');
SELECT * FROM hybrid_knn('away', 'V', :one, 2);
SELECT count(*) FROM hybrid_knn('v_away', 'V', :one, 2);
SELECT count(*) FROM hybrid_knn('v_few', 'V', :one, 2);
ANALYZE away;
SELECT count(*) FROM hybrid_knn('v_away', 'V', :one, 2);
SELECT count(*) FROM hybrid_knn('v_few', 'V', :one, 2);
SELECT count(*) FROM hybrid_knn('v_deeper', 'V', :one, 200);
-- once for each relation, however often it is read
SET work_mem = '64kB';
SELECT count(*) FROM hybrid_knn('away', 'V', ARRAY['[3,1]', '[4,1]']::vector[], 900);
RESET work_mem;
SELECT count(*) FROM hybrid_knn_join('doc', 'v', 'away', 'V', 2);
DELETE FROM second WHERE id <> 101;
SELECT count(*) FROM hybrid_knn_join('away', 'V', 'second', 'v', 1);
SELECT count(*) FROM hybrid_knn_graph('v_few', 'id', 'V', 2);
-- not where nothing is searched
SELECT count(*) FROM hybrid_knn('away', 'V', '{}', 2);
-- the form that the hint names; the foreign server applies LIMIT, too
ALTER SERVER regress_far OPTIONS (ADD extensions 'hybrid');
EXPLAIN (VERBOSE, COSTS off) SELECT id FROM away ORDER BY "V" <-> '[3,1]' LIMIT 2;

SET client_min_messages = warning;
DROP VIEW found, loop_a, loop_b CASCADE;
DROP TABLE doc, shard, parted, second, parent, former, adopted, there CASCADE;
DROP FUNCTION says;
DROP ROLE regress_hybrid_reader;
DROP EXTENSION postgres_fdw CASCADE;
