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
