-- the dispatcher's views with devices: emulated ones. Needs hybrid_emulated.so, which only the test
-- targets install.
\set VERBOSITY terse
SET hybrid.plugins = '';
SELECT hybrid_reset_stats();
SET hybrid.emulated_devices = 2;
SET hybrid.plugins = 'hybrid_emulated';
SET hybrid.execution = prefer_gpu;
CREATE ROLE regress_hybrid_reader;
GRANT SET ON PARAMETER hybrid.emulated_faults, hybrid.gpu_timeout TO regress_hybrid_reader;
-- distances of n rows; the planner, which knows n from 18 on, cannot compute them
CREATE FUNCTION ask(n int) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM (SELECT '[1,2]'::vector AS q OFFSET 0) s, unnest(hybrid_distances(q, array_fill('[1,3]'::vector, ARRAY[n]))) $$;
SET ROLE regress_hybrid_reader;

SELECT device, backend, state, virtual, limits IS NOT NULL AS limits, load, queue, queue_us FROM hybrid_devices WHERE device > 0;
SELECT operation, dtype, bool_and(supported) AS supported, bool_and(exact) AS exact, max(max_dims) AS dims
	FROM hybrid_capabilities WHERE device = 1 GROUP BY operation, dtype ORDER BY operation, dtype;

-- an event tells what each side was expected to take; times of such a device are marked
SELECT ask(1000) FROM generate_series(1, 3);
SELECT count(*) AS events, bool_and(backend = 'emulated') AS device, bool_and(virtual) AS virtual, bool_and(actual_us > 0) AS actual, bool_or(bytes_required > 0) AS required, bool_and(bytes_available >= bytes_required) AS fits FROM hybrid_events;
SELECT backend, operation, sum(calls) AS calls, sum(items) AS items, bool_and(bytes_up > 0) AS up, bool_and(bytes_down > 0) AS down, bool_and(virtual) AS virtual FROM hybrid_stats GROUP BY backend, operation;

-- the causes of fallbacks
SET hybrid.emulated_faults = 'fail_every=1,status=transient';
SELECT ask(1000);
SET hybrid.emulated_faults = 'fail_every=1,status=nomem';
SELECT ask(1000);
SET hybrid.emulated_faults = '';
SELECT sum(fallbacks) AS fallbacks, bool_and(success_rate < 1) AS failed, bool_or(fallback_causes ? 'transient') AS transient, bool_or(fallback_causes ? 'out of memory') AS memory FROM hybrid_stats WHERE backend = 'emulated' AND failures > 0;
SELECT reason, fallback, status, error IS NOT NULL AS error FROM hybrid_events WHERE status <> 'ok';

-- both sides are learned, and what is expected of each batch is shown
SELECT ask(n) FROM generate_series(500, 20000, 1500) n;
SET hybrid.execution = prefer_cpu;
SELECT ask(n) FROM generate_series(500, 20000, 1500) n;
SET hybrid.execution = auto;
SELECT scope, backend, operation, dims_low, dims_high, samples > 5 AS samples, launch_us >= 0 AS launch, predicted_us > 0 AS predicted, speedup > 0 AS speedup, break_even IS NULL OR break_even > 0 AS break_even, breaker, virtual
	FROM hybrid_tracker WHERE samples > 5 ORDER BY device LIMIT 2;
SELECT device, predicted_us > 0 AS predicted, bytes_required >= 8000 AS bytes, virtual FROM hybrid_explain('distance', 1000, 2) WHERE device < 2 ORDER BY device;
SELECT count(*) FILTER (WHERE chosen) AS chosen, count(*) FROM hybrid_explain('distance', 1000, 2);
SELECT backend, chosen, reason FROM hybrid_explain('distance', 10, 2) WHERE chosen;

-- an open breaker
SET hybrid.execution = emulated;
SET hybrid.emulated_faults = 'fail_every=1,status=transient';
DO $$ BEGIN FOR i IN 1 .. 20 LOOP BEGIN PERFORM ask(1000); EXCEPTION WHEN system_error OR object_not_in_prerequisite_state THEN NULL; END; END LOOP; END $$;
SELECT backend, breaker, success_rate < 1 AS failed FROM hybrid_tracker WHERE device > 0 AND operation = 'distance' ORDER BY device LIMIT 1;
SELECT able, status FROM hybrid_explain('distance', 1000, 2) WHERE device = 1;
RESET ROLE;
SELECT hybrid_reset_stats();
SELECT count(*) FROM hybrid_tracker;
SET hybrid.emulated_faults = '';
SET ROLE regress_hybrid_reader;
SELECT ask(1000);
SELECT backend, breaker FROM hybrid_tracker WHERE device > 0;
RESET ROLE;
REVOKE SET ON PARAMETER hybrid.emulated_faults, hybrid.gpu_timeout FROM regress_hybrid_reader;
DROP ROLE regress_hybrid_reader;
DROP FUNCTION ask(int);
