# The page of `make demo` is one file that a browser shows, and its figures are those of the data.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $page = ($ENV{HYBRID_BENCH} // 'bench') . '/page.py';
my $python = '/usr/bin/python3';

plan skip_all => 'python3-matplotlib, python3-networkx or python3-psycopg2 is not installed'
	if system("$python -c 'import matplotlib, networkx, psycopg2' 2>/dev/null") != 0;

my $node = PostgreSQL::Test::Cluster->new('page');
$node->init;
$node->start;

# a small WordNet: 3,000 words in a tree, and 20 cities in 10 countries, of which only the relations know
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE FUNCTION drawn(n bigint) RETURNS vector LANGUAGE sql AS
		'SELECT array_agg(hashint8(n * 64 + j) / 2147483648.0)::vector FROM generate_series(1, 32) j';
	CREATE TABLE synset (id bigint PRIMARY KEY, pos text NOT NULL, words text[] NOT NULL, gloss text NOT NULL, v vector(32));
	CREATE TABLE relation (source bigint NOT NULL, target bigint NOT NULL, kind text NOT NULL);
	INSERT INTO synset SELECT i, 'noun', ARRAY['word <' || i || '>'], '', drawn(i) FROM generate_series(1, 3000) i;
	INSERT INTO synset SELECT id, 'noun', ARRAY[word], '', drawn(id)
		FROM (VALUES (5001, 'violin'), (5002, 'concert'), (5003, 'country'), (5004, 'city')) w (id, word);
	INSERT INTO synset SELECT 6000 + i, 'noun', ARRAY['Country ' || i], '', drawn(6000 + i) FROM generate_series(1, 10) i;
	INSERT INTO synset SELECT 7000 + i, 'noun', ARRAY[CASE i WHEN 7 THEN 'Kabul' ELSE 'City ' || i END], '', drawn(7000 + i) FROM generate_series(1, 20) i;
	INSERT INTO relation SELECT i, i / 2, 'hypernym' FROM generate_series(2, 3000) i;
	INSERT INTO relation SELECT 5003, 6000 + i, 'instance hyponym' FROM generate_series(1, 10) i;
	INSERT INTO relation SELECT 7000 + i, 5004, 'instance hypernym' FROM generate_series(1, 20) i;
	INSERT INTO relation SELECT 7000 + i, 6000 + (i + 1) / 2, 'part holonym' FROM generate_series(1, 20) i;
	CREATE INDEX synset_v ON synset USING hybrid (v vector_cosine_ops);
	VACUUM ANALYZE synset;
});

my $file = PostgreSQL::Test::Utils::tempdir() . '/page.html';
local $ENV{PGHOST} = $node->host;
local $ENV{PGPORT} = $node->port;
local $ENV{PGUSER} = getpwuid $<;
local $ENV{PGDATABASE} = 'postgres';
local $ENV{MPLCONFIGDIR} = PostgreSQL::Test::Utils::tempdir();

my ($out, $err) = run_command([ $python, $page, $file ]);
is($err, '', 'the page is made');
my $text = slurp_file($file);

# ---- its figures ----
like($text, qr{has 3,034 rows with a text and a vector of 32 numbers}, 'the size of the table');
like($text, qr{In which country is Kabul\?</strong> The answer is <strong>Country 4</strong>}, 'a question and its answer');
like($text, qr{<td class="right">Country 4</td></tr>}, 'which the graph finds');
my ($asked, $by_vectors, $by_graph) = $text =~ /was asked about (\d+) cities.*?<strong>(\d+)<.*?<strong>(\d+)</s;
is($asked, 20, 'all cities are asked about');
is($by_graph, 20, 'the graph knows all countries');
cmp_ok($by_vectors, '<', 5, 'and vectors that are drawn at random do not');
my @points = $text =~ m{<td>target ([\d.]+)</td><td>([\d.]+)</td><td>([\d.]+)</td>}g;
is(scalar @points, 24, 'eight points of the curve');
cmp_ok($points[-2], '>=', 0.97, 'the last of which finds nearly all');
cmp_ok($points[-2], '<=', 1, 'and not more than that');
like($text, qr{<td>exact scan</td><td></td><td>1\.000</td><td>[\d.]+</td>}, 'and the exact scan');

# ---- one file ----
my @elsewhere = grep { !/^(?:#|data:)/ } $text =~ /(?:src|href)\s*=\s*"([^"]*)"/g, $text =~ /url\(([^)]*)\)/g;
is("@elsewhere", '', 'nothing is loaded from elsewhere');
is(scalar(() = $text =~ /<svg /g), 2, 'two drawings');
unlike($text, qr/word <\d/, 'words are quoted');
($out, $err) = run_command([ $python, '-c', 'import sys, xml.etree.ElementTree as tree; print(tree.parse(sys.argv[1]).getroot().tag)', $file ]);
is("$out$err", 'html', 'every element is closed');

# ---- a browser ----
SKIP:
{
	my ($browser) = grep { -x } map { ("$_/chromium", "$_/chromium-browser", "$_/google-chrome") } split /:/, $ENV{PATH};

	skip 'no chromium is installed', 3 if !$browser;
	local $ENV{HOME} = PostgreSQL::Test::Utils::tempdir();
	# the page loads nothing, so the browser needs no network
	my @headless = ($browser, '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--disable-sync',
		'--disable-background-networking', '--disable-component-update', "--user-data-dir=$ENV{HOME}", '--virtual-time-budget=5000');

	($out) = run_command([ @headless, '--dump-dom', "file://$file" ]);
	is(scalar(() = $out =~ /<svg /g), 2, 'a browser shows both drawings');
	like($out, qr{with the graph\.</p>}, 'and all of the text');
	run_command([ @headless, '--window-size=1000,2000', "--screenshot=$ENV{HOME}/page.png", "file://$file" ]);
	cmp_ok(-s "$ENV{HOME}/page.png" // 0, '>', 20000, 'and draws something');
}

$node->stop;
done_testing();
