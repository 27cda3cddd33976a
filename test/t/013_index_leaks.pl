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

# inverted lists of sparse vectors, replaced: new ones that no list page names, or not all name, and old ones that none names now
$node->safe_psql('postgres', q{
	CREATE TABLE thin AS SELECT i AS id, format('{1:%s,%s:1,%s:3}/1000', i, 2 + i % 7, 10 + i * 7919 % 990)::sparsevec(1000) AS v FROM generate_series(1, 600) i;
	CREATE INDEX thin_v ON thin USING hybrid (v);
	INSERT INTO thin SELECT id + 600, v FROM thin;
});
($backup, @records) = records($node, 'thin_v', 'VACUUM thin');
my $all_lost = 0;
for my $part (1 .. 6)
{
	my $after = int($part * @records / 7);
	my $server = cut($node, $backup, $records[$after]{lsn});
	my $lost = lost($server, 'thin_v');
	my $nearest = q{SELECT string_agg(d::text, ' ') FROM (SELECT v <-> '{1:400,3:1,90:2}/1000' AS d FROM thin ORDER BY 1 LIMIT 50) s};

	like($lost, qr/^\d+$/, "after record $after of a VACUUM of sparse vectors: unreferenced pages: $lost");
	$all_lost += $lost;
	for my $when ('before', 'after')
	{
		is($server->safe_psql('postgres', "SET enable_seqscan = off; $nearest"), $server->safe_psql('postgres', "SET enable_indexscan = off; $nearest"),
			"after record $after: the nearest rows $when VACUUM");
		$server->safe_psql('postgres', 'VACUUM thin');
	}
	is(lost($server, 'thin_v'), 0, "after record $after: no page is lost then");
	is($server->safe_psql('postgres', "SELECT hybrid_index_check('thin_v')"), '1200', "after record $after: the index has every row");
	$server->stop;
}
cmp_ok($all_lost, '>', 0, 'some pages of inverted lists were lost');

is(lost($node, 'item_v') . lost($node, 'wide_v') . lost($node, 'thin_v'), '000', 'nothing is lost where nothing was interrupted');
done_testing();
