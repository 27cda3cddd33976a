# VACUUM gives an index that has grown a new tree: with concurrent readers and writers, and after a crash.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib $FindBin::RealBin;
use HybridCut;

my $inner = 512; # HYBRID_INNER_SIZE

my $node = node_to_cut('regroup', 'jit = off');
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	SELECT setseed(0.5);
	CREATE TABLE source AS SELECT i, (SELECT array_agg(random()) FROM generate_series(1, 16) WHERE i > 0)::vector(16) AS v
		FROM generate_series(1, 30000) i;
	CREATE TABLE item (id int, v vector(16)) WITH (vacuum_truncate = off);
	CREATE INDEX item_v ON item USING hybrid (v) WITH (list_size = 32);
	CREATE UNIQUE INDEX ON source (i);
	-- NULL: that is enough
	CREATE TABLE allowed (rows int);
	INSERT INTO allowed VALUES (8000);
	CREATE TABLE looks (wrong bool);
	CREATE PROCEDURE fill(which int) LANGUAGE plpgsql AS $$
	DECLARE
		n int := which;
		most int;
	BEGIN
		LOOP
			SELECT rows INTO most FROM allowed;
			EXIT WHEN most IS NULL;
			INSERT INTO item SELECT n, v FROM source WHERE i = n % 30000 + 1;
			COMMIT;
			n := n + 2;
			IF n > most THEN
				PERFORM pg_sleep(0.01);
			END IF;
		END LOOP;
	END $$;
	CREATE PROCEDURE look() LANGUAGE plpgsql AS $$
	DECLARE
		here int;
		total int;
		others int;
	BEGIN
		SET enable_seqscan = off;
		SET hybrid.target_recall = 1;
		LOOP
			COMMIT;
			SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
			SELECT count(*) - count(DISTINCT id), count(*) INTO others, total FROM (SELECT id FROM item ORDER BY v <-> (SELECT v FROM source WHERE i = 1)) s;
			SELECT count(*) INTO here FROM item;
			INSERT INTO looks VALUES (others <> 0 OR total <> here);
			EXIT WHEN (SELECT rows IS NULL FROM allowed);
		END LOOP;
	END $$;
});

# writers and a reader, whose every look has each row of its snapshot once; they go on until there is all that is
# tested, however slow one of them is
my @others;
for my $sql ('CALL fill(0)', 'CALL fill(1)', 'CALL look()')
{
	my %other = (in => '', out => '', err => '');
	$other{run} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-v', 'ON_ERROR_STOP=1', '-c', $sql ],
		'<', \$other{in}, '>', \$other{out}, '2>', \$other{err});
	push @others, \%other;
}
# Beside each VACUUM the index may grow by half.  Then the writers do not stop, but slow down: there is always somebody
# who writes, and a VACUUM that is late does not find ten times as many rows.
ok($node->poll_query_until('postgres', 'SELECT count(*) >= (SELECT rows FROM allowed) FROM item'), 'an index grows');
my ($trees, $lists, $meanwhile, $looks) = (0, 0, 0, 0);
for (1 .. 1000)
{
	my $err;
	$node->psql('postgres', q{
		UPDATE allowed SET rows = (SELECT count(*) * 1.5 FROM item);
		SET client_min_messages = debug1;
		VACUUM item;
		SELECT count(*) FROM looks}, stdout => \$looks, stderr => \$err, on_error_die => 1);
	($trees, $lists, $meanwhile) = ($trees + 1, $1, $meanwhile + $2)
		if $err =~ /index regroup: \d+ lists become (\d+); \d+ rows, (\d+) of them came meanwhile/;
	last if $trees >= 2 && $lists > $inner && $meanwhile > 0 && $looks > 3;
}
$node->safe_psql('postgres', 'UPDATE allowed SET rows = NULL');
for my $other (@others)
{
	$other->{run}->finish;
	is($other->{err}, '', 'no error beside VACUUM');
}
note("$trees other trees, the last of $lists lists; looked $looks times");
cmp_ok($trees, '>=', 2, 'VACUUM has made other trees');
cmp_ok($lists, '>', $inner, 'one of them with several inner lists');
cmp_ok($meanwhile, '>', 0, "while rows came: $meanwhile");
cmp_ok($looks, '>', 3, 'and somebody looked');
is($node->safe_psql('postgres', 'SELECT count(*) FROM looks WHERE wrong'), 0, 'who always found each row once');
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('item_v') = (SELECT count(*) FROM item)}), 't', 'all rows are in the index');

