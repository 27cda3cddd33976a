# VACUUM gives an index a new tree while rows are added.  An autovacuum that makes inserts wait for longer than
# deadlock_timeout is canceled, and must still finish in the end.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use FindBin;
use lib $FindBin::RealBin;
use HybridSession;

my $clients = 3;
my $gate = 0xFFFFFFFE; # HYBRID_GATE
my $hold_lock = "$FindBin::RealBin/hold_lock";
my $first = 60000;

# thousands of lists, whose heads do not fit in memory
my $node = PostgreSQL::Test::Cluster->new('gate');
$node->init;
$node->append_conf('postgresql.conf', q{
autovacuum = off
autovacuum_naptime = 1s
autovacuum_vacuum_cost_delay = 0
shared_buffers = 2MB
deadlock_timeout = 50ms
fsync = off
jit = off
log_min_messages = debug1
log_statement = none
max_wal_size = 4GB
});
$node->start;
session_on($node);
$node->safe_psql('postgres', qq{
	CREATE EXTENSION hybrid;
	CREATE FUNCTION hold_lock(index regclass, block bigint) RETURNS void LANGUAGE c STRICT AS '$hold_lock';
	CREATE FUNCTION place(i int) RETURNS vector LANGUAGE sql IMMUTABLE AS
	'SELECT ARRAY[hashint4extended(i, 1) % 1000003, hashint4extended(i, 2) % 1000003, hashint4extended(i, 3) % 1000003]::real[]::vector(3)';
	CREATE TABLE item (id int, v vector(3)) WITH (vacuum_truncate = off, autovacuum_vacuum_insert_threshold = 1000, autovacuum_vacuum_insert_scale_factor = 0);
	CREATE INDEX item_v ON item USING hybrid (v) WITH (list_size = 32);
	CREATE TABLE stop ();
	CREATE PROCEDURE add(client int) LANGUAGE plpgsql AS \$\$
	DECLARE
		i int := $first + client;
	BEGIN
		WHILE to_regclass('stop') IS NOT NULL LOOP
			INSERT INTO item VALUES (i, place(i));
			COMMIT;
			i := i + $clients;
		END LOOP;
	END \$\$;
});

# start: make an index that grew from an empty one, and clients that each add rows of their own
my @clients;
sub start
{
	$node->safe_psql('postgres', qq{
		TRUNCATE item;
		INSERT INTO item SELECT i, place(i) FROM generate_series(1, $first) i;
		CREATE TABLE IF NOT EXISTS stop ()});
	cmp_ok($node->safe_psql('postgres', q{SELECT lists FROM hybrid_index_stats('item_v')}), '>', 2500, 'thousands of lists');
	for my $client (1 .. $clients)
	{
		my %run = (in => '', out => '', err => '');
		my $sql = "CALL add($client)";
		$run{run} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-v', 'ON_ERROR_STOP=1', '-c', $sql ],
			'<', \$run{in}, '>', \$run{out}, '2>', \$run{err});
		push @clients, \%run;
	}
	return;
}

sub stop
{
	$node->safe_psql('postgres', 'DROP TABLE stop');
	for my $client (@clients)
	{
		$client->{run}->finish;
		is($client->{err}, '', 'who adds rows sees no error');
	}
	@clients = ();
	return;
}

# all_there WHEN: check that the index returns each row of the table exactly once
sub all_there
{
	my ($when) = @_;

	is($node->safe_psql('postgres', q{
		SET enable_seqscan = off;
		SET hybrid.target_recall = 1;
		SELECT count(*) = (SELECT count(*) FROM item), count(*) = count(DISTINCT id) FROM (SELECT id FROM item ORDER BY v <-> place(1)) s}),
		't|t', "$when: each row is found, once");
	is($node->safe_psql('postgres', q{SELECT hybrid_index_check('item_v') = (SELECT count(*) FROM item)}), 't', "$when: each has its entry");
	return;
}

# regrouped LOG: return the number of lists after regrouping and the number of rows added meanwhile; (0, 0): it
# was not done
sub regrouped
{
	my ($log) = @_;

	note(join("\n", $log =~ /(index regroup: .*|canceling autovacuum.*)/g));
	return $log =~ /index regroup: \d+ lists become (\d+); \d+ rows, (\d+) of them came meanwhile/ ? ($1, $2) : (0, 0);
}

# That bears next to no waiting. Somebody who adds a row takes a long time over it, and so others come to wait behind
# VACUUM before the gate is shut at all: it is opened again for them, and shut to the end the third time at the latest.
start();
my ($slow, $slower, $vacuum) = (session(), session(), session());
my $waits = "SELECT %s FROM pg_locks WHERE relation = 'item_v'::regclass AND page::bigint & 4294967295 = $gate AND NOT granted";
# begin SESSION, SQL: start a statement that will wait
sub begin
{
	my ($session, $sql) = @_;

	$session->{out} = '';
	$session->{in} .= "$sql;\n\\echo begun\n";
	$session->{run}->pump_nb;
	return;
}
ask($slow, "BEGIN; SELECT hold_lock('item_v', $gate)");
ask($vacuum, q{SET deadlock_timeout = '1ms'; SET client_min_messages = debug1});
begin($vacuum, 'VACUUM item');
# it waits a first time for all who were there before it asked for notes, and then for who comes next
ok($node->poll_query_until('postgres', sprintf($waits, "bool_or(mode = 'ExclusiveLock')")), 'VACUUM waits, to ask for notes');
begin($slower, "BEGIN; SELECT hold_lock('item_v', $gate)");
ok($node->poll_query_until('postgres', sprintf($waits, "count(*) = 2 + $clients")), 'and all others behind it');
ask($slow, 'COMMIT');
$slower->{run}->pump until $slower->{out} =~ /begun/;
ok($node->poll_query_until('postgres', sprintf($waits, "bool_or(mode = 'ExclusiveLock') AND count(*) = 1 + $clients")), 'VACUUM waits before the gate, and all others behind it');
ask($slower, 'COMMIT');
$vacuum->{run}->pump until $vacuum->{out} =~ /begun/;
ask($vacuum, 'SELECT 1');
my $said = $vacuum->{err};
finish($_) for $slow, $slower, $vacuum;
stop();
my $opened = () = $said =~ /the gate was shut for [\d.]+ ms, and opened/g;
my ($made, $meanwhile) = regrouped($said);
ok($opened >= 1 && $opened <= 2, "the gate is opened for those who wait: $opened times");
like($said, qr/and opened\n.*the gate was shut for [\d.]+ ms, until all was done\n/s, 'and shut to the end');
cmp_ok($made, '>', 2500, 'there is another tree');
cmp_ok($meanwhile, '>', 0, "while rows came: $meanwhile");
all_there('VACUUM');

# an autovacuum; one that is cancelled all the same comes again when there are a quarter more lists
start();
my $from = -s $node->logfile;
$node->append_conf('postgresql.conf', 'autovacuum = on');
$node->reload;
for (1 .. 300)
{
	my $log = slurp_file($node->logfile, $from);

	# the postmaster may have gone to sleep for a minute just before it was told to reload: somebody comes and wakes it
	$node->safe_psql('postgres', 'SELECT 1');
	last if $log =~ /index regroup: \d+ lists become/;
	select undef, undef, undef, 0.2;
}
($made, $meanwhile) = regrouped(slurp_file($node->logfile, $from));
cmp_ok($made, '>', 2500, 'autovacuum has made another tree');
cmp_ok($meanwhile, '>', 0, "while rows came: $meanwhile");
stop();
all_there('autovacuum');

done_testing();
