# Contexts on a device that have a thread of their own in the session's process: the whole CUDA plug-in on the
# fake device (test/cuda/fake.h), in a real backend, with PostgreSQL's signals, exits and shared memory.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use HybridSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep time);

my $node = PostgreSQL::Test::Cluster->new('idle');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'hybrid'
restart_after_crash = on
autovacuum = off
hybrid.plugins = 'hybrid_cuda_fake'
hybrid.execution = prefer_gpu
hybrid.gpu_min_batch = 1
});
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE ROLE tenant LOGIN;
	-- a call of m items
	CREATE FUNCTION calls(m int) RETURNS bigint LANGUAGE sql AS $$
		SELECT count(hybrid_distances('[1,2]', array_fill('[1,3]'::vector, ARRAY[m]))) $$;
});
session_on($node);

my $state = q{SELECT state FROM hybrid_devices WHERE backend = 'cuda'};
my $contexts = q{SELECT contexts FROM hybrid_devices WHERE backend = 'cuda'};
my $last = q{SELECT backend, fallback, status FROM hybrid_events WHERE pid = pg_backend_pid() ORDER BY at DESC LIMIT 1};

# eventually SQL, EXPECTED, NAME: poll in new sessions, which open nothing
sub eventually
{
	my ($sql, $expected, $name) = @_;
	my $is = '';

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		eval { $is = $node->safe_psql('postgres', $sql); };
		return pass($name) if $is eq $expected;
		usleep(100_000);
	}
	return is($is, $expected, $name);
}

# threads PID: return the blocked signals of each thread of the process, the first thread's first
sub threads
{
	my ($pid) = @_;
	my @masks;

	for my $task (sort { $a <=> $b } map { m{(\d+)$} } glob "/proc/$pid/task/*")
	{
		push @masks, slurp_file("/proc/$pid/task/$task/status") =~ /^SigBlk:\s*([0-9a-f]+)/m;
	}
	return @masks;
}

sub set_for_all
{
	my (%settings) = @_;

	$node->safe_psql('postgres', join '', map { "ALTER SYSTEM SET hybrid.$_ = '$settings{$_}';" } sort keys %settings);
	$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
	return;
}

# ---- a session that does nothing gives its context back ----
set_for_all(gpu_max_contexts => 1, gpu_idle_timeout => '300ms');
my ($a, $b) = (session(), session());
my $pid = ask($a, 'SELECT pg_backend_pid()');
is(scalar(threads($pid)), 1, 'a session has one thread');
is(ask($a, 'SELECT calls(100)'), 1, 'it uses the device');
is(ask($a, $last), 'cuda|f|ok', 'as it should');
eventually($contexts, '0', 'its place is given back while it waits for a statement');
is(scalar(threads($pid)), 1, 'and the thread has ended');
unlike(slurp_file($node->logfile), qr/closed: nobody had used it/, 'it does not know yet');
is(ask($b, 'SELECT calls(100)'), 1, 'another has the place');
is(ask($b, $last), 'cuda|f|ok', 'and the device');
is(ask($a, $state), 'closed', 'the first sees that its own is closed');
like(slurp_file($node->logfile), qr/device 1 \(cuda 0\) closed: nobody had used it/, 'and says so');
eventually($contexts, '0', 'the other is closed too');
is(ask($a, 'SELECT calls(100)'), 1, 'the next batch');
is(ask($a, $last), 'cuda|f|ok', 'opens it again, and nothing has failed');
is(ask($a, q{SELECT sum(failures), sum(fallbacks) FROM hybrid_stats WHERE backend = 'cuda'}), '0|0', 'nothing at all');
finish($b);

