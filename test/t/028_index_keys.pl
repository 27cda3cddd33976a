# Keys before the vector under load: several sessions insert, change keys and delete, while VACUUM merges lists and makes new
# ones. Readers find each row of a key at any time. Afterwards, and on a standby, each key has its rows and no others.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use IPC::Run ();
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('keys');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', q{
autovacuum = off
shared_buffers = 2MB
max_wal_size = 1GB
});
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE TABLE doc (id int PRIMARY KEY, tenant int, v vector(8));
	CREATE FUNCTION vector_of(i int) RETURNS vector LANGUAGE sql IMMUTABLE AS $$
		SELECT array_agg(sin(i * (d + 0.7) * 1.13) + i % 11 ORDER BY d)::vector FROM generate_series(1, 8) d WHERE i > 0 $$;
	-- rows that stay: tenant k has 2000 / k of them
	INSERT INTO doc SELECT row_number() OVER (), k, vector_of((row_number() OVER ())::int) FROM generate_series(1, 40) k, generate_series(1, 2000 / k);
	CREATE TABLE stay AS SELECT tenant, count(*) AS n FROM doc GROUP BY tenant;
	CREATE INDEX doc_v ON doc USING hybrid (tenant, v) WITH (list_size = 32);
	-- the number of rows of a key that the index finds
	CREATE FUNCTION found(k int, lowest int, highest int) RETURNS bigint LANGUAGE sql STABLE AS $$
		SELECT count(*) FROM (SELECT id FROM doc WHERE tenant = k ORDER BY v <-> '[1,2,3,4,5,6,7,8]' LIMIT 1000000) s WHERE id BETWEEN lowest AND highest $$;
	ALTER FUNCTION found SET enable_seqscan = off;
	ALTER FUNCTION found SET enable_sort = off;
	ANALYZE;
});
my $last = $node->safe_psql('postgres', 'SELECT max(id) FROM doc');
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('keys_standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;

# run(NAME, SQL): start a session
sub run_sql
{
	my ($name, $sql) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir_short() . "/$name.sql";
	my $session = { name => $name, out => '', err => '' };

	append_to_file($file, $sql);
	$session->{run} = IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', $file ],
		'<', '/dev/null', '>', \$session->{out}, '2>', \$session->{err});
	return $session;
}

my @sessions;
for my $writer (1 .. 3)
{
	my $first = $last + $writer * 1_000_000;

	push @sessions, run_sql("writer$writer", join('', map {
		my $id = $first + $_ * 10;

		# new rows of large and small keys; some move to another key; some go
		"INSERT INTO doc SELECT $id + i, (($_ * 7919 + i * 31) % 97) * (($_ + i) % 2) + 1, vector_of($id + i) FROM generate_series(0, 9) i;\n"
		. ($_ % 5 == 0 ? "UPDATE doc SET tenant = tenant + 50 WHERE id BETWEEN $id - 30 AND $id;\n" : '')
		. ($_ % 3 == 0 ? "DELETE FROM doc WHERE id BETWEEN $id - 20 AND $id - 10;\n" : '')
	} 1 .. 250));
}
push @sessions, run_sql('vacuum', "VACUUM doc;\n" x 25);
push @sessions, run_sql('reader', q{SELECT count(*) FROM stay WHERE found(tenant, 1, } . $last . q{) <> n;} . "\n") for 1 .. 2;
$_->{run}->finish for @sessions;
is(join('', map { $_->{err} } @sessions), '', 'no session fails');
is($_->{out}, "0\n", "a $_->{name} finds the rows of each key") for grep { $_->{name} eq 'reader' } @sessions;

my $all = $node->safe_psql('postgres', 'SELECT count(*) FROM doc');
my $differ = q{SELECT count(*), coalesce(sum(n), 0) FROM (SELECT tenant, count(*) AS n FROM doc GROUP BY tenant) s WHERE found(tenant, 0, 2000000000) = n};
my $keys = $node->safe_psql('postgres', 'SELECT count(DISTINCT tenant) FROM doc');
is($node->safe_psql('postgres', $differ), "$keys|$all", 'each key has its rows');
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('doc_v') >= } . $all), 't', 'the index is whole');
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', $differ), "$keys|$all", 'each key has its rows on the standby');
$node->safe_psql('postgres', q{DELETE FROM doc WHERE tenant % 3 <> 0; VACUUM doc});
$node->wait_for_catchup($standby);
$all = $node->safe_psql('postgres', 'SELECT count(*) FROM doc');
$keys = $node->safe_psql('postgres', 'SELECT count(DISTINCT tenant) FROM doc');
is($node->safe_psql('postgres', $differ), "$keys|$all", 'each key has its rows after other keys are gone');
is($standby->safe_psql('postgres', $differ), "$keys|$all", 'and on the standby');
# a crash in the middle of inserts
my $crash = run_sql('crash', join('', map { "INSERT INTO doc SELECT 9000000 + $_ * 10 + i, $_ % 300, vector_of($_ * 10 + i) FROM generate_series(0, 9) i;\n" } 1 .. 2000));
ok($node->poll_query_until('postgres', 'SELECT count(*) > 200 FROM doc WHERE id > 9000000'), 'inserts are at work');
$node->stop('immediate');
eval { $crash->{run}->finish };
$node->start;
$all = $node->safe_psql('postgres', 'SELECT count(*) FROM doc');
$keys = $node->safe_psql('postgres', 'SELECT count(DISTINCT tenant) FROM doc');
is($node->safe_psql('postgres', $differ), "$keys|$all", 'each key has its rows after a crash');
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('doc_v') >= } . $all), 't', 'the index is whole after a crash');
$standby->stop;

# a damaged bound is found: the last leaf of the root has no upper bound, and gets one
$node->safe_psql('postgres', q{CREATE TABLE small AS SELECT i AS id, i % 9 AS tenant, vector_of(i)::vector(8) AS v FROM generate_series(1, 200) i;
	CREATE INDEX small_v ON small USING hybrid (tenant, v) WITH (list_size = 32);});
my $file = $node->data_dir . '/' . $node->safe_psql('postgres', q{SELECT pg_relation_filepath('small_v')});
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('small_v')}), '200', 'a good index');
$node->stop;
my $content = slurp_file($file);
my $root = unpack('L', substr($content, 56, 4));
my $page = substr($content, $root * 8192, 8192);
is(scalar(() = $page =~ /\xff{8}/g), 1, 'one bound is the greatest word');
substr($content, $root * 8192, 8192) = $page =~ s/\xff{8}/pack('Q', 1)/er;
open my $handle, '>:raw', $file or die $!;
print $handle $content;
close $handle;
$node->start;
my ($rc, $out, $err) = $node->psql('postgres', q{SELECT hybrid_index_check('small_v')});
like($err, qr/index "small_v" has a key that is beyond the bounds of its list/, 'the check names the damage');
($rc, $out, $err) = $node->psql('postgres', q{INSERT INTO small VALUES (1000, 500, vector_of(1)::vector(8))});
like($err, qr/index "small_v" has no list whose bounds include a key/, 'so does an insert of a key that has no list');
is($node->safe_psql('postgres', q{REINDEX INDEX small_v; SELECT hybrid_index_check('small_v')}), '200', 'REINDEX mends it');
$node->stop;
done_testing();
