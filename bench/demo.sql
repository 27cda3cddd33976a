-- The demonstration of `make demo`, on the tables synset and relation that bench/demo.sh has loaded.
\pset footer off
\pset null '-'
SET client_min_messages = warning;

-- The mean of the vectors of a word's synsets.
CREATE FUNCTION word_vector(word text) RETURNS vector
LANGUAGE sql STABLE AS 'SELECT avg(v) FROM synset WHERE words @> ARRAY[word]';
CREATE INDEX ON synset USING gin (words);

-- The k nearest synsets by one of the two plans, and the milliseconds that took.
CREATE FUNCTION nearest(q vector, k int, by_index bool, OUT distances float8[], OUT ms float8)
LANGUAGE plpgsql AS $$
DECLARE
	started timestamptz;
BEGIN
	PERFORM set_config('enable_indexscan', by_index::text, true),
		set_config('enable_seqscan', (NOT by_index)::text, true);
	started := clock_timestamp();
	EXECUTE 'SELECT array_agg(d) FROM (SELECT v <=> $1 AS d FROM synset ORDER BY v <=> $1 LIMIT $2) s'
		INTO distances USING q, k;
	ms := 1000 * extract(epoch FROM clock_timestamp() - started);
END $$;

-- The first words of a synset, and as much of its gloss as fits.
CREATE FUNCTION shown(words text[]) RETURNS text
LANGUAGE sql IMMUTABLE AS $$SELECT left(array_to_string(words[1:2], ', '), 26)$$;
CREATE FUNCTION shortened(gloss text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$SELECT CASE WHEN length(gloss) > 40 THEN left(gloss, 39) || '~' ELSE gloss END$$;

\echo
\echo '1. Nearest glosses.  A word stands for the mean of the vectors of its synsets:'
\echo '     SELECT ... FROM synset ORDER BY v <=> word_vector(\'volcano\') LIMIT 5'
\echo
SELECT word, round((v <=> q)::numeric, 3) AS distance, shown(words) AS synset,
	shortened(gloss) AS gloss
FROM unnest('{volcano,violin,jealousy}'::text[]) WITH ORDINALITY AS w (word, n),
	LATERAL (SELECT word_vector(word) AS q OFFSET 0) AS vector_of_word,
	LATERAL (SELECT * FROM synset ORDER BY v <=> q LIMIT 5) AS s
ORDER BY n, v <=> q, id;

\echo '   The plan of such a query:'
SELECT id AS volcano, word_vector('volcano') AS q
FROM synset WHERE words[1] = 'volcano' ORDER BY id LIMIT 1 \gset
EXPLAIN (COSTS OFF) SELECT id FROM synset
ORDER BY v <=> (SELECT avg(v) FROM synset WHERE words @> '{volcano}') LIMIT 5;

\echo '   Ten nearest through the index, against an exact sequential scan:'
WITH run AS MATERIALIZED (
	SELECT n, word, scan.distances AS truth, scan.ms AS scan_ms, index.distances AS found,
		index.ms AS index_ms
	FROM unnest('{volcano,violin,jealousy,justice,river,run,blue,quickly}'::text[])
			WITH ORDINALITY AS w (word, n),
		LATERAL (SELECT word_vector(word) AS q OFFSET 0) AS vector_of_word,
		LATERAL nearest(q, 10, false) AS scan,
		LATERAL nearest(q, 10, true) AS index)
SELECT coalesce(word, 'all') AS word, round(avg(index_ms)::numeric, 1) AS index_ms,
	round(avg(scan_ms)::numeric, 1) AS scan_ms,
	-- a row as near as the tenth counts, whichever of equals it is
	round(avg((SELECT count(*) FROM unnest(found) AS d WHERE d <= truth[10]) / 10.0), 3) AS recall
FROM run GROUP BY GROUPING SETS ((n, word), ()) ORDER BY n;

\echo '2. Activation spreading from the synset of ''volcano'', three hops along WordNet''s relations:'
\echo '     SELECT ... FROM hybrid_spread(\'SELECT source, target FROM relation\', ARRAY[id], k => 12)'
\echo
SELECT round(activation::numeric, 4) AS activation, hop, shown(words) AS synset,
	shortened(gloss) AS gloss
FROM hybrid_spread('SELECT source, target FROM relation', ARRAY[:volcano::bigint], k => 12)
	JOIN synset USING (id)
ORDER BY activation DESC, id;

\echo '3. Both in one statement: the nearest rows are the seeds, their relations carry the activation on.'
\echo '   What else comes to mind at ''violin'' and ''concert'' together?'
\echo
WITH query AS MATERIALIZED (
	SELECT avg(word_vector(word)) AS q FROM unnest('{violin,concert}'::text[]) AS word
), nearest AS MATERIALIZED (
	SELECT id, 1 - (v <=> (SELECT q FROM query)) AS similarity
	FROM synset ORDER BY v <=> (SELECT q FROM query) LIMIT 10
), recalled AS (
	SELECT s.* FROM (SELECT array_agg(id) AS ids, array_agg(similarity) AS strengths FROM nearest) AS n,
		LATERAL hybrid_spread('SELECT source, target FROM relation', ids, strengths, hops => 2,
			fan => 0.5, direction => 'both', k => 14) AS s
)
SELECT round(activation::numeric, 3) AS activation, hop,
	CASE WHEN nearest.id IS NULL THEN 'graph' ELSE 'vector' END AS found_by,
	shown(words) AS synset, shortened(gloss) AS gloss
FROM recalled JOIN synset USING (id) LEFT JOIN nearest USING (id)
ORDER BY activation DESC, id;

\echo '4. What the dispatcher did in this session.  Its devices:'
\echo
SELECT device, backend, left(name, 40) AS name, architecture, cores, state, left(detail, 34) AS detail
FROM hybrid_devices;

\echo '   which backend ran each operation, and why:'
SELECT operation, backend, reason, count(*) AS calls, sum(items) AS items,
	round(avg(actual_us)::numeric) AS mean_us, count(*) FILTER (WHERE fallback) AS fallbacks
FROM hybrid_events GROUP BY operation, backend, reason ORDER BY operation, backend, reason;

\echo '   the searches of the index in sections 1 to 3, which are no batches:'
SELECT pg_stat_force_next_flush() \gset
SELECT index, entries, target_recall, scans AS searches FROM hybrid_indexes;

\echo '   and the counters of all its calls:'
SELECT backend, operation, calls, items, failures, fallbacks,
	round(p50_us::numeric) AS p50_us, round(p99_us::numeric) AS p99_us
FROM hybrid_stats ORDER BY device, operation;

\echo '5. The same with a device: an emulated one that computes on the CPU and makes up its times'
\echo '   (virtual; it shows the rules, not what a GPU would reach).  A new session:'
\echo
\connect -
SET hybrid.plugins = 'hybrid_emulated';
SELECT device, backend, left(name, 40) AS name, state, virtual FROM hybrid_devices;

CREATE FUNCTION batch(queries int) RETURNS text
LANGUAGE sql AS $$
	SELECT md5(string_agg(format('%s %s %s', query, tid, distance), ',' ORDER BY query, distance, tid))
	FROM hybrid_knn('synset', 'v', (SELECT array_agg(v) FROM (SELECT v FROM synset
		WHERE v IS NOT NULL ORDER BY id LIMIT queries) AS s), 10, 'cosine', $rows$
		SELECT ctid FROM synset WHERE pos = 'adverb'$rows$) $$;

SET hybrid.execution = cpu;
SELECT batch(8) AS on_the_cpu \gset
SET hybrid.execution = auto;
SELECT batch(8) AS first_seen \gset
SELECT batch(8) AS again \gset
SET hybrid.execution = prefer_gpu;
SELECT batch(8) AS on_the_device \gset
-- the device fails at the first task it is given: the CPU answers, the rows are the same
SET hybrid.emulated_faults = 'fail_at=1,status=transient';
SELECT batch(8) AS device_failed \gset

\echo '   Five calls of hybrid_knn, eight queries each: on the CPU, twice as the model decides, on the'
\echo '   device, and on the device while it fails:'
SELECT execution, backend, reason, fallback AS fell_back, status, count(*) AS batches,
	sum(items) AS items, round(sum(actual_us)::numeric) AS us, virtual
FROM (SELECT *, row_number() OVER () AS n FROM hybrid_events) AS event
GROUP BY execution, backend, reason, fallback, status, virtual ORDER BY min(n);
SELECT :'on_the_cpu' = :'first_seen' AND :'on_the_cpu' = :'again'
	AND :'on_the_cpu' = :'on_the_device' AND :'on_the_cpu' = :'device_failed'
	AS "five times the same rows and distances, to the bit";
