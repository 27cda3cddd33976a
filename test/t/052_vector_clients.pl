# Statements of pgvector's clients work as they are, sent by a real driver: test/clients.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $python = '/usr/bin/python3';

plan skip_all => 'python3-psycopg2 is not installed' if system("$python -c 'import psycopg2' 2>/dev/null") != 0;

my $node = PostgreSQL::Test::Cluster->new('primary');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION hybrid');

local $ENV{PGHOST} = $node->host;
local $ENV{PGPORT} = $node->port;
local $ENV{PGDATABASE} = 'postgres';

my ($out, $err) = run_command([ $python, "$ENV{HYBRID_CLIENTS}/psycopg2_statements.py" ]);
is($err, '', 'no statement fails');
is($out, <<'EXPECTED' =~ s/\n\z//r, 'and each returns what it should');
[('0.8.0',)]
[('halfvec',), ('sparsevec',), ('vector',)]
['NOTICE:  options "m", "ef_construction" and "lists" have no effect\nDETAIL:  The index is one of access method hybrid, which needs no such options.\n']
[(1,), (3,)]
[(3,)]
[(1,), (3,)]
[('[1.3333334,1.3333334,1.6666666]', '[4,4,5]')]
[('100',)]
[(3,)]
[(0.995,)]
[('1',)]
EXPECTED

# The lines of the documentation leave no table in public that a tool would compare with its model.
my ($lines) = slurp_file("$ENV{HYBRID_DOCS}/from-pgvector.md") =~ /^```sql\n(CREATE SCHEMA hybrid;\nALTER EXTENSION .*?)^```/ms;
my $relations = q{SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v') AND relname LIKE 'hybrid%'};

isnt($node->safe_psql('postgres', $relations), 0, 'in public there are tables and views of hybrid');
$node->safe_psql('postgres', 'CREATE TABLE kept (v vector(2)); INSERT INTO kept VALUES (\'[1,2]\'); CREATE INDEX kept_v ON kept USING hnsw (v vector_l2_ops)');
$node->safe_psql('postgres', $lines =~ s/DATABASE app/DATABASE postgres/r);
is($node->safe_psql('postgres', $relations), 0, 'and none after the lines of from-pgvector.md');
is($node->safe_psql('postgres', q{SET enable_seqscan = off; SELECT v <-> '[1,2]', hybrid_index_check('kept_v') FROM kept ORDER BY v <-> '[1,2]'}), '0|1',
	'a new session finds types, operators and functions');
$node->safe_psql('postgres', 'DROP TABLE kept, orm_item');
(my $again, $err) = run_command([ $python, "$ENV{HYBRID_CLIENTS}/psycopg2_statements.py" ]);
is($again =~ s/'NOTICE:  extension "vector" already exists, skipping\\n', //r . $err, $out, 'and a client uses the extension vector there');

# Its dump comes back into a database without hybrid.
$node->safe_psql('postgres', 'CREATE DATABASE fresh TEMPLATE template0');
$node->command_ok([ 'bash', '-c', 'set -o pipefail; pg_dump postgres | psql -Xq -v ON_ERROR_STOP=1 -d fresh' ], 'a dump comes back');
is($node->safe_psql('fresh', q{SELECT hybrid.hybrid_index_check('public.orm_hnsw')}), 3, 'with its indexes');

$node->stop;
done_testing();
