# docs/scale-out.md: its examples run on three foreign servers, a coordinator and a subscriber, and print what is shown there.
# The simulation prints the figures that are shown there, from figures that are in bench/results.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use IPC::Run;
use Test::More;

my $docs = $ENV{HYBRID_DOCS} // 'docs';
my $bench = $ENV{HYBRID_BENCH} // 'bench';
my $page = slurp_file("$docs/scale-out.md");
my ($far, $near, $subscriber) = map { PostgreSQL::Test::Cluster->new($_) } ('far', 'near', 'subscriber');

$far->init(allows_streaming => 'logical');
$_->init for ($near, $subscriber);
$_->start for ($far, $near, $subscriber);
# one server with a database for each of the three
$far->safe_psql('postgres', "CREATE DATABASE docs_$_") for (1 .. 3);

# where a comment at the beginning of a block says that it is run
my %places = (
	'' => [ [ $near, 'postgres' ] ],
	'on each of the three servers' => [ map { [ $far, "docs_$_" ] } (1 .. 3) ],
	'on the first server' => [ [ $far, 'docs_1' ] ],
	'on a subscriber' => [ [ $subscriber, 'postgres' ] ],
	'on a subscriber, after the first copy' => [ [ $subscriber, 'postgres' ] ]);

my ($shown, $settings) = (0, "SET hybrid.plugins = '';\nSET jit = off;\n");
while ($page =~ /^```sql\n(?:-- (on [^\n]*)\n)?(.*?)^```\n(?:\n((?:    [^\n]*\n)+))?/msg)
{
	my ($place, $example, $expected) = ($1 // '', $2, $3 // '');
	my ($first) = split /\n/, $example;

	ok($places{$place}, "a server is known for '$place'") or next;
	$example =~ s/host '10\.0\.0\.(\d)'/"host '" . $far->host . "', port '" . $far->port . "', dbname 'docs_$1'"/ge;
	$example =~ s/host=10\.0\.0\.(\d)/"host=" . $far->host . " port=" . $far->port . " dbname=docs_$1"/ge;
	# sessions are new, so a setting that the page makes is made in each
	$settings .= "$_\n" for ($example =~ /^(SET [^\n]*)$/mg);
	$expected =~ s/^    //mg;
	$shown++ if ($expected ne '');
	$subscriber->wait_for_subscription_sync($far, 'docs') if ($place =~ /after the first copy/);
	for my $server (@{ $places{$place} })
	{
		my ($out, $err);
		my $script = $settings . $example;

		local $ENV{PGHOST} = $server->[0]->host;
		local $ENV{PGPORT} = $server->[0]->port;
		IPC::Run::run([ 'psql', '-Xq', '-P', 'footer=off', '-v', 'VERBOSITY=terse', '-d', $server->[1] ], '<', \$script, '>', \$out, '2>', \$err);
		$err =~ s/^NOTICE:  created replication slot .*\n//mg;
		is($err . $out =~ s/ +$//mgr =~ s/\n+\z/\n/r =~ s/\A\n\z//r, $expected =~ s/ +$//mgr, "$place $first");
	}
}
is($shown, 11, 'examples with output');

# what the page says of them
my $union = q{SELECT string_agg(id::text, ',') FROM (SELECT id FROM (} . join(' UNION ALL ', map {
	"(SELECT id, v <-> '[1,0,0,0]' AS distance FROM doc_$_ ORDER BY distance LIMIT 3)" } (1 .. 3)) . q{) s ORDER BY distance LIMIT 3) s};
my $parted = q{SELECT string_agg(id::text, ',') FROM (SELECT id FROM doc ORDER BY v <-> '[1,0,0,0]' LIMIT 3) s};
my $sorted = q{SELECT string_agg(id::text, ',') FROM (SELECT id FROM part ORDER BY v <-> '[1,0,0,0]', id LIMIT 3) s};
is($near->safe_psql('postgres', $union), $near->safe_psql('postgres', $sorted), 'the UNION ALL gives the nearest rows');
is($near->safe_psql('postgres', $parted), $near->safe_psql('postgres', $sorted), 'the partitioned table gives the nearest rows');
is($near->safe_psql('postgres', 'SELECT hybrid_nearest(id, v, $$[1,0,0,0]$$, 50) FROM doc'),
	$near->safe_psql('postgres', 'SELECT hybrid_nearest(id, v, $$[1,0,0,0]$$, 50) FROM part'), 'hybrid_nearest over foreign partitions');
is($near->safe_psql('postgres', 'SELECT hybrid_nearest(id, v, $$[1,0,0,0]$$, 50, $$cosine$$) FROM doc_1'),
	$near->safe_psql('postgres', 'SELECT hybrid_nearest(id, v, $$[1,0,0,0]$$, 50, $$cosine$$) FROM part WHERE id <= 10000'), 'hybrid_nearest on a foreign server');
like($near->safe_psql('postgres', 'EXPLAIN VERBOSE SELECT hybrid_nearest(id, v, $$[1,0,0,0]$$, 50, $$cosine$$) FROM doc_1'),
	qr/Remote SQL: SELECT public\.hybrid_nearest\(.*'cosine'/, 'a metric is sent');
unlike($near->safe_psql('postgres', 'EXPLAIN VERBOSE SELECT hybrid_nearest(id, v, $$[1,0,0,0]$$, 50, (chr(105) || chr(112))) FROM doc_1'),
	qr/Remote SQL: SELECT public\.hybrid_nearest/, 'a metric that is computed is not');
# an error of a server names it
my ($rc, $out, $err) = $near->psql('postgres', 'SELECT hybrid_nearest(id, v, $$[1,0]$$, 3) FROM doc_1');
like($err, qr/different vector dimensions 4 and 2.*\n.*remote SQL command: SELECT public\.hybrid_nearest/s, 'an error of a foreign server');

my $subscribed = q{SELECT count(*) FROM doc};
is($subscriber->safe_psql('postgres', $subscribed), 10000, 'the rows were replicated');
$far->safe_psql('docs_1', q{INSERT INTO doc SELECT 20000 + i, ARRAY[1, 0, 0, i / 100.0] FROM generate_series(1, 100) i});
$far->wait_for_catchup('docs');
like($subscriber->safe_psql('postgres', q{SET enable_seqscan = off; EXPLAIN SELECT id FROM doc ORDER BY v <-> '[1,0,0,0]' LIMIT 3}), qr/Index Scan using doc_v_idx/, 'the subscriber has an index of its own');
is($subscriber->safe_psql('postgres', q{SELECT id FROM doc ORDER BY v <-> '[1,0,0,0]' LIMIT 1}), 20001, 'which has the rows that came later');
is($subscriber->safe_psql('postgres', q{SELECT hybrid_index_check('doc_v_idx')}), $subscriber->safe_psql('postgres', $subscribed), 'and all of them');

# The simulation, with the figures of the page
SKIP:
{
	my ($figures, $said);

	skip 'there is no python3 with the file of the bench', 4 unless (-e "$bench/scale.py" && IPC::Run::run([ 'python3', '-c', 'pass' ], '>', \my $nothing));
	ok(IPC::Run::run([ 'python3', "$bench/scale.py" ], '>', \$figures, '2>', \$said), 'the simulation runs') or diag($said);
	my @simulated = grep { /^simulated,/ } split /\n/, $figures;
	is(scalar @simulated, 30, 'for 8, 32 and 128 shards');
	my %value = map { my @field = split /,/; ("$field[1]|$field[2]" => $field[3]) } grep { !/"/ } @simulated;
	my ($table) = $page =~ /^## How far it would go\n(.*?)^For orientation/ms;
	my ($compared, @wrong) = (0);
	for my $line ($table =~ /^\| ([^|\n]+ \|(?: [^|\n]+ \|){3})$/mg)
	{
		my ($metric, @cells) = split / \|\s*/, $line;

		next if ($metric eq 'simulated' || $metric =~ /^-/);
		$compared++;
		for my $i (0 .. 2)
		{
			my $right = $value{'1000000000 x 768 on ' . (8, 32, 128)[$i] . " shards of 16 cores|$metric"} // 'nothing';

			push @wrong, "$metric: $cells[$i], not $right" if ($cells[$i] ne $right);
		}
	}
	is($compared, 10, 'the page has all of them');
	is(join("\n", @wrong), '', 'and its figures are those of the page');
}

$_->stop for ($subscriber, $near, $far);
done_testing();
