# hybrid_knn_sharded and hybrid_setting_check: partitions, tables of foreign servers, rights, failures, cancels.
#
# The foreign servers are databases of one server, which is enough for all of this.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use FindBin;
use lib $FindBin::Bin;
use HybridSession;

my $docs = $ENV{HYBRID_DOCS} // 'docs';
my $node = PostgreSQL::Test::Cluster->new('sharded');
$node->init;
# these two roles have to give a password; everyone else is trusted
my $hba = $node->data_dir . '/pg_hba.conf';
my $trusted = slurp_file($hba);
open my $file, '>', $hba or die $!;
print {$file} "local all reader,app scram-sha-256\n", $trusted;
close $file;
$node->start;
session_on($node);

my $where = sprintf "host '%s', port '%d'", $node->host, $node->port;

# sql SQL [, DATABASE]: run statements
sub sql
{
	my ($sql, $database) = @_;

	return $node->safe_psql($database // 'postgres', "SET client_min_messages = warning;\n$sql");
}

# fails SQL, PATTERN, NAME [, ROLE]: SQL raises this error
sub fails
{
	my ($sql, $pattern, $name, $role) = @_;
	my ($rc, $out, $err) =
	  $node->psql('postgres', "\\set VERBOSITY verbose\n$sql", extra_params => $role ? [ '-U', $role ] : []);

	like($err, $pattern, $name);
	return;
}

# fails_plain SQL, PATTERN, NAME: the same for the role plain
sub fails_plain
{
	my ($sql, $pattern, $name) = @_;

	fails($sql, $pattern, $name, 'plain');
	return;
}

# poll SQL, NAME: wait until a query returns t
sub poll
{
	my ($sql, $name) = @_;

	ok($node->poll_query_until('postgres', $sql), $name);
	return;
}

# ---------------------------------------------------------------------------------------------
# Data: table whole has all rows; table parted has them in partitions here and on servers.
# ---------------------------------------------------------------------------------------------

sql(q{
	CREATE ROLE reader LOGIN PASSWORD 'secret';
	CREATE ROLE plain LOGIN;
	CREATE EXTENSION hybrid;
	CREATE SCHEMA links;
	CREATE EXTENSION postgres_fdw;
	CREATE TABLE whole (id bigint, v vector(3));
	INSERT INTO whole SELECT i, ARRAY[i % 7, i % 5, i % 3]::vector FROM generate_series(1, 1500) i;
	CREATE TABLE asked AS SELECT array_agg(ARRAY[i % 9, i / 9, 1.25]::vector ORDER BY i) AS v FROM generate_series(1, 40) i;
	CREATE TABLE parted (id bigint, v vector(3)) PARTITION BY RANGE (id);
	CREATE TABLE here PARTITION OF parted FOR VALUES FROM (1) TO (301);
	CREATE TABLE "empty here" PARTITION OF parted FOR VALUES FROM (2000) TO (3000);
	CREATE INDEX ON here USING hybrid (v);
});
my %rows = (far1 => [ 301, 600 ], far2 => [ 601, 900 ], far3 => [ 901, 1200 ]);
for my $far (sort keys %rows)
{
	sql("CREATE DATABASE $far");
	sql("CREATE SERVER $far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname '$far', $where);
		CREATE USER MAPPING FOR CURRENT_USER SERVER $far");
}
sql(q{
	CREATE SCHEMA ext;
	CREATE EXTENSION hybrid SCHEMA ext;
	SET search_path = public, ext;
	CREATE TABLE doc (id bigint PRIMARY KEY, v vector(3));
	INSERT INTO doc SELECT i, ARRAY[i % 7, i % 5, i % 3]::vector FROM generate_series(301, 600) i;
	CREATE INDEX ON doc USING hybrid (v);
	CREATE TABLE another (id bigint, v vector(3));
	INSERT INTO another SELECT i, ARRAY[i % 7, i % 5, i % 3]::vector FROM generate_series(1201, 1500) i;
	GRANT SELECT ON doc TO reader;
	GRANT USAGE ON SCHEMA ext TO reader;
}, 'far1');
# odd names, another type, and an integer as id
sql(q{
	CREATE EXTENSION hybrid;
	CREATE SCHEMA "s ""1'%L";
	CREATE TABLE "s ""1'%L"."T\1%s" ("I d" smallint, "V'%" halfvec(3));
	INSERT INTO "s ""1'%L"."T\1%s" SELECT i, ARRAY[i % 7, i % 5, i % 3]::halfvec FROM generate_series(601, 900) i;
}, 'far2');
# a table with partitions of its own
sql(q{
	CREATE EXTENSION hybrid;
	CREATE TABLE doc (id int, v vector(3)) PARTITION BY HASH (id);
	CREATE TABLE doc_0 PARTITION OF doc FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE doc_1 PARTITION OF doc FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	INSERT INTO doc SELECT i, ARRAY[i % 7, i % 5, i % 3]::vector FROM generate_series(901, 1200) i;
	CREATE TABLE nothing (id int, v vector(3));
}, 'far3');
sql(q{
	INSERT INTO here SELECT * FROM whole WHERE id <= 300;
	CREATE FOREIGN TABLE one PARTITION OF parted FOR VALUES FROM (301) TO (601) SERVER far1 OPTIONS (schema_name 'public', table_name 'doc');
	CREATE FOREIGN TABLE two (id bigint OPTIONS (column_name 'I d'), v vector(3) OPTIONS (column_name 'V''%')) SERVER far2
		OPTIONS (schema_name 's "1''%L', table_name 'T\1%s');
	ALTER TABLE parted ATTACH PARTITION two FOR VALUES FROM (601) TO (901);
	CREATE FOREIGN TABLE doc PARTITION OF parted FOR VALUES FROM (901) TO (1201) SERVER far3;
	CREATE TABLE deeper PARTITION OF parted FOR VALUES FROM (1201) TO (2000) PARTITION BY RANGE (id);
	CREATE FOREIGN TABLE another PARTITION OF deeper FOR VALUES FROM (1201) TO (1501) SERVER far1;
	CREATE FOREIGN TABLE nothing PARTITION OF deeper FOR VALUES FROM (1501) TO (1601) SERVER far3;
	CREATE VIEW view_of_here AS SELECT ctid, id, v FROM here;
});

my $call = q{SELECT s.* FROM asked, hybrid_knn_sharded('parted', 'v', 'id', asked.v, 10) s};
my $one = q{ARRAY['[1,2,3]']::vector[]};

fails($call, qr/ERROR:  42704: extension "dblink" is needed to ask foreign servers\n.*HINT:  Run CREATE EXTENSION dblink\./s,
	'without dblink, the error says what to do');
is(sql(q{SELECT count(*) FROM asked, hybrid_knn_sharded('here', 'v', 'id', asked.v, 10) s}), 400, 'local rows do not need it');
sql('CREATE EXTENSION dblink SCHEMA links');

# ---------------------------------------------------------------------------------------------
# Answers
# ---------------------------------------------------------------------------------------------

# same_as_a_sort RELATION, CONDITION, K, METRIC [, SETTINGS]: compare the answer with a sort of the same rows
sub same_as_a_sort
{
	my ($relation, $condition, $k, $metric, $settings) = @_;
	my %operators = (l2 => '<->', ip => '<#>', cosine => '<=>', l1 => '<+>');
	my $md5 = q{SELECT count(*), md5(string_agg(query || ' ' || id || ' ' || float8send(distance)::text, ',' ORDER BY n)) FROM};
	my $answer = sql(($settings // '') . qq{
		$md5 (SELECT s.*, row_number() OVER () AS n FROM asked, hybrid_knn_sharded('$relation', 'v', 'id', asked.v, $k, '$metric') s) s});
	my $sorted = sql(qq{
		$md5 (SELECT q.n AS query, w.id, w.distance, row_number() OVER (ORDER BY q.n, w.distance, w.id) AS n
			FROM asked, unnest(asked.v) WITH ORDINALITY q(v, n),
			LATERAL (SELECT id, v $operators{$metric} q.v AS distance FROM whole WHERE $condition
				AND (v $operators{$metric} q.v) <> 'NaN' ORDER BY 2, 1 LIMIT $k) w) s});

	is($answer, $sorted, "$relation, k = $k, $metric" . ($settings ? ", $settings" : ''));
	return;
}

for my $metric (qw(l2 ip cosine l1))
{
	same_as_a_sort('parted', 'true', $_, $metric) for (1, 10, 100);
}
same_as_a_sort('parted', 'true', 2000, 'l2');
# many groups of queries; queries with ties are asked again in several parts
same_as_a_sort('parted', 'true', 40, 'l2', 'SET work_mem = 64;');
same_as_a_sort('parted', 'true', 10, 'l2', 'SET work_mem = 64;');
same_as_a_sort('one', 'id BETWEEN 301 AND 600', 7, 'l2');
same_as_a_sort('two', 'id BETWEEN 601 AND 900', 7, 'cosine');
same_as_a_sort('doc', 'id BETWEEN 901 AND 1200', 7, 'l1');
same_as_a_sort('here', 'id <= 300', 7, 'l2');
same_as_a_sort('view_of_here', 'id <= 300', 7, 'l2');
same_as_a_sort('deeper', 'id > 1200', 500, 'l2');
is(sql(qq{SELECT count(*) FROM hybrid_knn_sharded('nothing', 'v', 'id', $one)}), 0, 'a table without rows');
is(sql(q{SELECT count(*) FROM hybrid_knn_sharded('parted', 'v', 'id', '{}')}), 0, 'no queries');
is(sql(qq{CREATE TABLE no_leaves (id int, v vector(3)) PARTITION BY LIST (id);
	SELECT count(*) FROM hybrid_knn_sharded('no_leaves', 'v', 'id', $one)}), 0, 'no partitions');
is(sql(qq{SET standard_conforming_strings = off; SET search_path = ''; SET extra_float_digits = -5; SET datestyle = german;
	SELECT count(*) FROM public.hybrid_knn_sharded('public.parted', 'v', 'id', ARRAY['[1,2,3]']::public.vector[], 25)}), 25,
	'settings of the session that change how text is read and written');
sql('CREATE SCHEMA first; CREATE DOMAIN first.text AS pg_catalog.text CHECK (false); CREATE DOMAIN first.float8 AS pg_catalog.float8 CHECK (false)');
is(sql(qq{SET search_path = first, pg_catalog, public; SELECT count(*) FROM hybrid_knn_sharded('parted', 'v', 'id', $one, 25)}), 25,
	'types of the same names that come first in the search_path');
# distances that need all digits, which a database may not show
sql('ALTER DATABASE far1 SET extra_float_digits = -10');
sql(q{UPDATE asked SET v = ARRAY['[0.1,0.2,0.3]', '[1e-7,3.3333333,12345.678]', '[1e38,1,1]']::vector[]});
same_as_a_sort('parted', 'true', 10, $_) for qw(l2 cosine);
is(sql(qq{BEGIN; INSERT INTO parted VALUES (250, '[1.5,2,3]'), (950, '[1.5,2,3]');
	SELECT string_agg(id::text, ',') FROM hybrid_knn_sharded('parted', 'v', 'id', ARRAY['[1.5,2,3]']::vector[], 1); ROLLBACK}), 250,
	'own changes are seen in local partitions only');

# ---------------------------------------------------------------------------------------------
# Settings
# ---------------------------------------------------------------------------------------------

sql(q{CREATE VIEW ext.spy AS SELECT ctid, id, v FROM public.doc
	WHERE current_setting('hybrid.probes') = '7' AND current_setting('hybrid.force_cpu') = 'on'}, 'far1');
sql(q{CREATE FOREIGN TABLE spy (id bigint, v vector(3)) SERVER far1 OPTIONS (schema_name 'ext')});
is(sql(qq{SELECT count(*) FROM hybrid_knn_sharded('spy', 'v', 'id', $one)}), 0, 'defaults are sent');
is(sql(qq{SET hybrid.probes = 7; SET hybrid.force_cpu = on; SELECT count(*) FROM hybrid_knn_sharded('spy', 'v', 'id', $one)}), 10,
	'settings travel with the call');
is(sql(q{SELECT count(*) FROM hybrid_setting_check()}), 0, 'no server differs');
sql(q{ALTER DATABASE far2 SET hybrid.target_recall = 0.9; ALTER DATABASE far3 SET hybrid.batch_wait = '20ms'});
sql(q{UPDATE pg_extension SET extversion = '0.9' WHERE extname = 'hybrid'}, 'far3');
is(sql(q{SELECT * FROM hybrid_setting_check() ORDER BY server, setting}),
	"far2|hybrid.target_recall|0.95|0.9\nfar3|hybrid.batch_wait|10ms|20ms\nfar3|version|1.0|0.9",
	'servers that differ');
is(sql(q{SET hybrid.target_recall = 0.9; SELECT * FROM hybrid_setting_check('{far2,far1}')}), 'far1|hybrid.target_recall|0.9|0.95',
	'compared with the session, and only the servers that are named');
sql(q{UPDATE pg_extension SET extversion = '1.0' WHERE extname = 'hybrid'}, 'far3');
fails(q{SELECT hybrid_setting_check('{nowhere}')}, qr/ERROR:  42704: server "nowhere" does not exist/, 'a server that does not exist');
fails(q{SELECT hybrid_setting_check('{NULL}')}, qr/ERROR:  22004: servers must not contain NULL/, 'no server');

# ---------------------------------------------------------------------------------------------
# What is refused
# ---------------------------------------------------------------------------------------------

sql(q{
	CREATE DATABASE far4;
	CREATE FOREIGN DATA WRAPPER other;
	CREATE SERVER elsewhere FOREIGN DATA WRAPPER other;
	CREATE FOREIGN TABLE of_other (id int, v vector(3)) SERVER elsewhere;
	CREATE FOREIGN TABLE parent (id int, v vector(3)) SERVER far3 OPTIONS (table_name 'nothing');
	CREATE TABLE child () INHERITS (parent);
	CREATE TABLE named (id text, v vector(3), w real[]);
	CREATE TABLE nulls (id int, v vector(3));
	INSERT INTO nulls VALUES (NULL, '[1,2,3]');
	CREATE VIEW joined AS SELECT id, v FROM here;
	CREATE VIEW both_of AS SELECT ctid, id, v FROM here UNION ALL SELECT ctid, id, v FROM whole;
	CREATE FOREIGN TABLE missing (id int, v vector(3)) SERVER far3 OPTIONS (table_name 'gone');
	CREATE FOREIGN TABLE fewer (id int, no vector(3)) SERVER far3 OPTIONS (table_name 'nothing');
	CREATE FOREIGN TABLE shorter (id int, v vector(3)) SERVER far3 OPTIONS (table_name 'short');
	CREATE FOREIGN TABLE null_ids (id int, v vector(3)) SERVER far3;
	CREATE SERVER far4 FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname 'far4', } . $where . q{);
	CREATE USER MAPPING FOR CURRENT_USER SERVER far4;
	CREATE FOREIGN TABLE bare (id int, v vector(3)) SERVER far4;
	CREATE SERVER down FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname 'nowhere', } . $where . q{);
	CREATE USER MAPPING FOR CURRENT_USER SERVER down;
	CREATE FOREIGN TABLE unreached (id int, v vector(3)) SERVER down;
});
sql(q{CREATE TABLE short (id int, v vector(2)); INSERT INTO short VALUES (1, '[1,2]');
	CREATE TABLE null_ids (id int, v vector(3)); INSERT INTO null_ids VALUES (NULL, '[1,2,3]')}, 'far3');
