# Damaged pages of a hybrid index: an error that says what and where, never a crash or an answer.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('corrupt');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE TABLE item (id int, v vector(4));
	INSERT INTO item SELECT i, ARRAY[i, i % 7, i % 5, 1]::vector FROM generate_series(1, 1000) i;
	CREATE INDEX item_v ON item USING hybrid (v);
	CREATE TABLE wide (id int, v vector(3000));
	INSERT INTO wide SELECT i, array_fill(i, ARRAY[3000])::vector FROM generate_series(1, 5) i;
	CREATE INDEX wide_v ON wide USING hybrid (v);
	VACUUM item, wide;
	CHECKPOINT;
});

my %query = (
	item => q{SET enable_seqscan = off; SELECT id FROM item ORDER BY v <-> '[1,2,3,4]' LIMIT 3},
	wide => q{SET enable_seqscan = off; SELECT id FROM wide ORDER BY v <-> array_fill(2, ARRAY[3000])::vector LIMIT 3});
my %answer = map { $_ => $node->safe_psql('postgres', $query{$_}) } keys %query;
my %file = map { $_ => $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('${_}_v')") } keys %query;
my $page = 8192;

# bytes of a file overwritten while the server is down; returns what was there
sub patch
{
	my ($file, $offset, $bytes) = @_;
	my $was;
	$node->stop;
	open my $handle, '+<:raw', $file or die "$file: $!";
	seek $handle, $offset, 0;
	read $handle, $was, length $bytes;
	seek $handle, $offset, 0;
	print $handle $bytes;
	close $handle;
	$node->start;
	return $was;
}

# damages, sees the error in each statement, repairs, sees the answer again
sub damage
{
	my ($name, $table, $offset, $bytes, $error, @statements) = @_;
	my $was = patch($file{$table}, $offset, $bytes);
	for my $statement (@statements)
	{
		my ($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$statement");
		like($err, $error, "$name: " . substr($statement, 0, 40));
		is($out, '', "$name: no answer");
	}
	is($node->safe_psql('postgres', 'SELECT 1'), '1', "$name: the server lives");
	patch($file{$table}, $offset, $was);
	is($node->safe_psql('postgres', $query{$table}), $answer{$table}, "$name: repaired");
}

my $check = q{SELECT hybrid_index_check('item_v')};
my $stats = q{SELECT hybrid_index_stats('item_v')};
my $insert = q{INSERT INTO item VALUES (0, '[0,0,0,0]')};
my $vacuum = q{VACUUM item};

# the meta page: header of 24 bytes, magic, format, dims, dtype
damage('unknown format', 'item', 24 + 4, pack('L', 99),
	qr/0A000: index "item_v" has format version 99, this library reads 1\n.*HINT:  REINDEX it/s, $query{item}, $check, $stats, $insert);
damage('other magic', 'item', 24, 'HELP', qr/XX002: index "item_v" is not a hybrid index/, $query{item}, $insert);
damage('impossible dimensions', 'item', 24 + 8, pack('L', 1 << 30), qr/XX002: index "item_v" has a damaged meta page/, $query{item});
damage('other storage', 'item', 24 + 12, pack('L', 7), qr/XX002: index "item_v" has a damaged meta page/, $query{item});
# a data page: header, ... , special space of 8 bytes: count, dead, kind, page id
damage('other page id', 'item', 2 * $page - 2, pack('S', 0xFF82), qr/XX002: index "item_v" contains an unexpected page at block 1/,
	$query{item}, $check, $stats);
damage('other kind', 'item', 2 * $page - 4, pack('S', 3), qr/XX002: index "item_v" contains an unexpected page at block 1/, $query{item}, $vacuum);
damage('count too large', 'item', 2 * $page - 8, pack('S', 60000), qr/XX002: index "item_v" contains inconsistent counts at block 1/,
	$query{item}, $check, $stats);
damage('count too small', 'item', 2 * $page - 8, pack('S', 1), qr/XX002: index "item_v" contains inconsistent counts at block 1/, $query{item});
damage('short page', 'item', $page + 12, pack('S', 30), qr/XX002: index "item_v" contains inconsistent counts at block 1/, $query{item});
damage('other special space', 'item', $page + 16, pack('S', 8160), qr/XX002: index "item_v" contains a page that is not its own at block 1/, $query{item});
damage('tail is not a tail', 'wide', 3 * $page - 4, pack('S', 2), qr/XX002: index "wide_v" contains an unexpected page at block 2/, $query{wide},
	q{SELECT hybrid_index_check('wide_v')});
damage('tail is too short', 'wide', 2 * $page + 12, pack('S', 64), qr/XX002: index "wide_v" contains an incomplete vector at block 2/, $query{wide});

# what only the check sees; slot i lies 8 + 16 (i + 1) bytes before the end: tid, flags, norm, residual
my $slot = sub { return 2 * $page - 8 - 16 * ($_[0] + 1) };
damage('other value', 'item', $page + 24, pack('f', 12345), qr/XX002: index "item_v" has a norm that is not that of the stored vector/, $check);
damage('other norm', 'item', $slot->(3) + 8, pack('f', 1), qr/XX002: index "item_v" has a norm that is not that of the stored vector/, $check);
damage('other residual', 'item', $slot->(3) + 12, pack('f', 1), qr/XX002: index "item_v" has an impossible residual/, $check);
damage('dead, but not counted', 'item', $slot->(5) + 6, pack('S', 0), qr/XX002: index "item_v" counts 0 dead entries at block 1 and has 1/, $check);
damage('twice the same row', 'item', $slot->(5) + 4, pack('S', 5), qr/XX002: index "item_v" has two entries for one row.*Heap position \(0,5\)/s, $check);
damage('beyond the table', 'item', $slot->(5), pack('SS', 9, 0), qr/XX002: index "item_v" lacks a row|has an entry beyond/, $check);

# an entry without a row, as lost writes of the heap would leave it
$node->safe_psql('postgres', 'CREATE TABLE lost (id int, v vector(2)); INSERT INTO lost SELECT i, ARRAY[i, i]::vector FROM generate_series(1, 10) i;
	CREATE INDEX lost_v ON lost USING hybrid (v); CHECKPOINT');
my $heap = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('lost')");
patch($heap, 24 + 4 * 6, pack('L', 0));
my ($rc, $out, $err) = $node->psql('postgres', "SELECT hybrid_index_check('lost_v')");
like($err, qr/index "lost_v" has an entry for a row that does not exist.*Heap position \(0,7\)/s, 'an entry without a row');
$node->safe_psql('postgres', 'REINDEX INDEX lost_v');
is($node->safe_psql('postgres', "SELECT hybrid_index_check('lost_v')"), '9', 'REINDEX repairs it');

# zero pages, as a crash leaves them: empty groups, used again
my $size = -s $file{item};
$node->stop;
open my $handle, '>>:raw', $file{item} or die $!;
print $handle "\0" x (3 * $page);
close $handle;
open $handle, '>>:raw', $file{wide} or die $!;
print $handle "\0" x $page;    # half a group
close $handle;
$node->start;
is($node->safe_psql('postgres', $query{$_}), $answer{$_}, "$_: zero pages are not in the way") for sort keys %query;
$node->safe_psql('postgres', q{
	INSERT INTO item SELECT i, ARRAY[i, i % 7, i % 5, 1]::vector FROM generate_series(2001, 3000) i;
	INSERT INTO wide SELECT i, array_fill(i, ARRAY[3000])::vector FROM generate_series(6, 9) i;
});
is($node->safe_psql('postgres', "SELECT hybrid_index_check('item_v'), hybrid_index_check('wide_v')"), '2000|9', 'zero pages are used');
is($node->safe_psql('postgres', "SELECT pages FROM hybrid_index_stats('wide_v')"), '19', 'half a group is completed');

$node->stop;
done_testing();
