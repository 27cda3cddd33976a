#!/bin/bash
# Stress tests of a chosen length. One `ok` line per verified property.
#
#	test/soak.sh storm SECONDS		writers, readers and vacuum at once, on a device that fails at random
#	test/soak.sh crash SECONDS		kill -9 in the middle of writes, again and again
#	test/soak.sh load SECONDS		as many calls as possible, on devices that fail at random: their rate, and
#									that memory use does not grow
set -euo pipefail

cd "$(dirname "$0")/.."
what=${1:?usage: test/soak.sh storm|crash|load SECONDS}
seconds=${2:?usage: test/soak.sh storm|crash|load SECONDS}
private=$(mktemp -d /tmp/hybrid-soak.XXXXXX)
server=$private/pg
pids=()
status=0
# each in a process group of its own, so that it can be ended as a whole
set -m

# shellcheck disable=SC2317  # called by the trap
close_private()
{
	stop_helpers
	test/server.sh down "$server" || true
	rm -rf "$private"
}
chmod 755 "$private"
trap close_private EXIT
trap 'exit 143' TERM INT

# stop_helpers: the processes in the background, and what they have started
stop_helpers()
{
	local pid

	for pid in "${pids[@]}"; do
		kill -- "-$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	pids=()
}

sql()
{
	test/server.sh run "$server" psql -X -q -At -v ON_ERROR_STOP=1 "$@"
}

# equal NAME GOT WANTED
equal()
{
	if [ "$2" = "$3" ]; then
		echo "ok - $1"
	else
		echo "not ok - $1"
		echo "#   got $2, wanted $3"
		status=1
	fi
}

