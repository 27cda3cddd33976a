# The extension vector: dumps of pgvector are restored as they are, dumps of its indexes come back, and the
# lines of docs/from-pgvector.md that move a database to pgvector write what pgvector can read.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('primary');
$node->init;
$node->start;

my $dir = PostgreSQL::Test::Utils::tempdir;

# What pg_dump 15 writes of a database with pgvector, in short, and with every kind of object that pgvector adds.
my $theirs = <<'SQL';
SET statement_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET client_min_messages = warning;
SET row_security = off;

CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
COMMENT ON EXTENSION vector IS 'vector data type and ivfflat and hnsw access methods';

SET default_tablespace = '';
SET default_table_access_method = heap;

CREATE TABLE public.item (
    id bigint NOT NULL,
    v public.vector(3),
    h public.halfvec(3),
    s public.sparsevec(3),
    b bit(3)
);
CREATE TABLE public.part (
    id bigint,
    v public.vector(3)
)
PARTITION BY RANGE (id);
CREATE TABLE public.part_1 (
    id bigint,
    v public.vector(3)
);
CREATE FUNCTION public.nearest(q public.vector) RETURNS bigint
    LANGUAGE sql STABLE
    AS $$SELECT id FROM public.item ORDER BY v OPERATOR(public.<->) q LIMIT 1$$;
CREATE VIEW public.far AS
 SELECT item.id, (item.v OPERATOR(public.<=>) '[1,0,0]'::public.vector) AS distance
   FROM public.item;
ALTER TABLE ONLY public.part ATTACH PARTITION public.part_1 FOR VALUES FROM ('0') TO ('10');

COPY public.item (id, v, h, s, b) FROM stdin;
1	[1,2,3]	[1,2,3]	{1:1}/3	101
2	[3,2,1]	[3,2,1]	{2:1.5}/3	010
3	\N	\N	\N	\N
\.
COPY public.part_1 (id, v) FROM stdin;
1	[1,0,0]
\.

ALTER TABLE ONLY public.item
    ADD CONSTRAINT item_pkey PRIMARY KEY (id);
CREATE INDEX item_b ON public.item USING hnsw (b public.bit_hamming_ops);
CREATE INDEX item_expression ON public.item USING hnsw (((v)::public.halfvec(3)) public.halfvec_l2_ops) WHERE (id < 100);
CREATE INDEX item_h ON public.item USING ivfflat (h public.halfvec_cosine_ops) WITH (lists='10');
CREATE INDEX item_lists ON public.item USING ivfflat (v) WITH (lists='100');
CREATE INDEX item_s ON public.item USING hnsw (s public.sparsevec_l2_ops);
CREATE INDEX item_v ON public.item USING hnsw (v public.vector_cosine_ops) WITH (m='16', ef_construction='64');
CREATE INDEX part_v ON ONLY public.part USING hnsw (v public.vector_l2_ops) WITH (m='8');
CREATE INDEX part_1_v ON public.part_1 USING hnsw (v public.vector_l2_ops) WITH (m='8');
ALTER INDEX public.part_v ATTACH PARTITION public.part_1_v;
SQL
my @indexes = $theirs =~ /^CREATE INDEX (\w+) ON/mg;
append_to_file("$dir/theirs.sql", $theirs);

# What is in a database, from SQL.
my $contents = q{
	SELECT * FROM public.item ORDER BY id;
	SELECT * FROM public.part;
	SELECT public.nearest('[3,2,0]');
	SELECT id, round(distance::numeric, 6) FROM public.far ORDER BY id;
	SELECT pg_get_indexdef(i.indexrelid), i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE i.indrelid IN ('public.item'::regclass, 'public.part'::regclass, 'public.part_1'::regclass) ORDER BY c.relname;
};

