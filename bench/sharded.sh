#!/bin/bash
# Measures hybrid_knn_sharded over a table whose partitions lie on several foreign servers, all on this machine.
#
#	bench/sharded.sh [SERVERS [ROWS [DIMS [QUERIES [ROUNDS]]]]]
#
# The call finds the exact 10 nearest rows by L2 for 1,000 queries over 3 x 50,000 rows of 96 dimensions, unless the arguments say
# otherwise. CSV on stdout, with the times of the round whose ratio is the median:
#
#	total_ms	time of the call
#	slowest_ms	longest time that a server spent on a statement of the call, by its own log
#	own_ms		processor time of the calling session meanwhile: it writes the queries as text, and reads and merges the answers
#	ratio		(total_ms - own_ms) / slowest_ms
#	sent		bytes sent to all servers, mostly the queries as text
#	received	bytes received from them
#	answers		bytes of the rows in their answers: 20 each, for the number of the query, the id and the distance
#	moved		received / answers
#	right		whether the result equals that of hybrid_knn over one table with all rows
#
# Bytes are counted in a separate call, through bench/count_bytes.py. A wrong answer fails the run.
set -euo pipefail

cd "$(dirname "$0")/.."
servers=${1:-3}
rows=${2:-50000}
dims=${3:-96}
queries=${4:-1000}
rounds=${5:-5}
k=10
work=$(mktemp -d /tmp/hybrid-bench.XXXXXX)
chmod 755 "$work"
counters=()

end()
{
	local node

	[ ${#counters[@]} = 0 ] || kill "${counters[@]}" 2>/dev/null || true
	for node in "$work"/here "$work"/far*; do
		[ ! -d "$node" ] || test/server.sh down "$node"
	done
	rm -rf "$work"
}
trap end EXIT

# sql NODE: run the statements on stdin
sql()
{
	test/server.sh run "$work/$1" psql -X -q -At -v ON_ERROR_STOP=1
}

# pseudo-random numbers from id and dimension, so all nodes compute the same rows
vectors="SELECT i AS id, (SELECT array_agg(hashint8extended(i::bigint * 4096 + d, 7) / 1e19 ORDER BY d) FROM generate_series(1, $dims) d)::vector($dims) AS v
FROM generate_series"

test/server.sh up "$work/here" "shared_buffers = 1GB" "work_mem = 64MB" "autovacuum = off"
sql here <<SQL
CREATE EXTENSION hybrid;
CREATE EXTENSION postgres_fdw;
CREATE EXTENSION dblink;
CREATE TABLE whole AS $vectors(1, $servers * $rows) i;
CREATE TABLE asked AS SELECT array_agg(v ORDER BY id) AS v FROM ($vectors(10000001, 10000000 + $queries) i) s;
CREATE TABLE parted (id bigint, v vector($dims)) PARTITION BY RANGE (id);
SQL
for ((i = 1; i <= servers; i++)); do
	test/server.sh up "$work/far$i" "shared_buffers = 512MB" "work_mem = 64MB" "autovacuum = off" "log_duration = on"
	from=$(((i - 1) * rows + 1))
	sql "far$i" <<SQL
CREATE EXTENSION hybrid;
CREATE TABLE doc AS $vectors($from, $from + $rows - 1) i;
SQL
	sql here <<SQL
CREATE SERVER far$i FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$work/far$i/socket', port '5432');
CREATE USER MAPPING FOR CURRENT_USER SERVER far$i;
CREATE FOREIGN TABLE far$i PARTITION OF parted FOR VALUES FROM ($from) TO ($from + $rows) SERVER far$i OPTIONS (table_name 'doc');
SQL
done

# nanoseconds that the session has spent on a processor
spent="split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::bigint"
call="hybrid_knn_sharded('parted', 'v', 'id', asked.v, $k)"
right=$(sql here <<SQL
SELECT (SELECT md5(string_agg(s::text, ',')) FROM asked, $call s) = (SELECT md5(string_agg(ROW(n.query, w.id, n.distance)::text, ',' ORDER BY n.query, n.distance, w.id))
	FROM asked, hybrid_knn('whole', 'v', asked.v, $k) n JOIN whole w ON w.ctid = n.tid);
SQL
)
for ((round = 1; round <= rounds; round++)); do
	for ((i = 1; i <= servers; i++)); do
		wc -l <"$work/far$i/server.log" >"$work/lines$i"
	done
	total=$(sql here <<SQL
-- loads the libraries
SELECT count(*) FROM asked, hybrid_knn_sharded('parted', 'v', 'id', asked.v[1:1], $k) s \\g /dev/null
SELECT $spent AS before \\gset
\timing on
SELECT count(*) FROM asked, $call;
\timing off
SELECT 'own', ($spent - :before) / 1e6;
SQL
	)
	own=$(sed -nE 's/^own\|//p' <<<"$total")
	total=$(sed -nE 's/^Time: ([0-9.]+) ms.*/\1/p' <<<"$total")
	sleep 0.2 # the logs
	for ((i = 1; i <= servers; i++)); do
		tail -n "+$(($(<"$work/lines$i") + 1))" "$work/far$i/server.log"
	done | sed -nE 's/.*duration: ([0-9.]+) ms.*/\1/p' | sort -g | tail -1 | awk -v total="$total" -v own="$own" '{ print (total - own) / $1, total, $1, own }' >>"$work/times"
done
sort -g "$work/times" | awk '{ line[NR] = $0 } END { print line[int((NR + 1) / 2)] }' >"$work/median"
read -r ratio total slowest own <"$work/median"

for ((i = 1; i <= servers; i++)); do
	mkdir -p "$work/count$i"
	chmod 755 "$work/count$i"
	python3 bench/count_bytes.py "$work/count$i/.s.PGSQL.5432" "$work/far$i/socket/.s.PGSQL.5432" >"$work/bytes$i" &
	counters+=($!)
	echo "ALTER SERVER far$i OPTIONS (SET host '$work/count$i');" | sql here
	until [ -S "$work/count$i/.s.PGSQL.5432" ]; do sleep 0.1; done
done
answers=$(sql here <<SQL
SELECT 20 * count(*) * $servers FROM asked, $call;
SQL
)
kill "${counters[@]}"
wait "${counters[@]}" || true
counters=()
read -r sent received < <(cat "$work"/bytes* | awk '{ s += $1; r += $2 } END { print s, r }')
echo servers,rows,dims,queries,total_ms,slowest_ms,own_ms,ratio,sent,received,answers,moved,right
awk -v OFS=, -v a="$servers,$rows,$dims,$queries" -v t="$total" -v s="$slowest" -v w="$own" -v q="$ratio" -v o="$sent" -v i="$received" -v n="$answers" -v r="$right" \
	'BEGIN { print a, sprintf("%.0f,%.0f,%.0f,%.3f", t, s, w, q), o, i, n, sprintf("%.2f", i / n), r == "t" ? "yes" : "no" }'
[ "$right" = t ]
