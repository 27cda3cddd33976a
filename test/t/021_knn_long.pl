# Long calls of hybrid_knn, hybrid_knn_join and hybrid_knn_graph: they report their progress, a cancel ends them
# promptly whatever they are doing, and running out of memory ends them without a trace.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;

use HybridSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_parallel_workers_per_gather = 0\n");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE TABLE item (id int, v vector(128));
	INSERT INTO item SELECT i, (SELECT array_agg(sin(i * j)) FROM generate_series(1, 128) j)::vector
		FROM generate_series(1, 20000) i;
	CREATE TABLE query AS SELECT array_agg(v ORDER BY id) AS v FROM item WHERE id <= 3000;
	CREATE TABLE half AS SELECT id, v::halfvec(128) AS h FROM item;
	CREATE TABLE small AS SELECT id, v FROM item WHERE id <= 2000;
	CREATE VIEW shown AS SELECT ctid, v FROM small;
	CREATE INDEX item_v ON item USING hybrid (v vector_cosine_ops);
	CREATE INDEX small_v ON small USING hybrid (v) WITH (list_size = 32);
	VACUUM ANALYZE;
});
session_on($node);

# --- progress, on made-up time: each batch of 100 rows takes 2 seconds of it

my $device = q{SET hybrid.plugins = 'hybrid_emulated'; SET hybrid.execution = gpu; SET hybrid.gpu_timeout = '1h';
	SET hybrid.gpu_min_batch = 0; SET hybrid.emulated_launch_us = 2000000; SET hybrid.batch_max = 100;
	SET hybrid.batch_wait = 0; };

# told FUNCTION, SQL: return the seconds and the shares that a call reported
sub told
{
	my ($function, $sql) = @_;
	my ($out, $err) = ('', '');
	my (@seconds, @shares);

	# the first task of a session has its start told too
	$node->psql('postgres', "$device SELECT count(*) FROM hybrid_knn('small', 'v', ARRAY[(SELECT v FROM small LIMIT 1)], 1);
		\\warn -- now\n$sql", stdout => \$out, stderr => \$err);
	$err =~ s/^.*-- now\n?//s;
	for (split /\n/, $err)
	{
		next unless /NOTICE:  $function has run for (\d+) s(?: and done (\d+)%, about (\d+) s are left)?$/;
		push @seconds, $1;
		push @shares, defined $2 ? [ $2, $3 ] : undef;
	}
	return (\@seconds, \@shares, $err);
}

for my $call (
	[ 'hybrid_knn', 'a table', q{SET enable_indexscan = off; SELECT count(*) FROM query, hybrid_knn('small', 'v', query.v[1:2], 3)} ],
	[ 'hybrid_knn', 'a store', q{SELECT count(*) FROM query, hybrid_knn('small', 'v', query.v[1:2], 3)} ],
	[ 'hybrid_knn', 'a filter', q{SELECT count(*) FROM query, hybrid_knn('small', 'v', query.v[1:2], 3, rows => 'SELECT ctid FROM small WHERE id % 100 < 20')} ],
	[ 'hybrid_knn_join', 'a join', q{SET work_mem = '256kB'; SELECT count(*) FROM hybrid_knn_join('small', 'v', 'small', 'v', 3)} ],
	[ 'hybrid_knn_graph', 'a graph', q{SET work_mem = '256kB'; SELECT count(*) FROM hybrid_knn_graph('small', 'id', 'v', 3)} ])
{
	my ($function, $what, $sql) = @$call;
	my ($seconds, $shares, $err) = told($function, $sql);
	my ($rising, $doubling, $likely) = (1, 1, 1);

	cmp_ok(scalar @$seconds, '>=', $what eq 'a filter' ? 1 : 3, "$what: says how far it is") or diag $err;
	cmp_ok($seconds->[0] // 0, '>=', 5, "$what: after 5 seconds");
	for my $i (0 .. $#$seconds)
	{
		my ($share, $left) = @{ $shares->[$i] // [ -1, 0 ] };

		# the n-th is due at 5 * 2^n s and told after the batch that ran then
		$doubling &&= $seconds->[$i] >= 5 * 2**$i && $seconds->[$i] <= 5 * 2**$i + 4;
		$rising &&= $share >= 0 && $share <= 100 && ($i == 0 || $share >= $shares->[ $i - 1 ][0]);
		# both are told rounded
		$likely &&= $share == 0
		  || ( $left >= ($seconds->[$i] - 0.5) * (99.5 - $share) / ($share + 0.5) - 1
			&& $left <= ($seconds->[$i] + 0.5) * (100.5 - $share) / ($share - 0.5) + 1);
	}
	ok($doubling, "$what: each time that twice as many have passed") or diag "@$seconds";
	ok($rising, "$what: with a share that rises") or diag $err;
	ok($likely, "$what: and the time that may be left") or diag $err;
}
{
	my ($seconds, $shares, $err) = told('hybrid_knn', q{SELECT count(*) FROM query, hybrid_knn('shown', 'v', query.v[1:2], 3)});

	cmp_ok(scalar @$seconds, '>=', 3, 'a view: says for how long it runs') or diag $err;
	ok(!(grep { defined } @$shares), 'a view: nobody knows how far it is');
	($seconds, $shares, $err) = told('hybrid_knn', q{SELECT count(*) FROM query, hybrid_knn('small', 'v', query.v[1:2], 3, rows => 'SELECT ctid FROM small LIMIT 90')});
	is(scalar @$seconds, 0, 'a call of less than 5 seconds says nothing') or diag $err;
}

# --- a cancel, at several moments of each call; 100 ms of processor time are promised

my %calls = (
	'hybrid_knn over a table' => q{SET enable_indexscan = off; SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v, 10, 'cosine')},
	'hybrid_knn over a store' => q{SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v, 10, 'cosine')},
	'hybrid_knn, many answers' => q{SET work_mem = '1GB'; SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v[1:200], 20000, 'cosine')},
	'hybrid_knn, many tids' => q{SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v, 10, 'cosine', 'SELECT ctid FROM item, generate_series(1, 400)')},
	'hybrid_knn_join' => q{SELECT count(*) FROM hybrid_knn_join('item', 'v', 'item', 'v', 10, 'cosine')},
	'hybrid_knn over halfvecs' => q{SELECT count(*) FROM query, hybrid_knn('half', 'h', query.v, 10, 'cosine')},
	'hybrid_knn_join of halfvecs' => q{SELECT count(*) FROM hybrid_knn_join('half', 'h', 'half', 'h', 10, 'l1')},
	'hybrid_knn_graph' => q{SELECT count(*) FROM hybrid_knn_graph('item', 'id', 'v')},
	'hybrid_knn_graph with a recall' => q{SELECT count(*) FROM hybrid_knn_graph('item', 'id', 'v', recall => 0.95)},
	'hybrid_knn with a recall, with workers' => q{SET max_parallel_workers_per_gather = 2; SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v, 10, 'cosine', recall => 0.95)});
