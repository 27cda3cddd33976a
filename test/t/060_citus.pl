# Tables of the extension Citus, on a coordinator and a worker: what is refused, and the forms that work instead.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($coordinator, $worker) = map { PostgreSQL::Test::Cluster->new($_) } ('coordinator', 'worker');
my $one = "ARRAY['[500,1,1]']::vector[]";

$coordinator->init;
$coordinator->start;
if ($coordinator->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'citus'") == 0)
{
	$coordinator->stop;
	plan skip_all => 'the extension citus is not installed on this machine; knn_elsewhere.sql tests with a stand-in';
}
$coordinator->stop;
$worker->init;
foreach my $node ($coordinator, $worker)
{
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'citus'\nmax_prepared_transactions = 20\n"
		. "citus.local_hostname = '" . $node->host . "'\n");
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION citus; CREATE EXTENSION hybrid');
}
$coordinator->safe_psql('postgres', sprintf(q{
	SELECT citus_set_coordinator_host('%s', %d);
	SELECT citus_add_node('%s', %d);
	SELECT citus_set_node_property('%s', %d, 'shouldhaveshards', true);
}, ($coordinator->host, $coordinator->port, $worker->host, $worker->port, $coordinator->host, $coordinator->port)));
$coordinator->safe_psql('postgres', q{
	SET client_min_messages = warning;
	SET citus.shard_count = 4;
	CREATE TABLE plain (id bigint PRIMARY KEY, v vector(3));
	INSERT INTO plain SELECT i, ARRAY[i, i % 7, 1]::vector FROM generate_series(1, 1000) i;
	CREATE TABLE doc (LIKE plain INCLUDING ALL);
	CREATE TABLE ref (LIKE plain INCLUDING ALL);
	CREATE TABLE loc (LIKE plain INCLUDING ALL);
	INSERT INTO doc TABLE plain;
	INSERT INTO ref TABLE plain;
	INSERT INTO loc TABLE plain;
	CREATE INDEX ref_v ON ref USING hybrid (v);
	CREATE INDEX loc_v ON loc USING hybrid (v);
	-- the rows that are there are copied to the shards, and stay in the table
	SELECT create_distributed_table('doc', 'id');
	SELECT create_reference_table('ref');
	SELECT citus_add_local_table_to_metadata('loc');
	CREATE INDEX doc_v ON doc USING hybrid (v);
	CREATE TABLE parted (id bigint, v vector(3)) PARTITION BY RANGE (id);
	CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (500);
	CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (500) TO (2000);
	SELECT create_distributed_table('parted', 'id');
	INSERT INTO parted TABLE plain;
	CREATE INDEX parted_v ON parted USING hybrid (v);
	CREATE VIEW shown AS SELECT ctid, id, v FROM doc;
	CREATE VIEW nested AS SELECT * FROM shown WHERE id < 500;
	CREATE MATERIALIZED VIEW copy AS SELECT id, v FROM doc;
	CREATE TABLE edge (source bigint, target bigint);
	SELECT create_distributed_table('edge', 'source');
	INSERT INTO edge SELECT i, i % 300 + j FROM generate_series(1, 300) i, generate_series(1, 3) j;
	CREATE TABLE edge_copy AS SELECT * FROM edge;
});

# refused NODE, QUERY, NAME, RELATION: 0A000, with the name of what is refused and of the table of Citus
sub refused
{
	my ($node, $query, $name, $table) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$query");

	like($err, qr/ERROR:  0A000: cannot read .*"$name", because Citus keeps .*(?:them|"$table") in shards\n/,
		"refused: $name");
	return;
}

# answers QUERY, EXPECTED, NAME
sub answers
{
	my ($query, $expected, $name) = @_;

	is($coordinator->safe_psql('postgres', $query), $expected, $name);
	return;
}

foreach my $table (qw(doc ref loc parted parted_1))
{
	refused($coordinator, "SELECT * FROM hybrid_knn('$table', 'v', $one)", $table, $table);
}
foreach my $view (qw(shown nested))
{
	refused($coordinator, "SELECT * FROM hybrid_knn('$view', 'v', $one)", $view, 'doc');
}
refused($coordinator, "SELECT * FROM hybrid_knn_join('plain', 'v', 'doc', 'v')", 'doc', 'doc');
refused($coordinator, "SELECT * FROM hybrid_knn_join('doc', 'v', 'plain', 'v')", 'doc', 'doc');
refused($coordinator, "SELECT * FROM hybrid_knn_graph('shown', 'id', 'v')", 'shown', 'doc');
foreach my $call ("hybrid_index_stats('doc_v')", "hybrid_index_curve('doc_v')", "hybrid_index_check('doc_v')",
	"hybrid_index_measure('doc_v', $one)")
{
	refused($coordinator, "SELECT * FROM $call", 'doc_v', 'doc');
}
foreach my $table (qw(ref loc parted))
{
	refused($coordinator, "SELECT hybrid_index_check('${table}_v')", "${table}_v", $table);
}
# a worker has the same tables, without rows
refused($worker, "SELECT * FROM hybrid_knn('doc', 'v', $one)", 'doc', 'doc');
refused($worker, "SELECT hybrid_index_check('doc_v')", 'doc_v', 'doc');

