-- the dispatcher with a device: the emulated one, which computes on the host on made-up time.
-- Needs hybrid_emulated.so, which only the test targets install.
\set VERBOSITY terse
SET hybrid.plugins = 'hybrid_emulated';
SET hybrid.execution = auto;
-- all rows are one batch, so that calls can be counted
SET hybrid.batch_max = 1000000;
SET hybrid.batch_wait = 0;
SELECT device, backend, state, detail, virtual FROM hybrid_devices WHERE device = 1;
CREATE TABLE point (id int PRIMARY KEY, v vector(16));
INSERT INTO point SELECT i, (SELECT array_agg((i * j * 7919) % 101) FROM generate_series(1, 16) j)::vector FROM generate_series(1, 1024) i;
CREATE TABLE answer AS SELECT * FROM hybrid_knn('point', 'v', ARRAY['[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]']::vector[], 20) WITH NO DATA;
CREATE FUNCTION ask() RETURNS SETOF answer LANGUAGE sql AS $$
	SELECT * FROM hybrid_knn('point', 'v', ARRAY['[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]']::vector[], 20) $$;
CREATE FUNCTION differs() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM ((TABLE answer EXCEPT SELECT * FROM ask()) UNION ALL (SELECT * FROM ask() EXCEPT TABLE answer)) d $$;
-- where all sessions share a table it has the others' events, too
CREATE VIEW own_events AS SELECT * FROM hybrid_events WHERE pid = pg_backend_pid();
CREATE FUNCTION last_event(OUT operation text, OUT execution text, OUT backend text, OUT reason text, OUT fallback bool, OUT status text, OUT virtual bool)
RETURNS SETOF record LANGUAGE sql AS $$
	SELECT operation, execution, backend, reason, fallback, status, virtual FROM own_events OFFSET greatest((SELECT count(*) FROM own_events) - 1, 0) $$;
SET hybrid.force_cpu = on;
INSERT INTO answer SELECT * FROM ask();
SET hybrid.force_cpu = off;

-- too small a batch; then with no history the device is tried, since it costs nothing to open
SET hybrid.gpu_min_batch = 2000;
SELECT differs();
SELECT * FROM last_event();
SET hybrid.gpu_min_batch_overrides = 'topk:1024';
SELECT hybrid_reset_stats();
SELECT differs();
SELECT backend, reason, virtual FROM own_events LIMIT 1;
RESET hybrid.gpu_min_batch;
RESET hybrid.gpu_min_batch_overrides;
SELECT state, memory_total FROM hybrid_devices WHERE device = 1;
SELECT operation, calls > 0 AS calls, bytes_up > 0 AS up, bytes_down > 0 AS down, virtual FROM hybrid_stats WHERE device = 1;

-- forced and preferred
SET hybrid.execution = gpu;
SELECT differs();
SELECT * FROM last_event();
SET hybrid.execution = emulated;
SELECT differs();
SELECT * FROM last_event();
SET hybrid.execution = prefer_cpu;
SELECT differs();
SELECT * FROM last_event();
SET hybrid.execution = prefer_gpu;
SELECT differs();
SELECT * FROM last_event();

