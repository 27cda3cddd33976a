-- The extension vector: pgvector's names for indexes of hybrid.

-- what is in the database beside hybrid, and its version, which clients read
CREATE EXTENSION IF NOT EXISTS vector;
CREATE EXTENSION IF NOT EXISTS vector;
SELECT extversion, extrelocatable FROM pg_extension WHERE extname = 'vector';
ALTER EXTENSION vector UPDATE;
SELECT amname, opcname, opcintype::regtype, opcdefault, amvalidate(c.oid)
FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod WHERE amname IN ('hnsw', 'ivfflat') ORDER BY 1, 3, 2;
-- the same operators and functions as hybrid's own class of the name, the condition of a sphere too
WITH contents AS (
	SELECT amname, opcname, oid, array_agg(o ORDER BY o) AS has
	FROM (SELECT a.amname, c.opcname, c.oid, format('%s %s', amopstrategy, amopopr::regoperator) AS o
			FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod JOIN pg_amop ON amopfamily = opcfamily
		UNION ALL SELECT a.amname, c.opcname, c.oid, amproc::regprocedure::text
			FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod JOIN pg_amproc ON amprocfamily = opcfamily) s
	WHERE amname IN ('hnsw', 'ivfflat', 'hybrid') GROUP BY 1, 2, 3)
SELECT n.amname, count(*), bool_and(n.has = h.has) AS same
FROM contents n JOIN contents h USING (opcname) WHERE n.amname <> 'hybrid' AND h.amname = 'hybrid' GROUP BY 1 ORDER BY 1;
-- every object of the extension is documented
SELECT pg_describe_object(classid, objid, 0) FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'vector')
	AND deptype = 'e' AND obj_description(objid, classid::regclass::name) IS NULL;

-- indexes: the statements of pgvector
CREATE TABLE item (id serial PRIMARY KEY, v vector(16), h halfvec(16), s sparsevec(16), b bit(16), kind int);
INSERT INTO item (v, h, s, b, kind)
SELECT v, v, v::vector::sparsevec, binary_quantize(v::vector), n % 100
FROM generate_series(1, 6000) n, LATERAL (SELECT ARRAY(SELECT sin(n * i * i)::real FROM generate_series(1, 16) i)::vector AS v) s;
-- what they do not need is said once in a session
CREATE INDEX item_v ON item USING hnsw (v vector_l2_ops) WITH (m = 16, ef_construction = 64);
CREATE INDEX item_ivf ON item USING ivfflat (v vector_cosine_ops) WITH (lists = 100);
CREATE INDEX item_h ON item USING hnsw (h halfvec_ip_ops) WITH (m = 2, ef_construction = 4, storage = int8);
CREATE INDEX item_s ON item USING hnsw (s sparsevec_l2_ops);
CREATE INDEX item_b ON item USING hnsw (b bit_jaccard_ops);
CREATE INDEX item_default ON item USING ivfflat (v);
SELECT pg_get_indexdef(indexrelid), hybrid_index_check(indexrelid) FROM pg_index WHERE indrelid = 'item'::regclass AND NOT indisunique ORDER BY 1;
-- ranges, and options of the other name
\set VERBOSITY terse
CREATE INDEX ON item USING hnsw (v vector_l2_ops) WITH (m = 1);
CREATE INDEX ON item USING hnsw (v vector_l2_ops) WITH (m = 101);
CREATE INDEX ON item USING hnsw (v vector_l2_ops) WITH (ef_construction = 3);
CREATE INDEX ON item USING hnsw (v vector_l2_ops) WITH (ef_construction = 1001);
CREATE INDEX ON item USING ivfflat (v) WITH (lists = 0);
CREATE INDEX ON item USING ivfflat (v) WITH (lists = 32769);
CREATE INDEX ON item USING ivfflat (v) WITH (m = 16);
CREATE INDEX ON item USING hnsw (v vector_l2_ops) WITH (lists = 16);
CREATE INDEX ON item USING hybrid (v) WITH (m = 16);
CREATE INDEX ON item USING hnsw (v);
CREATE INDEX ON item USING hnsw (kind vector_l2_ops);
CREATE INDEX ON item USING ivfflat (s sparsevec_l2_ops);
\set VERBOSITY default
-- the options of both extensions may be changed
ALTER INDEX item_v SET (m = 20);
ALTER INDEX item_v SET (storage = float32);
ALTER INDEX item_v RESET (m, storage);
DROP INDEX item_default;

-- which target a scan has; settings at their defaults leave it to hybrid.target_recall
SET enable_seqscan = off;
CREATE FUNCTION target(statement text, OUT index regclass, OUT target float8, OUT n int) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(*) FROM (%s) s', statement) INTO n;
	SELECT l.index, l.target_recall INTO index, target FROM hybrid_last_scan() l;
END
$$;
\set hnsw 'SELECT * FROM target(''SELECT id FROM item ORDER BY v <-> (SELECT v FROM item WHERE id = 1) LIMIT 10'')'
\set ivfflat 'SELECT * FROM target(''SELECT id FROM item ORDER BY v <=> (SELECT v FROM item WHERE id = 1) LIMIT 10'')'
:hnsw;
:ivfflat;
SET hybrid.target_recall = 0.9;
:hnsw;
:ivfflat;
SET hnsw.ef_search = 80;
SET ivfflat.probes = 10;
:hnsw;
:ivfflat;
SET hnsw.ef_search = 1000;
:hnsw;
-- lower ones lower it, to the minimum of hybrid.target_recall
SET hnsw.ef_search = 20;
:hnsw;
SET hnsw.ef_search = 1;
:hnsw;
-- all rows are read all the same
SET hybrid.target_recall = 1;
:hnsw;
RESET hybrid.target_recall;
-- indexes of hybrid by its own name have hybrid's settings
CREATE INDEX item_own ON item USING hybrid (v vector_ip_ops);
SELECT * FROM target('SELECT id FROM item ORDER BY v <#> (SELECT v FROM item WHERE id = 1) LIMIT 10');
-- what is measured is the index, at targets of its own and at the target that scans have now
SET hnsw.ef_search = 160;
SELECT target FROM hybrid_index_measure('item_v', ARRAY(SELECT v FROM item WHERE id <= 20));
:hnsw;
RESET hnsw.ef_search;
RESET ivfflat.probes;

