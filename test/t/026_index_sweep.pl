# VACUUM finds pages without use: those that a split had taken for a list but did not write, because it was
# canceled or the server died.  It takes only those, and no page that is written, referred to, or filled
# meanwhile.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use HybridCut;
use HybridSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hold_lock = "$FindBin::RealBin/hold_lock";

my $node = PostgreSQL::Test::Cluster->new('taken');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\ntemp_file_limit = 0\nmax_parallel_maintenance_workers = 0\n");
$node->start;
session_on($node);
# two clusters, each of two halves, so that lists are split in the middle; 13 vectors to a page: a leaf that is full has
# four pages, its halves three each.  Without temporary files VACUUM makes no other tree, and a parallel build fails
$node->safe_psql('postgres', qq{
	CREATE EXTENSION hybrid;
	CREATE FUNCTION hold_extension(index regclass) RETURNS void LANGUAGE c STRICT AS '$hold_lock';
	CREATE FUNCTION hold_lock(index regclass, block bigint) RETURNS void LANGUAGE c STRICT AS '$hold_lock';
	CREATE FUNCTION place(i int) RETURNS vector LANGUAGE sql IMMUTABLE AS
	'SELECT (ARRAY[i % 2 * 1000, i / 2 % 2 * 100, i % 7]::real[] || array_fill(1::real, ARRAY[297]))::vector(300)';
	CREATE TABLE item (id int, v vector(300)) WITH (vacuum_truncate = off);
	CREATE INDEX item_v ON item USING hybrid (v) WITH (list_size = 32);
	INSERT INTO item SELECT i, place(i) FROM generate_series(1, 64) i});
is($node->safe_psql('postgres', q{SELECT lists, entries FROM hybrid_index_stats('item_v')}), '2|64', 'two lists are full');
my ($rc, $out, $err) = $node->psql('postgres', 'VACUUM item');
like($err, qr/are not rebuilt/, 'and no others');

sub size
{
	return $node->safe_psql('postgres', q{SELECT pg_relation_size('item_v') / 8192});
}

# waits LOCKTYPE [INDEX [COUNT]]: wait until this many sessions wait for such a lock of the index
sub waits
{
	my ($type, $index, $count) = @_;

	return $node->poll_query_until('postgres', sprintf(q{SELECT count(*) = %d FROM pg_locks
		WHERE relation = '%s'::regclass AND locktype = '%s' AND NOT granted}, $count // 1, $index // 'item_v', $type));
}

# whole TABLE, WHEN: check that the table's index has an entry for each row, and that no page is lost
sub whole
{
	my ($table, $when) = @_;

	is($node->safe_psql('postgres', "SELECT hybrid_index_check('${table}_v') = (SELECT count(*) FROM $table)"), 't', "$when: the index has every row");
	is(lost($node, "${table}_v"), 0, "$when: and no page is lost");
	return;
}

# vacuumed SESSION, WHEN: wait for its end
sub vacuumed
{
	my ($session, $when) = @_;

	$session->{run}->pump until $session->{out} =~ /^done$/m;
	unlike($session->{err}, qr/ERROR/, "$when: VACUUM comes to its end");
	finish($session);
	return;
}

# cancel WHAT: cancel the session that runs this statement
sub cancel
{
	my ($what) = @_;

	$node->safe_psql('postgres', qq{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '$what%'});
	return;
}

# taken ID, END: insert a row that causes a split, whose second list has pages and waits for one more.  END tells
# how the split is ended
sub taken
{
	my ($id, $end) = @_;
	my ($holder, $inserter) = (session(), session());

	$holder->{in} .= "SELECT hold_extension('item_v');\n\\echo held\n";
	$holder->{run}->pump_nb;
	ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks
		WHERE relation = 'item_v'::regclass AND locktype = 'extend' AND granted}), "$end: no page is added");
	$inserter->{in} .= "INSERT INTO item VALUES ($id, place($id));\n\\echo inserted\n";
	$inserter->{run}->pump_nb;
	ok(waits('extend'), "$end: a split waits for one");
	my $kinds = kinds($node, 'item_v');
	cmp_ok($kinds->{TAKEN}, '>', 0, "$end: and has taken others");
	if ($end eq 'cancelled')
	{
		cancel('INSERT INTO item');
		$inserter->{run}->pump until $inserter->{out} =~ /inserted/;
		like($inserter->{err}, qr/canceling statement/, "$end: it is");
		cancel('SELECT hold_extension');
		$holder->{run}->pump until $holder->{out} =~ /held/;
		finish($_) for $holder, $inserter;
	}
	else
	{
		$node->stop('immediate');
		$_->{run}->finish for $holder, $inserter;
		$node->start;
	}
	is(kinds($node, 'item_v')->{TAKEN}, $kinds->{TAKEN}, "$end: they are still taken");
	is($node->safe_psql('postgres', q{SELECT hybrid_index_check('item_v') >= (SELECT count(*) FROM item)}), 't', "$end: which harms nobody");
	return;
}

for my $way ([ 65, 'cancelled' ], [ 66, 'dead' ])
{
	my ($id, $end) = @$way;

	# that of the list that was split before
	$node->safe_psql('postgres', 'VACUUM item');
	is(kinds($node, 'item_v')->{FREE}, 4, "$end: four pages are free");
	taken($id, $end);
	$node->safe_psql('postgres', 'VACUUM item');
	my ($kinds, $size) = (kinds($node, 'item_v'), size());
	is($kinds->{TAKEN}, 0, "$end: it leaves no page taken");
	is($kinds->{FREE}, 4, "$end: those, and what was written, are free again");

	my $lists = $kinds->{LIST};
	$node->safe_psql('postgres', "INSERT INTO item VALUES ($id, place($id))");
	$kinds = kinds($node, 'item_v');
	is($kinds->{LIST}, $lists + 2, "$end: a split then");
	is(size() - $size, 2, "$end: two of its six pages are new ones");
	is($kinds->{FREE}, 0, "$end: others were used again");
	whole('item', $end);
}

