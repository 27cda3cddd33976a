# The dispatcher's data in shared memory: the counts of all sessions add up, whichever session dies; who may see
# what, and whose turn it is.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use HybridSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = PostgreSQL::Test::Cluster->new('shared');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'hybrid'
restart_after_crash = on
autovacuum = off
hybrid.plugins = ''
});
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE ROLE plain LOGIN;
	CREATE ROLE watcher LOGIN IN ROLE pg_monitor;
	-- n calls of m items each
	CREATE FUNCTION calls(n int, m int) RETURNS bigint LANGUAGE sql AS $$
		SELECT count(hybrid_distances('[1,2]', array_fill('[1,3]'::vector, ARRAY[m]))) FROM generate_series(1, n) $$;
});

my $totals = q{SELECT coalesce(sum(calls), 0), coalesce(sum(items), 0) FROM hybrid_stats WHERE operation = 'distance'};

sub totals { return $node->safe_psql('postgres', $totals) }
sub reset_all { return $node->safe_psql('postgres', 'SELECT hybrid_reset_stats()') }

session_on($node);

# eventually SQL, EXPECTED, NAME: poll, because the data of a process that ends may take a moment to arrive
sub eventually
{
	my ($sql, $expected, $name) = @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return pass($name) if $node->safe_psql('postgres', $sql) eq $expected;
		usleep(100_000);
	}
	return is($node->safe_psql('postgres', $sql), $expected, $name);
}

is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_shmem_allocations WHERE name = 'hybrid'}), 1, 'there is a segment');
is(totals(), '0|0', 'it begins empty');

# ---- several sessions add up ----
my ($a, $b) = (session(), session());
ask($a, 'SELECT calls(7, 3)');
ask($b, 'SELECT calls(100, 2)');
is(totals(), '107|221', 'two sessions and a third that looks');
is(ask($a, $totals), '107|221', 'the same from one of them');
is(ask($a, 'SELECT DISTINCT scope FROM hybrid_stats'), 'cluster', 'and the view says whose it is');

# inside a transaction what others did is there when they have ended theirs, and one's own at once
ask($a, 'BEGIN');
ask($a, 'SELECT calls(5, 1)');
is(ask($a, $totals), '112|226', 'a session reads what it just did');
ask($a, 'ROLLBACK');
is(totals(), '112|226', 'a rollback does not undo what was run');
ask($b, q{DO $$ BEGIN PERFORM calls(9, 1); RAISE EXCEPTION 'no'; END $$});
is(totals(), '121|235', 'nor does an error');

# a long transaction is seen before it ends: after 64 calls and a millisecond, or 256
ask($b, 'BEGIN');
ask($b, 'SELECT calls(1000, 1)');
my ($seen) = split /\|/, totals();
cmp_ok($seen, '>=', 121 + 1000 - 256, 'calls of a transaction under way are seen');
ask($b, 'COMMIT');
is(totals(), '1121|1235', 'and all of them at its end');

# ---- sessions that end, well or badly ----
my $pid = ask($b, 'SELECT pg_backend_pid()');
ask($b, 'BEGIN');
ask($b, 'SELECT calls(10, 4)');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 10000)");
eventually("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid", '0', 'a session is terminated');
is(totals(), '1131|1275', 'what it did is counted');
finish($a);
is(totals(), '1131|1275', 'a session that ends takes nothing with it');

# many at once, each of which counts exactly
my @crowd = map { session() } 1 .. 6;
$_->{in} .= "SELECT calls(200, 2);\nSELECT calls(1, 1) FROM generate_series(1, 50);\n\\q\n" for @crowd;
IPC::Run::finish($_->{run}) for @crowd;
is(totals(), '2631|3975', 'six sessions at once add up exactly');

