-- A registered graph that a session uses again also stays on a device. Needs hybrid_emulated.so, which only the
-- test targets install.
SET hybrid.plugins = 'hybrid_emulated';
SET hybrid.gpu_min_batch = 1;
SET hybrid.execution = prefer_gpu;
CREATE TABLE link AS SELECT i % 997 AS source, i * 7 % 1009 AS target, (1 + i % 5)::real AS weight FROM generate_series(1, 20000) i;
CREATE INDEX registered ON link USING hybrid_graph (source, target, weight);
CREATE TABLE seed AS SELECT i AS row, ARRAY[i * 9 % 400, i]::bigint[] AS ids FROM generate_series(1, 8) i;
\set spread 'LATERAL hybrid_spread(\'registered\', s.ids, hops => CASE WHEN s.row % 3 = 0 THEN NULL ELSE s.row END, threshold => s.row * 1e-6, refire => NULLIF(s.row % 4, 0), combine => CASE WHEN s.row % 2 = 0 THEN \'max\' ELSE \'sum\' END) a'
SET hybrid.force_cpu = on;
CREATE TABLE cpu AS SELECT s.row, a.* FROM seed s, :spread;
RESET hybrid.force_cpu;
CREATE TABLE device (LIKE cpu);
CREATE FUNCTION differ() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM (TABLE cpu EXCEPT ALL TABLE device) a FULL JOIN (TABLE device EXCEPT ALL TABLE cpu) b ON false $$;
CREATE FUNCTION on_device() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE device;
	INSERT INTO device SELECT s.row, a.* FROM seed s, LATERAL hybrid_spread('registered', s.ids, hops => CASE WHEN s.row % 3 = 0 THEN NULL ELSE s.row END, threshold => s.row * 1e-6, refire => NULLIF(s.row % 4, 0), combine => CASE WHEN s.row % 2 = 0 THEN 'max' ELSE 'sum' END) a;
	RETURN differ();
END $$;
-- bytes of 20,000 columns and weights, the sums of 1,009 nodes and their rows; bytes that all calls have sent
CREATE VIEW resident AS SELECT resident_units AS units, resident_bytes BETWEEN 20000 * 8 + 1009 * 20 AND 20000 * 8 + 1009 * 20 + 4096 AS one, resident_hits AS hits,
	(SELECT sum(bytes_up) FROM hybrid_stats WHERE operation = 'spread' AND hybrid_stats.device = 1) AS up FROM hybrid_devices d WHERE d.device = 1;

-- the first row opens the device, the second leaves a trace, the third sends the graph, the others send their seeds
SELECT on_device();
SELECT units, one, hits, up < 4 * 200000 AS little FROM resident;
SELECT up AS before FROM resident \gset
-- another statement finds it there
SELECT on_device();
SELECT units, hits, up - :before < 2.5 * 200000 AS little FROM resident;
SELECT count(*) AS calls, bool_and(device = 1) AS there, bool_or(fallback) AS fallback FROM hybrid_events WHERE operation = 'spread' AND device > 0;

-- another decay or fan finds the same graph
TRUNCATE cpu, device;
\set shaped 'seed s, LATERAL hybrid_spread(\'registered\', s.ids, decay => 0.5 + (s.row / 4) * 0.1, fan => (s.row / 6) * 0.5) a'
SET hybrid.force_cpu = on;
INSERT INTO cpu SELECT s.row, a.* FROM :shaped;
RESET hybrid.force_cpu;
SELECT hits AS before, up AS sent FROM resident \gset
INSERT INTO device SELECT s.row, a.* FROM :shaped;
SELECT differ(), hits - :before AS hits, up - :sent < 2.5 * 200000 AS little FROM resident;
SELECT units AS units_before, hits AS before, up AS sent FROM resident \gset
TRUNCATE cpu, device;
\set shapes '(VALUES (1, 0.3, 1), (2, 0.3, 0.5), (3, 1, 0), (4, 0, 0.5)) p (row, decay, fan), LATERAL hybrid_spread(\'registered\', \'{1, 5}\', decay => p.decay, fan => p.fan) a'
INSERT INTO device SELECT p.row, a.* FROM :shapes;
SELECT sum(rank) > 0.999 AS ranked FROM hybrid_pagerank('registered', 0.5, tolerance => 0.1, seeds => '{1, 5}');
SELECT units - :units_before AS units, hits - :before AS hits, up - :sent < 1000 AS only_seeds FROM resident;
SET hybrid.force_cpu = on;
INSERT INTO cpu SELECT p.row, a.* FROM :shapes;
RESET hybrid.force_cpu;
SELECT differ();
-- another hub has other divisors, which the graph on the device then holds
TRUNCATE cpu, device;
\set hubs '(VALUES (1, 0.3), (2, 0.3), (3, 0.3), (4, 0), (5, 1), (6, 0.3)) p (row, hub), LATERAL hybrid_spread(\'registered\', \'{1, 5}\', hub => p.hub) a'
INSERT INTO device SELECT p.row, a.* FROM :hubs;
SET hybrid.force_cpu = on;
INSERT INTO cpu SELECT p.row, a.* FROM :hubs;
RESET hybrid.force_cpu;
SELECT differ(), (SELECT count(DISTINCT activation) FROM cpu WHERE id = (SELECT min(id) FROM cpu WHERE hop = 2)) AS activations, hits > :before + 5 AS hit FROM resident;
-- a call without seeds prepares its hub, too, and runs nothing; afterwards the device has the graph as before
SELECT count(*) > 0 AS spread FROM (VALUES (1), (2), (3), (4)) p (row), LATERAL hybrid_spread('registered', '{1, 5}', hub => CASE WHEN p.row > 0 THEN 0.3 END) a;
SELECT count(*) FROM hybrid_spread('registered', '{}', hub => 0.5);
SELECT up AS sent FROM resident \gset
SELECT count(*) > 0 AS spread FROM hybrid_spread('registered', '{1, 5}', hub => 0.3);
SELECT up - :sent BETWEEN 1 AND 999 AS only_seeds FROM resident;
TRUNCATE cpu, device;
SET hybrid.force_cpu = on;
INSERT INTO cpu SELECT s.row, a.* FROM seed s, :spread;
RESET hybrid.force_cpu;

