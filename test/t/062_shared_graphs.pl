# Graphs in shared memory: who builds, takes, changes and replaces them; limits of memory; sessions that end or are killed.
# 061_registered_graph.pl has random changes beside sessions that come and go.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use HybridSession;

my $node = PostgreSQL::Test::Cluster->new('shared_graphs');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'hybrid'
restart_after_crash = on
autovacuum = off
hybrid.plugins = ''
hybrid.graph_shared_memory = 4MB
});
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION hybrid;
	CREATE FUNCTION make_table(name text, edges int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		EXECUTE format('CREATE TABLE %I (source int, target int, weight real, type text)', name);
		EXECUTE format('INSERT INTO %I SELECT i, (i::bigint * 7919 %% $1)::int, 1 + i %% 3, chr(97 + i %% 3)
			FROM generate_series(1, $1) i', name) USING edges;
		EXECUTE format('CREATE INDEX %I ON %I USING hybrid_graph (source, target, weight, type)', name || '_graph', name);
	END $$;
	CREATE ROLE plain LOGIN;
});
$node->safe_psql('postgres', q{SELECT make_table('link', 20000)});
$node->safe_psql('postgres', 'VACUUM link');
session_on($node);

my $check = q{SELECT kept, shared, differences FROM hybrid_graph_check('link_graph')};
my $read = q{SELECT pages_read > 0, differences, shared FROM hybrid_graph_check('link_graph')};
my $shown = q{SELECT graph, direction, all_types, edges, sessions, is_current FROM hybrid_shared_graphs() ORDER BY is_current, graph, direction};
my $answer = q{SELECT md5(string_agg(s::text, ' ' ORDER BY s.activation DESC, id)) FROM hybrid_spread('%s', ARRAY[1, 2, 3], hops => 5) s};
my ($copied, $built) = map { sprintf $answer, $_ } 'link_graph', 'SELECT source, target, weight FROM link';

# the differences between two ways to count the neighbors by edges of one type
sub degrees
{
	my ($session, $type) = @_;
	my ($a, $b) = map { "SELECT * FROM hybrid_degree('$_', 'in', types => ARRAY['$type'])" } 'link_graph', 'TABLE link';

	return ask($session, "SELECT count(*) FROM (($a EXCEPT $b) UNION ALL ($b EXCEPT $a)) d");
}

sub shown { return $node->safe_psql('postgres', $shown) }
# a session that has ended withdraws a moment later
sub becomes
{
	my ($expected, $name) = @_;
	ok($node->poll_query_until('postgres', "SELECT coalesce(string_agg(s::text, ' '), '') = '$expected' FROM ($shown) s"), $name)
		or diag(shown());
	return;
}

# one builds, the others take
my $one = session();
is(ask($one, $check), 't|t|0', 'the first session builds the graph in shared memory');
is(shown(), 'link_graph|out|t|20000|1|t', 'it is shown');
my $two = session();
is(ask($two, $read), 'f|0|t', 'the second session takes it, and reads no page');
is(ask($two, $copied), ask($two, $built), 'the same bits');
is(shown(), 'link_graph|out|t|20000|2|t', 'two sessions');
is($node->safe_psql('postgres', $check), 't|t|0', 'and a third for a moment');

# a graph for each direction and set of types
is(degrees($two, 'a'), 0, 'another direction, one type');
is(shown(), "link_graph|in|f|6666|1|t\nlink_graph|out|t|20000|2|t", 'is another graph');
is(degrees($one, 'b'), 0, 'another type');
is(shown(), "link_graph|in|f|6666|1|t\nlink_graph|in|f|6667|1|t\nlink_graph|out|t|20000|2|t", 'is yet another');

# privileges are checked at each call
my $plain = session('plain');
ask($plain, $copied);
like($plain->{err}, qr/permission denied for table link/, 'no privilege, no graph');
finish($plain);