# what lies here
my $nearest = join "\n", split /,/, $coordinator->safe_psql('postgres', q{
	SELECT string_agg(id::text, ',') FROM (SELECT id FROM plain ORDER BY v <-> '[500,1,1]', id LIMIT 5) s});
foreach my $table (qw(plain copy))
{
	answers("SELECT t.id FROM hybrid_knn('$table', 'v', $one, 5) k JOIN $table t ON t.ctid = k.tid ORDER BY distance, t.id",
		$nearest, "a table or a materialized view of this server: $table");
}

# the forms that the hints name
foreach my $table (qw(doc ref loc parted shown))
{
	answers("SELECT id FROM $table ORDER BY v <-> '[500,1,1]', id LIMIT 5", $nearest, "a sort over the shards: $table");
}
answers("SET hybrid.target_recall = 1; SELECT min(d), max(d), count(*) FROM (SELECT v <-> '[500,1,1]' AS d FROM doc ORDER BY 1 LIMIT 5) s",
	$coordinator->safe_psql('postgres', "SELECT min(distance), max(distance), count(*) FROM hybrid_knn('plain', 'v', $one, 5)"),
	'the indexes of the shards');
like($coordinator->safe_psql('postgres', "EXPLAIN (COSTS off) SELECT id FROM doc ORDER BY v <-> '[500,1,1]' LIMIT 5"),
	qr/Limit\n.*Index Scan using doc_v_\d+ on doc_\d+/s, 'each shard is searched by its index, and sends few rows');
my $indexes = q{FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
	WHERE a.amname = 'hybrid' AND i.indrelid = '%s'::regclass};
answers("SELECT count(*), count(DISTINCT nodeport), sum(result::int) FROM run_command_on_shards('doc', "
	. "\$\$SELECT sum(hybrid_index_check(i.indexrelid)) $indexes\$\$) JOIN citus_shards USING (shardid)", '4|2|1000', 'indexes of shards are checked');
answers("SELECT bool_and(success), sum(result::int) FROM run_command_on_shards('doc', "
	. "\$\$SELECT (hybrid_index_stats(i.indexrelid)).entries $indexes\$\$)", 't|1000', 'and have statistics');
answers("SELECT sum(result::int) FROM run_command_on_shards('doc', "
	. "\$\$SELECT count(*) FROM hybrid_knn('%s', 'v', $one, 5)\$\$)", 20, 'a shard is a table like any other');
answers('SELECT md5(string_agg(s::text, $$,$$ ORDER BY id)) FROM hybrid_spread($$TABLE edge$$, ARRAY[1,2]) s',
	$coordinator->safe_psql('postgres', 'SELECT md5(string_agg(s::text, $$,$$ ORDER BY id)) FROM hybrid_spread($$TABLE edge_copy$$, ARRAY[1,2]) s'),
	'an edges query may read tables of Citus');

