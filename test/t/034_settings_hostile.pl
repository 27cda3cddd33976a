# Settings used by an attacker: impossible values, both ends of every range, changes in the middle of a statement,
# and users who must not set them.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use HybridSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('hostile');
$node->init;
# in no shared_preload_libraries: a session has the settings when it loads the library
$node->append_conf('postgresql.conf', "hybrid.plugins = 'hybrid_emulated'\nhybrid.gpu_device = '0'\n");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE TABLE point AS SELECT i, (SELECT array_agg(sin(i * (k * k + 0.7)) ORDER BY k) FROM generate_series(1, 24) k)::vector(24) AS v
		FROM generate_series(1, 3000) i;
	CREATE TABLE beside AS SELECT * FROM point;
	CREATE INDEX ON beside USING hybrid (v);
	CREATE TABLE link AS SELECT i AS source, i % 97 + 1 AS target, 1.0::real AS weight FROM generate_series(1, 500) i;
	CREATE FUNCTION distances() RETURNS text LANGUAGE sql AS $$
		SELECT md5(hybrid_distances((SELECT v FROM point WHERE i = 7), (SELECT array_agg(v ORDER BY i) FROM point))::text) $$;
	CREATE FUNCTION nearest(rel regclass) RETURNS text LANGUAGE sql AS $$
		SELECT md5(string_agg(k::text, ' ')) FROM hybrid_knn(rel, 'v', (SELECT array_agg(v ORDER BY i) FROM point WHERE i <= 40), 7) k $$;
	CREATE FUNCTION spread() RETURNS text LANGUAGE sql AS $$
		SELECT md5(string_agg(s::text, ' ' ORDER BY s.id)) FROM hybrid_spread('SELECT source, target, weight FROM link', ARRAY[1, 2, 3]) s $$;
	CREATE FUNCTION exact() RETURNS text LANGUAGE sql SET hybrid.target_recall = 1 SET enable_seqscan = off AS $$
		SELECT string_agg(i::text, ' ') FROM (SELECT i FROM beside ORDER BY v <-> (SELECT v FROM point WHERE i = 7) LIMIT 5) n $$;
	CREATE FUNCTION all_of_it() RETURNS text LANGUAGE sql AS $$
		SELECT concat_ws('|', distances(), nearest('point'), nearest('beside'), spread(), exact()) $$;
	CREATE ROLE plain LOGIN;
	CREATE ROLE looking LOGIN;
	GRANT pg_read_all_settings TO looking;
	GRANT SELECT ON ALL TABLES IN SCHEMA public TO plain, looking;
});
session_on($node);

# what loads the library, for anybody
my $load = q{DO $$ BEGIN PERFORM '[1]'::vector; END $$;};

# told SQL [, USER]: return the output and the messages of a new session that has loaded the library
sub told
{
	my ($sql, $user) = @_;
	my ($out, $err) = ('', '');

	$node->psql('postgres', "$load\n\\set ON_ERROR_STOP off\n\\set VERBOSITY verbose\n$sql", stdout => \$out, stderr => \$err,
		extra_params => [ $user ? ('-U', $user) : () ]);
	return ($out, join "\n", $err =~ /((?:ERROR|WARNING|DETAIL|HINT):  .*)/g);
}