# a change: who sees it patches a copy of its own, an older snapshot does not
ask($two, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
$node->safe_psql('postgres', 'UPDATE link SET weight = 9 WHERE source < 100');
is(ask($one, $check), 't|f|0', 'changed: a copy of its own');
is(ask($one, $copied), ask($one, $built), 'changed: the same bits');
like(ask($two, $check), qr/^t\|[tf]\|0$/, 'an older snapshot');
is(ask($two, $copied), ask($two, $built), 'an older snapshot: the same bits');
is(ask($two, "COMMIT; $check"), 't|f|0', 'a newer snapshot');
is(ask($two, $copied), ask($two, $built), 'a newer snapshot: the same bits');
is($node->safe_psql('postgres', $check), 't|f|0', 'a new session patches what it takes');
like(shown(), qr/^link_graph\|out\|t\|20000\|0\|t$/m, 'nobody uses the graph, which stays');

# no change for some calls: the graph is shared again, and other sessions take it
ask($one, $copied) for 1 .. 20;
is(ask($one, $check), 't|t|0', 'no change for some calls: shared again');
like(shown(), qr/^link_graph\|out\|t\|20000\|1\|t$/m, 'in place of the older one');
ask($two, $copied) for 1 .. 20;
is(ask($two, $check), 't|t|0', 'the other session takes it');
like(shown(), qr/^link_graph\|out\|t\|20000\|2\|t$/m, 'both use it again');
unlike(shown(), qr/\|f$/m, 'the older one is gone');
is(ask($_, $copied), ask($_, $built), 'shared again: the same bits') for $one, $two;
# a page without another edge: a row that is only locked, and one that is taken back
$node->safe_psql('postgres', "SELECT count(*) FROM (SELECT FROM link WHERE source = 500 FOR UPDATE) l;
	BEGIN; INSERT INTO link VALUES (1, 2, 3, 'a'); ROLLBACK");
like(ask($one, q{SELECT pages_read > 0, differences, shared FROM hybrid_graph_check('link_graph')}), qr/^t\|0\|t$/,
	'pages without another edge: the graph stays shared');

# a snapshot that is older than others does not share its graph in place of theirs
$node->safe_psql('postgres', 'UPDATE link SET weight = 7 WHERE source < 100');
is(ask($two, "BEGIN ISOLATION LEVEL REPEATABLE READ; $check"), 't|f|0', 'an older snapshot: a copy of its own');
$node->safe_psql('postgres', 'UPDATE link SET weight = 8 WHERE source < 100');
ask($_, $copied) for ($one) x 30, ($two) x 60;
is(ask($two, $copied), ask($two, $built), 'an older snapshot, many calls: the same bits');
is($node->safe_psql('postgres', $check), 't|t|0', 'an older snapshot does not share its graph');
is(ask($one, $read), 'f|0|t', 'the newer graph is shared');
ask($two, 'COMMIT');

# most pages change: the graph is built again and replaces the other one
$node->safe_psql('postgres', 'UPDATE link SET weight = 2');
$node->safe_psql('postgres', 'VACUUM link');
is(ask($one, $check), 't|t|0', 'built again, in shared memory');
like(shown(), qr/^link_graph\|out\|t\|20000\|1\|t$/m, 'the only one of its key');
is(ask($two, $check), 't|t|0', 'the other session takes it');
like(shown(), qr/^link_graph\|out\|t\|20000\|2\|t$/m, 'both use it');
$node->safe_psql('postgres', 'UPDATE link SET weight = 4');
$node->safe_psql('postgres', 'VACUUM link');
is($node->safe_psql('postgres', $check), 't|t|0', 'a new session builds it again');
like(shown(), qr/^link_graph\|out\|t\|20000\|2\|f\n(.*\n)*link_graph\|out\|t\|20000\|0\|t$/m, 'an older one lasts while it is in use');
is(ask($_, $check), 't|t|0', 'the others take the newer one') for $one, $two;
like(shown(), qr/^link_graph\|out\|t\|20000\|2\|t$/m, 'both use the newer one');
unlike(shown(), qr/\|f$/m, 'the older one is gone');
is(ask($two, $copied), ask($two, $built), 'built again: the same bits');

# what a session has not committed is not seen elsewhere
ask($one, q{BEGIN; INSERT INTO link SELECT i, i, 5, 'z' FROM generate_series(1, 100) i});
is(ask($one, $check), 't|f|0', 'rows that are not committed');
is(ask($two, $check), 't|t|0', 'are not seen by others, whose graph stays shared');
is($node->safe_psql('postgres', $check), 't|t|0', 'nor by a new session');
ask($one, q{UPDATE link SET weight = 3});
is(ask($one, $check), 't|t|0', 'all rows changed, not committed, built');
is($node->safe_psql('postgres', $copied), $node->safe_psql('postgres', $built), 'a session that takes that graph: the same bits');
ask($one, 'ROLLBACK');
is(ask($one, $check), 't|t|0', 'rolled back');
is($_->[0], $_->[1], 'rolled back: the same bits') for map { [ ask($_, $copied), ask($_, $built) ] } $one, $two;

# TRUNCATE, another file, and a dropped index
$node->safe_psql('postgres', 'TRUNCATE link');
is(ask($two, $check), 't|t|0', 'no rows');
is(ask($two, q{SELECT count(*) FROM hybrid_degree('link_graph', 'out')}), '0', 'an empty graph');
is($node->safe_psql('postgres', $check), 't|t|0', 'an empty graph is taken, too');
$node->safe_psql('postgres', 'DROP TABLE link');
is($node->safe_psql('postgres', q{SELECT DISTINCT is_current FROM hybrid_shared_graphs() WHERE graph::text ~ '^\d+$'}), 'f', 'the graph of a dropped index is not current');
$node->safe_psql('postgres', q{SELECT make_table('link', 20000)});
is(ask($_, $check), 't|t|0', 'a new table of this name') for $one, $two;
finish($_) for $one, $two;

# memory: graphs that nobody uses make room; one that finds no room stays with its session
$node->safe_psql('postgres', "SELECT make_table('t$_', 40000)") for 1 .. 7;
for my $i (1 .. 6)
{
	is($node->safe_psql('postgres', "SELECT kept, shared, differences FROM hybrid_graph_check('t${i}_graph')"), 't|t|0', "graph $i of 6");
}
my $total = $node->safe_psql('postgres', 'SELECT count(*), sum(bytes) <= 4 * 1024 * 1024 FROM hybrid_shared_graphs()');
like($total, qr/^[1-5]\|t$/, 'not all graphs fit');
my @users = map { session() } 1 .. 6;
my @shared = map { ask($users[ $_ - 1 ], "SELECT shared FROM hybrid_graph_check('t${_}_graph') WHERE kept AND differences = 0") } 1 .. 6;
like(join('', @shared), qr/^t+f[tf]*$/, 'in use: the last ones find no room');
is($node->safe_psql('postgres', 'SELECT min(sessions) FROM hybrid_shared_graphs()'), '1', 'all are in use');
is($node->safe_psql('postgres', q{SELECT kept, shared, differences FROM hybrid_graph_check('t7_graph')}), 't|f|0', 'nor does another graph');
finish($_) for @users;
$node->safe_psql('postgres', q{SELECT make_table('large', 300000)});
is($node->safe_psql('postgres', q{SELECT kept, shared, differences FROM hybrid_graph_check('large_graph')}), 't|f|0', 'a graph that is too large');

# more graphs than the table has entries
$node->safe_psql('postgres', q{SELECT make_table('s' || i, 10) FROM generate_series(1, 80) i});
is($node->safe_psql('postgres', q{SELECT count(*), sum(c.differences) FROM generate_series(1, 80) i, LATERAL hybrid_graph_check('s' || i || '_graph') c WHERE c.kept}),
	'80|0', '80 graphs');
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM hybrid_shared_graphs()'), '<=', 64, 'not all are shared');
cmp_ok($node->safe_psql('postgres', 'SELECT sum(sessions) FROM hybrid_shared_graphs()'), '==', 0, 'and none is in use afterwards');

# each database sees its own
$node->safe_psql('postgres', 'CREATE DATABASE other');
is($node->safe_psql('other', 'CREATE EXTENSION hybrid; SELECT count(*) FROM hybrid_shared_graphs()'), '0', 'another database');

# a limit for all sessions together
$node->append_conf('postgresql.conf', "hybrid.graph_shared_memory = 0\nhybrid.graph_memory_total = 10MB");
$node->restart;
is($node->safe_psql('postgres', $check), 't|f|0', 'no shared memory: a copy of its own');
is($node->safe_psql('postgres', 'SELECT count(*) FROM hybrid_shared_graphs()'), '0', 'and nothing is shown');
@users = map { session() } 1 .. 12;
my $kept = q{SELECT kept FROM hybrid_graph_check('t1_graph') WHERE differences = 0};
my $copies = join '', map { ask($_, $kept) } @users;
like($copies, qr/^tt+f+$/, "copies until the limit of all sessions: $copies");
my $few = $copies =~ tr/t//;
finish(shift @users) for 1 .. $few;
my $next = session();
ok($node->poll_query_until('postgres', "SELECT count(*) = @{[ scalar @users ]} FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND query LIKE '%t1_graph%'"), 'they have ended');
is(ask($next, $kept), 't', 'and others may keep copies again');
finish($_) for @users, $next;

# a session that is killed
$node->append_conf('postgresql.conf', "hybrid.graph_shared_memory = 4MB\nhybrid.graph_memory_total = 0");
$node->restart;
$one = session();
is(ask($one, $check), 't|t|0', 'before a crash');
my $pid = ask($one, 'SELECT pg_backend_pid()');
kill 'KILL', $pid;
ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM hybrid_shared_graphs()'), 'after a crash: nothing is shared');
eval { finish($one) };
is($node->safe_psql('postgres', $check), 't|t|0', 'after a crash: built again');
becomes('(link_graph,out,t,20000,0,t)', 'after a crash: nobody uses it');
# a session that is terminated
$one = session();
$pid = ask($one, 'SELECT pg_backend_pid()');
ask($one, $check);
becomes('(link_graph,out,t,20000,1,t)', 'in use');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
becomes('(link_graph,out,t,20000,0,t)', 'a session that is terminated withdraws');
eval { finish($one) };
done_testing();
