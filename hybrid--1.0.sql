-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION hybrid" to load this file. \quit

-- ---------------------------------------------------------------------------------------------
-- The vector type (src/types)
-- ---------------------------------------------------------------------------------------------

-- ---------------------------------------------------------------------------------------------
-- Batches of vectors (src/knn)
-- ---------------------------------------------------------------------------------------------

-- ---------------------------------------------------------------------------------------------
-- The access method (src/index)
-- ---------------------------------------------------------------------------------------------

-- ---------------------------------------------------------------------------------------------
-- Graphs (src/graph)
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION hybrid_spread(
	graph text, seeds bigint[], activation float8[] DEFAULT NULL, hops int DEFAULT 3,
	decay float8 DEFAULT 0.85, fan float8 DEFAULT 1, threshold float8 DEFAULT 0,
	refire int DEFAULT NULL, combine text DEFAULT 'sum', direction text DEFAULT 'out',
	types text[] DEFAULT NULL, normalise bool DEFAULT false, tolerance float8 DEFAULT 1e-9,
	k int DEFAULT NULL)
	RETURNS TABLE (id bigint, activation float8, hop int)
	AS 'MODULE_PATHNAME', 'hybrid_spread'
	-- Unsafe, since nobody knows what functions the edges query calls.
	LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 1000;

COMMENT ON FUNCTION hybrid_spread(text, bigint[], float8[], int, float8, float8, float8, int, text,
	text, text[], bool, float8, int) IS
'Activation spreading over a weighted graph.
graph: a query that begins with SELECT, WITH, VALUES or TABLE and returns source, target[, weight[, type]], by position; it only reads, with the rights, snapshot and search_path of the caller; weight is 1 where it returns none, finite and >= 0.
seeds: the nodes that start; activation: how much each starts with, finite and >= 0 (NULL: 1 each); a seed given twice starts with the sum, a seed without edges keeps what it has.
Each hop, a node that received at least threshold passes on decay times that, along its outgoing weights divided by (their sum ^ fan), fan being 0, 0.5 or 1; hops NULL: until what moves is less than tolerance times the seeds, an error where that may never end.
refire: how often a node may pass on (NULL: no limit); combine: ''sum'' of what arrives, or ''max'': the best path; direction: ''out'', ''in'' or ''both''; types: only edges of these types; normalise: the activations of all nodes add up to 1; k: at most so many rows.
Returns the nodes with activation above 0 and the hop that first reached each (0: a seed), by activation, largest first, then by id; the same numbers to the bit on every backend.
Raises on an edge with a NULL, or with a weight that is NaN, infinite or negative; on a query that is not a plain read or returns other columns; on arguments out of range; on activation out of range; on a graph beyond hybrid.graph_memory_limit.';

-- ---------------------------------------------------------------------------------------------
-- What the dispatcher did (src/telemetry)
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION hybrid_get_devices(
	OUT device int, OUT backend text, OUT name text, OUT architecture text, OUT cores int,
	OUT memory_total bigint, OUT memory_free bigint, OUT memory_used bigint, OUT state text,
	OUT detail text, OUT virtual bool)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_get_devices'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 2;
COMMENT ON FUNCTION hybrid_get_devices() IS
'devices this session can use, and why not; memory in bytes; opens none';

CREATE FUNCTION hybrid_get_stats(
	OUT device int, OUT backend text, OUT operation text, OUT calls bigint, OUT items bigint,
	OUT failures bigint, OUT fallbacks bigint, OUT success_rate float8, OUT mean_us float8,
	OUT p50_us float8, OUT p99_us float8, OUT total_ms float8, OUT bytes_up bigint,
	OUT bytes_down bigint, OUT virtual bool)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_get_stats'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION hybrid_get_stats() IS
'counters of this session, a row for each device and operation that was used; times in microseconds, made up by a model where virtual is true';

CREATE FUNCTION hybrid_get_events(
	OUT at timestamptz, OUT operation text, OUT dtype text, OUT metric text, OUT dims int,
	OUT queries bigint, OUT targets bigint, OUT k int, OUT items bigint, OUT strategy text,
	OUT device int, OUT backend text, OUT reason text, OUT fallback bool, OUT status text,
	OUT native_code int, OUT error text, OUT predicted_cpu_us float8,
	OUT predicted_device_us float8, OUT actual_us float8, OUT virtual bool,
	OUT bytes_required bigint, OUT bytes_available bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_get_events'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 256;
COMMENT ON FUNCTION hybrid_get_events() IS
'the last decisions of this session''s dispatcher, oldest first: what was run where, why, and how long it took in microseconds';

CREATE FUNCTION hybrid_reset_stats() RETURNS void
AS 'MODULE_PATHNAME', 'hybrid_reset_stats'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION hybrid_reset_stats() IS
'forgets this session''s counters, events, measured times and open breakers';

CREATE VIEW hybrid_devices AS SELECT * FROM @extschema@.hybrid_get_devices();
COMMENT ON VIEW hybrid_devices IS 'devices of this session, and why one cannot be used';
CREATE VIEW hybrid_stats AS SELECT * FROM @extschema@.hybrid_get_stats();
COMMENT ON VIEW hybrid_stats IS 'what this session''s dispatcher ran, by device and operation';
CREATE VIEW hybrid_events AS SELECT * FROM @extschema@.hybrid_get_events();
COMMENT ON VIEW hybrid_events IS 'the last decisions of this session''s dispatcher, oldest first';
GRANT SELECT ON hybrid_devices, hybrid_stats, hybrid_events TO PUBLIC;
