# CREATE INDEX with workers, with little memory, on a device, with concurrent writers: the same index each time.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use HybridSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "maintenance_work_mem = 128MB\nautovacuum = off\nmax_parallel_workers = 8\n");
$node->start;
session_on($node);
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE TABLE item (id int, v vector(512)) WITH (autovacuum_enabled = off);
	INSERT INTO item SELECT i, (SELECT array_agg(sin(i * j) + sin(i % 61 * j)) FROM generate_series(1, 512) j)::vector
		FROM generate_series(1, 12000) i;
	VACUUM ANALYZE item;
	CREATE FUNCTION bytes(i regclass) RETURNS text LANGUAGE sql AS $$
		SELECT count(*) || md5(string_agg(md5(pg_read_binary_file(pg_relation_filepath(i), n * 8192 + 8, 8184)), '' ORDER BY n))
		FROM generate_series(0, pg_relation_size(i) / 8192 - 1) n $$;
});

# build SETTINGS: build an index with these settings.  Returns the messages, and its bytes without the LSNs
sub build
{
	my ($settings, $how) = @_;
	my ($out, $err) = ('', '');

	$node->psql('postgres', 'DROP INDEX IF EXISTS item_v') unless $how;
	$node->psql('postgres', "SET client_min_messages = debug1; $settings; SET hybrid.emulated_open_ms = 0;"
		  . ($how || 'CREATE INDEX item_v ON item USING hybrid (v vector_cosine_ops)'), stdout => \$out, stderr => \$err);
	$node->safe_psql('postgres', 'CHECKPOINT');
	return ($err, $how ? '' : $node->safe_psql('postgres', "SELECT bytes('item_v')"));
}

my ($said, $alone) = build('SET max_parallel_maintenance_workers = 0');
unlike($said, qr/parallel workers/, 'alone');
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('item_v')}), '12000', 'and right');
is($node->safe_psql('postgres', q{SELECT levels > 1 FROM hybrid_index_stats('item_v')}), 't', 'a tree');

# The rows are in the TOAST table; it counts.
cmp_ok($node->safe_psql('postgres', q{SELECT pg_relation_size('item')}), '<', 8 << 20, 'a table that is small but for its vectors');
for my $workers (1, 2)
{
	my $bytes;

	($said, $bytes) = build("SET max_parallel_maintenance_workers = $workers");
	like($said, qr/is built with $workers parallel workers/, "$workers workers are there");
	is($bytes, $alone, 'and the bytes are the same');
}
(undef, my $again) = build(q{SET max_parallel_workers = 0});
is($again, $alone, 'workers that are planned and cannot be had');

# More rows than PostgreSQL thinks: the sample is taken again, of fewer of them.
$node->safe_psql('postgres', q{UPDATE pg_class SET reltuples = 1000 WHERE relname = 'item'});
my (undef, $surprised) = build('SET max_parallel_maintenance_workers = 0');
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('item_v')}), '12000', 'twelve times the rows that were expected');
isnt($surprised, $alone, 'make another index');
$node->safe_psql('postgres', q{UPDATE pg_class SET reltuples = 1000 WHERE relname = 'item'});
(undef, my $together) = build('SET max_parallel_maintenance_workers = 2');
is($together, $surprised, 'which is the same by workers');
$node->safe_psql('postgres', 'ANALYZE item');

my $bytes;
($said, $bytes) = build(q{SET max_parallel_maintenance_workers = 0; SET hybrid.plugins = 'hybrid_emulated';
	SET hybrid.execution = prefer_gpu});
is($bytes, $alone, 'rows assigned on a device');
is( $node->safe_psql('postgres', q{
	SET hybrid.plugins = 'hybrid_emulated';
	SET hybrid.execution = prefer_gpu;
	DROP INDEX item_v;
	CREATE INDEX item_v ON item USING hybrid (v vector_cosine_ops);
	SELECT string_agg(operation, ' ' ORDER BY operation) FROM hybrid_stats WHERE backend = 'emulated' AND calls > 0}),
	'assign score_codes', 'which is where they were, and codes were scored');

# Codes scored there in pieces, by a device that fails each time, and by one that fails now and then.
for my $way ('emulated_memory_mb = 1', q{emulated_faults = 'op=score_codes,fail_every=1'},
	q{emulated_faults = 'op=score_codes,in=poll,fail_every=2'})
{
	($said, $bytes) = build("SET hybrid.plugins = 'hybrid_emulated'; SET hybrid.execution = prefer_gpu; SET hybrid.$way");
	is($bytes, $alone, "codes scored on a device: $way");
}
is( $node->safe_psql('postgres', q{
	SET hybrid.plugins = 'hybrid_emulated';
	SET hybrid.execution = prefer_gpu;
	SET hybrid.emulated_faults = 'op=score_codes,fail_every=1';
	DROP INDEX item_v;
	CREATE INDEX item_v ON item USING hybrid (v vector_cosine_ops);
	SELECT sum(fallbacks) > 0 FROM hybrid_stats WHERE backend = 'emulated' AND operation = 'score_codes'}),
	't', 'it did fail');