# many times over, in statements that are as far apart as a context lives
ask($a, q{SET hybrid.gpu_idle_timeout = '1ms'});
is(ask($a, 'SELECT count(calls(50)) FROM generate_series(1, 40) i WHERE pg_sleep(0.001 * (i % 4)) IS NOT NULL'), 40, 'opened and closed again and again');
# a second piece while one is in flight is told that the device is busy, which is nobody's failure
is(ask($a, q{SELECT sum(fallbacks) FROM hybrid_stats WHERE backend = 'cuda'}), 0, 'the CPU was never needed');
is(ask($a, q{SELECT count(*) FROM hybrid_events WHERE status NOT IN ('ok', 'busy')}), 0, 'and nothing has failed');
# in an error, and in a transaction that is aborted, the timer goes on
ask($a, q{SET hybrid.gpu_idle_timeout = '100ms'});
ask($a, 'BEGIN');
ask($a, 'SELECT calls(100), 1 / 0');
eventually($contexts, '0', 'an aborted transaction holds no context for long');
ask($a, 'ROLLBACK');
finish($a);

# ---- the thread has none of the session's signals ----
set_for_all(gpu_max_contexts => 0, gpu_idle_timeout => '1h');
$a = session();
$pid = ask($a, 'SELECT pg_backend_pid()');
ask($a, 'SELECT calls(100)');
my @masks = threads($pid);
is(scalar(@masks), 2, 'there is a thread more');
is(hex(substr $masks[0], -8) & 0x4202, 0, 'the session takes its own: SIGINT, SIGUSR1, SIGTERM');
# all that can be blocked of the first 31, without SIGKILL and SIGSTOP
is(hex(substr $masks[1], -8) & 0x7fffffff, 0x7ffbfeff, 'and the thread takes none');
my $since = time;
ask($a, q{SET statement_timeout = '200ms'});
ask($a, 'SELECT pg_sleep(60)');
like($a->{err}, qr/statement timeout/, 'a timeout reaches the session');
ask($a, 'RESET statement_timeout');
$a->{err} = '';
$a->{in} .= "SELECT pg_sleep(60);\n\\echo done\n";
$a->{out} = '';
IPC::Run::pump_nb($a->{run});
eventually("SELECT state FROM pg_stat_activity WHERE pid = $pid AND query LIKE '%pg_sleep(60)%'", 'active', 'it sleeps');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
IPC::Run::pump($a->{run}) until $a->{out} =~ /^done\n/m;
like($a->{err}, qr/canceling statement due to user request/, 'so does a cancel');
cmp_ok(time - $since, '<', 60, 'at once');
is(ask($a, 'SELECT calls(100)'), 1, 'and it goes on');
is(ask($a, $contexts), 1, 'with its context');

# ---- sessions end, well or badly, while the thread is there ----
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 10000)");
eventually("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid", '0', 'a session is terminated');
eventually($contexts, '0', 'its context is gone');
eval { finish($a) };
$a = session();
ask($a, 'SELECT calls(100)');
finish($a);
eventually($contexts, '0', 'one that ends by itself leaves none either');
unlike(slurp_file($node->logfile), qr/terminated by signal|exited with exit code [^1]/, 'and no process has crashed');

set_for_all(gpu_max_contexts => 1);
($a, $b) = (session(), session());
ask($a, 'SELECT calls(100)');
is(ask($b, $contexts), 1, 'a session has the only context');
$pid = ask($a, 'SELECT pg_backend_pid()');
kill 9, $pid;
eval { finish($_) } for $a, $b;
eventually('SELECT 1', '1', 'the server is there again after one was killed');
eventually($contexts, '0', 'and the context that was killed with it is not counted');
$a = session();
ask($a, 'SELECT calls(100)');
is(ask($a, $last), 'cuda|f|ok', 'another gets it');
finish($a);

# ---- role by role, in one session: what one had on the device the other does not see, nor loses ----
set_for_all(gpu_max_contexts => 0);
$a = session();
ask($a, 'SELECT calls(100)');
ask($a, 'SET ROLE tenant');
is(ask($a, q{SELECT hybrid_distances('[3,4]', ARRAY['[0,0]', '[3,0]']::vector[])}), '{5,4}', 'the answers of another role are its own');
ask($a, 'RESET ROLE');
is(ask($a, $contexts), 1, 'in the same context');
finish($a);

$node->stop;
done_testing();
