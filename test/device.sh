#!/bin/bash
# Tests a server whose sessions use a device, and its failures. One `ok` line per test.
#
#	test/device.sh cuda [PART]			the last sections of `make gpucheck`: on a machine with a GPU
#	test/device.sh emulated [PART]		the same on the emulated device
#
# PART is 'regress' (pg_regress with hybrid.execution = prefer_gpu) or 'sessions' (everything else); default: both.
# On cuda pg_regress runs all tests, on the emulated device a few (a step of test/check.sh runs all of them there).
# HYBRID_GPU_HOUR=small runs fewer tests and rows, for the fake device; any other value runs only tests that reach a
# device (test/gpu_hour.sh).
# In each server the device must answer every operation at least once: if it does not, the CPU answers silently.
# Needs a PostgreSQL 15 as test/server.sh looks for it, and a built tree. If root starts it, the server runs as
# another user.
set -uo pipefail

cd "$(dirname "$0")/.." || exit 2
usage="usage: test/device.sh cuda|emulated [regress|sessions]"
device=${1:?$usage}
part=${2-}
case $device/$part in
cuda/ | emulated/ | */regress | */sessions) ;;
*)
	echo "$usage" >&2
	exit 2
	;;
esac
small=
# on the fake device, whose kernels are slow
[ "${HYBRID_GPU_HOUR-}" != small ] || small=yes
# an hour that was killed has its servers below its own directory, and the next one ends them
place=/tmp
[ -z "${HYBRID_GPU_HOUR-}" ] || place=$TMPDIR
private=$(mktemp -d "$place/hybrid-device.XXXXXX")
server=$private/pg
number=0
failed=0
hog=

# shellcheck disable=SC2317  # called by the trap
close_private()
{
	[ -z "$hog" ] || kill "$hog" 2>/dev/null
	test/server.sh down "$server"
	rm -rf "$private"
}
chmod 755 "$private"
trap close_private EXIT
trap 'exit 143' TERM INT

# verdict NAME STATUS [TEXT]
verdict()
{
	number=$((number + 1))
	if [ "$2" = 0 ]; then
		echo "ok $number - $1"
	else
		echo "not ok $number - $1"
		[ -z "${3-}" ] || echo "#   $3"
		failed=$((failed + 1))
	fi
}

# equal NAME GOT WANTED
equal()
{
	[ "$2" = "$3" ]
	verdict "$1" $? "got $2, wanted $3"
}

sql()
{
	test/server.sh run "$server" psql -X -q -At -v ON_ERROR_STOP=1 "$@" 2>&1
}

# ended: what the runner of this script counts
ended()
{
	echo "1..$number"
	exit $((failed > 0))
}

# what asks for each operation
operations=(distance topk spread assign score_codes)
each="CREATE TEMP TABLE tried AS SELECT n AS id, ARRAY[n % 97, n % 89, n % 83, n % 79]::vector(4) AS v FROM generate_series(1, 2000) AS n;
	SELECT FROM unnest(hybrid_distances('[1,2]', array_fill('[1,3]'::vector, ARRAY[1000])));
	SELECT FROM hybrid_knn('tried', 'v', (SELECT array_agg(v) FROM tried WHERE id <= 40), 10);
	SELECT FROM hybrid_spread('SELECT id, id % 50 + 1 FROM tried', ARRAY[1]);
	CREATE INDEX ON tried USING hybrid (v); SET enable_seqscan = off;
	SELECT FROM tried ORDER BY v <-> '[1,2,3,4]' LIMIT 10"
# how many batches of each the device has answered, a line each: of all sessions where hybrid is preloaded
counts="SELECT operation, sum(calls + pieces) FROM hybrid_stats WHERE backend = '$device' GROUP BY operation"

# unanswered BEFORE AFTER: the operations of which the device has answered none between two such counts
unanswered()
{
	local operation before after missing=()

	for operation in "${operations[@]}"; do
		before=$(sed -nE "s/^$operation\|([0-9]+)$/\1/p" <<<"$1")
		after=$(sed -nE "s/^$operation\|([0-9]+)$/\1/p" <<<"$2")
		[ "${after:-0}" -gt "${before:-0}" ] || missing+=("$operation")
	done
	echo "${missing[*]}"
}