# ---- what cannot be is refused where it is set, and the value stays ----
my $execution = 'HINT:  Available values: auto, cpu, gpu, prefer_cpu, prefer_gpu, split, or the name of a backend, such as cuda, in lower-case letters, digits and "_".';
my $list = 'DETAIL:  The value must be auto, or a list of device numbers below 64.';
my $letters = 'DETAIL:  The name of a plug-in can contain only letters, digits, "_" and "-".';
my @never = (
	(map { [ execution => $_, $execution ] } '', ' ', 'GPU', 'Auto', 'prefer-gpu', '2', '1gpu', '_', 'off', 'on', 'true', 'false', 'yes', 'no', 'none', 'default', 'gpu ', "gpu\n", 'cuda;', 'x' x 64),
	(map { [ gpu_device => $_, $list ] } '', 'AUTO', 'all', '-1', '64', '1,', ',1', '1 2', '0x1', '1.5', '99999999999999999999', 'auto,1'),
	(map { [ plugins => $_, $letters ] } '../x', '/tmp/x', 'a.so', 'a;b', "a\tb", '"a"', '$libdir/a'),
	[ plugins => 'x' x 64, 'DETAIL:  A plug-in\'s name has at most 63 characters.' ],
	[ plugins => 'hybrid_emulated,' . 'x' x 64, 'DETAIL:  A plug-in\'s name has at most 63 characters.' ],
	[ emulated_profile => 'PCIE', 'HINT:  Available values: pcie, integrated, bad, or an empty string.' ],
	[ gpu_min_batch_overrides => 'join:3', qq{DETAIL:  There is no operation "join".\nHINT:  Operations are distance, topk, assign, score_codes and spread.} ],
	[ gpu_min_batch_overrides => 'topk', 'DETAIL:  Expected "topk:items" with items >= 0.' ],
	[ gpu_min_batch_overrides => 'topk:-1', 'DETAIL:  Expected "topk:items" with items >= 0.' ],
	[ gpu_min_batch_overrides => 'topk:99999999999999999999', 'DETAIL:  Expected "topk:items" with items >= 0.' ],
	[ gpu_min_batch_overrides => 'topk:1 spread:2', 'DETAIL:  Unexpected "spread:2".' ],
	[ gpu_min_batch_overrides => 'topk:1,', 'DETAIL:  Unexpected ",".' ],
	[ gpu_timeout => '0', undef ], [ gpu_timeout => '100us', undef ], [ gpu_timeout => '-1s', undef ],
	[ gpu_timeout => '25d', undef ], [ gpu_timeout => '2 parsecs', qr/Valid units for this parameter are "us", "ms", "s", "min", "h", and "d"/ ],
	[ gpu_memory_limit => '-1', undef ], [ gpu_memory_limit => '3000TB', undef ], [ gpu_memory_limit => '1s', qr/Valid units/ ],
	[ target_recall => 'NaN', undef ], [ target_recall => '1.0001', undef ], [ target_recall => 'Infinity', undef ],
	[ gpu_speedup_threshold => '0.99', undef ], [ gpu_success_threshold => 'nan', undef ], [ scan_mem_multiplier => '1e300', undef ],
	[ probes => '1.5e10', undef ], [ max_scan_tuples => '0', undef ], [ split_gpu_percent => '101', undef ], [ split_gpu_percent => '-2', undef ],
	[ gpu_queue_depth => '0', undef ], [ emulated_devices => '8', undef ], [ emulated_rate_gflops => '0', undef ],
	[ simd => 'sse2', qr/Available values: auto, scalar/ ], [ precision => 'fast', qr/Available values: auto, exact/ ],
	[ iterative_scan => 'on', qr/Available values: off, strict_order, relaxed_order/ ], [ telemetry => 'maybe', undef ]);
