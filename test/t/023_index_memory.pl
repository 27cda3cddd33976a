# CREATE INDEX when shared memory runs out, at any step and in any process: it continues without shared memory,
# and the index has the same bytes.  A limit on the size of files stands for a full /dev/shm: the server gets an
# error from it, too, when it extends a segment.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use HybridSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

plan skip_all => 'prlimit (util-linux) is not here to limit the size of files' if system('prlimit --version > /dev/null 2>&1') != 0;

my $node = PostgreSQL::Test::Cluster->new('memory');
# files of the log below the limit
$node->init(extra => ['--wal-segsize=1']);
$node->append_conf('postgresql.conf', "maintenance_work_mem = 256MB\nautovacuum = off\njit = off\nmax_parallel_workers = 8\nmin_parallel_table_scan_size = 0\n");
$node->start;
session_on($node);

# A row is held up while there is a file that says so: of the phase, and of the leader or a worker.
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE FUNCTION held(id int, v vector) RETURNS vector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
	DECLARE who text;
	BEGIN
		IF id % 40 = 1 THEN
			who := (SELECT CASE WHEN leader_pid IS NULL THEN 'leader' ELSE 'worker' END FROM pg_stat_activity WHERE pid = pg_backend_pid());
			LOOP
				PERFORM pg_stat_clear_snapshot();
				EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_progress_create_index
					WHERE (pg_stat_file('hold_' || split_part(phase, ' ', 3) || '_' || who, true)).size IS NOT NULL);
				PERFORM pg_sleep(0.01);
			END LOOP;
		END IF;
		RETURN v;
	END $$;
	CREATE TABLE item (id int, v vector(128)) WITH (autovacuum_enabled = off);
	INSERT INTO item SELECT i, (SELECT array_agg(sin(i * j) + sin(i % 61 * j)) FROM generate_series(1, 128) j)::vector
		FROM generate_series(1, 15000) i;
	CREATE TABLE few (id int, v vector(1000)) WITH (autovacuum_enabled = off);
	SELECT setseed(0.5);
	INSERT INTO few SELECT i, (SELECT array_agg(random() - 0.5) FROM generate_series(1, 1000) WHERE i > 0)::vector
		FROM generate_series(1, 5000) i;
	VACUUM ANALYZE item, few;
	CREATE FUNCTION bytes(i regclass) RETURNS text LANGUAGE sql AS $$
		SELECT count(*) || md5(string_agg(md5(pg_read_binary_file(pg_relation_filepath(i), n * 8192 + 8, 8184)), '' ORDER BY n))
		FROM generate_series(0, pg_relation_size(i) / 8192 - 1) n $$;
});
my %index = (
	item => 'CREATE INDEX item_v ON item USING hybrid ((held(id, v)::vector(128)))',
	few => 'CREATE INDEX few_v ON few USING hybrid ((held(id, v)::vector(1000))) WITH (storage = int8, list_size = 32)');
my %rows = (item => 15000, few => 5000);

my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;

sub workers { return split /\n/, $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'parallel worker'}); }

# limit BYTES, PID ...: limit the size of files that these processes write
sub limit
{
	my ($bytes, @pids) = @_;

	system("prlimit --pid $_ --fsize=$bytes:unlimited 2>/dev/null") for @pids;
	return;
}

sub hold { append_to_file($node->data_dir . "/hold_$_", "\n") for @_; return; }
sub release { unlink map { $node->data_dir . "/hold_$_" } @_; return; }

# heard SESSION, WHAT: wait until the session has received this message
sub heard
{
	my ($session, $what) = @_;
	my $end = time + $PostgreSQL::Test::Utils::timeout_default;

	while ($session->{err} !~ $what && time < $end)
	{
		$session->{run}->pump_nb;
		last if $session->{out} =~ /^built$/m;
		sleep(0.01);
	}
	like($session->{err}, $what, "the build says $what");
	return;
}

# begin TABLE, WORKERS: return a session that will build an index later, and its process
sub begin
{
	my ($table, $workers) = @_;
	my $session = session();

	ask($session, "DROP INDEX IF EXISTS ${table}_v; SET client_min_messages = debug1; SET max_parallel_maintenance_workers = $workers");
	# a build makes the count right
	ask($session, q{UPDATE pg_class SET reltuples = 80000 WHERE relname = 'few'});
	return ($session, ask($session, 'SELECT pg_backend_pid()'));
}

sub start
{
	my ($session, $table) = @_;

	$session->{err} = $session->{out} = '';
	$session->{in} .= "$index{$table};\n\\echo built\n";
	$session->{run}->pump_nb;
	return;
}

my %whole;
sub made
{
	my ($session, $table, $how) = @_;

	ask($session, 'SELECT 1');
	unlike($session->{err}, qr/ERROR|leak/, "$how: no error");
	$node->safe_psql('postgres', 'CHECKPOINT');
	my $bytes = $node->safe_psql('postgres', "SELECT bytes('${table}_v')");
	$whole{$table} //= $bytes;
	is($bytes, $whole{$table}, "$how: the bytes are the same");
	is($node->safe_psql('postgres', "SELECT hybrid_index_check('${table}_v')"), $rows{$table}, "$how: and right");
	$node->safe_psql('postgres', "DROP INDEX ${table}_v");
	finish($session);
	return;
}

# with room
for my $table (sort keys %rows)
{
	my ($session) = begin($table, 1);
	start($session, $table);
	heard($session, qr/rows are kept in memory/);
	made($session, $table, "$table, with room");
}
$node->safe_psql('postgres', 'CHECKPOINT');

my $no_room = qr/hybrid: an index is built with less shared memory: could not resize shared memory segment/;

