-- names that nothing has: an error with its SQLSTATE, and a hint that lists what there is
SET hybrid.plugins = '';
CREATE TABLE thing (id bigint, v vector(2));
INSERT INTO thing VALUES (1, '[1,2]'), (2, '[2,1]');

-- refused: what becomes of a statement
CREATE FUNCTION refused(statement text, OUT code text, OUT message text, OUT detail text, OUT hint text)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	message := 'nothing is wrong with it';
EXCEPTION WHEN others THEN
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
		hint = PG_EXCEPTION_HINT;
END $$;

\x on
-- arguments of functions
SELECT r.* FROM unnest(ARRAY[
	$$SELECT hybrid_explain('sorting', 1)$$,
	$$SELECT hybrid_explain('', 1)$$,
	$$SELECT hybrid_explain('topk', 1, 3, metric => 'hamming')$$,
	$$SELECT hybrid_explain('topk', 1, 3, dtype => 'float64')$$,
	$$SELECT hybrid_distances('[1,2]', ARRAY['[1,2]']::vector[], 'Cosine')$$,
	$$SELECT hybrid_knn('thing', 'v', ARRAY['[1,2]']::vector[], 1, 'manhattan')$$,
	$$SELECT hybrid_knn_join('thing', 'v', 'thing', 'v', 1, 'euclid')$$,
	$$SELECT hybrid_knn_graph('thing', 'id', 'v', 1, 'jaccard')$$,
	$$SELECT hybrid_knn_graph('thing', 'id', 'v', 1, weight => 'heavy')$$,
	$$SELECT hybrid_spread('SELECT 1, 2', ARRAY[1], combine => 'mean')$$,
	$$SELECT hybrid_spread('SELECT 1, 2', ARRAY[1], direction => 'up')$$,
	$$SELECT hybrid_similar_nodes('SELECT 1, 2', 1, 'cosine')$$,
	$$SELECT hybrid_communities('SELECT 1, 2', 'louvain')$$]) s, refused(s) r;

-- settings and options of an index
SELECT r.* FROM unnest(ARRAY[
	$$SET hybrid.gpu_min_batch_overrides = 'topk:1, sorting:128'$$,
	$$SET hybrid.execution = 'GPU'$$,
	$$SET hybrid.emulated_profile = 'huge'$$,
	$$SET hybrid.precision = 'fast'$$,
	$$CREATE INDEX ON thing USING hybrid (v) WITH (storage = float64)$$]) s, refused(s) r;

-- a backend that may come with a plug-in is known to be none when it is asked for
SET hybrid.execution = nowhere;
SELECT * FROM refused($$SELECT hybrid_distances('[1,2]', ARRAY['[1,2]', '[1,3]']::vector[])$$);
SELECT reason, status, detail FROM hybrid_explain('distance', 1, 2);
SELECT execution, reason, status, error FROM hybrid_events ORDER BY at DESC LIMIT 1;
RESET hybrid.execution;
\x off

DROP FUNCTION refused;
DROP TABLE thing;
