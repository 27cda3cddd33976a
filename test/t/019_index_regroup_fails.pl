# VACUUM cannot give an index a new tree: it fails half way, or there is not enough memory for it.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib $FindBin::RealBin;
use HybridSession;

my $node = PostgreSQL::Test::Cluster->new('regroup_fails');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	SELECT setseed(0.5);
	CREATE TABLE source AS SELECT i, (SELECT array_agg(random()) FROM generate_series(1, 1024) WHERE i > 0)::vector(1024) AS v
		FROM generate_series(1, 4500) i;
	CREATE TABLE item (id int, v vector(1024));
	CREATE INDEX item_v ON item USING hybrid (v) WITH (list_size = 32);
	INSERT INTO item SELECT i, v FROM source WHERE i <= 2000;
});
session_on($node);

# vacuum [SETTINGS]: run VACUUM and return its messages
sub vacuum
{
	my ($settings) = @_;
	my $err;

	$node->psql('postgres', 'SET client_min_messages = debug1;' . ($settings // '') . '; VACUUM item', stderr => \$err);
	return $err;
}

sub size
{
	return $node->safe_psql('postgres', q{SELECT pg_relation_size('item_v')});
}

# it waits for a catalog when it has begun to copy rows: for somebody who gives up first, and then for a lock
# that it cannot have
my $other = session();
ask($other, 'BEGIN; LOCK TABLE pg_amop IN ACCESS EXCLUSIVE MODE');
my %run = (in => '', out => '', err => '');
$run{run} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', q{SET lock_timeout = '20s'}, '-c', 'VACUUM item' ],
	'<', \$run{in}, '>', \$run{out}, '2>', \$run{err});
my $held = q{SELECT string_agg(DISTINCT locktype, ' ') FROM pg_locks WHERE relation = 'item_v'::regclass
	AND pid = (SELECT pid FROM pg_locks WHERE relation = 'pg_amop'::regclass AND NOT granted)};
my $locks = '';
for (1 .. 150)
{
	$locks = ask($other, $held);
	last if $locks ne '';
	select undef, undef, undef, 0.1;
}
is($locks, 'relation tuple', 'locks of tuples, not of pages');
ask($other, 'SELECT pg_cancel_backend(pid) FROM pg_locks WHERE relation = \'pg_amop\'::regclass AND NOT granted');
$run{run}->finish;
like($run{err}, qr/canceling statement due to user request/, 'making another tree is cancelled');
ask($other, 'COMMIT');
finish($other);

my $size = size();
unlike(vacuum(), qr/index regroup: |ERROR|WARNING/, 'is not tried again at once');
unlike(vacuum(), qr/index regroup: |ERROR|WARNING/, 'nor then');
is(size(), $size, 'and the file is not longer');
$node->safe_psql('postgres', 'INSERT INTO item SELECT i, v FROM source WHERE i > 2000 AND i <= 3000');
like(vacuum(), qr/index regroup: \d+ lists become \d+; 3000 rows/, 'it is when the index has grown by more than a quarter');
unlike(vacuum(), qr/index regroup: /, 'and not once more');

# memory
$node->safe_psql('postgres', q{
	TRUNCATE item;
	INSERT INTO item SELECT i, v FROM source WHERE i <= 2500;
});
my $little = q{SET maintenance_work_mem = '1MB'};
my $said = vacuum($little);
like($said, qr/WARNING:  lists of index "item_v" are not rebuilt\nDETAIL:  Rebuilding them takes (\d+) kB, which is more than "maintenance_work_mem"/,
	'a warning says what it takes');
my ($takes) = $said =~ /Rebuilding them takes (\d+) kB/;
unlike($said, qr/index regroup: /, 'and it is not done');
unlike(vacuum($little), qr/index regroup: |WARNING/, 'once');
like(vacuum("SET maintenance_work_mem = '$takes kB'"), qr/index regroup: /, 'with enough memory it is done, without a row more');
unlike(vacuum(), qr/index regroup: /, 'and not once more');
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('item_v')}), '2500', 'all rows are in the index');

# in autovacuum the memory is another
$node->safe_psql('postgres', q{
	CREATE TABLE other (id int, v vector(1024)) WITH (autovacuum_vacuum_insert_threshold = 1, autovacuum_vacuum_insert_scale_factor = 0);
	CREATE INDEX other_v ON other USING hybrid (v) WITH (list_size = 32);
	INSERT INTO other SELECT i, v FROM source WHERE i <= 2500;
});
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'hybrid'
autovacuum = on
autovacuum_naptime = 1s
autovacuum_work_mem = 1MB
});
$node->restart;
my $warned = 0;
for (1 .. 300)
{
	$warned = slurp_file($node->logfile) =~ /lists of index "other_v" are not rebuilt\n.*DETAIL:  Rebuilding them takes \d+ kB, which is more than "autovacuum_work_mem"/;
	last if $warned;
	select undef, undef, undef, 0.2;
}
ok($warned, 'autovacuum goes by its own memory');
# lots: return the number of batches of codes.  In autovacuum, measuring uses autovacuum_work_mem, too, so codes
# come in many batches; a build has more memory
sub lots
{
	return $node->safe_psql('postgres', q{SELECT coalesce(sum(calls), 0)::bigint FROM hybrid_stats WHERE operation = 'score_codes' AND scope = 'cluster'});
}
$node->poll_query_until('postgres', q{SELECT count(*) > 1 FROM hybrid_index_curve('other_v')});
my $own = lots();
$node->safe_psql('postgres', 'REINDEX INDEX other_v');
my $build = lots() - $own;
cmp_ok($own, '>=', 3 * $build, "also when it measures: $own lots instead of $build");
cmp_ok($build, '>', 0, 'which are counted');
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->restart;

# an index that has lost half of its lists needs no more than twice as many as then
$node->safe_psql('postgres', q{DELETE FROM item WHERE id > 700; VACUUM item; VACUUM item});
$node->safe_psql('postgres', 'INSERT INTO item SELECT i, v FROM source WHERE i > 700 AND i <= 2200');
like(vacuum(), qr/index regroup: /, 'twice as many lists as when there were fewest');
done_testing();