my @refused = (
	[ 'of_other', 'v', 'id', qr/42809: foreign table "of_other" does not belong to postgres_fdw/ ],
	[ 'parent', 'v', 'id', qr/42809: "parent" has partitions or child tables/ ],
	[ 'named', 'v', 'id', qr/42804: column "id" of "named" is of type text, not smallint, integer or bigint/ ],
	[ 'named', 'w', 'id', qr/42804: column "w" of "named" is of type real\[\], not vector or halfvec/ ],
	[ 'parted', 'x', 'id', qr/42703: column "x" of "parted" does not exist/ ],
	[ 'parted', 'v', 'x', qr/42703: column "x" of "parted" does not exist/ ],
	[ 'nulls', 'v', 'id', qr/22004: column "id" of "nulls" contains NULL/ ],
	[ 'joined', 'v', 'id', qr/42703: view "joined" has no column "ctid"/ ],
	[ 'both_of', 'v', 'id', qr/42809: the ctids of view "both_of" come from several tables/ ],
	[ 'missing', 'v', 'id', qr/42P01: server "far3": relation "public.gone" does not exist/ ],
	[ 'fewer', 'no', 'id', qr/42703: server "far3": column "no" of "nothing" does not exist/ ],
	[ 'shorter', 'v', 'id', qr/22000: server "far3": different vector dimensions 3 and 2/ ],
	[ 'null_ids', 'v', 'id', qr/22004: server "far3": column "id" of "null_ids" contains NULL/ ],
	[ 'bare', 'v', 'id', qr/42704: server "far4": extension "hybrid" does not exist/ ],
	[ 'unreached', 'v', 'id', qr/08001: server "down": could not establish connection/ ]);
