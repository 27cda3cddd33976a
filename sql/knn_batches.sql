-- hybrid_knn gathers rows into batches: the answer must not show how
\set VERBOSITY terse

-- eight different vectors, so that most distances tie
CREATE TABLE item (id int, owner text, v vector(4));
INSERT INTO item SELECT i, 'regress_hybrid_reader', format('[%s,%s,%s,1]', i % 2, i / 2 % 2, i / 4 % 2)::vector
FROM generate_series(1, 700) i;
CREATE FUNCTION nearest() RETURNS text LANGUAGE sql AS $$
	SELECT md5(string_agg(query || ' ' || tid || ' ' || distance, ',' ORDER BY query, distance, tid))
	FROM hybrid_knn('item', 'v', ARRAY['[0,0,0,1]', '[1,1,0,1]', '[0.5,0.5,0.5,0]']::vector[], 30) $$;
SELECT nearest() AS expected \gset

SET hybrid.batch_max = 1;
SELECT nearest() = :'expected' AS same;
SET hybrid.batch_max = 7;
SELECT nearest() = :'expected' AS same;
SET hybrid.batch_max = 29;
SELECT nearest() = :'expected' AS same;
SET hybrid.batch_max = 2147483647;
SELECT nearest() = :'expected' AS same;
-- as far as memory goes: 64 kB hold fewer rows than asked for
SET work_mem = '64kB';
SELECT nearest() = :'expected' AS same;
RESET work_mem;
RESET hybrid.batch_max;
SET hybrid.batch_min = 1;
SET hybrid.batch_wait = 0;
SELECT nearest() = :'expected' AS same;
SET hybrid.batch_wait = '1ms';
SELECT nearest() = :'expected' AS same;
SET hybrid.batch_min = 2147483647;
SELECT nearest() = :'expected' AS same;
RESET hybrid.batch_min;
RESET hybrid.batch_wait;

-- each row is a little nearer than the one before: what earlier batches found hides none of them
CREATE TABLE closer AS
	SELECT i AS id, format('[%s,0,0,0,0,0,0,1]', 1000 - i * 0.001)::vector(8) AS v FROM generate_series(1, 1000) i;
CREATE TABLE asked AS
	SELECT i AS id, format('[%s,0,0,0,0,0,0,1]', i * 0.01)::vector(8) AS v FROM generate_series(1, 20) i;
CREATE FUNCTION differences() RETURNS bigint LANGUAGE sql AS $$
	WITH ours AS (SELECT * FROM hybrid_knn('closer', 'v', ARRAY(SELECT v FROM asked ORDER BY id), 3)),
		theirs AS (SELECT asked.id, near.* FROM asked,
			LATERAL (SELECT ctid, closer.v <-> asked.v FROM closer ORDER BY 2, 1 LIMIT 3) near)
	SELECT count(*) FROM ((TABLE ours EXCEPT TABLE theirs) UNION ALL (TABLE theirs EXCEPT TABLE ours)) x $$;
SELECT differences();
SET hybrid.batch_max = 100;
SELECT differences();
RESET hybrid.batch_max;

-- rows of a query come in its order, here the other way round; ties go by row position all the same
ALTER TABLE item ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON item USING (owner = current_user AND id > 0);
CREATE INDEX item_backwards ON item (id DESC);
CREATE ROLE regress_hybrid_reader;
GRANT SELECT ON item TO regress_hybrid_reader;
GRANT EXECUTE ON FUNCTION nearest() TO regress_hybrid_reader;
SET ROLE regress_hybrid_reader;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT ctid, v FROM item;
SELECT nearest() = :'expected' AS same;
SET hybrid.batch_max = 64;
SELECT nearest() = :'expected' AS same;
SET hybrid.batch_max = 699;
SELECT nearest() = :'expected' AS same;
RESET ROLE;

-- rows come one at a time: batch_wait counts from the oldest of a batch, so each second one of those
-- that come slowly sends the two off; without waiting there is one batch
CREATE VIEW slow AS SELECT ctid, v FROM item WHERE id <= 11 AND pg_sleep(0.01) IS NOT NULL;
RESET hybrid.batch_max;
SET hybrid.batch_min = 2;
SET hybrid.batch_wait = '5ms';
SELECT hybrid_reset_stats();
SELECT count(*) FROM hybrid_knn('slow', 'v', ARRAY['[0,0,0,1]']::vector[], 20);
SELECT flushes FROM hybrid_stats WHERE operation = 'topk' AND flushes <> '{}';
SET hybrid.batch_wait = '1h';
SELECT hybrid_reset_stats();
SELECT count(*) FROM hybrid_knn('slow', 'v', ARRAY['[0,0,0,1]']::vector[], 20);
SELECT flushes FROM hybrid_stats WHERE operation = 'topk' AND flushes <> '{}';
SET hybrid.batch_wait = 0;
SELECT hybrid_reset_stats();
SELECT count(*) FROM hybrid_knn('slow', 'v', ARRAY['[0,0,0,1]']::vector[], 20);
SELECT flushes FROM hybrid_stats WHERE operation = 'topk' AND flushes <> '{}';

-- what is refused
SET hybrid.batch_max = -1;
SET hybrid.batch_min = 0;
-- from 17 on, the text of this error has units in the range
\set VERBOSITY sqlstate
SET hybrid.batch_wait = '-1ms';
\set VERBOSITY terse
SET hybrid.batch_wait = 'soon';

RESET ALL;
DROP VIEW slow;
DROP FUNCTION nearest(), differences();
DROP TABLE item, closer, asked;
DROP ROLE regress_hybrid_reader;
