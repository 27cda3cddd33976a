# Updates of the extensions: a version that this test makes up, for databases with data, indexes and registered graphs.
# The scripts do what those of later versions will do: add and replace functions, views, columns and comments.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use HybridSession;

my $node = PostgreSQL::Test::Cluster->new('updated');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'hybrid'");
$node->start;

my $dir = PostgreSQL::Test::Utils::tempdir;

# The server's tree belongs to this run of the tests; other tests find it as it was.
my $extensions = $node->config_data('--sharedir') . '/extension';
my %control = map { $_ => slurp_file("$extensions/$_.control") } 'hybrid', 'vector';
my ($old_vector) = $control{vector} =~ /^default_version = '([^']+)'/m;
my %scripts = (
	"hybrid--1.0--1.0.1test.sql" => <<'SQL',
\echo Use "ALTER EXTENSION hybrid UPDATE" to load this file. \quit
CREATE FUNCTION hybrid_test_dims(vector) RETURNS integer
	AS 'MODULE_PATHNAME', 'hybrid_vector_dims' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hybrid_test_dims(vector) IS 'new in this version';
CREATE OR REPLACE FUNCTION vector_norm(vector) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_vector_norm' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 21;
CREATE OR REPLACE VIEW hybrid_devices AS SELECT *, 7 AS added FROM _hybrid_get_devices();
ALTER TABLE hybrid_calibration ADD COLUMN added int NOT NULL DEFAULT 7;
COMMENT ON TYPE vector IS 'changed in this version';
CREATE OPERATOR <!-> (LEFTARG = vector, RIGHTARG = vector, FUNCTION = l2_distance, COMMUTATOR = '<!->');
SQL
	"vector--$old_vector--9.0test.sql" => <<'SQL',
\echo Use "ALTER EXTENSION vector UPDATE" to load this file. \quit
CREATE FUNCTION vector_test() RETURNS int LANGUAGE sql IMMUTABLE RETURN 9;
COMMENT ON ACCESS METHOD hnsw IS 'changed in this version';
SQL
	);

sub write_file
{
	my ($name, $text) = @_;

	# not appended: a control file is there already
	unlink("$extensions/$name");
	append_to_file("$extensions/$name", $text);
	return;
}

# newer: let both extensions have the new version as their default
sub newer
{
	my %new = (hybrid => '1.0.1test', vector => '9.0test');

	write_file($_, $scripts{$_}) for keys %scripts;
	for my $name (keys %control)
	{
		(my $text = $control{$name}) =~ s/^default_version = .*/default_version = '$new{$name}'/m;
		write_file("$name.control", $text);
	}
	return;
}

END
{
	my $status = $?;
	unlink("$extensions/$_") for keys %scripts;
	write_file("$_.control", $control{$_}) for keys %control;
	$? = $status;
}

# What a database answers, by its indexes and graphs; SCHEMA is where the extension is.
my $answers = q{
	SET enable_seqscan = off;
	SELECT array_agg(id) FROM (SELECT id FROM item ORDER BY v <-> '[1,2,3]' LIMIT 20) n;
	SELECT array_agg(id) FROM (SELECT id FROM item ORDER BY h <=> '[1,2,3]' LIMIT 20) n;
	SELECT array_agg(id) FROM (SELECT id FROM other ORDER BY v <-> '[3,2,1]' LIMIT 20) n;
	SELECT array_agg((id, activation)) FROM hybrid_spread('graph', ARRAY[1, 2], k => 20);
	SELECT * FROM near;
	SELECT c FROM hybrid_calibration c ORDER BY backend;
	SELECT hybrid_index_check('item_v'), hybrid_index_check('item_h'), hybrid_index_check('other_v');
	SELECT differences FROM hybrid_graph_check('graph')};
# The files of the indexes: none is built anew.
my $files = q{SELECT array_agg(relfilenode ORDER BY relname) FROM pg_class
	WHERE relname IN ('item_v', 'item_h', 'other_v', 'graph')};
my $versions = q{SELECT string_agg(extname || ' ' || extversion, ', ' ORDER BY extname) FROM pg_extension
	WHERE extname IN ('hybrid', 'vector')};