for my $case (@refused)
{
	my ($relation, $column, $id, $pattern) = @$case;

	fails("SELECT * FROM hybrid_knn_sharded('$relation', '$column', '$id', $one)", qr/ERROR:  $pattern/, "refused: $relation.$column, $id");
}
is(sql(q{SELECT * FROM hybrid_setting_check('{far4}')}), 'far4|version|1.0|', 'a server without hybrid');
fails(q{SELECT hybrid_setting_check()}, qr/ERROR:  08001: server "down": could not establish connection/, 'a server that cannot be reached');
fails("SELECT hybrid_knn_sharded('parted', 'v', 'id', $one, $_->[0])", qr/ERROR:  $_->[1]/, "k = $_->[0]")
  for ([ '0', '22023: k must be at least 1' ], [ '10000000', '54000: k is 10000000, but work_mem allows' ], [ 'NULL', '22004: k must not be NULL' ]);
fails("SELECT hybrid_knn_sharded('parted', 'v', 'id', $one, 1, 'l3')", qr/ERROR:  22023:/, 'a metric that does not exist');
fails("SELECT hybrid_knn_sharded('parted', 'v', 'id', ARRAY['[1,2]']::vector[])", qr/ERROR:  22000: .*different vector dimensions/, 'other dimensions');
fails("SELECT hybrid_knn_sharded(1::regclass, 'v', 'id', $one)", qr/ERROR:  42P01: relation with OID 1 does not exist/, 'no relation');
is(sql('SELECT links.dblink_get_connections()'), '', 'no connection is left in this session');

