# A hybrid index on a standby: the same answers as on the primary, also while rows come and go, and
# WAL that replays to the same pages (wal_consistency_checking).
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', q{
autovacuum = off
wal_consistency_checking = 'generic'
max_standby_streaming_delay = 20s
});
$primary->start;
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', 'hot_standby_feedback = off');
$standby->start;

my %dims = (narrow => 12, wide => 9000);
my %class = (l2 => [ '<->', 'vector_l2_ops' ], ip => [ '<#>', 'vector_ip_ops' ], cosine => [ '<=>', 'vector_cosine_ops' ]);
my @indexes;

$primary->safe_psql('postgres', 'CREATE EXTENSION hybrid');
for my $table (sort keys %dims)
{
	$primary->safe_psql('postgres', qq{
		CREATE FUNCTION ${table}_of(i int) RETURNS vector LANGUAGE sql IMMUTABLE AS
		\$\$ SELECT array_agg((i * (j % 1000) * 7919) % 103 + 1)::real[]::vector FROM generate_series(1, $dims{$table}) j \$\$;
		CREATE TABLE $table (id int, v vector($dims{$table}));
		INSERT INTO $table SELECT i, ${table}_of(i) FROM generate_series(1, 30) i;
	});
	for my $metric (sort keys %class)
	{
		my $storage = $metric eq 'ip' ? 'float16' : 'float32';
		# one is built, the others are too: before and after most rows
		$primary->safe_psql('postgres',
			"CREATE INDEX ${table}_$metric ON $table USING hybrid (v $class{$metric}[1]) WITH (storage = $storage)");
		push @indexes, "${table}_$metric";
	}
}
$primary->safe_psql('postgres', 'CREATE UNLOGGED TABLE fast (v vector(2)); CREATE INDEX fast_v ON fast USING hybrid (v)');

sub compare
{
	my ($when) = @_;
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	for my $table (sort keys %dims)
	{
		for my $metric (sort keys %class)
		{
			my $query = qq{SET enable_seqscan = off; SET work_mem = '64kB';
				SELECT id, v $class{$metric}[0] ${table}_of(3) FROM $table ORDER BY v $class{$metric}[0] ${table}_of(3)};
			my $there = $standby->safe_psql('postgres', $query);
			my $here = $primary->safe_psql('postgres', $query);
			is($there, $here, "$when: ${table}_$metric answers alike");
			isnt($there, '', "$when: ${table}_$metric answers");
			like($standby->safe_psql('postgres', "EXPLAIN (COSTS OFF) SELECT id FROM $table ORDER BY v $class{$metric}[0] ${table}_of(3)"
					=~ s/^/SET enable_seqscan = off; /r),
				qr/Index Scan using ${table}_$metric/, "$when: by the index");
			my $knn = qq{SELECT k.id, distance FROM hybrid_knn('$table', 'v', ARRAY[${table}_of(3), ${table}_of(40)], 50, '$metric') k};
			$there = $standby->safe_psql('postgres', "SET enable_indexscan = on; $knn");
			isnt($there, '', "$when: hybrid_knn finds rows of $table by $metric on the standby");
			is($there, $standby->safe_psql('postgres', "SET enable_indexscan = off; $knn"),
				"$when: hybrid_knn over the store, $table by $metric, as over the table");
			is($there, $primary->safe_psql('postgres', $knn), "$when: hybrid_knn, $table by $metric, as on the primary");
		}
	}
	for my $index (@indexes)
	{
		is($standby->safe_psql('postgres', "SELECT hybrid_index_check('$index')"),
			$primary->safe_psql('postgres', "SELECT hybrid_index_check('$index')"), "$when: $index is whole on both");
	}
}

compare('built');
$primary->safe_psql('postgres', "INSERT INTO $_ SELECT i, ${_}_of(i) FROM generate_series(31, 90) i") for sort keys %dims;
compare('inserted');

# a cursor on the standby over rows that the primary deletes, vacuums and replaces
my $reader = $standby->background_psql('postgres', on_error_stop => 0);
$reader->query_safe("SET enable_seqscan = off");
$reader->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ");
$reader->query_safe("DECLARE c CURSOR FOR SELECT id FROM narrow ORDER BY v <-> narrow_of(3)");
is($reader->query_safe("FETCH 1 FROM c"), '3', 'a cursor on the standby');
$primary->safe_psql('postgres', "INSERT INTO $_ SELECT i, ${_}_of(i) FROM generate_series(91, 120) i") for sort keys %dims;
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
is($reader->query_safe("MOVE ALL IN c"), '', 'goes to its end');
is($reader->query_safe("SELECT count(*) FROM (SELECT id FROM narrow ORDER BY v <-> narrow_of(3)) s"), '90',
	'and its snapshot sees what it saw');
$reader->query_safe("COMMIT");
$reader->quit;

for my $table (sort keys %dims)
{
	$primary->safe_psql('postgres', "DELETE FROM $table WHERE id % 2 = 0");
	$primary->safe_psql('postgres', "VACUUM $table");
	like($primary->safe_psql('postgres', "SELECT dead FROM hybrid_index_stats('${table}_l2')"), qr/^60$/, "$table: entries died");
}
compare('vacuumed');
$primary->safe_psql('postgres', "INSERT INTO $_ SELECT i, ${_}_of(i) FROM generate_series(200, 270) i") for sort keys %dims;
$primary->safe_psql('postgres', "REINDEX INDEX narrow_l2; REINDEX INDEX wide_ip");
compare('filled again');

my ($rc, $out, $err) = $standby->psql('postgres', 'SET enable_seqscan = off; SELECT * FROM fast ORDER BY v <-> \'[1,2]\'');
like($err, qr/cannot access temporary or unlogged relations during recovery/, 'an unlogged index is not there');
($rc, $out, $err) = $standby->psql('postgres', q{SELECT * FROM hybrid_knn('fast', 'v', ARRAY['[1,2]']::vector[])});
like($err, qr/cannot access temporary or unlogged relations during recovery/, 'nor is an unlogged table for hybrid_knn');

$standby->promote;
$standby->safe_psql('postgres', "INSERT INTO narrow SELECT i, narrow_of(i) FROM generate_series(300, 320) i");
is($standby->safe_psql('postgres', "SELECT hybrid_index_check('narrow_l2') >= (SELECT count(*) FROM narrow)"), 't', 'promoted and written to');
is($standby->safe_psql('postgres', "INSERT INTO fast VALUES ('[1,2]'); SELECT hybrid_index_check('fast_v')"), '1', 'the unlogged index too');

$standby->stop;
$primary->stop;
done_testing();
