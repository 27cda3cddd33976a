# The extension is moved to another schema, or its schema is renamed: every function and view works as before.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('moved');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'hybrid'
hybrid.plugins = 'hybrid_emulated'
});
$node->start;
$node->safe_psql('postgres', q{
	CREATE SCHEMA one;
	CREATE EXTENSION hybrid SCHEMA one;
	CREATE TABLE item (id int, v one.vector(2));
	INSERT INTO item SELECT i, ('[' || i || ',1]')::one.vector FROM generate_series(1, 100) i;
	CREATE INDEX item_v ON item USING hybrid (v one.vector_l2_ops);
	CREATE TABLE sorted (v one.vector PRIMARY KEY);
	CREATE TABLE link (source int, target int);
	INSERT INTO link VALUES (1, 2), (2, 3);
	CREATE INDEX link_graph ON link USING hybrid_graph (source, target);
	CREATE VIEW nearest AS SELECT id FROM item ORDER BY v OPERATOR(one.<->) '[3,1]' LIMIT 1;
	CREATE ROLE plain LOGIN;
	GRANT SELECT ON item TO plain;
	-- what somebody might set up to be called instead
	CREATE SCHEMA evil;
	CREATE TABLE evil.hybrid_calibration AS SELECT 1 AS x;
	CREATE FUNCTION evil._hybrid_run_calibration() RETURNS int LANGUAGE sql AS 'SELECT 1 / 0';
	CREATE FUNCTION evil._hybrid_get_stats() RETURNS int LANGUAGE sql AS 'SELECT 1 / 0';
});