# ---------------------------------------------------------------------------------------------
# Rights
# ---------------------------------------------------------------------------------------------

my $by_fdw = 'SELECT count(*) FROM one';
my $sharded = "SELECT count(*) FROM hybrid_knn_sharded('one', 'v', 'id', $one)";

sql('GRANT SELECT ON asked, whole TO plain; GRANT USAGE ON SCHEMA links TO plain');
fails_plain($_, qr/ERROR:  42501: permission denied for foreign table one/, 'no privilege on the table') for ($by_fdw, $sharded);
sql('GRANT SELECT (id) ON one TO plain');
fails_plain($sharded, qr/ERROR:  42501: permission denied for foreign table one/, 'none on one of the columns');
sql('GRANT SELECT (v) ON one TO plain');
fails_plain($_, qr/ERROR:  42704: .*user mapping not found for/, 'no user mapping') for ('SELECT count(id) FROM one', $sharded);
# the owner of the server could connect as anyone who is trusted
sql(q{CREATE USER MAPPING FOR plain SERVER far1 OPTIONS (user 'postgres')});
fails_plain($sharded, qr/ERROR:  42501: .*permission denied for foreign server far1/, 'no privilege on the server');
sql('GRANT USAGE ON FOREIGN SERVER far1 TO plain');
fails_plain($_, qr/ERROR:  2F003: .*password/, 'a mapping without a password is refused') for ('SELECT count(id) FROM one', $sharded);
sql(q{ALTER USER MAPPING FOR plain SERVER far1 OPTIONS (ADD password 'secret')});
fails_plain($_, qr/ERROR:  2F003: .*password/, 'and a password that the server does not ask for') for ('SELECT count(id) FROM one', $sharded);
sql(q{ALTER USER MAPPING FOR plain SERVER far1 OPTIONS (SET user 'reader', SET password 'wrong')});
fails_plain($_, qr/ERROR:  08001: .*password authentication failed for user "reader"/s, 'a wrong password') for ('SELECT count(id) FROM one', $sharded);
sql(q{ALTER USER MAPPING FOR plain SERVER far1 OPTIONS (SET password 'secret')});
is($node->safe_psql('postgres', $_, extra_params => [ '-U', 'plain' ]), $_ eq $sharded ? 10 : 300, 'with the password, they work')
  for ('SELECT count(id) FROM one', $sharded);
