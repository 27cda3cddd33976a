-- the dispatcher's views and functions where there is no device
\set VERBOSITY terse
SET hybrid.plugins = '';
SELECT hybrid_reset_stats();
SET hybrid.execution = auto;
SET hybrid.force_cpu = off;
-- a plain role sees its own session, whether or not the library is preloaded
CREATE ROLE regress_hybrid_reader;
CREATE ROLE regress_hybrid_keeper;
GRANT EXECUTE ON FUNCTION hybrid_reset_stats() TO regress_hybrid_keeper;
CREATE TABLE telemetry_point AS SELECT i AS id, ('[' || i || ',' || i % 7 || ']')::vector AS v FROM generate_series(1, 100) i;
GRANT SELECT ON telemetry_point TO PUBLIC;
SET ROLE regress_hybrid_reader;

-- everything is explained in the database itself
SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
	WHERE c.relname LIKE 'hybrid\_%' AND c.relkind = 'v' AND a.attnum > 0 AND col_description(c.oid, a.attnum) IS NULL;
SELECT relname FROM pg_class WHERE relname LIKE 'hybrid\_%' AND relkind IN ('v', 'r') AND obj_description(oid, 'pg_class') IS NULL;
SELECT relname, count(*) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
	WHERE relname LIKE 'hybrid\_%' AND relkind = 'v' AND attnum > 0 GROUP BY relname ORDER BY relname;
SELECT oid::regprocedure FROM pg_proc WHERE proname ~ '^_?hybrid_' AND obj_description(oid, 'pg_proc') IS NULL;
-- what depends on the session is not for parallel workers, and is not folded
SELECT proname, provolatile, proparallel, proisstrict FROM pg_proc
	WHERE proname LIKE '\_hybrid\_get\_%' OR proname IN ('hybrid_explain', 'hybrid_reset_stats') ORDER BY proname;

-- what the CPU can do
SELECT operation, dtype, bool_and(supported) AS supported, count(*), max(max_dims) AS dims, max(max_targets) AS targets, max(max_k) AS k, bool_and(exact) AS exact, min(reason) AS reason
	FROM hybrid_capabilities WHERE backend = 'cpu' GROUP BY operation, dtype ORDER BY operation, dtype;
SELECT device, backend, state, contexts, limits, cores > 0 AS cores, memory_total > 0 AS memory, memory_free BETWEEN 1 AND memory_total AS free, memory_used + memory_free = memory_total AS used, load IS NULL OR load >= 0 AS load, queue FROM hybrid_devices;

-- why tasks came here, and how they ended
SELECT hybrid_distances('[1,2]', ARRAY['[1,2]', '[1,3]']::vector[]);
SET hybrid.force_cpu = on;
SELECT count(hybrid_distances('[1,2]', ARRAY['[1,2]', '[1,3]']::vector[], 'l1')) FROM generate_series(1, 4);
SET hybrid.force_cpu = off;
SELECT device, backend, operation, calls, items, failures, fallbacks, success_rate, reasons, statuses, fallback_causes, flushes FROM hybrid_stats;
SELECT pid = pg_backend_pid() AS own, role = session_user AS role, at BETWEEN now() - interval '1 hour' AND clock_timestamp() AS at, metric, items, execution, reason, load IS NULL OR load >= 0 AS load FROM hybrid_events;
-- gathered batches are counted by what ended them
SET hybrid.batch_max = 64;
SET hybrid.batch_wait = 0; -- however busy the machine is
SELECT count(*) FROM hybrid_knn('telemetry_point', 'v', ARRAY['[1,2]']::vector[], 3);
RESET hybrid.batch_max;
RESET hybrid.batch_wait;
SELECT operation, calls, flushes FROM hybrid_stats WHERE operation = 'topk';

