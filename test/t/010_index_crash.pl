# A hybrid index after a crash in the middle of inserts and vacuums: recovery leaves it whole, with
# every committed row in it, and usable.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use IPC::Run ();
use Test::More;
use Time::HiRes qw(usleep);

my $node = PostgreSQL::Test::Cluster->new('crash');
$node->init;
$node->append_conf('postgresql.conf', q{
autovacuum = off
checkpoint_timeout = 1h
max_wal_size = 1GB
shared_buffers = 1MB
log_min_messages = warning
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION hybrid');

# narrow: many vectors a page; wide: one on six pages, its entries come in two records
my %dims = (narrow => 20, wide => 10500);
for my $table (sort keys %dims)
{
	$node->safe_psql('postgres', qq{
		CREATE TABLE $table (id serial, v vector($dims{$table}));
		CREATE INDEX ${table}_v ON $table USING hybrid (v);
		CREATE INDEX ${table}_c ON $table USING hybrid (v vector_cosine_ops) WITH (storage = float16);
	});
}
$node->safe_psql('postgres', q{
	CREATE UNLOGGED TABLE fast (id int, v vector(3));
	CREATE INDEX fast_v ON fast USING hybrid (v);
	INSERT INTO fast SELECT i, ARRAY[i, i, i]::vector FROM generate_series(1, 500) i;
	CREATE TABLE vector_of AS SELECT i, (SELECT array_agg((i * j) % 101 + 1)::real[] FROM generate_series(1, 20) j) AS narrow,
		(SELECT array_agg((i * j) % 101 + 1)::real[] FROM generate_series(1, 10500) j) AS wide FROM generate_series(0, 9) i;
});

my $rounds = 4;
for my $round (1 .. $rounds)
{
	my @sessions;
	my @begun = map { $node->safe_psql('postgres', "SELECT last_value FROM ${_}_id_seq") } qw(narrow wide);

	# each session: a stream of single inserts, deletes and vacuums until the server is gone
	for my $table (sort keys %dims)
	{
		for my $session (1, 2)
		{
			my $script = "SET synchronous_commit = off;\n" . join('', map {
				"INSERT INTO $table (v) SELECT $table FROM vector_of WHERE i = " . ($_ % 10) . ";\n"
				. ($_ % 7 == 0 ? "DELETE FROM $table WHERE id % 5 = " . ($_ % 5) . ";\n" : '')
				. ($_ % 20 == 0 && $session == 1 ? "VACUUM (TRUNCATE off) $table;\n" : '')
				. ($_ % 50 == 0 ? "CHECKPOINT;\n" : '')
			} 1 .. 5000);
			my $file = PostgreSQL::Test::Utils::tempdir_short() . "/$table$session.sql";
			PostgreSQL::Test::Utils::append_to_file($file, $script);
			push @sessions, IPC::Run::start(
				[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', $file ],
				'<', '/dev/null', '>', '/dev/null', '2>', '/dev/null');
		}
	}
	# on a busy machine they may take a while to begin
	ok($node->poll_query_until('postgres', "SELECT (SELECT last_value FROM narrow_id_seq) > $begun[0] + 10 AND (SELECT last_value FROM wide_id_seq) > $begun[1] + 10"),
		"round $round: the sessions are at work");
	usleep(700_000 + 300_000 * $round);
	$node->stop('immediate');
	for my $session (@sessions)
	{
		eval { $session->finish; };
	}
	$node->start;

	for my $table (sort keys %dims)
	{
		for my $index ("${table}_v", "${table}_c")
		{
			my ($rc, $out, $err) = $node->psql('postgres',
				"SELECT hybrid_index_check('$index') >= (SELECT count(*) FROM $table)");
			is("$rc $out $err", '0 t ', "round $round: $index is whole");
		}
		my $same = $node->safe_psql('postgres', qq{
			SET enable_seqscan = off;
			CREATE TEMP TABLE ours AS SELECT id FROM $table ORDER BY v <-> (SELECT $table FROM vector_of WHERE i = 3)::vector;
			SELECT count(*) || ' ' || (SELECT count(*) FROM ours) || ' ' || (SELECT count(*) FROM ours FULL JOIN $table USING (id) WHERE ours.id IS NULL OR v IS NULL)
			FROM $table});
		like($same, qr/^(\d+) \1 0$/, "round $round: a scan of ${table}_v finds every row");
	}
}

# what was interrupted is not in the way of what comes
for my $table (sort keys %dims)
{
	$node->safe_psql('postgres', qq{
		DELETE FROM $table;
		VACUUM $table;
		INSERT INTO $table (v) SELECT $table FROM vector_of, generate_series(1, 3);
	});
	is($node->safe_psql('postgres', "SELECT hybrid_index_check('${table}_v'), hybrid_index_check('${table}_c')"),
		'30|30', "$table takes rows again");
}

# an unlogged index is empty after a crash, like its table
is($node->safe_psql('postgres', "SELECT hybrid_index_check('fast_v'), count(*) FROM fast"), '0|0', 'the unlogged index is empty');
$node->safe_psql('postgres', "INSERT INTO fast SELECT i, ARRAY[i, i, i]::vector FROM generate_series(1, 500) i");
is($node->safe_psql('postgres', "SET enable_seqscan = off; SELECT id FROM fast ORDER BY v <-> '[77,77,77]' LIMIT 1"), '77', 'and usable');
is($node->safe_psql('postgres', "SELECT hybrid_index_check('fast_v')"), '500', 'and whole');


# A crash between the two records of one entry: recovery that ends after the first.  The slot of
# the head is still free, whether the group is new or held an entry that died.
$node->append_conf('postgresql.conf', "shared_buffers = 16MB\nwal_level = replica\nmax_wal_senders = 2\n");
$node->restart;
$node->safe_psql('postgres', q{
	CREATE TABLE cut (id int, v vector(10500));
	CREATE INDEX cut_v ON cut USING hybrid (v);
	INSERT INTO cut SELECT 1, wide FROM vector_of WHERE i = 1;
	INSERT INTO cut SELECT 2, wide FROM vector_of WHERE i = 2;
	DELETE FROM cut WHERE id = 2;
	VACUUM (TRUNCATE off) cut;
});
is($node->safe_psql('postgres', q{SELECT entries, dead FROM hybrid_index_stats('cut_v')}), '1|1', 'a group is free');
$node->backup('base');
my $from = $node->lsn('insert');
# the first fills the dead slot, the second a new group
$node->safe_psql('postgres', 'INSERT INTO cut SELECT 3, wide FROM vector_of WHERE i = 3; CHECKPOINT');
$node->safe_psql('postgres', 'INSERT INTO cut SELECT 4, wide FROM vector_of WHERE i = 4');
my $to = $node->lsn('insert');
my $path = $node->safe_psql('postgres', "SELECT pg_relation_filepath('cut_v')");
$path =~ s{.*/}{};
$node->stop;
my ($dump) = run_command([ 'pg_waldump', '--path', $node->data_dir . '/pg_wal', '--start', $from, '--end', $to, '--rmgr', 'Generic', '--bkp-details' ]);
# a record: its LSN, then the blocks it changes; block 1 + 6 g is a head
my (@records, $lsn);
for my $line (split /\n/, $dump)
{
	if ($line =~ /lsn: ([0-9A-F]+\/[0-9A-F]+)/) { push @records, { lsn => $1, heads => 0, pages => 0 }; }
	if ($line =~ m{blkref #\d+: rel \d+/\d+/$path (?:fork main )?blk (\d+)}) { $records[-1]{pages}++; $records[-1]{heads}++ if ($1 - 1) % 6 == 0; }
}
@records = grep { $_->{pages} > 0 } @records;
is(join(' ', map { "$_->{pages}:$_->{heads}" } @records), '4:0 2:1 4:0 2:1', 'tail pages first, the head in the last record');

for my $cut (0, 2)
{
	my $where = $cut == 0 ? 'in a used group' : 'in a new group';
	my $other = PostgreSQL::Test::Cluster->new("cut$cut");
	$other->init_from_backup($node, 'base');
	$other->append_conf('postgresql.conf', "restore_command = 'cp \"" . $node->data_dir . "/pg_wal/%f\" \"%p\"'
recovery_target_lsn = '$records[$cut]{lsn}'
recovery_target_action = 'promote'
autovacuum = off");
	$other->set_recovery_mode;
	$other->start;
	$other->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
	my $rows = $cut == 0 ? 1 : 2;
	is($other->safe_psql('postgres', 'SELECT count(*) FROM cut'), $rows, "cut $where: the row is not there");
	is($other->safe_psql('postgres', q{SELECT hybrid_index_check('cut_v')}), $rows, "cut $where: the index is whole");
	is($other->safe_psql('postgres', q{SELECT count(*) FROM (SELECT id FROM cut ORDER BY v <-> (SELECT wide FROM vector_of WHERE i = 3)::vector) s}),
		$rows, "cut $where: a scan goes over it");
	$other->safe_psql('postgres', 'INSERT INTO cut SELECT 10 + i, wide FROM vector_of WHERE i < 3');
	is($other->safe_psql('postgres', q{SELECT hybrid_index_check('cut_v')}), $rows + 3, "cut $where: and is written to");
	is($other->safe_psql('postgres', q{SET enable_seqscan = off; SELECT id FROM cut WHERE id >= 10 ORDER BY v <-> (SELECT wide FROM vector_of WHERE i = 2)::vector LIMIT 1}),
		'12', "cut $where: with what was written");
	$other->stop;
}
done_testing();