schema()
{
	sql <<-'SQL'
		CREATE EXTENSION hybrid;
		-- A point of 24 dimensions that depends on n alone: so a row can be told from its id.
		CREATE FUNCTION point(n bigint) RETURNS vector LANGUAGE sql IMMUTABLE AS $$
			SELECT array_agg((('x' || substr(md5(n || '/' || i), 1, 6))::bit(24)::int / 16777216.0 - 0.5)
				ORDER BY i)::real[]::vector(24) FROM generate_series(1, 24) AS i $$;
		CREATE SEQUENCE ids;
		CREATE TABLE items (id bigint PRIMARY KEY DEFAULT nextval('ids'), v vector(24), touched int DEFAULT 0)
			WITH (autovacuum_enabled = off, fillfactor = 80);
		CREATE TABLE edges (source bigint, target bigint, weight real);
		INSERT INTO edges SELECT n % 200, n * 7 % 211, 1 + n % 3 FROM generate_series(1, 2000) AS n;
		INSERT INTO items SELECT n, point(n) FROM (SELECT nextval('ids') AS n FROM generate_series(1, 2000)) AS s;
		CREATE INDEX items_v ON items USING hybrid (v vector_l2_ops) WITH (list_size = 48);
		-- Built again and again; its rows stay.
		CREATE TABLE built AS SELECT id, v FROM items;
		CREATE INDEX built_v ON built USING hybrid (v vector_cosine_ops) WITH (list_size = 48);
		-- Sparse vectors, with inverted lists that VACUUM replaces.
		CREATE FUNCTION sparse_point(n bigint) RETURNS sparsevec LANGUAGE sql IMMUTABLE AS $$
			SELECT format('{1:%s,%s:1,%s:3}/1000', 1 + n % 101, 2 + n % 7, 10 + n * 7919 % 990)::sparsevec(1000) $$;
		-- A query with all dimensions: VACUUM often replaces an inverted list while such a query reads it.
		CREATE FUNCTION sparse_query(n bigint) RETURNS sparsevec LANGUAGE sql IMMUTABLE AS $$
			SELECT array_agg(n * i % 7 + 1 ORDER BY i)::real[]::vector(1000)::sparsevec(1000) FROM generate_series(1, 1000) AS i $$;
		CREATE TABLE sparse (id bigserial, v sparsevec(1000)) WITH (autovacuum_enabled = off);
		INSERT INTO sparse (v) SELECT sparse_point(n) FROM generate_series(1, 2000) AS n;
		CREATE INDEX sparse_v ON sparse USING hybrid (v);
		CREATE FUNCTION sparse_by_index(q sparsevec) RETURNS float8[] LANGUAGE sql STABLE SET enable_seqscan = off SET enable_sort = off AS $$
			SELECT array_agg(d) FROM (SELECT v <-> q AS d FROM sparse ORDER BY v <-> q LIMIT 20) AS s $$;
		CREATE FUNCTION sparse_by_scan(q sparsevec) RETURNS float8[] LANGUAGE sql STABLE SET enable_indexscan = off AS $$
			SELECT array_agg(d) FROM (SELECT v <-> q AS d FROM sparse ORDER BY v <-> q LIMIT 20) AS s $$;
		-- Rows for index-only scans, and how many rows of such a scan are not those of its snapshot.
		CREATE TABLE stored (id bigint PRIMARY KEY, v vector(24)) WITH (autovacuum_enabled = off);
		INSERT INTO stored SELECT n, point(n) FROM generate_series(1, 2000) AS n;
		CREATE INDEX stored_v ON stored USING hybrid (v) INCLUDE (id) WITH (storage = float32, list_size = 32);
		CREATE FUNCTION stored_wrong(q vector) RETURNS bigint LANGUAGE plpgsql SET enable_seqscan = off SET enable_sort = off AS $$
		DECLARE
			found stored;
			rows stored[];
		BEGIN
			FOR found IN SELECT id, v FROM stored ORDER BY v <-> q LIMIT 300 LOOP
				rows := rows || found;
			END LOOP;
			RETURN (SELECT count(*) - count(DISTINCT t.id) FROM unnest(rows) AS r LEFT JOIN stored AS t ON t.id = r.id AND t.v = r.v);
		END $$;
		-- hybrid_knn over the store of the index and over the table: what only one of them says.
		CREATE FUNCTION by_store(q vector[], metric text) RETURNS TABLE (query int, id tid, distance float8)
			LANGUAGE sql STABLE SET enable_indexscan = on AS $$ SELECT * FROM hybrid_knn('items', 'v', q, 10, metric) $$;
		CREATE FUNCTION by_table(q vector[], metric text) RETURNS TABLE (query int, id tid, distance float8)
			LANGUAGE sql STABLE SET enable_indexscan = off AS $$ SELECT * FROM hybrid_knn('items', 'v', q, 10, metric) $$;
		CREATE FUNCTION disagreements(q vector[], metric text) RETURNS bigint LANGUAGE sql STABLE AS $$
			SELECT count(*) FROM ((SELECT * FROM by_store(q, metric) EXCEPT ALL SELECT * FROM by_table(q, metric))
				UNION ALL (SELECT * FROM by_table(q, metric) EXCEPT ALL SELECT * FROM by_store(q, metric))) d $$;
		-- Rows that a search of all lists does not find, finds twice or finds though they are not there:
		-- by asking for all of the nearest, and by so many lists.
		CREATE FUNCTION lost(indexed regclass, operator text) RETURNS bigint LANGUAGE plpgsql AS $$
		DECLARE
			wrong bigint := 0;
			n bigint;
			way text;
		BEGIN
			PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true);
			FOREACH way IN ARRAY ARRAY['1 0', '0.95 1000000'] LOOP
				PERFORM set_config('hybrid.target_recall', split_part(way, ' ', 1), true),
					set_config('hybrid.probes', split_part(way, ' ', 2), true), set_config('hybrid.max_scan_tuples', '10000000', true);
				CREATE TEMP TABLE found (id bigint);
				EXECUTE format('INSERT INTO found SELECT id FROM %s ORDER BY v %s point(-77) LIMIT 10000000', indexed, operator);
				EXECUTE format('SELECT count(*) FROM (TABLE found EXCEPT ALL SELECT id FROM %s) s', indexed) INTO n;
				wrong := wrong + n;
				EXECUTE format('SELECT count(*) FROM (SELECT id FROM %s EXCEPT ALL TABLE found) s', indexed) INTO n;
				wrong := wrong + n;
				DROP TABLE found;
			END LOOP;
			PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_sort', 'on', true),
				set_config('hybrid.probes', '0', true);
			RETURN wrong;
		END $$;
		-- How many of the queries find other distances by the index than by reading the table.
		CREATE FUNCTION differences(queries int) RETURNS int LANGUAGE plpgsql AS $$
		DECLARE
			wrong int := 0;
			q vector;
			by_index float8[];
			by_scan float8[];
			ordered text := 'SELECT array_agg(d) FROM (SELECT v <-> $1 AS d FROM items ORDER BY v <-> $1 LIMIT 20) s';
			plan text;
		BEGIN
			FOR n IN 1 .. queries LOOP
				q := point(-n);
				PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true);
				-- where every row is promised
				PERFORM set_config('hybrid.target_recall', '1', true);
				EXECUTE ordered INTO by_index USING q;
				FOR plan IN EXECUTE format('EXPLAIN SELECT id FROM items ORDER BY v <-> %L LIMIT 20', q) LOOP
					EXIT WHEN plan LIKE '%items_v%';
				END LOOP;
				IF plan NOT LIKE '%items_v%' THEN
					RAISE EXCEPTION 'the index was not used';
				END IF;
				PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true);
				EXECUTE ordered INTO by_scan USING q;
				IF by_index IS DISTINCT FROM by_scan THEN
					wrong := wrong + 1;
				END IF;
			END LOOP;
			RETURN wrong;
		END $$;
	SQL
}

