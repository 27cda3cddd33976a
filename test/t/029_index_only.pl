# VACUUM removes entries and rows while the rows that an index-only scan has found wait to be returned.  The pages of the
# table are all-visible then, but the scan returns no row that its snapshot does not see.
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
my $gate = 4294967294;
my $pages; # of the table when it was filled
my $node = PostgreSQL::Test::Cluster->new('index_only');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\nenable_seqscan = off\n");
$node->start;
session_on($node);
$node->safe_psql('postgres', qq{
	CREATE EXTENSION hybrid;
	CREATE FUNCTION hold_lock(index regclass, block bigint) RETURNS void LANGUAGE c STRICT AS '$hold_lock';
	CREATE FUNCTION hold_page(index regclass, block bigint, file text) RETURNS void LANGUAGE c STRICT AS '$hold_lock';
	CREATE FUNCTION place(i int) RETURNS vector LANGUAGE sql IMMUTABLE AS
	'SELECT ARRAY[hashint4extended(i, 0) % 100, hashint4extended(i, 1) % 100, hashint4extended(i, 2) % 100]::real[]::vector(3)'});

# fill: make a table of 800 rows whose index has grown by inserts, so that the next VACUUM would build another tree if it may
sub fill
{
	$node->safe_psql('postgres', q{
		DROP TABLE IF EXISTS item;
		CREATE TABLE item (id int, v vector(3)) WITH (vacuum_truncate = off);
		CREATE INDEX item_v ON item USING hybrid (v) INCLUDE (id) WITH (list_size = 32, storage = float32);
		INSERT INTO item SELECT i, place(i) FROM generate_series(1, 800) i});
	$pages = $node->safe_psql('postgres', q{SELECT pg_relation_size('item') / 8192});
	return;
}

# open_scan: start a scan that has found all rows of its snapshot, and has returned one
sub open_scan
{
	my $scan = session();

	like(ask($scan, q{EXPLAIN SELECT id FROM item ORDER BY v <-> '[1,2,3]' LIMIT 1000}), qr/Index Only Scan/, 'an index-only scan');
	ask($scan, q{BEGIN; DECLARE near CURSOR FOR SELECT id, v FROM item ORDER BY v <-> '[1,2,3]' LIMIT 1000});
	is(scalar(my @rows = split /\n/, ask($scan, 'FETCH 1 FROM near')), 1, 'has returned a row');
	return $scan;
}

# close_scan SCAN, COUNT, LABEL: the other rows of the scan are those of its snapshot
sub close_scan
{
	my ($scan, $count, $label) = @_;
	my @rows = split /\n/, ask($scan, 'FETCH ALL FROM near');
	my @wrong = grep { /^(\d+)\|/ && ($1 % 10 == 0 || $1 > 800) } @rows;

	is("@wrong", '', "$label: no removed row and no later one");
	is(scalar(@rows), $count - 1, "$label: all others");
	ask($scan, 'COMMIT');
	finish($scan);
	return;
}

# removed: make VACUUM remove the rows, and test that their pages are all-visible then, but for one that the scan has pinned
sub removed
{
	# without temporary files, VACUUM builds no other tree
	$node->safe_psql('postgres', 'SET temp_file_limit = 0; VACUUM item');
	cmp_ok($node->safe_psql('postgres', q{SELECT relallvisible FROM pg_class WHERE relname = 'item'}), '>=', $pages - 1, 'pages are all-visible');
	return;
}

# slots of lists are dead, or used by other rows, of which some have the same place in the table
for my $more ('', 'INSERT INTO item SELECT i, place(i) FROM generate_series(801, 880) i; VACUUM item',
	'INSERT INTO item SELECT i, place(i) FROM generate_series(10, 800, 10) i; VACUUM item')
{
	fill();
	$node->safe_psql('postgres', 'VACUUM item; DELETE FROM item WHERE id % 10 = 0');
	my $scan = open_scan();
	removed();
	$node->safe_psql('postgres', $more) if $more ne '';
	close_scan($scan, 720, $more eq '' ? 'dead slots' : 'used slots');
}

# lists are merged
fill();
$node->safe_psql('postgres', 'VACUUM item; DELETE FROM item WHERE id % 10 = 0 OR id > 100');
my $scan = open_scan();
removed();
close_scan($scan, 90, 'merged lists');

