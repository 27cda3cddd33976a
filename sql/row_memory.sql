-- A function that is called for each row of a statement leaves nothing in the statement's memory.
SET hybrid.plugins = '';
CREATE TABLE near AS SELECT i AS id, ARRAY[i, 1]::vector(2) AS v FROM generate_series(1, 4) i;
-- bytes that are in use by statements; not of what the first rows bring along, a few blocks at most
CREATE FUNCTION statement_bytes(bigint) RETURNS bigint VOLATILE LANGUAGE sql AS $$
	SELECT sum(used_bytes)::bigint FROM pg_backend_memory_contexts WHERE name = 'ExecutorState' $$;
CREATE FUNCTION bytes_a_row(call text) RETURNS TABLE (rows bigint, little bool) LANGUAGE plpgsql AS $$
DECLARE
	at bigint[];
BEGIN
	EXECUTE format('SELECT array_agg(statement_bytes(a.n) ORDER BY i) FILTER (WHERE i %% 1000 = 0), sum(a.n) FROM generate_series(1, 3000) i, LATERAL (SELECT count(*) AS n FROM %s) a', call) INTO at, rows;
	little := at[3] - at[2] < 100000;
	RETURN NEXT;
END $$;
SELECT * FROM bytes_a_row($$hybrid_spread('VALUES (1, 2), (2, 3)', ARRAY[i % 2 + 1], hops => 1)$$);
SELECT * FROM bytes_a_row($$hybrid_spread('VALUES (1, 2), (2, ' || i || ')', ARRAY[1], hops => 1)$$);
SELECT * FROM bytes_a_row($$(SELECT hybrid_spread('VALUES (1, 2), (2, 3)', ARRAY[i % 2 + 1], hops => 1) OFFSET 0) s$$);
SELECT * FROM bytes_a_row($$hybrid_knn('near', 'v', ARRAY[ARRAY[i, 1]::vector], 2)$$);
SELECT * FROM bytes_a_row($$hybrid_knn_join('near', 'v', 'near', 'v', i % 2 + 1)$$);
SELECT * FROM bytes_a_row($$hybrid_knn_graph('near', 'id', 'v', i % 2 + 1)$$);
DROP FUNCTION statement_bytes, bytes_a_row;
DROP TABLE near;
