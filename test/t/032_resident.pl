# Vectors of an index that stay on a device: which are found there, which are sent again, which are evicted, and
# that the answers are the CPU's, whatever happens to the index or the device.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use HybridSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('resident');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'hybrid'
autovacuum = off
hybrid.plugins = 'hybrid_emulated'
hybrid.gpu_min_batch = 1
work_mem = 512kB
hybrid.gpu_resident_memory = 6MB # units of 512 kB, so that there are several
});
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE ROLE stranger LOGIN;
	CREATE FUNCTION made(n int) RETURNS vector LANGUAGE sql AS $$
		SELECT array_agg(((n::bigint * 7919 + j * j * (n % 13 + 1)) % 1009)::real / 1009 + (n % 40))::vector FROM generate_series(1, 128) j $$;
	CREATE TABLE item (id serial PRIMARY KEY, v vector(128));
	INSERT INTO item (v) SELECT made(n) FROM generate_series(1, 6000) n;
	CREATE TABLE rounded AS SELECT * FROM item;
	CREATE INDEX ON item USING hybrid (v vector_l2_ops) WITH (storage = float32);
	CREATE INDEX ON rounded USING hybrid (v vector_cosine_ops);
	CREATE TABLE query AS SELECT n AS number, made(n * 31 + 5) AS v FROM generate_series(1, 20) n;
	CREATE FUNCTION found(what regclass, metric text) RETURNS text LANGUAGE sql AS $$
		SELECT md5(string_agg(k::text, ' ' ORDER BY k.query, k.distance, k.tid))
		FROM hybrid_knn(what, 'v', (SELECT array_agg(v ORDER BY number) FROM query), 7, metric) k $$;
});
session_on($node);

my $s = session();
ask($s, 'SET hybrid.execution = gpu');

# resident SESSION: return bytes, units, hits, misses, evictions
sub resident
{
	my ($session) = @_;
	my %row;

	@row{qw(bytes units hits misses evictions)} = split /\|/,
	  ask($session, q{SELECT resident_bytes, resident_units, resident_hits, resident_misses, resident_evictions FROM hybrid_devices WHERE device = 1});
	return \%row;
}

# sent SESSION: return the bytes that this session has sent for searches
sub sent { return ask($_[0], q{SELECT sum(bytes_up) FROM hybrid_stats WHERE operation = 'topk' AND device > 0}) || 0 }

# same SESSION, TABLE, METRIC, NAME: check that the device's answer is the CPU's
sub same
{
	my ($session, $table, $metric, $name) = @_;
	my $device = ask($session, "SELECT found('$table', '$metric')");
	my $cpu = ask($session, "SET hybrid.force_cpu = on; SELECT found('$table', '$metric'); SET hybrid.force_cpu = off");

	return is($device, $cpu, $name);
}

# ---- the second search sends, the third finds ----
my $queries = 20 * 128 * 4;
ask($s, 'SELECT hybrid_reset_stats()');
ask($s, q{SELECT found('item', 'l2')}) for (1 .. 2); # opens the device; leaves traces
is(resident($s)->{units}, 0, 'what is used once does not stay');
same($s, 'item', 'l2', 'the answer when units are sent');
my $first = resident($s);
cmp_ok($first->{units}, '>', 5, 'there are several units');
is($first->{bytes}, 6000 * 128 * 4, 'all rows are there');
is($first->{hits}, 0, 'and none was found');
my $before = sent($s);
same($s, 'item', 'l2', 'the answer by what is there');
my $second = resident($s);
is($second->{hits}, $first->{units}, 'each unit was found');
is(sent($s) - $before, $first->{units} * $queries, 'queries are all that was sent');

