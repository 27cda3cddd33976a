-- Statements that raise while a device holds something of theirs: nothing is left behind, and the next ones go on. An
-- emulated device; needs hybrid_emulated.so, which only the test targets install.
\set VERBOSITY terse
SET client_min_messages = warning;
SET hybrid.plugins = '';
SELECT hybrid_reset_stats();
SET hybrid.plugins = 'hybrid_emulated';
SET hybrid.execution = prefer_gpu;
SET work_mem = '256kB';
CREATE FUNCTION error_vector(n int) RETURNS vector LANGUAGE sql AS $$
	SELECT array_agg(((n::bigint * 7919 + j * j * (n % 13 + 1)) % 1009)::real)::vector FROM generate_series(1, 64) j $$;
CREATE TABLE error_row (id int PRIMARY KEY, v vector(64));
INSERT INTO error_row SELECT n, error_vector(n) FROM generate_series(1, 3000) n;
CREATE INDEX error_row_v ON error_row USING hybrid (v vector_l2_ops) WITH (storage = float32);
CREATE TABLE error_edge AS SELECT n AS source, (n * 7 + 3) % 3000 + 1 AS target, 1 + n % 5 AS weight FROM generate_series(1, 3000) n;
CREATE INDEX error_edges ON error_edge USING hybrid_graph (source, target, weight);

-- n: the row of the answer at which the statement ends
CREATE FUNCTION raise_at(n int, reached bigint) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1 / (CASE WHEN n = reached THEN 0 ELSE 1 END); END $$;
CREATE FUNCTION search_until(n int) RETURNS bigint LANGUAGE sql AS $$
	SELECT sum(raise_at(n, number)) FROM (SELECT row_number() OVER () AS number FROM generate_series(1, 6) q,
		LATERAL hybrid_knn('error_row', 'v', ARRAY[error_vector(q * 37)], 4, 'l2')) s $$;
CREATE FUNCTION spread_until(n int) RETURNS bigint LANGUAGE sql AS $$
	SELECT sum(raise_at(n, q)) FROM generate_series(1, 6) q,
		LATERAL (SELECT count(*) FROM hybrid_spread('error_edges', ARRAY[q], hops => 4) s) a $$;
-- the query that brings edges ends in the middle
CREATE FUNCTION edges_until(n int) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM hybrid_spread(format('SELECT source, target, weight * raise_at(%s, source) FROM error_edge', n), ARRAY[5]) $$;

SELECT search_until(0), search_until(0), spread_until(0), spread_until(0), edges_until(0) > 0 AS edges;
-- used but for what stays on purpose; resident_bytes may change, and only by whole units
CREATE TEMP TABLE before AS SELECT memory_used - resident_bytes AS used, contexts, queue FROM hybrid_devices WHERE device = 1;
CREATE FUNCTION raise_often() RETURNS TABLE (what text, raised int, went_well int) LANGUAGE plpgsql AS $$
DECLARE
	ignored bigint;
BEGIN
	FOREACH what IN ARRAY ARRAY['search_until', 'spread_until', 'edges_until'] LOOP
		raised := 0;
		went_well := 0;
		FOR n IN 0 .. 24 LOOP
			BEGIN
				EXECUTE format('SELECT %s(%s)', what, n) INTO ignored;
				went_well := went_well + 1;
			EXCEPTION WHEN division_by_zero THEN
				raised := raised + 1;
			END;
		END LOOP;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM raise_often();
SELECT d.memory_used - d.resident_bytes - b.used AS more, d.contexts - b.contexts AS contexts, d.queue, d.state FROM hybrid_devices d, before b WHERE device = 1;
-- the device fails in the same places
SET hybrid.emulated_faults = 'fail_every=3,status=transient';
SET hybrid.gpu_success_threshold = 0;
SELECT * FROM raise_often();
SET hybrid.emulated_faults = '';
SELECT d.memory_used - d.resident_bytes - b.used AS more, d.contexts - b.contexts AS contexts, d.queue, d.state FROM hybrid_devices d, before b WHERE device = 1;
-- a cancel by time, too, in whatever it meets; the transaction ends the setting, since a SET to end it could be cancelled itself
BEGIN;
SET LOCAL statement_timeout = '3ms';
SELECT search_until(0), spread_until(0), pg_sleep(10);
ROLLBACK;
BEGIN;
SET LOCAL statement_timeout = '10ms';
SELECT search_until(0), spread_until(0), pg_sleep(10);
ROLLBACK;
BEGIN;
SET LOCAL statement_timeout = '30ms';
SELECT search_until(0), spread_until(0), pg_sleep(10);
ROLLBACK;
SELECT search_until(0), spread_until(0), edges_until(0) > 0 AS edges;
SELECT d.memory_used - d.resident_bytes - b.used AS more, d.contexts - b.contexts AS contexts, d.queue, d.state FROM hybrid_devices d, before b WHERE device = 1;
RESET hybrid.plugins;
DROP TABLE before, error_row, error_edge;
DROP FUNCTION search_until, spread_until, edges_until, raise_at, error_vector, raise_often;
