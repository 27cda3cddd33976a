# Vectors survive pg_dump and restore, plain and custom, from any schema, and a restart.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('primary');
$node->init;
$node->start;

my $dir = PostgreSQL::Test::Utils::tempdir;

# Every bit of every vector, and what the type looks like from the catalogs.
my $fingerprint = q{
	SELECT string_agg(id || ':' || coalesce(md5(vector_send(v)), 'null'), ' ' ORDER BY id) FROM items;
	SELECT format_type(atttypid, atttypmod), attstorage FROM pg_attribute
		WHERE attrelid IN ('items'::regclass, 'points'::regclass) AND attnum = 2 ORDER BY attrelid::regclass::text;
	SELECT id, p FROM points ORDER BY id;
	SELECT id, distance FROM near ORDER BY distance, id;
	SELECT pg_get_indexdef('points_p'::regclass);
	SELECT obj_description('items'::regclass);
	SELECT id, s, '[3,4]'::vector <<->> s FROM balls ORDER BY id;
	SELECT pg_get_indexdef(indexrelid), hybrid_index_check(indexrelid) FROM pg_index WHERE indrelid = 'kinds'::regclass ORDER BY indexrelid::regclass::text;
	SELECT c FROM hybrid_calibration c ORDER BY c;
};

sub fill
{
	my ($database, $schema) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql(
		$database, qq{
		CREATE SCHEMA IF NOT EXISTS "$schema";
		CREATE EXTENSION hybrid SCHEMA "$schema";
		ALTER DATABASE $database SET search_path = public, "$schema";
		SET search_path = public, "$schema";
		CREATE TABLE items (id int PRIMARY KEY, v vector);
		INSERT INTO items VALUES
			(1, '[1,2.5,-3]'), (2, NULL), (3, '[3.4028235e38,-3.4028235e38,1e-45,-0]'),
			(4, '[0.1,0.2,0.3,1.17549435e-38]');
		INSERT INTO items SELECT n, array_agg(sin(i * n))::vector
			FROM unnest(ARRAY[30, 31, 500, 2000, 16000]) n, generate_series(1, n) i GROUP BY n;
		COMMENT ON TABLE items IS 'vectors of many sizes';
		CREATE TABLE points (id int, p vector(2) DEFAULT '[0,0]' CHECK (vector_norm(p) < 100));
		INSERT INTO points VALUES (1, '[3,4]'), (2, '[0,1]'), (3, DEFAULT), (4, NULL);
		CREATE INDEX points_p ON points (p);
		CREATE TABLE balls (id int, s hybrid_sphere DEFAULT hybrid_sphere('[1,1]', 'Infinity'));
		INSERT INTO balls VALUES (1, hybrid_sphere('[0.1,3.4028235e38]', 0.1)), (2, hybrid_sphere('[3,4]', 'NaN')), (3, ROW(NULL, 1)::hybrid_sphere), (4, NULL), (5, DEFAULT);
		CREATE TABLE kinds (h halfvec(2), s sparsevec(9), b bit(3));
		INSERT INTO kinds SELECT ARRAY[i, 1]::halfvec, format('{1:1,%s:2}/9', i)::sparsevec, (i % 8)::bit(3) FROM generate_series(2, 9) i;
		CREATE INDEX kinds_h ON kinds USING hybrid (h halfvec_cosine_ops) WITH (storage = int8);
		CREATE INDEX kinds_s ON kinds USING hybrid (s);
		CREATE INDEX kinds_b ON kinds USING hybrid (b bit_jaccard_ops);
		CREATE VIEW close AS SELECT id FROM points WHERE p <<->> hybrid_sphere('[0,0]', 2);
		INSERT INTO hybrid_calibration VALUES
			('cpu', 0, 'a "machine"', 'avx2', 'topk', 'float32', 'l2', 64, 1, 9, 0, 0.125, 0, 1e-7, '{1,2.5,-0,1e300}', '2020-02-02 02:02:02.020202+00'),
			('cuda', 3, 'a card', '9.0', 'spread', 'float32', 'l2', 0, 1, 1, 2, 3, 4, 5, '{}', 'epoch');
		CREATE VIEW near AS SELECT id, p <-> '[0,0]' AS distance FROM points WHERE p > '[-1]';
	});
	return;
}

# restored DATABASE SCHEMA RESTORE: return the fingerprint of a new database after RESTORE has run on it
sub restored
{
	my ($database, $schema, @restore) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->command_ok([ @restore, '--dbname', $node->connstr($database) ], "restore into $database");
	return $node->safe_psql($database, qq{SET search_path = public, "$schema"; $fingerprint});
}

for my $case ([ 'plain', 'public' ], [ 'apart', 'My Vectors' ])
{
	my ($database, $schema) = @$case;
	my ($file, $archive) = ("$dir/$database.sql", "$dir/$database.dump");

	fill($database, $schema);
	my $before = $node->safe_psql($database, $fingerprint);
	like($before, qr/^1:\w{32} 2:null 3:.* 16000:\w{32}$/m, "$database: there is something to compare");

	$node->command_ok([ 'pg_dump', '--file', $file, $node->connstr($database) ], "$database: pg_dump");
	is(restored("${database}_sql", $schema, 'psql', '--no-psqlrc', '--quiet', '--set', 'ON_ERROR_STOP=1',
			'--file', $file),
		$before, "$database: same after a plain dump");

	$node->command_ok([ 'pg_dump', '--format=custom', '--file', $archive, $node->connstr($database) ],
		"$database: pg_dump, custom");
	is(restored("${database}_custom", $schema, 'pg_restore', '--exit-on-error', $archive),
		$before, "$database: same after a custom dump");

	$node->restart;
	is($node->safe_psql($database, $fingerprint), $before, "$database: same after a restart");
}

# Who owns a database dumps it, though he is no superuser, and the calibration with it.
$node->safe_psql('postgres', 'CREATE ROLE tenant LOGIN; CREATE DATABASE owned OWNER tenant');
$node->safe_psql('owned', q{CREATE EXTENSION hybrid; INSERT INTO hybrid_calibration VALUES
	('cpu', 0, 'any', 'any', 'topk', 'float32', 'l2', 64, 1, 9, 0, 0.125, 0, 1e-7, '{1}', 'epoch')});
$node->command_ok([ 'pg_dump', '--format=custom', '--file', "$dir/owned.dump", '--dbname', $node->connstr('owned') . ' user=tenant' ], 'an owner dumps');
$node->safe_psql('postgres', 'CREATE DATABASE owned_again');
$node->command_ok([ 'pg_restore', '--exit-on-error', '--dbname', $node->connstr('owned_again'), "$dir/owned.dump" ], 'and it is restored');
my $calibrated = 'SELECT c FROM hybrid_calibration c';
is($node->safe_psql('owned_again', $calibrated), $node->safe_psql('owned', $calibrated), 'with the calibration');
my (undef, undef, $refused) = $node->psql('owned', 'DELETE FROM hybrid_calibration', connstr => $node->connstr('owned') . ' user=tenant');
like($refused, qr/permission denied for table hybrid_calibration/, 'which he may not change');

# A dump with data as text keeps the members of the extension out.
unlike(slurp_file("$dir/plain.sql"), qr/CREATE (TYPE|OPERATOR|FUNCTION|AGGREGATE)/,
	'a dump names the extension, not its members');

$node->stop;
done_testing();