-- an error in between; a graph whose description does not fit into the host's memory
SELECT hits AS before FROM resident \gset
DO $$
BEGIN
	PERFORM count(*) FROM seed s, LATERAL hybrid_spread('registered', s.ids, CASE WHEN s.row = 7 THEN '{-1,-1}'::float8[] END);
EXCEPTION WHEN invalid_parameter_value THEN NULL;
END $$;
SELECT hits > :before AS hit FROM resident;
SELECT on_device();
CREATE TABLE chain AS SELECT i AS source, i + 1 AS target FROM generate_series(1, 5000) i;
CREATE INDEX chains ON chain USING hybrid_graph (source, target);
SET hybrid.graph_memory_limit = '4MB';
SELECT hits AS before FROM resident \gset
SELECT count(*) FROM seed s, LATERAL hybrid_spread('chains', s.ids || 1::bigint);
SELECT hits - :before AS hits FROM resident;
-- a new index has a new graph
DROP INDEX chains;
CREATE INDEX chains ON chain USING hybrid_graph (source, target);
SET hybrid.graph_memory_limit = '580kB';
SELECT hits AS before FROM resident \gset
SELECT count(*) FROM seed s, LATERAL hybrid_spread('chains', s.ids || 1::bigint);
SELECT hits - :before AS hits FROM resident;
RESET hybrid.graph_memory_limit;

-- a device that fails: during an upload, while it spreads, and when its context is lost
SET hybrid.gpu_success_threshold = 0.1;
CREATE FUNCTION with_fault(fault text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	wrong bigint;
BEGIN
	-- a device that has refused nothing yet, open, and with closed breakers
	PERFORM set_config('hybrid.plugins', '', false);
	PERFORM hybrid_reset_stats();
	PERFORM set_config('hybrid.plugins', 'hybrid_emulated', false);
	PERFORM on_device(), hybrid_reset_stats();
	PERFORM set_config('hybrid.emulated_faults', fault, false);
	IF fault LIKE 'in=upload%' THEN
		DROP INDEX registered;
		CREATE INDEX registered ON link USING hybrid_graph (source, target, weight);
	END IF;
	wrong := on_device();
	PERFORM set_config('hybrid.emulated_faults', '', false);
	RETURN format('%s wrong, failed: %s', wrong, (SELECT sum(failures) > 0 FROM hybrid_stats WHERE operation = 'spread'));
END $$;
SELECT fault, with_fault(fault) FROM (VALUES ('fail_at=5'), ('in=poll,fail_at=5'), ('fail_at=6,status=nomem'), ('fail_at=5,status=context_lost'), ('in=poll,fail_at=6,status=context_lost'), ('fail_at=4'), ('fail_every=2')) v (fault);
SET hybrid.gpu_resident_memory = 0;
SELECT on_device();
SELECT units FROM resident;
RESET hybrid.gpu_resident_memory;
-- a lack of memory is not a failure of the device
SELECT fault, with_fault(fault) FROM (VALUES ('in=upload'), ('in=upload,status=nomem'), ('in=upload,status=context_lost')) v (fault);
RESET hybrid.gpu_success_threshold;
SELECT hybrid_reset_stats();

-- the device is given up in the middle, and so is the session
SELECT count(*) > 0 FROM seed s, LATERAL hybrid_spread('registered', s.ids || CASE s.row WHEN 5 THEN length(set_config('hybrid.plugins', '', false)) ELSE 1 END::bigint);
SET hybrid.plugins = 'hybrid_emulated';
SELECT on_device();
BEGIN;
DECLARE c CURSOR FOR SELECT s.row, a.n FROM seed s, LATERAL (SELECT count(*) AS n FROM hybrid_spread('registered', s.ids)) a;
FETCH 5 FROM c;
\c -
DROP VIEW resident;
DROP FUNCTION differ, on_device, with_fault;
DROP TABLE link, chain, seed, cpu, device;