# hybrid_nearest: each shard sends a state, and the results are those of a local table
$coordinator->safe_psql('postgres', q{
	SET client_min_messages = warning;
	CREATE TABLE query AS SELECT i AS id, ARRAY[i * 9, 1, 1]::vector(3) AS v FROM generate_series(1, 100) i;
	CREATE TABLE query_ref AS TABLE query;
	CREATE TABLE query_doc AS TABLE query;
	SELECT create_reference_table('query_ref');
	SELECT create_distributed_table('query_doc', 'id', colocate_with => 'none');
	CREATE TABLE wanted AS SELECT q.id, hybrid_nearest(d.id, d.v, q.v, 10, 'l1') AS near FROM plain d, query q GROUP BY 1;
});
foreach my $from ('query q', 'query_ref q', '(SELECT * FROM query_doc OFFSET 0) q')
{
	answers("CREATE TEMP TABLE got AS SELECT q.id, hybrid_nearest(d.id, d.v, q.v, 10, 'l1') AS near FROM doc d, $from GROUP BY 1;
		SELECT count(*) FROM wanted JOIN got USING (id) WHERE got.near = wanted.near", 100, "hybrid_nearest for the queries in $from");
}
foreach my $call ("v, '[500,1,1]', 40", "v::halfvec(3), '[500,1,1]', 40, 'ip'", "v, '[500,1,1]', 5) FILTER (WHERE id < 0", "DISTINCT")
{
	my $arguments = $call eq 'DISTINCT' ? "DISTINCT id, v, '[500,1,1]', 5" : "id, $call";

	answers("SELECT hybrid_nearest($arguments) FROM doc", $coordinator->safe_psql('postgres', "SELECT hybrid_nearest($arguments) FROM plain"),
		"hybrid_nearest($arguments)");
}
answers("SELECT hybrid_nearest(id, v, '[500,1,1]', 5) FROM doc WHERE id < 0", '', 'hybrid_nearest of no rows');
like($coordinator->safe_psql('postgres', "EXPLAIN (VERBOSE) SELECT hybrid_nearest(id, v, '[500,1,1]', 5) FROM doc"),
	qr/coord_combine_agg.*Query: SELECT pg_catalog.worker_partial_agg/s, 'each shard sends a state');
like(($coordinator->psql('postgres', "SELECT hybrid_nearest(id, v, '[500,1,1]', id::int % 2 + 3) FROM doc"))[2],
	qr/k must be the same in all rows of a group/, 'an error of a shard');
like(($coordinator->psql('postgres', 'SELECT query.id, n.id FROM query, LATERAL (SELECT id FROM doc ORDER BY v <-> query.v LIMIT 3) n'))[2],
	qr/ERROR:  cannot push down this subquery/, 'a LIMIT in LATERAL is rejected');

# settings and roles
$coordinator->safe_psql('postgres', q{
	CREATE FUNCTION recall_there(bigint) RETURNS text LANGUAGE plpgsql AS $$BEGIN RETURN current_setting('hybrid.target_recall') || ' ' || current_user; END$$;
	SELECT create_distributed_function('recall_there(bigint)');
	CREATE ROLE app LOGIN;
	GRANT SELECT ON doc TO app;
	ALTER ROLE app SET hybrid.target_recall = 0.99;
});
my $there = "SELECT recall_there(id), hybrid_nearest(id, v, '[500,1,1]', 1) IS NULL FROM doc GROUP BY 1";
my $user = $coordinator->safe_psql('postgres', 'SELECT current_user');
answers("SET hybrid.target_recall = 0.5; $there", "0.95 $user|f", 'a SET does not reach the shards');
answers("SET citus.propagate_set_commands = 'local'; BEGIN; SET LOCAL hybrid.target_recall = 0.7; $there; COMMIT; $there",
	"0.7 $user|f\n0.95 $user|f", 'a SET LOCAL does, where that is set');
is($coordinator->safe_psql('postgres', $there, extra_params => [ '-U', 'app' ]), '0.99 app|f', 'and the settings of a role');
like(($coordinator->psql('postgres', "SELECT hybrid_nearest(id, v, '[500,1,1]', 1) FROM ref", extra_params => [ '-U', 'app' ]))[2],
	qr/permission denied for table ref/, 'a role may use what it may read');

# a graph that is registered on such a table: no copy of the rows that are left in the table
$coordinator->safe_psql('postgres', q{
	CREATE INDEX edge_graph ON edge USING hybrid_graph (source, target);
	INSERT INTO edge VALUES (1, 9999);
});
answers("SELECT count(*) FROM hybrid_spread('edge_graph', ARRAY[1]) WHERE id = 9999", 1, 'a registered graph has the rows of the shards');
answers("SELECT kept, differences FROM hybrid_graph_check('edge_graph')", 'f|0', 'and no copy');
# the nearest rows of all shards, for many queries
my $queries = "(SELECT array_agg(v ORDER BY id) FROM plain WHERE id % 50 = 0)";
foreach my $table (qw(doc ref loc parted parted_1 plain))
{
	my $rows = $table eq 'parted_1' ? 'WHERE id < 500' : '';

	answers("SELECT count(*), md5(string_agg(s::text, ',')) FROM hybrid_knn_sharded('$table', 'v', 'id', $queries, 20, 'l1') s",
		$coordinator->safe_psql('postgres', "SELECT count(*), md5(string_agg(s::text, ',')) FROM (SELECT q.n, w.id, w.distance
			FROM unnest($queries) WITH ORDINALITY q(v, n), LATERAL (SELECT id, v <+> q.v AS distance FROM plain $rows ORDER BY 2, 1 LIMIT 20) w
			ORDER BY 1, 3, 2) s"), "hybrid_knn_sharded over $table");
}
my ($rc, $out, $err) = $coordinator->psql('postgres', "SELECT * FROM hybrid_knn_sharded('doc', 'v', 'id', ARRAY['[1,2]']::vector[])");
like($err, qr/ERROR:  shard \d+ of "doc": .*different vector dimensions/, 'a shard that fails is named');
$coordinator->safe_psql('postgres', 'CREATE ROLE reader LOGIN');
($rc, $out, $err) = $coordinator->psql('postgres', "SELECT * FROM hybrid_knn_sharded('doc', 'v', 'id', $one)", extra_params => [ '-U', 'reader' ]);
like($err, qr/ERROR:  permission denied for table doc/, 'no privilege on the table');

# a table, and Citus, that are no longer there
$coordinator->safe_psql('postgres', "SET client_min_messages = warning; DROP VIEW shown CASCADE; DROP MATERIALIZED VIEW copy; SELECT undistribute_table('doc')");
answers("SELECT count(*) FROM hybrid_knn('doc', 'v', $one, 5)", 5, 'a table that is not distributed any more');
answers("SELECT hybrid_index_check('doc_v')", 1000, 'and its index');
$coordinator->safe_psql('postgres', 'SET client_min_messages = warning; DROP FUNCTION recall_there; DROP TABLE ref, loc, parted, edge, query_ref, query_doc; DROP EXTENSION citus CASCADE');
answers("SELECT count(*) FROM hybrid_knn('doc', 'v', $one, 5)", 5, 'without Citus');

$coordinator->stop;
$worker->stop;
done_testing();
