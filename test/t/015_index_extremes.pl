# Tables that are difficult for a tree of lists: one vector repeated, zeros, one row, no row, one dimension and
# 16,000, very different lengths; built with little memory, and grown from an empty index.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $many = length($ENV{HYBRID_ROWS} // '') ? $ENV{HYBRID_ROWS} : 100_000;

my $node = PostgreSQL::Test::Cluster->new('extremes');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\njit = off\nfsync = off\nmaintenance_work_mem = 4MB\nmax_wal_size = 4GB\nstatement_timeout = 20min\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION hybrid');

my %operator = (l2 => '<->', ip => '<#>', cosine => '<=>', l1 => '<+>');

# holds TABLE, METRIC, QUERY, NAME [, ENTRIES]: check that the index is intact, returns every row exactly once
# when all lists are examined, and gives the distances of a sort
sub holds
{
	my ($table, $metric, $query, $name, $entries) = @_;
	my $by = "v $operator{$metric} '$query'";
	my $rows = $node->safe_psql('postgres', "SELECT count(*) FROM $table WHERE v IS NOT NULL");
	$entries //= $rows;
	is($node->safe_psql('postgres', "SET client_min_messages = warning; SELECT hybrid_index_check('${table}_v')"), $entries, "$name: whole");
	my $scan = "SET enable_seqscan = off; SET enable_sort = off; SET work_mem = '64MB'";
	like($node->safe_psql('postgres', "$scan; EXPLAIN SELECT id FROM $table ORDER BY $by"), qr/Index Scan using ${table}_v/, "$name: scanned by the index");
	is($node->safe_psql('postgres', "$scan; SET hybrid.target_recall = 1; SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM $table ORDER BY $by LIMIT 10000000) s"),
		"$entries|$entries", "$name: all found, none twice");
	is($node->safe_psql('postgres', "$scan; SET hybrid.probes = 1000000; SET hybrid.max_scan_tuples = 100000000; SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM $table ORDER BY $by LIMIT 10000000) s"),
		"$entries|$entries", "$name: and by looking into all lists");
	my $nearest = "SELECT array_agg(d) FROM (SELECT $by AS d FROM $table WHERE v IS NOT NULL ORDER BY $by LIMIT 50) s";
	my $sorted = $entries == $rows ? $node->safe_psql('postgres', "SET enable_indexscan = off; $nearest") : '';
	is($node->safe_psql('postgres', "$scan; SET hybrid.target_recall = 1; $nearest"), $sorted, "$name: the nearest are the nearest");
	return;
}

# one vector, repeated
$node->safe_psql('postgres', qq{
	CREATE TABLE same (id int, v vector(8));
	INSERT INTO same SELECT i, '[1,2,3,4,5,6,7,8]' FROM generate_series(1, $many) i;
	CREATE INDEX same_v ON same USING hybrid (v);
});
holds('same', 'l2', '[1,2,3,4,5,6,7,8]', 'one vector, built');
is($node->safe_psql('postgres', "SET enable_seqscan = off; SELECT count(*) FROM (SELECT id FROM same ORDER BY v <-> '[1,2,3,4,5,6,7,8]' LIMIT 40) s"), '40', 'a default search finds as many as are wanted');
$node->safe_psql('postgres', 'DELETE FROM same WHERE id % 2 = 0; VACUUM same;
	INSERT INTO same SELECT -i, \'[1,2,3,4,5,6,7,8]\' FROM generate_series(1, 3000) i; VACUUM same');
holds('same', 'l2', '[0,0,0,0,0,0,0,0]', 'one vector, half of them removed, others added');

my $grown = int($many / 5);
$node->safe_psql('postgres', qq{
	CREATE TABLE again (id int, v vector(3));
	CREATE INDEX again_v ON again USING hybrid (v vector_cosine_ops);
	INSERT INTO again SELECT i, '[1,2,3]' FROM generate_series(1, $grown) i;
});
holds('again', 'cosine', '[1,2,4]', 'one vector, grown');
my ($lists, $longest) = split /\|/, $node->safe_psql('postgres', "SELECT lists, list_max FROM hybrid_index_stats('again_v')");
cmp_ok($lists, '>', $grown / 400, 'lists of equal rows are split, too');
cmp_ok($longest, '<=', 193, 'and stay within their size');