# answered NAME BEFORE AFTER: that it has answered some of each: a session that prefers it is not told where it did not
answered()
{
	local missing

	missing=$(unanswered "$2" "$3")
	[ -z "$missing" ]
	verdict "$1" $? "none of: $missing; $(tr '\n' ' ' <<<"$2"), then $(tr '\n' ' ' <<<"$3")"
}

# regress NAME SETTING ...: pg_regress of $tests in a server of its own.  Its psql names a time zone that is there
# without files of time zones; pg_regress's own is Los Angeles's.
regress()
{
	local name=$1 installed=$server/tree/usr/lib/postgresql/15 before operation
	local -x PGDATABASE=postgres

	shift
	test/server.sh up "$server" "hybrid.plugins = 'hybrid_$device'" "hybrid.execution = prefer_gpu" "$@" || exit 1
	mkdir "$server/in" "$server/out" "$server/bin"
	cp -r sql expected "$server/in/"
	# shellcheck disable=SC2016  # the wrapper's
	printf '#!/bin/sh\nPGTZ=GMT exec "%s/bin/psql" "$@"\n' "$installed" >"$server/bin/psql"
	chmod 755 "$server/bin/psql"
	chmod -R a+rwX "$server/in" "$server/out"
	test/server.sh run "$server" "$installed/lib/pgxs/src/test/regress/pg_regress" --bindir="$server/bin" \
		--inputdir="$server/in" --outputdir="$server/out" --dbname=contrib_regression --load-extension=hybrid \
		"${tests[@]}" 2>&1 | tee "$private/regress" | sed -u 's/^/#   /'
	verdict "$name" "${PIPESTATUS[0]}" "$(tail -n 100 "$private/regress" "$server/out/regression.diffs" 2>&1 | sed '2,$s/^/#   /')"
	PGDATABASE=contrib_regression
	before=$(sql -c "$counts")
	[[ "$*" != *preload* ]] || [ -n "$small" ] || answered "the device has answered each operation in it" "" "$before"
	answered "it answers each for a session" "$before" "$(sql -c "$each" -c "$counts")"
	equal "on the device" "$(sql -c "SELECT hybrid_distances('[1,2]', ARRAY['[3,4]', '[1,2]']::vector[])" \
		-c "SELECT backend, fallback FROM hybrid_events WHERE pid = pg_backend_pid()")" "{2.8284271247461903,0}"$'\n'"$device|f"
	# a device that refuses one of them is told
	for operation in "${operations[@]}"; do
		[ "$device" = emulated ] || continue
		before=$(sql -c "$counts")
		equal "one that refuses $operation is found out" "$(unanswered "$before" "$(
			sql -c "SET hybrid.emulated_faults = 'op=$operation,status=unsupported'" -c "$each" -c "$counts"
		)")" "$operation"
	done
	test/server.sh down "$server"
}

# answers FROM [SQL ...]: what 40 queries find, in one word; on the side that FROM, settings, says.  Then what
# else the session is asked
answers()
{
	local more=() each

	for each in "${@:2}"; do
		more+=(-c "$each")
	done
	sql -c "$1" -c "$find" "${more[@]}"
}
find="SELECT md5(string_agg(k::text, ' ' ORDER BY query, distance, tid)) FROM hybrid_knn('item', 'v',
		(SELECT array_agg(v ORDER BY id) FROM item WHERE id <= 40), 10) k"

# served: batches that the device has answered
served()
{
	sql -c "SELECT coalesce(sum(calls + pieces), 0) FROM hybrid_stats WHERE backend = '$device' AND operation = 'topk'"
}

# used NAME BEFORE LEAST: that the device has answered so many batches more by now
used()
{
	local after

	after=$(served)
	[ $((after - $2)) -ge "$3" ]
	verdict "$1: $((after - $2)) batches" $? "$2 before, $after after, at least $3 more were expected"
}

