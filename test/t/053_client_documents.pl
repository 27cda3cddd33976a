# The programs in docs/python.md and docs/node.md print what is shown below them.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $docs = $ENV{HYBRID_DOCS} // 'docs';
my $node = PostgreSQL::Test::Cluster->new('primary');
# psycopg returns bytes from a database without an encoding
$node->init(extra => ["--encoding=UTF8"]);
$node->start;
$node->safe_psql('template1', 'CREATE EXTENSION hybrid');

local $ENV{PGHOST} = $node->host;
local $ENV{PGPORT} = $node->port;
delete local $ENV{PGDATABASE};

# the command that runs a program, and a program that fails if its driver is not there
my %runs = (
	'python:psycopg' => [ [ '/usr/bin/python3' ], 'import psycopg' ],
	'python:psycopg2' => [ [ '/usr/bin/python3' ], 'import psycopg2' ],
	'javascript:pg' => [ [ 'node' ], q{require('pg')} ],
);
# where Debian's packages are, and what npm has installed for everyone
local $ENV{NODE_PATH} = join ':', $ENV{NODE_PATH} // (), '/usr/share/nodejs', '/usr/local/lib/node_modules', '/usr/lib/node_modules';

my $programs = 0;
for my $file ('python.md', 'node.md')
{
	my $text = slurp_file("$docs/$file");

	while ($text =~ /^```(python|javascript)\n(.*?)^```\n\n```\n(.*?)^```$/msg)
	{
		my ($language, $program, $shown) = ($1, $2, $3);
		my ($driver) = $language eq 'python' ? $program =~ /^import (psycopg\w*)$/m : $program =~ /require\('(\w+)'\)/;
		my ($command, $probe) = @{ $runs{"$language:$driver"} };
		my $at = PostgreSQL::Test::Utils::tempdir() . "/$driver";

		$programs++;
		append_to_file("$at.probe", $probe);
	  SKIP:
		{
			my ($out, $err) = eval { run_command([ @$command, "$at.probe" ]) };

			skip "$driver is not installed", 2 if !defined $err || $err ne '';
			# as documented, in a database of its own
			$node->safe_psql('template1', "CREATE DATABASE $driver");
			$program =~ s/(dbname=|database: ')postgres/$1$driver/;
			append_to_file("$at.program", $program);
			($out, $err) = run_command([ @$command, "$at.program" ]);
			is($err, '', "$file: $driver: no statement fails");
			is("$out\n", $shown, "$file: $driver: it prints what is shown");
		}
	}
}
is($programs, 3, 'there are programs');

$node->stop;
done_testing();
