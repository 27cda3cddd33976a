# A session's copy of a registered graph: on a standby, over a crash, with two-phase commit, and while other
# sessions write at random.  hybrid_graph_check compares the copy with a query on the same snapshot, and spreading
# compares the bits of its graph.  The graphs are in shared memory, so sessions that start take what others built.
# In the random part, a graph over a partitioned table is beside it.
#
# HYBRID_FUZZ_SECONDS: how long the random part runs.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use HybridSession;

my $seconds = $ENV{HYBRID_FUZZ_SECONDS} || 8;
my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', q{
shared_preload_libraries = 'hybrid'
hybrid.plugins = ''
autovacuum = off
max_prepared_transactions = 5
max_standby_streaming_delay = 60s
});
$primary->start;
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', 'hot_standby_feedback = on');
$standby->start;
$primary->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE TABLE link (source bigint, target bigint, weight real, type text) WITH (fillfactor = 80);
	CREATE INDEX graph ON link USING hybrid_graph (source, target, weight, type);
	INSERT INTO link SELECT i, i * 7 % 1000, i, 't' || i % 3 FROM generate_series(1, 3000) i;
	CREATE TABLE parted (weight real, source bigint, target bigint, type text) PARTITION BY RANGE (source);
	CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (1500) PARTITION BY HASH (source);
	CREATE TABLE parted_10 PARTITION OF parted_1 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE parted_11 PARTITION OF parted_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	CREATE TABLE parted_2 (source bigint, gone int, target bigint, type text, weight real);
	ALTER TABLE parted_2 DROP COLUMN gone;
	ALTER TABLE parted ATTACH PARTITION parted_2 DEFAULT;
	CREATE INDEX parted_graph ON parted USING hybrid_graph (source, target, weight, type);
	INSERT INTO parted (source, target, weight, type) SELECT source, target, weight, type FROM link;
});
$primary->safe_psql('postgres', 'VACUUM link');

my ($check, $parted_check) = map { "SELECT kept, edges, differences FROM hybrid_graph_check('$_')" } 'graph', 'parted_graph';

# the bits of the copy's graph beside those of a new one: activations in both directions
sub bits
{
	my ($copied, $built) = map { "SELECT * FROM hybrid_spread('$_', ARRAY[1, 500, 2000], direction => 'both', hops => 4)" } @_;

	return "SELECT true, (SELECT count(*) FROM ($copied) c), count(*) FROM (($copied EXCEPT ALL $built) UNION ALL ($built EXCEPT ALL $copied)) d";
}
my $bits = bits('graph', 'TABLE link');
my $parted_bits = bits('parted_graph', 'SELECT source, target, weight, type FROM parted');

sub catch_up
{
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	return;
}

# a session on the primary and one on the standby, each with a copy
catch_up();
session_on($standby);
my $there = session();
is(ask($there, $check), 't|3000|0', 'standby: a copy');
session_on($primary);
my $here = session();
is(ask($here, $check), 't|3000|0', 'primary: a copy');
is(ask($here, q{SELECT pages_read FROM hybrid_graph_check('graph')}), '0', 'primary: nothing is read again');
is(ask($there, q{SELECT pages_read FROM hybrid_graph_check('graph')}), '0', 'standby: nothing is read again');
# the rolled-back update changes a page, on the standby too once its record gets there
is($primary->safe_psql('postgres', q{
	BEGIN;
	UPDATE link SET weight = weight + 1 WHERE source = 1;
	SELECT pg_stat_get_xact_tuples_hot_updated('link'::regclass);
	ROLLBACK}), $primary->pg_version >= 16 ? 1 : 0, 'an update of a weight is HOT from PostgreSQL 16 on');

my $edges;