# What calls each function that a user calls, X standing for the schema; with its answer.
my %calls = (
	'vector_dims' => [ q{SELECT X.vector_dims('[1,2]'::X.vector)}, 2 ],
	'vector_norm' => [ q{SELECT X.vector_norm('[3,4]')}, 5 ],
	'l2_normalize' => [ q{SELECT X.l2_normalize('[0,2]'::X.vector)}, '[0,1]' ],
	'l2_distance' => [ q{SELECT '[0,0]'::X.vector OPERATOR(X.<->) '[3,4]'}, 5 ],
	'inner_product' => [ q{SELECT X.inner_product('[1,2]'::X.vector, '[3,4]')}, 11 ],
	'vector_negative_inner_product' => [ q{SELECT '[1,2]'::X.vector OPERATOR(X.<#>) '[3,4]'}, -11 ],
	'cosine_distance' => [ q{SELECT '[1,0]'::X.vector OPERATOR(X.<=>) '[0,1]'}, 1 ],
	'l1_distance' => [ q{SELECT '[1,0]'::X.vector OPERATOR(X.<+>) '[0,1]'}, 2 ],
	'vector_add' => [ q{SELECT '[1,0]'::X.vector OPERATOR(X.+) '[0,1]'}, '[1,1]' ],
	'vector_sub' => [ q{SELECT '[1,0]'::X.vector OPERATOR(X.-) '[0,1]'}, '[1,-1]' ],
	'vector_mul' => [ q{SELECT '[1,2]'::X.vector OPERATOR(X.*) '[3,4]'}, '[3,8]' ],
	'vector_concat' => [ q{SELECT '[1]'::X.vector OPERATOR(X.||) '[2]'}, '[1,2]' ],
	'vector_lt' => [ q{SELECT '[1]'::X.vector OPERATOR(X.<) '[2]'}, 't' ],
	'vector_le' => [ q{SELECT '[1]'::X.vector OPERATOR(X.<=) '[2]'}, 't' ],
	'vector_eq' => [ q{SELECT '[1]'::X.vector OPERATOR(X.=) '[2]'}, 'f' ],
	'vector_ne' => [ q{SELECT '[1]'::X.vector OPERATOR(X.<>) '[2]'}, 't' ],
	'vector_ge' => [ q{SELECT '[1]'::X.vector OPERATOR(X.>=) '[2]'}, 'f' ],
	'vector_gt' => [ q{SELECT '[1]'::X.vector OPERATOR(X.>) '[2]'}, 'f' ],
	'vector_cmp' => [ q{SELECT X.vector_cmp('[1]', '[2]')}, -1 ],
	'vector' => [ q{SELECT '[1,2]'::X.vector::X.vector(2)}, '[1,2]' ],
	'array_to_vector' => [ q{SELECT ARRAY[1,2]::X.vector, ARRAY[1,2]::real[]::X.vector, ARRAY[1,2]::float8[]::X.vector, ARRAY[1,2]::numeric[]::X.vector}, '[1,2]|[1,2]|[1,2]|[1,2]' ],
	'vector_to_float4' => [ q{SELECT '[1,2]'::X.vector::real[]}, '{1,2}' ],
	'subvector' => [ q{SELECT X.subvector('[1,2,3]'::X.vector, 2, 1), X.subvector('[1,2,3]'::X.halfvec, 2, 1)}, '[2]|[2]' ],
	'binary_quantize' => [ q{SELECT X.binary_quantize('[1,-2]'::X.vector), X.binary_quantize('[1,-2]'::X.halfvec)}, '10|10' ],
	'vector_l2_squared_distance' => [ q{SELECT X.vector_l2_squared_distance('[0,0]', '[3,4]')}, 25 ],
	'vector_spherical_distance' => [ q{SELECT X.vector_spherical_distance('[1,0]', '[0,1]')}, 0.5 ],
	'l2_norm' => [ q{SELECT X.l2_norm('[3,4]'::X.halfvec)}, 5 ],
	'halfvec_l2_squared_distance' => [ q{SELECT X.halfvec_l2_squared_distance('[0,0]', '[3,4]')}, 25 ],
	'halfvec_spherical_distance' => [ q{SELECT X.halfvec_spherical_distance('[1,0]', '[0,1]')}, 0.5 ],
	'halfvec_negative_inner_product' => [ q{SELECT '[1,2]'::X.halfvec OPERATOR(X.<#>) '[3,4]'}, -11 ],
	'halfvec_add' => [ q{SELECT '[1,0]'::X.halfvec OPERATOR(X.+) '[0,1]'}, '[1,1]' ],
	'halfvec_sub' => [ q{SELECT '[1,0]'::X.halfvec OPERATOR(X.-) '[0,1]'}, '[1,-1]' ],
	'halfvec_mul' => [ q{SELECT '[1,2]'::X.halfvec OPERATOR(X.*) '[3,4]'}, '[3,8]' ],
	'halfvec_concat' => [ q{SELECT '[1]'::X.halfvec OPERATOR(X.||) '[2]'}, '[1,2]' ],
	'halfvec_lt' => [ q{SELECT '[1]'::X.halfvec OPERATOR(X.<) '[2]'}, 't' ],
	'halfvec_le' => [ q{SELECT '[1]'::X.halfvec OPERATOR(X.<=) '[2]'}, 't' ],
	'halfvec_eq' => [ q{SELECT '[1]'::X.halfvec OPERATOR(X.=) '[2]'}, 'f' ],
	'halfvec_ne' => [ q{SELECT '[1]'::X.halfvec OPERATOR(X.<>) '[2]'}, 't' ],
	'halfvec_ge' => [ q{SELECT '[1]'::X.halfvec OPERATOR(X.>=) '[2]'}, 'f' ],
	'halfvec_gt' => [ q{SELECT '[1]'::X.halfvec OPERATOR(X.>) '[2]'}, 'f' ],
	'halfvec_cmp' => [ q{SELECT X.halfvec_cmp('[1]', '[2]')}, -1 ],
	'halfvec' => [ q{SELECT '[1,2]'::X.halfvec::X.halfvec(2)}, '[1,2]' ],
	'vector_to_halfvec' => [ q{SELECT '[1,2]'::X.vector::X.halfvec}, '[1,2]' ],
	'halfvec_to_vector' => [ q{SELECT '[1,2]'::X.halfvec::X.vector}, '[1,2]' ],
	'array_to_halfvec' => [ q{SELECT ARRAY[1,2]::X.halfvec, ARRAY[1,2]::real[]::X.halfvec, ARRAY[1,2]::float8[]::X.halfvec, ARRAY[1,2]::numeric[]::X.halfvec}, '[1,2]|[1,2]|[1,2]|[1,2]' ],
	'halfvec_to_float4' => [ q{SELECT '[1,2]'::X.halfvec::real[]}, '{1,2}' ],
	'halfvec_send' => [ q{SELECT encode(X.halfvec_send('[1]'), 'hex')}, '000100003c00' ],
	'vector_send' => [ q{SELECT encode(X.vector_send('[1]'), 'hex')}, '000100003f800000' ],
	'avg' => [ q{SELECT X.avg(v), X.avg(v::X.halfvec) FROM item}, '[50.5,1]|[50.5,1]' ],
	'sum' => [ q{SELECT X.sum(v), X.sum(v::X.halfvec) FROM item}, '[5050,100]|[5048,100]' ],
	'hamming_distance' => [ q{SELECT '110'::bit(3) OPERATOR(X.<~>) '011'}, 2 ],
	'jaccard_distance' => [ q{SELECT '1100'::bit(4) OPERATOR(X.<%>) '1000'}, 0.5 ],
	'hybrid_maxsim' => [ q{SELECT X.hybrid_maxsim(ARRAY['[1,2]']::X.vector[], ARRAY['[3,4]']::X.vector[]), X.hybrid_maxsim(ARRAY['[1,2]']::X.halfvec[], ARRAY['[3,4]']::X.halfvec[])}, '11|11' ],
	'hybrid_maxsim_distance' => [ q{SELECT ARRAY['[3,4]']::X.vector[] OPERATOR(X.@#) ARRAY['[1,2]']::X.vector[], ARRAY['[3,4]']::X.halfvec[] OPERATOR(X.@#) ARRAY['[1,2]']::X.halfvec[]}, '-11|-11' ],
	'sparsevec_l2_squared_distance' => [ q{SELECT X.sparsevec_l2_squared_distance('{1:3}/2', '{2:4}/2')}, 25 ],
	'sparsevec_negative_inner_product' => [ q{SELECT '{1:2}/9'::X.sparsevec OPERATOR(X.<#>) '{1:3}/9'}, -6 ],
	'sparsevec_lt' => [ q{SELECT '{}/2'::X.sparsevec OPERATOR(X.<) '{1:1}/2'}, 't' ],
	'sparsevec_le' => [ q{SELECT '{}/2'::X.sparsevec OPERATOR(X.<=) '{1:1}/2'}, 't' ],
	'sparsevec_eq' => [ q{SELECT '{}/2'::X.sparsevec OPERATOR(X.=) '{1:1}/2'}, 'f' ],
	'sparsevec_ne' => [ q{SELECT '{}/2'::X.sparsevec OPERATOR(X.<>) '{1:1}/2'}, 't' ],
	'sparsevec_ge' => [ q{SELECT '{}/2'::X.sparsevec OPERATOR(X.>=) '{1:1}/2'}, 'f' ],
	'sparsevec_gt' => [ q{SELECT '{}/2'::X.sparsevec OPERATOR(X.>) '{1:1}/2'}, 'f' ],
	'sparsevec_cmp' => [ q{SELECT X.sparsevec_cmp('{}/2', '{1:1}/2')}, -1 ],
	'sparsevec' => [ q{SELECT '{1:1}/2'::X.sparsevec::X.sparsevec(2)}, '{1:1}/2' ],
	'array_to_sparsevec' => [ q{SELECT ARRAY[1,0]::X.sparsevec, ARRAY[1,0]::real[]::X.sparsevec, ARRAY[1,0]::float8[]::X.sparsevec, ARRAY[1,0]::numeric[]::X.sparsevec}, '{1:1}/2|{1:1}/2|{1:1}/2|{1:1}/2' ],
	'vector_to_sparsevec' => [ q{SELECT '[0,1]'::X.vector::X.sparsevec}, '{2:1}/2' ],
	'halfvec_to_sparsevec' => [ q{SELECT '[0,1]'::X.halfvec::X.sparsevec}, '{2:1}/2' ],
	'sparsevec_to_vector' => [ q{SELECT '{2:1}/2'::X.sparsevec::X.vector}, '[0,1]' ],
	'sparsevec_to_halfvec' => [ q{SELECT '{2:1}/2'::X.sparsevec::X.halfvec}, '[0,1]' ],
	'sparsevec_send' => [ q{SELECT encode(X.sparsevec_send('{2:1}/2'), 'hex')}, '000000020000000100000000000000013f800000' ],
	'hybrid_sphere' => [ q{SELECT X.hybrid_sphere('[1,2]', 0.5)}, '("[1,2]",0.5)' ],
	'vector_within_l2' => [ q{SELECT '[1,2]'::X.vector OPERATOR(X.<<->>) X.hybrid_sphere('[1,0]', 2)}, 't' ],
	'vector_within_ip' => [ q{SELECT '[1,2]'::X.vector OPERATOR(X.<<#>>) X.hybrid_sphere('[1,0]', -2)}, 'f' ],
	'vector_within_cosine' => [ q{SELECT '[1,2]'::X.vector OPERATOR(X.<<=>>) X.hybrid_sphere('[1,0]', 0.1)}, 'f' ],
	'vector_within_l1' => [ q{SELECT '[1,2]'::X.vector OPERATOR(X.<<+>>) X.hybrid_sphere('[1,0]', 2)}, 't' ],
	'halfvec_within_l2' => [ q{SELECT '[1,2]'::X.halfvec OPERATOR(X.<<->>) X.hybrid_sphere('[1,0]', 2)}, 't' ],
	'halfvec_within_ip' => [ q{SELECT '[1,2]'::X.halfvec OPERATOR(X.<<#>>) X.hybrid_sphere('[1,0]', -2)}, 'f' ],
	'halfvec_within_cosine' => [ q{SELECT '[1,2]'::X.halfvec OPERATOR(X.<<=>>) X.hybrid_sphere('[1,0]', 0.1)}, 'f' ],
	'halfvec_within_l1' => [ q{SELECT '[1,2]'::X.halfvec OPERATOR(X.<<+>>) X.hybrid_sphere('[1,0]', 2)}, 't' ],
	'hybrid_distances' => [ q{SELECT X.hybrid_distances('[0,0]', ARRAY['[3,4]']::X.vector[])}, '{5}' ],
	'hybrid_knn' => [ q{SELECT count(*) FROM X.hybrid_knn('item', 'v', ARRAY['[3,1]']::X.vector[], 3, rows => 'SELECT ctid FROM item WHERE id < 50')}, 3 ],
	'hybrid_knn_join' => [ q{SELECT count(*) FROM X.hybrid_knn_join('item', 'v', 'item', 'v', 2)}, 200 ],
	'hybrid_knn_graph' => [ q{SELECT count(*) FROM X.hybrid_knn_graph('item', 'id', 'v', 2, 'l2')}, 200 ],
	'hybrid_nearest' => [ q{SELECT X.hybrid_nearest(id, v, '[3,1]', 1), X.hybrid_nearest(id, v, '[3,1]', 1, 'l1'), X.hybrid_nearest(id, v::X.halfvec, '[3,1]', 1) FROM item}, '{"(3,0)"}|{"(3,0)"}|{"(3,0)"}' ],
	'hybrid_knn_sharded' => [ q{SELECT count(*), min(id) FROM X.hybrid_knn_sharded('item', 'v', 'id', ARRAY['[3,1]']::X.vector[], 1)}, '1|3' ],
	'hybrid_setting_check' => [ q{SELECT count(*) FROM X.hybrid_setting_check()}, 0 ],
	'hybrid_fuse' => [ q{SELECT id, rank_a, rank_b FROM X.hybrid_fuse(ARRAY[4], NULL)}, '4|1|' ],
	'hybrid_index_stats' => [ q{SELECT entries FROM X.hybrid_index_stats('item_v')}, 100 ],
	'hybrid_index_curve' => [ q{SELECT count(*) FROM X.hybrid_index_curve('item_v')}, 0 ],
	'hybrid_index_check' => [ q{SELECT X.hybrid_index_check('item_v')}, 100 ],
	'hybrid_index_measure' => [ q{SELECT count(*), min(recall) FROM X.hybrid_index_measure('item_v', ARRAY['[3,1]', '[50,1]']::X.vector[])}, '3|1' ],
	'hybrid_last_scan' => [ q{SELECT count(*) FROM X.hybrid_last_scan()}, 0 ],
	'hybrid_spread' => [ q{SELECT count(*) FROM X.hybrid_spread('SELECT 1, 2', ARRAY[1])}, 2 ],
	'hybrid_spread_batch' => [ q{SELECT count(*) FROM X.hybrid_spread_batch('SELECT 1, 2', ARRAY[1, 2], ARRAY[1, 2])}, 3 ],
	'hybrid_associate' => [ q{SELECT count(*) FROM X.hybrid_associate('item', 'id', 'v', '[3,1]', 'SELECT 3, 7', seeds => 1, k => 2)}, 2 ],
	'hybrid_pagerank' => [ q{SELECT count(*) FROM X.hybrid_pagerank('SELECT 1, 2')}, 2 ],
	'hybrid_shared_graphs' => [ q{SELECT direction, edges FROM X.hybrid_shared_graphs() WHERE graph = 'link_graph'::regclass AND direction = 'out'}, 'out|2' ],
	'hybrid_graph_check' => [ q{SELECT kept, edges, differences FROM X.hybrid_graph_check('link_graph')}, 't|2|0' ],
	'hybrid_neighbors' => [ q{SELECT count(*) FROM X.hybrid_neighbors('SELECT 1, 2', ARRAY[1])}, 2 ],
	'hybrid_subgraph' => [ q{SELECT * FROM X.hybrid_subgraph('SELECT 1, 2', ARRAY[1])}, '1|2|1|' ],
	'hybrid_shortest_path' => [ q{SELECT count(*) FROM X.hybrid_shortest_path('SELECT 1, 2', 1, 2)}, 2 ],
	'hybrid_components' => [ q{SELECT max(component) FROM X.hybrid_components('SELECT 1, 2')}, 1 ],
	'hybrid_degree' => [ q{SELECT sum(degree) FROM X.hybrid_degree('SELECT 1, 2')}, 2 ],
	'hybrid_triangles' => [ q{SELECT sum(triangles) FROM X.hybrid_triangles('VALUES (1, 2), (2, 3), (3, 1)')}, 3 ],
	'hybrid_similar_nodes' => [ q{SELECT * FROM X.hybrid_similar_nodes('VALUES (1, 2), (3, 2)', 1)}, '3|1' ],
	'hybrid_communities' => [ q{SELECT max(community) FROM X.hybrid_communities('SELECT 1, 2')}, 1 ],
	'_hybrid_get_index' => [ q{SELECT entries FROM X.hybrid_indexes WHERE index = 'item_v'::regclass}, 100 ],
	'_hybrid_get_devices' => [ q{SELECT count(*) FROM X.hybrid_devices}, 2 ],
	'_hybrid_get_capabilities' => [ q{SELECT count(*) > 10 FROM X.hybrid_capabilities}, 't' ],
	'_hybrid_get_stats' => [ q{SELECT count(*) > 0 FROM X.hybrid_stats}, 't' ],
	'_hybrid_get_events' => [ q{SELECT count(*) > 0 FROM X.hybrid_events}, 't' ],
	'_hybrid_get_tracker' => [ q{SELECT count(*) > 0 FROM X.hybrid_tracker}, 't' ],
	'hybrid_explain' => [ q{SELECT count(*) FROM X.hybrid_explain('distance', 100, 2)}, 2 ],
	'hybrid_audit' => [ q{SELECT count(*) FROM X.hybrid_audit()}, 1 ],
	'hybrid_audit_shapes' => [ q{SELECT count(*) >= 0 FROM X.hybrid_audit_shapes()}, 't' ],
	# a machine that is busy does not measure all of it, and says so
	'hybrid_calibrate' => [ q{SET client_min_messages = warning; SELECT count(*) > 20 FROM X.hybrid_calibrate(); SELECT count(*) > 20 FROM X.hybrid_calibration}, "t\nt" ],
	'hybrid_reset_stats' => [ q{SELECT X.hybrid_reset_stats()}, '' ],
);

# Those that only the server or others of them call, all of which the calls above and works() reach.
my %called = map { $_ => 1 } qw(_hybrid_run_calibration vector_in vector_out vector_typmod_in vector_recv
	halfvec_in halfvec_out halfvec_typmod_in halfvec_recv
	sparsevec_in sparsevec_out sparsevec_typmod_in sparsevec_recv _hybrid_handler _hybrid_graph_handler
	_hybrid_index_l2 _hybrid_index_ip _hybrid_index_cosine _hybrid_index_l1
	_hybrid_index_halfvec_l2 _hybrid_index_halfvec_ip _hybrid_index_halfvec_cosine _hybrid_index_halfvec_l1
	_hybrid_index_sparsevec_l2 _hybrid_index_sparsevec_ip _hybrid_index_sparsevec_cosine _hybrid_index_sparsevec_l1
	_hybrid_index_bit_hamming _hybrid_index_bit_jaccard _hybrid_index_maxsim _hybrid_index_halfvec_maxsim _hybrid_within_selectivity _hybrid_distance_cost _hybrid_row_estimate);

sub works
{
	my ($schema, $when) = @_;
	my $quoted = $node->safe_psql('postgres', "SELECT quote_ident('$schema')");
	my @functions = split /\n/, $node->safe_psql('postgres', q{
		SELECT DISTINCT proname FROM pg_depend JOIN pg_proc p ON p.oid = objid AND classid = 'pg_proc'::regclass
		WHERE deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'hybrid')
			AND (SELECT nspname FROM pg_namespace n WHERE n.oid = pronamespace) = } . "'$schema'" . q{
			AND NOT EXISTS (SELECT FROM pg_aggregate a WHERE p.oid IN (aggtransfn, aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn))
		ORDER BY 1});

	is_deeply([ grep { !$calls{$_} && !$called{$_} } @functions ], [], "$when: each function has a call here");
	is_deeply([ grep { my $f = $_; !grep { $_ eq $f } @functions } sort keys %calls ], [], "$when: and is in the schema");
	# the views after what they show, and the last of all is what forgets it
	for my $function ((grep { $_ ne 'hybrid_reset_stats' } sort { $a =~ s/^_//r cmp $b =~ s/^_//r } keys %calls), 'hybrid_reset_stats')
	{
		my ($sql, $expected) = @{ $calls{$function} };

		$sql =~ s/\bX\./$quoted./g;
		# a side takes up to ten seconds, and the device's is no other after a move
		$sql = "SET hybrid.plugins = ''; $sql" if $function eq 'hybrid_calibrate' && $schema ne 'one';
		my ($rc, $out, $err) = $node->psql('postgres', "SET search_path = evil, public; $sql");
		is("$out$err", $expected, "$when: $function");
	}
	is($node->safe_psql('postgres', "SET enable_seqscan = off; SELECT id FROM nearest"), 3, "$when: the index answers");
	is($node->safe_psql('postgres', "INSERT INTO sorted VALUES ('[1]') ON CONFLICT DO NOTHING; SELECT count(*) FROM sorted WHERE v = '[1]'"
		=~ s/v = /v OPERATOR($quoted.=) /r), 1, "$when: and a btree");
	is($node->safe_psql('postgres', "SELECT predicted_us > 0 FROM $quoted.hybrid_explain('topk', 1000, 64) WHERE device = 0",
			connstr => $node->connstr('postgres') . ' user=postgres'), 't', "$when: a session reads the calibration");
	return;
}

$node->safe_psql('postgres', 'GRANT USAGE ON SCHEMA one TO plain');
works('one', 'as created');
$node->safe_psql('postgres', 'ALTER SCHEMA one RENAME TO "The Second"');
works('The Second', 'schema renamed');
$node->safe_psql('postgres', 'CREATE SCHEMA three; ALTER EXTENSION hybrid SET SCHEMA three');
works('three', 'extension moved');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_depend d JOIN pg_proc p ON p.oid = objid AND classid = 'pg_proc'::regclass
	WHERE deptype = 'e' AND pronamespace = '"The Second"'::regnamespace}), 0, 'all of it');

# a session that was there before it was moved
my ($in, $out, $err) = ('', '', '');
my $session = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ], '<', \$in, '>', \$out, '2>', \$err,
	IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
$in .= "SET client_min_messages = warning; SELECT three.vector_dims('[1]'::three.vector);
";
IPC::Run::pump($session) until $out =~ /1\n/;
$node->safe_psql('postgres', 'ALTER EXTENSION hybrid SET SCHEMA public');
$in .= "SELECT count(*) FROM public.hybrid_devices; SET hybrid.plugins = ''; SELECT count(*) > 20 FROM public.hybrid_calibrate();\n\\q\n";
IPC::Run::finish($session);
is("$out$err", "1\n2\nt\n", 'an old session as well');

$node->stop;
done_testing();
