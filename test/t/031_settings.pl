# Every setting takes effect at the session's next statement, whatever was done and opened before.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use HybridSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = PostgreSQL::Test::Cluster->new('settings');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'hybrid'
hybrid.plugins = ''
});
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	-- n calls of m items each
	CREATE FUNCTION calls(n int, m int) RETURNS bigint LANGUAGE sql AS $$
		SELECT count(hybrid_distances('[1,2]', array_fill('[1,3]'::vector, ARRAY[m]))) FROM generate_series(1, n) $$;
	CREATE TABLE point AS SELECT i, ('[' || i || ',1]')::vector AS v FROM generate_series(1, 1000) i;
	CREATE TABLE for_threads AS SELECT (SELECT array_agg(sin(i * k)) FROM generate_series(1, 64) k)::vector(64) AS v
		FROM generate_series(1, 5000) i;
	CREATE VIEW slow AS SELECT ctid, v FROM point WHERE i <= 11 AND pg_sleep(0.1) IS NOT NULL;
});
session_on($node);

my $device = q{SET hybrid.plugins = 'hybrid_emulated'; SET hybrid.execution = prefer_gpu; };
my $s = session();
my %walked;

sub reset_all { return $node->safe_psql('postgres', 'SELECT hybrid_reset_stats()') }

# set NAME, VALUE: set it in the session and record that the setting was tested
sub set
{
	my ($name, $value) = @_;

	$walked{"hybrid.$name"} = 1;
	ask($s, defined $value ? "SET hybrid.$name = '$value'" : "RESET hybrid.$name");
	return;
}

# last_event COLUMNS: return columns of the session's last decision
sub last_event
{
	my ($columns) = @_;

	return ask($s, "SELECT $columns FROM hybrid_events WHERE pid = pg_backend_pid() ORDER BY at DESC LIMIT 1");
}

# decided ITEMS: return the decision for a batch of this many items
sub decided
{
	my ($items) = @_;

	ask($s, "SELECT calls(1, $items)");
	return last_event('execution, backend, reason');
}

# least ITEMS [, BELOW]: return the microseconds that such a batch takes: the least of five, or of up to twenty
# until one takes less than BELOW.  Simulated time is about the same each time, except for a warm-up, and a busy
# machine can only add to it.
sub least
{
	my ($items, $below) = @_;
	my $least;

	for (1 .. $below ? 20 : 5)
	{
		ask($s, "SELECT calls(1, $items)");
		my $took = last_event('actual_us');
		$least = $took if !defined $least || $took < $least;
		last if $below && $least < $below;
	}
	return $least;
}

# fresh: switch to a new session, which has opened nothing
sub fresh
{
	finish($s);
	reset_all();
	$s = session();
	return;
}

# ---- which side ----
is(decided(100), 'auto|cpu|no device', 'no plug-in');
set('plugins', 'hybrid_emulated');
set('execution', 'prefer_gpu');
is(decided(100), 'prefer_gpu|emulated|user preference', 'plugins, execution = prefer_gpu');
set('execution', 'prefer_cpu');
is(decided(100), 'prefer_cpu|cpu|user preference', 'execution = prefer_cpu');
set('execution', 'gpu');
is(decided(100), 'gpu|emulated|user preference', 'execution = gpu');
set('execution', 'split');
like(decided(100000), qr/^split\|/, 'execution = split');
for my $percent (25, 75)
{
	set('split_gpu_percent', $percent);
	decided(100000);
	is(last_event('round(split_share::numeric, 2)'), $percent / 100, "split_gpu_percent = $percent");
}
set('split_gpu_percent');
set('execution', 'cpu');
is(decided(100), 'cpu|cpu|user preference', 'execution = cpu');
set('execution', 'emulated');
is(decided(100), 'emulated|emulated|user preference', 'execution = a backend');
set('force_cpu', 'on');
is(decided(100), 'cpu|cpu|user preference', 'force_cpu');
set('force_cpu');
set('execution', 'auto');
set('gpu_min_batch', 101);
is(decided(100), 'auto|cpu|below minimum batch', 'gpu_min_batch');
set('gpu_min_batch_overrides', 'distance:100');
unlike(decided(100), qr/below minimum batch/, 'gpu_min_batch_overrides, one operation');
set('gpu_min_batch_overrides', 'topk:1');
is(decided(100), 'auto|cpu|below minimum batch', 'gpu_min_batch_overrides, another operation');
set('gpu_min_batch_overrides', 'distance:1001');
set('gpu_min_batch', 0);
is(decided(1000), 'auto|cpu|below minimum batch', 'an override above the general minimum');
set('gpu_min_batch_overrides');
unlike(decided(10), qr/below minimum batch/, 'and without');
set('gpu_min_batch');