# lists that others write, where there was a free page, between VACUUM's reading the tree and the file
$node->safe_psql('postgres', 'INSERT INTO item SELECT i, place(i) FROM generate_series(69, 125, 4) i; VACUUM item');
my $leaves = $node->safe_psql('postgres', q{SELECT lists FROM hybrid_index_stats('item_v')});
my ($kinds, $size) = (kinds($node, 'item_v'), size());
cmp_ok($kinds->{FREE}, '>', 0, 'pages are free');
my $holder = session();
ask($holder, q{BEGIN; SELECT hold_lock('item_v', 0)});
my $vacuum = session_with('VACUUM item');
ok(waits('tuple'), 'VACUUM has read the tree, and waits for who writes lists');
ask($holder, 'INSERT INTO item SELECT i, place(i) FROM generate_series(129, 137, 4) i');
cmp_ok($node->safe_psql('postgres', q{SELECT lists FROM hybrid_index_stats('item_v')}), '>', $leaves, 'a list is split');
cmp_ok(size() - $size, '<', 6, 'into pages that were free');
ask($holder, 'COMMIT');
vacuumed($vacuum, 'lists that came');
whole('item', 'lists that came');

# lists that have lost all they had, and get a row before they are taken out of the one above; and one that has lost a third,
# and is split before it is written anew
$node->safe_psql('postgres', 'INSERT INTO item SELECT i, place(i) FROM generate_series(303, 359, 4) i;
	DELETE FROM item WHERE id % 2 = 0 OR id BETWEEN 303 AND 340');
ask($holder, q{BEGIN; SELECT count(hold_lock('item_v', n)) FROM generate_series(1, pg_relation_size('item_v') / 8192 - 1) n});
$vacuum = session_with('VACUUM item');
ok(waits('tuple'), 'VACUUM waits to take an empty list away');
$leaves = $node->safe_psql('postgres', q{SELECT lists FROM hybrid_index_stats('item_v')});
ask($holder, 'INSERT INTO item SELECT i, place(i) FROM generate_series(200, 202, 2) i');
ask($holder, 'INSERT INTO item SELECT i, place(i) FROM generate_series(403, 451, 4) i');
is($node->safe_psql('postgres', q{SELECT lists FROM hybrid_index_stats('item_v')}), $leaves + 1, 'meanwhile another list is split');
ask($holder, 'COMMIT');
vacuumed($vacuum, 'rows that came');
whole('item', 'rows that came');
is($node->safe_psql('postgres', q{SELECT count(*) FROM item WHERE id % 2 = 0}), 2, 'two rows came');
finish($holder);

# a page of vectors that was read, and its list page before it was named there: the one is behind the pages that VACUUM
# reads without a pause, the other before.  A vector takes a page, and a crash has left pages that were never written
$node->safe_psql('postgres', q{
	CREATE FUNCTION wide(i int) RETURNS vector LANGUAGE sql IMMUTABLE AS
	'SELECT (ARRAY[i % 2 * 1000, i]::real[] || array_fill(1::real, ARRAY[1898]))::vector(1900)';
	CREATE TABLE wide (id int, v vector(1900));
	INSERT INTO wide SELECT i, wide(i) FROM generate_series(1, 600) i;
	CREATE INDEX wide_v ON wide USING hybrid (v) WITH (storage = float32, list_size = 512)});
cmp_ok($node->safe_psql('postgres', q{SELECT lists FROM hybrid_index_stats('wide_v')}), '>', 1, 'lists of rows that take a page each');
my $path = $node->data_dir . '/' . $node->safe_psql('postgres', q{SELECT pg_relation_filepath('wide_v')});
$node->stop;
$size = -s $path;
cmp_ok($size / 8192, '>', 600, 'of more pages than that');
append_to_file($path, "\0" x (16 * 8192));
$node->start;
$node->safe_psql('postgres', 'VACUUM wide');
my ($first, $second) = (session(), session());
ask($first, q{BEGIN; SELECT hold_lock('wide_v', 0)});
$vacuum = session_with('VACUUM wide');
ok(waits('tuple', 'wide_v'), 'VACUUM waits before it reads the file');
$second->{in} .= "BEGIN; SELECT hold_lock('wide_v', 0);\n\\echo held\n";
$second->{run}->pump_nb;
ok(waits('tuple', 'wide_v', 2), 'and somebody behind it');
ask($first, 'COMMIT');
$second->{run}->pump until $second->{out} =~ /held/;
ok(waits('tuple', 'wide_v'), 'for whom it waits when it has read a part');
# more than a build has left free, and less than a list page has room for
$node->safe_psql('postgres', 'INSERT INTO wide SELECT i, wide(i) FROM generate_series(601, 630) i');
cmp_ok(kinds($node, 'wide_v', $size / 8192, 16)->{VECTORS}, '>', 0, 'rows come into pages at its end');
ask($second, 'COMMIT');
vacuumed($vacuum, 'pages that were named');
whole('wide', 'pages that were named');
finish($_) for $first, $second;
$node->stop;
done_testing();
