# Damaged pages of a hybrid index: an error that names the damage and its place, never a crash.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('corrupt');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nrestart_after_crash = off\nstatement_timeout = 60s");
$node->start;

# item: a list of lists; wide: one list, codes and vectors on more than a page; plain: float32, by taxicab distance; sparse: values of
# varying length; inverted: the same with inverted lists; arrays: two entries a row
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE TABLE item AS SELECT i AS id, ARRAY[i, i % 7, i % 5, 1]::vector(4) AS v FROM generate_series(1, 1000) i;
	CREATE TABLE wide AS SELECT i AS id, array_fill(i, ARRAY[5000])::vector(5000) AS v FROM generate_series(1, 40) i;
	CREATE TABLE plain AS SELECT id, v FROM item;
	CREATE TABLE bits AS SELECT i AS id, (hashint8extended(i, 1)::bit(64) || hashint8extended(i % 9, 2)::bit(64))::bit(128) AS v FROM generate_series(1, 1000) i;
	CREATE TABLE arrays AS SELECT id, ARRAY[v, ARRAY[id % 11, 1, id % 3, id]::vector]::vector(4)[] AS v FROM item;
	CREATE TABLE sparse AS SELECT i AS id, format('{1:%s,%s:1,%s:3}/100000', i, 2 + i % 7, 100 * i)::sparsevec(100000) AS v FROM generate_series(1, 100) i;
	CREATE TABLE inverted AS SELECT i AS id, format('{1:%s,%s:1,%s:3}/100000', i, 2 + i % 7, 100 * i)::sparsevec(100000) AS v FROM generate_series(1, 700) i;
});

# every row is asked for, so that every list is read, by codes and without them; of `inverted`, few are by the first query, so that
# inverted lists exclude rows
my %operator = (item => '<->', wide => '<->', plain => '<+>', sparse => '<->', inverted => '<->', bits => '<~>', arrays => '@#');
my %using = (item => 'USING hybrid (v)', wide => 'USING hybrid (v)', plain => 'USING hybrid (v vector_l1_ops) WITH (storage = float32)',
	sparse => 'USING hybrid (v)', inverted => 'USING hybrid (v)', bits => 'USING hybrid (v)', arrays => 'USING hybrid (v)');
my %target = (item => q{'[1,2,3,4]'}, wide => q{array_fill(2, ARRAY[5000])::vector}, plain => q{'[1,2,3,4]'},
	sparse => q{'{1:1}/100000'}, inverted => q{'{1:1,3:1,12200:2,60000:1}/100000'}, bits => q{repeat('01', 64)::bit(128)},
	arrays => q{'{"[1,2,3,4]","[4,3,2,1]"}'});
# rows that are added once the index is built, and which no inverted list has
my %added = (inverted => q{(1001, '{1:0.5,4:1}/100000')});
my (%query, %exact, %answer, %file, %good, %say);
my $copies = 12;
for my $table (keys %operator)
{
	my $rest = $added{$table} ? "INSERT INTO %s VALUES $added{$table}; VACUUM %1\$s" : 'VACUUM %s';
	$node->safe_psql('postgres', "CREATE INDEX ${table}_v ON $table $using{$table}; " . sprintf $rest, $table);
	my $select = "SELECT count(*), sum(id) FROM (SELECT id FROM $table ORDER BY v $operator{$table} $target{$table} LIMIT 100000) s";

	$query{$table} = "/* codes */ SET enable_seqscan = off; SET hybrid.target_recall = 0.95; " . ($table eq 'inverted' ? $select =~ s/100000\)/5)/r : $select);
	$exact{$table} = "/* exact */ SET enable_seqscan = off; SET hybrid.target_recall = 1; $select";
	$answer{$table} = $node->safe_psql('postgres', $exact{$table});
	is($answer{$table}, $node->safe_psql('postgres', "SELECT count(*), sum(id) FROM $table"), "$table: all are found");
	like($node->safe_psql('postgres', $query{$table} =~ s/SELECT count/EXPLAIN SELECT count/r), qr/Index Scan using ${table}_v/, "$table: by the index");
	for my $copy ('', 1 .. $copies)
	{
		# the same rows in the same places, so that the index of one is one of the other
		$node->safe_psql('postgres', "CREATE TABLE $table$copy AS SELECT * FROM $table WHERE id <= 1000 ORDER BY id;
			CREATE INDEX $table${copy}_v ON $table$copy $using{$table}; " . sprintf $rest, $table . $copy) if $copy ne '';
		$file{ $table . $copy } = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('$table${copy}_v')");
	}
}
$node->stop;
$good{$_} = slurp_file($file{$_}) for keys %query;

# The format, as src/index/page/page.h has it.
my $page = 8192;
my %kind = (META => 1, CENTER => 2, LIST => 3, CODES => 4, VECTORS => 5, TAIL => 6, FREE => 7, VALUES => 9, SEGMENT => 10, DIMENSIONS => 11, POSTINGS => 12);
sub number { my ($table, $at, $format) = @_; return unpack($format, substr($good{$table}, $at, 8)); }
sub special { my ($block) = @_; return ($block + 1) * $page - 16; }
sub kind { my ($table, $block) = @_; return number($table, special($block) + 12, 'S'); }
sub blocks { my ($table, $kind) = @_; return grep { kind($table, $_) == $kind{$kind} } 0 .. length($good{$table}) / $page - 1; }

# meta page: header of 24 bytes, magic, format, dims, storage, seed, list size, center, root ...
my %meta = (magic => 24, format => 28, dims => 32, storage => 36, list_size => 48, center => 52, root => 56, generation => 60,
	height => 62, leaves => 64, curve_size => 68, curve_leaves => 72, curve_by_queries => 76, curve_nearness => 80, curve => 96, moved_first => 384,
	moved_count => 388, moved => 392, regroup_leaves => 6536, logging => 6540);