# what parallel workers run is everybody's, each with its process, and not their session's own
reset_all();
$node->safe_psql('postgres', q{CREATE TABLE many AS SELECT ('[' || i || ',1]')::vector AS v FROM generate_series(1, 300) i; GRANT SELECT ON many TO plain});
my $worker = session('plain');
ask($worker, q{SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off});
is(ask($worker, q{SELECT count(hybrid_distances('[1,2]', ARRAY[v])) FROM many}), 300, 'parallel workers answer');
is(totals(), '300|300', 'and all that they did is counted');
is(ask($worker, $totals), '0|0', 'the session that they worked for sees its own');
is($node->safe_psql('postgres', 'SELECT count(*) > 0, bool_and(pid <> ' . ask($worker, 'SELECT pg_backend_pid()') . q{), min(role::text) FROM hybrid_events}), 't|t|plain', 'they have processes of their own, and its role');
finish($worker);

# ---- events ----
reset_all();
$a = session();
$b = session('plain');
ask($a, 'SELECT calls(1, 11)');
ask($b, 'SELECT calls(1, 22)');
my ($pid_a, $pid_b) = (ask($a, 'SELECT pg_backend_pid()'), ask($b, 'SELECT pg_backend_pid()'));
my $events = q{SELECT pid || ' ' || role || ' ' || items || ' ' || backend || ' ' || reason FROM hybrid_events ORDER BY items};
my $role_a = $node->safe_psql('postgres', 'SELECT session_user');
is(ask($a, $events), "$pid_a $role_a 11 cpu no device\n$pid_b plain 22 cpu no device", 'events of all sessions');
is(ask($b, $events), "$pid_b plain 22 cpu no device", 'a plain user sees his own');
is(ask($b, 'SELECT DISTINCT scope FROM hybrid_events'), 'backend', 'and is told so');
is(ask($b, $totals), '1|22', 'his own counters');
is($node->safe_psql('postgres', $totals, connstr => $node->connstr('postgres') . ' user=watcher'), '2|33', 'pg_monitor sees all counters');
is($node->safe_psql('postgres', "SELECT count(*) FROM hybrid_events", connstr => $node->connstr('postgres') . ' user=watcher'), 2, 'and all events');
is($node->safe_psql('postgres', "SELECT count(*) FROM hybrid_events", connstr => $node->connstr('postgres') . ' user=plain'), 0, 'another session of the same plain user sees nothing');
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION hybrid_reset_stats() TO watcher');
my ($rc, $out, $err) = $node->psql('postgres', 'SELECT hybrid_reset_stats()', connstr => $node->connstr('postgres') . ' user=plain');
like($err, qr/permission denied for function hybrid_reset_stats/, 'a plain user may not reset');
is(totals(), '2|33', 'and has not');

# ---- reset ----
ask($a, 'SELECT calls(3, 1)');
$node->safe_psql('postgres', 'SELECT hybrid_reset_stats()', connstr => $node->connstr('postgres') . ' user=watcher');
is(totals(), '0|0', 'a reset by who was granted it');
is(ask($a, $events), '', 'is a reset for every session');
is(ask($b, $totals), '0|0', 'of what a plain user sees as well');
ask($a, 'SELECT calls(2, 5)');
is(totals(), '2|10', 'and counting goes on');

# ---- what one session learned of times, a new one starts from ----
reset_all();
ask($a, 'SELECT calls(1, m) FROM generate_series(100, 3000, 100) m');
ask($a, 'SELECT count(*) FROM hybrid_tracker');
my $late = session();
is(ask($late, q{SELECT predicted_us > 0 FROM hybrid_explain('distance', 5000, 2) WHERE device = 0}), 't', 'a new session predicts by what another has seen');
my $learned = q{SELECT backend, dims_low, observations, round(samples) FROM hybrid_tracker WHERE operation = 'distance'};
is(ask($late, $learned), 'cpu|2|29|29', 'and the view shows it, the first one set aside');
finish($late);

