# The queries in the documentation and those of the exporter work for the users they are meant for; the dashboard
# uses only metrics that the exporter provides.
use strict;
use warnings;

use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $docs = $ENV{HYBRID_DOCS} // 'docs';

sub slurp
{
	my $path = shift;

	open my $file, '<', $path or die "$path: $!";
	local $/;
	return scalar <$file>;
}

my $node = PostgreSQL::Test::Cluster->new('watched');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'hybrid'
hybrid.emulated_devices = 2
hybrid.plugins = 'hybrid_emulated'
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION hybrid;
CREATE ROLE watcher LOGIN;
GRANT pg_monitor TO watcher;
-- something to show: both sides, a failure, a fallback, gathered rows, a scan that a limit ends
CREATE TABLE item AS SELECT format('[%s,%s]', n, n)::vector(2) AS v FROM generate_series(1, 500) AS n;
SET hybrid.execution = prefer_gpu;
SET hybrid.gpu_min_batch = 1;
SET hybrid.emulated_faults = 'fail_at=2';
SELECT count(*) FROM generate_series(1, 8) AS n, hybrid_knn('item', 'v', ARRAY[format('[%s,1]', n)::vector], 3);
SET hybrid.emulated_faults = '';
SET hybrid.gpu_device = '1';
SELECT count(*) FROM hybrid_knn('item', 'v', ARRAY['[1,1]'::vector], 3);
SET hybrid.execution = cpu;
SET hybrid.plugins = '';
SET hybrid.simd = scalar;
SELECT count(*) FROM hybrid_knn('item', 'v', ARRAY['[1,1]'::vector], 3);
SET hybrid.plugins = hybrid_emulated;
RESET hybrid.simd;
SELECT count(*) FROM generate_series(1, 8) AS n, hybrid_knn('item', 'v', ARRAY[format('[%s,1]', n)::vector], 3);
CREATE INDEX item_v ON item USING hybrid (v vector_l2_ops);
SET enable_seqscan = off;
SET hybrid.max_scan_tuples = 1;
SELECT count(*) FROM (SELECT item.v FROM item, (SELECT 1 OFFSET 0) one ORDER BY v <-> '[1,1]' LIMIT 1000000) AS s;
SQL

