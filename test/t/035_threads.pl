# Threads of a backend: a cancel, a timeout and a termination end them first, the backend's end leaves none behind,
# and all sessions together use no more than the settings allow, with and without the library preloaded.  A batch on a
# device (the CUDA plug-in on the fake device) copies its rows on threads, within the same limits.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;

use HybridSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $cores = `nproc`;

# a machine of one core has nothing to share
plan skip_all => 'one core' if $cores < 2;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nwork_mem = '256MB'\nmax_parallel_workers_per_gather = 1\n"
		. "hybrid.force_cpu = on\nhybrid.batch_max = 30000\nhybrid.batch_wait = 0\n");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE TABLE item (id int, v vector(128));
	INSERT INTO item SELECT i, (SELECT array_agg(sin(i * j)) FROM generate_series(1, 128) j)::vector
		FROM generate_series(1, 20000) i;
	CREATE TABLE query AS SELECT array_agg(v ORDER BY id) AS v FROM item WHERE id <= 3000;
	CREATE TABLE few AS SELECT array_agg(v ORDER BY id) AS v FROM item WHERE id <= 200;
	CREATE TABLE whole AS SELECT array_agg(v ORDER BY id) AS v FROM item;

	-- only the last row is read with the help of the TOAST table's index
	CREATE TABLE late (v vector(600));
	ALTER TABLE late ALTER v SET STORAGE PLAIN;
	INSERT INTO late SELECT (SELECT array_agg(sin(i * j)) FROM generate_series(1, 600) j)::vector
		FROM generate_series(1, 4000) i;
	CREATE TABLE late_query AS SELECT array_agg(v) AS v FROM (SELECT v FROM late LIMIT 3000) AS first;
	ALTER TABLE late ALTER v SET STORAGE EXTERNAL;
	INSERT INTO late SELECT v FROM late LIMIT 1;
});
my $late_index = $node->safe_psql('postgres', q{
	SELECT indexrelid::regclass FROM pg_index
		WHERE indrelid = (SELECT reltoastrelid FROM pg_class WHERE oid = 'late'::regclass)});

# one task of 3,000 x 20,000 distances, which takes seconds with plain C kernels
my $long = q{SET hybrid.precision = exact; SET hybrid.simd = scalar;
	SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v, 10)};
my $short = q{SELECT count(*) FROM few, hybrid_knn('item', 'v', few.v, 10)};
# the last row is read while another thread searches the others
my $late = q{SET hybrid.batch_max = 4000; SET hybrid.precision = exact; SET hybrid.simd = scalar;
	SELECT count(*) FROM late_query, hybrid_knn('late', 'v', late_query.v, 10)};
# one task with 10 MB of rows
my $copied = q{SELECT md5(hybrid_distances(v[1], v)::text) FROM whole};
my $own_threads = q{SELECT count(*) FROM pg_ls_dir('/proc/self/task')};

# threads_of PID: return how many threads a backend has, 0 if it has ended
sub threads_of
{
	my ($pid) = @_;
	my @tasks = glob "/proc/$pid/task/*";

	return scalar @tasks;
}