# restore DATABASE FILE: run a dump's text with psql, which stops at the first error
sub restore
{
	my ($database, $file) = @_;

	return $node->command_ok(
		[ 'psql', '--no-psqlrc', '--quiet', '--set', 'ON_ERROR_STOP=1', '--file', $file, '--dbname', $node->connstr($database) ],
		"restore $file into $database" =~ s/\Q$dir\E.//r);
}

# dump FILE ARGUMENT ...: the text of a dump
sub dump_to
{
	my ($file, @arguments) = @_;

	$node->command_ok([ 'pg_dump', '--file', $file, @arguments ], 'pg_dump' . ($file =~ s/.*\//: /r));
	return slurp_file($file);
}

# the statements of a dump that create objects, in which both extensions have the same text
sub created
{
	my ($text) = @_;

	return join "\n", grep { /^(CREATE (INDEX|TABLE|VIEW|FUNCTION)|ALTER INDEX)/ } split /\n/, $text;
}

# From pgvector, as it is: the administrator creates hybrid, and nothing of the dump is changed.
$node->safe_psql('postgres', 'CREATE DATABASE fresh');
$node->safe_psql('fresh', 'CREATE EXTENSION hybrid');
restore('fresh', "$dir/theirs.sql");
my $before = $node->safe_psql('fresh', $contents);
is(() = ($before =~ /USING (?:hnsw|ivfflat) .*\|t$/mg), scalar(@indexes), 'all indexes are there and valid');
is($node->safe_psql('fresh', q{SELECT string_agg(hybrid_index_check(c.oid)::text, ' ' ORDER BY relname) FROM pg_class c JOIN pg_am a ON a.oid = relam
		WHERE amname IN ('hnsw', 'ivfflat') AND relkind = 'i'}),
	'2 2 2 2 2 2 1', 'with a row for each vector');
like($node->safe_psql('fresh', q{SET enable_seqscan = off; EXPLAIN (COSTS OFF) SELECT id FROM item ORDER BY v <=> '[1,2,3]' LIMIT 1}),
	qr/Index Scan using item_v/, 'and are used');

# Its own dump comes back, plain and custom, and says the same of indexes as pgvector's.
my $ours = dump_to("$dir/ours.sql", $node->connstr('fresh'));
like($ours, qr/CREATE EXTENSION IF NOT EXISTS hybrid .*CREATE EXTENSION IF NOT EXISTS vector /s, 'hybrid is created before it');
is(join("\n", grep { /INDEX/ } split /\n/, created($ours)), join("\n", grep { /INDEX/ } split /\n/, created($theirs)),
	'the indexes of the dump are those of the dump of pgvector');
$node->safe_psql('postgres', 'CREATE DATABASE again');
restore('again', "$dir/ours.sql");
is($node->safe_psql('again', $contents), $before, 'the same after a plain dump');
$node->command_ok([ 'pg_dump', '--format=custom', '--file', "$dir/ours.dump", $node->connstr('fresh') ], 'pg_dump, custom');
$node->safe_psql('postgres', 'CREATE DATABASE custom');
$node->command_ok([ 'pg_restore', '--exit-on-error', '--dbname', $node->connstr('custom'), "$dir/ours.dump" ], 'pg_restore');
is($node->safe_psql('custom', $contents), $before, 'the same after a custom dump');

# Each in a schema of its own, of which the order of names is not that of the extensions.
$node->safe_psql('postgres', 'CREATE DATABASE apart');
$node->safe_psql('apart', q{CREATE SCHEMA a; CREATE SCHEMA "My Vectors"; CREATE EXTENSION hybrid SCHEMA "My Vectors"; CREATE EXTENSION vector SCHEMA a;
	CREATE TABLE t (v "My Vectors".vector(2)); INSERT INTO t VALUES ('[1,2]'); CREATE INDEX t_v ON t USING hnsw (v a.vector_l2_ops)});
dump_to("$dir/apart.sql", $node->connstr('apart'));
$node->safe_psql('postgres', 'CREATE DATABASE apart_again');
restore('apart_again', "$dir/apart.sql");
is($node->safe_psql('apart_again', q{SELECT "My Vectors".hybrid_index_check('t_v')}), 1, 'schemas of their own come back');

# To pgvector: the lines of the documentation.  What they write holds nothing of hybrid, and what pgvector
# lacks in pg_dump's output is what the text above has.
$node->safe_psql('fresh', q{CREATE INDEX item_own ON item USING hybrid (v vector_ip_ops) WITH (storage = float32);
	CREATE INDEX item_own_default ON item USING hybrid (v) WHERE id > 0;
	CREATE INDEX item_own_stored ON item USING hnsw (v vector_l2_ops) WITH (storage = int8, m = 16, list_size = 100);
	CREATE INDEX item_own_include ON item USING hybrid (v) INCLUDE (id) WITH (storage = int8) WHERE id > 0;
	CREATE INDEX item_own_include_named ON item USING hnsw (v vector_l2_ops) INCLUDE (id) WITH (m = 16);
	CREATE INDEX item_own_key ON item USING hybrid (id, v vector_cosine_ops);
	CREATE INDEX item_own_option ON item USING ivfflat (v) WITH (storage = int8);
	ALTER TABLE item ADD "two words" vector(3);
	CREATE INDEX item_own_quoted ON item USING hybrid ("two words");
	CREATE TABLE edge (source int, target int);
	CREATE INDEX edge_graph ON edge USING hybrid_graph (source, target);
	INSERT INTO hybrid_calibration VALUES ('cpu', 0, 'any', 'any', 'topk', 'float32', 'l2', 64, 1, 9, 0, 0.125, 0, 1e-7, '{1}', 'epoch')});
my ($sed) = slurp_file("$ENV{HYBRID_DOCS}/from-pgvector.md") =~ /^    pg_dump --extension=vector app \|\n(.*?) \|\n        psql/ms;
ok(defined $sed, 'the documentation has the lines');
dump_to("$dir/back.sql", '--extension=vector', $node->connstr('fresh'));
my $back = `$sed <"$dir/back.sql"`;
unlike($back, qr/hybrid/, 'a dump for pgvector has nothing of hybrid');
like($back, qr/^CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;$/m, 'it creates the extension');
is(join("\n", grep { /INDEX item_own/ } split /\n/, $back), join("\n",
		'CREATE INDEX item_own ON public.item USING hnsw (v public.vector_ip_ops);',
		'CREATE INDEX item_own_default ON public.item USING hnsw (v public.vector_l2_ops) WHERE (id > 0);',
		'CREATE INDEX item_own_include ON public.item USING hnsw (v public.vector_l2_ops) WHERE (id > 0);',
		q{CREATE INDEX item_own_include_named ON public.item USING hnsw (v public.vector_l2_ops) WITH (m='16');},
		'CREATE INDEX item_own_key ON public.item USING hnsw (v public.vector_cosine_ops);',
		'CREATE INDEX item_own_option ON public.item USING ivfflat (v);',
		'CREATE INDEX item_own_quoted ON public.item USING hnsw ("two words" public.vector_l2_ops);',
		q{CREATE INDEX item_own_stored ON public.item USING hnsw (v public.vector_l2_ops) WITH (m='16');}),
	'and indexes of hybrid by pgvector, without options, keys and included columns of hybrid');
is(join("\n", grep { /INDEX/ && !/item_own/ } split /\n/, created($back)), join("\n", grep { /INDEX/ } split /\n/, created($theirs)),
	'the other indexes are what pgvector has written itself');

# The way back is a way forth again.
$node->safe_psql('postgres', 'CREATE DATABASE returned');
$node->safe_psql('returned', 'CREATE EXTENSION hybrid');
append_to_file("$dir/returned.sql", $back);
restore('returned', "$dir/returned.sql");
my $drop_own = 'DROP INDEX item_own, item_own_default, item_own_include, item_own_include_named, item_own_key, item_own_option, item_own_stored; '
	. 'ALTER TABLE item DROP "two words"';
$node->safe_psql('returned', $drop_own);
is($node->safe_psql('returned', $contents), $before, 'the same when it returns');

# A role that is not a superuser restores a dump that has measurements, by the lines of the documentation.
$node->safe_psql('postgres', 'CREATE ROLE plain LOGIN; CREATE DATABASE theirs OWNER plain');
$node->safe_psql('theirs', 'CREATE EXTENSION hybrid');
$node->command_ok([ 'pg_dump', '--format=custom', '--file', "$dir/app.dump", $node->connstr('fresh') ], 'pg_dump, with measurements');
my ($lines) = slurp_file("$ENV{HYBRID_DOCS}/deployment.md") =~ /^(    pg_restore -l .*?)\n\n/ms;
$lines =~ s/-d fresh/--exit-on-error -d theirs -U plain/;
{
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	$node->command_ok([ 'bash', '-ec', "cd $dir\n$lines" ], 'a plain role restores it');
}
$node->safe_psql('theirs', $drop_own, connstr => $node->connstr('theirs') . ' user=plain');
is($node->safe_psql('theirs', $contents), $before, 'and has all of it');

# Settings that a session or a database has before the library is loaded; parallel workers have them too.
$node->safe_psql('postgres', 'ALTER DATABASE fresh SET hnsw.ef_search = 200');
is($node->safe_psql('fresh', q{SET enable_seqscan = off; SELECT count(*) FROM (SELECT 1 FROM item ORDER BY v <=> '[1,2,3]' LIMIT 1) s;
		SELECT index, target_recall FROM hybrid_last_scan(); SHOW hnsw.ef_search}),
	"1\nitem_v|0.99\n200", 'a setting of the database');
my $in_workers = $node->pg_version < 16 ? 'force_parallel_mode' : 'debug_parallel_query';
my ($status, $out, $err) = $node->psql('fresh', qq{SET enable_seqscan = off; SELECT id FROM item ORDER BY v <=> '[1,2,3]' LIMIT 1; SET hnsw.ef_search = 80;
	SET $in_workers = on; SELECT id FROM item ORDER BY v <=> '[1,2,3]' LIMIT 1});
is("$status $out $err", "0 1\n1 ", 'a parallel worker takes the settings without complaint');
$node->append_conf('postgresql.conf', "session_preload_libraries = 'hybrid_vector'");
$node->reload;
is($node->safe_psql('again', 'SHOW hnsw.ef_search'), 40, 'preloaded, the settings can be shown at once');

$node->stop;
done_testing();