# 4 MB: too little for workers, and enough.
($said, $bytes) = build('SET maintenance_work_mem = 4096');
unlike($said, qr/parallel workers/, '4 MB are not divided');
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('item_v'), entries FROM hybrid_index_stats('item_v')}), '12000|12000', 'but suffice');

# Rows that are sorted in memory or on disk, by however many: the same index.
$node->safe_psql('postgres', q{
	CREATE TABLE other (id int, v vector(64)) WITH (autovacuum_enabled = off);
	INSERT INTO other SELECT i, (SELECT array_agg(sin(i * j) + sin(i % 61 * j)) FROM generate_series(1, 64) j)::vector
		FROM generate_series(1, 20000) i;
	VACUUM ANALYZE other;
});
sub build_other
{
	my ($settings) = @_;

	return build("DROP INDEX IF EXISTS other_v; $settings", q{CREATE INDEX other_v ON other USING hybrid (v vector_l2_ops)
		WITH (storage = float32)});
}
sub bytes_of_other { return $node->safe_psql('postgres', q{SELECT bytes('other_v')}); }
sub expect_few { $node->safe_psql('postgres', q{UPDATE pg_class SET reltuples = 1000 WHERE relname = 'other'}); }

# temporary_files SETTINGS: build an index, and return the number of temporary files that the sort wrote
sub temporary_files
{
	my ($settings) = @_;
	my $before = -s $node->logfile;

	build_other("SET log_temp_files = 0; $settings");
	return scalar(() = slurp_file($node->logfile, $before) =~ /LOG:  temporary file/g);
}

cmp_ok(temporary_files(q{SET max_parallel_maintenance_workers = 0; SET maintenance_work_mem = '8MB'}), '>', 0, 'rows that do not fit');
$bytes = bytes_of_other();
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('other_v')}), '20000', 'are indexed');
is(temporary_files(q{SET max_parallel_maintenance_workers = 0; SET maintenance_work_mem = '64MB'}), 0, 'rows that fit');
is(bytes_of_other(), $bytes, 'make the same bytes');
($said) = build_other(q{SET min_parallel_table_scan_size = 0; SET max_parallel_maintenance_workers = 2});
like($said, qr/with 2 parallel workers/, 'rows that several sort');
is(bytes_of_other(), $bytes, 'make the same bytes');

# An update within a page: rows do not lie there in the order of the roots of their chains.
$node->safe_psql('postgres', q{
	CREATE TABLE chained (id int, n int, v vector(64)) WITH (autovacuum_enabled = off, fillfactor = 50);
	INSERT INTO chained SELECT id, 0, v FROM other;
	UPDATE chained SET n = 1 WHERE id % 3 = 0;
	VACUUM ANALYZE chained});
my @chained;
for my $memory (8, 64)
{
	build("DROP INDEX IF EXISTS chained_v; SET max_parallel_maintenance_workers = 0; SET maintenance_work_mem = '${memory}MB'",
		q{CREATE INDEX chained_v ON chained USING hybrid (v vector_l2_ops) WITH (storage = float32)});
	is($node->safe_psql('postgres', q{SELECT hybrid_index_check('chained_v')}), '20000', "chains of versions, $memory MB: each has one entry");
	push @chained, $node->safe_psql('postgres', q{SELECT bytes('chained_v')});
}
is($chained[1], $chained[0], 'and the bytes are the same');

# Many more rows than PostgreSQL thinks.
$node->safe_psql('postgres', q{INSERT INTO other SELECT id, v FROM other, generate_series(1, 5); VACUUM ANALYZE other});
expect_few();
build_other(q{SET max_parallel_maintenance_workers = 0; SET maintenance_work_mem = '64MB'});
$bytes = bytes_of_other();
expect_few();
($said) = build_other(q{SET min_parallel_table_scan_size = 0; SET max_parallel_maintenance_workers = 1; SET maintenance_work_mem = '64MB'});
like($said, qr/with 1 parallel workers/, 'many more rows than expected, by two processes');
is(bytes_of_other(), $bytes, 'make the same bytes');
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('other_v')}), '120000', 'of all rows');
$node->safe_psql('postgres', 'DROP TABLE other, chained');

# Beside writers: rows of before, and those of meanwhile.
$node->safe_psql('postgres', 'DROP INDEX item_v');
my $writer = session();
ask($writer, 'BEGIN; DELETE FROM item WHERE id % 100 = 1; INSERT INTO item SELECT 20000 + id, v FROM item WHERE id % 100 = 2');
my $builder = session();
$builder->{in} .= "SET client_min_messages = debug1; CREATE INDEX CONCURRENTLY item_v ON item USING hybrid (v vector_cosine_ops);\n";
$builder->{run}->pump_nb;
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_progress_create_index WHERE phase LIKE 'waiting%'}), 'waits for who writes');
ask($writer, 'COMMIT');
ask($builder, 'SELECT 1');
like($builder->{err}, qr/parallel workers/, 'with workers');
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('item_v')}), '12000', 'and nothing is missing');
is($node->safe_psql('postgres', q{SET enable_seqscan = off; SET hybrid.target_recall = 1; SELECT count(*) FROM
	(SELECT id FROM item ORDER BY v <=> (SELECT v FROM item WHERE id = 20002) LIMIT 100000) s}),
	$node->safe_psql('postgres', 'SELECT count(*) FROM item'), 'as a scan of all finds');

