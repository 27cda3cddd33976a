# A scan on a standby that reports its snapshot (hot_standby_feedback), with a slot or without: the primary does
# not reuse the pages of lists that it splits meanwhile.  Without the report the scan gets an error.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use HybridSession;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', 'autovacuum = off');
$primary->start;
$primary->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	SELECT pg_create_physical_replication_slot('standby', true);
});
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', q{
max_standby_streaming_delay = 60s
wal_receiver_status_interval = 1s
});
$standby->start;

my $senders = 'SELECT count(backend_xmin) FROM pg_stat_replication';
my $slots = 'SELECT count(xmin) FROM pg_replication_slots';

# scan_beside_splits WHAT, FEEDBACK, SLOT, SAYS: read a cursor on the standby to its end, while lists are split
# after its first rows.  SAYS is the query that sees the report on the primary.  Returns the number of rows and
# the errors.
sub scan_beside_splits
{
	my ($what, $feedback, $slot, $says) = @_;

	$standby->safe_psql('postgres', "ALTER SYSTEM SET hot_standby_feedback = $feedback");
	$standby->safe_psql('postgres', "ALTER SYSTEM SET primary_slot_name = '$slot'");
	$standby->restart;
	$primary->safe_psql('postgres', q{
		DROP TABLE IF EXISTS item;
		CREATE TABLE item (id int, v vector(2));
		CREATE INDEX item_v ON item USING hybrid (v) WITH (list_size = 32);
		INSERT INTO item SELECT i, ARRAY[i % 40, i / 40.0]::vector FROM generate_series(1, 1200) i;
		ANALYZE item;
	});
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	for my $by ($senders, $slots)
	{
		my $count = $by eq $says ? 1 : 0;
		ok($primary->poll_query_until('postgres', "SELECT ($by) = $count"), "$what: $count says so: $by");
	}

	session_on($standby);
	my $reader = session();
	ask($reader, 'SET enable_seqscan = off; SET enable_sort = off; SET hybrid.probes = 1000000; SET hybrid.max_scan_tuples = 1000000');
	ask($reader, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
	ask($reader, q{DECLARE c CURSOR FOR SELECT id FROM item ORDER BY v <-> '[0,0]'});
	is(scalar(split /\n/, ask($reader, 'FETCH 2 FROM c')), 2, "$what: it begins");
	$primary->safe_psql('postgres', q{
		DO $$ BEGIN FOR k IN 1 .. 4 LOOP
			INSERT INTO item SELECT 5000 + i, ARRAY[i % 40, i / 40.0]::vector FROM generate_series(1, 1500) i;
			COMMIT;
		END LOOP; END $$;
	});
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	my $rows = () = ask($reader, 'FETCH ALL FROM c') =~ /^\d+$/mg;
	ask($reader, 'ROLLBACK');
	finish($reader);
	return ($rows, $reader->{err});
}

# where nobody says so, pages are taken: what follows does not hold by itself
my ($rows, $err) = scan_beside_splits('unsaid', 'off', '', 'nobody');
like($err, qr/ERROR: .*canceling statement due to conflict with recovery/, 'unsaid: it is told of the conflict');
($rows, $err) = scan_beside_splits('by its walsender', 'on', '', $senders);
is($err, '', 'by its walsender: nobody takes what it reads');
is($rows, 1198, 'by its walsender: and it finds all the rest');
($rows, $err) = scan_beside_splits('by a slot', 'on', 'standby', $slots);
is($err, '', 'by a slot: nobody takes what it reads');
is($rows, 1198, 'by a slot: and it finds all the rest');

$standby->stop;
$primary->stop;
done_testing();
