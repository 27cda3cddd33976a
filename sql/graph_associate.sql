-- hybrid_associate: nearest rows as seeds, activation over relations, one score
\set VERBOSITY terse
CREATE SCHEMA assoc;
SET search_path = assoc, public;
CREATE TABLE doc (id int PRIMARY KEY, owner name, v vector(3), h halfvec(3), s sparsevec(3), title text);
INSERT INTO doc SELECT id, owner, v::vector, v::vector::halfvec, v::vector::sparsevec, 'row ' || id FROM (VALUES
	(1, 'a', '[1,0,0.1]'), (2, 'a', '[0.9,0.3,0]'), (3, 'b', '[0,0.2,1]'), (4, 'a', '[0.6,0.7,0.2]'),
	(5, 'a', '[0,1,0.3]'), (6, 'b', '[-1,0.1,1]'), (7, 'a', '[0,0,0]'), (8, 'a', NULL)) d (id, owner, v);
CREATE TABLE link (source bigint, target bigint, weight real, kind text);
INSERT INTO link VALUES (1, 4, 2, 'x'), (1, 2, 1, 'x'), (2, 1, 1, 'x'), (4, 5, 3, 'y'), (3, 6, 4, 'x'), (5, 7, 1, 'x'), (5, 8, 1, 'x'),
	(5, 99, 1, 'x'), (99, 6, 1, 'x');
CREATE INDEX links ON link USING hybrid_graph (source, target, weight, kind);
CREATE FUNCTION shown(VARIADIC args text[]) RETURNS TABLE (id bigint, score numeric, similarity numeric, activation numeric, hop int)
LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE 'SELECT id, round(score::numeric, 4), round(similarity::numeric, 4), round(activation::numeric, 4), hop
		FROM hybrid_associate(' || array_to_string(args, ', ') || ') ORDER BY score DESC, id';
END $$;

