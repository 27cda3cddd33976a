# Recovery that ends after an arbitrary WAL record, as after a crash at that moment: in the middle of an entry, of
# a split, of the first root's split, of a vacuum.  Each time the index is intact, returns every row of the table,
# and accepts rows again.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib $FindBin::RealBin;
use HybridCut;

# so many cuts, evenly over the records; 0: after each of them
my $cuts = length($ENV{HYBRID_CUTS} // '') ? $ENV{HYBRID_CUTS} : 12;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', "autovacuum = off\ncheckpoint_timeout = 1h\nmax_wal_size = 1GB\nwal_keep_size = 1GB\njit = off\nlog_statement = none\n");
$node->start;

# narrow: all of an entry on the list page but the vector; middle: codes on a page of their own, two
# vectors a page; wide: both on several
my %dims = (narrow => 20, middle => 2000, wide => 10500);
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE FUNCTION made(i int, dims int) RETURNS vector LANGUAGE sql IMMUTABLE AS
	$$ SELECT array_agg((i::bigint * (j % 1000) * 7919) % 103 + 1)::real[]::vector FROM generate_series(1, dims) j $$;
});
for my $table (sort keys %dims)
{
	$node->safe_psql('postgres', qq{
		CREATE TABLE $table (id int, v vector($dims{$table})) WITH (vacuum_truncate = off);
		CREATE INDEX ${table}_v ON $table USING hybrid (v) WITH (list_size = 32);
		INSERT INTO $table SELECT i, made(i, $dims{$table}) FROM generate_series(1, 30) i;
		DELETE FROM $table WHERE id = 7;
		VACUUM $table;
	});
	is($node->safe_psql('postgres', "SELECT entries, dead, lists FROM hybrid_index_stats('${table}_v')"), '29|1|1', "$table: one list, one place is free");
}
my %path = map { ($node->safe_psql('postgres', "SELECT pg_relation_filepath('${_}_v')") =~ s{.*/}{}r) => $_ } keys %dims;
$node->backup('base');

# what is cut
my $from = $node->lsn('insert');
sub insert
{
	my ($table, $first, $last) = @_;
	$node->safe_psql('postgres', "INSERT INTO $table SELECT i, made(i, $dims{$table}) FROM generate_series($_, $_) i") for $first .. $last;
	return;
}
insert('wide', 31, 32);
insert('narrow', 31, 80);
insert('middle', 31, 50);
is($node->safe_psql('postgres', "SELECT lists >= 3, levels FROM hybrid_index_stats('narrow_v')"), 't|2', 'lists were split');
is($node->safe_psql('postgres', "SELECT lists >= 2, levels FROM hybrid_index_stats('middle_v')"), 't|2', 'and those that have codes on pages of their own');
$node->safe_psql('postgres', "DELETE FROM narrow WHERE id % 11 = 0; DELETE FROM narrow WHERE id BETWEEN 30 AND 50");
$node->safe_psql('postgres', 'VACUUM narrow');
$node->safe_psql('postgres', 'VACUUM narrow');
my $before = $node->safe_psql('postgres', "SELECT pages FROM hybrid_index_stats('narrow_v')");
insert('narrow', 81, 130);
cmp_ok($node->safe_psql('postgres', "SELECT pages FROM hybrid_index_stats('narrow_v')"), '<', $before + 8, 'pages were used again');
my $to = $node->lsn('insert');

