# VACUUM removes rows from a list of sparse vectors while a scan has bounds of their distances, but has not read them yet.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use HybridSession;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hold_lock = "$FindBin::RealBin/hold_lock";
my $node = PostgreSQL::Test::Cluster->new('segments');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;
session_on($node);
$node->safe_psql('postgres', qq{
	CREATE EXTENSION hybrid;
	CREATE FUNCTION hold_page(index regclass, block bigint, file text) RETURNS void LANGUAGE c STRICT AS '$hold_lock';
	CREATE TABLE item (id int, v sparsevec(100));
	INSERT INTO item SELECT i, format('{1:%s,2:1}/100', i)::sparsevec FROM generate_series(1, 3000) i;
	CREATE INDEX item_v ON item USING hybrid (v);
	DELETE FROM item WHERE id <= 100;
	CHECKPOINT});

# the second page of the list: the head names it
my $file = $node->data_dir . '/' . $node->safe_psql('postgres', q{SELECT pg_relation_filepath('item_v')});
my $pages = slurp_file($file);
my $second;
for my $block (1 .. length($pages) / 8192 - 1)
{
	my ($list, $kind) = unpack('L x8 S', substr($pages, $block * 8192 + 8192 - 16, 16));

	$second = unpack('L', substr($pages, $block * 8192 + 24, 4)) if $kind == 3 && $list == $block;
}
ok(defined $second && $second < length($pages) / 8192, 'the list has a second page');

# blocked QUERY: wait until the session whose statement begins so waits for the page
sub blocked
{
	my ($query) = @_;

	return $node->poll_query_until('postgres', qq{SELECT count(*) = 1 FROM pg_stat_activity
		WHERE pid <> pg_backend_pid() AND query LIKE '$query%' AND wait_event = 'BufferContent'});
}

# rest SESSION: wait for the end of its statements, and return what it has printed
sub rest
{
	my ($session) = @_;

	IPC::Run::pump($session->{run}) until $session->{out} =~ /^done$/m;
	return $session->{out};
}

my $nearest = q{SELECT count(*), min(id), max(id) FROM (SELECT id FROM item ORDER BY v <-> '{1:1,2:1}/100' LIMIT 40) s};
my $release = $node->basedir . '/release';
my $holder = session_with("SELECT hold_page('item_v', $second, '$release')");
ok($node->poll_query_until('postgres', "SELECT (pg_stat_file('$release.held', true)).size IS NOT NULL"), 'a session holds it');
my $scan = session_with("SET enable_seqscan = off; SET enable_sort = off;\n/* scan */ $nearest");
ok(blocked('/* scan */'), 'the scan has seen the rows of the first page');
my $vacuum = session_with('VACUUM item');
ok(blocked('VACUUM item'), 'VACUUM has removed them');
append_to_file($release, '');
like(rest($scan), qr/^40\|101\|140$/m, 'the scan returns the nearest rows that are left');
rest($vacuum);
is($node->safe_psql('postgres', "SET enable_seqscan = off; SET enable_sort = off; $nearest"), '40|101|140', 'and so does the next one');
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('item_v')}), 2900, 'and the index is whole');
finish($_) for $holder, $scan, $vacuum;
$node->stop;
done_testing();
