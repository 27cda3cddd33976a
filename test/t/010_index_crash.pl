# A hybrid index after a crash in the middle of inserts and vacuums: recovery leaves it intact and usable, with
# every committed row in it.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use IPC::Run ();
use Test::More;
use Time::HiRes qw(usleep);

my $node = PostgreSQL::Test::Cluster->new('crash');
$node->init;
$node->append_conf('postgresql.conf', q{
autovacuum = off
checkpoint_timeout = 1h
max_wal_size = 1GB
shared_buffers = 1MB
log_min_messages = warning
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION hybrid');

# narrow: many vectors a page, and lists that are split; wide: one on three pages, its codes on six; and the
# same as halfvecs, sparse vectors, whose lengths vary, bits, and arrays
my %dims = (narrow => 20, wide => 10500);
for my $table (sort keys %dims)
{
	$node->safe_psql('postgres', qq{
		CREATE TABLE $table (id serial, v vector($dims{$table}));
		CREATE INDEX ${table}_v ON $table USING hybrid (v) INCLUDE (id) WITH (storage = float32, list_size = 32);
		CREATE INDEX ${table}_c ON $table USING hybrid (v vector_cosine_ops);
		CREATE INDEX ${table}_h ON $table USING hybrid ((v::halfvec($dims{$table})) halfvec_ip_ops);
		CREATE INDEX ${table}_s ON $table USING hybrid ((v::sparsevec($dims{$table}))) INCLUDE (id);
		CREATE INDEX ${table}_b ON $table USING hybrid ((binary_quantize(v)::bit($dims{$table})) bit_hamming_ops);
		CREATE INDEX ${table}_m ON $table USING hybrid ((ARRAY[v, v + v]::vector($dims{$table})[]));
	});
}
$node->safe_psql('postgres', q{
	CREATE UNLOGGED TABLE fast (id int, v vector(3));
	CREATE INDEX fast_v ON fast USING hybrid (v);
	INSERT INTO fast SELECT i, ARRAY[i, i, i]::vector FROM generate_series(1, 500) i;
	CREATE TABLE vector_of AS SELECT i, (SELECT array_agg(CASE WHEN j % 5 < i % 3 THEN 0 ELSE (i * j) % 101 + 1 END)::real[] FROM generate_series(1, 20) j) AS narrow,
		(SELECT array_agg(CASE WHEN j % 5 < i % 3 THEN 0 ELSE (i * j) % 101 + 1 END)::real[] FROM generate_series(1, 10500) j) AS wide FROM generate_series(0, 9) i;
});

# start_session FILE: run the statements of a file
sub start_session
{
	my ($file) = @_;

	return IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', $file ], '<', '/dev/null', '>', '/dev/null', '2>', '/dev/null');
}

# thin: sparse vectors whose inverted lists VACUUM makes again and again
$node->safe_psql('postgres', q{
	CREATE FUNCTION thin_of(i bigint) RETURNS sparsevec LANGUAGE sql IMMUTABLE AS
	$$ SELECT format('{1:%s,%s:1,%s:3}/1000', 1 + i % 101, 2 + i % 7, 10 + i * 7919 % 990)::sparsevec(1000) $$;
	CREATE TABLE thin (id serial, v sparsevec(1000));
	INSERT INTO thin (v) SELECT thin_of(i) FROM generate_series(1, 600) i;
	CREATE INDEX thin_v ON thin USING hybrid (v);
	CREATE TABLE asked AS SELECT q, thin_of(q * 41) AS target FROM generate_series(1, 20) q;
});
my $nearest = q{
	SELECT string_agg(d::text, ' ' ORDER BY q, d) FROM asked,
		LATERAL (SELECT v <-> target AS d FROM thin ORDER BY v <-> target LIMIT 5) s};
my $by_index = 'SET enable_seqscan = off; SET enable_sort = off;';
like($node->safe_psql('postgres', "$by_index EXPLAIN $nearest"), qr/Index Scan using thin_v/, 'thin_v is used');

# thin_is_whole NAME: the index of `thin` has no page that VACUUM does not know of, and the nearest rows are those of the table
sub thin_is_whole
{
	my ($name) = @_;

	for my $when ('after recovery', 'after VACUUM')
	{
		$node->safe_psql('postgres', 'VACUUM thin') if $when eq 'after VACUUM';
		my ($rc, $out, $err) = $node->psql('postgres', "SET client_min_messages = " . ($when eq 'after VACUUM' ? 'notice' : 'warning')
			. "; SELECT hybrid_index_check('thin_v') >= (SELECT count(*) FROM thin)");
		is("$rc $out $err", '0 t ', "$name: thin_v is whole $when");
		is($node->safe_psql('postgres', "$by_index $nearest"), $node->safe_psql('postgres', "SET enable_indexscan = off; $nearest"),
			"$name: the nearest rows by inverted lists $when");
	}
	return;
}

my $rounds = 4;
for my $round (1 .. $rounds)
{
	my @sessions;
	my @begun = map { $node->safe_psql('postgres', "SELECT last_value FROM ${_}_id_seq") } qw(narrow wide thin);

	# each session: a stream of single inserts, deletes and vacuums until the server is gone
	for my $table (sort keys %dims)
	{
		for my $session (1, 2)
		{
			my $script = "SET synchronous_commit = off;\n" . join('', map {
				"INSERT INTO $table (v) SELECT $table FROM vector_of WHERE i = " . ($_ % 10) . ";\n"
				. ($_ % 7 == 0 ? "DELETE FROM $table WHERE id % 5 = " . ($_ % 5) . ";\n" : '')
				. ($_ % 20 == 0 && $session == 1 ? "VACUUM (TRUNCATE off) $table;\n" : '')
				. ($_ % 50 == 0 ? "CHECKPOINT;\n" : '')
			} 1 .. 5000);
			my $file = PostgreSQL::Test::Utils::tempdir_short() . "/$table$session.sql";
			PostgreSQL::Test::Utils::append_to_file($file, $script);
			push @sessions, start_session($file);
		}
	}
	my $file = PostgreSQL::Test::Utils::tempdir_short() . '/thin.sql';
	PostgreSQL::Test::Utils::append_to_file($file, "SET synchronous_commit = off;\n" . join '', map {
		"INSERT INTO thin (v) SELECT thin_of(i + $_) FROM generate_series(1, 700) i;\n"
		. ($_ % 3 == 0 ? "DELETE FROM thin WHERE id < (SELECT max(id) FROM thin) - 600;\n" : '')
		. "VACUUM (TRUNCATE off) thin;\n" . ($_ % 10 == 0 ? "CHECKPOINT;\n" : '') } 1 .. 500);
	push @sessions, start_session($file);
	# on a busy machine they may take a while to begin
	ok($node->poll_query_until('postgres', "SELECT (SELECT last_value FROM narrow_id_seq) > $begun[0] + 10 AND (SELECT last_value FROM wide_id_seq) > $begun[1] + 10
		AND (SELECT last_value FROM thin_id_seq) > $begun[2] + 3000"),
		"round $round: the sessions are at work");
	usleep(700_000 + 300_000 * $round);
	$node->stop('immediate');
	for my $session (@sessions)
	{
		eval { $session->finish; };
	}
	$node->start;

	for my $table (sort keys %dims)
	{
		for my $index (map { "${table}_$_" } qw(v c h s b m))
		{
			my ($rc, $out, $err) = $node->psql('postgres',
				"SET client_min_messages = warning; SELECT hybrid_index_check('$index') >= (SELECT count(*) FROM $table)");
			is("$rc $out $err", '0 t ', "round $round: $index is whole");
		}
		my $same = $node->safe_psql('postgres', qq{
			SET enable_seqscan = off; SET hybrid.target_recall = 1;
			CREATE TEMP TABLE ours AS SELECT id FROM $table ORDER BY v <-> (SELECT $table FROM vector_of WHERE i = 3)::vector;
			SELECT count(*) || ' ' || (SELECT count(*) FROM ours) || ' ' || (SELECT count(*) FROM ours FULL JOIN $table USING (id) WHERE ours.id IS NULL OR v IS NULL)
			FROM $table});
		like($same, qr/^(\d+) \1 0$/, "round $round: a scan of ${table}_v finds every row");
	}
	thin_is_whole("round $round");
}

# what was interrupted is not in the way of what comes
for my $table (sort keys %dims)
{
	$node->safe_psql('postgres', qq{
		DELETE FROM $table;
		VACUUM $table;
		INSERT INTO $table (v) SELECT $table FROM vector_of, generate_series(1, 3);
	});
	is($node->safe_psql('postgres', "SELECT string_agg(hybrid_index_check(('${table}_' || i)::regclass)::text, ' ') FROM unnest('{v,c,h,s,b,m}'::text[]) i"),
		'30 30 30 30 30 60', "$table takes rows again");
}

# only inverted lists and the list of all rows have heads, whose generations count them
$node->safe_psql('postgres', 'CHECKPOINT');
my @pages = unpack '(a8192)*', slurp_file($node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('thin_v')"));
my ($made, $kept) = (0, 0);
for my $page (@pages)
{
	$made += unpack 'S', substr $page, 8184, 2;
	$kept++ if unpack('S', substr $page, 8188, 2) == 10;
}
cmp_ok($kept, '>', 0, 'thin_v has inverted lists');
cmp_ok($made, '>', 4 * $rounds, 'which were replaced');
note("$made heads in all, $kept segments kept");
$node->safe_psql('postgres', 'DELETE FROM thin; VACUUM thin; INSERT INTO thin (v) SELECT thin_of(i) FROM generate_series(1, 600) i');
thin_is_whole('emptied and filled');

# an unlogged index is empty after a crash, like its table
is($node->safe_psql('postgres', "SELECT hybrid_index_check('fast_v'), count(*) FROM fast"), '0|0', 'the unlogged index is empty');
$node->safe_psql('postgres', "INSERT INTO fast SELECT i, ARRAY[i, i, i]::vector FROM generate_series(1, 500) i");
is($node->safe_psql('postgres', "SET enable_seqscan = off; SELECT id FROM fast ORDER BY v <-> '[77,77,77]' LIMIT 1"), '77', 'and usable');
is($node->safe_psql('postgres', "SELECT hybrid_index_check('fast_v')"), '500', 'and whole');

# queries that were kept are on disk when the statement ends
$node->safe_psql('postgres', q{
	CREATE TABLE calm (v vector(20));
	INSERT INTO calm SELECT (SELECT array_agg((i * j) % 101 + 1)::real[] FROM generate_series(1, 20) j)::vector FROM generate_series(1, 500) i;
	CREATE INDEX calm_v ON calm USING hybrid (v) WITH (list_size = 32);
	SELECT pg_switch_wal();
});
my $curve = q{SELECT measured_by, hybrid_index_check('calm_v'), (SELECT string_agg(c::text, ' ') FROM hybrid_index_curve('calm_v') c) FROM hybrid_index_stats('calm_v')};
$node->safe_psql('postgres', q{SELECT hybrid_index_measure('calm_v', (SELECT array_agg(array_fill(i, ARRAY[20])::vector) FROM generate_series(1, 120) i), keep => true)});
$node->stop('immediate');
$node->start;
my $queries = $node->safe_psql('postgres', $curve);
like($queries, qr/^queries\|500\|/, 'kept queries survive a crash');
$node->safe_psql('postgres', 'VACUUM calm');
is($node->safe_psql('postgres', $curve), $queries, 'and VACUUM');

$node->stop;
done_testing();
