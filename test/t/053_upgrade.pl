# pg_upgrade: indexes keep their bytes and give the same answers, registered graphs and the extension vector are there,
# and all of them can be written to afterwards.
#
# HYBRID_OLD_SERVER: a folder with an older server, whose programs are in its bin/ (test/versions.sh makes it). Without
# it, a server is upgraded to the same version.
use strict;
use warnings;

use Digest::MD5;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $from = $ENV{HYBRID_OLD_SERVER};
my $settings = "autovacuum = off\nshared_preload_libraries = 'hybrid'\n";
my @initdb = ('--encoding', 'UTF8', '--locale', 'C.UTF-8', '--data-checksums');

my $old = PostgreSQL::Test::Cluster->new('old', $from ? (install_path => $from) : ());
my $new = PostgreSQL::Test::Cluster->new('new');
$old->init(extra => \@initdb);
$new->init(extra => \@initdb);
$_->append_conf('postgresql.conf', $settings) for $old, $new;
note('from ' . $old->pg_version . ' to ' . $new->pg_version);

# the indexes, by the column that they order by and the distance
my %ordered = (
	item_v => [ 'v', '<->' ], item_f32 => [ 'v', '<#>' ], item_int8 => [ 'v', '<=>' ], item_h => [ 'h', '<->' ],
	item_s => [ 's', '<=>' ], item_b => [ 'b', '<~>' ], item_hnsw => [ 'v', '<+>' ], item_lists => [ 'h', '<=>' ]);

$old->start;
$old->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE EXTENSION vector;
	CREATE FUNCTION numbers(i int) RETURNS real[] LANGUAGE sql IMMUTABLE AS
		$$SELECT array_agg(sin(i * j) + i % 7) FROM generate_series(1, 16) j$$;
	CREATE TABLE item (id int PRIMARY KEY, v vector(16), h halfvec(16), s sparsevec(16), b bit(16));
	CREATE FUNCTION add_items(first int, last int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO item SELECT i, n::vector, n::halfvec, n::vector::sparsevec, binary_quantize((n::vector - '[3,3,3,3,3,3,3,3,3,3,3,3,3,3,3,3]'::vector))
		FROM (SELECT i, numbers(i) AS n FROM generate_series(first, last) i OFFSET 0) s
	$$;
	SELECT add_items(1, 2000);
	CREATE INDEX item_v ON item USING hybrid (v) WITH (list_size = 64);
	CREATE INDEX item_f32 ON item USING hybrid (v vector_ip_ops) WITH (storage = float32);
	CREATE INDEX item_int8 ON item USING hybrid (v vector_cosine_ops) WITH (storage = int8);
	CREATE INDEX item_h ON item USING hybrid (h);
	CREATE INDEX item_s ON item USING hybrid (s sparsevec_cosine_ops);
	CREATE INDEX item_b ON item USING hybrid (b);
	CREATE INDEX item_hnsw ON item USING hnsw (v vector_l1_ops) WITH (m = 8);
	CREATE INDEX item_lists ON item USING ivfflat (h halfvec_cosine_ops) WITH (lists = 10);
	CREATE UNLOGGED TABLE fast AS SELECT id, v FROM item WHERE id <= 100;
	ALTER TABLE fast ALTER v TYPE vector(16);
	CREATE INDEX fast_v ON fast USING hybrid (v);
	CREATE TABLE part (id int, v vector(16)) PARTITION BY RANGE (id);
	CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (1000);
	CREATE INDEX part_v ON part USING hybrid (v);
	INSERT INTO part SELECT id, v FROM item WHERE id < 300;
	CREATE TABLE link (source int, target int, weight real);
	INSERT INTO link SELECT i, i * 7 % 501, 1 + i % 3 FROM generate_series(1, 2000) i;
	CREATE INDEX links ON link USING hybrid_graph (source, target, weight);
	DELETE FROM item WHERE id % 5 = 0;
	DELETE FROM link WHERE source % 9 = 0;
	VACUUM item;
	SELECT add_items(2001, 2500);
	SELECT count(*) FROM hybrid_index_measure('item_v', (SELECT array_agg(v) FROM item WHERE id % 7 = 0), keep => true);
	UPDATE item SET b = ~b WHERE id % 11 = 0;
});

# Minor releases of November 2026 give each new column a parameter. Older ones of newer versions reject it, and pg_upgrade to
# them fails for every table. Then the columns are made what an older release of the old server would have left.
my $has_parameter = q{CREATE TEMP TABLE probe (a int); SELECT count(*) FROM pg_attribute WHERE attrelid = 'probe'::regclass
	AND attoptions::text ~ 'pg_attver'};
$new->start;
if ($old->safe_psql('postgres', $has_parameter) && !$new->safe_psql('postgres', $has_parameter))
{
	note('the columns of the old server lose pg_attver');
	$old->safe_psql('postgres', q{
		SET allow_system_table_mods = on;
		UPDATE pg_attribute SET attoptions = nullif(ARRAY(SELECT o FROM unnest(attoptions) o WHERE o !~ '^pg_attver='), '{}')
			WHERE attoptions IS NOT NULL;
	});
}
$new->stop;

# nearest INDEX: SQL for the rows near a row, by the index
sub nearest
{
	my ($index) = @_;
	my ($column, $operator) = @{ $ordered{$index} };

	return "SELECT id FROM item ORDER BY $column $operator (SELECT $column FROM item WHERE id = 77) LIMIT 20";
}

