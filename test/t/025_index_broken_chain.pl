# A row version that an old snapshot sees and a new index lacks: the index is marked (indcheckxmin), also if a
# worker of the build and not the leader found it.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use HybridSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('broken');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\nmax_parallel_workers = 8\n");
$node->start;
session_on($node);
# the leader takes its time over each row
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE FUNCTION place(v vector) RETURNS vector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
	BEGIN
		IF current_setting('test.leader', true) = pg_backend_pid()::text THEN
			PERFORM pg_sleep(0.005);
		END IF;
		RETURN v;
	END $$;
	-- as many workers, however little memory there is
	CREATE TABLE item (id int, v vector(64)) WITH (autovacuum_enabled = off, fillfactor = 90, parallel_workers = 2);
	INSERT INTO item SELECT i, (SELECT array_agg(sin(i * j)) FROM generate_series(1, 64) j)::vector FROM generate_series(1, 4000) i;
	VACUUM ANALYZE item});
my ($old, $builder) = (session(), session());
ask($old, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
ask($builder, 'SET client_min_messages = debug1; SET min_parallel_table_scan_size = 0');
ask($builder, q{SELECT set_config('test.leader', pg_backend_pid()::text, false)});

# build MEMORY: build an index and return indcheckxmin
sub build
{
	my ($memory) = @_;

	ask($builder, 'DROP INDEX IF EXISTS item_v');
	$builder->{err} = '';
	ask($builder, "SET maintenance_work_mem = '$memory'; CREATE INDEX item_v ON item USING hybrid ((place(v)::vector(64)))");
	like($builder->{err}, qr/with \d parallel workers/, "$memory: workers");
	return $node->safe_psql('postgres', q{SELECT indcheckxmin FROM pg_index WHERE indexrelid = 'item_v'::regclass});
}

# rows are sorted in memory, or on disk
my @memory = ('64MB', '1MB');
is(build($_), 'f', "$_: nobody has changed anything") for @memory;
ask($builder, 'DROP INDEX item_v');
$node->safe_psql('postgres', 'UPDATE item SET v = v + v WHERE id = 2500');
is(build($_), 't', "$_: a row has changed") for @memory;
ask($old, 'COMMIT');
$node->safe_psql('postgres', 'VACUUM item');
is(build($_), 'f', "$_: when nobody sees what it was, the index is as good as any") for @memory;
finish($_) for $old, $builder;
done_testing();
