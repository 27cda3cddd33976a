# The messages that an operator of a broken installation sees are explained in docs/troubleshooting.md.
use strict;
use warnings;

use FindBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $guide = slurp_file(($ENV{HYBRID_DOCS} // 'docs') . '/troubleshooting.md');
# the texts of the first columns, without what stands for a number or a name in them
my %said = map { $_ => 1 } map { /`([^`]+)`/g } grep { defined } map { /^\| ([^|]*) \|/ ? $1 : undef } split /\n/, $guide;

my $node = PostgreSQL::Test::Cluster->new('broken');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION hybrid');

# explained TEXT: return the longest line of the guide that the text contains
sub explained
{
	my ($text) = @_;

	my @lines = sort { length $b <=> length $a } grep { length > 10 && index($text, $_) >= 0 } keys %said;
	return $lines[0];
}

# detail PLUGIN: return the detail of a plug-in in hybrid_devices
sub detail
{
	my ($plugin) = @_;

	return $node->safe_psql('postgres', qq{
		LOAD 'hybrid';
		SET hybrid.plugins = '$plugin';
		SELECT detail FROM hybrid_devices WHERE backend <> 'cpu' LIMIT 1});
}

is(explained(detail('no_such_plugin')), 'is not installed', 'a plug-in that is not there is in the guide');
SKIP:
{
	my $detail = detail('hybrid_cuda');

	skip 'there is no CUDA plug-in, or a driver', 1 if $detail !~ /driver/;
	isnt(explained($detail), undef, "the plug-in without a driver: '$detail' is in the guide");
}

# no_device: the texts of the guide's table of that name, X, N and M in which stand for anything
my ($table) = $guide =~ /^## No device\n(.*?)^## /ms;
my %no_device = map { $_ => join '.+', map { quotemeta } split /\b[XNM]\b/, $_, -1 }
	map { /`([^`]+)`/g } map { /^\| ([^|]*) \|/ ? $1 : () } split /\n/, $table;

# in_table TEXT: return the longest entry of that table that the text contains.  Short entries are skipped,
# because too many texts contain them
sub in_table
{
	my ($text) = @_;

	my ($longest) = sort { length $b <=> length $a } grep { length > 10 && $text =~ /$no_device{$_}/ } keys %no_device;
	return $longest;
}

is(in_table(detail(q{hybrid_emulated'; SET hybrid.gpu_device = '7})), 'hybrid.gpu_device does not name it', 'a device that is left out is in the table of devices that are not there');

# what takes a device that fails between two calls, a plug-in of somebody else's, or very many lines
for my $text ('it does not answer when probed', 'it finds no device', 'it is left out: hybrid.gpu_device does not name it')
{
	ok(defined $no_device{$text}, "'$text' is in the table");
}
for my $line ('device D (X I) does not answer when probed: ...', 'N more lines')
{
	ok($said{$line}, "the line '$line' is in the guide");
}

# A driver that fails in every way that there is before a context: which line explains it, its number, and what
# a batch tells that the CPU has answered.
my @drivers = (
	[ 100, 'no CUDA-capable device is detected', STUB_INIT => 100 ],
	[ 35, 'CUDA driver version is insufficient for CUDA runtime version', STUB_INIT => 35 ],
	[ 35, 'the driver is for CUDA N at most, this build needs M', STUB_VERSION => 11020 ],
	[ 34, 'CUDA driver is a stub library', STUB_INIT => 34 ],
	[ 803, 'system has unsupported display driver / cuda driver combination', STUB_INIT => 803 ],
	[ 804, 'forward compatibility was attempted on non supported HW', STUB_INIT => 804 ],
	[ 802, 'system not yet initialized', STUB_INIT => 802 ],
	[ 805, 'MPS client failed to connect to the MPS control daemon or the MPS server', STUB_INIT => 805 ],
	[ 2, 'out of memory', STUB_INIT => 2 ],
	[ 2, 'out of memory', STUB_FAILS => 'cuModuleGetLoadingMode', STUB_RETURNS => 2 ],
	[ 3, 'initialization error', STUB_INIT => 3 ],
	[ 3, 'initialization error', STUB_FAILS => 'cuDeviceGetCount', STUB_RETURNS => 999 ],
	[ 3, 'initialization error', STUB_FAILS => 'cuDeviceGet', STUB_RETURNS => 101 ],
	[ 3, 'initialization error', STUB_FAILS => 'cuDeviceTotalMem', STUB_RETURNS => 214 ],
	[ 46, 'busy or unavailable', STUB_INIT => 46 ],
	[ 304, 'OS call failed or operation not supported on this OS', STUB_INIT => 304 ],
	[ 214, 'uncorrectable ECC error encountered', STUB_INIT => 214 ],
	[ 500, 'named symbol not found', STUB_FAILS => 'cuGetExportTable', STUB_RETURNS => 500 ],
	[ 999, 'unknown error', STUB_INIT => 999 ],
	[ 103, 'integrity checks failed' ]);
my $stub = "$FindBin::RealBin/libcuda.so.1";

# with_driver DIRECTORY, VARIABLES ...: restart the server with the driver in this directory
sub with_driver
{
	my ($directory, %variables) = @_;
	my $path = join ':', $directory, $ENV{LD_LIBRARY_PATH} // ();

	local %ENV = (%ENV, LD_LIBRARY_PATH => $path, %variables);
	$node->restart;
	return;
}

# answered: return the events of 20 batches; a decision is remembered for later batches
sub answered
{
	return $node->safe_psql('postgres', qq{
		LOAD 'hybrid';
		SET hybrid.plugins = 'hybrid_cuda';
		SET hybrid.execution = auto;
		DO \$\$
		BEGIN
			FOR n IN 1 .. 20 LOOP
				PERFORM hybrid_distances('[1,2]', ARRAY['[3,4]', '[1,2]']::vector[]);
			END LOOP;
		END \$\$;
		SELECT count(*), status, reason, backend, native_code, error FROM hybrid_events GROUP BY 2, 3, 4, 5, 6});
}

SKIP:
{
	my $whole = detail('hybrid_cuda');

	skip "hybrid_cuda.so is not here, since there was no nvcc: what it makes of drivers", 1 if $whole =~ /is not installed/;
	skip "there is no driver that fails as it is told: $stub", 1 if !-e $stub;
	for (@drivers)
	{
		my ($number, $line, %variables) = @$_;
		my $name = join ' ', map { "$_=$variables{$_}" } sort keys %variables;

		$name = 'not NVIDIA\'s' if $name eq '';
		with_driver($FindBin::RealBin, %variables);
		my $detail = detail('hybrid_cuda');
		is(in_table($detail), $line, "the driver $name: '$detail' is in the guide");
		# that there is no card is no error
		my $tells = $number == 100 ? '0|' : "$number|$detail";
		is(answered(), "20|ok|no device|cpu|$tells", "the driver $name: what each batch tells");
		like($guide, qr/^\| [^|]*`?\b$number\b`?[^|]* \| /m, "$number has its line");
	}
	$node->restart;
}

# failing FAULTS: return the SQLSTATE, the output with the status in hybrid_events, and the messages of a query that
# forces a failing device
sub failing
{
	my ($faults) = @_;
	my ($status, $out, $err) = $node->psql('postgres', qq{
		LOAD 'hybrid';
		SET hybrid.plugins = 'hybrid_emulated';
		SET hybrid.emulated_faults = '$faults';
		SET hybrid.execution = gpu;
		\\set ON_ERROR_STOP off
		\\set VERBOSITY verbose
		SELECT hybrid_distances('[1,2]', ARRAY['[3,4]', '[1,2]']::vector[]);
		SELECT status FROM hybrid_events ORDER BY at DESC LIMIT 1});
	my ($code) = $err =~ /ERROR:  (\w{5}): could not .* on the device: "hybrid.execution" is "gpu"/;
	return ($code, $out, $err);
}

my %codes = (nomem => '53000', quota => '53000', map { $_ => '58000' } qw(transient busy timeout context_lost bug));
for my $word (sort keys %codes)
{
	my ($code, $status, $err) = failing("status=$word");

	is($code, $codes{$word}, "a device that fails with $word is forced: SQLSTATE");
	ok($said{$status}, "the status '$status' has its line");
	like($err, qr/DETAIL:  Device 1 \(emulated 0\) was tried and failed with status "$status": fault 1 of emulated_faults\.\n/, 'which device, and how');
	like($err, qr/HINT:  \S.*\. Set "hybrid.execution" to "auto" to let the CPU answer\.\n/, 'and what to do');
}

# forced SETTINGS [, QUERY]: return the messages of a query for which a device is forced, as one text
sub forced
{
	my ($settings, $query) = @_;
	my (undef, undef, $err) = $node->psql('postgres', qq{
		LOAD 'hybrid';
		SET hybrid.plugins = 'hybrid_emulated';
		\\set ON_ERROR_STOP off
		\\set VERBOSITY verbose
		$settings;
		} . ($query // q{SELECT hybrid_distances('[1,2]', ARRAY['[3,4]', '[1,2]']::vector[])}));
	return join '', map { "$_\n" } $err =~ /((?:ERROR|DETAIL|HINT):  .*)/g;
}
my $answer = 'Set "hybrid.execution" to "auto" to let the CPU answer.';
my $names = 'Valid values are auto, cpu, gpu, prefer_cpu, prefer_gpu, split, and the names of backends. "hybrid.plugins" determines which backends are loaded.';
my $lacks = 'The view "hybrid_devices" shows why a device cannot be used.';
my $first = 'could not compute distances on the device: "hybrid.execution" is';
is(forced('SET hybrid.execution = gpuu'), qq{ERROR:  42704: $first "gpuu"
DETAIL:  No backend has this name. Known backends: cpu, emulated.
HINT:  $names
}, 'a name that no backend has');
is(forced(q{SET hybrid.plugins = 'no_such_plugin, hybrid_emulated'; SET hybrid.emulated_devices = 3; SET hybrid.execution = cuda}), qq{ERROR:  42704: $first "cuda"
DETAIL:  No backend has this name. Known backends: cpu, no_such_plugin (no_such_plugin.so is not installed), emulated.
HINT:  $names
}, 'each backend once, a plug-in that is not there with why');
is(forced(q{SET hybrid.plugins = 'no_such_plugin'; SET hybrid.execution = plugin}), qq{ERROR:  55000: $first "plugin"
DETAIL:  No device can be used: no_such_plugin.so is not installed.
HINT:  $lacks $answer
}, 'a plug-in that is not there, by the name of its backend');
is(forced(q{SET hybrid.plugins = ''; SET hybrid.execution = gpu}), qq{ERROR:  55000: $first "gpu"
DETAIL:  No device can be used: there is none.
HINT:  $lacks $answer
}, 'no plug-in');
is(forced(q{SET hybrid.gpu_device = 7; SET hybrid.execution = emulated}), qq{ERROR:  55000: $first "emulated"
DETAIL:  No device can be used: it is left out: hybrid.gpu_device does not name it.
HINT:  $lacks $answer
}, 'no device of those that may be used');
my $once = q{SELECT hybrid_distances('[1,2]', ARRAY['[1,2]']::vector[]);};
is(forced(q{SET hybrid.execution = gpu; SET hybrid.emulated_faults = 'status=process_lost'}, $once x 2), qq{ERROR:  58000: $first "gpu"
DETAIL:  Device 1 (emulated 0) was tried and failed with status "process lost": fault 1 of emulated_faults.
HINT:  This session does not use the device again. Start a new session. $answer
ERROR:  55000: $first "gpu"
DETAIL:  No device can be used: it lost this process its context.
HINT:  A session does not use a lost device again. Start a new session. $answer
}, 'a device that is lost, and one that was');
like(forced(q{SET hybrid.execution = gpu; SET hybrid.emulated_faults = 'status=process_lost'}, "$once SET hybrid.gpu_device = 7; $once"),
	qr/\nDETAIL:  No device can be used: it is left out: hybrid\.gpu_device does not name it\.\nHINT:  \Q$lacks $answer\E\n\z/, 'one that was lost is not what another refusal is about');
# it is tried again after a second, which may pass before the next statement, and two seconds after that, and so on
my $refused = q{
	DO $$
	BEGIN
		FOR n IN 1 .. 8 LOOP
			BEGIN
				PERFORM hybrid_distances('[1,2]', ARRAY['[1,2]']::vector[]);
			EXCEPTION WHEN system_error THEN
				NULL;
			END;
		END LOOP;
	END $$;};
my $failed = qr/ERROR:  58000: \Q$first\E "gpu"\nDETAIL:  Device 1 \(emulated 0\) was tried and failed .*\nHINT:  .*\n/;
like(forced(q{SET hybrid.execution = gpu; SET hybrid.emulated_faults = 'status=transient'}, $once x 3 . $refused),
	qr/\A$failed{3}ERROR:  55000: \Q$first\E "gpu"\nDETAIL:  No device is trusted with it at the moment: it failed too often lately\.\nHINT:  .*\Q$answer\E\n\z/, 'a device that failed three times');
is(forced(q{SET hybrid.execution = gpu; SET hybrid.gpu_timeout = '20ms'; SET hybrid.emulated_faults = 'status=hang'}) =~ s/("timeout"): .*/$1./r, qq{ERROR:  58000: $first "gpu"
DETAIL:  Device 1 (emulated 0) was tried and failed with status "timeout".
HINT:  Raise "hybrid.gpu_timeout", if the device was merely slow. $answer
}, 'a device that does not end');
is(forced(q{SET hybrid.execution = gpu; SET hybrid.emulated_faults = 'sometimes'}), qq{ERROR:  58000: $first "gpu"
DETAIL:  Device 1 (emulated 0) was tried and failed with status "invalid": emulated_faults: cannot read "sometimes".
HINT:  The device rejected the request as invalid. If no setting explains this, please report it. $answer
}, 'a device that cannot be told what to do');
# 20 queries of 16,000 dimensions are more than 1 MB, however few rows they meet
$node->safe_psql('postgres', 'CREATE TABLE wide AS SELECT array_fill(i, ARRAY[16000])::vector AS v FROM generate_series(1, 30) i');
like(forced(q{SET hybrid.execution = gpu; SET hybrid.emulated_memory_mb = 1}, q{SELECT count(*) FROM hybrid_knn('wide', 'v', (SELECT array_agg(v) FROM (SELECT v FROM wide LIMIT 20) q), 1)}),
	qr/\AERROR:  53000: could not find nearest rows on the device: "hybrid.execution" is "gpu"\nDETAIL:  It needs \d+ kB of device memory, may have \d+ kB, and does not fit in pieces either\.\nHINT:  Raise "hybrid.gpu_memory_limit", or ask for less at once\. \Q$answer\E\n\z/, 'too little memory');
# the emulated device has room for the 1,024 nearest
$node->safe_psql('postgres', q{CREATE TABLE many AS SELECT ('[' || i || ',1]')::vector AS v FROM generate_series(1, 2000) i});
like(forced(q{SET hybrid.execution = gpu; SET hybrid.batch_max = 2000}, q{SELECT count(*) FROM hybrid_knn('many', 'v', ARRAY['[1,2]']::vector[], 1500)}),
	qr/\AERROR:  0A000: could not find nearest rows on the device: "hybrid.execution" is "gpu"\nDETAIL:  No device can run it: k is too large\.\nHINT:  The view "hybrid_capabilities" says what devices can run\. \Q$answer\E\n\z/, 'unsupported');
for my $code (qw(42704 55000 0A000 53000 58000))
{
	ok(index($guide, "$code |") > 0, "$code has its line");
}

done_testing();