# contents NODE: what a server says of all this
sub contents
{
	my ($node) = @_;
	my @sql = (
		(map { "SELECT '$_', array_agg(id) FROM (" . nearest($_) . ') s' } sort keys %ordered),
		q{SELECT c.relname, hybrid_index_check(c.oid) FROM pg_class c JOIN pg_am a ON a.oid = relam
			WHERE amname IN ('hybrid', 'hnsw', 'ivfflat') AND relkind = 'i' ORDER BY relname},
		q{SELECT pg_get_indexdef(indexrelid), indisvalid FROM pg_index WHERE indrelid::regclass::text ~ '^(item|part|fast|link)' ORDER BY 1},
		q{SELECT * FROM hybrid_index_curve('item_v')},
		q{SELECT edges, differences FROM hybrid_graph_check('links')},
		q{SELECT * FROM hybrid_spread('links', ARRAY[1, 2], hops => 3)},
		q{SELECT count(*), sum(activation) FROM hybrid_spread('TABLE link', ARRAY[1, 2], hops => 3)},
		q{SELECT extname, extversion, extnamespace::regnamespace FROM pg_extension ORDER BY 1},
		q{SELECT id FROM part ORDER BY v <-> (SELECT v FROM item WHERE id = 77) LIMIT 5});

	return $node->safe_psql('postgres', 'SET enable_seqscan = off; SET enable_sort = off;' . join ';', @sql);
}

# files NODE: the MD5 sums of the files of the indexes in a server that is stopped, by name; $paths are relative to its data
my %paths;
sub files
{
	my ($node) = @_;
	my %sums;

	for my $index (keys %paths)
	{
		open(my $file, '<:raw', $node->data_dir . "/$paths{$index}") or die "$paths{$index}: $!";
		$sums{$index} = Digest::MD5->new->addfile($file)->hexdigest;
		close($file);
	}
	return \%sums;
}

my $before = contents($old);
like($before, qr/^item_v\|\{77,/m, 'the nearest row is the row itself');
for my $index (sort keys %ordered)
{
	like($old->safe_psql('postgres', "SET enable_seqscan = off; EXPLAIN (COSTS OFF) " . nearest($index)),
		qr/Index Scan using $index /, "$index is used");
}
%paths = map { split /\|/ } split /\n/, $old->safe_psql('postgres',
	q{SELECT c.relname, pg_relation_filepath(c.oid) FROM pg_class c JOIN pg_am a ON a.oid = relam
		WHERE amname IN ('hybrid', 'hnsw', 'ivfflat', 'hybrid_graph') AND relkind = 'i'});
is(scalar(keys %paths), 11, 'all indexes');
$old->stop;
my $sums = files($old);

my $old_bin = $from ? "$from/bin" : $old->config_data('--bindir');
my $new_bin = $new->config_data('--bindir');
chdir $new->basedir or die;
command_ok([
	'pg_upgrade', '--no-sync', '--old-bindir', $old_bin, '--new-bindir', $new_bin, '--old-datadir', $old->data_dir,
	'--new-datadir', $new->data_dir, '--old-port', $old->port, '--new-port', $new->port, '--socketdir', $new->host ], 'pg_upgrade')
	or diag(map { slurp_file($_) } glob($new->data_dir . '/pg_upgrade_output.d/*/log/*'));
is_deeply(files($new), $sums, 'each index has the bytes that it had');

$new->start;
is(contents($new), $before, 'and the answers, the calibration and the graph are what they were');
for my $index (sort keys %ordered)
{
	like($new->safe_psql('postgres', "SET enable_seqscan = off; EXPLAIN (COSTS OFF) " . nearest($index)),
		qr/Index Scan using $index /, "$index is still used");
}

# They go on: rows come and go, and VACUUM removes what was dead before, too.
$new->safe_psql('postgres', q{
	SELECT add_items(3001, 3500);
	DELETE FROM item WHERE id % 3 = 0;
	UPDATE item SET v = v + v WHERE id % 10 = 1;
	INSERT INTO part SELECT id, v FROM item WHERE id BETWEEN 300 AND 900;
	INSERT INTO fast SELECT id, v FROM item WHERE id BETWEEN 300 AND 900;
	UPDATE link SET weight = 5 WHERE source < 100;
});
$new->safe_psql('postgres', 'VACUUM item');
my $rows = $new->safe_psql('postgres', 'SELECT count(*) FROM item');
is($new->safe_psql('postgres', q{SELECT DISTINCT hybrid_index_check(c.oid) FROM pg_class c JOIN pg_am a ON a.oid = relam
	WHERE relname LIKE 'item%' AND amname IN ('hybrid', 'hnsw', 'ivfflat')}), $rows, 'each index has all rows after writes and VACUUM');
is($new->safe_psql('postgres', q{SELECT hybrid_index_check('part_1_v_idx') - count(*) FROM part}), 0, 'and that of a partition');
is($new->safe_psql('postgres', q{SELECT hybrid_index_check('fast_v') - count(*) FROM fast}), 0, 'and that of an unlogged table');
is($new->safe_psql('postgres', q{SELECT differences FROM hybrid_graph_check('links')}), 0, 'and the graph all edges');
is($new->safe_psql('postgres', 'REINDEX TABLE item; REINDEX INDEX links; CREATE INDEX item_again ON item USING hnsw (v vector_l2_ops);'
	. q{SELECT hybrid_index_check('item_again')}), $rows, 'indexes can be created');

$new->stop;
done_testing();