-- it fails: the CPU answers, and after three failures in a row the device is left alone
SELECT hybrid_reset_stats();
SET hybrid.emulated_faults = 'fail_every=1,status=transient';
SELECT differs();
SELECT * FROM last_event();
SELECT differs();
SELECT * FROM last_event();
SELECT device, operation, failures, fallbacks, success_rate FROM hybrid_stats WHERE device = 1;
-- out of memory says nothing of reliability; smaller pieces find room
SELECT hybrid_reset_stats();
SET hybrid.emulated_faults = 'fail_at=1,status=nomem';
SELECT differs();
SELECT backend, reason, fallback, status FROM own_events LIMIT 1;
-- a lost context is opened again
SELECT hybrid_reset_stats();
SET hybrid.emulated_faults = 'fail_at=1,status=context_lost';
SELECT differs();
SELECT backend, reason, fallback, status FROM own_events LIMIT 1;
-- what fails half-way leaves nothing in the answer
SELECT hybrid_reset_stats();
SET hybrid.emulated_faults = 'in=poll,fail_at=1,status=transient';
SELECT differs();
SELECT backend, fallback, status FROM own_events LIMIT 1;
-- a hang
SELECT hybrid_reset_stats();
SET hybrid.gpu_timeout = '20ms';
SET hybrid.emulated_faults = 'fail_at=1,status=hang';
SELECT differs();
SELECT backend, fallback, status, error FROM own_events LIMIT 1;
-- a hang and a statement timeout: the session is not stuck
SELECT hybrid_reset_stats();
SET hybrid.gpu_timeout = '1h';
SET hybrid.emulated_faults = 'fail_at=1,op=topk,status=hang';
SET statement_timeout = '100ms';
SELECT differs();
RESET statement_timeout;
SELECT differs();
-- the cancel is not the device's failure
SELECT operation, calls, failures, fallbacks, success_rate FROM hybrid_stats WHERE device = 1;
RESET hybrid.gpu_timeout;
-- an error where the user insists on the device
SELECT hybrid_reset_stats();
SET hybrid.execution = gpu;
SET hybrid.emulated_faults = 'fail_every=1,status=transient';
SELECT differs();
SET hybrid.emulated_faults = 'fail_every=1,status=nomem';
SELECT differs();
SET hybrid.emulated_faults = 'above=1k';
SELECT differs();
-- the process is lost to the device: once and for all
SET hybrid.execution = prefer_gpu;
SET hybrid.emulated_faults = 'fail_at=1,status=sticky';
SELECT hybrid_reset_stats();
SELECT differs();
SELECT state, detail FROM hybrid_devices WHERE device = 1;
SET hybrid.emulated_faults = '';
SELECT differs();
SELECT * FROM last_event();

-- what a process lost it never uses again: another session
\c -
SET hybrid.batch_max = 1000000;
SET hybrid.batch_wait = 0;
SET hybrid.execution = prefer_gpu;
SET hybrid.plugins = 'hybrid_emulated';

-- a plug-in of another interface
SET hybrid.emulated_faults = 'wrong_abi';
SET hybrid.plugins = '';
SELECT count(*) FROM hybrid_devices;
SET hybrid.plugins = 'hybrid_emulated';
SELECT state, detail LIKE '%interface%' AS told FROM hybrid_devices WHERE device = 1;
SELECT differs();
RESET hybrid.emulated_faults;
-- a small memory: what does not fit goes there in pieces
SET hybrid.plugins = '';
SELECT count(*) FROM hybrid_devices;
SET hybrid.emulated_memory_mb = 1;
SET hybrid.plugins = 'hybrid_emulated';
SELECT count(*) FROM hybrid_knn('point', 'v', (SELECT array_agg(v) FROM point), 100);
SELECT backend, reason, bytes_required > bytes_available AS too_much FROM own_events LIMIT 1;
RESET hybrid.emulated_memory_mb;
-- several devices
SET hybrid.plugins = '';
SELECT count(*) FROM hybrid_devices;
SET hybrid.emulated_devices = 3;
SET hybrid.plugins = 'hybrid_emulated';
SELECT device, backend, state FROM hybrid_devices WHERE device > 0 ORDER BY device;
-- a plug-in named twice is there once
SET hybrid.plugins = 'hybrid_emulated, hybrid_emulated';
SELECT count(*) FROM hybrid_devices WHERE device > 0;

-- only some of them; both sides at once
SELECT hybrid_reset_stats();
SET hybrid.execution = gpu;
SET hybrid.gpu_device = '2';
SELECT differs();
SELECT device FROM hybrid_stats WHERE calls > 0 AND operation = 'topk' AND device > 0 ORDER BY device;
SET hybrid.gpu_device = '4, 5';
SELECT differs();
SET hybrid.gpu_device = 'all';
SET hybrid.gpu_device = '1,';
RESET hybrid.gpu_device;
SET hybrid.execution = split;
SET hybrid.split_gpu_percent = 50;
SELECT differs();
SELECT differs();
SELECT execution, fallback FROM last_event();
RESET hybrid.split_gpu_percent;
RESET hybrid.execution;

DROP TABLE point, answer CASCADE;
DROP VIEW own_events;