# ---- an insert: only units whose lists changed are sent again ----
ask($s, 'INSERT INTO item (v) SELECT v FROM query WHERE number = 3');
$before = sent($s);
same($s, 'item', 'l2', 'the answer after an insert');
my $third = resident($s);
my $again = sent($s) - $before - $third->{units} * $queries;
cmp_ok($again, '>', 0, 'the unit with the new row was sent');
cmp_ok($again, '<=', 3 * 512 * 1024, 'and not many more');
cmp_ok($third->{hits} - $second->{hits}, '>=', $first->{units} - 3, 'the others were found');
is(ask($s, q{SELECT count(*) FROM hybrid_knn('item', 'v', (SELECT array_agg(v) FROM query WHERE number = 3), 1) WHERE distance = 0}), 1, 'the new row is found');

# ---- deleted, not vacuumed: visibility is the table's to say; vacuumed: the lists have changed ----
ask($s, 'DELETE FROM item WHERE id % 50 = 7');
same($s, 'item', 'l2', 'the answer after a delete');
$node->safe_psql('postgres', 'VACUUM item');
same($s, 'item', 'l2', 'the answer after a vacuum');
ask($s, 'INSERT INTO item (v) SELECT made(n + 100000) FROM generate_series(1, 3000) n');
same($s, 'item', 'l2', 'the answer after splits');
same($s, 'item', 'ip', 'by another metric');
same($s, 'item', 'l2', 'and again') for (1 .. 2);

# ---- another row in the place of one that was removed: as many rows, in the same list ----
ask($s, q{CREATE TABLE replaced (id int, v vector(128)); INSERT INTO replaced SELECT n, made(n) FROM generate_series(1, 100) n; CREATE INDEX ON replaced USING hybrid (v vector_l2_ops) WITH (storage = float32)});
same($s, 'replaced', 'l2', 'before a row is replaced') for (1 .. 4);
for my $round (1 .. 3)
{
	ask($s, "DELETE FROM replaced WHERE id = $round");
	$node->safe_psql('postgres', 'VACUUM replaced');
	ask($s, "INSERT INTO replaced SELECT 100 + number, v FROM query WHERE number = $round");
	is(ask($s, "SELECT count(*) FROM hybrid_knn('replaced', 'v', (SELECT array_agg(v) FROM query WHERE number = $round), 1) WHERE distance = 0"), 1, "the row that replaces $round is found");
	same($s, 'replaced', 'l2', 'after a row was replaced') for (1 .. 2);
}

# ---- rounded copies: what they lost is known of those that stay ----
same($s, 'rounded', 'cosine', 'the answer by rounded copies') for (1 .. 3);
$before = resident($s)->{hits};
same($s, 'rounded', 'cosine', 'by rounded copies that are there');
cmp_ok(resident($s)->{hits}, '>', $before, 'which they were');

# ---- who may not read the table finds nothing of it, in the same session either ----
$node->safe_psql('postgres', 'GRANT SELECT ON query TO stranger');
$s->{err} = '';
ask($s, q{SET ROLE stranger; SELECT count(*) FROM hybrid_knn('item', 'v', (SELECT array_agg(v) FROM query), 1); RESET ROLE});
like($s->{err}, qr/permission denied for table item/, 'a role without SELECT is refused');

# ---- a file that is emptied and built again in one transaction has the same name ----
ask($s, q{CREATE TEMP TABLE passing (v vector(128)) ON COMMIT DELETE ROWS; CREATE INDEX passing_v ON passing USING hybrid (v vector_l2_ops) WITH (storage = float32)});
for my $round (1 .. 3)
{
	ask($s, "BEGIN; INSERT INTO passing SELECT made(n * $round) FROM generate_series(1, 100) n");
	same($s, 'passing', 'l2', "a table that is emptied at each commit, round $round") for (1 .. 3);
	ask($s, 'COMMIT');
}
ask($s, q{BEGIN; CREATE TABLE renewed (v vector(128)); CREATE INDEX ON renewed USING hybrid (v vector_l2_ops) WITH (storage = float32)});
for my $round (1 .. 3)
{
	ask($s, "TRUNCATE renewed; INSERT INTO renewed SELECT made(n * $round + 3) FROM generate_series(1, 100) n");
	same($s, 'renewed', 'l2', "a table that is emptied in the transaction that made it, round $round") for (1 .. 3);
}
ask($s, 'ROLLBACK');