-- what was learned: the first observation of a kind is set aside
SELECT device, backend, operation, dtype, metric, dims_low, dims_high, resident, observations, round(samples) AS samples, launch_us >= 0 AS launch, work_ns >= 0 AS work, byte_ns >= 0 AS bytes, serial_ns >= 0 AS serial, queries, targets, k, predicted_us > 0 AS predicted, speedup, break_even, breaker, success_rate, virtual
	FROM hybrid_tracker WHERE operation = 'distance' ORDER BY metric;

-- a decision without running
SELECT device, backend, chosen, reason, status, able, open, predicted_us > 0 AS predicted, samples, share, virtual FROM hybrid_explain('distance', 2, 2);
SELECT backend, chosen, reason, predicted_us FROM hybrid_explain('distance', 1000, 768, 10, 'cosine', 10, 'float16');
SELECT backend, chosen, reason FROM hybrid_explain('spread', 1000, queries => 3);
SELECT backend, chosen, reason FROM hybrid_explain('topk', 1000, 3, k => 5);
SELECT backend, chosen, reason, able FROM hybrid_explain('assign', 1000, 3);
SET hybrid.execution = gpu;
SELECT backend, chosen, reason, status, detail FROM hybrid_explain('topk', 1000, 3);
SET hybrid.execution = cpu;
SELECT backend, chosen, reason, status, detail FROM hybrid_explain('topk', 1000, 3);
SET hybrid.execution = auto;
SELECT sum(calls) FROM hybrid_stats;
SELECT * FROM hybrid_explain('sorting', 1);
SELECT * FROM hybrid_explain('topk', 1);
SELECT * FROM hybrid_explain('topk', 1, 16001);
SELECT * FROM hybrid_explain('topk', 1, 3, k => 0);
SELECT * FROM hybrid_explain('topk', -1, 3);
SELECT * FROM hybrid_explain('topk', 1, 3, -2);
SELECT * FROM hybrid_explain('topk', 1, 3, metric => 'hamming');
SELECT * FROM hybrid_explain('topk', 1, 3, dtype => 'float64');
SELECT * FROM hybrid_explain(NULL, 1, 3);

-- an audit takes seconds of all cores, so it is not for everybody; without a device there is nothing to compare
SELECT count(*) FROM hybrid_audit();
SELECT count(*) FROM hybrid_audit_shapes();
RESET ROLE;
SELECT shapes > 200 AS shapes, compared, untrusted, routed_right, right_share, lost_ms, virtual, detail FROM hybrid_audit();
SELECT count(*) FROM hybrid_audit_shapes();
SET ROLE regress_hybrid_reader;
SELECT sum(calls) FROM hybrid_stats;

-- who may look, and who may reset
SELECT DISTINCT scope FROM hybrid_stats;
SELECT count(*) > 0 AS events, bool_and(pid = pg_backend_pid()) AS own FROM hybrid_events;
SELECT DISTINCT scope FROM hybrid_tracker;
SELECT hybrid_reset_stats();
RESET ROLE;
SET ROLE regress_hybrid_keeper;
SELECT hybrid_reset_stats();
SELECT count(*) FROM hybrid_stats;
SELECT count(*) FROM hybrid_events;
SELECT count(*) FROM hybrid_tracker;
RESET ROLE;
DROP TABLE telemetry_point;
REVOKE EXECUTE ON FUNCTION hybrid_reset_stats() FROM regress_hybrid_keeper;
DROP ROLE regress_hybrid_reader, regress_hybrid_keeper;

-- a view is not led astray by what the caller's path puts first
CREATE SCHEMA telemetry_evil;
CREATE FUNCTION telemetry_evil._hybrid_get_stats() RETURNS SETOF int LANGUAGE sql AS 'SELECT 1 / 0';
CREATE FUNCTION telemetry_evil.jsonb_in(cstring) RETURNS jsonb LANGUAGE internal AS 'jsonb_in';
SET search_path = telemetry_evil, pg_catalog;
SELECT count(*) FROM public.hybrid_stats;
SELECT count(*) FROM public.hybrid_devices;
RESET search_path;
DROP SCHEMA telemetry_evil CASCADE;
