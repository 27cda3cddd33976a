#!/bin/bash
# A server whose sessions use a device, and what can go wrong there.  One `ok` line a thing verified.
#
#	test/device.sh cuda			what `make gpucheck` ends with: on a machine with a GPU
#	test/device.sh emulated		the same on the emulated device
#
# On cuda all of pg_regress runs with hybrid.execution = prefer_gpu first (on the emulated device a step of
# test/check.sh does that).  Needs a PostgreSQL 15 as test/server.sh looks for it, and a built tree; started by root,
# the server runs as another user.
set -uo pipefail

cd "$(dirname "$0")/.." || exit 2
device=${1:?usage: test/device.sh cuda|emulated}
private=$(mktemp -d /tmp/hybrid-device.XXXXXX)
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

# answers FROM: what 40 queries find, in one word; on the side that FROM, settings, says
answers()
{
	sql -c "$1" -c "SELECT md5(string_agg(k::text, ' ' ORDER BY query, distance, id)) FROM hybrid_knn('item', 'v',
		(SELECT array_agg(v ORDER BY id) FROM item WHERE id <= 40), 10) k"
}

# served: batches that the device has answered
served()
{
	sql -c "SELECT coalesce(sum(calls + pieces), 0) FROM hybrid_stats WHERE backend = '$device' AND operation = 'topk'"
}

settings=("shared_preload_libraries = 'hybrid'" "hybrid.plugins = 'hybrid_$device'" "max_connections = 40"
	"hybrid.execution = prefer_gpu" "hybrid.gpu_min_batch = 1" "work_mem = '64MB'")
# its made-up time passes for everybody, and one batch takes a while
[ "$device" = cuda ] || settings+=("hybrid.emulated_wait = on" "hybrid.emulated_rate_gflops = 100")
test/server.sh up "$server" "${settings[@]}" || exit 1

if [ "$device" = cuda ]; then
	tests=(sql/*.sql)
	tests=("${tests[@]#sql/}")
	installed=$server/tree/usr/lib/postgresql/15
	regress=$installed/lib/pgxs/src/test/regress/pg_regress
	if [ -x "$regress" ]; then
		mkdir "$server/in" "$server/out"
		cp -r sql expected "$server/in/"
		chmod -R a+rwX "$server/in" "$server/out"
		test/server.sh run "$server" "$regress" --bindir="$installed/bin" --inputdir="$server/in" \
			--outputdir="$server/out" --dbname=contrib_regression --load-extension=hybrid "${tests[@]%.sql}" >"$private/regress" 2>&1
		verdict "pg_regress, ${#tests[@]} tests, with prefer_gpu" $? "$(tail -n 60 "$private/regress" "$server/out/regression.diffs")"
	else
		echo "# pg_regress was not found: the regression tests are skipped"
	fi
fi

sql -c "CREATE EXTENSION IF NOT EXISTS hybrid" -c "
	CREATE TABLE item (id int PRIMARY KEY, v vector(64));
	INSERT INTO item SELECT n, (SELECT array_agg((hashint4extended(n, i) % 2001)::real) FROM generate_series(1, 64) AS i)::vector(64)
	FROM generate_series(1, 50000) AS n" || exit 1
equal "the device can be used" \
	"$(sql -c "SELECT state IN ('open', 'closed') FROM hybrid_devices WHERE backend = '$device' LIMIT 1")" t
wanted=$(answers "SET hybrid.force_cpu = on")
before=$(served)
equal "the device finds what the CPU finds" "$(answers 'SELECT')" "$wanted"
after=$(served)
[ "$after" -gt "$before" ]
verdict "and was used: $((after - before)) batches" $? "$before before, $after after"

# 20 sessions at once, each with a context
sessions=()
for i in $(seq 20); do
	answers 'SELECT' >"$private/answer.$i" &
	sessions+=($!)
done
wait "${sessions[@]}"
equal "20 sessions at once find it too" "$(sort -u "$private"/answer.* | grep -v '^$')" "$wanted"
equal "and leave no context behind" "$(sql -c "SELECT max(contexts) FROM hybrid_devices WHERE backend = '$device'")" 0

# a statement that runs out of time while the device is at it
begin=$(date +%s%N)
said=$(sql -c "SET statement_timeout = 60" -c "SELECT count(*) FROM hybrid_knn('item', 'v', (SELECT array_agg(v) FROM item WHERE id <= 20000), 10)")
took=$((($(date +%s%N) - begin) / 1000000))
[[ $said == *'statement timeout'* ]] && [ "$took" -lt 1000 ]
verdict "a statement is cancelled in flight" $? "after $took ms: $said"
equal "and the next one finds what it should" "$(answers 'SELECT')" "$wanted"

# a session that is killed: the server starts anew, and the device is as before
sql -c "SET application_name = 'victim'" -c "SELECT count(*) FROM generate_series(1, 1000) n, LATERAL (SELECT count(*) FROM
	hybrid_knn('item', 'v', (SELECT array_agg(v) FROM item WHERE id BETWEEN n AND n + 500), 10)) s" >/dev/null 2>&1 &
session=$!
victim=
for _ in $(seq 100); do
	sleep 0.1
	victim=$(sql -c "SELECT pid FROM pg_stat_activity WHERE application_name = 'victim' AND state = 'active'")
	[ -z "$victim" ] || [ "$(sql -c "SELECT max(contexts) FROM hybrid_devices WHERE backend = '$device'")" = 0 ] || break
done
sleep 0.5
kill -9 "$victim"
wait $session
for _ in $(seq 100); do
	sleep 0.1
	[ "$(sql -c 'SELECT 1')" != 1 ] || break
done
equal "after kill -9 of a session the device finds what it should" "$(answers 'SELECT')" "$wanted"
equal "and no context is counted that is not there" \
	"$(sql -c "SELECT max(contexts) FROM hybrid_devices WHERE backend = '$device'")" 0

# somebody else takes the device's memory
if [ "$device" = cuda ]; then
	build/cuda/hog >"$private/hog" &
	hog=$!
	for _ in $(seq 300); do
		grep -q taken "$private/hog" && break
		sleep 0.1
	done
	taken=$(cat "$private/hog")
	short="SELECT"
else
	taken="emulated: all but 1 MB"
	short="SET hybrid.emulated_memory_mb = 1"
fi
echo "# $taken"
equal "without memory on the device the answer is the same" "$(answers "$short")" "$wanted"
if [ -n "$hog" ]; then
	kill "$hog"
	wait "$hog" 2>/dev/null
	hog=
fi
before=$(served)
equal "and with memory again" "$(answers 'SELECT')" "$wanted"
after=$(served)
[ "$after" -gt "$before" ]
verdict "which the device has found: $((after - before)) batches" $? "$before before, $after after"
equal "nothing was corrupted, and nobody crashed but the one that was killed" \
	"$(grep -cE 'PANIC|was terminated by signal' "$server/server.log")" 1

echo "1..$number"
exit $((failed > 0))