# ---- two indexes that do not fit together: a part stays, and is not pushed out again and again ----
my $two = session();
ask($two, 'SET hybrid.execution = gpu; SET hybrid.gpu_resident_memory = 4');
for (1 .. 4)
{
	same($two, 'item', 'l2', 'one of two indexes');
	same($two, 'rounded', 'cosine', 'and the other');
}
my $shared = resident($two);
cmp_ok($shared->{bytes}, '>', 2 * 1024 * 1024, 'a part of them stays');
cmp_ok($shared->{bytes}, '<=', 4 * 1024 * 1024, 'of what they may have');
for (1 .. 3)
{
	same($two, 'item', 'l2', 'one of two indexes again');
	same($two, 'rounded', 'cosine', 'and the other again');
}
my $later = resident($two);
is($later->{evictions}, $shared->{evictions}, 'none pushes out the other');
cmp_ok($later->{hits} - $shared->{hits}, '>=', 3 * $shared->{units}, 'and what is there is found');

# ---- another setting: units stay as large as they are while it is near, and are others when it is not ----
ask($two, 'SET hybrid.gpu_resident_memory = 8');
same($two, 'item', 'l2', 'with a little more room') for (1 .. 4);
$before = resident($two);
same($two, 'item', 'l2', 'and more again');
my $near = resident($two);
is($near->{misses}, $before->{misses}, 'what was there is still found');
cmp_ok($near->{bytes}, '>=', $shared->{bytes}, 'and there is more of it');
ask($two, 'SET hybrid.gpu_resident_memory = 200');
same($two, 'item', 'l2', 'with much more room') for (1 .. 4);
$before = resident($two);
same($two, 'item', 'l2', 'with much more room, from there');
is(resident($two)->{hits} - $before->{hits}, 1, 'it is one unit now');
is(resident($two)->{misses}, $before->{misses}, 'and nothing else is looked for');
finish($two);

# ---- what is kept by default: few units, whatever work_mem is ----
$node->safe_psql('postgres', q{
	CREATE TABLE large (id serial PRIMARY KEY, v vector(768));
	INSERT INTO large (v) SELECT (SELECT array_agg((hashint4extended(n % 23000, j) % 2001)::real + n % 23000 % 50 * 40) FROM generate_series(1, 768) j)::vector
		FROM generate_series(1, 24000) n;
	CREATE INDEX ON large USING hybrid (v vector_l2_ops) WITH (storage = float32);
	CREATE FUNCTION near(metric text) RETURNS text LANGUAGE sql AS $$
		SELECT md5(string_agg(k::text, ' ' ORDER BY k.query, k.distance, k.tid))
		FROM hybrid_knn('large', 'v', ARRAY(SELECT v FROM large WHERE id IN (7, 500, 1003) ORDER BY id), 7, metric) k $$;
});
my $row = 768 * 4;
my $cpu = $node->safe_psql('postgres', q{SET hybrid.force_cpu = on; SELECT near('l2')});
for my $memory ('4MB', '1MB', '64kB')
{
	my $plain = session();
	ask($plain, "SET work_mem = '$memory'; SET hybrid.execution = gpu; SET hybrid.gpu_resident_memory = -1; SELECT hybrid_reset_stats()");
	is(ask($plain, q{SELECT near('l2')}), $cpu, "with $memory, search $_") for (1 .. 3);
	my $there = resident($plain);
	is($there->{bytes}, 24000 * $row, "with $memory all rows are there");
	# 64 MB each at most; the notes of a unit take no more than a quarter of work_mem
	cmp_ok($there->{units}, '<=', $memory eq '64kB' ? 24 : 3, "with $memory in few units");
	my ($calls, $bytes) = split /\|/, ask($plain, q{SELECT sum(calls), sum(bytes_up) FROM hybrid_stats WHERE operation = 'topk' AND device > 0});
	is(ask($plain, q{SELECT near('l2')}), $cpu, "with $memory, by what is there");
	is(ask($plain, q{SELECT sum(calls), sum(bytes_up) FROM hybrid_stats WHERE operation = 'topk' AND device > 0}),
		($calls + $there->{units}) . '|' . ($bytes + $there->{units} * 3 * $row), "with $memory each unit is one task");
	finish($plain);
}