# answers NAME: the index is sound and answers as the table does
answers()
{
	# entries of rows that are dead and not vacuumed are met too, and pages that a crash has lost, until
	# VACUUM finds them
	equal "$1: hybrid_index_check finds nothing wrong" \
		"$(sql -c "SET client_min_messages = ${2-notice}; SELECT hybrid_index_check('items_v') >= (SELECT count(*) FROM items)" 2>&1)" t
	equal "$1: every row is found, and once" "$(sql -c "SELECT lost('items', '<->')" 2>&1)" 0
	equal "$1: index scans give what sequential scans give" "$(sql -c 'SELECT differences(20)' 2>&1)" 0
	equal "$1: hybrid_knn over the store gives what it gives over the table" \
		"$(sql -c "SELECT sum(disagreements(ARRAY[point(-n), point(-n - 1)], 'l2')) FROM generate_series(1, 20) n" 2>&1)" 0
	equal "$1: hybrid_index_check finds nothing wrong with sparse vectors" \
		"$(sql -c "SET client_min_messages = ${2-notice}; SELECT hybrid_index_check('sparse_v') >= (SELECT count(*) FROM sparse)" 2>&1)" t
	equal "$1: hybrid_index_check finds nothing wrong with vectors that are stored whole" \
		"$(sql -c "SET client_min_messages = ${2-notice}; SELECT hybrid_index_check('stored_v') >= (SELECT count(*) FROM stored)" 2>&1)" t
	equal "$1: sparse vectors are found as sequential scans find them" \
		"$(sql -c 'SELECT count(*) FROM generate_series(1, 20) n WHERE sparse_by_index(sparse_point(n * 41)) <> sparse_by_scan(sparse_point(n * 41))' 2>&1)" 0
}

# verify NAME: the same, and after a vacuum as many entries as rows
verify()
{
	answers "$1" warning
	# a session that has lost its client still holds back what a vacuum may remove
	sql -c "DO \$\$ BEGIN WHILE EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'client backend'
		AND pid <> pg_backend_pid()) LOOP PERFORM pg_sleep(0.02), pg_stat_clear_snapshot(); END LOOP; END \$\$"
	sql -c 'VACUUM (INDEX_CLEANUP ON) items, sparse, stored'
	equal "$1 and a vacuum: as many entries as rows" "$(sql -c "SELECT hybrid_index_check('items_v')" 2>&1)" \
		"$(sql -c 'SELECT count(*) FROM items')"
	equal "$1 and a vacuum: as many entries as sparse vectors" "$(sql -c "SELECT hybrid_index_check('sparse_v')" 2>&1)" \
		"$(sql -c 'SELECT count(*) FROM sparse')"
	equal "$1 and a vacuum: as many entries as vectors that are stored whole" "$(sql -c "SELECT hybrid_index_check('stored_v')" 2>&1)" \
		"$(sql -c 'SELECT count(*) FROM stored')"
	answers "$1 and a vacuum"
}

