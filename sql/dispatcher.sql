-- settings, and what the dispatcher does where there is no device
\set VERBOSITY terse
SET hybrid.plugins = '';
SET hybrid.execution = auto;
SET hybrid.force_cpu = off;
SELECT hybrid_reset_stats();

SELECT device, backend, state, detail, virtual FROM hybrid_devices;
SELECT count(*) FROM hybrid_events;
SELECT hybrid_distances('[1,2]', ARRAY['[1,2]', '[1,3]']::vector[]);
SELECT operation, dtype, metric, dims, queries, targets, k, items, execution, backend, reason, fallback, status, virtual FROM hybrid_events;
SELECT device, backend, operation, calls, items, failures, fallbacks, success_rate,
	mean_us > 0 AS mean, p50_us > 0 AS p50, p99_us >= p50_us AS p99, total_ms > 0 AS total, virtual FROM hybrid_stats;

-- the user's word
SET hybrid.force_cpu = on;
SELECT hybrid_distances('[1,2]', ARRAY['[1,2]']::vector[], 'ip');
SET hybrid.force_cpu = off;
SET hybrid.execution = cpu;
SELECT hybrid_distances('[1,2]', ARRAY['[1,2]']::vector[], 'l1');
SET hybrid.execution = prefer_gpu;
SELECT hybrid_distances('[1,2]', ARRAY['[1,2]']::vector[], 'cosine');
SELECT metric, execution, backend, reason FROM hybrid_events;

-- a device that must be and is not there
SET hybrid.execution = gpu;
SELECT hybrid_distances('[1,2]', ARRAY['[1,2]']::vector[]);
SET hybrid.execution = cuda;
SELECT hybrid_distances('[1,2]', ARRAY['[1,2]']::vector[]);
SELECT execution, backend, reason, status, error FROM hybrid_events OFFSET 4;
RESET hybrid.execution;
SET hybrid.execution = auto;

-- counters begin anew, telemetry can be switched off
SELECT hybrid_reset_stats();
SELECT count(*) FROM hybrid_events;
SELECT count(*) FROM hybrid_stats;
SET hybrid.telemetry = off;
SELECT hybrid_distances('[1,2]', ARRAY['[1,2]']::vector[]);
SELECT count(*) FROM hybrid_events;
SELECT operation, calls FROM hybrid_stats;
RESET hybrid.telemetry;

-- the ring of events is bounded
DO $$ BEGIN FOR i IN 1 .. 600 LOOP PERFORM hybrid_distances('[1,2]', ARRAY['[1,2]']::vector[]); END LOOP; END $$;
SELECT count(*) FROM hybrid_events;
SELECT operation, calls FROM hybrid_stats;

-- plug-ins that are not there or are none: said, and the CPU answers
SET hybrid.plugins = 'no_such_plugin, plpgsql';
SELECT device, backend, state, detail FROM hybrid_devices ORDER BY device;
SELECT hybrid_distances('[1,2]', ARRAY['[1,2]']::vector[]);
SELECT backend, reason FROM hybrid_events;
SET hybrid.plugins = '../evil';
SET hybrid.plugins = '/tmp/evil';
SET hybrid.plugins = '';

-- settings out of range
SET hybrid.execution = 'GPU!';
SET hybrid.execution = '';
SET hybrid.gpu_min_batch = -1;
SET hybrid.gpu_min_batch_overrides = 'topk:128, spread : 1000';
SHOW hybrid.gpu_min_batch_overrides;
SET hybrid.gpu_min_batch_overrides = 'sorting:128';
SET hybrid.gpu_min_batch_overrides = 'topk:-1';
SET hybrid.gpu_min_batch_overrides = 'topk';
SET hybrid.gpu_min_batch_overrides = 'topk:1,';
SET hybrid.gpu_min_batch_overrides = 'topk:1 spread:2';
SET hybrid.gpu_min_batch_overrides = 'topk:99999999999999999999';
SET hybrid.gpu_min_batch_overrides = '';
SET hybrid.gpu_speedup_threshold = 0.5;
SET hybrid.gpu_success_threshold = 2;
SET hybrid.tracker_window = 0;
SET hybrid.tracker_window = 100000;
-- from 17 on, the texts of these errors have units in the range
\set VERBOSITY sqlstate
SET hybrid.gpu_timeout = 0;
SET hybrid.gpu_idle_timeout = -1;
\set VERBOSITY terse
SHOW hybrid.gpu_idle_timeout;
SET hybrid.simd = sse2;
SET hybrid.no_such_setting = 1;

-- every instruction set there is gives the same bits
CREATE TEMP TABLE bits (simd text, distances float8[]);
DO $$
DECLARE level text;
BEGIN
	FOREACH level IN ARRAY ARRAY['auto', 'scalar', 'avx2', 'avx512', 'amx', 'neon'] LOOP
		BEGIN
			PERFORM set_config('hybrid.simd', level, true);
		EXCEPTION WHEN invalid_parameter_value THEN
			CONTINUE;
		END;
		INSERT INTO bits SELECT level, hybrid_distances(array_agg(sin(i))::vector,
			ARRAY[array_agg(cos(i * i))::vector, array_agg(i)::vector, array_agg(1.0 / i)::vector], 'cosine') FROM generate_series(1, 771) i;
	END LOOP;
END $$;
SELECT count(*) >= 2 AS several, count(DISTINCT distances) FROM bits;

-- who may set what
CREATE ROLE regress_hybrid_plain;
SET ROLE regress_hybrid_plain;
SET hybrid.plugins = 'hybrid_emulated';
SET hybrid.gpu_memory_limit = 1;
SET hybrid.gpu_idle_timeout = 1;
SET hybrid.emulated_faults = '';
SET hybrid.force_cpu = on;
RESET hybrid.force_cpu;
SELECT hybrid_distances('[1,2]', ARRAY['[1,2]']::vector[]);
SELECT count(*) FROM hybrid_devices;
SELECT count(*) > 0 FROM hybrid_stats;
SELECT count(*) > 0 FROM hybrid_events;
RESET ROLE;
DROP ROLE regress_hybrid_plain;