-- more rows for a filter, as by hybrid.iterative_scan; within the limits
\set filtered 'SELECT * FROM target(''SELECT id FROM item WHERE kind = 7 AND abs(id) > 0 ORDER BY v <-> (SELECT v FROM item WHERE id = 1) LIMIT 50'')'
:filtered;
SET hybrid.iterative_scan = off;
SELECT n < 50 AS fewer FROM target('SELECT id FROM item WHERE kind = 7 AND abs(id) > 0 ORDER BY v <-> (SELECT v FROM item WHERE id = 1) LIMIT 50');
SET hnsw.iterative_scan = strict_order;
:filtered;
SET hnsw.max_scan_tuples = 100;
SELECT n < 50 AS fewer FROM target('SELECT id FROM item WHERE kind = 7 AND abs(id) > 0 ORDER BY v <-> (SELECT v FROM item WHERE id = 1) LIMIT 50');
RESET hnsw.max_scan_tuples;
SET hnsw.scan_mem_multiplier = 2;
:filtered;
RESET hnsw.iterative_scan;
RESET hybrid.iterative_scan;
SHOW hnsw.iterative_scan;
-- ranges and names are pgvector's
SET hnsw.ef_search = 0;
SET hnsw.ef_search = 1001;
SET ivfflat.probes = 32769;
SET ivfflat.iterative_scan = strict_order;
SET ivfflat.max_probes = 0;
SET hnsw.max_scan_tuples = 0;
SET hnsw.nothing = 1;
SET ivfflat.nothing = 1;
SELECT name, setting, boot_val, min_val, max_val, context FROM pg_settings WHERE name ~ '^(hnsw|ivfflat)\.' ORDER BY 1;

-- the exact functions find indexes by these names, and a sphere is a condition
SELECT count(*) FROM hybrid_knn('item', 'v', ARRAY(SELECT v FROM item WHERE id = 1), 5) k;
EXPLAIN (COSTS OFF) SELECT count(*) FROM item WHERE v <<->> hybrid_sphere('[1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]', 0.5);
-- the view of all indexes shows the name, and what the settings of that name aim for
SET hnsw.ef_search = 80;
SELECT DISTINCT method, target_recall FROM hybrid_indexes WHERE rel = 'item'::regclass ORDER BY 1, 2;
RESET hnsw.ef_search;
DROP TABLE item;
DROP FUNCTION target;

-- schemas: a schema of its own; whoever owns it cannot change what the script refers to
DROP EXTENSION vector;
CREATE SCHEMA other;
CREATE TYPE other.vector AS (fake int);
CREATE FUNCTION other._hybrid_index_l2(internal) RETURNS internal LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE EXTENSION vector SCHEMA other;
SELECT DISTINCT opcintype::regtype, opcnamespace::regnamespace FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod WHERE amname = 'hnsw' ORDER BY 1;
SELECT DISTINCT amproc::regprocedure FROM pg_amproc JOIN pg_opfamily f ON f.oid = amprocfamily JOIN pg_am a ON a.oid = opfmethod
WHERE amname = 'hnsw' AND opfname = 'vector_l2_ops';
CREATE TABLE here (v vector(2));
CREATE INDEX ON here USING hnsw (v other.vector_l2_ops);
ALTER EXTENSION vector SET SCHEMA public;
CREATE INDEX ON here USING hnsw (v vector_l2_ops);
-- hybrid cannot go before it, nor it before its indexes, which are all that CASCADE drops
\set VERBOSITY terse
DROP EXTENSION hybrid;
DROP EXTENSION vector;
\set VERBOSITY default
SET client_min_messages = warning;
DROP EXTENSION vector CASCADE;
RESET client_min_messages;
\d here
DROP TABLE here;
DROP SCHEMA other CASCADE;
-- a database without hybrid: PostgreSQL's own error and hint
CREATE DATABASE compat_vector_bare TEMPLATE template0;
\c compat_vector_bare
CREATE EXTENSION IF NOT EXISTS vector;
CREATE EXTENSION vector CASCADE;
SELECT extname, extnamespace::regnamespace FROM pg_extension WHERE extname <> 'plpgsql' ORDER BY 1;
-- a plain role, once an administrator has created hybrid
DROP EXTENSION vector;
CREATE ROLE compat_vector_owner LOGIN;
GRANT CREATE ON DATABASE compat_vector_bare TO compat_vector_owner;
GRANT CREATE ON SCHEMA public TO compat_vector_owner;
SET SESSION AUTHORIZATION compat_vector_owner;
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE mine (v vector(2));
CREATE INDEX ON mine USING hnsw (v vector_cosine_ops);
DROP TABLE mine;
DROP EXTENSION vector;
RESET SESSION AUTHORIZATION;
\c contrib_regression
DROP DATABASE compat_vector_bare;
DROP ROLE compat_vector_owner;