# ---- a cancel while a unit of tens of MB is read and sent ----
my $slow = session();
ask($slow, q{SET work_mem = '1MB'; SET hybrid.execution = gpu; SET hybrid.gpu_resident_memory = -1; SET hybrid.gpu_timeout = '1min'; SELECT near('l2')});
ask($slow, q{SELECT near('l2')});
ask($slow, q{SET hybrid.emulated_wait = on; SET hybrid.emulated_bandwidth_gbs = 0.005});
$slow->{err} = '';
my $began = time;
ask($slow, q{SET statement_timeout = 500; SELECT near('l2')});
cmp_ok(time - $began, '<', 5, 'a cancel does not wait for the unit');
like($slow->{err}, qr/statement timeout/, 'and is seen');
ask($slow, q{RESET statement_timeout; RESET hybrid.emulated_wait; RESET hybrid.emulated_bandwidth_gbs});
is(ask($slow, q{SELECT near('l2')}), $cpu, "after a cancel, search $_") for (1 .. 4);
is(resident($slow)->{bytes}, 24000 * $row, 'after a cancel all of it is there');

# ---- rows that come and go while a unit is sent: it is read as it was, and not kept ----
ask($slow, q{INSERT INTO large (v) SELECT v FROM large WHERE id = 9; DELETE FROM large WHERE id = 23009});
$cpu = ask($slow, q{SET hybrid.force_cpu = on; SELECT near('l2'); SET hybrid.force_cpu = off});
ask($slow, q{SET hybrid.emulated_wait = on; SET hybrid.emulated_bandwidth_gbs = 0.01});
$before = sent($slow);
$slow->{out} = '';
$slow->{in} .= "SELECT near('l2');\n\\echo done\n";
$slow->{run}->pump_nb;
sleep 1;
$node->safe_psql('postgres', q{INSERT INTO large (v) SELECT v FROM large WHERE id IN (7, 9)});
$node->safe_psql('postgres', 'VACUUM large');
$node->safe_psql('postgres', q{SELECT pg_log_backend_memory_contexts(pid) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%near%' AND pid <> pg_backend_pid()});
my $log = '';
for (1 .. 100)
{
	last if ($log = slurp_file($node->logfile)) =~ /hybrid batches: \d+ total/;
	select(undef, undef, undef, 0.05);
}
my ($took) = $log =~ /hybrid batches: (\d+) total/;
note("hybrid batches: $took") if defined $took;
cmp_ok($took // 1e9, '<=', 600 * 1024, 'its rows and their positions take half of work_mem');
is($slow->{out}, '', 'the unit was on its way');
$slow->{run}->pump until $slow->{out} =~ /done/;
is($slow->{out}, "$cpu\ndone\n", 'the answer is that of its snapshot');
cmp_ok(sent($slow) - $before, '>', 8 * 1024 * 1024, 'while much of the unit was sent');
cmp_ok(resident($slow)->{units}, '>', 0, 'and there are units that did not change');
ask($slow, q{RESET hybrid.emulated_wait; RESET hybrid.emulated_bandwidth_gbs});
same($slow, 'large', 'l2', "after a change meanwhile, search $_") for (1 .. 3);
isnt(ask($slow, q{SELECT near('l2')}), $cpu, 'and the new row is found');
finish($slow);

# ---- less room than a list has rows ----
my $narrow = session();
ask($narrow, q{SET hybrid.execution = gpu; SET hybrid.gpu_resident_memory = 1; CREATE TABLE narrow AS SELECT id, v FROM large WHERE id <= 3000;
	CREATE INDEX ON narrow USING hybrid (v vector_l2_ops) WITH (storage = float32, list_size = 16384)});
same($narrow, 'item', 'l2', 'lists that fit, one a unit') for (1 .. 4);
cmp_ok(resident($narrow)->{bytes}, '>', 512 * 1024, 'lists that fit stay');
my $nearest = q{SELECT md5(string_agg(k::text, ' ' ORDER BY k.distance, k.tid)) FROM hybrid_knn('narrow', 'v', ARRAY(SELECT v FROM large WHERE id = 12), 9) k};
$cpu = ask($narrow, "SET hybrid.force_cpu = on; $nearest; SET hybrid.force_cpu = off");
my $others = resident($narrow)->{bytes};
is(ask($narrow, $nearest), $cpu, "a list that has no room, search $_") for (1 .. 4);
is(resident($narrow)->{bytes}, $others, 'it does not stay');
ask($narrow, q{SET hybrid.gpu_resident_memory = 10});
is(ask($narrow, $nearest), $cpu, "a list that has room, search $_") for (1 .. 4);
cmp_ok(resident($narrow)->{bytes}, '>=', 3000 * $row, 'it stays as a whole');
ask($narrow, 'DROP TABLE narrow');
finish($narrow);
$node->safe_psql('postgres', 'DROP TABLE large CASCADE');

# ---- equal distances: which rows are the first is the same everywhere ----
ask($s, q{CREATE TABLE alike (id int, v vector(128)); INSERT INTO alike SELECT n, made(n % 3) FROM generate_series(1, 2000) n ORDER BY n % 7, n;
	CREATE INDEX ON alike USING hybrid (v vector_l2_ops) WITH (storage = float32)});
same($s, 'alike', $_, "equal distances by $_") for (('l2') x 4, 'cosine', 'ip');

# ---- little memory of the device ----
my $small = session();
ask($small, 'SET hybrid.execution = gpu; SET hybrid.emulated_memory_mb = 3; SET hybrid.gpu_resident_memory = -1');
same($small, 'item', 'l2', "with a small device, search $_") for (1 .. 4);
cmp_ok(resident($small)->{bytes}, '>', 256 * 1024, 'with a small device a part stays');
cmp_ok(resident($small)->{bytes}, '<=', 1536 * 1024, 'of half of it at most');
finish($small);

# ---- little room: what stays is a part, and fits ----
my $t = session();
ask($t, 'SET hybrid.execution = gpu; SET hybrid.gpu_memory_limit = 4');
same($t, 'item', 'l2', "with little room, search $_") for (1 .. 4);
my $part = resident($t);
# two contexts share it
cmp_ok($part->{bytes}, '>', 512 * 1024, 'a part stays');
cmp_ok($part->{bytes}, '<=', 1024 * 1024, 'of half of the share at most');
is($part->{evictions}, 0, 'and it stays there, although all is gone through');
ask($t, 'SET hybrid.gpu_resident_memory = 0');
same($t, 'item', 'l2', 'and without any');
is(resident($t)->{bytes}, 0, 'which empties it');
is(resident($t)->{evictions}, $part->{units}, 'unit by unit');
finish($t);

# ---- a device that fails: at what is there, at what is sent, and when it is lost ----
my $u = session();
ask($u, q{SET hybrid.execution = prefer_gpu; SET hybrid.gpu_success_threshold = 0.5});
same($u, 'item', 'l2', 'before any failure') for (1 .. 3);
my $whole = resident($u)->{units};
cmp_ok($whole, '>', 5, 'all is there');
for my $fault ('fail_every=3', 'in=poll,fail_every=3', 'fail_at=4,status=nomem', 'fail_at=2,status=context_lost', 'in=poll,fail_at=3,status=context_lost')
{
	ask($u, "SET hybrid.emulated_faults = '$fault'");
	same($u, 'item', 'l2', "the answer with $fault") for (1 .. 3);
	ask($u, "SET hybrid.emulated_faults = ''; SELECT hybrid_reset_stats()");
	same($u, 'item', 'l2', "and after $fault") for (1 .. 4);
	is(resident($u)->{units}, $whole, "what was lost by $fault is there again");
}
ask($u, q{SET hybrid.gpu_resident_memory = 0; SELECT found('item', 'l2'); RESET hybrid.gpu_resident_memory});
for my $fault ('in=upload', 'in=upload,status=nomem', 'in=upload,status=context_lost')
{
	ask($u, "SET hybrid.emulated_faults = '$fault'");
	same($u, 'item', 'l2', "the answer with $fault") for (1 .. 2);
	is(resident($u)->{bytes}, 0, "nothing stays with $fault");
	ask($u, "SET hybrid.emulated_faults = ''; SELECT hybrid_reset_stats()");
}
ask($u, q{SET hybrid.emulated_faults = 'fail_at=3,status=device_gone'});
same($u, 'item', 'l2', 'the answer of a device that leaves') for (1 .. 2);
is(resident($u)->{bytes}, 0, 'and takes all along');
finish($u);

# ---- beside writers and VACUUM: the same answers within a snapshot ----
my @writers;
for my $number (1 .. 2)
{
	my $writer = session();
	$writer->{in} .= "DO \$\$ BEGIN FOR i IN 1 .. 150 LOOP INSERT INTO item (v) SELECT made(i * 40 + n + $number * 7) FROM generate_series(1, 12) n; DELETE FROM item WHERE id % 97 = i % 97 AND id % 2 = $number - 1; COMMIT; END LOOP; END \$\$;\n\\echo written\n";
	$writer->{run}->pump_nb;
	push @writers, $writer;
}
my $hits = resident($s)->{hits};
my $rounds = 0;
do
{
	ask($s, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
	same($s, 'item', 'l2', "beside writers, round $rounds") for (1 .. 2);
	ask($s, 'COMMIT');
	$node->safe_psql('postgres', 'VACUUM item') if $rounds % 2 == 1;
	$rounds++;
	$_->{run}->pump_nb for @writers;
} until ($rounds >= 300 || grep({ $_->{out} =~ /written/ } @writers) == 2);
is(scalar(grep { $_->{out} =~ /written/ } @writers), 2, 'the writers have ended');
is(join('', map { $_->{err} } @writers), '', 'without an error');
same($s, 'item', 'l2', 'after all of it') for (1 .. 3);
cmp_ok(resident($s)->{hits}, '>', $hits, 'units were found all the while');
# how many rows are left depends on who of the two was ahead
my $left = $node->safe_psql('postgres', 'SELECT count(v) FROM item');
cmp_ok($left, '>', 1000, 'rows are left');
cmp_ok($node->safe_psql('postgres', q{SELECT hybrid_index_check('item_v_idx')}), '>=', $left, 'the index is whole');
is($node->safe_psql('postgres', q{SET enable_seqscan = off; SET hybrid.target_recall = 1; SELECT count(DISTINCT id) FROM (SELECT id FROM item ORDER BY v <-> made(1) LIMIT 1000000) s}), $left, 'and all are found');
finish($_) for ($s, @writers);

# ---- left to the dispatcher ----
my $auto = session();
ask($auto, q{SET hybrid.emulated_launch_us = 5});
same($auto, 'item', 'l2', 'left to the dispatcher') for (1 .. 12);
cmp_ok(resident($auto)->{hits}, '>', 0, 'the dispatcher has units kept, and uses them');
finish($auto);

$node->stop;
done_testing();