# ---- how much may be taken; of an open context ----
set('execution', 'prefer_gpu');
set('gpu_memory_limit', 1);
decided(1000);
is(last_event('bytes_available'), 1024 * 1024, 'gpu_memory_limit');
set('gpu_memory_limit');
set('execution', 'prefer_gpu');
ask($s, q{CREATE TEMP TABLE kept AS SELECT array_agg((i * j) % 101)::vector(32) AS v FROM generate_series(1, 2000) i, generate_series(1, 32) j GROUP BY i; CREATE INDEX ON kept USING hybrid (v vector_l2_ops) WITH (storage = float32)});
my $search = q{SELECT count(*) FROM hybrid_knn('kept', 'v', (SELECT array_agg(v) FROM (SELECT v FROM kept LIMIT 5) q), 5)};
ask($s, $search) for (1 .. 3);
cmp_ok(ask($s, 'SELECT resident_bytes FROM hybrid_devices WHERE device = 1'), '>', 0, 'gpu_resident_memory, by default');
set('gpu_resident_memory', 0);
ask($s, $search);
is(ask($s, 'SELECT resident_bytes FROM hybrid_devices WHERE device = 1'), 0, 'gpu_resident_memory = 0');
set('gpu_resident_memory');

# ---- what is kept ----
set('telemetry', 'off');
my $kept = ask($s, 'SELECT count(*) FROM hybrid_events');
my $calls = ask($s, 'SELECT sum(calls) FROM hybrid_stats');
ask($s, 'SELECT calls(3, 100)');
is(ask($s, 'SELECT count(*) FROM hybrid_events'), $kept, 'telemetry = off keeps no events');
is(ask($s, 'SELECT sum(calls) FROM hybrid_stats'), $calls + 3, 'and counts all the same');
set('telemetry');

# a window of 5 forgets quickly
set('execution', 'cpu');
set('tracker_window', 5);
my $samples = q{SELECT round(max(samples)) FROM hybrid_tracker WHERE device = 0 AND operation = 'distance'};
ask($s, 'SELECT calls(60, 100)');
cmp_ok(ask($s, $samples), '<=', 6, 'tracker_window');
set('tracker_window');
ask($s, 'SELECT calls(60, 100)');
cmp_ok(ask($s, $samples), '>', 6, 'and a longer one again');

# ---- failures: a hang ends with the timeout, a device that fails now and then is left alone by the threshold ----
set('execution', 'prefer_gpu');
set('gpu_timeout', '20ms');
set('emulated_faults', 'fail_at=1,status=hang');
is(decided(100), 'prefer_gpu|emulated|user preference', 'emulated_faults: a hang');
is(last_event('fallback, status'), 't|timeout', 'gpu_timeout');
fresh();
ask($s, $device);
set('emulated_faults', 'fail_every=4,status=transient');
set('gpu_success_threshold', 0.5);
ask($s, 'SELECT calls(40, 100)');
my $reasons = q{SELECT string_agg(reason, ' ') FROM hybrid_events WHERE pid = pg_backend_pid()};
unlike(ask($s, $reasons), qr/unreliable/, 'gpu_success_threshold: a quarter may fail');
set('gpu_success_threshold', 0.9);
ask($s, 'SELECT calls(40, 100)');
like(ask($s, $reasons), qr/unreliable/, 'and then it may not');

# ---- which device, and how many; the session's context is open ----
fresh();
ask($s, $device . 'SELECT calls(1, 100)');
set('emulated_devices', 2);
is(ask($s, 'SELECT count(*) FROM hybrid_devices'), 3, 'emulated_devices');
set('gpu_device', '1');
decided(100);
is(last_event('device'), 2, 'gpu_device');
set('gpu_device', '0');
decided(100);
is(last_event('device'), 1, 'gpu_device, another');
my $ratio = 0;
# what a busy machine adds to one observation is forgotten after some others
for (1 .. 100)
{
	ask($s, q{SET hybrid.execution = prefer_gpu; SELECT calls(1, m) FROM generate_series(10000, 100000, 10000) m;
		SET hybrid.execution = cpu; SELECT calls(1, m) FROM generate_series(10000, 100000, 10000) m; SET hybrid.execution = auto});
	$ratio = ask($s, q{WITH e AS (SELECT * FROM hybrid_explain('distance', 100000, 2))
		SELECT (SELECT predicted_us FROM e WHERE device = 0) / (SELECT predicted_us FROM e WHERE device = 1)});
	last if $ratio > 1.5 && $ratio < 900;
}
cmp_ok($ratio, '>', 1.5, 'a device that is expected to be faster');
my $chosen = q{SELECT device FROM hybrid_explain('distance', 100000, 2) WHERE chosen};
is(ask($s, $chosen), 1, 'is entered');
set('gpu_speedup_threshold', 1000);
is(ask($s, $chosen), 0, 'and is not by a higher gpu_speedup_threshold');
set('gpu_device');
set('emulated_devices', 1);
is(ask($s, 'SELECT count(*) FROM hybrid_devices'), 2, 'one device again');

