-- How many rows the planner expects from functions with a parameter k.
CREATE FUNCTION expected_rows(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
CREATE TABLE estimated (id bigint, v vector(2)) WITH (autovacuum_enabled = off);
INSERT INTO estimated SELECT i, ARRAY[i, 1] FROM generate_series(1, 50) i;

-- k rows, for each query
SELECT query, expected_rows('SELECT * FROM ' || query) FROM unnest(ARRAY[
	$$hybrid_knn('estimated', 'v', '{"[1,2]"}')$$,
	$$hybrid_knn('estimated', 'v', ARRAY['[1,2]', '[3,4]']::vector[], k => 7)$$,
	$$hybrid_knn('estimated', 'v', ARRAY['[1,2]', '[3,4]', random()::text]::vector[], 7)$$,
	$$hybrid_knn('estimated', 'v', '{}', 7)$$,
	$$hybrid_knn('estimated', 'v', (SELECT array_agg(v) FROM estimated), 3)$$,
	$$hybrid_knn('estimated', 'v', '{"[1,2]"}', (random() * 5)::int)$$,
	$$hybrid_knn_sharded('estimated', 'v', 'id', ARRAY['[1,2]', '[3,4]']::vector[], 7)$$,
	$$hybrid_associate('estimated', 'id', 'v', '[1,2]', 'SELECT 1, 2', k => 25)$$,
	$$hybrid_similar_nodes('SELECT 1, 2', 1)$$,
	$$hybrid_fuse('{1,2,3}', '{4,5}', k => 4)$$,
	$$hybrid_spread('SELECT 1, 2', '{1}', k => 6)$$,
	$$hybrid_spread_batch('SELECT 1, 2', '{1,2,3}', '{1,1,2}', k => 6)$$,
	$$hybrid_pagerank('SELECT 1, 2', k => 5)$$]) query;
-- without k, or with one that would be an error, what the declaration says
SELECT query, expected_rows('SELECT * FROM ' || query) FROM unnest(ARRAY[
	$$hybrid_fuse('{1,2,3}', '{4,5}')$$,
	$$hybrid_spread('SELECT 1, 2', '{1}')$$,
	$$hybrid_spread('SELECT 1, 2', '{1}', k => 0)$$,
	$$hybrid_spread('SELECT 1, 2', '{1}', k => -3)$$]) query;
-- k rows, for each row of a table that was analyzed
SELECT expected_rows($$SELECT * FROM hybrid_knn_join('estimated', 'v', 'estimated', 'v', 3)$$), expected_rows($$SELECT * FROM hybrid_knn_graph('estimated', 'id', 'v', 3)$$);
ANALYZE estimated;
SELECT expected_rows($$SELECT * FROM hybrid_knn_join('estimated', 'v', 'estimated', 'v', 3)$$), expected_rows($$SELECT * FROM hybrid_knn_graph('estimated', 'id', 'v', 3)$$);

-- parameters of a prepared statement are known to a custom plan only
PREPARE nearest(vector[], int) AS SELECT * FROM hybrid_knn('estimated', 'v', $1, $2);
SET plan_cache_mode = force_custom_plan;
SELECT expected_rows($$EXECUTE nearest(ARRAY['[1,2]', '[3,4]']::vector[], 5)$$);
SET plan_cache_mode = force_generic_plan;
SELECT expected_rows($$EXECUTE nearest(ARRAY['[1,2]', '[3,4]']::vector[], 5)$$);
RESET plan_cache_mode;
DEALLOCATE nearest;

-- so a join with few rows uses the index of the other side
CREATE TABLE estimated_more AS SELECT i AS id, 'name ' || i AS name FROM generate_series(1, 20000) i;
CREATE UNIQUE INDEX estimated_more_id ON estimated_more (id);
ANALYZE estimated_more;
EXPLAIN (COSTS OFF) SELECT name FROM hybrid_spread('SELECT 1, 2', '{1}', k => 5) JOIN estimated_more USING (id);

DROP FUNCTION expected_rows;
DROP TABLE estimated, estimated_more;
