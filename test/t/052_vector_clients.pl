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

$node->stop;
done_testing();