# a worker has none, the leader has not begun
my ($session, $leader) = begin('item', 1);
hold(qw(reading_leader assigning_leader assigning_worker));
limit(1_500_000, $postmaster);
start($session, 'item');
heard($session, $no_room);
release('reading_leader');
heard($session, qr/there is no room to keep rows/);
limit('unlimited', $postmaster, workers());
release(qw(assigning_leader assigning_worker));
made($session, 'item', 'a worker without room');

# the leader has none after the first, workers have not begun
($session, $leader) = begin('item', 2);
hold(qw(reading_worker assigning_leader assigning_worker));
limit(1_500_000, $leader);
start($session, 'item');
heard($session, $no_room);
release('reading_worker');
heard($session, qr/there is no room to keep rows/);
limit('unlimited', $leader);
release(qw(assigning_leader assigning_worker));
made($session, 'item', 'a leader without room');

# none to begin with; what the function takes of it is there from the build before
($session, $leader) = begin('item', 2);
ask($session, "$index{item}; DROP INDEX item_v");
hold(qw(assigning_leader assigning_worker));
limit(900_000, $leader);
start($session, 'item');
heard($session, qr/there is no room to keep rows.*with 2 parallel workers/s);
limit('unlimited', $leader);
release(qw(assigning_leader assigning_worker));
made($session, 'item', 'no room at all');

# rows are kept, in segments of 1, 1, 2 and 2 MB, and there is none to say where lists are
($session, $leader) = begin('few', 1);
hold(qw(reading_leader reading_worker assigning_leader assigning_worker));
start($session, 'few');
heard($session, qr/with 1 parallel workers/);
limit(3_000_000, $leader);
release(qw(reading_leader reading_worker));
heard($session, qr/rows are kept in memory.*there is no room to lay rows/s);
limit('unlimited', $leader);
release(qw(assigning_leader assigning_worker));
made($session, 'few', 'no room for what is known of lists');

# none for workers
($session, $leader) = begin('item', 2);
hold('reading_leader');
limit(100_000, $leader);
start($session, 'item');
heard($session, $no_room);
limit('unlimited', $leader);
release('reading_leader');
heard($session, qr/rows are kept in memory/);
unlike($session->{err}, qr/parallel workers/, 'no workers then');
made($session, 'item', 'no room for workers');

# in the same session again, and cancelled: nothing is left of what there was no room for
($session, $leader) = begin('item', 1);
hold(qw(assigning_leader assigning_worker));
limit(1_500_000, $postmaster, $leader);
start($session, 'item');
heard($session, qr/there is no room to keep rows/);
limit('unlimited', $postmaster, $leader, workers());
ok($node->poll_query_until('postgres', "SELECT pg_cancel_backend($leader)"), 'it is cancelled');
ask($session, 'SELECT 1');
like($session->{err}, qr/canceling statement/, 'and ends');
release(qw(assigning_leader assigning_worker));
start($session, 'item');
heard($session, qr/rows are kept in memory/);
made($session, 'item', 'once more');
unlike(slurp_file($node->logfile), qr/leak/, 'and nothing leaked');

# Lists that are longer than what a process may have in memory while others have theirs: the same by all.
$node->safe_psql('postgres', q{
	CREATE TABLE long (id int, v vector(256)) WITH (autovacuum_enabled = off, parallel_workers = 4);
	INSERT INTO long SELECT i, c.v FROM generate_series(1, 3000) i,
		(SELECT n, array_agg(sin(j * n))::vector AS v FROM generate_series(1, 256) j, generate_series(1, 6) n GROUP BY n) c;
	VACUUM ANALYZE long});
my %long;
for my $workers (0, 1, 4)
{
	my ($rc, $out, $err) = $node->psql('postgres', "SET client_min_messages = debug1; SET maintenance_work_mem = '24MB'; SET max_parallel_maintenance_workers = $workers;
		CREATE INDEX long_v ON long USING hybrid (v)");
	like($err, $workers > 0 ? qr/with $workers parallel workers.*rows are kept/s : qr/rows are kept/, "long lists, $workers workers");
	$node->safe_psql('postgres', 'CHECKPOINT');
	$long{ $node->safe_psql('postgres', q{SELECT bytes('long_v')}) } = 1;
	is($node->safe_psql('postgres', q{SELECT hybrid_index_check('long_v')}), '18000', 'are right');
	cmp_ok($node->safe_psql('postgres', q{SELECT list_max FROM hybrid_index_stats('long_v')}), '<=', 8 * 192, 'and cut');
	$node->safe_psql('postgres', 'DROP INDEX long_v');
}
is(scalar(keys %long), 1, 'and have the same bytes');

# A billion dimensions, and no codes: no room is asked for centroids, which there are none of.
$node->safe_psql('postgres', q{
	CREATE TABLE sparse (id int, s sparsevec(1000000000)) WITH (autovacuum_enabled = off, parallel_workers = 1);
	INSERT INTO sparse SELECT i, ('{' || i || ':1,1000000000:2}/1000000000')::sparsevec FROM generate_series(1, 2000) i;
	VACUUM ANALYZE sparse});
($session, $leader) = begin('sparse', 1);
limit(4_000_000, $leader);
ask($session, 'CREATE INDEX sparse_v ON sparse USING hybrid (s)');
limit('unlimited', $leader);
unlike($session->{err}, qr/ERROR|less shared memory/, 'a billion dimensions take no room');
like($session->{err}, qr/with 1 parallel workers/, 'of any process');
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('sparse_v')}), '2000', 'and are right');
finish($session);

$node->stop;
done_testing();
