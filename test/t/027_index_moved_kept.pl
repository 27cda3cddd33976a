# VACUUM reads the whole file and finds each list that was moved.  It keeps those that an older snapshot may still
# visit: a cursor that has read their block numbers, but not yet the lists, finds its lists there with every row
# that it sees.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use HybridSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rows = 1600;

my $node = PostgreSQL::Test::Cluster->new('kept');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\n");
$node->start;
session_on($node);
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE FUNCTION place(i int) RETURNS vector LANGUAGE sql IMMUTABLE AS
	'SELECT (ARRAY[i % 40, i / 40.0]::real[] || array_fill(1::real, ARRAY[62]))::vector(64)'});

# each way in which lists are moved: rows that are gone when the cursors open, what others do then, and whether VACUUM
# may make another tree, which takes temporary files
my @ways = (
	[ 'split', 'false', "INSERT INTO item SELECT i, place(i % $rows) FROM generate_series(10001, 14800) i", 0 ],
	[ 'merged', 'id % 4 <> 0', 'VACUUM item', 0 ],
	[ 'regrouped', 'false', "INSERT INTO item SELECT i, place(i % $rows) FROM generate_series(10001, 14800) i; VACUUM item", -1 ]);
# and each way of a scan that goes on: from list to list, by codes of all lists first, pass by pass
my %scans = (
	'list by list' => 'SET hybrid.target_recall = 0.5; SET hybrid.iterative_scan = relaxed_order',
	'by all codes' => 'SET hybrid.probes = 1000000',
	'by all vectors' => "SET hybrid.target_recall = 1; SET work_mem = '64kB'");

for my $way (@ways)
{
	my ($moved, $gone, $change, $files) = @$way;
	my %cursors;

	$node->safe_psql('postgres', qq{
		DROP TABLE IF EXISTS item;
		CREATE TABLE item (id int, v vector(64)) WITH (vacuum_truncate = off);
		INSERT INTO item SELECT i, place(i) FROM generate_series(1, $rows) i;
		CREATE INDEX item_v ON item USING hybrid (v) WITH (list_size = 32);
		ANALYZE item;
		DELETE FROM item WHERE $gone});
	for my $scan (sort keys %scans)
	{
		my $session = $cursors{$scan} = session();

		ask($session, "SET enable_seqscan = off; SET enable_sort = off; SET hybrid.max_scan_tuples = 1000000; $scans{$scan}");
		ask($session, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
		ask($session, 'DECLARE c NO SCROLL CURSOR FOR SELECT id FROM item ORDER BY v <-> place(0)');
		$session->{ids} = ask($session, 'FETCH 2 FROM c');
		is(scalar(split /\n/, $session->{ids}), 2, "$moved, $scan: a cursor has begun");
	}
	my $sees = $node->safe_psql('postgres', 'SELECT count(*) FROM item');
	my $lists = $node->safe_psql('postgres', q{SELECT lists FROM hybrid_index_stats('item_v')});
	$node->psql('postgres', "SET temp_file_limit = $files; $change", on_error_die => 1);
	my $kept = $node->safe_psql('postgres', q{SELECT moved_pages FROM hybrid_index_stats('item_v')});
	cmp_ok($kept, '>=', $lists, "$moved: lists were moved");
	$node->psql('postgres', "SET temp_file_limit = $files; VACUUM item", on_error_die => 1);
	cmp_ok($node->safe_psql('postgres', q{SELECT moved_pages FROM hybrid_index_stats('item_v')}), '>=', $kept, "$moved: VACUUM leaves them");
	# what it had freed would be others' now
	$node->safe_psql('postgres', "INSERT INTO item SELECT i, place(i % $rows) FROM generate_series(20001, 24800) i");
	for my $scan (sort keys %scans)
	{
		my $session = $cursors{$scan};
		$session->{err} = '';
		my @ids = (split(/\n/, $session->{ids}), split(/\n/, ask($session, 'FETCH ALL FROM c')));
		my %found = map { $_ => 1 } @ids;
		is($session->{err}, '', "$moved, $scan: no error");
		is(scalar(@ids), scalar(keys %found), "$moved, $scan: no row twice");
		my @sees = split /\n/, ask($session, 'SET enable_indexscan = off; SET enable_seqscan = on; SELECT id FROM item');
		is(scalar(@sees), $sees, "$moved, $scan: what the snapshot sees");
		is(scalar(grep { !$found{$_} } @sees), 0, "$moved, $scan: each of these is found");
		is(scalar(@ids), $sees, "$moved, $scan: and no other");
		ask($session, 'COMMIT');
		finish($session);
	}
	# when they have gone, so do the lists
	$node->safe_psql('postgres', 'SELECT pg_current_xact_id()');
	$node->psql('postgres', 'VACUUM item', on_error_die => 1) for 1 .. 2;
	cmp_ok($node->safe_psql('postgres', q{SELECT moved_pages FROM hybrid_index_stats('item_v')}), '<', $lists, "$moved: and later takes them");
	is($node->safe_psql('postgres', q{SELECT hybrid_index_check('item_v') = (SELECT count(*) FROM item)}), 't', "$moved: the index has every row");
}
$node->stop;
done_testing();