# All that an extension consists of: each object, with the definition, comment and privileges of the catalogs.
my $members = q{
	SELECT i.type, i.identity, obj_description(d.objid, c.relname),
		CASE d.classid WHEN 'pg_proc'::regclass THEN
			(SELECT CASE prokind WHEN 'a' THEN 'aggregate' ELSE pg_get_functiondef(p.oid) END || coalesce(proacl::text, '')
				FROM pg_proc p WHERE p.oid = d.objid)
		WHEN 'pg_class'::regclass THEN
			(SELECT coalesce(pg_get_viewdef(r.oid), '') || coalesce(relacl::text, '') || (SELECT string_agg(attname || ' ' ||
				format_type(atttypid, atttypmod), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = r.oid AND attnum > 0)
				FROM pg_class r WHERE r.oid = d.objid)
		END
	FROM pg_depend d JOIN pg_class c ON c.oid = d.classid,
		pg_identify_object(d.classid, d.objid, d.objsubid) i
	WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
		AND d.refobjid IN (SELECT oid FROM pg_extension WHERE extname IN ('hybrid', 'vector'))
	ORDER BY 1, 2};

# in_database DATABASE, SCHEMA, SQL: its answer, or what it failed with
sub in_database
{
	my ($database, $schema, $sql) = @_;

	return $node->safe_psql($database, qq{SET search_path = public, "$schema"; $sql});
}

sub fill
{
	my ($database, $schema) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, qq{
		CREATE SCHEMA IF NOT EXISTS "$schema";
		CREATE EXTENSION hybrid SCHEMA "$schema";
		CREATE EXTENSION vector SCHEMA "$schema";
		SET search_path = public, "$schema";
		CREATE TABLE item (id int PRIMARY KEY, v vector(3), h halfvec(3));
		INSERT INTO item SELECT i, ARRAY[sin(i), cos(i), sin(i * 2)]::real[]::vector, ARRAY[cos(i), sin(i), i % 7]::real[]::halfvec
			FROM generate_series(1, 3000) i;
		CREATE TABLE other AS SELECT id, v FROM item WHERE id <= 500;
		CREATE INDEX item_v ON item USING hybrid (v vector_l2_ops);
		CREATE INDEX item_h ON item USING hybrid (h halfvec_cosine_ops);
		CREATE INDEX other_v ON other USING hnsw (v vector_l2_ops);
		DELETE FROM item WHERE id % 10 = 0;
		VACUUM item;
		CREATE TABLE link (source int, target int, weight real);
		INSERT INTO link SELECT i, i * 7 % 1000, i FROM generate_series(1, 2000) i;
		CREATE INDEX graph ON link USING hybrid_graph (source, target, weight);
		CREATE VIEW near AS SELECT id, vector_norm(v) FROM item ORDER BY v <-> '[0,0,1]' LIMIT 3;
		CREATE VIEW devices AS SELECT device, backend FROM hybrid_devices;
		INSERT INTO hybrid_calibration VALUES ('cpu', 0, 'any', 'any', 'topk', 'float32', 'l2', 64, 1, 9, 0, 0.125, 0, 1e-7, '{1}', 'epoch');
	});
	return;
}

my @cases = ([ 'here', 'public' ], [ 'apart', 'My Vectors' ]);
my %before;
for my $case (@cases)
{
	my ($database, $schema) = @$case;

	fill($database, $schema);
	$before{$database} = in_database($database, $schema, $answers);
	like($before{$database}, qr/^2700\|2700\|500\n0$/m, "$database: there is something to compare");
	$before{"$database files"} = $node->safe_psql($database, $files);
}

# A session that began before the update, with a plan and a copy of the graph, and its library loaded.
session_on($node);
my $older = session();
ask($older, '\c here');
ask($older, 'SET enable_seqscan = off');
ask($older, q{PREPARE nearest AS SELECT id FROM item ORDER BY v <-> '[1,2,3]' LIMIT 1});
my $nearest = ask($older, 'EXECUTE nearest');
my $strongest = ask($older, q{SELECT id, activation FROM hybrid_spread('graph', ARRAY[1], k => 5)});
like($nearest, qr/^\d+$/, 'an older session has a plan');