# two-phase commit
$primary->safe_psql('postgres', q{BEGIN; DELETE FROM link WHERE source <= 100; PREPARE TRANSACTION 'one'});
catch_up();
is(ask($here, $check), 't|3000|0', 'prepared: no rows are gone');
is(ask($there, $check), 't|3000|0', 'prepared: nor on the standby');
$primary->safe_psql('postgres', q{COMMIT PREPARED 'one'});
catch_up();
is(ask($here, $check), 't|2900|0', 'committed: rows are gone');
is(ask($there, $check), 't|2900|0', 'committed: on the standby, too');

# a slot is used again, with the bits of the visibility map set before and after
$primary->safe_psql('postgres', $_) for 'VACUUM (INDEX_CLEANUP on) link',
	q{INSERT INTO link SELECT i, i, 1, 'new' FROM generate_series(1, 100) i}, 'VACUUM (INDEX_CLEANUP on) link';
catch_up();
is(ask($here, $check), 't|3000|0', 'rows in place of vacuumed ones');
is(ask($there, $check), 't|3000|0', 'rows in place of vacuumed ones: standby');

# REINDEX CONCURRENTLY makes another index of the same name
$primary->safe_psql('postgres', 'REINDEX INDEX CONCURRENTLY graph');
catch_up();
is(ask($here, $check), 't|3000|0', 'REINDEX CONCURRENTLY');
is(ask($there, $check), 't|3000|0', 'REINDEX CONCURRENTLY: standby');
is(ask($there, q{BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1}), '1', 'standby: a snapshot');
$primary->safe_psql('postgres', 'UPDATE link SET weight = weight + 1 WHERE source < 50');
catch_up();
is(ask($there, $check), 't|3000|0', 'standby: an older snapshot');
is(ask($there, "COMMIT; $check"), 't|3000|0', 'standby: a newer one');

# random writers and readers
my @writer = map { session() } 1 .. 3;
my @reader = map { session() } 1 .. 2;
session_on($standby);
push @reader, session();
my ($checks, $kept, $sessions, @wrong) = (0, 0, 0);
my $end = time + $seconds;
srand(42);

sub change
{
	my $k = int(rand(3000));
	my $w = int(rand(40));
	my $table = rand() < 0.5 ? 'link' : 'parted';
	# rows move between the leaves of the partitioned table
	my @changes = (
		"INSERT INTO $table (source, target, weight, type) SELECT $k + i, i, i, 't' || i % 3 FROM generate_series(1, $w) i",
		"DELETE FROM $table WHERE source BETWEEN $k AND $k + $w",
		"UPDATE $table SET weight = weight + 1 WHERE source BETWEEN $k AND $k + $w",
		"UPDATE $table SET source = source + 1 WHERE source = $k",
		"UPDATE $table SET source = 3000 - source WHERE source BETWEEN $k AND $k + 3",
		"SELECT count(*) FROM (SELECT * FROM $table WHERE source = $k FOR KEY SHARE) s");

	return $changes[ int(rand(@changes)) ];
}