# ---- what an emulated device is; of an open context ----
fresh();
ask($s, $device);
cmp_ok(least(100, 1000), '<', 1000, 'a fast device');
for my $slow ([ 'emulated_launch_us', 100000 ], [ 'emulated_bandwidth_gbs', 0.001 ], [ 'emulated_rate_gflops', 0.001 ])
{
	set(@$slow);
	cmp_ok(least(100), '>', 50000, $slow->[0]);
	set($slow->[0]);
	cmp_ok(least(100, 1000), '<', 1000, "$slow->[0], as before");
}
set('emulated_profile', 'integrated');
cmp_ok(least(1000000, 400), '<', 400, 'emulated_profile: one that copies nothing');
set('emulated_profile', 'pcie');
cmp_ok(least(1000000), '>', 550, 'and a card');
set('emulated_profile');
set('gpu_timeout', '1h');
set('emulated_launch_us', 600000000);
my $elapsed = q{SELECT clock_timestamp() - now() > '%s' FROM (SELECT calls(1, 100) OFFSET 0) c};
is(ask($s, sprintf($elapsed, '1min')), 'f', 'made-up time does not pass');
cmp_ok(last_event('actual_us'), '>', 500000000, 'though it counts');
set('emulated_launch_us', 500000);
set('emulated_wait', 'on');
is(ask($s, sprintf($elapsed, '0.4s')), 't', 'emulated_wait: now it does');
set('gpu_timeout');
set('emulated_wait');
set('emulated_launch_us');
for my $mb (16, 64, 32)
{
	set('emulated_memory_mb', $mb);
	is(ask($s, 'SELECT state, memory_total FROM hybrid_devices WHERE device = 1'), 'open|' . $mb * 1048576, "emulated_memory_mb = $mb, of an open context");
	is(decided(100), 'prefer_gpu|emulated|user preference', 'which goes on');
	is(last_event('bytes_available'), int(0.8 * $mb * 1048576), 'with the budget');
}
# 1,000,000 distances of two dimensions take 24 MB and more
decided(1000000);
my $fitted = last_event('pieces');
is(last_event('device, status, bytes_required <= bytes_available'), '1|ok|t', 'a batch that fits');
set('emulated_memory_mb', 8);
decided(1000000);
is(last_event("device, status, bytes_required <= bytes_available, pieces >= 4 AND pieces > $fitted"), '1|ok|f|t', 'goes in pieces where there is less');
set('emulated_memory_mb');
decided(1000000);
is(last_event('device, status, bytes_required <= bytes_available, pieces < 4'), '1|ok|t|t', 'and in fewer again');

# of one that is closed, though it has been looked at
fresh();
ask($s, q{SET hybrid.plugins = 'hybrid_emulated'});
is(ask($s, 'SELECT state, memory_total FROM hybrid_devices WHERE device = 1'), 'closed|' . 4096 * 1048576, 'a closed context');
set('emulated_memory_mb', 16);
is(ask($s, 'SELECT state, memory_total FROM hybrid_devices WHERE device = 1'), 'closed|' . 16 * 1048576, 'emulated_memory_mb, of a closed context');
set('emulated_open_ms', 1000000);
is(decided(1000), 'auto|cpu|not open yet', 'emulated_open_ms: too dear');
set('emulated_open_ms', 0);
is(decided(1000), 'auto|emulated|exploration', 'and for nothing');

# ---- a context that nobody uses ----
fresh();
ask($s, $device);
my $opened = q{SELECT state FROM hybrid_devices WHERE device = 1};
for my $timeout ('0', '1h')
{
	set('gpu_idle_timeout', $timeout);
	decided(100);
	usleep(20_000);
	is(ask($s, $opened), 'open', "gpu_idle_timeout = $timeout");
}
# closed: return the state of the context as soon as it is closed, or in the end
sub closed
{
	my $state;

	for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		$state = ask($s, $opened);
		last if $state eq 'closed';
		usleep(10_000);
	}
	return $state;
}
set('gpu_idle_timeout', '5ms');
is(closed(), 'closed', 'gpu_idle_timeout = 5ms');
for my $i (1 .. 3)
{
	is(decided(100), 'prefer_gpu|emulated|user preference', 'the next batch opens it again');
	is(last_event('fallback, status, error IS NULL'), 'f|ok|t', 'and nothing has failed');
	is(closed(), 'closed', 'and so on');
}
set('gpu_idle_timeout');