storm()
{
	local script vacuum_log=$private/vacuum.log log=$private/pgbench.log

	test/server.sh up "$server" "max_connections = 20" "hybrid.plugins = 'hybrid_emulated'" \
		"hybrid.execution = prefer_gpu" "hybrid.gpu_min_batch = 1" \
		"hybrid.emulated_faults = 'op=topk,fail_rate=0.2,seed=7; in=poll,fail_rate=0.1,status=context_lost; above=256k'"
	schema
	mkdir "$private/pg/scripts"
	cat >"$server/scripts/insert.sql" <<-'SQL'
		INSERT INTO items SELECT n, point(n)
		FROM (SELECT nextval('ids') AS n FROM generate_series(1, 5)) AS s;
	SQL
	cat >"$server/scripts/update.sql" <<-'SQL'
		\set n random(1, 3000)
		UPDATE items SET v = point(id + :n) WHERE id % 997 = :n % 997;
	SQL
	# most of these leave the row's entry in the index where it is
	cat >"$server/scripts/touch.sql" <<-'SQL'
		\set n random(1, 3000)
		UPDATE items SET touched = touched + 1 WHERE id % 499 = :n % 499;
	SQL
	cat >"$server/scripts/delete.sql" <<-'SQL'
		\set n random(1, 997)
		DELETE FROM items WHERE id % 997 = :n;
	SQL
	cat >"$server/scripts/rollback.sql" <<-'SQL'
		BEGIN;
		INSERT INTO items SELECT n, point(n) FROM (SELECT nextval('ids') AS n) AS s;
		ROLLBACK;
	SQL
	cat >"$server/scripts/nearest.sql" <<-'SQL'
		\set n random(1, 1000000)
		SELECT id FROM items ORDER BY v <-> point(:n) LIMIT 10;
	SQL
	# a division by zero is an error of the client's, and pgbench then fails
	cat >"$server/scripts/batch.sql" <<-'SQL'
		\set n random(1, 1000000)
		SELECT 1 / (count(*) = 40)::int
		FROM hybrid_knn('items', 'v', ARRAY[point(:n), point(:n + 1), point(:n + 2), point(:n + 3)], 10);
	SQL
	cat >"$server/scripts/agree.sql" <<-'SQL'
		\set n random(1, 1000000)
		\set m random(0, 3)
		SELECT 1 / (disagreements(ARRAY[point(:n), point(:n + 1), point(:n + 2)], (ARRAY['l2', 'ip', 'cosine', 'l1'])[:m + 1]) = 0)::int;
	SQL
	cat >"$server/scripts/spread.sql" <<-'SQL'
		\set n random(0, 199)
		SELECT 1 / (count(*) > 0)::int
		FROM hybrid_spread('SELECT source, target, weight FROM edges', ARRAY[:n::bigint], unknown => true);
	SQL
	# VACUUM replaces inverted lists if more than 512 rows and a sixteenth of all came since
	cat >"$server/scripts/sparse_insert.sql" <<-'SQL'
		\set n random(1, 1000000)
		INSERT INTO sparse (v) SELECT sparse_point(:n + i) FROM generate_series(1, 100) AS i;
		DELETE FROM sparse WHERE id IN (SELECT id FROM sparse WHERE id % 3 = :n % 3 ORDER BY id LIMIT 97 FOR UPDATE SKIP LOCKED);
	SQL
	cat >"$server/scripts/sparse_update.sql" <<-'SQL'
		\set n random(1, 1000000)
		UPDATE sparse SET v = sparse_point(id + :n) WHERE id IN (SELECT id FROM sparse WHERE id % 97 = :n % 97 FOR UPDATE SKIP LOCKED);
	SQL
	# many searches with one snapshot, so that inverted lists are replaced during some of them
	cat >"$server/scripts/sparse_nearest.sql" <<-'SQL'
		\set n random(1, 1000000)
		BEGIN ISOLATION LEVEL REPEATABLE READ;
		SELECT sparse_by_scan(sparse_query(:n)) AS nearest \gset
		SELECT 1 / (count(*) = 0)::int FROM generate_series(1, 20) AS i WHERE sparse_by_index(sparse_query(:n + 0 * i)) <> ':nearest';
		COMMIT;
	SQL
	cat >"$server/scripts/stored_change.sql" <<-'SQL'
		\set n random(1, 1000000)
		INSERT INTO stored SELECT 2000 + nextval('ids'), point(:n + i) FROM generate_series(1, 30) AS i;
		DELETE FROM stored WHERE id IN (SELECT id FROM stored WHERE id % 3 = :n % 3 ORDER BY id LIMIT 30 FOR UPDATE SKIP LOCKED);
		UPDATE stored SET v = point(id + :n) WHERE id IN (SELECT id FROM stored WHERE id % 397 = :n % 397 FOR UPDATE SKIP LOCKED);
	SQL
	cat >"$server/scripts/stored_nearest.sql" <<-'SQL'
		\set n random(1, 1000000)
		BEGIN ISOLATION LEVEL REPEATABLE READ;
		SELECT 1 / (stored_wrong(point(:n)) = 0)::int;
		COMMIT;
	SQL
	chmod -R a+rX "$server/scripts"

	equal "index-only scans are used" "$(sql -c "SET enable_seqscan = off" \
		-c "EXPLAIN SELECT id, v FROM stored ORDER BY v <-> point(1) LIMIT 300" | grep -c 'Index Only Scan')" 1
	(while :; do
		sql -c 'VACUUM items' -c 'SELECT pg_sleep(0.2)' >>"$vacuum_log" 2>&1 </dev/null ||
			echo failed >>"$vacuum_log"
	done) &
	pids=($!)
	(yes 'VACUUM sparse, stored; SELECT pg_sleep(0.01) \g /dev/null' | sql -f - >>"$vacuum_log" 2>&1) &
	pids+=($!)
	script=$server/scripts
	if test/server.sh run "$server" pgbench -n -c 3 -j 2 -T "$seconds" -f "$script/insert.sql@20" \
		-f "$script/update.sql@10" -f "$script/delete.sql@3" -f "$script/rollback.sql@3" \
		-f "$script/nearest.sql@40" -f "$script/batch.sql@10" -f "$script/spread.sql@10" \
		-f "$script/touch.sql@10" -f "$script/agree.sql@20" \
		-f "$script/stored_change.sql@30" -f "$script/stored_nearest.sql@30" \
		-f "$script/sparse_insert.sql@40" -f "$script/sparse_update.sql@5" -f "$script/sparse_nearest.sql@40" \
		>"$log" 2>&1 </dev/null && ! grep -qE 'aborted|ERROR' "$log"; then
		echo "ok - no client met an error"
	else
		echo "not ok - no client met an error"
		status=1
	fi
	grep -E 'number of transactions actually|tps|ERROR|aborted' "$log" | sed 's/^/#   /' || true
	stop_helpers
	equal "no vacuum failed" "$(grep -cE 'ERROR|FATAL|PANIC' "$vacuum_log" || true)" 0
	verify "after the storm"
	sql -c 'REINDEX INDEX items_v'
	verify "built again"
	# what the clients' sessions counted went with them: the same once more, where it can be seen
	equal "the device was used and failed, and the CPU answered" "$(sql 2>&1 <<-'SQL'
		SET hybrid.emulated_faults = 'op=topk,fail_every=4';
		DO $$ BEGIN FOR i IN 1 .. 50 LOOP
			PERFORM * FROM hybrid_knn('items', 'v', ARRAY[point(i), point(i + 1)], 10);
		END LOOP; END $$;
		SELECT bool_or(backend = 'emulated' AND calls > 0 AND failures > 0)
			AND bool_or(backend = 'cpu' AND calls > 0) FROM hybrid_stats WHERE operation = 'topk';
	SQL
	)" t
	equal "no process of the server crashed" "$(grep -cE 'PANIC|was terminated by signal' "$server/server.log" || true)" 0
}

