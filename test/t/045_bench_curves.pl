# The drawing of a bench's result has the curves that are in it.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

my $draw = ($ENV{HYBRID_BENCH} // 'bench') . '/draw.py';
my $python = '/usr/bin/python3';

plan skip_all => 'python3-matplotlib is not installed' if system("$python -c 'import matplotlib' 2>/dev/null") != 0;

my $dir = PostgreSQL::Test::Utils::tempdir();
local $ENV{MPLCONFIGDIR} = $dir;

# as bench/index.sh writes it: two sections of one set; a case without a rate, and a ratio
my @cases = (
	[ 'rows hybrid target 0.9', 0.91, 900 ], [ 'rows hybrid target 0.99', 0.992, 500 ], [ 'rows hybrid target 0.95', 0.96, 700 ],
	[ 'rows pgvector ef 40', 0.8, 300 ], [ 'rows pgvector ef 400', 0.97, 90 ], [ 'rows filter hybrid target 0.9', 0.93, 200 ],
	[ 'rows filter pgvector strict_order ef 40', 0.7, 20 ]);
append_to_file("$dir/index.csv", join "\n", 'case,metric,value,better', 'rows hybrid build,seconds,1.5,lower', 'rows hybrid grown,recall,0.5,higher',
	(map { "$_->[0],recall,$_->[1],higher\n$_->[0],queries_per_s,$_->[2],higher" } @cases), 'rows hybrid beside pgvector,queries_per_s_ratio,3,higher', '');

my ($out, $err) = run_command([ $python, $draw, "$dir/index.csv" ]);
is($err, '', 'the curves are drawn');
is($out, "$dir/index.svg", 'beside the result');
my $svg = slurp_file("$dir/index.svg");
is_deeply([ sort $svg =~ /<text [^>]*>((?:hybrid|pgvector) [^<]*)</g ], [ 'hybrid target', 'hybrid target', 'pgvector ef', 'pgvector strict_order ef' ],
	'a curve for each way to search');
is_deeply([ sort $svg =~ /<text [^>]*>(rows[^<]*)</g ], [ 'rows', 'rows filter' ], 'and axes for each section');
# three points, in the order of the recall: to the right and, in SVG, down
my ($curve) = grep { scalar(() = /[ML] /g) == 3 } $svg =~ /<path d="(M [^"]*)" clip-path[^>]*stroke: #1f77b4/g;
my @places = ($curve // '') =~ /[ML] ([\d.]+) ([\d.]+)/g;
ok(@places == 6 && $places[0] < $places[2] && $places[2] < $places[4] && $places[1] < $places[3] && $places[3] < $places[5], 'points by their recall')
	or diag($curve // $svg);

# as `make bench` writes it
append_to_file("$dir/bench.csv", join "\n", 'date,machine,commit,postgres,pgvector,case,metric,value,better',
	map { ("2026-01-01T00:00:00Z,CPU x 2,abc,15.20,,hybrid index target $_->[0],recall_at_10,$_->[1],higher",
		"2026-01-01T00:00:00Z,CPU x 2,abc,15.20,,hybrid index target $_->[0],qps,$_->[2],higher") } [ 0.9, 0.93, 800 ], [ 0.99, 0.99, 400 ]);
($out, $err) = run_command([ $python, $draw, "$dir/bench.csv", "$dir/other.svg" ]);
like(slurp_file("$dir/other.svg"), qr/>hybrid index target</, 'a result of make bench, to another file');

append_to_file("$dir/none.csv", "case,metric,value,better\nrows hybrid build,seconds,1.5,lower\n");
($out, $err) = run_command([ $python, $draw, "$dir/none.csv" ]);
is("$out$err", "$dir/none.csv has no case with a recall and a rate", 'a result without curves');

done_testing();
