-- what the views must not leave out. Needs hybrid_emulated.so, which only the test targets install.
\set VERBOSITY terse
SET hybrid.plugins = '';
SELECT hybrid_reset_stats();
SET hybrid.emulated_devices = 4;
SET hybrid.plugins = 'hybrid_emulated';
SET hybrid.execution = gpu;
CREATE TABLE telemetry_row AS
	SELECT i AS id, array_agg(round(random()::numeric, 3) + i * 0)::float4[]::vector AS v
	FROM generate_series(1, 5000) i, generate_series(1, 32) GROUP BY i;

-- devices_that_finished_only_pieces_have_rows: of a batch over several devices each counts its part
SET hybrid.batch_max = 5000;
SET hybrid.batch_wait = 0; -- however busy the machine is
SET work_mem = '64MB';
DO $$ BEGIN FOR i IN 1 .. 3 LOOP
	PERFORM count(*) FROM hybrid_knn('telemetry_row', 'v', (SELECT array_agg(v) FROM telemetry_row WHERE id <= 3000), 3); END LOOP; END $$;
SELECT count(*) > 1 AS several, bool_and(pieces > 0) AS pieces, bool_and(items > 0) AS items, bool_and(bytes_up > 0) AS up
	FROM hybrid_stats WHERE backend = 'emulated';
SELECT (SELECT sum(items) FROM hybrid_stats) = (SELECT sum(items) FROM hybrid_events) AS all_items;
-- flushes_are_counted_where_the_cpu_made_no_call
SELECT backend, calls, flushes FROM hybrid_stats WHERE backend = 'cpu';
RESET work_mem;
RESET hybrid.batch_max;
RESET hybrid.batch_wait;
RESET hybrid.execution;

-- explain_of_batches_that_nobody_can_hold: an error; of what is merely large, figures
SELECT * FROM hybrid_explain('topk', 9223372036854775807, 16000, 9223372036854775807);
SELECT * FROM hybrid_explain('topk', 9223372036854775807, 16000, 1);
SELECT * FROM hybrid_explain('distance', 1000000000, 2, 1000000000);
SELECT bool_and(bytes_required >= bytes_up) AS bytes, bool_and(bytes_up > 768 * 4e9) FILTER (WHERE device > 0) AS up FROM hybrid_explain('topk', 1000000000, 768, 1000000);
SELECT min(bytes_required) >= 0 AS bytes, max(bytes_required) > 1e18 AS many FROM hybrid_explain('spread', 10000000000000, queries => 5000000000000);

SET hybrid.plugins = '';
SELECT hybrid_reset_stats();
DROP TABLE telemetry_row;

-- a_device_that_is_left_out_says_so
SET hybrid.plugins = 'hybrid_emulated';
SET hybrid.gpu_device = '1';
SELECT device, state, detail FROM hybrid_devices;
SET hybrid.gpu_device = '5';
SELECT DISTINCT state, detail FROM hybrid_devices WHERE device > 0;
RESET hybrid.gpu_device;
SELECT DISTINCT state, detail FROM hybrid_devices WHERE device > 0;

-- an_event_has_the_strategy_as_it_was_set, and a_call_that_raised_names_no_device
SELECT hybrid_reset_stats();
SET hybrid.execution = emulated;
SELECT hybrid_distances('[1,2]', ARRAY['[3,4]', '[1,2]']::vector[]);
SET hybrid.execution = cuda;
SELECT hybrid_distances('[1,2]', ARRAY['[3,4]', '[1,2]']::vector[]);
SET hybrid.execution = gpu;
SET hybrid.gpu_device = '5';
SELECT hybrid_distances('[1,2]', ARRAY['[3,4]', '[1,2]']::vector[]);
RESET hybrid.gpu_device;
RESET hybrid.execution;
SELECT execution, device, backend, reason, fallback, status, error FROM hybrid_events;
SELECT backend, calls, failures FROM hybrid_stats;

-- a_device_that_never_succeeded_shows_its_breaker
SELECT hybrid_reset_stats();
SET hybrid.emulated_faults = 'fail_every=1';
SET hybrid.execution = prefer_gpu;
SELECT count(hybrid_distances('[1,2]', ARRAY['[3,4]', '[1,2]']::vector[])) FROM generate_series(1, 4);
SELECT device, operation, dtype, dims_low, observations, launch_us, break_even, breaker, success_rate, virtual FROM hybrid_tracker WHERE device > 0;
SET hybrid.emulated_faults = '';
RESET hybrid.execution;
SELECT hybrid_reset_stats();

-- lost_devices_stay_lost_when_the_dispatcher_restarts: in this process, whatever the settings say later
SET hybrid.plugins = 'hybrid_emulated';
SET hybrid.emulated_faults = 'fail_at=1,status=process_lost';
SET hybrid.execution = prefer_gpu;
SELECT hybrid_distances('[1,2]', ARRAY['[3,4]', '[1,2]']::vector[]);
SET hybrid.emulated_faults = '';
SELECT device, state, detail FROM hybrid_devices WHERE device > 0;
SET hybrid.plugins = '';
SELECT count(*) FROM hybrid_devices;
SET hybrid.emulated_devices = 2;
SET hybrid.plugins = 'hybrid_emulated';
SELECT device, state, detail FROM hybrid_devices WHERE device > 0;
SELECT hybrid_distances('[1,2]', ARRAY['[3,4]', '[1,2]']::vector[]);
SELECT backend, reason FROM hybrid_events;
SET hybrid.plugins = '';
RESET hybrid.execution;