# ---- breakers, contexts ----
my $device = q{SET hybrid.plugins = 'hybrid_emulated'; SET hybrid.execution = prefer_gpu; };
($a, $b) = (session(), session());
ask($a, $device . q{SET hybrid.emulated_faults = 'fail_every=1,status=transient'});
ask($b, $device);
ask($a, 'SELECT calls(3, 100)');
like(ask($a, q{SELECT breaker FROM hybrid_tracker WHERE backend = 'emulated' AND operation = 'distance'}) || 'none', qr/open|none/, 'a device fails one session');
ask($b, 'SELECT calls(1, 100)');
is(ask($b, 'SELECT reason FROM hybrid_events WHERE pid = pg_backend_pid() ORDER BY at DESC LIMIT 1'), 'unreliable', 'the other leaves it alone');
is($node->safe_psql('postgres', $device . 'SELECT calls(1, 100); SELECT reason FROM hybrid_events WHERE pid = pg_backend_pid()') =~ s/^1\n//r, 'unreliable', 'so does a new one');
is($node->safe_psql('postgres', q{SELECT fallback_causes->>'transient' FROM hybrid_stats WHERE backend = 'emulated'}), 3, 'and its causes are counted');
reset_all();
finish($_) for $a, $b;

eventually(q{SET hybrid.plugins = 'hybrid_emulated'; SELECT contexts FROM hybrid_devices WHERE device = 1}, '0', 'no context is open');
$node->safe_psql('postgres', q{ALTER SYSTEM SET hybrid.gpu_max_contexts = 1; SELECT pg_reload_conf()});
($a, $b) = (session(), session());
ask($_, $device) for $a, $b;
ask($a, 'SELECT calls(1, 100)');
ask($b, 'SELECT calls(1, 100)');
is(ask($a, 'SELECT state, contexts, limits FROM hybrid_devices WHERE device = 1'), 'open|1|enforced', 'one session has the context');
is(ask($b, 'SELECT state, contexts, limits FROM hybrid_devices WHERE device = 1'), 'closed|1|enforced', 'the other does not');
like(ask($b, 'SELECT fallback, status, error FROM hybrid_events WHERE pid = pg_backend_pid()'), qr/^t\|quota reached\|1 contexts are open on it/, 'and knows why');
ask($b, 'SET hybrid.execution = gpu');
ask($b, 'SELECT calls(1, 100)');
like($b->{err}, qr/could not compute distances on the device.*as many as hybrid\.gpu_max_contexts allows/s, 'where it must have it this is an error')
	or diag($b->{err});
my $pid_of_a = ask($a, 'SELECT pg_backend_pid()');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid_of_a, 10000)");
eventually("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid_of_a", '0', 'the one that has it is terminated');
is(ask($b, 'SELECT calls(1, 100)'), '1', 'the other gets it');
is(ask($b, 'SELECT state, contexts FROM hybrid_devices WHERE device = 1'), 'open|1', 'and it alone');
finish($b);
$node->safe_psql('postgres', q{ALTER SYSTEM RESET hybrid.gpu_max_contexts; SELECT pg_reload_conf()});

# ---- hybrid.gpu_memory_limit is everybody's: each context has an even share of it ----
$node->safe_psql('postgres', q{ALTER SYSTEM SET hybrid.gpu_memory_limit = 8; SELECT pg_reload_conf()});
my @tenants = map { session() } 1 .. 3;
my $share = q{SELECT bytes_available FROM hybrid_events WHERE pid = pg_backend_pid() ORDER BY at DESC LIMIT 1};
for my $i (0 .. 2)
{
	ask($tenants[$i], $device);
	is(ask($tenants[$i], 'SELECT calls(1, 100)'), '1', 'a session more');
	is(ask($tenants[$i], $share), int(8 * 1048576 / ($i + 1)), ($i + 1) . ' contexts share the limit');
}
# 320,000 distances take more than 2 MB there, so the share is met in pieces
ask($tenants[0], 'SELECT calls(1, 320000)');
is(ask($tenants[0], 'SELECT device, status, bytes_required > bytes_available, pieces > 1 FROM hybrid_events WHERE pid = pg_backend_pid() ORDER BY at DESC LIMIT 1'),
	'1|ok|t|t', 'a batch beyond the share goes in pieces');