# ---- beside others ----
fresh();
my $other = session();
ask($other, $device . 'SELECT calls(1, 100)');
ask($s, $device);
set('gpu_max_contexts', 1);
is(decided(100), 'prefer_gpu|emulated|user preference', 'a context more than there may be');
is(last_event('fallback, status'), 't|quota reached', 'gpu_max_contexts');
set('gpu_max_contexts', 2);
decided(100);
is(last_event('device, fallback, status'), '1|f|ok', 'and one that is granted, at once');
set('gpu_max_contexts');
ask($other, q{SET hybrid.emulated_wait = on; SET hybrid.emulated_launch_us = 60000000; SET hybrid.gpu_timeout = '1h'});
my $pid = ask($other, 'SELECT pg_backend_pid()');
$other->{in} .= "SELECT calls(1, 100);\n";
IPC::Run::pump_nb($other->{run});
for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
{
	last if ask($s, 'SELECT queue FROM hybrid_devices WHERE device = 1') == 1;
	usleep(10_000);
}
for my $depth (1, 4, 2)
{
	set('gpu_queue_depth', $depth);
	is(ask($s, 'SELECT load FROM hybrid_devices WHERE device = 1'), 1 / $depth, "gpu_queue_depth = $depth");
}
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 10000)");
eval { finish($other) }; # its pipe may be broken

# ---- batches that are gathered ----
fresh();

# flushed TABLE [, EXPECTED]: return the causes that ended the batches of a search there.  Batches wait longer
# after one that took long, which can happen on a busy machine.  So up to five searches are tried until one is as
# expected
sub flushed
{
	my ($table, $expected) = @_;
	my $flushes;

	for (1 .. $expected ? 5 : 1)
	{
		reset_all();
		ask($s, qq{SELECT count(*) FROM hybrid_knn('$table', 'v', ARRAY['[1,2]']::vector[], 3)});
		$flushes = ask($s, q{SELECT flushes FROM hybrid_stats WHERE operation = 'topk' AND device = 0});
		last if !$expected || $flushes eq $expected;
	}
	return $flushes;
}

# a batch of a busy machine may wait for its next row
set('batch_wait', 0);
set('batch_max', 100);
is(flushed('point'), '{"size": 10}', 'batch_max');
set('batch_max', 500);
is(flushed('point'), '{"size": 2}', 'batch_max, changed');
set('batch_max');
set('batch_min', 2);
set('batch_wait', '50ms');
is(flushed('slow', '{"end": 1, "time": 5}'), '{"end": 1, "time": 5}', 'batch_wait');
set('batch_min', 3);
is(flushed('slow', '{"end": 1, "time": 3}'), '{"end": 1, "time": 3}', 'batch_min');
set('batch_wait', '1h');
is(flushed('slow'), '{"end": 1}', 'batch_wait, longer');

# ---- the instruction set, and what a graph may take ----
set('simd', 'scalar');
is(ask($s, q{SELECT architecture FROM hybrid_devices WHERE device = 0}), 'scalar', 'simd');
set('precision', 'exact');
is(ask($s, q{SELECT architecture FROM hybrid_devices WHERE device = 0}), 'scalar exact', 'precision');
set('precision');
set('simd');
ask($s, q{SET hybrid.emulated_faults = 'fail_at=1,status=process_lost'; SET hybrid.plugins = 'hybrid_emulated'; SET hybrid.execution = prefer_gpu; SELECT calls(1, 100)});
set('simd', 'scalar');
is(ask($s, q{SELECT state FROM hybrid_devices WHERE device = 1}), 'given up', 'simd: a device that was lost stays lost');
my $graph = q{SELECT count(*) FROM hybrid_spread('SELECT i, i + 1 FROM generate_series(1, 100000) i', ARRAY[1])};
is(ask($s, $graph), 4, 'a graph');
set('graph_memory_limit', '64kB');
ask($s, $graph);
like($s->{err}, qr/graph does not fit into "hybrid.graph_memory_limit" \(64 kB\)/, 'graph_memory_limit');
# 062_shared_graphs.pl has what they do
for my $setting ('graph_memory_total', 'graph_shared_memory')
{
	$walked{"hybrid.$setting"} = 1;
	ask($s, "SET hybrid.$setting = '1MB'");
	like($s->{err}, qr/parameter "hybrid.$setting" cannot be changed/, "$setting: only in postgresql.conf");
}

