# The examples of README.md, docs/functions.md, docs/associate.md, docs/hybrid-search.md and docs/tutorial.md run as they stand and
# print what is shown there. The recipe of docs/from-pgvector.md leaves valid indexes.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use IPC::Run;
use Test::More;

my $docs = $ENV{HYBRID_DOCS} // 'docs';
my $node = PostgreSQL::Test::Cluster->new('documents');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION hybrid');

# blocks FILE: return the indented blocks of a document
sub blocks
{
	my ($file) = @_;

	return map { s/^    //mgr } grep { !/^(?!    )/m } split /\n\n+/, slurp_file("$docs/$file");
}

# What \df hybrid_* lists is described.
my $functions = slurp_file("$docs/functions.md") . slurp_file("$docs/associate.md");
my @listed = split /\n/, $node->safe_psql('postgres', '\df hybrid_*');
my %names = map { (split /\|/)[1] => 1 } @listed;
cmp_ok(scalar keys %names, '>', 25, '\df lists the functions');
is(join(' ', grep { $functions !~ /\b$_\b/ } sort keys %names), '', 'functions.md describes each function');

# examples TEXT: return [statements, output] for each example, in order. The output is undef if none is shown.
sub examples
{
	my ($text) = @_;
	my @found;

	while ($text =~ /^```sql\n(.*?)^```$|((?:^    [^\n]*\n)+)/msg)
	{
		my $block = $1 // $2 =~ s{^    }{}mgr;

		if ($block =~ /^(?:--|SELECT\b|WITH\b|CREATE\b|INSERT\b|SET\b|ALTER\b)/)
		{
			push @found, [ $block, undef ];
		}
		elsif ($block =~ /^ERROR:|^[^\n]*\n-[-+]*\n/)
		{
			$found[-1][1] = $block;
		}
	}
	return @found;
}

# same_output DATABASE, NAME, COUNT, EXAMPLES: all of them run in one session, and COUNT of them print what is shown
sub same_output
{
	my ($database, $name, $count, @examples) = @_;
	my $script = "SET hybrid.plugins = '';\nSET hybrid.execution = auto;\n";
	my ($out, $err);

	$script .= "\\echo === example\n\\warn === example\n$_->[0]" for @examples;
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	IPC::Run::run([ 'psql', '-Xq', '-P', 'footer=off', '-v', 'VERBOSITY=terse', '-d', $database ], '<', \$script, '>', \$out, '2>', \$err);
	my @tables = split /^=== example\n/m, $out =~ s/ +$//mgr;
	my @errors = split /^=== example\n/m, $err;

	is(scalar(() = $err =~ /^=== example$/mg), scalar @examples, "$name: all examples were run");
	for my $i (0 .. $#examples)
	{
		my ($first) = grep { !/^(?:--|\\)/ } split /\n/, $examples[$i][0];
		my $shown = $examples[$i][1] // '';
		my $printed = ($tables[ $i + 1 ] // '') . ($errors[ $i + 1 ] // '');

		$printed =~ s/\n+\z/\n/;
		$printed = '' if $printed eq "\n";

		is($printed, $shown =~ s/ +$//mgr, "$name: $first");
	}
	is(scalar(grep { defined $_->[1] } @examples), $count, "$name: examples with output");
}

# functions.md shows the output of some examples only. Examples that need Citus or another server are left out. 062_sharded.pl
# runs those of hybrid_knn_sharded.
$node->safe_psql('postgres', 'CREATE DATABASE functions');
$node->safe_psql('functions', 'CREATE EXTENSION hybrid');
same_output('functions', 'functions.md', 16, map { defined $_->[1] ? $_ : [ "\\o /dev/null\n$_->[0]\\o\n", undef ] }
		grep { join('', map { $_ // '' } @$_) !~ /^ERROR:|run_command_on_shards|_sharded|FOREIGN|hybrid_setting_check|SERVER/m }
		examples(slurp_file("$docs/functions.md")));

$node->safe_psql('postgres', 'CREATE DATABASE associate');
$node->safe_psql('associate', 'CREATE EXTENSION hybrid');
same_output('associate', 'associate.md', 5, examples(slurp_file("$docs/associate.md")));

$node->safe_psql('postgres', 'CREATE DATABASE search');
$node->safe_psql('search', 'CREATE EXTENSION hybrid');
same_output('search', 'hybrid-search.md', 10, examples(slurp_file("$docs/hybrid-search.md")));

$node->safe_psql('postgres', 'CREATE DATABASE tutorial');
same_output('tutorial', 'tutorial.md', 9, examples(slurp_file("$docs/tutorial.md")));

# README's first example shows what statements look like, on tables that do not exist yet.
$node->safe_psql('postgres', 'CREATE DATABASE readme');
my ($walk) = slurp_file("$docs/../README.md") =~ /^Then, in your database:\n(.*?)^## /ms;
same_output('readme', 'README.md', 5, examples($walk));

# The function, and the same in plain SQL: as rows, for several weights, with more rows and without any index.
$node->safe_psql('associate', q{
	CREATE TABLE item (id int PRIMARY KEY, v vector(3));
	INSERT INTO item SELECT i, ARRAY[hashint4(i) % 100, hashint4(i + 1000) % 100, hashint4(i + 2000) % 100]::vector FROM generate_series(1, 500) i;
	CREATE TABLE edge AS SELECT i::bigint AS source, (abs(hashint4(i)::bigint) % 500 + 1) AS target, (i % 7 + 1)::real AS weight FROM generate_series(1, 500) i
		UNION ALL SELECT i, i * 3 % 500 + 1, 1 FROM generate_series(1, 500) i;
});
my ($plain) = map { $_->[0] } grep { $_->[0] =~ /^WITH/ } examples(slurp_file("$docs/associate.md"));
$plain =~ s/;\s*\z//;
$plain =~ s/SELECT title, .*?FROM scored ORDER/SELECT id::bigint, 0.5 * similarity + 0.5 * activation AS score, hop FROM scored ORDER/s;
$plain =~ s/ title,//;
$plain =~ s/\bdoc\b/item/g;
$plain =~ s/'links'/'TABLE edge'/;
for my $weight (0, 0.1, 0.5, 0.9)
{
	for my $query ('[1,0,0.1]', '[-50,80,3]')
	{
		my $sql = $plain =~ s/0\.5 \* similarity/$weight * similarity/gr =~ s/0\.5 \* activation/(1 - ${weight}::float8) * activation/gr
			=~ s/\Q[1,0,0.1]\E/$query/gr;

		# with 2 seeds and 4 rows, as in the document
		is($node->safe_psql('associate', $sql), $node->safe_psql('associate', "SELECT id, score, hop FROM hybrid_associate('item', 'id', 'v', '$query', 'TABLE edge', k => 4, seeds => 2, vector_weight => $weight)"),
			"plain SQL and hybrid_associate, weight $weight, $query");
	}
}

# The recipe with a dump. The access method that the new database lacks is a second name for hybrid's; it is not dumped,
# because it belongs to the extension.
$node->safe_psql('postgres', 'CREATE DATABASE app');
$node->safe_psql('app', q{
	CREATE EXTENSION hybrid;
	CREATE ACCESS METHOD hnsw TYPE INDEX HANDLER _hybrid_handler;
	CREATE OPERATOR FAMILY vector_l2_ops USING hnsw;
	CREATE OPERATOR CLASS vector_l2_ops FOR TYPE vector USING hnsw FAMILY vector_l2_ops AS
		OPERATOR 1 <-> (vector, vector) FOR ORDER BY pg_catalog.float_ops, OPERATOR 2 <<->> (vector, hybrid_sphere), FUNCTION 1 _hybrid_index_l2(internal);
	ALTER EXTENSION hybrid ADD ACCESS METHOD hnsw;
	ALTER EXTENSION hybrid ADD OPERATOR FAMILY vector_l2_ops USING hnsw;
	ALTER EXTENSION hybrid ADD OPERATOR CLASS vector_l2_ops USING hnsw;
	CREATE TABLE item (id int PRIMARY KEY, v vector(2));
	CREATE INDEX item_v ON item USING hnsw (v vector_l2_ops) WITH (list_size = 100);
	CREATE TABLE parted (id int, v vector(2)) PARTITION BY RANGE (id);
	CREATE TABLE low PARTITION OF parted FOR VALUES FROM (0) TO (500);
	CREATE TABLE high PARTITION OF parted FOR VALUES FROM (500) TO (1001) PARTITION BY LIST (id);
	CREATE TABLE highest PARTITION OF high DEFAULT;
	CREATE INDEX parted_v ON parted USING hnsw (v vector_l2_ops);
	CREATE INDEX parted_id ON parted (id);
	INSERT INTO item SELECT i, ARRAY[i, 1] FROM generate_series(1, 1000) i;
	INSERT INTO parted SELECT * FROM item;
});
my ($recipe) = grep { /^pg_dump -Fc/ } blocks('from-pgvector.md');
my $script = PostgreSQL::Test::Utils::tempdir() . '/recipe.sh';
append_to_file($script, qq{cd "\${0%/*}" || exit\ncreatedb fresh\npsql -d fresh -c 'CREATE EXTENSION hybrid'\n$recipe});
{
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	my ($out, $err) = run_command([ 'bash', $script ]);

	like($err, qr/access method "hnsw" does not exist/, 'the errors that the recipe announces');
}
is( $node->safe_psql('fresh', q{
	SELECT c.relname, a.amname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
	WHERE i.indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname ~ '^(item|parted|low|high|highest)$')
	ORDER BY 1}), <<'ROWS' =~ s/\n\z//r, 'every index is there and valid, also of partitioned tables');
high_id_idx|btree|t
high_v_idx|hybrid|t
highest_id_idx|btree|t
highest_v_idx|hybrid|t
item_pkey|btree|t
item_v|hybrid|t
low_id_idx|btree|t
low_v_idx|hybrid|t
parted_id|btree|t
parted_v|hybrid|t
ROWS
is($node->safe_psql('fresh', q{SET enable_seqscan = off; SELECT string_agg(id::text, ' ') FROM (SELECT id FROM parted ORDER BY v <-> '[501,1]' LIMIT 1) s}), '501', 'and is searched');

$node->stop;
done_testing();
