-- hybrid_knn_join: for each left row its nearest right rows
\set VERBOSITY terse

CREATE TABLE word (id int PRIMARY KEY, v vector(3));
CREATE TABLE thing (id int PRIMARY KEY, v vector(3)) WITH (autovacuum_enabled = off);
INSERT INTO word SELECT i, ARRAY[i % 7, i % 5, i % 3]::vector FROM generate_series(1, 110) i;
INSERT INTO word VALUES (301, NULL), (302, '[0,0,0]');
INSERT INTO thing SELECT i, ARRAY[i % 6, i % 4, i % 9]::vector FROM generate_series(1, 90) i;
INSERT INTO thing VALUES (301, NULL), (302, '[0,0,0]');

SELECT word.id, thing.id, distance
FROM hybrid_knn_join('word', 'v', 'thing', 'v', 2) j JOIN word ON word.ctid = left_tid JOIN thing ON thing.ctid = right_tid
WHERE word.id IN (1, 2, 301, 302) ORDER BY word.id, distance, thing.ctid;

-- the same as a sort for each left row, for every metric; the left rows in the order of their table
CREATE VIEW by_sort AS
SELECT metric, word.ctid AS left_tid, thing.ctid AS right_tid, d.distance,
	row_number() OVER (PARTITION BY metric, word.ctid ORDER BY d.distance, thing.ctid) AS rank
