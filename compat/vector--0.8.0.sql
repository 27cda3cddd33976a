-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION vector" to load this file. \quit

-- The access methods and operator classes of pgvector 0.8.0, for indexes of hybrid.  Types, functions and
-- operators with pgvector's names are hybrid's own.

CREATE FUNCTION hnswhandler(internal) RETURNS index_am_handler
AS 'MODULE_PATHNAME', 'hybrid_hnsw_handler'
LANGUAGE C;
COMMENT ON FUNCTION hnswhandler(internal) IS
'handler of the access method hnsw; called by PostgreSQL only';

CREATE FUNCTION ivfflathandler(internal) RETURNS index_am_handler
AS 'MODULE_PATHNAME', 'hybrid_ivfflat_handler'
LANGUAGE C;
COMMENT ON FUNCTION ivfflathandler(internal) IS
'handler of the access method ivfflat; called by PostgreSQL only';

CREATE ACCESS METHOD hnsw TYPE INDEX HANDLER hnswhandler;
COMMENT ON ACCESS METHOD hnsw IS
'another name of the access method hybrid; further options, which have no effect: m, ef_construction';

CREATE ACCESS METHOD ivfflat TYPE INDEX HANDLER ivfflathandler;
COMMENT ON ACCESS METHOD ivfflat IS
'another name of the access method hybrid; a further option, which has no effect: lists';

-- The operator classes of pgvector, with the same defaults, so that pg_dump writes what pgvector can read.
-- A role without privileges may choose the schema in which this runs as a superuser, so everything here is
-- qualified with hybrid's schema.
DO $$
DECLARE
	hybrid CONSTANT name := (SELECT n.nspname
		FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
		WHERE e.extname OPERATOR(pg_catalog.=) 'hybrid'::pg_catalog.name);
	class record;
BEGIN
	FOR class IN
		SELECT * FROM (VALUES
			('hnsw', 'vector', 'l2', '<->', '', 'Euclidean distance'),
			('hnsw', 'vector', 'ip', '<#>', '', 'negative inner product'),
			('hnsw', 'vector', 'cosine', '<=>', '', 'cosine distance'),
			('hnsw', 'vector', 'l1', '<+>', '', 'taxicab distance'),
			('hnsw', 'halfvec', 'l2', '<->', '', 'Euclidean distance'),
			('hnsw', 'halfvec', 'ip', '<#>', '', 'negative inner product'),
			('hnsw', 'halfvec', 'cosine', '<=>', '', 'cosine distance'),
			('hnsw', 'halfvec', 'l1', '<+>', '', 'taxicab distance'),
			('hnsw', 'sparsevec', 'l2', '<->', '', 'Euclidean distance'),
			('hnsw', 'sparsevec', 'ip', '<#>', '', 'negative inner product'),
			('hnsw', 'sparsevec', 'cosine', '<=>', '', 'cosine distance'),
			('hnsw', 'sparsevec', 'l1', '<+>', '', 'taxicab distance'),
			('hnsw', 'bit', 'hamming', '<~>', '', 'Hamming distance'),
			('hnsw', 'bit', 'jaccard', '<%>', '', 'Jaccard distance'),
			('ivfflat', 'vector', 'l2', '<->', 'DEFAULT', 'Euclidean distance'),
			('ivfflat', 'vector', 'ip', '<#>', '', 'negative inner product'),
			('ivfflat', 'vector', 'cosine', '<=>', '', 'cosine distance'),
			('ivfflat', 'halfvec', 'l2', '<->', '', 'Euclidean distance'),
			('ivfflat', 'halfvec', 'ip', '<#>', '', 'negative inner product'),
			('ivfflat', 'halfvec', 'cosine', '<=>', '', 'cosine distance'),
			('ivfflat', 'bit', 'hamming', '<~>', '', 'Hamming distance')
		) v(am, type, metric, operator, preferred, distance)
	LOOP
		EXECUTE pg_catalog.format(
			'CREATE OPERATOR CLASS %2$s_%3$s_ops %4$s FOR TYPE %5$I.%2$I USING %1$s AS '
			'OPERATOR 1 %6$I.%7$s (%5$I.%2$I, %5$I.%2$I) FOR ORDER BY pg_catalog.float_ops, %8$s '
			'FUNCTION 1 %6$I.%9$s(pg_catalog.internal)',
			class.am, class.type, class.metric, class.preferred,
			CASE class.type WHEN 'bit' THEN 'pg_catalog' ELSE hybrid END, hybrid, class.operator,
			-- the condition of a sphere: <<->> for <->
			CASE WHEN class.type IN ('vector', 'halfvec') THEN
				pg_catalog.format('OPERATOR 2 %1$I.<%2$s> (%1$I.%3$I, %1$I.hybrid_sphere),',
					hybrid, class.operator, class.type)
			END,
			CASE class.type WHEN 'vector' THEN '_hybrid_index_' ELSE pg_catalog.format('_hybrid_index_%s_', class.type) END
				OPERATOR(pg_catalog.||) class.metric);
		EXECUTE pg_catalog.format('COMMENT ON OPERATOR CLASS %s_%s_ops USING %s IS %L',
			class.type, class.metric, class.am,
			pg_catalog.format('order by %s, %s', class.distance, class.operator));
		EXECUTE pg_catalog.format('COMMENT ON OPERATOR FAMILY %s_%s_ops USING %s IS %L',
			class.type, class.metric, class.am, pg_catalog.format('order by %s', class.distance));
	END LOOP;
END
$$;
