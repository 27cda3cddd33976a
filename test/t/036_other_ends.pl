# What ends a statement besides a cancel ends a long computation, too: on a standby a conflict with replay, and from
# PostgreSQL 17 on transaction_timeout. From 17 on, PostgreSQL does not turn either into a cancel.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;

use HybridSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

# far longer than the test, within one function of pure code
my $long = q{SELECT count(*) FROM hybrid_pagerank('SELECT i, i * 7 % 100003 FROM generate_series(0, 100002) i',
	damping => 0.9996, tolerance => 1e-40)};
# seconds that the end may take on a busy machine
my $limit = 60;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "autovacuum = off\n");
$primary->start;
$primary->safe_psql('postgres', 'CREATE EXTENSION hybrid; CREATE TABLE seen AS SELECT 1 AS i');
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = off\nmax_standby_streaming_delay = 100ms\n");
$standby->start;
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));

# begin SESSION, SQL: start a statement, and return its backend's PID when it has computed for a while, or has ended
sub begin
{
	my ($session, $sql) = @_;
	my $pid = ask($session, 'SELECT pg_backend_pid()');
	my $before = processor_seconds($pid);
	my $end = time + $limit;

	$session->{out} = '';
	$session->{in} .= "$sql;\n\\echo done\n";
	do { sleep 0.02; eval { $session->{run}->pump_nb } }
		until !-e "/proc/$pid" || eval { processor_seconds($pid) - $before > 0.5 } || time > $end;
	return $pid;
}

# ended SESSION, PID: wait for the end of its statement or of its backend, and return whether it came
sub ended
{
	my ($session, $pid) = @_;
	my $end = time + $limit;
	my $ended = 0;

	until ($ended || time > $end)
	{
		sleep 0.02;
		eval { $session->{run}->pump_nb };
		$ended = $session->{out} =~ /^done\n/m || !-e "/proc/$pid";
	}
	return $ended;
}

# --- a conflict with replay

session_on($standby);
my $session = session();
my $pid = begin($session, $long);
$primary->safe_psql('postgres', 'DELETE FROM seen; VACUUM seen');
ok(ended($session, $pid), 'a conflict with replay ends a long computation');
like($session->{err}, qr/canceling statement due to conflict with recovery/, 'and is told');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
# a second signal that comes while the transaction is rolled back ends the session
my $seen = eval { ask($session, 'SELECT count(*) FROM seen') };
if (!defined $seen && $session->{err} =~ /terminating connection due to conflict with recovery/)
{
	$session = session();
	$seen = ask($session, 'SELECT count(*) FROM seen');
}
is($seen, 0, 'the session goes on, or another one begins');
finish($session);
$standby->stop;

# --- a timeout of the transaction

SKIP:
{
	skip 'no transaction_timeout before PostgreSQL 17', 2 if $primary->pg_version < 17;
	session_on($primary);
	$session = session();
	$pid = begin($session, "SET transaction_timeout = '3s'; $long");
	ok(ended($session, $pid), 'transaction_timeout ends a long computation');
	eval { IPC::Run::finish($session->{run}) };
	like($session->{err}, qr/terminating connection due to transaction timeout/, 'and is told');
}

$primary->stop;
done_testing();