# contexts: that are open on it, of all sessions
contexts()
{
	sql -c "SELECT max(contexts) FROM hybrid_devices WHERE backend = '$device'"
}

# contexts_left: prints the number of contexts; waits up to 10 s until it is 0.  psql ends before its server process,
# which takes some time to close its context.
contexts_left()
{
	local left

	for _ in $(seq 100); do
		left=$(contexts)
		[ "$left" != 0 ] || break
		sleep 0.1
	done
	echo "$left"
}

# take_memory PROGRAM [ARG ...]: starts it; whether it says that it has taken some, and lives to keep it
take_memory()
{
	"$@" >"$private/hog" 2>&1 &
	hog=$!
	for _ in $(seq 300); do
		! grep -q taken "$private/hog" || break
		kill -0 "$hog" 2>/dev/null || break
		sleep 0.1
	done
	sleep 0.3
	grep -q '^taken: [1-9]' "$private/hog" && kill -0 "$hog" 2>/dev/null
}

give_memory_back()
{
	kill "$hog" 2>/dev/null
	wait "$hog" 2>/dev/null
	hog=
}

# ---------------------------------------------------------------------------------------------
# pg_regress
# ---------------------------------------------------------------------------------------------

if [ "$part" != sessions ]; then
	tests=(knn knn_join knn_graph telemetry_emulated dispatcher_emulated)
	again=(telemetry_emulated dispatcher_emulated knn knn_graph graph_spread index_build)
	if [ -n "$small" ]; then
		tests=(knn graph_spread)
		again=("${tests[@]}")
	elif [ "$device" = cuda ]; then
		tests=(sql/*.sql)
		# with little time, those that reach a device
		[ -z "${HYBRID_GPU_HOUR-}" ] || tests=(sql/{knn,graph,telemetry,dispatcher}*.sql
			sql/{device_errors,index_build,index_scan,index_vacuum,index_last_scan,index_measure}.sql)
		tests=("${tests[@]#sql/}")
		tests=("${tests[@]%.sql}")
	fi
	if [ ! -e hybrid_emulated.so ]; then
		echo "# not available: hybrid_emulated.so is not built, so that tests of the emulated device are left out"
		mapfile -t tests < <(printf '%s\n' "${tests[@]}" | grep -v '_emulated$')
	fi
	# neither is the extension "vector" in an archive of libraries
	[ -e hybrid_vector.so ] || mapfile -t tests < <(printf '%s\n' "${tests[@]}" | grep -v '^compat_')
	found=$(realpath "$(command -v postgres)" 2>/dev/null)
	case $found in
	*/usr/lib/postgresql/15/bin/postgres) ;;
	*) found=/usr/lib/postgresql/15/bin/postgres ;;
	esac
	if [ -x "${found%/bin/postgres}/lib/pgxs/src/test/regress/pg_regress" ]; then
		regress "pg_regress, ${#tests[@]} tests, with prefer_gpu"
		# where all sessions share what is known of a device; those that forget it are first
		tests=("${again[@]}")
		[ -e hybrid_emulated.so ] || mapfile -t tests < <(printf '%s\n' "${tests[@]}" | grep -v _emulated)
		regress "and ${#tests[@]} with hybrid preloaded" "shared_preload_libraries = 'hybrid'"
	else
		echo "# not available: pg_regress was not found, so that the regression tests are skipped"
	fi
	[ "$part" != regress ] || ended
fi

# ---------------------------------------------------------------------------------------------
# Sessions
# ---------------------------------------------------------------------------------------------

settings=("shared_preload_libraries = 'hybrid'" "hybrid.plugins = 'hybrid_$device'" "max_connections = 40"
	"hybrid.execution = prefer_gpu" "hybrid.gpu_min_batch = 1" "work_mem = '64MB'"
	# a slow search tells how far it is, which is no part of an answer
	"client_min_messages = warning")
rows=50000
if [ -n "$small" ]; then
	rows=1000
	settings+=("hybrid.gpu_timeout = '1min'")
fi
# its made-up time passes for everybody, and one batch takes a while
[ "$device" = cuda ] || settings+=("hybrid.emulated_wait = on" "hybrid.emulated_rate_gflops = 100")
test/server.sh up "$server" "${settings[@]}" || exit 1

