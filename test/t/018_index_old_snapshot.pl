# old_snapshot_threshold: a search with an old snapshot fails if an index has lost rows since, and never silently
# returns fewer rows.
#
# Pages do not record which rows they have lost.  So the lost rows here are rows that no snapshot sees any more;
# this needs no minutes to pass.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib $FindBin::RealBin;
use HybridSession;

my $node = PostgreSQL::Test::Cluster->new('old_snapshot');
$node->init;
$node->append_conf('postgresql.conf', q{
autovacuum = off
old_snapshot_threshold = 0
});
$node->start;
# eight clusters, far from each other; rows of one lie in the same leaves
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	SELECT setseed(0.5);
	CREATE FUNCTION place(i int) RETURNS vector LANGUAGE sql VOLATILE AS
		$$ SELECT (SELECT array_agg(CASE WHEN d = 1 THEN 100 * (i % 8) ELSE 0 END + random()) FROM generate_series(1, 16) d)::vector(16) $$;
	CREATE TABLE source AS SELECT i, place(i) AS v FROM generate_series(1, 2000) i;
	CREATE TABLE killed (id int, v vector(16)) WITH (vacuum_truncate = off);
	CREATE TABLE emptied (LIKE killed) WITH (vacuum_truncate = off);
	CREATE TABLE regrouped (LIKE killed) WITH (vacuum_truncate = off);
	CREATE TABLE quiet (LIKE killed) WITH (vacuum_truncate = off);
	INSERT INTO killed SELECT * FROM source;
	INSERT INTO emptied SELECT * FROM source;
	INSERT INTO quiet SELECT * FROM source;
	CREATE TABLE pruned (id int, v vector(16)) WITH (vacuum_truncate = off);
	INSERT INTO pruned SELECT * FROM source;
	CREATE INDEX pruned_v ON pruned USING hybrid (v) WITH (list_size = 32);
	CREATE INDEX killed_v ON killed USING hybrid (v) WITH (list_size = 32);
	CREATE INDEX emptied_v ON emptied USING hybrid (v) WITH (list_size = 32);
	CREATE INDEX quiet_v ON quiet USING hybrid (v) WITH (list_size = 32);
	CREATE INDEX regrouped_v ON regrouped USING hybrid (v) WITH (list_size = 32);
	INSERT INTO regrouped SELECT * FROM source;
	-- a row of a leaf; a whole cluster, whose leaves go
	DELETE FROM killed WHERE id = 803;
	DELETE FROM emptied WHERE id % 8 = 3;
});
session_on($node);

my %how = ('by codes' => 0.9, 'by all vectors' => 1);

# nearest TABLE, RECALL: return a query for the number of rows found near the cluster
sub nearest
{
	my ($table, $recall) = @_;

	return "SET LOCAL hybrid.target_recall = $recall;
		SELECT count(*) FROM (SELECT id FROM $table ORDER BY v <-> (SELECT v FROM source WHERE i = 803) LIMIT 50) s";
}

# filtered: the same for rows whose vectors are read only after they are known to meet a condition
sub filtered
{
	return "SELECT count(*) FROM (SELECT id FROM pruned WHERE id % 16 = 3 ORDER BY v <-> (SELECT v FROM source WHERE i = 803) LIMIT 50) s";
}

# each with a snapshot of its own; those that have searched remember the lists above the leaves
my %sessions;
for my $table ('killed', 'emptied', 'regrouped', 'quiet')
{
	for my $how (sort keys %how)
	{
		for my $before ('a first search', 'another search')
		{
			my $session = session();
			ask($session, 'SET enable_seqscan = off');
			ask($session, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
			my $found = ask($session, $before eq 'a first search' ? 'SELECT 50' : nearest($table, $how{$how}));
			is($found, '50', "$table, $how, $before: rows are there") if $before ne 'a first search';
			$sessions{"$table|$how|$before"} = $session;
		}
	}
}
my $filter = session();
ask($filter, 'SET enable_seqscan = off');
ask($filter, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
is(ask($filter, filtered()), '50', 'pruned: rows that meet a condition are there');
$node->safe_psql('postgres', 'DELETE FROM pruned WHERE id % 2 = 1');
my $cursor = session();
ask($cursor, 'SET enable_seqscan = off');
ask($cursor, 'BEGIN');
ask($cursor, 'DECLARE c CURSOR FOR SELECT id FROM killed ORDER BY v <-> (SELECT v FROM source WHERE i = 800)');
is(scalar(split /\n/, ask($cursor, 'FETCH 10 FROM c')), 10, 'a cursor is open');

# what counts as old, at least
sleep 6;
my $err;
$node->psql('postgres', 'SET client_min_messages = debug1; VACUUM killed; VACUUM emptied; VACUUM regrouped; VACUUM quiet',
	stderr => \$err, on_error_die => 1);
like($err, qr/index regroup: /, 'VACUUM makes another tree');
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('killed_v'), hybrid_index_check('emptied_v'), hybrid_index_check('regrouped_v')}),
	'1999|1750|2000', 'and has killed entries');

for my $key (sort keys %sessions)
{
	my ($table, $how, $before) = split /\|/, $key;
	my $session = $sessions{$key};

	$session->{err} = '';
	my $found = ask($session, nearest($table, $how{$how}));
	if ($table eq 'quiet')
	{
		is($found, '50', "$table, $how, $before: nothing is too old where nothing has gone");
	}
	else
	{
		is($found, '', "$table, $how, $before: no rows");
		like($session->{err}, qr/ERROR:  snapshot too old/, "$table, $how, $before: and an error");
	}
	finish($session);
}
$cursor->{err} = '';
ask($cursor, 'FETCH ALL FROM c');
like($cursor->{err}, qr/ERROR:  snapshot too old/, 'a cursor that goes on says so, too');
finish($cursor);

# rows that went from the table, and not from the index: where they are asked whether they meet a condition
$node->safe_psql('postgres', 'SELECT count(*) FROM pruned');
$filter->{err} = '';
is(ask($filter, filtered()), '', 'pruned, with a condition: no rows');
like($filter->{err}, qr/ERROR:  snapshot too old/, 'pruned, with a condition: and an error');
finish($filter);

# who comes later sees what there is
for my $how (sort keys %how)
{
	is($node->safe_psql('postgres', "BEGIN; SET LOCAL enable_seqscan = off; " . nearest('killed', $how{$how}) . '; COMMIT'), '50',
		"killed, $how: a new snapshot is not too old");
}
done_testing();