my ($out, $err) = told(join '', map { my ($name, $value) = @$_; $value =~ s/'/''/g; "\\warn 'ERROR:  == $name'\nSHOW hybrid.$name;\nSET hybrid.$name = '$value';\nSHOW hybrid.$name;\n" } @never);
my @shown = split /\n/, $out, -1;
my @refusals = split /^ERROR:  == .*\n?/m, $err;
shift @refusals;
for my $i (0 .. $#never)
{
	my ($name, $value, $says) = @{ $never[$i] };
	my $what = "$name = '" . ($value =~ s/\n/\\n/r =~ s/(x{5})x+/$1.../r) . q{'};

	like($refusals[$i] // '', qr/\AERROR:  22023: .*"hybrid\.$name"/, "$what is refused");
	is($shown[ 2 * $i ], $shown[ 2 * $i + 1 ], 'and the value stays');
	next if !defined $says;
	like($refusals[$i] // '', ref $says ? $says : qr/\n\Q$says\E\n?\z/, 'with what may be');
}

# ---- both ends of each range, and each word: the answers are the same ----
my $s = session();
my $wanted = ask($s, q{SELECT all_of_it()});
my @ends = map { [ split /\|/, $_, -1 ] } split /\n/, ask($s, q{
	SELECT name, v FROM (
		SELECT name, unnest(CASE vartype WHEN 'bool' THEN '{on,off}' WHEN 'enum' THEN enumvals
			WHEN 'string' THEN NULL ELSE ARRAY[min_val, max_val] END) AS v FROM pg_settings WHERE name LIKE 'hybrid.%'
		UNION ALL VALUES ('hybrid.gpu_device', '63'), ('hybrid.gpu_device', '0,1,2,3,4,5,6,7'), ('hybrid.plugins', ''), ('hybrid.plugins', ' , ,,'),
			('hybrid.plugins', 'a,b,c,d,e,f,g,h,i,hybrid_emulated'), ('hybrid.plugins', 'hybrid_emulated,hybrid_emulated'),
			('hybrid.emulated_devices', '1'), ('hybrid.emulated_devices', '7'), ('hybrid.emulated_launch_us', '0'), ('hybrid.emulated_launch_us', '1e9'),
			('hybrid.emulated_bandwidth_gbs', '0'), ('hybrid.emulated_bandwidth_gbs', '1e9'), ('hybrid.emulated_rate_gflops', '1e-3'),
			('hybrid.emulated_rate_gflops', '1e12'), ('hybrid.emulated_memory_mb', '1'), ('hybrid.emulated_memory_mb', '2147483647'),
			('hybrid.emulated_open_ms', '0'), ('hybrid.emulated_open_ms', '1e9'), ('hybrid.emulated_wait', 'on'), ('hybrid.emulated_wait', 'off'),
			('hybrid.emulated_profile', 'bad'), ('hybrid.emulated_faults', 'nonsense'), ('hybrid.emulated_faults', repeat('x', 4000)),
			('hybrid.gpu_min_batch_overrides', 'topk:0,spread:9223372036854775807'), ('hybrid.gpu_min_batch_overrides', ' '),
			('hybrid.execution', 'prefer_cpu')) e
	WHERE name || v <> ALL (SELECT 'hybrid.simd' || l FROM unnest(ARRAY['avx2', 'avx512', 'amx', 'neon']) l)
	ORDER BY name, v});
cmp_ok(scalar @ends, '>', 70, 'there are many values');
for my $mode (qw(auto prefer_gpu split))
{
	my @differ;

	for my $end (@ends)
	{
		my ($name, $value) = @$end;
		my $answer;

		next if $name eq 'hybrid.execution' && $mode ne 'auto';
		$s->{err} = '';
		$answer = ask($s, "SET hybrid.execution = $mode; SET $name = '$value'; SELECT all_of_it()");
		ask($s, 'RESET ALL');
		push @differ, "$name = '$value': $answer $s->{err}" if $answer ne $wanted;
	}
	is(join("\n", @differ), '', "the same answers at both ends of each range, execution = $mode");
}
is(ask($s, q{SELECT string_agg(name || ' ' || setting, ', ') FROM pg_settings WHERE name LIKE 'hybrid.%' AND source NOT IN ('default', 'configuration file')}), '', 'RESET ALL brings them all back');
like(ask($s, q{SELECT count(*) FROM hybrid_devices}), qr/^2$/, 'and the device');

# ---- SET LOCAL, savepoints, functions with SET ----
my $architecture = 'SELECT architecture FROM hybrid_devices WHERE device = 0';
my $own = ask($s, $architecture);
ask($s, 'BEGIN; SET LOCAL hybrid.simd = scalar');
is(ask($s, $architecture), 'scalar', 'SET LOCAL');
ask($s, 'SAVEPOINT a; SET LOCAL hybrid.precision = exact');
is(ask($s, $architecture), 'scalar exact', 'in a savepoint');
is(ask($s, 'SELECT all_of_it()'), $wanted, 'with the same answers');
ask($s, 'ROLLBACK TO a');
is(ask($s, $architecture), 'scalar', 'which is rolled back');
ask($s, 'COMMIT');
is(ask($s, $architecture), $own, 'COMMIT ends it');
ask($s, 'BEGIN; SET hybrid.simd = scalar; SET hybrid.plugins = nothing_like_it; SELECT all_of_it(); SELECT 1 / 0; ROLLBACK');
is(ask($s, $architecture), $own, 'ROLLBACK takes back SET');
is(ask($s, 'SHOW hybrid.plugins'), 'hybrid_emulated', 'of plugins, too');
is(ask($s, 'SELECT all_of_it()'), $wanted, 'and all is as before');
ask($s, q{CREATE FUNCTION inside() RETURNS text LANGUAGE sql SET hybrid.execution = emulated SET hybrid.gpu_device = 0, 1 AS 'SELECT distances()';
	CREATE FUNCTION fails() RETURNS text LANGUAGE plpgsql SET hybrid.execution = nobody AS 'BEGIN RETURN distances(); END'});
ask($s, 'SET hybrid.execution = cpu');
ask($s, 'SELECT inside() = distances()');
is(ask($s, q{SELECT string_agg(execution || ' ' || backend, ', ') FROM (SELECT * FROM hybrid_events ORDER BY at DESC LIMIT 2) e}), 'cpu cpu, emulated emulated', 'a function with SET');
ask($s, 'SELECT fails()');
like($s->{err}, qr/"hybrid.execution" is "nobody"/, 'that fails');
is(ask($s, 'SHOW hybrid.execution'), 'cpu', 'and leaves no trace');
is(ask($s, q{SELECT regexp_replace(pg_get_functiondef('inside'::regproc), '.*(SET "?hybrid.gpu_device[^\n]*).*', '\1')}), q{SET "hybrid.gpu_device" TO '0, 1'}, 'as a dump has it');
ask($s, 'DISCARD ALL');
is(ask($s, 'SHOW hybrid.execution'), ask($s, q{SELECT reset_val FROM pg_settings WHERE name = 'hybrid.execution'}), 'DISCARD ALL');

# ---- changed in the middle of a statement, by what it reads ----
ask($s, q{CREATE FUNCTION meddle(i int) RETURNS bool LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM set_config('hybrid.simd', CASE WHEN i % 2 = 0 THEN 'scalar' ELSE 'auto' END, false),
			set_config('hybrid.precision', CASE WHEN i % 3 = 0 THEN 'exact' ELSE 'auto' END, false),
			set_config('hybrid.execution', (ARRAY['auto', 'prefer_gpu', 'cpu', 'split'])[i % 4 + 1], false),
			set_config('hybrid.plugins', CASE WHEN i % 5 = 0 THEN '' ELSE 'hybrid_emulated' END, false),
			set_config('hybrid.emulated_devices', (i % 7 + 1)::text, false),
			set_config('hybrid.batch_max', (i % 11 * 10)::text, false),
			set_config('hybrid.target_recall', CASE WHEN i % 2 = 0 THEN '0.5' ELSE '0.99' END, false),
			set_config('hybrid.iterative_scan', (ARRAY['strict_order', 'relaxed_order'])[i % 2 + 1], false),
			set_config('hybrid.tracker_window', (i % 13 + 1)::text, false);
		PERFORM hybrid_distances('[1,2]', ARRAY['[1,2]', '[2,3]']::vector[]) FROM generate_series(1, i % 3);
		RETURN true;
	END $$;
	CREATE VIEW meddled AS SELECT ctid, i, v FROM point WHERE meddle(i);
	CREATE VIEW meddled_link AS SELECT * FROM link WHERE meddle(source)});
$s->{err} = '';
is(ask($s, q{SELECT md5(string_agg(k::text, ' ')) FROM hybrid_knn('meddled', 'v', (SELECT array_agg(v ORDER BY i) FROM point WHERE i <= 40), 7) k}),
	(split /\|/, $wanted)[1], 'a search over a view that changes settings');
ask($s, 'RESET ALL');
is(ask($s, q{SELECT md5(string_agg(s::text, ' ' ORDER BY s.id)) FROM hybrid_spread('SELECT source, target, weight FROM meddled_link', ARRAY[1, 2, 3]) s}),
	(split /\|/, $wanted)[3], 'spreading over one');
ask($s, 'RESET ALL; SET enable_seqscan = off; SET hybrid.max_scan_tuples = 1000000');
is(ask($s, q{SELECT count(*) = count(DISTINCT i), count(*) > 1000 FROM (SELECT i FROM beside WHERE meddle(i) ORDER BY v <-> (SELECT v FROM point WHERE i = 7) LIMIT 2000) n}), 't|t', 'an index scan with such a filter');
is(ask($s, q{RESET ALL; SELECT md5(string_agg(k::text, ' ')) FROM hybrid_knn('beside', 'v', (SELECT array_agg(v ORDER BY i) FROM point WHERE i <= 40), 7, rows => 'SELECT ctid FROM beside WHERE meddle(i)') k}),
	(split /\|/, $wanted)[2], 'a search by the index with such a filter');
is($s->{err}, '', 'and no errors');
ask($s, 'RESET ALL');

# a cursor, with all that may change between two rows of it
my %seen;
my @order;
ask($s, q{SET enable_seqscan = off; BEGIN; DECLARE c CURSOR FOR SELECT i FROM beside ORDER BY v <-> (SELECT v FROM point WHERE i = 7)});
for my $i (0 .. 59)
{
	my $setting = ('iterative_scan = relaxed_order', 'probes = 1', 'target_recall = 0.5', 'simd = scalar', 'iterative_scan = strict_order', 'probes = 0',
		'target_recall = 1', 'simd = auto', 'max_scan_tuples = 1', 'scan_mem_multiplier = 100', 'max_scan_tuples = 1000000', 'execution = gpu', 'execution = auto')[ $i % 13 ];

	push @order, split /\n/, ask($s, "SET hybrid.$setting; FETCH 50 FROM c");
}
ask($s, 'COMMIT; RESET ALL');
$seen{$_}++ foreach @order;
is(scalar(grep { $_ > 1 } values %seen), 0, 'a cursor returns no row twice, whatever is set meanwhile');
cmp_ok(scalar @order, '>', 2000, 'and goes on');
is($order[0], 7, 'from the nearest');

# ---- changed by a reload while a statement runs ----
my $running = session();
ask($running, "LOAD 'hybrid'");
my $holder = session();
ask($holder, 'SELECT pg_advisory_lock(1)');
ask($s, q{CREATE VIEW slow AS SELECT ctid, i, v FROM point WHERE i <> 1500 OR pg_advisory_xact_lock_shared(1) IS NOT NULL});
$running->{out} = '';
$running->{in} .= q{SELECT md5(string_agg(k::text, ' ')) FROM hybrid_knn('slow', 'v', (SELECT array_agg(v ORDER BY i) FROM point WHERE i <= 40), 7) k; SELECT current_setting('hybrid.simd'), current_setting('hybrid.execution');} . "\n\\echo done\n";
IPC::Run::pump_nb($running->{run});
my $waits = q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted};
$node->poll_query_until('postgres', $waits);
$node->append_conf('postgresql.conf', "hybrid.simd = scalar\nhybrid.execution = prefer_gpu\nhybrid.plugins = ''\nhybrid.gpu_timeout = '1 parsec'\n");
$node->reload;
$node->poll_query_until('postgres', q{SELECT current_setting('hybrid.simd', true) = 'scalar'});
is($node->safe_psql('postgres', $waits), 't', 'a statement runs while settings are read again');
finish($holder);
IPC::Run::pump($running->{run}) until $running->{out} =~ /^done\n/m;
is($running->{out}, (split /\|/, $wanted)[1] . "\nscalar|prefer_gpu\ndone\n", 'a reload waits for the end of the statement');
is(ask($running, 'SELECT all_of_it()'), $wanted, 'and changes no answer');
is($running->{err}, '', 'nor is it an error');
finish($running);
$node->adjust_conf('postgresql.conf', 'hybrid.gpu_timeout', undef);
$node->adjust_conf('postgresql.conf', 'hybrid.simd', undef);
$node->adjust_conf('postgresql.conf', 'hybrid.execution', undef);
$node->adjust_conf('postgresql.conf', 'hybrid.plugins', "'hybrid_emulated'");
$node->reload;
finish($s);

# ---- before the library is there ----
is($node->safe_psql('postgres', 'SHOW hybrid.gpu_device'), '0', 'SHOW before the library is loaded: what the file says');
(undef, $out, $err) = $node->psql('postgres', 'SHOW hybrid.probes');
like($err, qr/unrecognized configuration parameter "hybrid.probes"/, 'and what it does not say is not known');
($out, $err) = ('', '');
$node->psql('postgres', q{SET hybrid.execution = 'Not This'; SET hybrid.gpu_devise = 3; SET hybrid.probes = 9; SHOW hybrid.execution; LOAD 'hybrid'; SHOW hybrid.execution; SHOW hybrid.probes; SHOW hybrid.gpu_device},
	stdout => \$out, stderr => \$err);
is($out, "Not This\nauto\n9\n0", 'a value that cannot be gives way to the default when the library comes');
like($err, qr/WARNING:  invalid value for parameter "hybrid.execution": "Not This"/, 'with a warning');
like($err, qr/HINT:  Available values: auto/, 'that says what may be');
like($err, qr/WARNING:  invalid configuration parameter name "hybrid.gpu_devise", removing it/, 'and a name that is not, too');
($out, $err) = ('', '');
$node->psql('postgres', qq{SET hybrid.plugins = ''; SET hybrid.emulated_wait = on; SET hybrid.execution = cpu; $load SHOW hybrid.plugins; SHOW hybrid.emulated_wait; SHOW hybrid.execution},
	stdout => \$out, stderr => \$err, extra_params => [ '-U', 'plain' ]);
is($out, "hybrid_emulated\noff\ncpu", 'who may not set it has not set it before the library came, either');
like($err, qr/WARNING:  permission denied to set parameter "hybrid.plugins"/, 'with a warning');

# ---- a session that loads the library when it begins ----
$node->safe_psql('postgres', q{ALTER ROLE plain SET session_preload_libraries = 'hybrid'});
($out, $err) = ('', '');
$node->psql('postgres', 'SHOW hybrid.probes; SET hybrid.target_recal = 0.9; SHOW hybrid.target_recall', on_error_stop => 0,
	stdout => \$out, stderr => \$err, extra_params => [ '-U', 'plain' ]);
is($out, "0\n0.95", 'SHOW works at once with session_preload_libraries');
like($err, qr/ERROR:  invalid configuration parameter name "hybrid.target_recal"/, 'and a wrong name is an error at once');
$node->safe_psql('postgres', q{ALTER ROLE plain RESET session_preload_libraries});

# ---- roles and databases ----
$node->safe_psql('postgres', q{ALTER ROLE plain SET hybrid.execution = 'cpu'; ALTER DATABASE postgres SET hybrid.probes = 3; ALTER ROLE plain SET hybrid.plugins = ''; ALTER ROLE looking SET hybrid.execution = nobody});
is((told('SHOW hybrid.execution; SHOW hybrid.probes; SHOW hybrid.plugins', 'plain'))[0], "cpu\n3\n", 'ALTER ROLE, ALTER DATABASE, and a setting for superusers on a role');
is((told('SHOW hybrid.execution; SHOW hybrid.probes'))[0], "auto\n3", 'of others only the database');
like((told(q{SELECT hybrid_distances('[1,2]', ARRAY['[1,2]']::vector[])}, 'looking'))[1], qr/ERROR:  42704: .*"hybrid.execution" is "nobody"\nDETAIL:  No backend has this name\. Known backends: cpu, emulated\./, 'a name that a role was given');
like((told(q{ALTER ROLE plain SET hybrid.execution = 'Not This'}))[1], qr/ERROR:  22023: .*\n\Q$execution\E/, 'one that cannot be a role is not given');
like((told(q{ALTER ROLE plain SET hybrid.plugins = x}, 'plain'))[1], qr/ERROR:  42501: permission denied to set parameter "hybrid.plugins"/, 'nor one by who may not');
$node->safe_psql('postgres', q{ALTER ROLE plain RESET ALL; ALTER ROLE looking RESET ALL; ALTER DATABASE postgres RESET ALL});
my $own = 'ALTER ROLE plain SET hybrid.probes = 3; ALTER ROLE plain RESET hybrid.probes';
$node->psql('postgres', $own, on_error_stop => 0, stderr => \$err, extra_params => [ '-U', 'plain' ]);
like($err, qr/ERROR:  permission denied to set parameter "hybrid.probes"/, 'a role keeps no value of its own before the library came');
$node->psql('postgres', "SELECT FROM hybrid_devices; $own", on_error_stop => 0, stderr => \$err, extra_params => [ '-U', 'plain' ]);
is($err, '', 'and does so after it looked at hybrid_devices');

# ---- who may what ----
my @guarded = split /\n/, (told(q{SELECT name FROM pg_settings WHERE name LIKE 'hybrid.%' AND context = 'superuser' ORDER BY 1}))[0];
# pg_settings does not show these
push @guarded, map { "hybrid.emulated_$_" } qw(devices launch_us bandwidth_gbs rate_gflops memory_mb open_ms profile faults wait);
my $documented = join '|', sort map { "hybrid.$_" } map { /^\| `(\w+)` \|.*\*superuser\*/ ? $1 : () } split /\n/, slurp_file(($ENV{HYBRID_DOCS} // 'docs') . '/settings.md');
is(join('|', sort grep { !/emulated/ } @guarded), $documented, 'docs/settings.md marks those for superusers');
for my $user (qw(plain looking))
{
	($out, $err) = told(join('', map { "SET $_ = DEFAULT;\n" } @guarded), $user);
	is(scalar(() = $err =~ /ERROR:  42501: permission denied to set parameter "hybrid\.\w+"/g), scalar @guarded, "$user sets none of them");
}
is((told(q{SELECT count(*) FILTER (WHERE setting IS NULL), count(*) > 25 FROM pg_settings WHERE name LIKE 'hybrid.%'}, 'plain'))[0], '0|t', 'everybody sees them all');
is((told(q{SHOW hybrid.plugins}, 'looking'))[0], 'hybrid_emulated', 'by SHOW, too');
told('GRANT SET ON PARAMETER hybrid.plugins TO plain');
is((told(q{SET hybrid.plugins = ''; SELECT backend FROM hybrid_devices; RESET hybrid.plugins; SELECT count(*) FROM hybrid_devices}, 'plain'))[0], "cpu\n2", 'GRANT SET ON PARAMETER');

# ---- workers have what their leader has ----
my $in_workers = $node->pg_version < 16 ? 'force_parallel_mode' : 'debug_parallel_query';
my $by_workers = qq{	SET $in_workers = on;} . q{
	SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
	SET parallel_leader_participation = off; SET max_parallel_workers_per_gather = 2;
	CREATE FUNCTION told() RETURNS text LANGUAGE sql PARALLEL SAFE AS $$ SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings WHERE name LIKE 'hybrid.%%' $$;
	CREATE FUNCTION here() RETURNS int LANGUAGE sql PARALLEL SAFE AS 'SELECT pg_backend_pid()';
	SET hybrid.plugins = 'hybrid_emulated'; SET hybrid.execution = prefer_gpu; SET hybrid.simd = scalar; SET hybrid.gpu_min_batch_overrides = 'topk:5, spread:7';
	SET hybrid.gpu_device = 0, 3; SET hybrid.emulated_launch_us = 0.1; SET hybrid.emulated_profile = integrated; SET hybrid.target_recall = 0.7000000001;
	SET hybrid.gpu_timeout = '3min';
	%s
	SELECT told() AS mine, pg_backend_pid() AS pid \gset
	SELECT count(DISTINCT t), bool_and(t = :'mine'), bool_and(p <> :pid) FROM (SELECT told() AS t, here() AS p FROM point WHERE i < 20 OFFSET 0) w;
};
is((told(sprintf $by_workers, ''))[0], '1|t|t', 'workers have the settings of their leader');
told('DROP FUNCTION told(), here()');
($out, $err) = told(sprintf $by_workers, 'SET ROLE plain;');
is($out, '1|t|t', 'those that its role could not set, too');
($out, $err) = told("SET $in_workers = on;" . q{SET hybrid.execution = nobody; SELECT hybrid_distances('[1,2]', ARRAY['[1,2]']::vector[])});
like($err, qr/ERROR:  42704: .*"hybrid.execution" is "nobody"\nDETAIL:  No backend has this name/, 'an error of a worker says as much');

# ---- what the server is told at a start ----
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'hybrid'\nhybrid.execution = 'Nobody'\nhybrid.gpu_devise = 4\nhybrid.probes = 4\n");
my $logged = -s $node->logfile;
$node->restart;
is($node->safe_psql('postgres', q{SELECT current_setting('hybrid.execution'), current_setting('hybrid.probes')}), 'auto|4', 'it starts with the default for what cannot be');
my $log = substr slurp_file($node->logfile), $logged;
like($log, qr/invalid value for parameter "hybrid.execution": "Nobody"/, 'and says so');
like($log, qr/invalid configuration parameter name "hybrid.gpu_devise"/, 'of a name that is not, too');

$node->stop;
done_testing();
