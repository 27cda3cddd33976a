# What an inner list's entry in its parent list records, after splits of the lists below it.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('inner_lists');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;

# three levels; the rows that are inserted are beside those of the build
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE TABLE item (v vector(4));
	SELECT setseed(0.4);
	INSERT INTO item SELECT ARRAY[random(), random(), random(), random()]::vector FROM generate_series(1, 20000);
	CREATE INDEX item_l2 ON item USING hybrid (v) WITH (list_size = 32);
	CREATE INDEX item_ip ON item USING hybrid (v vector_ip_ops) WITH (list_size = 32);
	INSERT INTO item SELECT ARRAY[1 + random(), random(), random(), random()]::vector FROM generate_series(1, 6000);
	CHECKPOINT;
});
for my $metric ('l2', 'ip')
{
	my $levels = $node->safe_psql('postgres', "SELECT levels FROM hybrid_index_stats('item_$metric')");
	my $file = slurp_file($node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('item_$metric')"));
	my $root = number($file, 56, 'L');
	my ($lists, $wrong, $worst) = (0, 0, 0);

	is($levels, 3, "$metric: inner lists below an inner list");
	for my $entry (entries($file, $root))
	{
		my @below = entries($file, $entry->{list});
		my $half = $metric eq 'ip' ? 1 : 2;
		my $sum = 0;

		# the formula of hy_code_square, with codes of 64 bits
		$sum += ($_->{rescale} / $half)**2 * 16 - ($_->{error} / $half)**2 * 63 + $_->{radius}**2 for @below;
		my $off = abs($entry->{radius} / sqrt($sum / @below) - 1);

		$lists++;
		$wrong++ if $entry->{rows} != int(log(@below) / log(2) * 16 + 0.5);
		$worst = $off if $off > $worst;
	}
	cmp_ok($lists, '>', 2, "$metric: more than one inner list");
	is($wrong, 0, "$metric: each inner list's number of lists is recorded");
	cmp_ok($worst, '<', 0.031, "$metric: each inner list's radius is recorded");
	is($node->safe_psql('postgres', "SELECT hybrid_index_check('item_$metric')"), 26000, "$metric: the index is whole");
}
$node->stop;
done_testing();

sub number { my ($file, $at, $format) = @_; return unpack($format, substr($file, $at, 8)); }

# The live entries of an inner list of 4 dimensions: src/index/page/page.h has the format.
sub entries
{
	my ($file, $block) = @_;
	my @found;

	while ($block != 0xffffffff)
	{
		my $page = substr($file, $block * 8192, 8192);
		my $used = number($page, 28, 'S');

		for my $slot (0 .. $used - 1)
		{
			# the header, the head of the list page and its directory; a block has mask, factors, TIDs, radii, codes
			my $at = 24 + 56 + 8 + int($slot / 32) * (584 + 128 + 256);
			my $i = $slot % 32;
			my ($high, $low) = unpack('SS', substr($page, $at + 8 + 384 + 6 * $i, 4));
			my $radius = substr($page, $at + 584 + 4 * $i, 4);

			next unless number($page, $at, 'L') >> $i & 1;
			push @found, {
				list => $high << 16 | $low,
				rescale => number($page, $at + 8 + 128 + 4 * $i, 'f'),
				error => number($page, $at + 8 + 256 + 4 * $i, 'f'),
				radius => unpack('f', $radius),
				rows => unpack('L', $radius) & 0xff
			};
		}
		$block = number($page, 24, 'L');
	}
	return @found;
}