sql -c "CREATE EXTENSION hybrid" -c "
	CREATE TABLE item (id int PRIMARY KEY, v vector(64));
	INSERT INTO item SELECT n, (SELECT array_agg((hashint4extended(n, i) % 2001)::real) FROM generate_series(1, 64) AS i)::vector(64)
	FROM generate_series(1, $rows) AS n" -c "
	CREATE TABLE edge AS SELECT n AS source, (n * 7919 + i * 104729) % 2000 AS target
	FROM generate_series(0, 1999) AS n, generate_series(1, 8) AS i" -c "CREATE TABLE gate (opened bool)" || exit 1
equal "the device can be used" \
	"$(sql -c "SELECT state IN ('open', 'closed') FROM hybrid_devices WHERE backend = '$device' LIMIT 1")" t
answered "and answers each operation" "$(sql -c "$counts")" "$(sql -c "$each" -c "$counts")"
wanted=$(answers "SET hybrid.force_cpu = on")
before=$(served)
equal "the device finds what the CPU finds" "$(answers 'SELECT')" "$wanted"
used "and was used" "$before" 1

# many sessions at once, each with a context, which it keeps until all have theirs; the fake device has memory for 17
before=$(served)
sessions=()
count=20
[ -z "$small" ] || count=16
for i in $(seq $count); do
	answers 'SELECT' "DO 'BEGIN WHILE NOT EXISTS (TABLE gate) LOOP PERFORM pg_sleep(0.05); END LOOP; END'" "$find" \
		"SELECT 'there: ' || bool_or(backend = '$device' AND status = 'ok' AND NOT fallback) FROM hybrid_events WHERE pid = pg_backend_pid()" \
		>"$private/answer.$i" &
	sessions+=($!)
done
most=0
for _ in $(seq 300); do
	now=$(contexts)
	[ "$now" -le "$most" ] || most=$now
	[ "$most" -lt $count ] || break
	sleep 0.1
done
sql -c "INSERT INTO gate VALUES (true)"
wait "${sessions[@]}"
[ "$most" -gt 10 ]
verdict "$count sessions have $most contexts at once" $? "more than 10 were expected"
equal "all of them find it" "$(cat "$private"/answer.* | grep -v 'there: ' | sort | uniq -c | tr -s ' ')" " $((2 * count)) $wanted"
equal "each on the device" "$(cat "$private"/answer.* | grep 'there: ' | sort | uniq -c | tr -s ' ')" " $count there: true"
used "which has answered" "$before" $((2 * count))
equal "and leave no context behind" "$(contexts_left)" 0

# hops NUMBER: a task that takes as long as one likes, on any device
hops()
{
	echo "SELECT 'sum', sum(activation) > 0 FROM hybrid_spread('TABLE edge', ARRAY[1], hops => $1, decay => 1)"
}

# milliseconds, of the last statement that was timed
milliseconds()
{
	sed -nE 's/^Time: ([0-9]+)\..*/\1/p' <<<"$1" | tail -n 1
}

# cancelled: attempts that ended so on the device
cancelled()
{
	sql -c "SELECT coalesce(sum((statuses ->> 'cancelled')::int), 0) FROM hybrid_stats WHERE backend = '$device' AND operation = 'spread'"
}

# a statement that runs out of time while the device is at it: of a session that has its context, and a task that takes more than a
# second there
long=1000
while :; do
	said=$(sql -c "SET hybrid.gpu_timeout = '1min'" -c "$(hops 1)" -c '\timing' -c "$(hops $long)")
	whole=$(milliseconds "$said")
	if [ "${whole:-9999}" -ge 1500 ] || [ "$long" -gt 500000000 ]; then break; fi
	long=$((long * 4))
done
room=$([ "$device" = cuda ] && echo 100 || echo 1000)
before=$(cancelled)
said=$(sql -v ON_ERROR_STOP=0 -c "SET hybrid.gpu_timeout = '1min'" -c "$(hops 1)" -c "SET statement_timeout = 400" -c '\timing' -c "$(hops $long)" \
	-c '\timing' -c "RESET statement_timeout" -c "$find")
