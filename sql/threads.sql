-- The same bits from any number of threads.  A machine with fewer cores uses fewer threads.
CREATE TABLE item (id int, v vector(64), h halfvec(64));
INSERT INTO item SELECT i, v::vector, v::vector::halfvec FROM (
	SELECT i, (SELECT array_agg(sin((i % 5900) * j)) FROM generate_series(1, 64) j) AS v FROM generate_series(1, 6000) i) s;
CREATE TABLE query AS SELECT array_agg(v ORDER BY id) AS v FROM item WHERE id % 15 = 0;
SET hybrid.force_cpu = on;
-- batches that are worth several threads
SET hybrid.batch_max = 6000;
SET hybrid.batch_wait = 0;
SET work_mem = '64MB';
-- no reports of progress on a busy machine
SET client_min_messages = warning;

-- all_of_it: results of everything that may use threads, with all bits
CREATE FUNCTION all_of_it() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text := '';
	metric text;
	many vector[] := (SELECT array_agg(v ORDER BY id) FROM item, generate_series(1, 12));
BEGIN
	FOREACH metric IN ARRAY ARRAY['l2', 'ip', 'cosine', 'l1'] LOOP
		answer := answer || (SELECT md5(string_agg(k::text, ' ' ORDER BY k.query, k.distance, k.tid))
			FROM query, hybrid_knn('item', 'v', query.v, 20, metric) k);
		answer := answer || (SELECT md5(string_agg(k::text, ' ' ORDER BY k.query, k.distance, k.tid))
			FROM query, hybrid_knn('item', 'h', query.v[1:12], 300, metric) k);
		answer := answer || (SELECT md5(array_send(hybrid_distances(query.v[1], many, metric))) FROM query);
	END LOOP;
	RETURN answer || (SELECT md5(string_agg(j::text, ' ' ORDER BY j.left_tid, j.distance, j.right_tid))
		FROM hybrid_knn_join('item', 'v', 'item', 'v', 3) j);
END $$;

SET hybrid.threads = 1;
SELECT all_of_it() AS expected \gset
SELECT count(*) AS threads FROM pg_ls_dir('/proc/self/task');
SET hybrid.threads = 2;
SELECT all_of_it() = :'expected' AS same;
SET hybrid.threads = 7;
SET max_parallel_workers_per_gather = 6;
SELECT all_of_it() = :'expected' AS same;
SET hybrid.precision = exact;
SELECT all_of_it() = :'expected' AS same;
RESET hybrid.precision;
SET max_parallel_workers_per_gather = 0;
SELECT all_of_it() = :'expected' AS same;
RESET max_parallel_workers_per_gather;
RESET hybrid.threads;
SELECT all_of_it() = :'expected' AS same;

-- small batches, of which the next is read while one is searched
SET hybrid.batch_max = 700;
SELECT all_of_it() = :'expected' AS same;
SET work_mem = '1MB';
SELECT all_of_it() = :'expected' AS same;
SET work_mem = '64MB';
-- rows of an array of tids, too
SELECT md5(string_agg(k::text, ' ' ORDER BY k.query, k.distance, k.tid)) AS some
	FROM query, hybrid_knn('item', 'v', query.v, 20, 'l2', 'SELECT ctid FROM item WHERE id % 2 = 0') k \gset
SET hybrid.threads = 1;
SELECT md5(string_agg(k::text, ' ' ORDER BY k.query, k.distance, k.tid)) = :'some' AS same
	FROM query, hybrid_knn('item', 'v', query.v, 20, 'l2', 'SELECT ctid FROM item WHERE id % 2 = 0') k;
RESET hybrid.threads;
-- an error in a row that is read ahead
CREATE TABLE odd (v vector);
INSERT INTO odd SELECT v FROM item ORDER BY id;
INSERT INTO odd VALUES ('[1]');
SELECT count(*) FROM query, hybrid_knn('odd', 'v', query.v, 20);
SELECT all_of_it() = :'expected' AS same;

-- graphs: 250,000 edges, some nodes with far more than others
CREATE TABLE edge AS SELECT i % 5000 AS source, (i::bigint * 7919 + i / 5000) % (1 + (i::bigint * i) % 5000) AS target, 1 + i % 7 AS weight FROM generate_series(1, 250000) i;
CREATE FUNCTION of_graph() RETURNS text LANGUAGE sql AS $$
	SELECT (SELECT md5(string_agg(p::text, ' ' ORDER BY p.id)) FROM hybrid_pagerank('TABLE edge') p)
		|| (SELECT md5(string_agg(s::text, ' ' ORDER BY s.id)) FROM hybrid_spread('TABLE edge', '{1, 77}', hops => 5, fan => 0.5, refire => 2) s)
		|| (SELECT md5(string_agg(s::text, ' ' ORDER BY s.id)) FROM hybrid_spread('TABLE edge', '{3}', hops => 4, combine => 'max') s)
$$;
SET hybrid.threads = 1;
SELECT of_graph() AS expected_of_graph \gset
SET hybrid.threads = 2;
SELECT of_graph() = :'expected_of_graph' AS same;
SET hybrid.threads = 7;
SET max_parallel_workers_per_gather = 6;
SELECT of_graph() = :'expected_of_graph' AS same;
RESET max_parallel_workers_per_gather;
RESET hybrid.threads;

-- out of range
SET hybrid.threads = 1000;
SET hybrid.threads = -1;
SHOW hybrid.threads;
DROP TABLE item, query, odd, edge;
DROP FUNCTION all_of_it(), of_graph();