# list page: next, used, live, tail, pages, total, level, state, changes, forward, moved
my %list = (next => 24, used => 28, live => 30, tail => 32, pages => 36, total => 40, level => 44, state => 46, changes => 48, forward => 56,
	segment => 64, directory => 80);

my $root = number('item', $meta{root}, 'L');
is(number('item', $meta{height}, 'S'), 1, 'a list of lists');
is(number('item', special($root), 'L'), $root, 'the root is a list');
my ($leaf, $other) = grep { $_ != $root } blocks('item', 'LIST');
my ($vectors) = number('item', $leaf * $page + $list{directory}, 'L');
my $root_vectors = number('item', $root * $page + $list{directory}, 'L');
is(kind('item', $vectors), $kind{VECTORS}, 'a leaf has a page of vectors');
# one page of vectors each: a directory of 8 bytes; then blocks: mask, 4 bytes, factors, TIDs, radii, codes
my $block = $list{directory} + 8;
my %entry = (mask => $block, add => $block + 8, rescale => $block + 8 + 128, error => $block + 8 + 256, tid => $block + 8 + 384);
my $leaf_codes = $block + 584;
my $root_radii = $block + 584;
my ($plain_leaf) = grep { $_ != number('plain', $meta{root}, 'L') } blocks('plain', 'LIST');
my ($codes) = blocks('wide', 'CODES');
my ($tail) = blocks('wide', 'TAIL');
my ($wide_vectors) = blocks('wide', 'VECTORS');
my ($center) = blocks('item', 'CENTER');
my ($wide_leaf) = blocks('wide', 'LIST');

# Each damage is done to a copy of its own, so that many can be examined between two starts.
sub with_damage
{
	my ($table, $copy, @patches) = @_;
	my $content = $good{$table};
	substr($content, $_->[0], length $_->[1]) = $_->[1] for @patches;
	open my $handle, '>:raw', $file{ $table . $copy } or die "$table$copy: $!";
	print $handle $content;
	close $handle;
	return;
}

