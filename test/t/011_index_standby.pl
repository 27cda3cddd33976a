# A hybrid index on a standby: the same answers as on the primary, also while rows are added and removed and lists
# are split.  WAL replays to the same pages: checked record by record (wal_consistency_checking), and in the files
# at the end.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use HybridSession;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', q{
autovacuum = off
wal_consistency_checking = 'generic'
max_standby_streaming_delay = 20s
});
$primary->start;
# on a busy machine the standby may be farther behind than what max_wal_size keeps
$primary->safe_psql('postgres', "SELECT pg_create_physical_replication_slot('standby', true)");
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "primary_slot_name = 'standby'\nhot_standby_feedback = off\n");
$standby->start;

my %dims = (narrow => 12, wide => 9000);
my %class = (l2 => [ '<->', 'vector_l2_ops' ], ip => [ '<#>', 'vector_ip_ops' ], cosine => [ '<=>', 'vector_cosine_ops' ]);
my @indexes;

# a query for all rows is not planned with an index that might not find them all, unless there is no other way
my $by_index = 'SET enable_seqscan = off; SET enable_sort = off;';

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
			"CREATE INDEX ${table}_$metric ON $table USING hybrid (v $class{$metric}[1]) WITH (storage = $storage, list_size = 32)");
		push @indexes, "${table}_$metric";
	}
}
$primary->safe_psql('postgres', 'CREATE INDEX narrow_arrays ON narrow USING hybrid ((ARRAY[v, v * v]::vector(12)[])) WITH (list_size = 32)');
push @indexes, 'narrow_arrays';
# sparse vectors, with inverted lists
$primary->safe_psql('postgres', q{
	CREATE FUNCTION thin_of(i bigint) RETURNS sparsevec LANGUAGE sql IMMUTABLE AS
	$$ SELECT format('{1:%s,%s:1,%s:3}/1000', 1 + i % 101, 2 + i % 7, 10 + i * 7919 % 990)::sparsevec(1000) $$;
	CREATE TABLE thin (id serial, v sparsevec(1000));
	INSERT INTO thin (v) SELECT thin_of(i) FROM generate_series(1, 600) i;
	CREATE INDEX thin_v ON thin USING hybrid (v);
	CREATE TABLE asked AS SELECT q, thin_of(q * 41) AS target FROM generate_series(1, 10) q;
});
push @indexes, 'thin_v';
my $thin = q{SELECT string_agg(d::text, ' ' ORDER BY q, d) FROM asked,
	LATERAL (SELECT v <-> target AS d FROM thin ORDER BY v <-> target LIMIT 5) s};
$primary->safe_psql('postgres', 'CREATE UNLOGGED TABLE fast (v vector(2)); CREATE INDEX fast_v ON fast USING hybrid (v)');

sub compare
{
	my ($when) = @_;
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	for my $table (sort keys %dims)
	{
		for my $metric (sort keys %class)
		{
			my $query = qq{$by_index SET work_mem = '64kB';
				SELECT id, v $class{$metric}[0] ${table}_of(3) FROM $table ORDER BY v $class{$metric}[0] ${table}_of(3)};
			my $there = $standby->safe_psql('postgres', $query);
			my $here = $primary->safe_psql('postgres', $query);
			is($there, $here, "$when: ${table}_$metric answers alike");
			isnt($there, '', "$when: ${table}_$metric answers");
			like($standby->safe_psql('postgres', "EXPLAIN (COSTS OFF) SELECT id FROM $table ORDER BY v $class{$metric}[0] ${table}_of(3)"
					=~ s/^/$by_index /r),
				qr/Index Scan using ${table}_$metric/, "$when: by the index");
			my $knn = qq{SELECT k.tid, distance FROM hybrid_knn('$table', 'v', ARRAY[${table}_of(3), ${table}_of(40)], 50, '$metric') k};
			$there = $standby->safe_psql('postgres', "SET enable_indexscan = on; $knn");
			isnt($there, '', "$when: hybrid_knn finds rows of $table by $metric on the standby");
			is($there, $standby->safe_psql('postgres', "SET enable_indexscan = off; $knn"),
				"$when: hybrid_knn over the store, $table by $metric, as over the table");
			is($there, $primary->safe_psql('postgres', $knn), "$when: hybrid_knn, $table by $metric, as on the primary");
		}
	}
	my $documents = "$by_index SELECT id FROM narrow ORDER BY (ARRAY[v, v * v]::vector(12)[]) @# ARRAY[narrow_of(3), narrow_of(5)]";
	isnt($standby->safe_psql('postgres', $documents), '', "$when: arrays are found");
	is($standby->safe_psql('postgres', $documents), $primary->safe_psql('postgres', $documents), "$when: an index on arrays answers alike");
	is($standby->safe_psql('postgres', "$by_index $thin"), $primary->safe_psql('postgres', "SET enable_indexscan = off; $thin"), "$when: sparse vectors are found alike");
	for my $index (@indexes)
	{
		is($standby->safe_psql('postgres', "SELECT hybrid_index_check('$index')"),
			$primary->safe_psql('postgres', "SELECT hybrid_index_check('$index')"), "$when: $index is whole on both");
	}
}

