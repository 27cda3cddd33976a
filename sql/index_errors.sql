-- What an index refuses, and in which words.
\set VERBOSITY default

CREATE TABLE item (id int, v vector(3), free vector, w vector(3));
INSERT INTO item VALUES (1, '[1,2,3]', '[1,2]', '[1,2,3]');

-- columns
CREATE INDEX ON item USING hybrid (free);
CREATE INDEX ON item USING hybrid (id);
CREATE INDEX ON item USING hybrid (v, w);
CREATE UNIQUE INDEX ON item USING hybrid (v);
CREATE INDEX ON item USING hybrid (v DESC);
CREATE INDEX ON item USING hybrid (v vector_ops);
\set VERBOSITY sqlstate
ALTER TABLE item ADD EXCLUDE USING hybrid (v WITH =);
\set VERBOSITY default

-- queries
CREATE INDEX item_v ON item USING hybrid (v);
SET enable_seqscan = off;
SELECT id FROM item ORDER BY v <-> '[1,2]';
SELECT id FROM item ORDER BY v <-> '[1,2,3,4]' LIMIT 1;
SELECT id FROM item ORDER BY v <-> '[1,2,nan]';
SELECT id FROM item ORDER BY v <-> '[1,2,3]';

-- a column that loses its dimensions keeps an index of what it had
ALTER TABLE item ALTER COLUMN v TYPE vector;
INSERT INTO item (v) VALUES ('[1,2]');
REINDEX INDEX item_v;
ALTER TABLE item ALTER COLUMN v TYPE vector(3);
SELECT hybrid_index_check('item_v');

-- the functions: other relations, other people's
CREATE INDEX item_id ON item (id);
SELECT hybrid_index_check('item');
SELECT hybrid_index_check('item_id');
SELECT hybrid_index_stats('item_id');
SELECT hybrid_index_stats('item');
SELECT hybrid_index_check(1);
SELECT hybrid_index_check(NULL), hybrid_index_stats(NULL);
CREATE ROLE hybrid_stranger;
CREATE ROLE hybrid_monitor IN ROLE pg_monitor;
SET ROLE hybrid_stranger;
SELECT hybrid_index_check('item_v');
SELECT hybrid_index_stats('item_v');
SET ROLE hybrid_monitor;
SELECT hybrid_index_check('item_v');
SELECT entries FROM hybrid_index_stats('item_v');
RESET ROLE;
DROP ROLE hybrid_stranger, hybrid_monitor;

-- an operator class that cannot work is told by amvalidate
CREATE FUNCTION stranger_support(vector) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT 1.0::float8';
CREATE OPERATOR CLASS stranger_ops FOR TYPE vector USING hybrid AS FUNCTION 1 stranger_support(vector);
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'stranger_ops';
DROP OPERATOR FAMILY stranger_ops USING hybrid;
DROP FUNCTION stranger_support;
CREATE OPERATOR CLASS search_ops FOR TYPE vector USING hybrid AS OPERATOR 1 <(vector, vector), FUNCTION 1 _hybrid_index_l2(internal);
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'search_ops';
DROP OPERATOR FAMILY search_ops USING hybrid;
-- support functions answer to the index only
SELECT _hybrid_index_l2(NULL);

DROP TABLE item;
