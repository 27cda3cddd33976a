-- Sorting, DISTINCT, merge joins and btree.

CREATE TABLE sorted (id int, v vector);
INSERT INTO sorted VALUES (1, '[0,0,0]'), (2, '[1,2,3]'), (3, '[1,1,1]'), (4, NULL), (5, '[1,2]'),
	(6, '[1,2,3]'), (7, '[-1]');
SELECT id, v FROM sorted ORDER BY v, id;
SELECT id, v FROM sorted ORDER BY v DESC, id;
SELECT DISTINCT v FROM sorted ORDER BY v;
SELECT v, count(*) FROM sorted GROUP BY v ORDER BY v;
SELECT min(v::text) FROM sorted WHERE v >= '[1,2]';

CREATE INDEX sorted_v ON sorted (v);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM sorted WHERE v = '[1,2,3]';
SELECT id FROM sorted WHERE v = '[1,2,3]' ORDER BY id;
SELECT id FROM sorted WHERE v > '[1,1,1]' ORDER BY v, id;
SELECT id FROM sorted WHERE v <= '[1,1,1]' ORDER BY v, id;
EXPLAIN (COSTS OFF) SELECT id FROM sorted ORDER BY v;
SELECT id FROM sorted WHERE v < '[1]' ORDER BY v;

-- Merge join.
SET enable_nestloop = off;
SET enable_hashjoin = off;
SET enable_material = off;
EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM sorted a JOIN sorted b ON a.v = b.v;
SELECT a.id, b.id FROM sorted a JOIN sorted b ON a.v = b.v ORDER BY 1, 2;
RESET enable_nestloop;
RESET enable_hashjoin;
RESET enable_material;
RESET enable_bitmapscan;
RESET enable_seqscan;
DROP TABLE sorted;

CREATE TABLE keyed (v vector(2) PRIMARY KEY);
INSERT INTO keyed VALUES ('[1,2]'), ('[1,3]');
INSERT INTO keyed VALUES ('[1,2]');
INSERT INTO keyed VALUES ('[1,2]') ON CONFLICT DO NOTHING;
SELECT * FROM keyed ORDER BY v;
DROP TABLE keyed;

-- Many rows, sorted externally and through an index.
CREATE TABLE shuffled AS
	SELECT i, ARRAY[i % 10, (i * 7919) % 1000, i]::vector AS v FROM generate_series(1, 5000) i;
SET work_mem = '64kB';
SELECT count(*), bool_and(v > before) AS ascending
	FROM (SELECT v, lag(v) OVER (ORDER BY v) AS before FROM shuffled) x;
RESET work_mem;
CREATE INDEX ON shuffled (v);
ANALYZE shuffled;
SELECT count(*) FROM shuffled WHERE v >= '[5]' AND v < '[6]';
DROP TABLE shuffled;

-- An operator class of its own family, default for the type.
SELECT opcname, opcdefault, opcintype::regtype
	FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod
	WHERE opcintype = 'vector'::regtype AND amname = 'btree';
