# The disk is full when a hybrid index is built, takes rows, splits lists or is vacuumed: an error, and the index
# stays intact.  A limit on the size of files stands for the disk: the server gets the same error when it adds a
# page.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'prlimit (util-linux) is not here to limit the size of files' if system('prlimit --version > /dev/null 2>&1') != 0;

my $node = PostgreSQL::Test::Cluster->new('full');
# files of the log below the limit
$node->init(extra => ['--wal-segsize=1']);
$node->append_conf('postgresql.conf', "autovacuum = off\njit = off\nfsync = off\n");
$node->start;

# an index that is thrice as large as its table, a page or more a row
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE FUNCTION made(i int) RETURNS vector LANGUAGE sql IMMUTABLE AS
	$$ SELECT array_agg(sin(i * j))::vector FROM generate_series(1, 500) j $$;
	CREATE TABLE item (id int, v vector(500)) WITH (vacuum_truncate = off);
	ALTER TABLE item ALTER v SET STORAGE plain;
	INSERT INTO item SELECT i, made(i) FROM generate_series(1, 900) i;
	CREATE TABLE rows AS TABLE item;
});
my $large = 'USING hybrid (((v || v || v)::vector(1500))) WITH (storage = float32, list_size = 32)';

# limit MEGABYTES: limit the file size for later sessions; 0: no limit
sub limit
{
	my ($megabytes) = @_;
	my ($pid) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	my $bytes = $megabytes > 0 ? $megabytes * 1024 * 1024 : 'unlimited';
	system("prlimit --pid $pid --fsize=$bytes:unlimited") == 0 or die 'prlimit failed';
	return;
}

sub files { return join ' ', sort map { s{.*/}{}r } glob($node->data_dir . '/base/*/[0-9]*'), glob($node->data_dir . '/base/pgsql_tmp/*'); }

# a build
my $files = files();
for my $memory ('4MB', '256MB')
{
	limit(5);
	my ($rc, $out, $err) = $node->psql('postgres', "SET maintenance_work_mem = '$memory'; CREATE INDEX item_v ON item $large");
	like($err, qr/ERROR:  could not (extend file|write to file|write block).*(File too large|wrote only)/, "a build with $memory: an error");
	limit(0);
	$node->safe_psql('postgres', 'CHECKPOINT');
	is(files(), $files, 'and its files are gone');
}
$node->safe_psql('postgres', "CREATE INDEX item_v ON item $large");
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('item_v')}), '900', 'with room it is built');

# whole WHEN: check that the index is intact, whatever space was lost, and has the rows of the table
sub whole
{
	my ($when) = @_;
	is( $node->safe_psql('postgres', q{
			SET client_min_messages = warning; SET enable_seqscan = off; SET hybrid.target_recall = 1;
			SELECT hybrid_index_check('item_v') >= (SELECT count(*) FROM item);
			WITH found AS MATERIALIZED (SELECT id FROM item ORDER BY (v || v || v)::vector(1500) <-> (made(3) || made(3) || made(3))::vector(1500))
			SELECT (SELECT count(*) FROM found) - (SELECT count(*) FROM item), count(*) FROM item WHERE id NOT IN (TABLE found)}),
		"t\n0|0", "$when: whole and complete");
	return;
}

# rows until there is no room, some of which split a list: into lists of a few rows
$node->safe_psql('postgres', 'TRUNCATE item; INSERT INTO item SELECT id, v FROM rows WHERE id <= 20');
limit(3);
my (%failed, $filled);
my ($rc, $out, $err) = $node->psql('postgres', join('', map { "INSERT INTO item SELECT id, v FROM rows WHERE id = $_;\n" } 21 .. 700), on_error_stop => 0);
my @errors = $err =~ /ERROR:  (.*)/g;
cmp_ok(scalar(@errors), '>', 10, 'there was no room for some rows');
is(scalar(grep { !/could not extend file .*(File too large|wrote only)/ } @errors), 0, 'and nothing else was wrong');
$filled = $node->safe_psql('postgres', 'SELECT count(*) FROM item');
cmp_ok($filled, '>', 100, "for $filled rows there was");
cmp_ok($node->safe_psql('postgres', q{SELECT lists FROM hybrid_index_stats('item_v')}), '>', 3, 'which split lists');
whole('full');

# still without room: rows go, and others take their places.  To merge lists VACUUM needs room, but
# what it does before is done.
($rc, $out, $err) = $node->psql('postgres', 'DELETE FROM item WHERE id % 2 = 0; VACUUM item; VACUUM item', on_error_stop => 0);
is(scalar(grep { !/could not extend file .*(File too large|wrote only)/ } $err =~ /ERROR:  (.*)/g), 0, 'a vacuum says at most that there is no room');
whole('vacuumed');
is($node->safe_psql('postgres', q{SET client_min_messages = warning; SELECT hybrid_index_check('item_v') = count(*) FROM item}), 't', 'and has removed the entries of the rows that went');
($rc, $out, $err) = $node->psql('postgres', join('', map { "INSERT INTO item SELECT 1000 + id, v FROM rows WHERE id = $_;\n" } 1 .. 40), on_error_stop => 0);
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM item WHERE id > 1000'), '>', 20, 'rows came in their places');
whole('refilled');

# with room, all is as it was
limit(0);
$node->safe_psql('postgres', "INSERT INTO item SELECT 2000 + id, v FROM rows");
whole('with room');
$node->safe_psql('postgres', 'VACUUM item');
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('item_v') = count(*) FROM item}), 't', 'as many entries as rows');
$node->stop;
done_testing();