compare('built');
$primary->safe_psql('postgres', "INSERT INTO $_ SELECT i, ${_}_of(i) FROM generate_series(31, 90) i") for sort keys %dims;
compare('inserted');

# a cursor on the standby while the primary splits the lists that it has yet to read: somebody on the primary, too,
# could be reading them, so nobody takes their pages (else it may be told of a conflict: 011_index_feedback.pl)
session_on($primary);
my $holder = session();
ask($holder, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
is(ask($holder, 'SELECT count(*) FROM narrow'), '90', 'a snapshot on the primary');
session_on($standby);
my $reader = session();
ask($reader, $by_index);
ask($reader, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
ask($reader, 'DECLARE c CURSOR FOR SELECT id FROM narrow ORDER BY v <-> narrow_of(3)');
is(ask($reader, 'FETCH 1 FROM c'), '3', 'a cursor on the standby');
my $lists = "SELECT lists FROM hybrid_index_stats('narrow_l2')";
my $before = $primary->safe_psql('postgres', $lists);
$primary->safe_psql('postgres', "INSERT INTO $_ SELECT i, ${_}_of(i) FROM generate_series(91, 120) i") for sort keys %dims;
cmp_ok($primary->safe_psql('postgres', $lists), '>', $before, 'lists were split under it');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
my $rest = () = ask($reader, 'FETCH ALL FROM c') =~ /^\d+$/mg;
is($rest, 89, 'its snapshot sees what it saw: to the end of the cursor');
is(ask($reader, 'SELECT count(*) FROM (SELECT id FROM narrow ORDER BY v <-> narrow_of(3)) s'), '90', 'its snapshot sees what it saw: in another scan');
is($reader->{err}, '', 'nobody tells it of a conflict');
ask($_, 'COMMIT') for $reader, $holder;
finish($_) for $reader, $holder;

for my $table (sort keys %dims)
{
	# other lists, since there are more; then one that loses few entries keeps their places, and one that loses
	# many is written anew without them
	$primary->safe_psql('postgres', "VACUUM $table");
	$primary->safe_psql('postgres', "DELETE FROM $table WHERE id % 12 = 0");
	$primary->safe_psql('postgres', "VACUUM $table");
	like($primary->safe_psql('postgres', "SELECT dead, entries FROM hybrid_index_stats('${table}_l2')"), qr/^[1-9]\d*\|110$/, "$table: entries died");
	like($primary->safe_psql('postgres', "SELECT lists FROM hybrid_index_stats('${table}_l2')"), qr/^([3-9]|\d\d)$/, "$table: lists were split");
}
compare('vacuumed');
for my $table (sort keys %dims)
{
	$primary->safe_psql('postgres', "DELETE FROM $table WHERE id % 2 = 0");
	$primary->safe_psql('postgres', "VACUUM $table");
	is($primary->safe_psql('postgres', "SELECT entries FROM hybrid_index_stats('${table}_l2')"), '60', "$table: more entries died");
}
compare('vacuumed again');
$primary->safe_psql('postgres', "INSERT INTO $_ SELECT i, ${_}_of(i) FROM generate_series(200, 270) i") for sort keys %dims;
$primary->safe_psql('postgres', "REINDEX INDEX narrow_l2; REINDEX INDEX wide_ip");
compare('filled again');

# sparse vectors on the standby while VACUUM on the primary replaces their inverted lists
session_on($primary);
my $writer = session();
session_on($standby);
$reader = session();
like(ask($reader, "$by_index EXPLAIN $thin"), qr/Index Scan using thin_v/, 'by inverted lists');
$writer->{in} .= join('', map {
	"INSERT INTO thin (v) SELECT thin_of(i + $_) FROM generate_series(1, 700) i;\n"
	. ($_ % 3 == 0 ? "DELETE FROM thin WHERE id < (SELECT max(id) FROM thin) - 600;\n" : '') . "VACUUM thin;\n" } 1 .. 40) . "\\echo written\n";
my ($alike, $wrong, $end) = (0, '');
while (!defined $end || ask($reader, "SELECT pg_last_wal_replay_lsn() < '$end'") eq 't')
{
	IPC::Run::pump_nb($writer->{run});
	$end //= $primary->lsn('insert') if $writer->{out} =~ /^written$/m;
	ask($reader, "SELECT hybrid_index_check('thin_v')");
	# one message: a conflict with recovery ends the connection of a session that is idle in a transaction
	my ($found, $exact) = split /\n/, ask($reader, "BEGIN ISOLATION LEVEL REPEATABLE READ\\; SET LOCAL enable_seqscan = off\\; $thin\\;
		SET LOCAL enable_seqscan = on\\; SET LOCAL enable_indexscan = off\\; $thin\\; COMMIT; ROLLBACK");
	next if !defined $exact;
	$alike++ if $found eq $exact;
	$wrong = "$found, not $exact" if $found ne $exact;
}
is($wrong, '', 'sparse vectors while VACUUM replaces inverted lists: the nearest rows');
cmp_ok($alike, '>', 5, "so many times: $alike");
is(join("\n", grep { /ERROR|FATAL/ && !/due to conflict with recovery/ } split /\n/, $reader->{err}), '', 'sparse vectors: an error is a conflict with recovery');
is($writer->{err}, '', 'rows are written meanwhile');
note('conflicts: ' . scalar(() = $reader->{err} =~ /ERROR/g));
finish($_) for $writer, $reader;

# a curve that was measured on a user's queries goes with the log; on a standby nobody measures another
my $asked = '(SELECT array_agg(array_fill(i, ARRAY[12])::vector) FROM generate_series(1, 120) i)';
my $curve = q{SELECT measured_by, (SELECT string_agg(c::text, ' ') FROM hybrid_index_curve('narrow_l2') c) FROM hybrid_index_stats('narrow_l2')};
my $of_rows = $primary->safe_psql('postgres', $curve);
like($of_rows, qr/^rows\|/, 'a curve of rows');
is($primary->safe_psql('postgres', "SELECT count(*) FROM hybrid_index_measure('narrow_l2', $asked, keep => true)"), '3', 'queries are kept');
like($primary->safe_psql('postgres', $curve), qr/^queries\|/, 'a curve of queries');
compare('calibrated by queries');
is($standby->safe_psql('postgres', $curve), $primary->safe_psql('postgres', $curve), 'a curve of queries is replayed');
is($standby->safe_psql('postgres', "SELECT count(*) FROM hybrid_index_measure('narrow_l2', $asked)"), '3', 'recall is measured on a standby');
my ($code, $unused, $refusal) = $standby->psql('postgres', "\\set VERBOSITY verbose\nSELECT count(*) FROM hybrid_index_measure('narrow_l2', $asked, keep => true)");
like($refusal, qr/25006: cannot execute hybrid_index_measure\(keep => true\) during recovery/, 'but nothing is kept there');

# who keeps waits for VACUUM, and measuring alone does not
session_on($primary);
my $vacuum = session();
ask($vacuum, 'BEGIN');
ask($vacuum, 'LOCK TABLE narrow IN SHARE UPDATE EXCLUSIVE MODE');
is($primary->safe_psql('postgres', "SET lock_timeout = '200ms'; SELECT count(*) FROM hybrid_index_measure('narrow_l2', $asked)"), '3', 'measured beside a VACUUM');
($code, $unused, $refusal) = $primary->psql('postgres', "SET lock_timeout = '200ms'; SELECT count(*) FROM hybrid_index_measure('narrow_l2', $asked, keep => true)");
like($refusal, qr/canceling statement due to lock timeout/, 'who keeps queries waits for it');
ask($vacuum, 'COMMIT');
finish($vacuum);

my ($rc, $out, $err) = $standby->psql('postgres', 'SET enable_seqscan = off; SELECT * FROM fast ORDER BY v <-> \'[1,2]\'');
like($err, qr/cannot access temporary or unlogged relations during recovery/, 'an unlogged index is not there');
($rc, $out, $err) = $standby->psql('postgres', q{SELECT * FROM hybrid_knn('fast', 'v', ARRAY['[1,2]']::vector[])});
like($err, qr/cannot access temporary or unlogged relations during recovery/, 'nor is an unlogged table for hybrid_knn');

# what both wrote: a page that was only taken, or never written, says nothing of its own
$primary->safe_psql('postgres', 'CHECKPOINT');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
my %path = map { $_ => $primary->safe_psql('postgres', "SELECT pg_relation_filepath('$_')") } @indexes;
$standby->stop;
$primary->stop;
my ($page, %kinds) = (8192);
for my $index (@indexes)
{
	my @files = map { slurp_file($_->data_dir . "/$path{$index}") } $primary, $standby;
	my @differ;
	for my $block (0 .. length($files[0]) / $page - 1)
	{
		my @pages = map { $block < length($_) / $page ? substr($_, $block * $page, $page) : "\0" x $page } @files;
		my @kinds = map { unpack('S', substr($_, $page - 4, 2)) } @pages;

		$kinds{ $kinds[0] }++;
		next if !grep { $_ != 0 && $_ != 7 && $_ != 8 } @kinds;
		# less the position in the log and the checksum
		substr($_, 0, 10) = '' for @pages;
		push @differ, $block if $pages[0] ne $pages[1];
	}
	is("@differ", '', "$index: the same file on both, page by page");
}
cmp_ok($kinds{$_}, '>', 0, "pages of kind $_ were compared") for 1 .. 6, 9 .. 12;
$primary->start;
$standby->start;

$standby->promote;
$standby->safe_psql('postgres', "INSERT INTO narrow SELECT i, narrow_of(i) FROM generate_series(300, 320) i");
is($standby->safe_psql('postgres', "SELECT hybrid_index_check('narrow_l2') >= (SELECT count(*) FROM narrow)"), 't', 'promoted and written to');
like($standby->safe_psql('postgres', $curve), qr/^queries\|/, 'with the curve of queries');
$standby->safe_psql('postgres', 'INSERT INTO thin (v) SELECT thin_of(i) FROM generate_series(1, 1000) i; VACUUM thin');
is($standby->safe_psql('postgres', "SELECT hybrid_index_check('thin_v') - count(*) FROM thin"), '0', 'and inverted lists');
is($standby->safe_psql('postgres', "SELECT count(*) FROM hybrid_index_measure('narrow_l2', $asked, keep => true)"), '3', 'queries are kept there now');
is($standby->safe_psql('postgres', "INSERT INTO fast VALUES ('[1,2]'); SELECT hybrid_index_check('fast_v')"), '1', 'the unlogged index too');

$standby->stop;
$primary->stop;
done_testing();