-- rows without a vector or without a direction are related, but not similar; node 99 has no row
SELECT * FROM shown($$'doc', 'id', 'v', '[1,0,0]', 'links', seeds => 2, hops => 4$$);
-- the score is what it says
SELECT count(*) FROM hybrid_associate('doc', 'id', 'v', '[1,0,0]', 'links', seeds => 2, hops => 4, vector_weight => 0.3)
WHERE abs(score - (0.3 * coalesce(similarity, 0) + 0.7 * activation)) > 1e-15;
-- only similarity, only activation
SELECT * FROM shown($$'doc', 'id', 'v', '[1,0,0]', 'links', seeds => 2, vector_weight => 1, k => 3$$);
SELECT * FROM shown($$'doc', 'id', 'v', '[1,0,0]', 'links', seeds => 1, vector_weight => 0, k => 3$$);
-- what the spreading takes
SELECT * FROM shown($$'doc', 'id', 'v', '[0,1,0.3]', 'links', seeds => 1, vector_weight => 0, hops => 1, direction => 'in', decay => 0.5$$);
SELECT id, hop FROM shown($$'doc', 'id', 'v', '[1,0,0]', 'links', seeds => 1, vector_weight => 0, types => ARRAY['x'], fan => 0$$) WHERE hop IS NOT NULL;
SELECT id, hop FROM shown($$'doc', 'id', 'v', '[1,0,0]', 'SELECT source, target FROM link WHERE kind = $1', seeds => 1, vector_weight => 0, params => ARRAY['x']$$) WHERE hop IS NOT NULL;
-- a hub, and who explains each row, as hybrid_spread has them; with a hub, less arrives at 4, to which only heavy edges lead
SELECT a.id, a.hop, a.via, abs(a.activation - s.activation) < 1e-15 AS same, a.activation < n.activation AS less
FROM hybrid_associate('doc', 'id', 'v', '[1,0,0]', 'links', seeds => 1, vector_weight => 0, hub => 0.7) a
JOIN hybrid_associate('doc', 'id', 'v', '[1,0,0]', 'links', seeds => 1, vector_weight => 0) n USING (id)
LEFT JOIN (SELECT id, via, activation / max(activation) OVER () AS activation FROM hybrid_spread('links', ARRAY[1], hub => 0.7)) s USING (id)
WHERE s.via IS NOT DISTINCT FROM a.via ORDER BY a.id;
-- other metrics and types
SELECT metric, (SELECT string_agg(id || ' ' || score, ', ' ORDER BY score DESC) FROM shown(format($$'doc', 'id', 'v', '[1,0,0]', 'links', seeds => 2, k => 3, metric => %L$$, metric)))
FROM unnest('{cosine,l2,l1}'::text[]) metric;
SELECT col, (SELECT string_agg(id || ' ' || score, ', ' ORDER BY score DESC) FROM shown(format($$'doc', 'id', %L, '[1,0,0]', 'links', seeds => 2, k => 3$$, col)))
FROM unnest('{v,h,s}'::text[]) col;
-- by an index, also of another type than the query
CREATE INDEX doc_h ON doc USING hybrid (h halfvec_cosine_ops);
SET enable_seqscan = off;
SELECT id, score FROM shown($$'doc', 'id', 'h', '[1,0,0]', 'links', seeds => 2, k => 3$$);
SELECT index FROM hybrid_last_scan();
RESET enable_seqscan;
-- no direction, no rows; an empty table; no edges
SELECT * FROM shown($$'doc', 'id', 'v', '[0,0,0]', 'links'$$);
CREATE TABLE empty (LIKE doc);
SELECT * FROM shown($$'empty', 'id', 'v', '[1,0,0]', 'links'$$);
SELECT * FROM shown($$'doc', 'id', 'v', '[1,0,0]', 'SELECT 1, 2 WHERE false', seeds => 1, k => 2$$);
-- seeds that point away start with nothing
SELECT * FROM shown($$'doc', 'id', 'v', '[-1,-1,-1]', 'links', k => 2$$);
-- a related row without a vector is more similar than rows that point away
SELECT id FROM shown($$'doc', 'id', 'v', '[1,0,0]', 'links', seeds => 6, k => 5$$);
-- of rows with the same score, the one with the smallest id is returned, whether it is near or related
SELECT id FROM shown($$'doc', 'id', 'v', '[0,1,0.3]', 'VALUES (5, 4), (5, 2)', seeds => 1, k => 2, vector_weight => 0$$);
-- a view, partitions, a column of another name that needs quotes, NULL as id
CREATE VIEW others AS SELECT id AS "the id", v AS "V" FROM doc WHERE id <> 1;
SELECT id, score FROM shown($$'others', 'the id', 'V', '[1,0,0]', 'links', k => 2, seeds => 1$$);
CREATE TABLE parted (id bigint, v vector(3)) PARTITION BY RANGE (id);
CREATE TABLE low PARTITION OF parted FOR VALUES FROM (0) TO (3);
CREATE TABLE high PARTITION OF parted DEFAULT;
INSERT INTO parted SELECT id, v FROM doc UNION ALL SELECT NULL, '[1,0,0]';
SELECT id, score FROM shown($$'parted', 'id', 'v', '[1,0,0]', 'links', seeds => 2, k => 3$$);