# In an index on arrays, a row has many entries. VACUUM reads some of them, while another session still adds the others. Twice a
# vector has the same bytes as the vector, in this storage.
$node->safe_psql('postgres', q{
	CREATE TABLE page (id int, d vector(16)[]);
	CREATE INDEX page_d ON page USING hybrid (d) WITH (list_size = 32, storage = int8);
	CREATE PROCEDURE fill_pages(which int) LANGUAGE plpgsql AS $$
	BEGIN
		FOR n IN 0 .. 100000 LOOP
			INSERT INTO page SELECT n, array_agg(v) || array_agg(v + v) FROM source WHERE i BETWEEN 1 + (n * 2 + which) * 31 % 29000 AND 30 + (n * 2 + which) * 31 % 29000;
			COMMIT;
			PERFORM pg_sleep(0.05) WHERE n > 100;
			EXIT WHEN (SELECT rows IS NULL FROM allowed);
		END LOOP;
	END $$;
	UPDATE allowed SET rows = 0;
});
@others = ();
for my $which (0, 1)
{
	my %other = (in => '', out => '', err => '');
	$other{run} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-v', 'ON_ERROR_STOP=1', '-c', "CALL fill_pages($which)" ],
		'<', \$other{in}, '>', \$other{out}, '2>', \$other{err});
	push @others, \%other;
}
($trees, $meanwhile) = (0, 0);
for (1 .. 1000)
{
	my $err;
	$node->psql('postgres', 'SET client_min_messages = debug1; VACUUM page', stderr => \$err, on_error_die => 1);
	($trees, $meanwhile) = ($trees + 1, $meanwhile + $1) if $err =~ /index regroup: .* rows, (\d+) of them came meanwhile/;
	last if $trees >= 3 && $meanwhile > 1000;
}
$node->safe_psql('postgres', 'UPDATE allowed SET rows = NULL');
for my $other (@others)
{
	$other->{run}->finish;
	is($other->{err}, '', 'no error of those who add arrays');
}
note("$trees other trees, while $meanwhile entries came");
cmp_ok($meanwhile, '>', 1000, 'VACUUM has made other trees of arrays');
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('page_d') = (SELECT sum(cardinality(d)) FROM page)}), 't', 'each vector of each array has its entry');

# what a VACUUM that ends before recall was measured leaves to the next is that, not another tree
$node->safe_psql('postgres', q{
	CREATE TABLE half (id int, v vector(16)) WITH (autovacuum_enabled = off);
	CREATE INDEX half_v ON half USING hybrid (v) WITH (list_size = 32);
	INSERT INTO half SELECT * FROM source WHERE i <= 2000});
my (undef, undef, $said) = $node->psql('postgres', q{SET client_min_messages = debug1; SET hybrid.plugins = 'hybrid_emulated'; SET hybrid.execution = gpu;
	SET hybrid.emulated_faults = 'op=score_codes,fail_every=1'; VACUUM half});
like($said, qr/index regroup: .*ERROR:  could not score codes/s, 'another tree, that was not measured');
is(kinds($node, 'half_v')->{TAKEN}, 0, 'pages that it had in stock for lists are free');
(undef, undef, $said) = $node->psql('postgres', 'SET client_min_messages = debug1; VACUUM half');
unlike($said, qr/index regroup: |ERROR/, 'is not made anew');
is($node->safe_psql('postgres', q{SELECT count(*) > 1, hybrid_index_check('half_v') FROM hybrid_index_curve('half_v')}), 't|2000', 'but measured');

# recovery that ends before the record that makes another root that of the index, with it, and before
# the old lists say that they were moved
$node->safe_psql('postgres', q{
	CREATE TABLE cut (id int, v vector(16)) WITH (vacuum_truncate = off);
	CREATE INDEX cut_v ON cut USING hybrid (v) WITH (list_size = 32);
	INSERT INTO cut SELECT * FROM source WHERE i <= 3000;
});
my ($backup, @records) = records($node, 'cut_v', sub {
	my $err;

	$node->psql('postgres', 'SET client_min_messages = debug1; VACUUM cut', stderr => \$err, on_error_die => 1);
	like($err, qr/index regroup: /, 'VACUUM makes another tree');
});
is(scalar(grep { @{ $_->{blocks} } > 4 } @records), 0, 'no record has more than four pages');
# the old root and the meta page
my ($swap) = grep { @{ $records[$_]{blocks} } == 2 && grep { $_ == 0 } @{ $records[$_]{blocks} } } 0 .. $#records;
ok(defined $swap && $swap > 100 && $swap < $#records - 20, 'the new root comes after the lists, and before the end of the old ones');

my %at = ('in the middle of the new lists' => $swap / 2, 'before the new root' => $swap - 1, 'with the new root' => $swap,
	'before all old lists are marked' => $swap + 10);
for my $when (sort keys %at)
{
	my $server = cut($node, $backup, $records[ $at{$when} ]{lsn});
	cmp_ok(lost($server, 'cut_v'), '>', 0, "$when: pages are lost");
	my $all = q{SET enable_seqscan = off; SET hybrid.target_recall = 1;
		SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM cut ORDER BY v <-> (SELECT v FROM source WHERE i = 1)) s};
	is($server->safe_psql('postgres', $all), '3000|3000', "$when: each row is found once");
	$server->safe_psql('postgres', 'INSERT INTO cut SELECT * FROM source WHERE i > 3000 AND i <= 3500; VACUUM cut; VACUUM cut');
	is(lost($server, 'cut_v'), 0, "$when: VACUUM finds them");
	is($server->safe_psql('postgres', $all), '3500|3500', "$when: and rows come");
	is($server->safe_psql('postgres', q{SELECT hybrid_index_check('cut_v')}), '3500', "$when: each has its entry");
	$server->stop;
}
done_testing();