my @open = (0) x @writer;
# on a busy machine it goes on until there is enough to compare
while (time < $end || $checks <= 20)
{
	my $n = int(rand(@writer));
	my $x = rand;

	# a writer that waits for another one's lock would stop this test
	ask($writer[$n], 'SET lock_timeout = 100');
	if ($open[$n])
	{
		ask($writer[$n], $x < 0.3 ? 'SAVEPOINT s; ' . change() . ($x < 0.15 ? '; ROLLBACK TO s' : '') : change());
		ask($writer[$n], rand() < 0.6 ? 'COMMIT' : 'ROLLBACK'), $open[$n] = 0 if $x > 0.5;
	}
	elsif ($x < 0.4) { ask($writer[$n], 'BEGIN; ' . change()); $open[$n] = 1; }
	elsif ($x < 0.5) { ask($writer[$n], 'BEGIN; ' . change() . "; PREPARE TRANSACTION 'p$n'"); ask($writer[$n], (rand() < 0.5 ? 'COMMIT' : 'ROLLBACK') . " PREPARED 'p$n'"); }
	elsif ($x < 0.8) { ask($writer[$n], change()); }
	elsif ($x < 0.97) { ask($writer[$n], ('VACUUM link, parted', 'VACUUM (INDEX_CLEANUP on) link, parted', 'VACUUM FREEZE link, parted', 'SELECT (SELECT count(*) FROM link), (SELECT count(*) FROM parted)')[ int(rand(4)) ]); }
	else
	{
		ask($writer[$n], ('VACUUM FULL link', 'VACUUM FULL parted_10', 'BEGIN; TRUNCATE link; INSERT INTO link SELECT i, i, i FROM generate_series(1, 2000) i; COMMIT',
			'BEGIN; TRUNCATE parted_11; INSERT INTO parted (source, target, weight) SELECT i, i, i FROM generate_series(1, 2000) i; COMMIT',
			'BEGIN; ALTER TABLE parted DETACH PARTITION parted_2; DELETE FROM parted_2 WHERE source < 1500; ALTER TABLE parted ATTACH PARTITION parted_2 DEFAULT; COMMIT',
			'CHECKPOINT')[ int(rand(6)) ]);
		ask($writer[$n], 'ROLLBACK');
	}

	for my $m (0 .. $#reader)
	{
		next if rand() < 0.5;
		my $r = $reader[$m];
		my $y = rand;
		my ($one, $all) = rand() < 0.5 ? ($check, $bits) : ($parted_check, $parted_bits);

		# another session takes the graph that is shared, if there is one
		if (rand() < 0.1)
		{
			finish($r);
			session_on($m == $#reader ? $standby : $primary);
			$r = $reader[$m] = session();
			$sessions++;
		}

		$r->{err} = '';
		if ($y < 0.1) { ask($r, 'SET lock_timeout = 200; BEGIN ISOLATION LEVEL REPEATABLE READ'); }
		elsif ($y < 0.2) { ask($r, "BEGIN; DECLARE c SCROLL CURSOR FOR $one"); }
		elsif ($y < 0.35) { ask($r, 'COMMIT'); }
		for my $query ($y < 0.5 ? ($one, 'FETCH c; MOVE BACKWARD ALL IN c') : $y < 0.8 ? ($all) : ($one))
		{
			my $found = ask($r, "SET lock_timeout = 200; $query");
			next if $found !~ /^[tf]\|\d+\|(\d+)$/m;
			$checks++;
			$kept++ if $query eq $parted_check && $found =~ /^t/;
			push @wrong, "reader $m: $found" if $1 != 0;
		}
		ask($r, 'ROLLBACK') if $r->{err} =~ /ERROR/;
	}
}
cmp_ok($checks, '>', 20, "random: $checks comparisons, $sessions new sessions");
cmp_ok($kept, '>', 0, "random: a copy of the partitioned table $kept times");
is(scalar(@wrong), 0, 'random: no differences') or diag(join("\n", @wrong));
ask($_, 'ROLLBACK') for @writer, @reader;
finish($_) for @writer, @reader, $there, $here;

# a standby that is promoted: the session goes on with its copy, and writes
catch_up();
session_on($standby);
$there = session();
$edges = ask($there, q{SELECT count(*) FROM link});
is(ask($there, $check), "t|$edges|0", 'before the promotion');
$standby->promote;
is(ask($there, $check), "t|$edges|0", 'promoted');
is(ask($there, "BEGIN; DELETE FROM link; $check"), 't|0|0', 'promoted: its own changes');
is(ask($there, "ROLLBACK; $check"), "t|$edges|0", 'promoted: taken back');
$standby->safe_psql('postgres', $_) for 'DELETE FROM link WHERE source % 3 = 0', 'VACUUM (INDEX_CLEANUP on) link',
	q{INSERT INTO link SELECT i, i, 1, 'new' FROM generate_series(1, 100) i}, 'VACUUM (INDEX_CLEANUP on) link';
$edges = ask($there, q{SELECT count(*) FROM link});
is(ask($there, $check), "t|$edges|0", 'promoted: changes of others');
is((split /\|/, ask($there, $bits))[2], 0, 'promoted: the same bits');
finish($there);
session_on($primary);

# a validation that is canceled anywhere leaves a copy that can be validated
$here = session();
$primary->safe_psql('postgres', q{
	CREATE TABLE large (source int, target int);
	CREATE INDEX large_graph ON large USING hybrid_graph (source, target);
	INSERT INTO large SELECT i, i + 1 FROM generate_series(1, 200000) i;
});
my $large = q{SELECT kept, edges, differences FROM hybrid_graph_check('large_graph')};
my $canceled = 0;
for my $i (1 .. 12)
{
	$here->{err} = '';
	ask($here, "SET statement_timeout = '" . 2 * $i . "ms'; $large");
	$canceled++ if $here->{err} =~ /canceling statement due to statement timeout/;
	# all pages change now and then
	$primary->safe_psql('postgres', $i % 4 == 0 ? 'VACUUM FREEZE large' : "DELETE FROM large WHERE source % 1000 = $i");
}
cmp_ok($canceled, '>', 0, "canceled $canceled times");
is(ask($here, "SET statement_timeout = 0; $large"), 't|198200|0', 'and right at last');
finish($here);

# a crash: a new session reads what was committed
$edges = $primary->safe_psql('postgres', 'SELECT count(*) FROM link');
$primary->stop('immediate');
$primary->start;
is($primary->safe_psql('postgres', $check), "t|$edges|0", 'after a crash');

# checksums and hint bits: judging rows changes the LSN of their page, and it is not read again for that
$primary->append_conf('postgresql.conf', 'wal_log_hints = on');
$primary->restart;
session_on($primary);
$here = session();
$primary->safe_psql('postgres', q{UPDATE link SET weight = 1; CHECKPOINT});
# the query of hybrid_graph_check removes dead rows, which changes pages
ok(ask($here, q{SELECT count(*) FROM hybrid_degree('graph', 'out')}) > 0, 'wal_log_hints: a copy');
is(ask($here, q{SELECT pages_read FROM hybrid_graph_check('graph')}), '0', 'wal_log_hints: hint bits alone');
finish($here);

# old_snapshot_threshold, before 17: VACUUM may remove rows that a snapshot sees, so no copy is kept
SKIP:
{
	skip 'no old_snapshot_threshold from PostgreSQL 17 on', 1 if $primary->pg_version >= 17;
	$primary->append_conf('postgresql.conf', 'old_snapshot_threshold = 1h');
	$primary->restart;
	is($primary->safe_psql('postgres', $check), "f|$edges|0", 'old_snapshot_threshold: by a query');
	$primary->append_conf('postgresql.conf', 'old_snapshot_threshold = -1');
}

# wal_level = minimal: new storage is not in the WAL until it is committed
$standby->stop;
$primary->append_conf('postgresql.conf', q{
wal_level = minimal
max_wal_senders = 0
});
$primary->restart;
$here = session();
is(ask($here, $check), "t|$edges|0", 'wal_level = minimal: a copy');
is(ask($here, "BEGIN; TRUNCATE link; COPY (SELECT 1, 2, 3, 'a' FROM generate_series(1, 5)) TO '" . $primary->basedir . "/rows'"), '', 'TRUNCATE');
is(ask($here, "COPY link FROM '" . $primary->basedir . "/rows' (FREEZE); $check"), 'f|5|0', 'COPY FREEZE');
is(ask($here, "COPY link FROM '" . $primary->basedir . "/rows' (FREEZE); $check"), 'f|10|0', 'COPY FREEZE again');
is(ask($here, "COMMIT; $check"), 't|10|0', 'committed');
is(ask($here, $check), 't|10|0', 'and once more');
finish($here);
done_testing();