my ($dump) = run_command([ 'pg_waldump', '--path', $node->data_dir . '/pg_wal', '--start', $from, '--end', $to, '--rmgr', 'Generic', '--bkp-details' ]);
my @records;
for my $line (split /\n/, $dump)
{
	push @records, { lsn => $1, pages => 0 } if $line =~ /lsn: ([0-9A-F]+\/[0-9A-F]+)/;
	if ($line =~ m{blkref #\d+: rel \d+/\d+/(\d+) })
	{
		$records[-1]{pages}++;
		$records[-1]{index} = $path{$1};
	}
}
@records = grep { defined $_->{index} } @records;
is(scalar(grep { $_->{pages} > 4 } @records), 0, 'no record has more than four pages');
my @of_wide = grep { $_->{index} eq 'wide' } @records;
# each entry: its codes on six pages, its vector on three, its place in the list
is(scalar(@of_wide), 20, 'an entry comes in ten records');
note(scalar(@records), ' records: ', join(' ', map { substr($_->{index}, 0, 1) . $_->{pages} } @records));

# whole SERVER, WHEN: check that the index is intact and has the rows of the table; NULL is a row of the table
# that was not found
sub whole
{
	my ($at, $when) = @_;
	for my $table (sort keys %dims)
	{
		my ($rc, $out, $err) = $at->psql('postgres', qq{
			SET client_min_messages = warning;
			SET enable_seqscan = off;
			SELECT hybrid_index_check('${table}_v') >= (SELECT count(*) FROM $table);
			SET hybrid.target_recall = 1;
			WITH found AS MATERIALIZED (SELECT id FROM $table ORDER BY v <-> made(3, $dims{$table}))
			SELECT (SELECT count(*) FROM found) - (SELECT count(*) FROM $table), count(*) FROM $table WHERE id NOT IN (TABLE found);
			RESET hybrid.target_recall;
			SET hybrid.probes = 1000000;
			WITH found AS MATERIALIZED (SELECT id FROM $table ORDER BY v <-> made(3, $dims{$table}) LIMIT 1000000)
			SELECT (SELECT count(*) FROM found) - (SELECT count(*) FROM $table), count(*) FROM $table WHERE id NOT IN (TABLE found);});
		is("$rc $err $out", "0  t\n0|0\n0|0", "$when: $table is whole and complete");
	}
	return;
}

my $step = $cuts > 0 && @records > $cuts ? @records / $cuts : 1;
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base');
$standby->append_conf('postgresql.conf', "restore_command = 'cp \"" . $node->data_dir . "/pg_wal/%f\" \"%p\"'\nrecovery_target_action = 'pause'\nhot_standby = on\n");
$standby->set_recovery_mode;
for (my $i = $step / 2; $i < @records; $i += $step)
{
	my $record = $records[$i];
	$standby->append_conf('postgresql.conf', "recovery_target_lsn = '$record->{lsn}'\n");
	$standby->start;
	$standby->poll_query_until('postgres', q{SELECT pg_get_wal_replay_pause_state() = 'paused'}) or die "it does not get to $record->{lsn}";
	whole($standby, 'after record ' . int($i) . " ($record->{pages} pages of $record->{index})");
	$standby->stop;
}

# written to afterwards: in the middle of an entry in a used slot and in a new one, of a split, of the
# entry that replaces the old list
my @links = grep { $records[$_]{index} eq 'narrow' && $records[$_]{pages} > 1 } 0 .. $#records;
my %last = (
	'in a used slot' => $of_wide[4]{lsn}, 'before the record of the list' => $of_wide[8]{lsn}, 'in a new slot' => $of_wide[16]{lsn},
	'before a split is known' => $records[ $links[0] - 1 ]{lsn}, 'after a split is known' => $records[ $links[0] ]{lsn},
	'in a later one' => $records[ $links[ @links / 2 ] - 1 ]{lsn});
for my $when (sort keys %last)
{
	my $other = cut($node, 'base', $last{$when});
	whole($other, "cut $when");
	for my $table (sort keys %dims)
	{
		$other->safe_psql('postgres', "INSERT INTO $table SELECT 1000 + i, made(1000 + i, $dims{$table}) FROM generate_series(1, 5) i; DELETE FROM $table WHERE id % 3 = 0; VACUUM $table; INSERT INTO $table SELECT 2000 + i, made(i, $dims{$table}) FROM generate_series(1, 50) i");
	}
	whole($other, "written to after a cut $when");
	$other->stop;
}
$node->stop;
done_testing();