crash()
{
	# a round every six seconds, also on a slow machine
	local deadline=$((SECONDS + seconds)) rounds=$((seconds / 6)) round=0 acknowledged=$private/acknowledged lost

	test/server.sh up "$server" "checkpoint_timeout = 30s" "max_wal_size = 64MB" "wal_keep_size = 0"
	schema
	while [ "$SECONDS" -lt "$deadline" ] || [ "$round" -lt "$rounds" ] || [ "$round" = 0 ]; do
		round=$((round + 1))
		: >"$acknowledged"
		# ids are printed once their transaction is durable; rows that a later statement deletes,
		# and only those, are multiples of 5
		yes "INSERT INTO items SELECT n, point(n) FROM (SELECT nextval('ids') AS n FROM generate_series(1, 3)) AS s RETURNING id;" |
			head -n 1000000 | sql -f - >"$acknowledged" 2>/dev/null &
		pids=($!)
		{ while :; do
			echo "DELETE FROM items WHERE id % 5 = 0 AND id % 3 = $((RANDOM % 3));"
			echo "UPDATE items SET v = point(id) WHERE id % 41 = $((RANDOM % 41));"
			echo "VACUUM items;"
			echo "INSERT INTO sparse (v) SELECT sparse_point($RANDOM + i) FROM generate_series(1, 700) AS i;"
			echo "DELETE FROM sparse WHERE id < (SELECT max(id) FROM sparse) - 1500;"
			echo "VACUUM sparse;"
		done; } | sql -f - >/dev/null 2>&1 &
		pids+=($!)
		# lists are made by a build, and over and over by splits
		yes "REINDEX INDEX built_v; DROP INDEX IF EXISTS again; CREATE INDEX again ON built USING hybrid (v vector_l2_ops);" |
			sql -f - >/dev/null 2>&1 &
		pids+=($!)
		sleep "$((RANDOM % 2)).$((RANDOM % 10))"
		test/server.sh kill "$server"
		stop_helpers
		test/server.sh start "$server"
		lost=$(grep -xE '[0-9]+' "$acknowledged" | awk '$1 % 5 != 0' | {
			echo 'CREATE TEMP TABLE acknowledged (id bigint);'
			echo 'COPY acknowledged FROM STDIN;'
			cat
			echo '\.'
			echo 'SELECT count(*) FROM acknowledged LEFT JOIN items USING (id) WHERE items.id IS NULL;'
		} | sql -f - 2>&1) || true
		equal "crash $round: nothing that was acknowledged is lost ($(grep -cxE '[0-9]+' "$acknowledged" || true) rows)" "$lost" 0
		verify "crash $round"
		equal "crash $round: an index that was being built is the old one or the new one" \
			"$(sql -c "SET client_min_messages = warning; SELECT hybrid_index_check('built_v') - (SELECT count(*) FROM built), lost('built', '<=>')" 2>&1)" "0|0"
		[ "$status" = 0 ] || break
		# rows are added faster than they go: keep the rounds alike
		sql -c "DELETE FROM items WHERE id < (SELECT max(id) FROM items) - 3000" -c 'VACUUM items' </dev/null
	done
	equal "no process of the server crashed by itself" "$(grep -cE 'PANIC|was terminated by signal (11|6)' "$server/server.log" || true)" 0
}