# zeroes
for my $metric (sort keys %operator)
{
	$node->safe_psql('postgres', qq{
		CREATE TABLE zero_$metric (id int, v vector(5));
		INSERT INTO zero_$metric SELECT i, '[0,0,0,0,0]' FROM generate_series(1, 700) i;
		CREATE INDEX zero_${metric}_v ON zero_$metric USING hybrid (v vector_${metric}_ops);
		INSERT INTO zero_$metric SELECT 1000 + i, '[0,0,0,0,0]' FROM generate_series(1, 700) i;
	});
	# without a direction there is no distance by it
	holds("zero_$metric", $metric, '[0,1,0,0,0]', "zeroes by $metric", $metric eq 'cosine' ? 0 : 1400);
}
$node->safe_psql('postgres', "INSERT INTO zero_l2 SELECT i, ARRAY[i, 0, 0, 0, 0]::vector FROM generate_series(2001, 2500) i");
holds('zero_l2', 'l2', '[2100,0,0,0,0]', 'zeroes, and others');

# none, one, few
for my $metric (sort keys %operator)
{
	$node->safe_psql('postgres', "CREATE TABLE few_$metric (id int, v vector(4)); CREATE INDEX few_${metric}_v ON few_$metric USING hybrid (v vector_${metric}_ops)");
	holds("few_$metric", $metric, '[1,2,3,4]', "no row by $metric");
	$node->safe_psql('postgres', "INSERT INTO few_$metric VALUES (0, NULL), (1, '[4,3,2,1]')");
	holds("few_$metric", $metric, '[1,2,3,4]', "one row by $metric");
	$node->safe_psql('postgres', "REINDEX TABLE few_$metric");
	holds("few_$metric", $metric, '[1,2,3,4]', "one row by $metric, built");
	$node->safe_psql('postgres', "DELETE FROM few_$metric; VACUUM few_$metric; REINDEX TABLE few_$metric");
	holds("few_$metric", $metric, '[1,2,3,4]', "none again by $metric");
	$node->safe_psql('postgres', "INSERT INTO few_$metric SELECT i, ARRAY[i, 1, 1, -i]::vector FROM generate_series(1, 400) i");
	holds("few_$metric", $metric, '[1,2,3,4]', "the first splits by $metric");
}

# the least and the most dimensions, built and grown
my $made = q{(SELECT array_agg(sin(i::float8 * (j % 911 + 1)) * (1 + i % 9))::vector FROM generate_series(1, %d) j)};
for my $case ([ 1, 3000, 'l2' ], [ 1, 3000, 'cosine' ], [ 2, 3000, 'ip' ], [ 16000, 50, 'l2' ], [ 16000, 50, 'cosine' ], [ 16000, 20, 'l1' ])
{
	my ($dims, $rows, $metric) = @$case;
	my $table = "wide_${dims}_$metric";
	my $vector = sprintf $made, $dims;
	my $first = int($rows / 2);
	$node->safe_psql('postgres', qq{
		CREATE TABLE $table (id int, v vector($dims));
		INSERT INTO $table SELECT i, $vector FROM generate_series(1, $first) i;
		CREATE INDEX ${table}_v ON $table USING hybrid (v vector_${metric}_ops) WITH (list_size = 32);
		INSERT INTO $table SELECT i, $vector FROM generate_series($first + 1, $rows) i;
	});
	my $query = $node->safe_psql('postgres', "SELECT v FROM $table WHERE id = 7");
	holds($table, $metric, $query, "$dims dimensions by $metric");
	$node->safe_psql('postgres', "DELETE FROM $table WHERE id % 3 <> 1; VACUUM $table");
	holds($table, $metric, $query, "$dims dimensions by $metric, most removed");
}

# lengths far apart by the inner product; a table larger than the memory of the build
$node->safe_psql('postgres', qq{
	CREATE TABLE long (id int, v vector(16));
	INSERT INTO long SELECT i, (SELECT array_agg(sin(i::float8 * j) * 10 ^ (i % 7 - 3))::vector FROM generate_series(1, 16) j) FROM generate_series(1, 6000) i;
	CREATE INDEX long_v ON long USING hybrid (v vector_ip_ops);
	INSERT INTO long SELECT 10000 + i, (SELECT array_agg(cos(i::float8 * j) * 10 ^ (i % 9 - 4))::vector FROM generate_series(1, 16) j) FROM generate_series(1, 3000) i;
	CREATE TABLE large (id int, v vector(128));
	INSERT INTO large SELECT i, (SELECT array_agg(sin(i * 1.7 + j * (i % 101)))::vector FROM generate_series(1, 128) j) FROM generate_series(1, 24000) i;
	CREATE INDEX large_v ON large USING hybrid (v) WITH (storage = float32);
});
holds('long', 'ip', '[1,0,0.5,0,-1,0,0,2,0,0,0,0,1,1,1,-3]', 'lengths far apart');
holds('large', 'l2', $node->safe_psql('postgres', 'SELECT v FROM large WHERE id = 77'), 'three times the memory');

$node->stop;
done_testing();