sql(q{GRANT SELECT ON another TO plain});
fails_plain(q{SELECT hybrid_knn_sharded('another', 'v', 'id', } . "$one)", qr/ERROR:  42501: server "far1": permission denied for table another/,
	'the server checks the privileges of its own role');
sql(q{ALTER USER MAPPING FOR plain SERVER far1 OPTIONS (SET user 'postgres', DROP password, ADD password_required 'false')});
is($node->safe_psql('postgres', 'SELECT count(id) FROM one', extra_params => [ '-U', 'plain' ]), 300, 'postgres_fdw heeds password_required');
fails_plain($sharded, qr/ERROR:  2F003: .*password/, 'dblink is stricter');
# partitions
my $parted = "SELECT count(*) FROM hybrid_knn_sharded('parted', 'v', 'id', $one)";
fails_plain($parted, qr/ERROR:  42501: permission denied for table parted/, 'no privilege on the partitioned table');
sql('GRANT SELECT ON parted TO plain');
fails_plain($parted, qr/ERROR:  42501: permission denied for/, 'and none on its partitions');
sql(q{CREATE TABLE secured (id int, v vector(3)) PARTITION BY LIST (id); CREATE TABLE secured_1 PARTITION OF secured FOR VALUES IN (1);
	INSERT INTO secured VALUES (1, '[1,2,3]'); ALTER TABLE secured ENABLE ROW LEVEL SECURITY; GRANT SELECT ON secured, secured_1 TO plain});
fails_plain("SELECT hybrid_knn_sharded('secured', 'v', 'id', $one)", qr/ERROR:  0A000: row security of "secured" does not apply/,
	'row security of a partitioned table');
is(sql("SELECT count(*) FROM hybrid_knn_sharded('secured', 'v', 'id', $one)"), 1, 'which does not concern its owner');
sql(q{CREATE SCHEMA closed; CREATE FOREIGN TABLE closed.t (id int, v vector(3)) SERVER far3 OPTIONS (table_name 'nothing', schema_name 'public');
	GRANT SELECT ON closed.t TO plain});
my $closed = sql(q{SELECT 'closed.t'::regclass::oid});
fails_plain("SELECT hybrid_knn_sharded($closed, 'v', 'id', $one)", qr/ERROR:  42501: permission denied for schema closed/, 'a schema that is closed');
sql('REVOKE EXECUTE ON FUNCTION links.dblink_connect(text, text) FROM PUBLIC');
fails_plain($sharded, qr/ERROR:  42501: .*permission denied for function dblink_connect/, 'dblink may be forbidden');
sql('GRANT EXECUTE ON FUNCTION links.dblink_connect(text, text) TO PUBLIC');

# ---------------------------------------------------------------------------------------------
# All servers at once, cancels and failures
# ---------------------------------------------------------------------------------------------

sql(qq{CREATE FUNCTION public.wait() RETURNS bool LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1000); RETURN true; END';
	CREATE VIEW public.slow AS SELECT ctid, id, v FROM public.$_->[1] WHERE public.wait()}, $_->[0])
  for ([ 'far1', 'doc' ], [ 'far3', 'doc_0' ]);
