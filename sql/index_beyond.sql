-- Lists that are as far as infinity are looked into when nothing nearer is left, and what only fills up
-- the last block of an inner list never is: neither by a build that measures its recall, nor by a scan.
SET jit = off;
SET enable_seqscan = off;
SET client_min_messages = warning;
SET hybrid.max_scan_tuples = 1000000;
SET work_mem = '64MB';

CREATE TABLE beyond (id int, v vector(4));
INSERT INTO beyond SELECT i, ARRAY[1e25 * (i % 97), 1e25 * (i % 89), i, 1]::vector FROM generate_series(1, 1500) i;
CREATE INDEX beyond_l2 ON beyond USING hybrid (v vector_l2_ops) WITH (list_size = 32);
SELECT hybrid_index_check('beyond_l2');

CREATE FUNCTION found(query vector, most int) RETURNS text LANGUAGE sql AS $$
	SELECT count(*) || ' ' || count(DISTINCT id) FROM (SELECT id FROM beyond ORDER BY v <-> query LIMIT most) s
$$;
SET hybrid.iterative_scan = relaxed_order;
SELECT query, most, found(query::vector, most)
FROM unnest(ARRAY['[0,0,0,0]', '[1e30,-1e30,0,0]', '[3e38,-3e38,0,0]']) query, unnest(ARRAY[10, 1000, NULL]) most;
SET hybrid.probes = 100000;
SELECT query, found(query::vector, NULL) FROM unnest(ARRAY['[0,0,0,0]', '[1e30,-1e30,0,0]', '[3e38,-3e38,0,0]']) query;
RESET hybrid.probes;

-- squares that are just within, and just beyond
UPDATE beyond SET v = ARRAY[id * 1e16, 1e19, 0, 1]::vector;
REINDEX TABLE beyond;
SELECT hybrid_index_check('beyond_l2'), found('[0,0,0,0]', NULL), found('[1e19,1e19,0,0]', 10);
DROP INDEX beyond_l2;
CREATE INDEX beyond_ip ON beyond USING hybrid (v vector_ip_ops) WITH (list_size = 32);
SELECT hybrid_index_check('beyond_ip');
DROP TABLE beyond;
DROP FUNCTION found;

-- a session does not keep the memory of a search for more rows than there are
CREATE TABLE less AS SELECT i AS id, ARRAY[sin(i), cos(i)]::vector(2) AS v FROM generate_series(1, 300) i;
CREATE INDEX less_v ON less USING hybrid (v vector_l2_ops) WITH (list_size = 32);
SET work_mem = '1GB';
SELECT count(*) FROM (SELECT id FROM less ORDER BY v <-> '[1,0]' LIMIT 10000000) s;
SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'hybrid search' AND total_bytes > 8 * 1024 * 1024;
DROP TABLE less;