# lists are split before VACUUM comes: the old lists keep the entries of removed rows
fill();
$node->safe_psql('postgres', 'VACUUM item; DELETE FROM item WHERE id % 10 = 0');
$scan = open_scan();
$node->safe_psql('postgres', 'INSERT INTO item SELECT i, place(i) FROM generate_series(801, 1000) i');
removed();
close_scan($scan, 720, 'split lists');

# hold BLOCK, NAME: hold a page until release() of this name
sub hold
{
	my ($block, $name) = @_;
	my $file = $node->basedir . "/$name";
	my $session = session_with("SELECT hold_page('item_v', $block, '$file')");

	$node->poll_query_until('postgres', "SELECT (pg_stat_file('$file.held', true)).size IS NOT NULL") or die;
	return $session;
}

# release SESSION, NAME: end hold() of this name
sub release
{
	my ($session, $name) = @_;

	append_to_file($node->basedir . "/$name", '');
	IPC::Run::pump($session->{run}) until $session->{out} =~ /^done$/m;
	finish($session);
	return;
}

# waits EVENT: wait until VACUUM waits for a lock or for a page
sub waits
{
	my ($event) = @_;

	ok($node->poll_query_until('postgres', qq{SELECT count(*) = 1 FROM pg_stat_activity
		WHERE query LIKE 'VACUUM item%' AND pid <> pg_backend_pid() AND state = 'active' AND wait_event = '$event'}), "VACUUM waits: $event");
	return;
}

# VACUUM builds another tree, while an old snapshot keeps the rows. It is cancelled when the tree is there and the old leaves
# are not marked as moved. The next VACUUM removes the rows from the new tree.
fill();
# the visibility map is made, but no other tree yet
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP off) item; CHECKPOINT');
my $file = slurp_file($node->data_dir . '/' . $node->safe_psql('postgres', q{SELECT pg_relation_filepath('item_v')}));
my $leaf;
for my $block (reverse 1 .. length($file) / 8192 - 1)
{
	my ($list, $kind) = unpack('L x8 S', substr($file, $block * 8192 + 8192 - 16, 16));
	my ($level, $state) = unpack('SS', substr($file, $block * 8192 + 44, 4));

	$leaf = $block if $kind == 3 && $list == $block && $level == 0 && $state == 1;
}
my $old = session();
ask($old, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
$node->safe_psql('postgres', 'DELETE FROM item WHERE id % 10 = 0');
$scan = open_scan();
# VACUUM has visited the lists and begins; it reads rows, among them those of this leaf; it has all, and would replace the tree
my $gatekeeper = session();
ask($gatekeeper, "BEGIN; SELECT hold_lock('item_v', $gate)");
my $vacuum = session_with("SET deadlock_timeout = '1h';\nVACUUM item");
waits('tuple');
my $holder = hold($leaf, 'read');
ask($gatekeeper, 'COMMIT');
waits('BufferContent');
ask($gatekeeper, "BEGIN; SELECT hold_lock('item_v', $gate)");
release($holder, 'read');
waits('tuple');
$holder = hold($leaf, 'mark');
ask($gatekeeper, 'COMMIT');
waits('BufferContent');
$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'VACUUM item%'});
release($holder, 'mark');
IPC::Run::pump($vacuum->{run}) until $vacuum->{out} =~ /^done$/m;
like($vacuum->{err}, qr/canceling statement/, 'VACUUM is cancelled');
finish($vacuum);
ask($old, 'COMMIT');
# the next VACUUM has removed the rows, but has not found the old leaves yet
ask($gatekeeper, "BEGIN; SELECT hold_lock('item_v', 0)");
$vacuum = session_with('VACUUM item');
waits('tuple');
close_scan($scan, 720, 'another tree');
ask($gatekeeper, 'COMMIT');
IPC::Run::pump($vacuum->{run}) until $vacuum->{out} =~ /^done$/m;
$node->safe_psql('postgres', 'VACUUM item');
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('item_v')}), 720, 'the index is whole');
finish($_) for $old, $vacuum, $gatekeeper;
$node->stop;
done_testing();