# client NUMBER EXECUTION FAULTS: one session that calls and calls; at last what it counted, and by how
# much its memory grew after the first quarter of the time
client()
{
	local slice=$((seconds / 20)) slices=20 i

	[ "$slice" -gt 0 ] || { slice=1; slices=$seconds; }
	{
		cat <<-SQL
			SET hybrid.execution = $2;
			SET hybrid.emulated_faults = '$3';
			-- kilobytes that this process holds
			CREATE FUNCTION pg_temp.resident() RETURNS bigint LANGUAGE sql AS \$\$
				SELECT substring(pg_read_file('/proc/self/status') FROM 'VmRSS:\s*(\d+)')::bigint \$\$;
			CREATE TEMP TABLE book (at timestamptz, kb bigint, calls numeric);
			CREATE TEMP VIEW page AS SELECT clock_timestamp() AS at, pg_temp.resident() AS kb, sum(calls) AS calls
				FROM hybrid_stats;
			CREATE FUNCTION pg_temp.work(seconds int, number int) RETURNS void LANGUAGE plpgsql AS \$\$
			DECLARE
				until timestamptz := clock_timestamp() + make_interval(secs => seconds);
				wanted float8[] := '{5,0,5}';
				targets vector[] := ARRAY['[0,0]', '[3,4]', '[6,8]'];
				many vector[] := ARRAY(SELECT format('[%s,%s]', n, number)::vector FROM generate_series(1, 500) AS n);
			BEGIN
				WHILE clock_timestamp() < until LOOP
					FOR i IN 1 .. 500 LOOP
						IF hybrid_distances('[3,4]', targets) <> wanted THEN
							RAISE EXCEPTION 'wrong distances';
						END IF;
					END LOOP;
					PERFORM hybrid_distances('[1,1]', many);
					IF (SELECT count(*) FROM hybrid_knn('few', 'v', ARRAY['[0,0]', '[1,1]']::vector[], 3)) <> 6 THEN
						RAISE EXCEPTION 'wrong neighbours';
					END IF;
					IF (SELECT count(*) FROM hybrid_spread('TABLE edge', ARRAY[1::bigint], hops => 2)) <> 3 THEN
						RAISE EXCEPTION 'wrong activation';
					END IF;
				END LOOP;
			END \$\$;
		SQL
		for ((i = 0; i < slices; i++)); do
			echo "SELECT pg_temp.work($slice, $1) \\g /dev/null"
			echo "INSERT INTO book TABLE page;"
		done
		echo "SELECT max(calls) || ' ' || max(kb) - (SELECT max(kb) FROM (SELECT kb FROM book ORDER BY at LIMIT (SELECT greatest(count(*) / 4, 1) FROM book)) AS s)
			|| ' ' || (SELECT count(*) FROM hybrid_stats WHERE backend = 'emulated' AND calls > 0 AND failures > 0) FROM book;"
	} | sql -f - 2>&1
}