# How far it is: every phase that takes a while has been seen by who looked, and rows are counted.
my %seen;
my $most = 0;
$node->safe_psql('postgres', 'DROP INDEX item_v');
# slowly, lest nobody look in time
$builder->{in} .= "SET hybrid.simd = scalar; SET hybrid.force_cpu = on; CREATE INDEX item_v ON item USING hybrid (v vector_cosine_ops);\n";
$builder->{run}->pump_nb;
my $watcher = session();
for (my $end = time + 60; time < $end;)
{
	my $row = ask($watcher, q{SELECT phase || '|' || tuples_done || '|' || tuples_total || '|' || blocks_total FROM pg_stat_progress_create_index});

	last if $row eq '' && %seen;
	next if $row eq '';
	my ($phase, $done) = split /\|/, $row;
	$seen{$phase} = 1;
	$most = $done if $done > $most;
	sleep(0.01);
}
ask($builder, 'SELECT 1');
ok(exists $seen{"building index: $_"}, "$_: seen") for 'placing lists', 'assigning rows to lists', 'measuring recall';
cmp_ok($most, '>', 1000, 'and rows are counted');

# A worker that is ended takes the build along.
$builder->{err} = '';
$builder->{in} .= "SET hybrid.simd = scalar; DROP INDEX item_v; CREATE INDEX item_v ON item USING hybrid (v vector_cosine_ops);\n";
$builder->{run}->pump_nb;
ok($node->poll_query_until('postgres', q{SELECT count(pg_terminate_backend(pid)) > 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'}), 'a worker is ended');
ask($builder, 'SELECT 1');
like($builder->{err}, qr/terminating|lost connection to parallel worker|canceling/, 'which is an error of the leader');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_class WHERE relname = 'item_v'}), '0', 'and leaves nothing');

# The values of INCLUDE columns travel with the rows.
my %included;
for my $workers (0, 2)
{
	$node->safe_psql('postgres', "SET max_parallel_maintenance_workers = $workers; DROP INDEX IF EXISTS item_v;
		CREATE INDEX item_v ON item USING hybrid (v vector_cosine_ops) INCLUDE (id)");
	$node->safe_psql('postgres', 'CHECKPOINT');
	$included{$workers} = $node->safe_psql('postgres', q{SELECT bytes('item_v')});
	is($node->safe_psql('postgres', q{SELECT hybrid_index_check('item_v') = count(v) FROM item}), 't', "INCLUDE, $workers workers");
}
is($included{2}, $included{0}, 'and the bytes are the same with INCLUDE');
$node->safe_psql('postgres', 'DROP INDEX item_v');

# Rows are sorted by key first.
my %keyed;
for my $workers (0, 2)
{
	$node->safe_psql('postgres', "SET max_parallel_maintenance_workers = $workers; DROP INDEX IF EXISTS item_v;
		CREATE INDEX item_v ON item USING hybrid ((id % 7 * (id % 3)), v vector_cosine_ops)");
	$node->safe_psql('postgres', 'CHECKPOINT');
	$keyed{$workers} = $node->safe_psql('postgres', q{SELECT bytes('item_v')});
	is($node->safe_psql('postgres', q{SELECT hybrid_index_check('item_v') = count(v) FROM item}), 't', "a key, $workers workers");
}
is($keyed{2}, $keyed{0}, 'and the bytes are the same with a key');
$node->safe_psql('postgres', 'DROP INDEX item_v');

# The signs of vectors: leaves store bits, and inner lists store numbers.
my %signs;
for my $workers (0, 2)
{
	$node->safe_psql('postgres', "SET max_parallel_maintenance_workers = $workers; DROP INDEX IF EXISTS item_v;
		CREATE INDEX item_v ON item USING hybrid ((binary_quantize(v)::bit(512)) bit_hamming_ops)");
	$node->safe_psql('postgres', 'CHECKPOINT');
	$signs{$workers} = $node->safe_psql('postgres', q{SELECT bytes('item_v')});
	is($node->safe_psql('postgres', q{SELECT hybrid_index_check('item_v') = count(v) FROM item}), 't', "bits, $workers workers");
}
is($signs{2}, $signs{0}, 'and the bytes are the same with bits');
$node->safe_psql('postgres', 'DROP INDEX item_v');

# A row that cannot be indexed, whoever comes to it: its error, and no index.
$node->safe_psql('postgres', 'INSERT INTO item VALUES (0, NULL)');
my ($out, $err) = ('', '');
$node->psql('postgres', q{CREATE INDEX item_v ON item USING hybrid ((CASE WHEN 1 / id > -1 THEN v END::vector(512)))}, stdout => \$out, stderr => \$err);
like($err, qr/division by zero/, 'an error of a worker, or of the leader');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_class WHERE relname = 'item_v'}), '0', 'leaves nothing');

$node->stop;
done_testing();