-- what is refused
SELECT * FROM hybrid_associate('doc', 'id', 'v', '[1,0]', 'links');
SELECT * FROM hybrid_associate('doc', 'id', 'title', '[1,0,0]', 'links');
SELECT * FROM hybrid_associate('doc', 'title', 'v', '[1,0,0]', 'links');
SELECT * FROM hybrid_associate('doc', 'nothing', 'v', '[1,0,0]', 'links');
SELECT * FROM hybrid_associate('doc', 'ctid', 'v', '[1,0,0]', 'links');
SELECT * FROM hybrid_associate(0, 'id', 'v', '[1,0,0]', 'links');
SELECT * FROM hybrid_associate('doc', 'id', 'v', NULL, 'links');
SELECT * FROM hybrid_associate('doc', 'id', 'v', '[1,0,0]', NULL);
SELECT * FROM hybrid_associate('doc', 'id', 'v', '[1,0,0]', 'nothing');
SELECT * FROM hybrid_associate('doc', 'id', 'v', '[1,0,0]', 'DELETE FROM link RETURNING source, target');
SELECT * FROM hybrid_associate('doc', 'id', 'v', '[1,0,0]', 'links', k => 0);
SELECT * FROM hybrid_associate('doc', 'id', 'v', '[1,0,0]', 'links', seeds => -1);
SELECT * FROM hybrid_associate('doc', 'id', 'v', '[1,0,0]', 'links', vector_weight => 'NaN');
SELECT * FROM hybrid_associate('doc', 'id', 'v', '[1,0,0]', 'links', vector_weight => -0.1);
SELECT * FROM hybrid_associate('doc', 'id', 'v', '[1,0,0]', 'links', metric => 'ip');
SELECT * FROM hybrid_associate('doc', 'id', 'v', '[1,0,0]', 'links', hops => -1);

-- the context of an error names the columns, and does not show the statement that runs inside
\set VERBOSITY default
SELECT * FROM hybrid_associate('doc', 'id', 'v', '[1,0]', 'links');
SELECT * FROM hybrid_associate('doc', 'id', 'v', '[1,0,0]', 'SELECT 1, 1 / 0');
DO $$ BEGIN PERFORM hybrid_associate('doc', 'id', 'v', '[1,0,0]', 'links', hops => -1); END $$;
\set VERBOSITY terse
-- the privileges and the row security of the caller
CREATE ROLE regress_associate;
GRANT USAGE ON SCHEMA assoc TO regress_associate;
SET ROLE regress_associate;
SELECT * FROM hybrid_associate('doc', 'id', 'v', '[1,0,0]', 'links');
RESET ROLE;
GRANT SELECT (id, v) ON doc TO regress_associate;
SET ROLE regress_associate;
SELECT * FROM hybrid_associate('doc', 'id', 'v', '[1,0,0]', 'links');
RESET ROLE;
GRANT SELECT ON doc, link TO regress_associate;
ALTER TABLE doc ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON doc TO regress_associate USING (owner = 'b');
SET ROLE regress_associate;
SELECT id FROM hybrid_associate('doc', 'id', 'v', '[1,0,0]', 'links');
RESET ROLE;
-- nothing that the caller's search_path finds first takes the place of the extension's or PostgreSQL's own
CREATE SCHEMA evil;
CREATE FUNCTION evil.fail(float8, float8) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
CREATE FUNCTION evil.fails(float8, float8) RETURNS float8 LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
CREATE FUNCTION evil.max(float8) RETURNS float8 LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
CREATE FUNCTION evil.same(bigint, bigint) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
CREATE OPERATOR evil.< (LEFTARG = float8, RIGHTARG = float8, FUNCTION = evil.fail);
CREATE OPERATOR evil.= (LEFTARG = float8, RIGHTARG = float8, FUNCTION = evil.fail);
CREATE OPERATOR evil.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.same);
CREATE OPERATOR evil.> (LEFTARG = float8, RIGHTARG = float8, FUNCTION = evil.fail);
CREATE OPERATOR evil.<= (LEFTARG = bigint, RIGHTARG = int, FUNCTION = pg_catalog.int84le);
CREATE OPERATOR evil.* (LEFTARG = float8, RIGHTARG = float8, FUNCTION = evil.fails);
CREATE OPERATOR evil.+ (LEFTARG = float8, RIGHTARG = float8, FUNCTION = evil.fails);
CREATE OPERATOR evil.- (LEFTARG = float8, RIGHTARG = float8, FUNCTION = evil.fails);
CREATE OPERATOR evil./ (LEFTARG = float8, RIGHTARG = float8, FUNCTION = evil.fails);
SET search_path = evil, assoc, public, pg_catalog;
SELECT count(*) FROM public.hybrid_associate('doc', 'id', 'v', '[1,0,0]', 'links', seeds => 2);
SELECT 1.5::float8 > 1;

RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA assoc, evil CASCADE;
DROP ROLE regress_associate;
