# A registered graph on a subscriber: workers that apply inserts, updates, deletes and TRUNCATE write the table, and a
# session that keeps a copy meanwhile sees each change.  hybrid_graph_check compares the copy with a query, and the answers
# are those that the publisher's rows give.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use HybridSession;

my ($publisher, $subscriber) = map { PostgreSQL::Test::Cluster->new($_) } ('publisher', 'subscriber');
$publisher->init(allows_streaming => 'logical');
$subscriber->init;
$subscriber->append_conf('postgresql.conf', q{
shared_preload_libraries = 'hybrid'
hybrid.plugins = ''
autovacuum = off
});
$_->start for ($publisher, $subscriber);

# the publisher does not have hybrid
my $table = 'CREATE TABLE link (id int PRIMARY KEY, source bigint, target bigint, weight real, type text)';
$publisher->safe_psql('postgres', "$table; CREATE PUBLICATION links FOR TABLE link");
$publisher->safe_psql('postgres', q{INSERT INTO link SELECT i, i, i + 1, 1, 't' || i % 3 FROM generate_series(1, 3000) i});
$subscriber->safe_psql('postgres', "CREATE EXTENSION hybrid; $table");
$subscriber->safe_psql('postgres', 'CREATE INDEX graph ON link USING hybrid_graph (source, target, weight, type)');
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION links CONNECTION '" . $publisher->connstr . " dbname=postgres' PUBLICATION links");
$subscriber->wait_for_subscription_sync($publisher, 'links');

session_on($subscriber);
my $here = session();
my $check = q{SELECT kept, edges, differences FROM hybrid_graph_check('graph')};
my ($copied, $built) = map { "SELECT * FROM hybrid_spread('$_', ARRAY[1, 500, 2000], direction => 'both', hops => 4)" }
	('graph', 'SELECT source, target, weight, type FROM link');
my $bits = "SELECT count(*) FROM (($copied EXCEPT ALL $built) UNION ALL ($built EXCEPT ALL $copied)) d";

# apply NAME, STATEMENT, EDGES, QUERY, ANSWER: a change on the publisher, and what the session then sees
sub apply
{
	my ($name, $statement, $edges, $query, $answer) = @_;

	isnt(ask($here, $query), $answer, "$name: not yet");
	$publisher->safe_psql('postgres', $statement);
	$publisher->wait_for_catchup('links');
	is(ask($here, $query), $answer, "$name: the answer");
	is(ask($here, $check), "t|$edges|0", "$name: the copy");
	is(ask($here, $bits), '0', "$name: the same bits as a new graph");
	return;
}

sub neighbors { return "SELECT string_agg(id::text, ',' ORDER BY hop, id) FROM hybrid_neighbors('graph', ARRAY[$_[0]], hops => 2)"; }

is(ask($here, $check), 't|3000|0', 'the first copy of the table');
is(ask($here, neighbors(10)), '10,11,12', 'the first answer');
apply('insert', q{INSERT INTO link VALUES (4001, 10, -5, 1, 't0'), (4002, -5, 90000, 2, 't1')}, 3002, neighbors(10), '10,-5,11,12,90000');
apply('update of a weight', q{UPDATE link SET weight = 3 WHERE source = 10 AND target = 11}, 3002,
	q{SELECT activation FROM hybrid_spread('graph', ARRAY[10], hops => 1, decay => 1) WHERE id = 11}, '0.75');
apply('update of a source', q{UPDATE link SET source = 11 WHERE id = 4001}, 3002, neighbors(10), '10,11,-5,12');
apply('update of a key', q{UPDATE link SET id = 5000, target = 500 WHERE id = 4001}, 3002, neighbors(10), '10,11,12,500');
apply('delete', q{DELETE FROM link WHERE id IN (11, 5000)}, 3000, neighbors(10), '10,11');
apply('a subtransaction that is rolled back',
	q{BEGIN; INSERT INTO link VALUES (6001, 10, 20, 1); SAVEPOINT s; INSERT INTO link VALUES (6002, 10, 30, 1); ROLLBACK TO s; COMMIT},
	3001, neighbors(10), '10,11,20,21');
# apply is not stopped by a weight that no graph can have: calls are
$publisher->safe_psql('postgres', q{INSERT INTO link VALUES (7001, 1, 2, -1)});
$publisher->wait_for_catchup('links');
$here->{err} = '';
ask($here, neighbors(10));
like($here->{err}, qr/graph edge weight cannot be negative\nDETAIL:  The edge goes from 1 to 2, with weight -1\. It is the row/, 'a negative weight');
apply('the row goes', 'DELETE FROM link WHERE id = 7001', 3001, neighbors(10), '10,11,20,21');
apply('truncate', 'TRUNCATE link', 0, 'SELECT count(*) FROM hybrid_degree(\'graph\')', '0');
apply('insert after truncate', q{INSERT INTO link SELECT i, i, i + 2, 1 FROM generate_series(1, 50) i}, 50, neighbors(10), '10,12,14');
finish($here);
done_testing();
