# A machine without a card: only hybrid_devices reports that there is none, until a device is requested.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('cardless');
$node->init;
# also where all servers of a run have an emulated device
$node->append_conf('postgresql.conf', "hybrid.plugins = 'hybrid_cuda'\nhybrid.execution = auto\n");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE TABLE item AS SELECT ('[' || i || ',1,2]')::vector(3) AS v FROM generate_series(1, 2000) i;
	CREATE INDEX ON item USING hybrid (v vector_l2_ops);
	ANALYZE item});

# session SETTINGS, QUERY: return the output of a session after batches of each kind, enough of them that
# decisions are remembered
sub session
{
	my ($settings, $query) = @_;
	my ($status, $out, $err) = $node->psql('postgres', qq{
		$settings;
		DO \$\$
		BEGIN
			FOR n IN 1 .. 20 LOOP
				PERFORM hybrid_distances('[1,2]', ARRAY['[3,4]', '[1,2]']::vector[]);
			END LOOP;
			PERFORM count(*) FROM item WHERE v <-> '[1,2,3]' < 100;
			PERFORM * FROM item ORDER BY v <-> '[1,2,3]' LIMIT 5;
			PERFORM * FROM hybrid_knn('item', 'v', ARRAY['[1,2,3]', '[2,3,4]']::vector[], 5);
			PERFORM * FROM hybrid_spread('SELECT i::bigint, i::bigint + 1, 1::real FROM generate_series(1, 100) i', ARRAY[1]::bigint[]);
		END \$\$;
		$query});
	die "the session failed: $err" if $status != 0;
	return ($out, $err);
}

# said: the lines of hybrid in the log since the last call
my $read = 0;
sub said
{
	my $log = slurp_file($node->logfile, $read);

	$read += length $log;
	return join '', map { "$_\n" } $log =~ /(hybrid: .*)/g;
}

my $events = 'SELECT DISTINCT backend, reason, fallback, status, native_code, error FROM hybrid_events';
my $devices = q{SELECT state, detail FROM hybrid_devices WHERE backend <> 'cpu'};

# quiet NAME, SETTINGS: check that two sessions report nothing about a device except in hybrid_devices
sub quiet
{
	my ($name, $settings) = @_;
	said();
	$node->safe_psql('postgres', "$settings; SELECT hybrid_reset_stats()");
	for my $number (1, 2)
	{
		my ($out, $err) = session($settings, "$events; $devices");
		my ($event, $device, @others) = split /\n/, $out;

		like($event, qr/^cpu\|no device\|f\|ok\|/, "$name: session $number ran on the CPU");
		like($event, qr/\|ok\|-?\d+\|$/, "$name: its events have no error beside the status ok");
		like($event, qr/\|ok\|0\|/, "$name: nor a number of the driver's");
		like($device, qr/^unavailable\|\S/, "$name: hybrid_devices has why");
		is(scalar @others, 0, "$name: and all of its events are alike");
		is($err, '', "$name: no notice and no warning in session $number");
	}
	for my $view (qw(hybrid_stats hybrid_tracker hybrid_capabilities))
	{
		is((session($settings, "SELECT DISTINCT backend FROM $view"))[0], 'cpu', "$name: $view has the CPU alone");
	}
	is((session($settings, q{SELECT sum(failures), sum(fallbacks), count(*) > 0 FROM hybrid_stats}))[0], '0|0|t', "$name: no failure and no fallback is counted");
	is((session($settings, q{SELECT backend, reason, status, detail FROM hybrid_explain('topk', 1000, 3)}))[0], 'cpu|no device|ok|', "$name: hybrid_explain has the CPU alone");
	is(said(), '', "$name: no line in the log");
	return;
}

# asked NAME, SETTINGS, NUMBER, LINE: check that a user who requests a device is told: in events, by errors, and
# once per session in the log
sub asked
{
	my ($name, $settings, $number, $line) = @_;

	said();
	for my $asks ('SET hybrid.execution = prefer_gpu', 'SET hybrid.execution = split', q{SET hybrid.gpu_device = '0'})
	{
		my ($out, $err) = session("$settings; $asks", "$events WHERE pid = pg_backend_pid()");
		my ($error) = $out =~ /^cpu\|no device\|f\|ok\|$number\|(\S.*)$/;

		$error //= '';
		isnt($error, '', "$name, $asks: the events have the number and the words");
		is($err, '', "$name, $asks: and the answers come from the CPU");
		like(said(), qr/\Ahybrid: no device from $line: \Q$error\E\n\z/, "$name, $asks: one line in the log");
	}
	my (undef, undef, $err) = $node->psql('postgres', qq{$settings;
		SET hybrid.execution = gpu;
		SELECT hybrid_distances('[1,2]', ARRAY['[3,4]']::vector[])}, on_error_stop => 0);
	like($err, qr/ERROR:  could not compute distances on the device: "hybrid.execution" is "gpu"\nDETAIL:  No device can be used: \S/, "$name, gpu: an error that says why");
	return;
}

for my $preload ('', 'hybrid')
{
	my $where = $preload ? 'preloaded' : 'not preloaded';

	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$preload'");
	$node->restart;
	SKIP:
	{
		my $detail = $node->safe_psql('postgres', "SET hybrid.plugins = 'hybrid_cuda'; $devices LIMIT 1");

		skip "this machine has a driver, or a card: $detail", 1 if $detail !~ /is not installed|no CUDA driver/;
		quiet("as installed, $where", "LOAD 'hybrid'; RESET hybrid.execution");
		asked("as installed, $where", "LOAD 'hybrid'", $detail =~ /is not installed/ ? 0 : 35, qr/hybrid_cuda|cuda/);
	}
	SKIP:
	{
		my $there = $node->safe_psql('postgres', "LOAD 'hybrid'; SET hybrid.plugins = 'hybrid_cuda_fake'; $devices LIMIT 1");

		skip 'there is no fake device', 1 if $there =~ /is not installed/;
		local $ENV{HY_FAKE_ABSENT} = 100;
		$node->restart;
		quiet("no card, $where", "LOAD 'hybrid'; SET hybrid.plugins = 'hybrid_cuda_fake'");
		asked("no card, $where", "LOAD 'hybrid'; SET hybrid.plugins = 'hybrid_cuda_fake'", 100, 'cuda');
	}
}

# what a plug-in that is broken says is said to everybody
$node->safe_psql('postgres', "LOAD 'hybrid'; SET hybrid.plugins = 'plpgsql'; SELECT hybrid_distances('[1,2]', ARRAY['[3,4]']::vector[])");
like(said(), qr/hybrid: no device from plpgsql: plpgsql\.so is not a backend/, 'a library that is no plug-in has its line');

done_testing();