finish($tenants[1]);
finish($tenants[2]);
eventually($device . 'SELECT contexts FROM hybrid_devices WHERE device = 1', '1', 'the others leave');
ask($tenants[0], 'SELECT calls(1, 100)');
is(ask($tenants[0], $share), 8 * 1048576, 'and the last one has it all');
finish($tenants[0]);
$node->safe_psql('postgres', q{ALTER SYSTEM RESET hybrid.gpu_memory_limit; SELECT pg_reload_conf()});

# ---- the queue for a device: one place for three sessions, one of which is terminated while it runs ----
reset_all();
my $slow = $device . q{SET hybrid.emulated_wait = on; SET hybrid.emulated_launch_us = 2000; SET hybrid.gpu_queue_depth = 1};
my @clients = map { session() } 1 .. 3;
# whoever waits for a turn does so for as long as it takes to look at the queue
ask($_, "$slow; SET hybrid.gpu_timeout = '1h'") for @clients;
my $doomed = ask($clients[0], 'SELECT pg_backend_pid()');
ask($clients[0], 'SELECT calls(20, 100); SET hybrid.emulated_launch_us = 1000000000');
my $load = $device . 'SET hybrid.gpu_queue_depth = 1; SELECT queue, queue_us > 0, load = queue FROM hybrid_devices WHERE device = 1';
# start CLIENT, EXPECTED, NAME: let the client request 200 turns, and check that a fourth session sees it in the
# queue
sub start
{
	my ($client, $expected, $name) = @_;

	$client->{in} .= "SELECT calls(200, 100);\n\\q\n";
	IPC::Run::pump_nb($client->{run});
	return eventually($load, $expected, $name);
}
start($clients[0], '1|t|t', 'a fourth session sees one in flight');
start($clients[1], '2|t|t', 'and another who waits');
start($clients[2], '3|t|t', 'and a third');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($doomed, 10000)");
eval { IPC::Run::finish($clients[0]{run}) }; # its pipe may be broken
IPC::Run::finish($_->{run}) for @clients[1, 2];
is($clients[1]{out} =~ s/\A.*^done\n//msr . $clients[2]{out} =~ s/\A.*^done\n//msr, "200\n200\n", 'the others get all their turns');
cmp_ok($node->safe_psql('postgres', q{SELECT sum(calls) FROM hybrid_stats WHERE backend = 'emulated' AND operation = 'distance'}), '>=', 400, 'on the device');

is($node->safe_psql('postgres', $load), '0|f|t', 'the queue is empty again');
is($node->safe_psql('postgres', q{SELECT max(queue) BETWEEN 1 AND 2 FROM hybrid_events WHERE backend = 'emulated'}), 't', 'who came found two others before it at most');

# ---- turns go by role: as it is at each statement, whoever logged in and whatever was called before ----
$node->safe_psql('postgres', 'CREATE ROLE tenant; GRANT SET ON PARAMETER hybrid.gpu_queue_depth TO tenant; GRANT SELECT ON ALL TABLES IN SCHEMA public TO tenant');

# others_calls STATEMENT: return how many calls four sessions of one role finish while a fifth, after STATEMENT,
# finishes 100
sub others_calls
{
	my ($statement) = @_;
	my $count = q{SELECT sum(calls) FROM hybrid_stats WHERE backend = 'emulated' AND operation = 'distance'};
	my @four = map { session() } 1 .. 4;
	my $fifth = session();
	my ($before, $during);

	# before it is the other role's, each has been in the queue; a turn is long, so that who just had one is
	# back in the queue, even where it has to wait for a processor, before the next turn is over
	ask($_, $slow . q{; SET hybrid.emulated_launch_us = 10000; SELECT calls(1, 100)}) for @four, $fifth;
	ask($fifth, $statement);
	$_->{in} .= "SELECT calls(2000, 100);\n" for @four;
	IPC::Run::pump_nb($_->{run}) for @four;
	$before = $node->safe_psql('postgres', $count);
	$node->poll_query_until('postgres', "SELECT sum(calls) > $before + 20 FROM hybrid_stats WHERE backend = 'emulated'");
	$before = $node->safe_psql('postgres', $count);
	ask($fifth, 'SELECT calls(100, 100)');
	$during = $node->safe_psql('postgres', $count) - $before;
	$node->safe_psql('postgres', q{SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE query LIKE 'SELECT calls(2000%'});
	eval { IPC::Run::finish($_->{run}) } for @four;
	finish($fifth);
	return $during - 100;
}

# the machine may be busy, and who sleeps misses a turn
my $others = 0;
for (1 .. 5) { $others = others_calls('RESET ROLE'); last if $others > 250 }
cmp_ok($others, '>', 250, 'five sessions of a role have a fifth of the turns each');
for my $statement ('SET ROLE tenant', 'SET SESSION AUTHORIZATION tenant')
{
	$others = 1000;
	for (1 .. 5) { $others = others_calls($statement); last if $others < 200 }
	cmp_ok($others, '<', 200, "$statement: a role of its own has half of them");
}

# ---- plug-ins live in sessions: what a device hands out does not survive a fork ----
my $postmaster = slurp_file($node->data_dir . '/postmaster.pid') =~ /\A(\d+)/ ? $1 : 0;
my $maps = slurp_file("/proc/$postmaster/maps");
like($maps, qr{/hybrid\.so}, 'the postmaster has loaded hybrid');
unlike($maps, qr/hybrid_emulated/, 'and no plug-in');

# ---- many clients at full speed, on a device that fails at random: every call is counted once ----
reset_all();
my $script = PostgreSQL::Test::Utils::tempdir . '/storm.sql';
append_to_file($script, q{SELECT hybrid_distances('[1,2]', array_fill('[1,3]'::vector, ARRAY[(100 + random() * 20)::int])) IS NULL;
});
{
	local $ENV{PGOPTIONS} = q{-c hybrid.plugins=hybrid_emulated -c hybrid.execution=prefer_gpu -c hybrid.emulated_faults=fail_rate=0.1,status=transient};
	$node->command_ok([ 'pgbench', '-n', '-c', 8, '-j', 2, '-t', 500, '-f', $script, $node->connstr('postgres') ], 'eight clients');
}
is($node->safe_psql('postgres', 'SELECT sum(calls) FROM hybrid_stats'), 4000, 'each call is finished once, on one side or the other');
is($node->safe_psql('postgres', q{SELECT sum(n::bigint) = 4000 FROM hybrid_stats, jsonb_each_text(reasons) r(reason, n)}), 't', 'and has one reason');
is($node->safe_psql('postgres', q{SELECT sum(fallbacks) = sum((SELECT coalesce(sum(n::bigint), 0) FROM jsonb_each_text(fallback_causes) c(cause, n))) FROM hybrid_stats}), 't', 'each fallback one cause');
cmp_ok($node->safe_psql('postgres', q{SELECT sum(fallbacks) FROM hybrid_stats}), '>', 0, 'and there were some');

# ---- a crash leaves a valid, empty table ----
($a, $b) = (session(), session());
ask($a, $device . 'SELECT calls(10, 100)');
my $victim = ask($b, 'SELECT calls(10, 10); SELECT pg_backend_pid()') =~ s/^10\n//r;
kill 'KILL', $victim;
$node->poll_query_until('postgres', 'SELECT 1', '1');
is(totals(), '0|0', 'after a crash it begins anew');
is($node->safe_psql('postgres', q{SET hybrid.plugins = 'hybrid_emulated'; SELECT contexts FROM hybrid_devices WHERE device = 1}), 0, 'with no context counted');
is($node->safe_psql('postgres', "SELECT calls(4, 2); $totals"), "4\n4|8", 'and works');
is($node->safe_psql('postgres', 'SELECT count(*) FROM hybrid_events'), 4, 'events as well');
$node->restart;
is(totals(), '0|0', 'a restart empties it');

# ---- the audit looks, and leaves everything as it was ----
reset_all();
my $s = session();
ask($s, $device);
ask($s, 'SELECT calls(1, m) FROM generate_series(100, 3000, 100) m; SET hybrid.execution = auto');
my $traces = q{SELECT sum(calls), sum(items), (SELECT sum(observations) || ' ' || sum(samples) || ' ' || string_agg(breaker, ',') FROM hybrid_tracker),
	(SELECT count(*) FROM hybrid_events) FROM hybrid_stats};
my $before = ask($s, $traces);
is(ask($s, 'SELECT shapes > 200, compared > 200, compared >= routed_right, right_share BETWEEN 0.2 AND 1, best_ms > 0, lost_ms >= 0, virtual, detail FROM hybrid_audit()'), 't|t|t|t|t|t|t|', 'an audit');
is(ask($s, $traces), $before, 'it teaches nothing and is not counted');
ask($s, 'SET statement_timeout = 200');
ask($s, 'SELECT count(*) FROM hybrid_audit_shapes()');
like($s->{err}, qr/canceling statement due to statement timeout/, 'and ends when it is told to');
finish($s);

# ---- what another instruction set did is another device's, in the counters and in what is learned ----
reset_all();
$s = session('plain');
my $set_in_use = ask($s, 'SELECT architecture FROM hybrid_devices WHERE device = 0');
SKIP:
{
	skip 'this machine has one instruction set', 4 if $set_in_use eq 'scalar';
	my $counted = q{SELECT string_agg(architecture || ' ' || calls, ', ' ORDER BY calls) FROM hybrid_stats WHERE operation = 'distance'};
	my $learned = q{SELECT string_agg(round(samples)::text, ', ' ORDER BY samples) FROM hybrid_tracker WHERE operation = 'distance'};

	ask($s, 'SELECT calls(10, 100)');
	ask($s, 'SET hybrid.simd = scalar');
	ask($s, 'SELECT calls(20, 100)');
	is(ask($s, 'SELECT architecture FROM hybrid_devices WHERE device = 0'), 'scalar', 'another instruction set');
	is($node->safe_psql('postgres', $counted), "$set_in_use 10, scalar 20", 'is counted by itself');
	ask($s, 'RESET hybrid.simd');
	ask($s, 'SELECT calls(1, 100)');
	is($node->safe_psql('postgres', $counted), "$set_in_use 11, scalar 20", 'and as before after that');
	like($node->safe_psql('postgres', $learned), qr/^([5-9]|1[0-2]), (1[5-9]|2[01])$/, 'what is learned is of one set each');
}
finish($s);

# ---- a calibration is kept, and a session without history starts from it ----
reset_all();
my $known = q{SELECT predicted_us > 0 FROM hybrid_explain('distance', 10000, 100) WHERE device = 0};
is($node->safe_psql('postgres', $known), '', 'nothing is known');
(undef, undef, $err) = $node->psql('postgres', 'SELECT hybrid_calibrate()', connstr => $node->connstr('postgres') . ' user=plain');
like($err, qr/permission denied for function hybrid_calibrate/, 'a plain user may not calibrate');
for my $forbidden ('SELECT _hybrid_run_calibration()', 'DELETE FROM hybrid_calibration', 'INSERT INTO hybrid_calibration DEFAULT VALUES', 'TRUNCATE hybrid_calibration')
{
	(undef, undef, $err) = $node->psql('postgres', $forbidden, connstr => $node->connstr('postgres') . ' user=watcher');
	like($err, qr/permission denied/, "not even a watcher: $forbidden");
}
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION hybrid_calibrate() TO watcher');
is($node->safe_psql('postgres', 'SELECT count(*) > 20, min(samples) > 0, count(DISTINCT backend) FROM hybrid_calibrate()', connstr => $node->connstr('postgres') . ' user=watcher'), 't|t|1', 'who was granted it may');
is($node->safe_psql('postgres', 'SELECT count(*) > 20 FROM hybrid_calibration', connstr => $node->connstr('postgres') . ' user=watcher'), 't', 'and look at what was kept');
is($node->safe_psql('postgres', $totals), '0|0', 'it is not counted');
is($node->safe_psql('postgres', $known, connstr => $node->connstr('postgres') . ' user=plain'), 't', 'a plain user profits');
reset_all();
is($node->safe_psql('postgres', $known), 't', 'also after a reset');
$node->restart;
is($node->safe_psql('postgres', $known), 't', 'and a restart');
# what it measured is shown where no batch of the kind has been seen, and says what it is
my $from_calibration = q{SELECT DISTINCT scope, observations, samples > 0, work_ns > 0 OR serial_ns > 0 FROM hybrid_tracker WHERE calibrated};
my $as_measured = q{SELECT count(*) = (SELECT count(*) FROM hybrid_tracker) AND count(*) = (SELECT count(*) FROM hybrid_calibration) AND count(*) > 20 FROM hybrid_tracker t JOIN hybrid_calibration c USING (backend, name, operation)
	WHERE calibrated AND (c.dims BETWEEN t.dims_low AND t.dims_high) AND (t.metric IS NULL OR t.metric = c.metric) AND coalesce(t.threads, 1) = c.threads};
is($node->safe_psql('postgres', $from_calibration), 'cluster|0|t|t', 'all sessions\' view shows the calibration');
is($node->safe_psql('postgres', $as_measured), 't', 'row by row');
is($node->safe_psql('postgres', $from_calibration, connstr => $node->connstr('postgres') . ' user=plain'), 'backend|0|t|t', 'so does the own session\'s');
is($node->safe_psql('postgres', $as_measured, connstr => $node->connstr('postgres') . ' user=plain'), 't', 'row by row as well');
$node->safe_psql('postgres', q{SELECT count(hybrid_distances(array_fill(1, ARRAY[64])::vector, array_fill(array_fill(1, ARRAY[64])::vector, ARRAY[m]))) FROM generate_series(10, 20) m});
is($node->safe_psql('postgres', q{SELECT calibrated, observations FROM hybrid_tracker WHERE operation = 'distance' AND metric = 'l2' AND 64 BETWEEN dims_low AND dims_high AND threads = 1}), 'f|10', 'batches that were run take its place');
reset_all();
# somebody empties the table and takes his time: nobody waits for him, and what is in it is taken later
my ($emptier, $hurried) = (session(), session('plain'));
ask($emptier, 'BEGIN; TRUNCATE hybrid_calibration');
is(ask($hurried, q{SET statement_timeout = '20s'; SELECT hybrid_distances('[1]', ARRAY['[3]'::vector])}), '{2}', 'a locked calibration keeps nobody waiting');
is(ask($hurried, $known), '', 'who does without it');
ask($emptier, 'ROLLBACK');
ask($hurried, 'SELECT pg_sleep(1.1)');
is(ask($hurried, $known), 't', 'and reads it when it can be had');
finish($_) for $emptier, $hurried;
is($node->safe_psql('postgres', q{SET search_path = ''; } . ($known =~ s/hybrid_explain/public.hybrid_explain/r)), 't', 'whatever the search path');
is($node->safe_psql('postgres', q{UPDATE hybrid_calibration SET state = ARRAY['NaN'::float8]; } . $known), '', 'nonsense in the table is passed over');
$node->safe_psql('postgres', 'TRUNCATE hybrid_calibration');
is($node->safe_psql('postgres', $known), '', 'an empty table is a fresh start');

$node->stop;
done_testing();