load()
{
	local i total=0 calls grown failing faults='fail_rate=0.05,seed=7; in=poll,fail_rate=0.02,status=context_lost; op=distance,fail_rate=0.1,status=nomem'

	test/server.sh up "$server" "hybrid.plugins = 'hybrid_emulated'" "hybrid.gpu_min_batch = 1"
	sql <<-'SQL'
		CREATE EXTENSION hybrid;
		CREATE TABLE few AS SELECT n AS id, format('[%s,%s]', n, n)::vector(2) AS v FROM generate_series(1, 20) AS n;
		CREATE TABLE edge AS SELECT * FROM (VALUES (1::bigint, 2::bigint, 1::real), (2, 3, 1), (3, 4, 1)) AS e (source, target, weight);
		ANALYZE few, edge;
	SQL
	client 1 auto "$faults" >"$private/client.1" &
	pids=($!)
	client 2 prefer_gpu "$faults" >"$private/client.2" &
	pids+=($!)
	wait "${pids[@]}" || true
	pids=()
	for i in 1 2; do
		calls=0 grown=0 failing=0
		read -r calls grown failing <"$private/client.$i" || true
		if ! [[ $calls =~ ^[0-9]+$ && $grown =~ ^-?[0-9]+$ ]]; then
			echo "not ok - client $i came to its end"
			sed 's/^/#   /' "$private/client.$i" | head -n 10
			status=1
			continue
		fi
		echo "ok - client $i came to its end: $calls calls"
		total=$((total + calls))
		equal "client $i: devices ran and failed" "$([ "$failing" -gt 0 ] && echo yes || echo no)" yes
		# what the allocator keeps for itself wavers by some pages; a leak of a byte a call would show
		equal "client $i: memory is flat ($grown kB more)" "$([ "$grown" -le 1024 ] && echo yes || echo no)" yes
	done
	echo "#   $((total / seconds)) dispatched operations a second"
	equal "at least 10,000 dispatched operations a second" "$([ "$total" -ge $((seconds * 10000)) ] && echo yes || echo no)" yes
	equal "no process of the server crashed" "$(grep -cE 'PANIC|was terminated by signal' "$server/server.log" || true)" 0
}

case $what in
storm) storm ;;
crash) crash ;;
load) load ;;
*)
	echo "usage: test/soak.sh storm|crash|load SECONDS" >&2
	exit 2
	;;
esac
if [ "$status" != 0 ]; then
	grep -E 'ERROR|WARNING|FATAL|PANIC|terminated' "$server/server.log" | grep -vE 'the database system is|terminating connection' |
		sort | uniq -c | sort -rn | head -n 20
fi
exit $status