FROM word, thing, LATERAL (VALUES ('l2', thing.v <-> word.v), ('ip', thing.v <#> word.v), ('cosine', thing.v <=> word.v), ('l1', thing.v <+> word.v)) d(metric, distance)
WHERE d.distance <> 'NaN';
CREATE TABLE sorted AS TABLE by_sort;
CREATE FUNCTION differences(metric text, k int) RETURNS bigint LANGUAGE sql AS $$
	WITH ours AS MATERIALIZED (SELECT row_number() OVER () AS nr, * FROM hybrid_knn_join('word', 'v', 'thing', 'v', k, metric)),
	theirs AS MATERIALIZED (SELECT row_number() OVER (ORDER BY left_tid, rank) AS nr, left_tid, right_tid, distance
		FROM sorted s WHERE s.metric = differences.metric AND rank <= k)
	SELECT CASE WHEN NOT EXISTS (SELECT FROM theirs) THEN -1 ELSE count(*) END
	FROM ((TABLE ours EXCEPT ALL TABLE theirs) UNION ALL (TABLE theirs EXCEPT ALL TABLE ours)) d $$;
CREATE FUNCTION all_differences() RETURNS TABLE (metric text, at_1 bigint, at_10 bigint, at_40 bigint) LANGUAGE sql AS
	$$SELECT metric, differences(metric, 1), differences(metric, 10), differences(metric, 40) FROM unnest(ARRAY['l2', 'ip', 'cosine', 'l1']) metric$$;
SELECT * FROM all_differences();
SELECT differences('ip', 200) AS more_than_there_are;
-- many groups of left rows, each with a search of its own
SET work_mem = '64kB';
SELECT * FROM all_differences();
RESET work_mem;
-- over stores
CREATE INDEX thing_v ON thing USING hybrid (v) WITH (storage = float32, list_size = 4096);
SET client_min_messages = debug1;
SELECT count(*) FROM hybrid_knn_join('word', 'v', 'thing', 'v', 3);
RESET client_min_messages;
SELECT * FROM all_differences();
SET work_mem = '64kB';
SELECT * FROM all_differences();
RESET work_mem;
DROP INDEX thing_v;
CREATE INDEX thing_half ON thing USING hybrid (v) WITH (storage = float16);
UPDATE thing SET id = -id WHERE id % 3 = 0;
DELETE FROM thing WHERE id % 5 = 0;
TRUNCATE sorted;
INSERT INTO sorted TABLE by_sort;
SELECT * FROM all_differences();
DROP INDEX thing_half;

-- a table with itself, a view, a materialised view, a domain
SELECT count(*), count(*) FILTER (WHERE left_tid = right_tid) > 0 AS self, sum(distance) FROM hybrid_knn_join('word', 'v', 'word', 'v', 1);
CREATE VIEW shown AS SELECT ctid, id, v FROM word WHERE id <= 10;
SELECT count(DISTINCT left_tid), count(*) FROM hybrid_knn_join('shown', 'v', 'thing', 'v', 4);
SELECT count(DISTINCT right_tid) <= 10 AS few, count(*) FROM hybrid_knn_join('thing', 'v', 'shown', 'v', 4);
SELECT count(*) FROM hybrid_knn_join('shown', 'v', 'shown', 'v', 4);
CREATE MATERIALIZED VIEW copy AS SELECT * FROM word;
SELECT count(*) FROM hybrid_knn_join('copy', 'v', 'word', 'v', 1) WHERE distance > 0;
CREATE DOMAIN embedding AS vector(3);
CREATE TABLE of_domain (gone int, v embedding);
ALTER TABLE of_domain DROP COLUMN gone;
INSERT INTO of_domain VALUES ('[1,1,1]');
SELECT count(*) FROM hybrid_knn_join('of_domain', 'v', 'word', 'v', 3);

-- nothing on one side
CREATE TABLE nothing (v vector(3));
SELECT count(*) FROM hybrid_knn_join('nothing', 'v', 'word', 'v');
SELECT count(*) FROM hybrid_knn_join('word', 'v', 'nothing', 'v');
-- zero vectors under cosine have no answers, and are none
SELECT count(*) FROM hybrid_knn_join('word', 'v', 'thing', 'v', 1000, 'cosine') j
JOIN word ON word.ctid = left_tid JOIN thing ON thing.ctid = right_tid WHERE word.v = '[0,0,0]' OR thing.v = '[0,0,0]';

-- what is refused
CREATE TABLE longer (v vector(4));
INSERT INTO longer VALUES ('[1,2,3,4]');
SELECT * FROM hybrid_knn_join('word', 'v', 'longer', 'v');
SELECT * FROM hybrid_knn_join('longer', 'v', 'word', 'v');
CREATE INDEX ON longer USING hybrid (v);
SELECT * FROM hybrid_knn_join('word', 'v', 'longer', 'v');
CREATE TABLE mixed (v vector);
INSERT INTO mixed VALUES ('[1,2,3]'), ('[1,2]');
SELECT * FROM hybrid_knn_join('mixed', 'v', 'word', 'v');
SELECT * FROM hybrid_knn_join('word', 'v', 'mixed', 'v');
SELECT * FROM hybrid_knn_join('word', 'v', 'thing', 'v', 0);
SELECT * FROM hybrid_knn_join('word', 'v', 'thing', 'v', 2147483647);
SELECT * FROM hybrid_knn_join('word', 'v', 'thing', 'v', 1, 'euclid');
SELECT * FROM hybrid_knn_join('word', 'w', 'thing', 'v');
SELECT * FROM hybrid_knn_join('word', 'v', 'thing', 'id');
SELECT * FROM hybrid_knn_join('word', 'v', NULL, 'v');
SELECT * FROM hybrid_knn_join('of_domain', '........pg.dropped.1........', 'thing', 'v');
CREATE TABLE parent (v vector(3)) PARTITION BY LIST ((vector_dims(v)));
CREATE TABLE leaf PARTITION OF parent DEFAULT;
SELECT * FROM hybrid_knn_join('parent', 'v', 'thing', 'v');
SELECT * FROM hybrid_knn_join('word', 'v', 'parent', 'v');

-- rights, and row security, on both sides
CREATE ROLE regress_hybrid_reader;
GRANT SELECT ON word TO regress_hybrid_reader;
GRANT SELECT (v) ON thing TO regress_hybrid_reader;
SET ROLE regress_hybrid_reader;
SELECT * FROM hybrid_knn_join('word', 'v', 'thing', 'v');
SELECT * FROM hybrid_knn_join('thing', 'v', 'word', 'v');
-- even where there is nothing to search for
SELECT * FROM hybrid_knn_join('nothing', 'v', 'word', 'v');
RESET ROLE;
GRANT SELECT ON nothing, thing TO regress_hybrid_reader;
REVOKE ALL ON word FROM regress_hybrid_reader;
SET ROLE regress_hybrid_reader;
SELECT * FROM hybrid_knn_join('nothing', 'v', 'word', 'v');
RESET ROLE;
GRANT SELECT ON word TO regress_hybrid_reader;
ALTER TABLE word ENABLE ROW LEVEL SECURITY;
ALTER TABLE thing ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON word USING (id BETWEEN 11 AND 20);
CREATE POLICY odd ON thing USING (id % 2 = 1);
SET ROLE regress_hybrid_reader;
SELECT count(DISTINCT word.id), count(*), bool_and(thing.id % 2 = 1) AS odd
FROM hybrid_knn_join('word', 'v', 'thing', 'v', 5) j JOIN word ON word.ctid = left_tid JOIN thing ON thing.ctid = right_tid;
RESET ROLE;

DROP TABLE word, thing, sorted, nothing, longer, mixed, parent, of_domain CASCADE;
DROP DOMAIN embedding;
DROP FUNCTION differences, all_differences;
DROP ROLE regress_hybrid_reader;