# threads_at_work PID: return how many threads of a backend run, or wait for a processor
sub threads_at_work
{
	my ($pid) = @_;
	my $count = 0;

	for my $file (glob "/proc/$pid/task/*/stat")
	{
		# a thread may have ended meanwhile
		open(my $stat, '<', $file) or next;
		$count++ if (<$stat> // '') =~ /\) R /;
		close($stat);
	}
	return $count;
}

# wait_for WHAT, TEST: wait until the test holds, for 60 s at most
sub wait_for
{
	my ($what, $test) = @_;
	my $end = time + 60;
	my $holds;

	sleep 0.01 until ($holds = $test->()) || time > $end;
	ok($holds, $what);
	return;
}

# begin_long SESSION: start the long call, and wait until its threads work; return the backend's PID
sub begin_long
{
	my ($session) = @_;
	my $pid = ask($session, 'SELECT pg_backend_pid()');

	$session->{out} = '';
	$session->{in} .= "$long;\n\\echo done\n";
	$session->{run}->pump_nb;
	wait_for('a second thread works', sub { $session->{run}->pump_nb; threads_at_work($pid) == 2 });
	return $pid;
}

# begin_late SESSION, PID, OTHER: start a call that waits for the last row, whose index another session has locked
sub begin_late
{
	my ($session, $pid, $other) = @_;
	my $waits = "SELECT count(*) FROM pg_locks WHERE pid = $pid AND NOT granted";

	$session->{out} = '';
	$session->{in} .= "$late;\n\\echo done\n";
	wait_for('the main thread waits for a lock', sub { $session->{run}->pump_nb; ask($other, $waits) == 1 });
	wait_for('while another thread works', sub { threads_at_work($pid) == 1 });
	return;
}

for my $preloaded (0, 1)
{
	my $how = $preloaded ? 'preloaded' : 'not preloaded';

	if ($preloaded)
	{
		$node->append_conf('postgresql.conf', "shared_preload_libraries = 'hybrid'\n");
		$node->restart;
	}
	session_on($node);

	# --- how many

	my $one = session();
	ask($one, 'SET hybrid.threads = 1');
	is(ask($one, $short), 2000, "$how: the answer of one thread");
	is(ask($one, $own_threads), 1, "$how: hybrid.threads = 1 starts none");
	ask($one, 'RESET hybrid.threads; SET max_parallel_workers_per_gather = 0');
	ask($one, $short);
	is(ask($one, $own_threads), 1, "$how: without parallel workers none");
	ask($one, 'RESET max_parallel_workers_per_gather; SET max_parallel_workers = 0');
	ask($one, $short);
	is(ask($one, $own_threads), 1, "$how: max_parallel_workers = 0 leaves none");
	ask($one, 'RESET max_parallel_workers');
	is(ask($one, $short), 2000, "$how: the answer of two threads");
	is(ask($one, $own_threads), 2, "$how: two threads");
	is(ask($one, q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'}), 0, "$how: no lock is kept");
	my $idle = ask($one, 'SELECT pg_backend_pid()');
	wait_for("$how: an idle thread ends", sub { threads_of($idle) == 1 });

	# --- a batch on a device

	my $on_cpu = ask($one, $copied);
	my $device = session();
	ask($device, q{LOAD 'hybrid'; SET hybrid.plugins = 'hybrid_cuda_fake'; SET hybrid.force_cpu = off;
		SET hybrid.execution = gpu; SET hybrid.gpu_min_batch = 1; SET hybrid.gpu_idle_timeout = 0});
	for my $limit ('hybrid.threads = 1', 'max_parallel_workers_per_gather = 0', 'max_parallel_workers = 0')
	{
		my ($name) = split / /, $limit;

		is(ask($device, "SET $limit; $copied; RESET $name"), $on_cpu, "$how: the device's answer with $limit");
		is(ask($device, $own_threads), 1, "$how: no thread copies");
	}
	is(ask($device, $copied), $on_cpu, "$how: the device's answer when two threads copy");
	is(ask($device, $own_threads), 2, "$how: they do");
	is(ask($device, q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'}), 0, "$how: and keep no lock");
	is($device->{err}, '', "$how: without an error");
	finish($device);

	# --- the limit over two sessions

	my $other = session();
	ask($one, 'SET max_parallel_workers = 1');
	ask($other, 'SET max_parallel_workers = 1');
	my $pid = begin_long($one);
	is(ask($other, $short), 2000, "$how: the answer while another session has the only thread");
	is(ask($other, $own_threads), 1, "$how: which is not exceeded");
	$device = session();
	ask($device, q{LOAD 'hybrid'; SET hybrid.plugins = 'hybrid_cuda_fake'; SET hybrid.force_cpu = off;
		SET hybrid.execution = gpu; SET hybrid.gpu_min_batch = 1; SET hybrid.gpu_idle_timeout = 0;
		SET max_parallel_workers = 1});
	is(ask($device, $copied), $on_cpu, "$how: the device's answer meanwhile");
	is(ask($device, $own_threads), 1, "$how: nor does its copy exceed it");
	finish($device);
	ask($other, "SELECT pg_cancel_backend($pid)");
	IPC::Run::pump($one->{run}) until $one->{out} =~ /^done\n/m;
	is(ask($other, $short), 2000, "$how: the answer after a cancel");
	is(ask($other, $own_threads), 2, "$how: the thread is free again");

	# --- a cancel, in a session that goes on

	like($one->{err}, qr/canceling statement due to user request/, "$how: canceled");
	is(ask($one, $short), 2000, "$how: and the session goes on");
	$one->{err} = '';
	my $begin = time;
	ask($one, "SET statement_timeout = '300ms'; $long");
	cmp_ok(time - $begin, '<', 1.8, "$how: a timeout is prompt");
	like($one->{err}, qr/canceling statement due to statement timeout/, "$how: and is told");
	# small batches, of which the next is read meanwhile
	$one->{err} = '';
	$begin = time;
	ask($one, "SET hybrid.batch_max = 500; $long");
	cmp_ok(time - $begin, '<', 1.8, "$how: so is one while rows are read ahead");
	like($one->{err}, qr/canceling statement due to statement timeout/, "$how: and is told, too");
	ask($one, 'RESET hybrid.batch_max');
	is(ask($one, "RESET statement_timeout; RESET hybrid.simd; $short"), 2000, "$how: the session still goes on");

	# --- the end of a backend

	$pid = begin_long($one);
	ask($other, "SELECT pg_terminate_backend($pid)");
	wait_for("$how: a terminated backend ends", sub { threads_of($pid) == 0 });
	ask($other, 'SELECT pg_sleep(0.1)');
	is(ask($other, $short), 2000, "$how: the others go on");
	is(ask($other, $own_threads), 2, "$how: with threads");
	eval { IPC::Run::finish($one->{run}) };

	# the same while the main thread waits to read a row ahead; the hook of temporary tables is the latest one
	$one = session();
	ask($one, $short);
	ask($one, 'CREATE TEMP TABLE own ()');
	$pid = ask($one, 'SELECT pg_backend_pid()');
	ask($other, "BEGIN; REINDEX INDEX $late_index");
	begin_late($one, $pid, $other);
	ask($other, "SELECT pg_cancel_backend($pid)");
	IPC::Run::pump($one->{run}) until $one->{out} =~ /^done\n/m;
	like($one->{err}, qr/canceling statement due to user request/, "$how: canceled while a row is read ahead");
	begin_late($one, $pid, $other);
	ask($other, "SELECT pg_terminate_backend($pid)");
	wait_for("$how: terminated while a row is read ahead", sub { threads_of($pid) == 0 });
	ask($other, 'ROLLBACK');
	is(ask($other, $short), 2000, "$how: and the others go on");
	eval { IPC::Run::finish($one->{run}) };

	# threads that wait for work do not keep the backend
	$pid = ask($other, 'SELECT pg_backend_pid()');
	finish($other);
	wait_for("$how: a backend ends beside its idle thread", sub { threads_of($pid) == 0 });

	# a fast shutdown in the midst
	$one = session();
	$pid = begin_long($one);
	$node->stop('fast');
	is(threads_of($pid), 0, "$how: a shutdown ends the backend");
	eval { IPC::Run::finish($one->{run}) };
	my $log = slurp_file($node->logfile);
	unlike($log, qr/was terminated by signal|PANIC|you don't own a lock/, "$how: without a crash");
	$node->start;
}

$node->stop;
done_testing();
