# The examples of docs/functions.md run as they stand, and the recipe of docs/from-pgvector.md leaves valid indexes.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
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

# Examples that need Citus or another server are left out.
my @run = grep { /^(?:--[^\n]*\n)*(?:SELECT|WITH|CREATE|INSERT)\b/ && !/^ERROR:|run_command_on_shards/m } blocks('functions.md');
cmp_ok(scalar @run, '>=', 9, 'there are examples');
for my $example (@run)
{
	my ($rc, $out, $err) = $node->psql('postgres', "SET hybrid.target_recall = 0.9;\n$example", on_error_stop => 1);
	my ($first) = grep { !/^--/ } split /\n/, $example;

	is($rc, 0, "functions.md: $first") or diag($err);
}

# The recipe with a dump. The access method that the new database lacks is a second name for hybrid's; it is not dumped,
# because it belongs to the extension.
$node->safe_psql('postgres', 'CREATE DATABASE app');
$node->safe_psql('app', q{
	CREATE EXTENSION hybrid;
	CREATE ACCESS METHOD hnsw TYPE INDEX HANDLER hybrid_handler;
	CREATE OPERATOR FAMILY vector_l2_ops USING hnsw;
	CREATE OPERATOR CLASS vector_l2_ops FOR TYPE vector USING hnsw FAMILY vector_l2_ops AS
		OPERATOR 1 <-> (vector, vector) FOR ORDER BY pg_catalog.float_ops, OPERATOR 2 <<->> (vector, hybrid_sphere), FUNCTION 1 hybrid_index_l2(internal);
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