sql(q{CREATE TABLE slow (id int, v vector(3)) PARTITION BY RANGE (id);
	CREATE FOREIGN TABLE slow_1 PARTITION OF slow FOR VALUES FROM (1) TO (10) SERVER far1 OPTIONS (table_name 'slow');
	CREATE FOREIGN TABLE slow_3 PARTITION OF slow FOR VALUES FROM (10) TO (20) SERVER far3 OPTIONS (table_name 'slow');
	CREATE TABLE broken (id int, v vector(3)) PARTITION BY RANGE (id);
	CREATE FOREIGN TABLE broken_1 PARTITION OF broken FOR VALUES FROM (1) TO (10) SERVER far1 OPTIONS (table_name 'slow');
	CREATE FOREIGN TABLE broken_3 PARTITION OF broken FOR VALUES FROM (10) TO (20) SERVER far3 OPTIONS (table_name 'gone')});
my $slow = "SELECT count(*) FROM hybrid_knn_sharded('slow', 'v', 'id', $one)";
my $remotes = q{SELECT count(*) %s FROM pg_stat_activity WHERE datname LIKE 'far%%' AND query LIKE '%%hybrid_knn_sharded%%'};
my $all_busy = sprintf $remotes, "FILTER (WHERE state = 'active') = 2";
my $none = sprintf $remotes, '= 0';

