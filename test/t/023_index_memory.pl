# CREATE INDEX when shared memory runs out, and the memory that it takes.  A limit on the size of files stands for
# a full /dev/shm: the server gets an error from it, too, when it extends a segment.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use HybridSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'prlimit (util-linux) is not here to limit the size of files' if system('prlimit --version > /dev/null 2>&1') != 0;

my $node = PostgreSQL::Test::Cluster->new('memory');
# files of the log below the limits
$node->init(extra => ['--wal-segsize=1']);
$node->append_conf('postgresql.conf', "maintenance_work_mem = 256MB\nautovacuum = off\njit = off\nmax_parallel_workers = 8\nmin_parallel_table_scan_size = 0\n");
$node->start;
session_on($node);

$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE TABLE item (id int, v vector(128)) WITH (autovacuum_enabled = off);
	INSERT INTO item SELECT i, (SELECT array_agg(sin(i * j) + sin(i % 61 * j)) FROM generate_series(1, 128) j)::vector
		FROM generate_series(1, 15000) i;
	VACUUM ANALYZE item;
	CREATE FUNCTION bytes(i regclass) RETURNS text LANGUAGE sql AS $$
		SELECT count(*) || md5(string_agg(md5(pg_read_binary_file(pg_relation_filepath(i), n * 8192 + 8, 8184)), '' ORDER BY n))
		FROM generate_series(0, pg_relation_size(i) / 8192 - 1) n $$;
});

# limit BYTES, PID: limit the size of files that this process writes
sub limit
{
	my ($bytes, $pid) = @_;

	is(system("prlimit --pid $pid --fsize=$bytes:unlimited 2>/dev/null"), 0, "files of $bytes bytes at most");
	return;
}

# begin WORKERS: return a session that will build indexes with so many workers, and its process
sub begin
{
	my ($workers) = @_;
	my $session = session();

	ask($session, "SET client_min_messages = debug1; SET max_parallel_maintenance_workers = $workers");
	return ($session, ask($session, 'SELECT pg_backend_pid()'));
}

# There is no room for workers: an error, as of any parallel query.  Nothing is left, and the session goes on.
my ($session, $leader) = begin(2);
limit(100_000, $leader);
ask($session, 'CREATE INDEX item_v ON item USING hybrid (v)');
limit('unlimited', $leader);
like($session->{err}, qr/ERROR:  could not resize shared memory segment/, 'no room for workers is an error');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_class WHERE relname = 'item_v'}), '0', 'which leaves nothing');
$session->{err} = '';
ask($session, 'CREATE INDEX item_v ON item USING hybrid (v)');
like($session->{err}, qr/with 2 parallel workers/, 'once more');
unlike($session->{err}, qr/ERROR/, 'and without an error');
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('item_v')}), '15000', 'all rows are there');
finish($session);
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
	like($err, qr/with $workers parallel workers/, "long lists, $workers workers") if $workers > 0;
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
($session, $leader) = begin(1);
limit(4_000_000, $leader);
ask($session, 'CREATE INDEX sparse_v ON sparse USING hybrid (s)');
limit('unlimited', $leader);
unlike($session->{err}, qr/ERROR/, 'a billion dimensions take no room');
like($session->{err}, qr/with 1 parallel workers/, 'of any process');
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('sparse_v')}), '2000', 'and are right');
finish($session);

$node->stop;
done_testing();
