-- Sorting, DISTINCT, merge joins and btree: the order of the dense vectors.

SELECT a < b AS lt, a <= b AS le, a = b AS eq, a <> b AS ne, a >= b AS ge, a > b AS gt, sparsevec_cmp(a, b)
	FROM (VALUES ('{1:1}/3'::sparsevec, '{1:1}/3'::sparsevec), ('{1:1}/3', '{1:2}/3'), ('{1:1}/3', '{2:9}/3'), ('{1:-1}/3', '{2:-9}/3'),
		  ('{1:1}/3', '{1:1}/4'), ('{1:1}/2', '{1:1,3:-1}/3'), ('{}/3', '{3:-1}/3'), ('{}/1', '{}/1000000000'), ('{}/2', '{2:1}/1000000000')) x(a, b);
SELECT count(*), bool_and(sparsevec_cmp(a, b) = vector_cmp(a, b)) AS same
	FROM (SELECT array_agg(v ORDER BY i)::vector AS a FROM generate_series(0, 242) n, generate_series(0, 4) i, LATERAL (SELECT n / (3 ^ i)::int % 3 - 1 AS v) x
		  WHERE i <= n % 5 GROUP BY n) l,
		 (SELECT array_agg(v ORDER BY i)::vector AS b FROM generate_series(0, 242) n, generate_series(0, 4) i, LATERAL (SELECT n / (3 ^ i)::int % 3 - 1 AS v) x
		  WHERE i <= n % 5 GROUP BY n) r;

CREATE TABLE sorted (id int, v sparsevec);
INSERT INTO sorted VALUES (1, '{}/3'), (2, '{1:1,2:2,3:3}/3'), (3, '{1:1,2:1,3:1}/3'), (4, NULL), (5, '{1:1,2:2}/2'),
	(6, '{1:1,2:2,3:3}/3'), (7, '{1:-1}/1'), (8, '{1000000000:1}/1000000000');
SELECT id, v FROM sorted ORDER BY v, id;
SELECT DISTINCT v FROM sorted ORDER BY v DESC;
CREATE INDEX sorted_v ON sorted (v);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM sorted WHERE v = '{1:1,2:2,3:3}/3';
SELECT id FROM sorted WHERE v = '{1:1,2:2,3:3}/3' ORDER BY id;
SELECT id FROM sorted WHERE v > '{1:1,2:1,3:1}/3' ORDER BY v, id;
SET enable_nestloop = off;
SET enable_hashjoin = off;
SELECT a.id, b.id FROM sorted a JOIN sorted b ON a.v = b.v ORDER BY 1, 2;
RESET enable_nestloop;
RESET enable_hashjoin;
RESET enable_bitmapscan;
RESET enable_seqscan;
DROP TABLE sorted;

CREATE TABLE keyed (v sparsevec(2) PRIMARY KEY);
INSERT INTO keyed VALUES ('{1:1}/2'), ('{2:1}/2');
INSERT INTO keyed VALUES ('{1:1,2:0}/2');
INSERT INTO keyed VALUES ('{1:1}/2') ON CONFLICT DO NOTHING;
SELECT * FROM keyed ORDER BY v;
DROP TABLE keyed;

SELECT opcname, opcdefault, opcintype::regtype
	FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod WHERE opcintype = 'sparsevec'::regtype AND amname = 'btree';