for my $end (qw(cancel terminate timeout))
{
	my $session = session();
	my $pid = ask($session, 'SELECT pg_backend_pid()');

	ask($session, "SET statement_timeout = '5s'") if $end eq 'timeout';
	$session->{in} .= "$slow;\n";
	$session->{run}->pump_nb;
	poll($all_busy, "$end: all servers are busy at once");
	sql("SELECT pg_${end}_backend($pid)") if $end ne 'timeout';
	poll($none, "$end: reaches all of them");
	if ($end eq 'terminate')
	{
		$session->{run}->finish;
	}
	else
	{
		is(ask($session, 'SELECT links.dblink_get_connections() IS NULL'), 't', "$end: no connection is left");
		like($session->{err}, qr/ERROR:  canceling statement due to/, "$end: and is the error");
		finish($session);
	}
}
# a cancel that arrives while a connection is being made; on a slow machine it may arrive later, during the search
{
	my $session = session();
	my $other = session();
	my $pid = ask($session, 'SELECT pg_backend_pid()');
	# set_delay VALUE: set it for new sessions; a session shows it after the postmaster has read it
	my $set_delay = sub {
		my ($value) = @_;

		ask($other, "ALTER SYSTEM SET pre_auth_delay = '$value'");
		ask($other, 'SELECT pg_reload_conf()');
		select undef, undef, undef, 0.1 until ask($other, 'SHOW pre_auth_delay') eq $value;
	};

	$set_delay->('3s');
	$session->{in} .= "$slow;\n";
	$session->{run}->pump_nb;
	select undef, undef, undef, 0.1
	  until ask($other, "SELECT count(*) FROM pg_stat_activity WHERE pid = $pid AND state = 'active' AND query LIKE '%sharded%'") eq '1';
	ask($other, 'SELECT pg_sleep(1)');
	ask($other, "SELECT pg_cancel_backend($pid)");
	is(ask($session, 'SELECT links.dblink_get_connections() IS NULL'), 't', 'a cancel during the connecting: no connection is left');
	like($session->{err}, qr/ERROR:  canceling statement due to user request/, 'a cancel during the connecting: is the error');
	$set_delay->('0');
	finish($_) for $session, $other;
}
fails("SELECT hybrid_knn_sharded('broken', 'v', 'id', $one)", qr/ERROR:  42P01: server "far3": relation "public.gone" does not exist/,
	'a server that fails');