my $victim = session();
my $watcher = session();
my $pid = ask($victim, 'SELECT pg_backend_pid()');
my @all;

for my $call (sort keys %calls)
{
	my @took;

	for my $delay (0.05, 0.2, 0.5, 0.9, 1.4)
	{
		my ($begin, $sql);

		ask($victim, 'RESET ALL');
		$victim->{out} = $victim->{err} = '';
		# over and over: on a fast machine one call may be over before it is cancelled
		($sql = $calls{$call}) =~ s/SELECT (count.*)/DO \$\$BEGIN FOR i IN 1 .. 1000 LOOP PERFORM $1; END LOOP; END\$\$/s;
		$victim->{in} .= "$sql;\n\\echo done\n";
		IPC::Run::pump_nb($victim->{run}) while length $victim->{in};
		# a cancel that comes before the call would be lost
		sleep 0.01 until ask($watcher, "SELECT query LIKE '%1 .. 1000 LOOP%' AND state = 'active' FROM pg_stat_activity WHERE pid = $pid") eq 't';
		sleep $delay;
		$begin = processor_seconds($pid);
		kill 'INT', $pid;
		IPC::Run::pump($victim->{run}) until $victim->{out} =~ /^done\n/m;
		push @took, processor_seconds($pid) - $begin;
		like($victim->{err}, qr/canceling statement due to user request/, "$call: cancelled after $delay s");
	}
	@took = sort { $a <=> $b } @took;
	note sprintf('%s: %s ms', $call, join ' ', map { sprintf '%.0f', 1000 * $_ } @took);
	push @all, @took;
	cmp_ok($took[-1], '<', 0.5, "$call: promptly, each time");
}
@all = sort { $a <=> $b } @all;
cmp_ok($all[ $#all / 2 ], '<=', 0.1, 'one half of them within 100 ms');
is(ask($victim, q{SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v[1:3], 5)}), 15, 'the session goes on');

# --- memory that runs out half-way

SKIP:
{
	my ($size, $before, $after);

	skip 'needs prlimit', 4 if system('prlimit --version >/dev/null 2>&1') != 0;
	my $call = q{SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v, 10000, 'cosine')};
	my $held = q{SELECT sum(total_bytes) FROM pg_backend_memory_contexts};

	ask($victim, q{SET work_mem = '4GB'});
	($size) = slurp_file("/proc/$pid/status") =~ /^VmSize:\s+(\d+) kB/m;
	for my $round (1 .. 2)
	{
		system('prlimit', "--pid=$pid", '--as=' . ($size + 200_000) * 1024 . ':') == 0 or die 'prlimit';
		$victim->{err} = '';
		ask($victim, $call);
		like($victim->{err}, qr/out of memory|Out of memory/, 'memory that runs out is an error');
		system('prlimit', "--pid=$pid", '--as=unlimited:') == 0 or die 'prlimit';
		$before = ask($victim, $held) if $round == 1;
		$after = ask($victim, $held);
	}
	cmp_ok($after - $before, '<', 200_000, 'and leaves nothing behind');
	is(ask($victim, q{SELECT count(*) FROM query, hybrid_knn('item', 'v', query.v[1:3], 5)}), 15, 'the session goes on');
}

finish($_) for $victim, $watcher;
$node->stop;
done_testing();
