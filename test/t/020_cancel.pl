# A cancel or a statement timeout ends every long call promptly and leaves nothing behind.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;

use HybridSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Processor time that a session may use beyond the timeout. On a machine that is not busy, 100 ms are promised. The rest
# is for the ticks of the clock.
my $timeout = 0.3;
my $allowed = 0.2;
# all threads of a call count: at most two beside the main thread, for max_parallel_workers_per_gather is 2
my $threads = 3;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "maintenance_work_mem = 64MB\nwork_mem = 256MB\nautovacuum = off\n");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE TABLE item (id int, v vector(256));
	INSERT INTO item SELECT i, (SELECT array_agg(sin(i * j)) FROM generate_series(1, 256) j)::vector
		FROM generate_series(1, 20000) i;
	CREATE TABLE queries AS SELECT array_agg(v) AS v FROM (SELECT v FROM item LIMIT 2000) s;
	CREATE TABLE seeds AS SELECT array_agg(hashint8(i)::bigint) AS id FROM generate_series(1, 3000000) i;
	CREATE INDEX item_v ON item USING hybrid (v);
	CREATE TABLE few AS SELECT id, v FROM item WHERE id <= 300 UNION ALL SELECT NULL, v FROM item WHERE id = 301;
	ALTER TABLE few ALTER v TYPE vector(256);
	CREATE INDEX few_v ON few USING hybrid (v);
	CREATE TABLE link AS SELECT i AS source, i * 7 % 100003 AS target FROM generate_series(0, 100002) i;
	CREATE INDEX link_graph ON link USING hybrid_graph (source, target);
	CREATE VIEW fails AS SELECT ctid, v FROM few WHERE 1 / (id - 200) > -1;
	CREATE FUNCTION many_checks() RETURNS void LANGUAGE sql AS
		$$SELECT count(hybrid_index_check('item_v')) FROM generate_series(1, 1000)$$;
});

my %calls = (
	'hybrid_knn' => q{SET hybrid.precision = exact;
		SELECT count(*) FROM queries, hybrid_knn('item', 'v', queries.v, 10, 'cosine')},
	'hybrid_knn by the filter' => q{DO $$BEGIN FOR i IN 1 .. 1000 LOOP
		PERFORM count(*) FROM queries, hybrid_knn('item', 'v', queries.v, 10, 'cosine'); END LOOP; END$$},
	'hybrid_distances' =>
		q{SELECT count(hybrid_distances(item.v, queries.v, 'l1')) FROM item, queries},
	'index scan' => q{SET enable_seqscan = off; SELECT count(*) FROM item a,
		LATERAL (SELECT 1 FROM item b ORDER BY b.v <-> a.v LIMIT 1) s},
	'CREATE INDEX' => q{DO $$BEGIN FOR i IN 1 .. 1000 LOOP
		CREATE INDEX other ON item USING hybrid (v); DROP INDEX other; END LOOP; END$$},
	'hybrid_index_check' => q{SELECT many_checks()},
	'hybrid_spread over many edges' =>
		q{SET hybrid.graph_memory_limit = '2GB'; SELECT count(*) FROM hybrid_spread('SELECT i, i * 7 % 3000000 FROM generate_series(1, 3000000) i', ARRAY[1], hops => 100000)},
	'hybrid_spread from many seeds' =>
		q{SELECT count(*) FROM seeds, hybrid_spread('SELECT 1, 2', seeds.id)},
	# the session keeps a registered graph from row to row, so that the time goes into what is computed on it
	'hybrid_spread_batch' =>
		q{SELECT count(*) FROM generate_series(1, 1000) i, hybrid_spread_batch('link_graph', ARRAY[1, 2, 3], ARRAY[1, 2, i], hops => 1000)},
	'hybrid_pagerank' =>
		q{SELECT count(*) FROM hybrid_pagerank('SELECT i, i * 7 % 100003 FROM generate_series(0, 100002) i', damping => 0.9996, tolerance => 1e-40)},
	'hybrid_shortest_path' =>
		q{SELECT count(*) FROM generate_series(2, 100000) i, hybrid_shortest_path('link_graph', 1, i, direction => 'both')},
	'hybrid_triangles' =>
		q{SELECT count(*) FROM generate_series(1, 1000) i, LATERAL hybrid_triangles('SELECT i, j FROM generate_series(1, 500) i, generate_series(1, 500) j WHERE i < j', params => ARRAY[i::text])},
	'hybrid_communities' =>
		q{SELECT count(*) FROM generate_series(1, 1000) i, hybrid_communities('link_graph', seed => i)});

session_on($node);
for my $call (sort keys %calls)
{
	my $session = session();
	my $pid = ask($session, 'SELECT pg_backend_pid()');
	my $before;

	ask($session, "SET statement_timeout = '" . $timeout * 1000 . "ms'");
	$before = processor_seconds($pid);
	ask($session, $calls{$call});
	my $took = processor_seconds($pid) - $before;

	like($session->{err}, qr/canceling statement due to statement timeout/, "$call: the timeout is told");
	cmp_ok($took, '<', ($timeout + $allowed) * $threads, "$call: promptly");
	finish($session);
}

# Many cancelled calls in one session leave no memory behind. A call that succeeds leaves its working memory to the next
# one, so one succeeds before memory is counted.
my $growth = $node->safe_psql('postgres', q{
	SET client_min_messages = error;
	DO $$
	DECLARE
		q vector[] := (SELECT v FROM queries);
		before bigint;
	BEGIN
		FOR i IN 1 .. 30 LOOP
			IF i = 10 THEN
				PERFORM count(*) FROM hybrid_spread('SELECT i, i + 1 FROM generate_series(1, 100001) i', ARRAY[1]);
				before := (SELECT sum(total_bytes) FROM pg_backend_memory_contexts);
			END IF;
			BEGIN
				PERFORM count(*) FROM hybrid_spread('SELECT i, i + 1 FROM generate_series(1, 100000) i
					UNION ALL SELECT 1, 1 / (random() * 0)::int', ARRAY[1]);
			EXCEPTION WHEN OTHERS THEN NULL;
			END;
			BEGIN
				PERFORM count(*) FROM hybrid_knn('item', 'v', q[1:3] || '[1]'::vector);
			EXCEPTION WHEN OTHERS THEN NULL;
			END;
			BEGIN
				PERFORM count(*) FROM hybrid_knn_join('few', 'v', 'fails', 'v');
			EXCEPTION WHEN division_by_zero THEN NULL;
			END;
			BEGIN
				PERFORM count(*) FROM hybrid_knn_join('fails', 'v', 'item', 'v');
			EXCEPTION WHEN division_by_zero THEN NULL;
			END;
			BEGIN
				PERFORM count(*) FROM hybrid_knn_graph('few', 'id', 'v', 3);
			EXCEPTION WHEN null_value_not_allowed THEN NULL;
			END;
			BEGIN
				PERFORM count(*) FROM hybrid_knn('item', 'v', q[1:3], 10, 'l2', 'SELECT ctid FROM item WHERE 1 / (id - 19000) = 0');
			EXCEPTION WHEN OTHERS THEN NULL;
			END;
		END LOOP;
		PERFORM set_config('hybrid_test.growth',
			((SELECT sum(total_bytes) FROM pg_backend_memory_contexts) - before)::text, false);
	END $$;
	SELECT current_setting('hybrid_test.growth');
});
cmp_ok($growth, '<', 1_000_000, 'calls that fail leave no memory behind');

$node->stop;
done_testing();