# outcomes STATEMENT ...: return for each a reference to 'answer', the SQLSTATE, or undef if it took the server down, and to what was
# said. Each statement has a new connection, but all of them share one psql, which takes longer to start than a connection.
sub outcomes
{
	my @statements = @_;
	my ($rc, $out, $err) = $node->psql('postgres', join("\\c\n", "\\set VERBOSITY verbose\n", map { "$_;\n\\warn == end\n" } @statements),
		on_error_stop => 0, timeout => 120 * @statements, timed_out => \my $late);
	my @said = split /^== end(?:\n|\z)/m, $err // '', -1;
	my @outcomes;

	for my $i (0 .. $#statements)
	{
		my $ended = $i < $#said;
		my $text = $said[$i] // '';
		my $code = $text =~ /ERROR:  ([0-9A-Z]{5}): / ? $1 : 'answer';
		undef $code if !$ended || $text =~ /server closed the connection|terminated|could not connect|connection to server/;
		push @outcomes, [ $code, $text ];
	}
	return @outcomes;
}

# damages; sees the error in each statement; nothing else crashes, whatever it says
my @waiting;
sub damage
{
	my ($name, $table, $patches, $error, @statements) = @_;
	push @waiting, { name => $name, table => $table, patches => ref $patches->[0] ? $patches : [$patches], error => $error, statements => \@statements };
	look() if @waiting == $copies;
	return;
}

sub look
{
	my $copy = 0;
	with_damage($_->{table}, ++$copy, @{ $_->{patches} }) for @waiting;
	$node->start;
	my ($whole) = outcomes('SELECT count(advice) FROM hybrid_indexes');
	is($whole->[0], 'answer', 'the view of all indexes beside ' . join ', ', map { $_->{name} } @waiting) or diag($whole->[1]);
	$copy = 0;
	for my $damage (@waiting)
	{
		my $table = $damage->{table};
		my @statements = (@{ $damage->{statements} },
			$query{$table}, $exact{$table}, "SELECT hybrid_index_check('${table}_v')", "SELECT hybrid_index_stats('${table}_v')",
			"SELECT count(*) FROM hybrid_index_curve('${table}_v')", "BEGIN; INSERT INTO $table SELECT id, v FROM $table WHERE id = 1; ROLLBACK", "VACUUM $table");
		$copy++;
		my @outcomes = outcomes(map { s/\b$table\b/$table$copy/gr =~ s/\b${table}_v/$table${copy}_v/gr } @statements);
		for my $i (0 .. $#statements)
		{
			my ($code, $err) = @{ $outcomes[$i] };
			if ($i < @{ $damage->{statements} })
			{
				like($err, $damage->{error}, "$damage->{name}: $statements[$i]");
				next;
			}
			# PostgreSQL itself finds out about blocks far away
			ok( defined $code &&
					($code =~ /^(answer|XX00[12]|0A000|54001|58P01)$/ ||
						$err =~ /XX000: (could not open file|list \d+ of index "\w+" has more pages than it says)/),
				"$damage->{name}: survived by $statements[$i]")
				or diag($code // 'no answer', $err, join ' ', map { "$_->[0]:" . unpack('H*', $_->[1]) } @{ $damage->{patches} });
			$say{ $code // 'none' }++;
		}
	}
	$node->stop;
	@waiting = ();
	return;
}
sub at { my ($block, $offset) = @_; return $block * $page + $offset; }


my $check = q{SELECT hybrid_index_check('item_v')};
my $stats = q{SELECT hybrid_index_stats('item_v')};
my $insert = q{INSERT INTO item VALUES (1001, '[1,2,3,4]')};
my $wide = q{SELECT hybrid_index_check('wide_v')};
my $plain = q{SELECT hybrid_index_check('plain_v')};
sub says { my ($what) = @_; return qr/XX002: index "\w+_v" $what/; }
my $none = pack('L', 0xFFFFFFFF);

# the meta page
damage('unknown format', 'item', [ $meta{format}, pack('L', 99) ], qr/0A000: index "\w+_v" has format version 99, this library reads 9\n.*HINT:  REINDEX it/s,
	$query{item}, $check, $stats);
# indexes on bit and by taxicab distance that were built before they had codes
damage('bits without codes', 'bits', [ $meta{format}, pack('L', 9) ], qr/0A000: index "\w+_v" has format version 9, this library reads 10\n.*HINT:  REINDEX it/s,
	$query{bits}, q{SELECT hybrid_index_check('bits_v')}, q{SELECT hybrid_index_stats('bits_v')});
damage('taxicab distance without codes', 'plain', [ $meta{format}, pack('L', 9) ], qr/0A000: index "\w+_v" has format version 9, this library reads 10\n.*HINT:  REINDEX it/s,
	$query{plain}, $plain, q{SELECT hybrid_index_stats('plain_v')});
damage('the view names a format without codes', 'bits', [ $meta{format}, pack('L', 9) ], qr/^(?!.*ERROR)/s,
	q{SELECT 1 / count(*) FROM hybrid_indexes WHERE index = 'bits_v'::regclass AND entries IS NULL AND advice LIKE 'REINDEX it: another version%'});
my ($bits_leaf) = grep { $_ != number('bits', $meta{root}, 'L') } blocks('bits', 'LIST');
my $bits_vectors = number('bits', $bits_leaf * $page + $list{directory}, 'L');
damage('other stored bits', 'bits', [ at($bits_vectors, 24), chr(ord(substr($good{bits}, at($bits_vectors, 24), 1)) ^ 1) ],
	says('has a norm that is not that of the stored vector'), q{SELECT hybrid_index_check('bits_v')});
damage('a residual of bits', 'bits', [ special($bits_vectors) - 12, pack('f', 1) ], says('has an impossible residual'), q{SELECT hybrid_index_check('bits_v')});
# divides by zero unless the view has the row
damage('the view names an unknown format', 'item', [ $meta{format}, pack('L', 99) ], qr/^(?!.*ERROR)/s,
	q{SELECT 1 / count(*) FROM hybrid_indexes WHERE index = 'item_v'::regclass AND entries IS NULL AND advice LIKE 'REINDEX it: another version%'});
# the same for damage: all other rows and columns are there
my $damaged = q{SELECT 1 / count(*) FROM hybrid_indexes WHERE index = 'item_v'::regclass AND bytes > 0 AND entries IS NULL AND advice ~ '^REINDEX it: .+$'};
damage("the view names $_->[0]", 'item', $_->[1], qr/^(?!.*ERROR)/s, $damaged, 'SELECT 1 / (count(*) > 1)::int FROM hybrid_indexes WHERE advice IS NULL')
	for [ 'a damaged meta page', [ $meta{dims}, pack('L', 1 << 30) ] ], [ 'a damaged list', [ $meta{generation}, pack('S', 7) ] ], [ 'a block far away', [ $meta{root}, pack('L', 1 << 30) ] ];
damage('other magic', 'item', [ $meta{magic}, 'HELP' ], says('is not a hybrid index'), $query{item}, $check);
# the planner asks what the index can return; statements that do not use it are answered
damage("no use for $_->[0]", 'item', $_->[1], qr/^(?!.*ERROR)/s, 'SELECT 1 / (count(*) > 1)::int FROM item', 'DELETE FROM item WHERE id = -1')
	for [ 'a damaged meta page', [ $meta{dims}, pack('L', 1 << 30) ] ], [ 'an impossible height', [ $meta{height}, pack('S', 60000) ] ];
damage('impossible dimensions', 'item', [ $meta{dims}, pack('L', 1 << 30) ], says('has a damaged meta page'), $query{item}, $check);
damage('other dimensions', 'item', [ $meta{dims}, pack('L', 5) ], says('has a damaged meta page'), $query{item}, $exact{item}, $check, $insert, 'VACUUM item');
damage('other storage', 'item', [ $meta{storage}, pack('L', 7) ], says('has a damaged meta page'), $query{item}, $check);
damage('impossible size of lists', 'item', [ $meta{list_size}, pack('L', 1) ], says('has a damaged meta page'), $query{item}, $check, $stats);
damage('no root', 'item', [ $meta{root}, $none ], says('(refers to|has an invalid|lacks)'), $check, $query{item}, $exact{item}, $stats);
damage('another root', 'item', [ $meta{root}, pack('L', $leaf) ], says('(contains inconsistent counts|has a list of an unexpected level)'), $check, $query{item});
damage('an older root', 'item', [ $meta{generation}, pack('S', 7) ], says("refers to block $root as part of list $root, but it is not"), $check, $query{item}, $stats);
damage('a higher tree', 'item', [ $meta{height}, pack('S', 60000) ], says('has a meta page with an impossible number of levels'), $check, $query{item}, $stats, $insert, 'VACUUM item');
damage('one level more', 'item', [ $meta{height}, pack('S', 2) ], says('has a list of an unexpected level'), $check, $query{item}, $stats);
damage('a lower tree', 'item', [ $meta{height}, pack('S', 0) ], says(''), $check, $query{item}, $stats);
damage('levels without codes', 'sparse', [ $meta{height}, pack('S', 1) ], says(''), q{SELECT hybrid_index_check('sparse_v')}, $exact{sparse});
damage('center elsewhere', 'item', [ $meta{center}, pack('L', $leaf) ], says("contains an unexpected page at block $leaf"), $check, $query{item});
damage('other center', 'item', [ at($center, 24), pack('f', 1e9) ], says('has (a code|factors of a code) that'), $check);
damage('short center', 'item', [ at($center, 12), pack('S', 24) ], says("has a damaged center at block $center"), $check, $query{item});
damage('long curve', 'item', [ $meta{curve_size}, pack('L', 1000) ], says('has a meta page with a curve that is too long'), $check, $query{item});
damage('curve upside down', 'item', [ $meta{curve} + 4, pack('f', 0.9999) ], says('has a meta page with an impossible curve'), $check);
damage('a curve of negative distances', 'item', [ $meta{curve_nearness}, pack('f', -1) ], says('has a meta page with an impossible curve'), $check);
damage('another curve', 'item', [ $meta{curve_by_queries}, pack('L', 2) ], says('has a meta page with a curve that nothing was measured for'), $check);
damage('no curve of queries', 'item', [ [ $meta{curve_size}, pack('L', 0) ], [ $meta{curve_by_queries}, pack('L', 1) ] ],
	says('has a meta page with a curve that nothing was measured for'), $check);
damage('impossible ring', 'item', [ $meta{moved_count}, pack('L', 1 << 31) ], says('has a meta page with an impossible number of moved lists'),
	$check, $stats, $query{item}, $insert, 'VACUUM item');
damage('a ring that begins beyond its end', 'item', [ $meta{moved_first}, pack('L', 384) ], says('has a meta page with an impossible number of moved lists'),
	$check, $insert, 'VACUUM item');
damage("impossible $_", 'item', [ $meta{$_}, pack('L', 1 << 30) ], says('has a meta page with an impossible number of leaf lists'), $check, $query{item}, $insert, 'VACUUM item')
	for qw(leaves curve_leaves regroup_leaves);
damage('an unknown state of the log', 'item', [ $meta{logging}, pack('L', 2) ], says('has a meta page with an impossible state of its log'), $check, $insert, 'VACUUM item');
damage('a live list in the ring', 'item', [ [ $meta{moved_count}, pack('L', 1) ], [ $meta{moved}, pack('QLS', 3, $leaf, 1) ] ],
	says('has a meta page with an invalid moved list'), $check);

# any page
damage('other page id', 'item', [ special($root) + 14, pack('S', 0xFF82) ], says("refers to block $root as part of list $root, but it is not"), $query{item}, $check, $stats);
damage('other kind', 'item', [ special($leaf) + 12, pack('S', $kind{FREE}) ], says("refers to block $leaf as part"), $query{item}, $exact{item}, $check, $stats);
damage('other list', 'item', [ special($vectors), pack('L', $other) ], says("refers to block $vectors as part of list $leaf"), $query{item}, $exact{item}, $check);
damage('other generation', 'item', [ special($leaf) + 4, pack('S', 2) ], says("refers to block $leaf as part"), $query{item}, $check);
damage('other special space', 'item', [ at($root, 16), pack('S', 8184) ], says("refers to block $root as part"), $query{item}, $check);
damage('a page of zeroes', 'item', [ at($leaf, 0), "\0" x $page ], says("refers to block $leaf as part"), $query{item}, $check);
damage('short page', 'item', [ at($leaf, 12), pack('S', 30) ], says("contains inconsistent counts at block $leaf"), $query{item}, $check, $stats);

# list pages
damage('too many slots', 'item', [ at($leaf, $list{used}), pack('S', 60000) ], says("contains inconsistent counts at block $leaf"), $query{item}, $check, $stats);
damage('more slots', 'item', [ at($root, $list{used}), pack('S', 200) ], says("contains inconsistent counts at block $root"), $query{item}, $check);
damage('fewer live', 'item', [ at($leaf, $list{live}), pack('S', 1) ], says("counts 1 live entries at block $leaf and has"), $check);
damage('fewer live lists', 'item', [ at($root, $list{live}), pack('S', 0) ], says("counts 0 live entries at block $root and has"), $check);
damage('mask of nothing', 'item', [ at($leaf, $entry{mask}), pack('L', 0) ], says("counts \\d+ live entries at block $leaf and has"), $check);
damage('an entry never filled', 'item', [ at($root, $entry{mask}), $none ], says("(has a live entry in a slot never filled|refers to|has an invalid)"), $check);
damage('other total', 'item', [ at($leaf, $list{total}), pack('L', 5) ], says("has a list with wrong counts at block $leaf"), $check);
damage('other tail', 'item', [ at($leaf, $list{tail}), pack('L', 1) ], says("has a list with wrong counts at block $leaf"), $check);
damage('other number of pages', 'item', [ at($leaf, $list{pages}), pack('L', 9) ], says("has a list with wrong counts at block $leaf"), $check);
damage('other level', 'item', [ at($leaf, $list{level}), pack('S', 3) ], says("has a list of an unexpected level at block $leaf"), $query{item}, $exact{item}, $check, $stats);
damage('moved, but named', 'item', [ at($leaf, $list{state}), pack('S', 2) ], says("refers to a list that was moved at block $leaf"), $check);
damage('moved to itself', 'item', [ [ at($leaf, $list{state}), pack('S', 2) ], [ at($leaf, $list{forward}), pack('LSS', $leaf, number('item', special($leaf) + 4, 'S'), 0) x 2 ] ],
	says("has a list without end at block $leaf"), 'VACUUM item');
damage('unknown state', 'item', [ at($leaf, $list{state}), pack('S', 5) ], says("has a list in an unknown state at block $leaf"), $check);
damage('a chain without end', 'item', [ at($leaf, $list{next}), pack('L', $leaf) ], says("uses block $leaf twice"), $check);
damage('a root without end', 'item', [ at($root, $list{next}), pack('L', $root) ], says("uses block $root twice"), $check);
damage('a chain into another list', 'item', [ at($leaf, $list{next}), pack('L', $other) ], says("uses block $other twice|refers to block $other as part"), $check, $query{item});
damage('a chain beyond the end', 'item', [ at($leaf, $list{next}), pack('L', 100000) ], says("refers to a page beyond its end at block 100000"), $check);
damage('no page of vectors', 'item', [ at($leaf, $list{directory}), $none ], says("lacks a page of vectors at block $leaf"), $check);
damage('no page of centroids', 'item', [ at($root, $list{directory}), $none ], says("(lacks|refers to|has an invalid)"), $check, $query{item});
damage('vectors of another list', 'item', [ at($leaf, $list{directory}), pack('L', $root_vectors) ], says("(uses block $root_vectors twice|refers to block)"), $check, $query{item});
damage('vectors beyond the end', 'item', [ at($leaf, $list{directory}), pack('L', 100000) ], says("refers to a page beyond its end at block 100000"), $check);

# links
my $first = at($root, $entry{tid});
damage('a link to another generation', 'item', [ $first + 4, pack('S', 9) ], says('refers to block \d+ as part of list \d+, but it is not'), $check, $query{item}, $stats);
damage('a link to the root', 'item', [ $first, pack('SSS', 0, $root, 1) ], says(''), $check, $query{item}, $stats);
damage('a link to what another links to', 'item', [ $first, substr($good{item}, $first + 6, 6) ], says('(uses block \d+ twice|has a code|has factors)'), $check);
damage('a link to nothing', 'item', [ $first, pack('SSS', 0xFFFF, 0xFFFF, 1) ], says('(refers to|has an invalid)'), $check, $query{item}, $stats);
damage('a link without a generation', 'item', [ $first + 4, pack('S', 0) ], says('(has an entry without a list|refers to block)'), $check, $query{item});
damage('a negative radius', 'item', [ at($root, $root_radii), pack('f', -1) ], says('has a list with a negative radius'), $check);

# vectors and codes
damage('other value', 'item', [ at($vectors, 24), pack('S', 0x4E00) ], says('has a norm that is not that of the stored vector'), $check);
damage('other norm', 'item', [ special($vectors) - 16, pack('f', 1) ], says('has a norm that is not that of the stored vector'), $check);
damage('negative residual', 'item', [ special($vectors) - 12, pack('f', -1) ], says('has an impossible residual'), $check);
damage('other residual', 'item', [ special($vectors) - 12, pack('f', 0.125) ], says('has other values than the table'), $check);
damage('no scale', 'item', [ special($vectors) - 8, pack('f', 0) ], says('has an impossible scale'), $check);
damage('a residual of what is exact', 'plain', [ special(number('plain', at($plain_leaf, $list{directory}), 'L')) - 12, pack('f', 1) ],
	says('has an impossible residual'), $plain);
damage('other centroid', 'item', [ at($root_vectors, 24), pack('S', 0x4E00) ], says('has a norm that is not that of the stored vector'), $check);
damage('fewer vectors', 'item', [ special($vectors) + 6, pack('S', 1) ], says("has 1 vectors at block $vectors|refers to block $vectors|lacks a vector"), $check, $query{item});
damage('too many vectors', 'item', [ special($vectors) + 6, pack('S', 60000) ], says("has 60000 vectors at block $vectors"), $check);
damage('other bits', 'item', [ at($leaf, $leaf_codes), chr(ord(substr($good{item}, at($leaf, $leaf_codes), 1)) ^ 1) ], says('has a code that is not that of the stored vector'), $check);
damage("other factor $_", 'item', [ at($leaf, $entry{$_}), pack('f', 12345) ], says('has factors of a code that are not those'), $check) for qw(add rescale error);
damage('other bits of a wide code', 'wide', [ at($codes, 24 + 100), chr(ord(substr($good{wide}, at($codes, 24 + 100), 1)) ^ 16) ],
	says('has a code that is not that of the stored vector'), $wide);
damage('codes that are none', 'wide', [ special($codes) + 12, pack('S', $kind{VECTORS}) ], says("refers to block $codes as part"), $wide, $query{wide});
damage('short codes', 'wide', [ at($codes, 12), pack('S', 64) ], says("contains inconsistent counts at block $codes"), $wide);
damage('no codes', 'wide', [ at($wide_leaf, $list{directory}), $none ], says("(lacks|refers to|has an invalid)"), $wide, $query{wide});
damage('tail is not a tail', 'wide', [ special($tail) + 12, pack('S', $kind{VECTORS}) ], says("refers to block $tail as part"), $wide, $query{wide}, $exact{wide});
damage('tail is too short', 'wide', [ at($tail, 12), pack('S', 64) ], says("contains inconsistent counts at block $tail"), $wide);
damage('other value in a tail', 'wide', [ at($tail, 30), pack('S', 0x4E00) ], says('has a norm that is not that of the stored vector'), $wide);
damage('no vector', 'wide', [ special($wide_vectors) + 6, pack('S', 0) ], says("has 0 vectors at block $wide_vectors|refers to block $wide_vectors"), $wide, $query{wide});

# values of varying length: a directory of 330 pages, then blocks, each with pieces of 12 bytes: start, length, room
my $sparse = q{SELECT hybrid_index_check('sparse_v')};
my ($sparse_leaf) = blocks('sparse', 'LIST');
my ($values) = blocks('sparse', 'VALUES');
my $piece = at($sparse_leaf, $list{directory} + 4 * 330 + 584);
is(number('sparse', $piece + 4, 'L'), 4 + 3 * 8, 'the piece of a value of three elements');
damage('a value beyond its page', 'sparse', [ $piece, pack('L', 1 << 30) ], says('has a value beyond the end|has a damaged value'), $sparse, $exact{sparse});
damage('a value that is longer', 'sparse', [ $piece + 4, pack('L', 4 + 4 * 8) ], says('has a value of an impossible length|has a damaged value'), $sparse, $exact{sparse});
damage('a value without length', 'sparse', [ $piece + 4, pack('L', 0) ], says('has a value of an impossible length|has a damaged value'), $sparse, $exact{sparse});
damage('a value that is far too long', 'sparse', [ $piece + 4, pack('LL', 0xFFFFFFF0, 0xFFFFFFFF) ], says('has a value of an impossible length|has a damaged value'), $sparse, $exact{sparse});
damage('room that reaches into the next', 'sparse', [ $piece + 8, pack('L', 4 + 4 * 8) ], says('has two values in one place'), $sparse);
damage('two values in one place', 'sparse', [ $piece, pack('L', 4 + 3 * 8) ], says('has two values in one place'), $sparse);
damage('more elements', 'sparse', [ at($values, 24), pack('L', 1000) ], says('has a damaged value'), $sparse, $exact{sparse});
damage('fewer elements than none', 'sparse', [ at($values, 24), pack('L', 0xFFFFFFFF) ], says('has a damaged value'), $sparse, $exact{sparse});
damage('an element beyond the dimensions', 'sparse', [ at($values, 24 + 4 + 2 * 4), pack('L', 100000) ], says('has a damaged value'), $sparse, $exact{sparse});
damage('elements in disorder', 'sparse', [ at($values, 24 + 4), pack('L', 60000) ], says('has a damaged value'), $sparse, $exact{sparse});
damage('another element', 'sparse', [ at($values, 24 + 4 + 3 * 4), pack('f', 0.5) ], says('has other values than the table'), $sparse);
damage('values that are none', 'sparse', [ special($values) + 12, pack('S', $kind{VECTORS}) ], says("refers to block $values as part"), $sparse, $exact{sparse});
damage('no values', 'sparse', [ at($sparse_leaf, $list{directory}), $none ], says('lacks a page of values|has a damaged value'), $sparse, $exact{sparse});
damage('short values', 'sparse', [ at($values, 12), pack('S', 64) ], says('has a page that lacks values'), $sparse);
damage('a page of values twice', 'sparse', [ at($sparse_leaf, $list{directory} + 4), pack('L', $values) ], says("uses block $values twice"), $sparse);

# inverted lists: a head of 24 bytes and the dimensions; dimensions of 8 bytes; a page's head of 8 bytes and runs, whose head has 16
my $inverted = q{SELECT hybrid_index_check('inverted_v')};
my @nearest = ($inverted, $query{inverted}, $exact{inverted});
my @lists = blocks('inverted', 'LIST');
my ($segment, $dimensions) = map { blocks('inverted', $_) } qw(SEGMENT DIMENSIONS);
my @postings = blocks('inverted', 'POSTINGS');
my %head = (first => 24, pages => 28, rows => 32, count => 36, postings => 40, least => 48, block => 52);
my %run = (dim => 32, step => 36, loss => 40, count => 44, row => 48);
my $multiple = $run{row} + 2 * 700;
is(number('inverted', at($segment, $head{rows}), 'L'), 700, 'rows with inverted lists');
is(number('inverted', at($postings[0], $run{count}), 'S'), 700, 'a run of all these rows');
is(scalar @postings, 3, 'pages of postings');
my $gone = '(refers to a segment that does not exist|refers to block \d+ as a segment, but it is not)';
for ([ 'another first page', 'first', 1, 'has a segment of other pages' ], [ 'fewer pages', 'pages', 3, 'has a segment of other pages' ],
	[ 'far more pages', 'pages', 1 << 30, 'contains an impossible segment' ], [ 'far more rows', 'rows', 65537, 'contains an impossible segment' ],
	[ 'fewer rows', 'rows', 1, 'has a segment with a wrong number of rows' ], [ 'more pages of dimensions', 'count', 2, 'contains an impossible segment' ],
	[ 'no pages of dimensions', 'count', 0, 'contains an impossible segment' ], [ 'another number of postings', 'postings', 2099, 'has a segment with a wrong number of postings' ],
	[ 'another least dimension', 'least', 1, 'has a segment with unordered dimensions' ], [ 'other dimensions', 'block', $postings[1], $gone ],
	[ 'dimensions that do not exist', 'block', 0xFFFFFFFF, 'refers to a page that does not exist' ])
{
	my ($name, $field, $value, $error) = @$_;
	damage("a segment with $name", 'inverted', [ at($segment, $head{$field}), pack('L', $value) ], says($error), $inverted);
}
damage('dimensions beyond the end', 'inverted', [ at($segment, $head{block}), pack('L', 100000) ], qr/XX001: could not read block/, @nearest);
damage('another dimension of a page', 'inverted', [ at($dimensions, 24 + 8), pack('l', 12000) ], says('has a segment with unordered dimensions'), $inverted);
damage('the same postings twice', 'inverted', [ at($dimensions, 24 + 12), pack('L', $postings[2]) ], says("uses block $postings[2] twice"), $inverted);
damage('the same postings twice, in a segment to be replaced', 'inverted', [ [ at($dimensions, 24 + 12), pack('L', $postings[2]) ], [ at($segment, $head{rows}), pack('L', 65536) ] ],
	says("uses block $postings[2] twice"), $inverted);
damage('no page in a segment to be replaced', 'inverted', [ [ at($dimensions, 24 + 12), $none ], [ at($segment, $head{rows}), pack('L', 65536) ] ],
	says('refers to a page (that does not exist|beyond its end)'), $inverted, 'VACUUM inverted');
damage('postings that are none', 'inverted', [ at($dimensions, 24 + 4), pack('L', $dimensions) ], says("(uses block $dimensions twice|$gone)"), $inverted, $query{inverted}, $exact{inverted});
damage('postings beyond the end', 'inverted', [ at($dimensions, 24 + 4), pack('L', 100000) ], says('refers to a page beyond its end at block 100000'), $inverted);
damage('short dimensions', 'inverted', [ at($dimensions, 12), pack('S', 24) ], says('(contains a page without dimensions|has a segment with unordered dimensions)'), @nearest);
damage('dimensions before their page', 'inverted', [ at($dimensions, 12), pack('S', 0) ], says('contains a page of a segment without a beginning'), @nearest);
damage('short segment', 'inverted', [ at($segment, 12), pack('S', 40) ], says('contains a page of a segment without a beginning'), @nearest);
damage('short postings', 'inverted', [ at($postings[0], 12), pack('S', 28) ], says('contains a page of a segment without a beginning'), @nearest);
damage('a run cut off', 'inverted', [ at($postings[0], 12), pack('S', 4000) ], says('contains postings that do not end on their page'), @nearest);
damage("postings with $_->[0] after them", 'inverted', [ at($postings[ $_->[2] ], 24), pack('L', $_->[1]) ], says($_->[3]), $inverted)
	for [ 'others', $postings[2], 0, 'has a segment with unordered pages' ], [ 'none', 0xFFFFFFFF, 0, 'has a segment with unordered pages' ],
	[ 'themselves', $postings[2], 2, 'has a segment without an end' ];
damage('postings without end', 'inverted', [ map { [ at($_, 24), pack('L', $postings[0]) ] } @postings ], says('has a segment with unordered pages'), $inverted);
for ([ 'another first dimension', 'dim', pack('l', 1), 'has a segment with unordered dimensions' ], [ 'no step', 'step', pack('f', 0), 'has an impossible run' ],
	[ 'a step that is not a number', 'step', pack('L', 0x7FC00000), 'has an impossible run' ], [ 'another step', 'step', pack('f', 0.5), 'has postings that are not those' ],
	[ 'a negative loss', 'loss', pack('f', -1), 'has an impossible run' ], [ 'more loss than step', 'loss', pack('f', 1), 'has an impossible run' ],
	[ 'too little loss', 'loss', pack('f', 0), 'has postings that are not those' ], [ 'a loss that is not a number', 'loss', pack('L', 0x7FC00000), 'has an impossible run' ],
	[ 'no postings', 'count', pack('S', 0), 'contains postings that do not end on their page' ], [ 'too many postings', 'count', pack('S', 65535), 'contains postings that do not end on their page' ],
	[ 'fewer postings', 'count', pack('S', 699), '(contains postings that do not end|has (an impossible run|postings that are not those|unordered postings))' ],
	[ 'another row', 'row', pack('S', 1), 'has (postings that are not those|unordered postings)' ], [ 'a row that no page has', 'row', pack('S', 65535), 'has unordered postings' ])
{
	my ($name, $field, $bytes, $error) = @$_;
	damage("a run with $name", 'inverted', [ at($postings[0], $run{$field}), $bytes ], says($error), $inverted);
}
damage('another multiple', 'inverted', [ at($postings[0], $multiple), pack('s', 9) ], says('has postings that are not those'), $inverted);
damage('another row with an element', 'inverted', [ at($postings[2], $run{row}), pack('S', 526) ], says('has postings that are not those'), $inverted);
damage('a smaller dimension', 'inverted', [ at($postings[1], $run{dim} + 20), pack('l', 5) ], says('has an impossible run'), $inverted);
for ([ 'segment', $segment, $gone ], [ 'dimensions', $dimensions, $gone ], [ 'postings', $postings[0], "(has a segment that lacks a page|$gone)" ])
{
	my ($name, $block, $error) = @$_;
	damage("$name of another kind", 'inverted', [ special($block) + 12, pack('S', $kind{VALUES}) ], says($error), @nearest);
	damage("$name of another segment", 'inverted', [ special($block), pack('L', $lists[0]) ], says($error), @nearest);
	damage("$name of an older segment", 'inverted', [ special($block) + 4, pack('S', 0) ], says($error), @nearest);
	damage("$name of zeroes", 'inverted', [ at($block, 0), "\0" x $page ], says($error), @nearest);
}
damage("a link to $_->[0]", 'inverted', [ at($lists[1], $list{segment} + $_->[1]), $_->[2] ], $_->[3], @nearest)
	for [ 'another segment', 0, pack('L', $dimensions), says($gone) ], [ 'a list as segment', 0, pack('LS', $lists[0], 1), says($gone) ],
	[ 'an older segment', 4, pack('S', 9), says($gone) ], [ 'a segment beyond the end', 0, pack('L', 100000), qr/XX001: could not read block/ ];
my $inverted_block = $list{directory} + 4 * 330;
damage('another measure', 'inverted', [ at($lists[0], $inverted_block + 8), pack('f', 5) ], says('has a row with a wrong measure'), $inverted);
damage('a row that no inverted list has', 'inverted', [ at($lists[3], $inverted_block + 4), pack('L', 0) ], says('has a segment with a wrong number of rows'), $inverted);

# rows
my $tid = at($leaf, $entry{tid});
damage('twice the same row', 'item', [ $tid, substr($good{item}, $tid + 6, 6) ], says('has two entries for one row'), $check);
damage('beyond the table', 'item', [ $tid, pack('SSS', 0, 9000, 1) ], says('lacks a row|has an entry beyond'), $check);
damage('no heap position', 'item', [ $tid + 4, pack('S', 0) ], says('has an entry with an invalid heap position'), $check);
damage('a row taken out', 'item',
	[   [ at($leaf, $entry{mask}), pack('L', number('item', at($leaf, $entry{mask}), 'L') & ~1) ],
		[ at($leaf, $list{live}), pack('S', number('item', at($leaf, $list{live}), 'S') - 1) ],
		[ at($leaf, $list{total}), pack('L', number('item', at($leaf, $list{total}), 'L') - 1) ] ],
	says('lacks a row'), $check);

# elements of arrays: an entry of a row whose two vectors differ, which is any row but the first
my $arrays = q{SELECT hybrid_index_check('arrays_v')};
my $arrays_leaf = number('arrays', at(number('arrays', $meta{root}, 'L'), $entry{tid}) + 2, 'S');
my @arrays_tids = map { at($arrays_leaf, $entry{tid}) + 6 * $_ } 0 .. 31;
my $first_row = pack('SSS', 0, 0, 1);
my ($arrays_slot) = grep { substr($good{arrays}, $arrays_tids[$_], 6) ne $first_row } 0 .. 31;
damage('an entry of another array', 'arrays', [ $arrays_tids[$arrays_slot], $first_row ], says('has other values than the table|has too many entries for a row|lacks an element of a row'), $arrays);
damage('an element taken out', 'arrays',
	[   [ at($arrays_leaf, $entry{mask}), pack('L', number('arrays', at($arrays_leaf, $entry{mask}), 'L') & ~(1 << $arrays_slot)) ],
		[ at($arrays_leaf, $list{live}), pack('S', number('arrays', at($arrays_leaf, $list{live}), 'S') - 1) ],
		[ at($arrays_leaf, $list{total}), pack('L', number('arrays', at($arrays_leaf, $list{total}), 'L') - 1) ] ],
	says('lacks an element of a row'), $arrays);

# anything anywhere: whatever is said, nobody crashes and nobody runs for ever
for my $round (1 .. 72)
{
	my $table = (qw(item wide plain sparse arrays inverted))[ $round % 6 ];
	my @pages = map { blocks($table, $_) } qw(META LIST CODES VECTORS VALUES SEGMENT DIMENSIONS POSTINGS);
	my @patches;

	srand($round);
	for (1 .. 1 + int rand 4)
	{
		my $offset = 24 + int(rand() < 0.5 ? rand 700 : rand $page - 32);
		my $bytes = join '', map { rand() < 0.5 ? "\xFF" : chr int rand 256 } 1 .. (1, 2, 4, 8)[ int rand 4 ];
		push @patches, [ at($pages[ int rand @pages ], $offset), $bytes ];
	}
	damage("round $round", $table, \@patches, qr/./);
}
look() if @waiting;
note(join ', ', map { "$_: $say{$_}" } sort keys %say);

# all is well again
with_damage($_, '') for sort keys %query;
$node->start;
is($node->safe_psql('postgres', $exact{$_}), $answer{$_}, "$_: repaired") for sort keys %query;
is($node->safe_psql('postgres', "SELECT hybrid_index_check('item_v'), hybrid_index_check('wide_v'), hybrid_index_check('plain_v'), hybrid_index_check('sparse_v'), hybrid_index_check('bits_v'), hybrid_index_check('arrays_v'), hybrid_index_check('inverted_v')"),
	'1000|40|1000|100|1000|2000|701',
	'and whole');

# an entry without a row, as lost writes of the heap would leave it
$node->safe_psql('postgres', 'CREATE TABLE lost (id int, v vector(2)); INSERT INTO lost SELECT i, ARRAY[i, i]::vector FROM generate_series(1, 10) i;
	CREATE INDEX lost_v ON lost USING hybrid (v); CHECKPOINT');
my $heap = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('lost')");
$node->stop;
open my $handle, '+<:raw', $heap or die "$heap: $!";
seek $handle, 24 + 4 * 6, 0;
print $handle pack('L', 0);
close $handle;
$node->start;
my ($rc, $out, $err) = $node->psql('postgres', "SELECT hybrid_index_check('lost_v')");
like($err, qr/index "lost_v" has an entry for a row that does not exist.*Heap position \(0,7\)/s, 'an entry without a row');
$node->safe_psql('postgres', 'REINDEX INDEX lost_v');
is($node->safe_psql('postgres', "SELECT hybrid_index_check('lost_v')"), '9', 'REINDEX repairs it');

# pages of zeroes, and of a list that nobody names, as a crash leaves them
$node->stop;
open $handle, '>>:raw', $file{item} or die $!;
print $handle "\0" x (2 * $page);
my $lost = substr($good{item}, at($vectors, 0), $page);
substr($lost, $page - 16, 4) = pack('L', 7777);
print $handle $lost;
close $handle;
$node->start;
is($node->safe_psql('postgres', $exact{item}), $answer{item}, 'pages that belong to nothing are not in the way');
($rc, $out, $err) = $node->psql('postgres', $check);
is($out, '1000', 'the check passes');
like($err, qr/NOTICE:  index "item_v" has 3 unreferenced pages\nDETAIL:  2 of them were never written/, 'and tells of them');

$node->stop;
done_testing();