took=$(milliseconds "$said")
[ "${whole:-0}" -gt 1000 ] && [[ $said == *'statement timeout'* ]] && [ "${took:-9999}" -ge 400 ] && [ "$took" -lt $((400 + room)) ]
verdict "a statement is cancelled in flight, $((${took:-9999} - 400)) ms late" $? "of $whole ms, after $took ms: $said"
equal "the device was at it" "$(cancelled)" "$((before + 1))"
equal "and the session finds what it should" "$(tail -n 1 <<<"$said")" "$wanted"

# a session that is killed: the server starts anew, and the device is as before
sql -c "SET application_name = 'victim'" -c "SELECT count(*) FROM generate_series(1, 1000) n, LATERAL (SELECT count(*) FROM
	hybrid_knn('item', 'v', (SELECT array_agg(v) FROM item WHERE id BETWEEN n AND n + 500), 10)) s" >/dev/null 2>&1 &
session=$!
victim=
for _ in $(seq 100); do
	sleep 0.1
	victim=$(sql -c "SELECT pid FROM pg_stat_activity WHERE application_name = 'victim' AND state = 'active'")
	[ -z "$victim" ] || [ "$(contexts)" = 0 ] || break
done
[ -n "$victim" ] && [ "$(contexts)" = 1 ]
verdict "a session is at work on the device" $?
sleep 0.5
[ -z "$victim" ] || kill -9 "$victim"
wait $session
for _ in $(seq 100); do
	sleep 0.1
	[ "$(sql -c 'SELECT 1')" != 1 ] || break
done
before=$(served)
equal "after kill -9 of it the next one finds what it should" "$(answers 'SELECT')" "$wanted"
used "on the device" "$before" 1
equal "and no context is counted that is not there" "$(contexts_left)" 0

# somebody else takes the device's memory
if [ "$device" = cuda ]; then
	take_memory build/cuda/hog
	verdict "another process takes the device's memory" $? "$(cat "$private/hog")"
	short="SELECT"
else
	# what takes nothing, or does not stay, is told from what does
	for stand_in in "build/no_hog" "echo nothing taken: no device" "echo taken: 0 of 9 bytes" "echo taken: 5 of 9 bytes"; do
		# shellcheck disable=SC2086  # words
		! take_memory $stand_in
		verdict "no memory is taken by '$stand_in'" $?
		give_memory_back
	done
	take_memory sh -c "echo taken: 5 of 9 bytes; exec sleep 600"
	verdict "it is by what says so, and lives" $? "$(cat "$private/hog")"
	short="SET hybrid.emulated_faults = 'in=open,fail_every=1,status=nomem'"
fi
echo "# $(cat "$private/hog")"

# what the session knows of a device that refused it; and what the log has
refusals="SELECT 'refused: ' || coalesce(string_agg(DISTINCT status || ': ' || error, '; '), 'never') FROM hybrid_events
	WHERE pid = pg_backend_pid() AND backend = '$device' AND fallback"
logged=$(grep -c 'could not be opened' "$server/server.log")
said=$(answers "$short" "$refusals")
equal "without memory on the device the answer is the same" "${said%%$'\n'*}" "$wanted"
[[ $said == *'refused: out of memory: '* ]] || { [[ $said != *'refused: never'* ]] &&
	[ "$(grep -c 'could not be opened' "$server/server.log")" -gt "$logged" ]; }
verdict "the device was tried, and refused" $? "$said"
[ -z "$hog" ] || kill -0 "$hog" 2>/dev/null
verdict "while the memory was somebody else's" $?
give_memory_back
before=$(served)
said=$(answers 'SELECT' "$refusals")
equal "and with memory again" "${said%%$'\n'*}" "$wanted"
equal "the device refuses nobody" "${said##*$'\n'}" "refused: never"
used "and finds it" "$before" 1
equal "nothing was corrupted, and nobody crashed but the one that was killed" \
	"$(grep -cE 'PANIC|was terminated by signal' "$server/server.log")" 1
ended
