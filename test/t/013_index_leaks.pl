# A hybrid index after a crash at a chosen record: VACUUM finds the pages that nothing refers to, and they are
# used again.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib $FindBin::RealBin;
use HybridCut;

my $node = node_to_cut('leaks');
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	SELECT setseed(0.5);
	-- 32 lists to an inner list's page, so that what a merge changes above is on several pages
	CREATE TABLE source AS SELECT i, (SELECT array_agg(random()) FROM generate_series(1, 1024) WHERE i > 0)::vector(1024) AS v
		FROM generate_series(1, 3000) i;
	CREATE TABLE item (id int, v vector(1024));
	CREATE INDEX item_v ON item USING hybrid (v) WITH (list_size = 32);
	INSERT INTO item SELECT i, v FROM source WHERE i <= 2400;
	-- an entry lies on several pages, and its codes do
	CREATE TABLE wide (id int, v vector(4500));
	CREATE INDEX wide_v ON wide USING hybrid (v);
	INSERT INTO wide SELECT i, array_fill(i, ARRAY[4500])::vector FROM generate_series(1, 32) i;
	VACUUM item;
	VACUUM wide;
});

# pages INDEX SERVER: return the number of pages in use and the number of pages of the file
sub pages
{
	my ($index, $server) = @_;

	return split /\|/, $server->safe_psql('postgres',
		"SELECT pages - free_pages, pages FROM hybrid_index_stats('$index')");
}

# found_again: check that VACUUM finds the lost pages, and that they are used before the file grows
sub found_again
{
	my ($server, $index, $table, $where, $insert) = @_;
	my $lost = lost($server, $index);

	cmp_ok($lost, '>', 0, "$where: $lost pages are lost");
	$server->safe_psql('postgres', "VACUUM $table");
	is(lost($server, $index), 0, "$where: VACUUM finds them");
	my ($used, $size) = pages($index, $server);
	$server->safe_psql('postgres', $insert);
	my ($used_then, $size_then) = pages($index, $server);
	# what the new rows take beyond the pages that were lost
	my $beyond = $used_then - $used > $lost ? $used_then - $used - $lost : 0;
	cmp_ok($size_then - $size, '<=', $beyond, "$where: they are written to again");
	is(lost($server, $index), 0, "$where: and none is lost then");
	is($server->safe_psql('postgres', "SELECT hybrid_index_check('$index') - count(*) FROM $table"), '0', "$where: the index has every row");
	$server->stop;
}

# lists that a split wrote and did not link: the record that links them has the meta page's note next
my ($backup, @records) = records($node, 'item_v', 'INSERT INTO item SELECT i, v FROM source WHERE i BETWEEN 2401 AND 2440');
my ($note) = grep { "@{ $records[$_]{blocks} }" eq '0' && @{ $records[ $_ - 1 ]{blocks} } > 1 } 0 .. $#records;
ok(defined $note && $note > 4, 'rows come, and a list is split');
my $one = q{INSERT INTO item SELECT 5000, v FROM source WHERE i = 2500};
found_again(cut($node, $backup, $records[ $note - 2 ]{lsn}), 'item_v', 'item', 'a list written and not linked', $one);

# of the same, the first page alone, after the record of the last entry: it names others that were not written
my $old = $records[ $note - 1 ]{blocks}[0];
my ($entry) = grep { grep { $_ == $old } @{ $records[$_]{blocks} } } reverse 0 .. $note - 2;
my $first = $entry + 1;
found_again(cut($node, $backup, $records[$first]{lsn}), 'item_v', 'item', 'a list in part', $one);

# an entry's pages without the record that names them
($backup, @records) = records($node, 'wide_v', 'INSERT INTO wide SELECT 33, array_fill(33, ARRAY[4500])::vector');
cmp_ok(scalar @records, '>', 1, 'an entry takes more than one record');
found_again(cut($node, $backup, $records[ $#records - 1 ]{lsn}), 'wide_v', 'wide', 'vectors and codes that no list names',
	'INSERT INTO wide SELECT 34, array_fill(34, ARRAY[4500])::vector');

# two lists that became one, whose heads do not say so yet: the record with both heads comes second, and notes on both
# after it; what VACUUM frees before it merges has gone already
$node->safe_psql('postgres', 'VACUUM item');
($backup, @records) = records($node, 'item_v', 'DELETE FROM item WHERE id % 5 > 0; VACUUM item');
my ($heads) = grep { @{ $records[$_]{blocks} } == 2 && @{ $records[ $_ - 1 ]{blocks} } > 2
	&& !(grep { $_ == 0 } @{ $records[$_]{blocks} })
	&& "@{ $records[ $_ + 1 ]{blocks} } @{ $records[ $_ + 2 ]{blocks} }" eq '0 0' } 1 .. $#records - 2;
ok(defined $heads, 'lists are merged in two records');
found_again(cut($node, $backup, $records[ $heads - 1 ]{lsn}), 'item_v', 'item', 'lists that were merged', $one);

is(lost($node, 'item_v') . lost($node, 'wide_v'), '00', 'nothing is lost where nothing was interrupted');
done_testing();