my $for_threads = q{SELECT count(*) FROM hybrid_knn('for_threads', 'v', (SELECT array_agg(v) FROM (SELECT v FROM for_threads LIMIT 400) s), 3)};
set('threads', 1);
set('batch_max', 5000);
is(ask($s, $for_threads), 1200, 'a batch for threads');
is(ask($s, q{SELECT count(*) FROM pg_ls_dir('/proc/self/task')}), 1, 'threads = 1');
set('threads');
SKIP:
{
	skip 'one core', 1 if `nproc` < 2;
	ask($s, $for_threads);
	cmp_ok(ask($s, q{SELECT count(*) FROM pg_ls_dir('/proc/self/task')}), '>', 1, 'threads');
}
set('batch_max');

# ---- how far an index scan goes ----
# (of so many dimensions that one list is not all it takes)
ask($s, q{CREATE TABLE place AS SELECT i, (SELECT array_agg(sin(i * (k * k + 0.7)) ORDER BY k) FROM generate_series(1, 24) k)::vector(24) AS v
	FROM generate_series(1, 20000) i});
ask($s, 'CREATE INDEX ON place USING hybrid (v)');
my $from = ask($s, 'SELECT v FROM place WHERE i = 77');

# looked_at SETTINGS [, WHERE]: return the lists and rows that a scan for ten rows examines, and how many it
# returns
sub looked_at
{
	my ($settings, $where) = @_;
	my $nearest = 'SELECT i FROM place ' . ($where // '') . qq{ ORDER BY v <-> '$from' LIMIT 10};
	my ($out, $err);

	$walked{$_} = 1 foreach $settings =~ /(hybrid\.\w+)/g;
	$node->psql('postgres', "SET enable_seqscan = off; $settings; SET client_min_messages = debug1; SELECT count(*) FROM ($nearest) n",
		stdout => \$out, stderr => \$err);
	my ($lists, $rows) = $err =~ /.*index scan: (\d+) lists, (\d+) rows/s;

	return ($lists, $rows, $out);
}
my $few = 'WHERE i % 100 = 0';
my $small = q{SET work_mem = '64kB'; SET hybrid.max_scan_tuples = 1000000};
cmp_ok((looked_at('SET hybrid.target_recall = 0.5'))[1], '<', (looked_at('SET hybrid.target_recall = 0.999'))[1], 'target_recall');
is((looked_at('SET hybrid.target_recall = 1'))[0], undef, 'target_recall: at 1 no code is looked at');
is(join(' ', (looked_at('SET hybrid.probes = 3'))[0, 2]), '3 10', 'probes');
is((looked_at('SELECT', $few))[2], 10, 'a filter, and the scan goes on');
cmp_ok((looked_at('SET hybrid.iterative_scan = off', $few))[2], '<', 10, 'iterative_scan');
cmp_ok((looked_at('SET hybrid.max_scan_tuples = 1', $few))[2], '<', 10, 'max_scan_tuples');
# the last row that it would come to
my $last = ask($s, "SELECT i FROM place ORDER BY v <-> '$from' DESC LIMIT 1");
is((looked_at($small, "WHERE i = $last"))[2], 0, 'a scan ends where its memory does');
is((looked_at("$small; SET hybrid.scan_mem_multiplier = 100", 'WHERE i = 4711'))[2], 1, 'scan_mem_multiplier');

# ---- and there are no others ----
# pg_settings does not show those of the emulated device
my @hidden = map { /^\| `(emulated_\w+)`/ ? "hybrid.$1" : () } split /\n/, slurp_file(($ENV{HYBRID_DOCS} // 'docs') . '/settings.md');
my @known = split / /, $node->safe_psql('postgres', q{SELECT string_agg(name, ' ') FROM pg_settings WHERE name LIKE 'hybrid.%'});
is(join(' ', sort keys %walked), join(' ', sort @known, @hidden), 'each setting has been walked');
is($node->safe_psql('postgres', 'SHOW ALL') =~ /hybrid\.emulated/ ? 'shown' : 'hidden', 'hidden', 'SHOW ALL has none of the emulated device');
is($node->safe_psql('postgres', "SHOW $_") ne '' || /profile|faults/, 1, "SHOW $_") for @hidden;
is(scalar @hidden, 9, 'which are these');

finish($s);
$node->stop;
done_testing();