# watch_devices QUERY: check that it raises no alarm if there is no card, and does if a plug-in does not work
sub watch_devices
{
	my $query = shift;
	my %alarms = (
		"'hybrid_cuda', 'hybrid_cuda.so is not installed'" => 0,
		"'cuda', 'no CUDA driver: libcuda.so.1 was not found or does not work'" => 0,
		"'cuda', 'CUDA reported: no CUDA-capable device is detected (cudaErrorNoDevice) while counting devices'" => 0,
		"'cuda', 'the driver is for CUDA 12.2 at most, this build needs 13.0'" => 1,
		"'hybrid_cuda', 'hybrid_cuda.so cannot be loaded: undefined symbol'" => 1,
		"'hybrid_other', 'hybrid_other.so is not installed'" => 1);

	for my $said (sort keys %alarms)
	{
		(my $made_up = $query) =~ s{FROM hybrid_devices}{FROM (SELECT (jsonb_populate_record(d, jsonb_build_object('device', 1,
			'name', '', 'state', 'unavailable', 'backend', b, 'detail', t))).*
			FROM hybrid_devices AS d, (VALUES ($said)) AS v (b, t) WHERE d.device = 0) AS hybrid_devices};
		is($node->safe_psql('postgres', "SELECT count(*) FROM ($made_up) AS q WHERE usable = 0"), $alarms{$said}, "an alarm or none: $said");
	}
	is($node->safe_psql('postgres', "SET hybrid.plugins = 'hybrid_nothing'; SELECT count(*) FROM ($query) AS q WHERE usable = 0"),
		'1', 'an alarm: a plug-in that is not there');
	is($node->safe_psql('postgres', "SET hybrid.plugins = 'hybrid_cuda'; SELECT count(*) FROM ($query) AS q WHERE usable = 0
		AND NOT EXISTS (SELECT FROM hybrid_devices WHERE detail LIKE 'the driver is for%')"), '0', 'none: the default, with a card or without');
	return;
}

# Each block of SQL in the two documents, as a member of pg_monitor; what alters the system is left out.
my $run = 0;
for my $page ('operations.md', 'tuning.md')
{
	my $text = slurp("$docs/$page");

	while ($text =~ /^```sql\n(.*?)^```/gms)
	{
		my $sql = $1;
		next if $sql =~ /ALTER SYSTEM/;
		my ($status, $out, $err) =
		  $node->psql('postgres', $sql, on_error_stop => 1, extra_params => [ '-U', 'watcher' ]);
		is("$status $err", '0 ', "$page: " . (split /\n/, $sql)[0]);
		$run++;
	}
}
cmp_ok($run, '>=', 5, 'the documents hold queries');

# a CPU that a session used with another instruction set is another row, and its batches are counted
is($node->safe_psql('postgres', q{SELECT count(*) > 1, bool_and(architecture <> '') FROM hybrid_stats WHERE backend = 'cpu'}),
	't|t', 'two instruction sets, two rows');

# The exporter's queries: they run, and return the labels (text) and values (numbers) that are named.
my $config = slurp("$docs/monitoring/prometheus-sql-exporter.yml");
my (%columns, $name);
while ($config =~ /^  - name: (\w+)\n\s+help: .*\n\s+labels: \[(.*)\]\n\s+values: \[(.*)\]\n\s+query: \|\n((?:      .*\n)+)/gm)
{
	my ($query, @labels, @values);

	($name, $query) = ($1, $4);
	@labels = split /, /, $2;
	@values = split /, /, $3;
	my $types = join ', ', map { "pg_typeof($_)::text" } @labels, @values;
	my ($status, $out, $err) = $node->psql('postgres', "SELECT DISTINCT $types FROM ($query) AS q",
		on_error_stop => 1, extra_params => [ '-U', 'watcher' ]);

	is("$status $err", '0 ', "$name runs");
	my @types = split /\|/, $out;
	is(scalar(grep { $_ ne 'text' } @types[ 0 .. $#labels ]), 0, "$name: labels are text");
	is(scalar(grep { !/^(integer|bigint|double precision|numeric)$/ } @types[ $#labels + 1 .. $#types ]),
		0, "$name: values are numbers");
	isnt($out, '', "$name has something to show");
	is($node->safe_psql('postgres', "SELECT count(*) FROM ($query) AS q WHERE "
				. join(' OR ', map { "$_ IS NULL" } @labels, @values)), '0', "$name: nothing is NULL");
	# alike: as on a machine with two cards of one kind, which are not open in this session
	(my $alike = $query) =~ s{FROM (hybrid_(?:stats|devices))}{FROM (SELECT (jsonb_populate_record(s,
		jsonb_build_object('name', s.backend, 'memory_free', CASE WHEN s.backend = 'cpu' THEN 1 END))).* FROM $1 AS s) AS $1};
	is($node->safe_psql('postgres', "SELECT count(*) - count(DISTINCT (" . join(', ', map { "$_" } @labels)
				. ",0)) FROM ($alike) AS q"), '0', "$name: two cards of one name are told apart");
	is($node->safe_psql('postgres', "SELECT count(*) FROM ($alike) AS q WHERE backend <> 'cpu' AND $_ = 0"),
		'0', "$name: free memory that is not known is not none") for grep { /free$/ } @values;
	is($node->safe_psql('postgres', "SELECT count(*) - count(DISTINCT (" . join(', ', map { "$_" } @labels)
				. ",0)) FROM ($query) AS q"), '0', "$name: each row has labels of its own");
	watch_devices($query) if $name eq 'hybrid_devices';
	$columns{"sql_$name"} = { map { $_ => 1 } @values };
}
is(scalar(keys %columns), scalar(() = $config =~ /^  - name: /gm), 'every query was found');

# The board, and the alerts in the text.
my $board = decode_json(slurp("$docs/monitoring/grafana.json"));
my @expressions = map { $_->{expr} } map { @{ $_->{targets} } } @{ $board->{panels} };
my $alerts = slurp("$docs/operations.md");
push @expressions, $1 while $alerts =~ /^\| `([^`]*sql_hybrid[^`]*)`/gm;
cmp_ok(scalar(@expressions), '>', 10, 'the board and the text hold expressions');
for my $expression (@expressions)
{
	my $wrong = '';

	while ($expression =~ /(sql_hybrid\w+)\{col="(\w+)"/g)
	{
		$wrong .= "$1.$2 " unless $columns{$1}{$2};
	}
	$wrong .= 'a metric without col' if $expression =~ /sql_hybrid\w+(?!\w|\{col=)/;
	is($wrong, '', "known: $expression");
}

# settings_without_preloading: what operations.md says to do to the system can be done there as it stands
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;
my $setting = q{SELECT count(*) FROM hybrid_devices; SELECT setting FROM pg_settings WHERE name = 'hybrid.force_cpu'};
my $operations = slurp("$docs/operations.md");
while ($operations =~ /^```sql\n(.*?)^```/gms)
{
	my $sql = $1;
	next unless $sql =~ /ALTER SYSTEM/;
	my ($status, $out, $err) = $node->psql('postgres', $sql, on_error_stop => 1);

	is("$status $err", '0 ', 'not preloaded: ' . (split /\n/, $sql)[1]);
}
$node->poll_query_until('postgres', $setting, "3\non");
is($node->safe_psql('postgres', $setting), "3\non", 'and it holds');
unlike($node->safe_psql('postgres', q{SELECT name FROM pg_settings}), qr/hybrid/, 'a session that has not loaded the library knows no setting');

$node->stop;
done_testing();