newer();
for my $case (@cases)
{
	my ($database, $schema) = @$case;

	is($node->safe_psql($database, $versions), "hybrid 1.0, vector $old_vector", "$database: not updated by new files");
	is(in_database($database, $schema, $answers), $before{$database}, "$database: with the old script beside new files");

	$node->safe_psql($database, 'BEGIN; ALTER EXTENSION hybrid UPDATE; ALTER EXTENSION vector UPDATE; ROLLBACK');
	is($node->safe_psql($database, $versions), "hybrid 1.0, vector $old_vector", "$database: an update is rolled back");
	is(in_database($database, $schema, $answers), $before{$database}, "$database: and the answers are the same");

	$node->safe_psql($database, 'ALTER EXTENSION hybrid UPDATE');
	is($node->safe_psql($database, $versions), "hybrid 1.0.1test, vector $old_vector", "$database: hybrid alone");
	(my $expected = $before{$database}) =~ s/^(\(cpu,.*)\)$/$1,7)/m;
	isnt($expected, $before{$database}, "$database: the calibration has a column more");
	is(in_database($database, $schema, $answers), $expected, "$database: the same answers");
	$node->safe_psql($database, 'ALTER EXTENSION vector UPDATE');
	is($node->safe_psql($database, $versions), 'hybrid 1.0.1test, vector 9.0test', "$database: vector, too");
	is(in_database($database, $schema, $answers), $expected, "$database: and the same answers");
	is($node->safe_psql($database, $files), $before{"$database files"}, "$database: no index was built again");

	is(in_database($database, $schema, q{SELECT hybrid_test_dims('[1,2]'), vector_test(), '[0,0]' <!-> '[3,4]',
			(SELECT min(added) FROM hybrid_devices), (SELECT count(*) > 0 FROM devices),
			obj_description('vector'::regtype)}),
		'2|9|5|7|t|changed in this version', "$database: what is new is there");
	in_database($database, $schema, q{INSERT INTO item VALUES (0, '[1,2,3]', '[1,2,3]'); INSERT INTO link VALUES (1, 5000, 1);
		REINDEX INDEX item_h; VACUUM item});
	is(in_database($database, $schema, q{SET enable_seqscan = off; SELECT id FROM item ORDER BY v <-> '[1,2,3]' LIMIT 1}), '0',
		"$database: rows are added");
}

is(ask($older, 'EXECUTE nearest'), '0', 'the older session goes on: its plan');
is(ask($older, q{SELECT count(*) FROM hybrid_spread('graph', ARRAY[1]) WHERE id = 5000}), '1', 'and its graph');
isnt(ask($older, q{SELECT id, activation FROM hybrid_spread('graph', ARRAY[1], k => 5)}), '', 'which it spreads over');
is(ask($older, q{SELECT hybrid_test_dims('[1,2,3]')}), '3', 'and it sees what is new');
finish($older);

# An update leads to what a new database has.
$node->safe_psql('postgres', 'CREATE DATABASE fresh');
$node->safe_psql('fresh', 'CREATE EXTENSION hybrid; CREATE EXTENSION vector');
is($node->safe_psql('fresh', $versions), 'hybrid 1.0.1test, vector 9.0test', 'a new database has the new version');
is($node->safe_psql('here', $members), $node->safe_psql('fresh', $members), 'and the updated one has the same objects');

# Dumps name the extension alone, and bring the column that was added.
for my $case (@cases)
{
	my ($database, $schema) = @$case;

	$node->command_ok([ 'pg_dump', '--format=custom', '--file', "$dir/$database", $node->connstr($database) ],
		"$database: pg_dump");
	$node->safe_psql('postgres', "CREATE DATABASE ${database}_again");
	$node->command_ok([ 'pg_restore', '--exit-on-error', '--dbname', $node->connstr("${database}_again"), "$dir/$database" ],
		"$database: and pg_restore");
	my $kept = q{SELECT c FROM hybrid_calibration c; SELECT count(*), sum(vector_norm(v)) > 0 FROM item};
	is(in_database("${database}_again", $schema, $kept), in_database($database, $schema, $kept), "$database: with its rows");
}

# Who may update.
$node->safe_psql('postgres', 'CREATE ROLE tenant LOGIN; CREATE DATABASE theirs OWNER tenant');
$node->safe_psql('theirs', "CREATE EXTENSION hybrid VERSION '1.0'");
my $tenant = $node->connstr('theirs') . ' user=tenant';
$node->safe_psql('theirs', "CREATE EXTENSION vector VERSION '$old_vector'", connstr => $tenant);
my (undef, undef, $refused) = $node->psql('theirs', 'ALTER EXTENSION hybrid UPDATE', connstr => $tenant);
like($refused, qr/must be owner of extension hybrid/, 'hybrid is updated by a superuser');
$node->safe_psql('theirs', 'ALTER EXTENSION vector UPDATE', connstr => $tenant);
is($node->safe_psql('theirs', $versions), 'hybrid 1.0, vector 9.0test', 'vector by the role that created it');

$node->stop;
done_testing();