poll($none, 'and the other ones are canceled');
# canceled over there, and a connection that breaks
for my $end (qw(cancel terminate))
{
	my $session = session();

	$session->{in} .= "\\set VERBOSITY verbose\n$slow;\n\\echo done\n";
	$session->{run}->pump_nb;
	poll($all_busy, "$end on a server: all are busy");
	sql(qq{SELECT pg_${end}_backend(pid) FROM pg_stat_activity WHERE datname = 'far3' AND query LIKE '%hybrid_knn_sharded%'});
	IPC::Run::pump($session->{run}) until $session->{out} =~ /^done$/m;
	like($session->{err}, qr/server "far3"/, "$end on a server: the error names it");
	poll($none, "$end on a server: the other one is canceled");
	finish($session);
}

# a foreign table that refers to itself
sql(qq{CREATE SERVER self FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname 'postgres', $where);
	CREATE USER MAPPING FOR CURRENT_USER SERVER self;
	CREATE FOREIGN TABLE ring (id int, v vector(3)) SERVER self});
fails("SELECT hybrid_knn_sharded('ring', 'v', 'id', $one)", qr/ERROR:  54001: (?:server "self": ){4}servers ask other servers more than 4 levels deep/,
	'a foreign table that refers to itself');

# calls that succeed and calls that fail leave no memory and no connection behind
my $growth = sql(qq{
	DO \$\$
	DECLARE
		before bigint;
	BEGIN
		FOR i IN 1 .. 30 LOOP
			IF i = 10 THEN
				before := (SELECT sum(total_bytes) FROM pg_backend_memory_contexts);
			END IF;
			PERFORM count(*) FROM asked, hybrid_knn_sharded('parted', 'v', 'id', asked.v, 100);
			BEGIN
				PERFORM count(*) FROM asked, hybrid_knn_sharded('missing', 'v', 'id', asked.v, 100);
			EXCEPTION WHEN undefined_table THEN NULL;
			END;
			BEGIN
				PERFORM count(*) FROM asked, hybrid_knn_sharded('unreached', 'v', 'id', asked.v, 100);
			EXCEPTION WHEN sqlclient_unable_to_establish_sqlconnection THEN NULL;
			END;
		END LOOP;
		PERFORM set_config('hybrid_test.growth', ((SELECT sum(total_bytes) FROM pg_backend_memory_contexts) - before)::text, false);
	END \$\$;
	SELECT current_setting('hybrid_test.growth') || '|' || (links.dblink_get_connections() IS NULL)});
like($growth, qr/^-?\d{1,5}\|true$/, 'no memory and no connection is left');

# ---------------------------------------------------------------------------------------------
# The examples of docs/functions.md
# ---------------------------------------------------------------------------------------------

my ($section) = slurp_file("$docs/functions.md") =~ /^### Rows in several places\n(.*?)^##/ms;
my @examples = map { s/^    //mgr } grep { /^    (?:CREATE|SELECT)/ } split /\n\n+/, $section;
is(scalar @examples, 4, 'examples: two of preparation, two with output');
sql('CREATE DATABASE docs; CREATE DATABASE example; CREATE ROLE app LOGIN PASSWORD \'secret\'');
sql('CREATE EXTENSION hybrid; CREATE TABLE doc (id bigint, v vector(3)); GRANT ALL ON doc TO app;', 'docs');
sql(qq{ALTER DATABASE docs SET hybrid.target_recall = 0.9; CREATE EXTENSION hybrid}, 'example');
for my $example (@examples[ 0 .. 1 ])
{
	sql($example =~ s/host 'far.example.com'/$where/r, 'example');
}
sql(q{CREATE USER MAPPING FOR CURRENT_USER SERVER far; INSERT INTO doc SELECT i, ARRAY[i, i % 10, 1]::vector FROM generate_series(1, 200) i}, 'example');
for my $example (@examples[ 2 .. 3 ])
{
	my ($statement, @printed) = split /\n/, $example;
	local $ENV{PGPASSWORD} = 'secret';

	is($node->safe_psql('example', $statement, extra_params => [ '-U', 'app' ]),
		join("\n", map { s/^ +//r =~ s/ +\| +/|/gr } @printed[ 2 .. $#printed ]), "prints what is shown: $statement");
}

$node->stop;
done_testing();
