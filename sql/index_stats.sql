-- What an index says of itself, and what the server counts of it.
SET jit = off;
SET enable_seqscan = off;
CREATE TABLE item (id int, v vector(16)) WITH (autovacuum_enabled = off);
INSERT INTO item SELECT i, (SELECT array_agg(sin(i * (k * k + 0.7))) FROM generate_series(1, 16) k)::vector(16) FROM generate_series(1, 3000) i;
CREATE INDEX item_v ON item USING hybrid (v) WITH (list_size = 64);
ANALYZE item;

-- pages that are found without the buffer table count as others do: all that EXPLAIN counts are in pg_statio, those of
-- rows that a filter looks at, too
CREATE FUNCTION buffers_of(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan jsonb; BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	plan := plan -> 0 -> 'Plan';
	RETURN (plan ->> 'Shared Hit Blocks')::bigint + (plan ->> 'Shared Read Blocks')::bigint;
END $$;
CREATE VIEW counted AS
SELECT heap_blks_hit + heap_blks_read + coalesce(toast_blks_hit + toast_blks_read + tidx_blks_hit + tidx_blks_read, 0) AS heap, i.idx_blks_hit + i.idx_blks_read AS index
FROM pg_statio_user_tables t JOIN pg_statio_user_indexes i USING (relid) WHERE i.indexrelname = 'item_v';
\set query 'SELECT id FROM item ORDER BY v <-> ''[1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0]'' LIMIT 100'
\set filtered 'SELECT id FROM item WHERE id % 10 = 3 ORDER BY v <-> ''[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]'' LIMIT 100'
SELECT buffers_of(:'query') > 0 AND buffers_of(:'filtered') > 0 AS warm;
SELECT pg_stat_force_next_flush();
SELECT heap AS heap_before, index AS index_before FROM counted \gset
SELECT buffers_of(:'query') AS seen, pg_stat_force_next_flush() IS NOT NULL AS flushed \gset
SELECT :seen > 100 AS many, heap - :heap_before + index - :index_before >= :seen AS counted, index - :index_before > 20 AS of_the_index FROM counted;
SELECT heap AS heap_before, index AS index_before FROM counted \gset
SELECT buffers_of(:'filtered') AS seen, pg_stat_force_next_flush() IS NOT NULL AS flushed \gset
SELECT :seen > 300 AS many, heap - :heap_before + index - :index_before >= :seen AS counted FROM counted;

-- a worker cannot read the temporary tables of its leader, and is not asked to
SELECT proname, proparallel FROM pg_proc WHERE proname IN ('hybrid_index_stats', 'hybrid_index_curve', 'hybrid_index_check') ORDER BY 1;
CREATE TEMP TABLE private (LIKE item);
INSERT INTO private SELECT * FROM item;
CREATE INDEX private_v ON private USING hybrid (v);
-- its name is debug_parallel_query from 16 on
SELECT set_config(name, 'on', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT entries FROM hybrid_index_stats('private_v');
SELECT count(*) > 1 AS measured FROM hybrid_index_curve('private_v');
SELECT hybrid_index_check('private_v');
SELECT set_config(name, 'off', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');

-- an index whose build has failed is not damaged, but not valid
CREATE FUNCTION known(id int, v vector) RETURNS vector LANGUAGE plpgsql IMMUTABLE AS
$$ BEGIN IF id = 2000 THEN RAISE 'nothing is known of %', id; END IF; RETURN v; END $$;
\set VERBOSITY terse
CREATE INDEX CONCURRENTLY item_known ON item USING hybrid ((known(id, v)::vector(16)));
SELECT hybrid_index_stats('item_known');
SELECT hybrid_index_curve('item_known');
SELECT hybrid_index_check('item_known');
DELETE FROM item WHERE id = 2000;
REINDEX INDEX item_known;
SELECT entries, hybrid_index_check('item_known') FROM hybrid_index_stats('item_known');
DROP VIEW counted;
DROP FUNCTION buffers_of;
DROP TABLE item, private;
DROP FUNCTION known;
