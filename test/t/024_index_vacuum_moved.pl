# VACUUM has listed the leaves and waits at one of them while others are split.  The entries of removed rows are
# then in lists that it does not know, two for each known one, and it finds them there.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use HybridSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hold_lock = "$FindBin::RealBin/hold_lock";
my $clusters = 8;

my $node = PostgreSQL::Test::Cluster->new('moved');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\n");
$node->start;
session_on($node);
# clusters that are far from each other; of each there are leaves of its own
$node->safe_psql('postgres', qq{
	CREATE EXTENSION hybrid;
	CREATE FUNCTION hold_lock_alone(index regclass, block bigint) RETURNS void LANGUAGE c STRICT AS '$hold_lock';
	CREATE FUNCTION place(i int) RETURNS vector LANGUAGE sql IMMUTABLE AS
	'SELECT ARRAY[i % $clusters * 10000, hashint4extended(i, 1) % 100, hashint4extended(i, 2) % 100]::real[]::vector(3)';
	CREATE TABLE item (id int, v vector(3)) WITH (vacuum_truncate = off);
	INSERT INTO item SELECT i, place(i) FROM generate_series(1, 480) i;
	CREATE INDEX item_v ON item USING hybrid (v) WITH (list_size = 64);
	DELETE FROM item WHERE id / $clusters % 2 = 0});
my $lists = $node->safe_psql('postgres', q{SELECT lists FROM hybrid_index_stats('item_v')});
cmp_ok($lists, '>=', $clusters, 'leaves');

# vacuum SESSION: start VACUUM and return the block of the leaf at which it waits
sub vacuum
{
	my ($session) = @_;
	my $waits = q{SELECT page::bigint & 4294967295 FROM pg_locks WHERE locktype = 'tuple' AND relation = 'item_v'::regclass AND NOT granted AND mode = 'ShareLock'};

	$session->{out} = $session->{err} = '';
	$session->{in} .= "VACUUM item;\n\\echo vacuumed\n";
	$session->{run}->pump_nb;
	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM ($waits) s"), 'VACUUM waits at a leaf');
	return $node->safe_psql('postgres', $waits);
}

# every list is held: it waits at the first, which that is shows
my ($holder, $vacuum) = (session(), session());
ask($holder, q{BEGIN; SELECT count(hold_lock_alone('item_v', n)) FROM generate_series(1, pg_relation_size('item_v') / 8192 - 1) n});
my $first = vacuum($vacuum);
$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'VACUUM%'});
$vacuum->{run}->pump until $vacuum->{out} =~ /vacuumed/;
like($vacuum->{err}, qr/canceling statement/, 'and is cancelled');
ask($holder, 'COMMIT');
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('item_v')}), 480, 'before it has killed anything');

# that one is held: all others are split
ask($holder, "BEGIN; SELECT hold_lock_alone('item_v', $first)");
is(vacuum($vacuum), $first, 'the same leaf');
# row by row: one that is for the leaf that is held has no entry, and no more come there
$node->safe_psql('postgres', qq{
	SET lock_timeout = '200ms';
	DO \$\$
	BEGIN
		FOR c IN 0 .. $clusters - 1 LOOP
			FOR i IN 125 .. 375 LOOP
				BEGIN
					INSERT INTO item VALUES (i * $clusters + c, place(i * $clusters + c));
				EXCEPTION WHEN lock_not_available THEN
					EXIT;
				END;
			END LOOP;
		END LOOP;
	END \$\$});
# a row far outside of its own list may be for the leaf that is held, too
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM item WHERE id >= 1000'), '>=', 251 * ($clusters - 2), 'rows come into the others');
cmp_ok($node->safe_psql('postgres', q{SELECT lists FROM hybrid_index_stats('item_v')}), '>=', $lists + $clusters, 'which are split');
is($vacuum->{out}, '', 'while it waits');
ask($holder, 'COMMIT');
$vacuum->{run}->pump until $vacuum->{out} =~ /vacuumed/;
is($vacuum->{err}, '', 'it comes to its end');

# what it has left of a removed row would be another's
is($node->safe_psql('postgres', q{SELECT hybrid_index_check('item_v') = (SELECT count(*) FROM item)}), 't', 'no entry is left of a removed row');
$node->safe_psql('postgres', 'INSERT INTO item SELECT i, place(i) FROM generate_series(4001, 4400) i');
is($node->safe_psql('postgres', q{
	SET enable_seqscan = off;
	SET hybrid.target_recall = 1;
	SELECT count(*) = (SELECT count(*) FROM item), count(*) = count(DISTINCT id) FROM (SELECT id FROM item ORDER BY v <-> place(1)) s}),
	't|t', 'each row is found, once');
finish($_) for $holder, $vacuum;
done_testing();
