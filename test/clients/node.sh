#!/bin/bash
# Tests programs of Node.js that use pgvector, each with a client of its own: test/clients/node/NAME.mjs.
#
#	test/clients/node.sh short		the three clients that pgvector's users need most, with few packages to fetch
#	test/clients/node.sh all		all clients
#
# Each program runs in a database of its own, in which an administrator has created hybrid, and creates the extension vector
# itself. If pgvector is in this machine's PostgreSQL or in BENCH_PGVECTOR (bench/wordnet.sh), the same programs also run with
# pgvector. The checks of the answers are the same. The packages come from npm, in the versions of
# test/clients/node/package.json, and are kept in build/clients. Prints TAP. Without Node.js, npm or a registry, it prints
# 'not run' and the reason, and does not fail.
set -euo pipefail

cd "$(dirname "$0")/../.."
which=${1:?usage: test/clients/node.sh short|all}
major=${HYBRID_PG:-15}
lib=usr/lib/postgresql/$major/lib
share=usr/share/postgresql/$major/extension
packages=$PWD/build/clients
short=(pg knex sequelize)
fetch_limit=300
program_limit=120

not_run()
{
	echo "clients of Node.js: not run: $1"
	echo "1..0 # skip $1"
	exit 0
}

for program in node npm; do
	command -v "$program" >/dev/null || not_run "$program is not installed"
done

# fetched SET: whether these packages are there, in the right versions
fetched()
{
	cmp -s test/clients/node/package.json "$packages/fetched.$1"
}

mkdir -p "$packages"
cp test/clients/node/*.mjs test/clients/node/package.json "$packages/"
if ! fetched all && ! { [ "$which" = short ] && fetched short; }; then
	omit=()
	[ "$which" = all ] || omit=(--omit=dev)
	rm -f "$packages"/fetched.*
	# the packages disagree about the versions of each other that they could use
	(cd "$packages" && timeout -k 10 "$fetch_limit" npm install --legacy-peer-deps --no-package-lock --ignore-scripts \
		--no-audit --no-fund "${omit[@]}") >"$packages/npm.log" 2>&1 ||
		not_run "packages could not be fetched: $(grep -m 1 'npm error' "$packages/npm.log" || echo "no answer in $fetch_limit s")"
	cp test/clients/node/package.json "$packages/fetched.$which"
fi

work=$(mktemp -d /tmp/hybrid-clients.XXXXXX)
chmod 755 "$work"
trap 'for server in "$work"/*; do [ ! -d "$server" ] || test/server.sh down "$server" >/dev/null; done; rm -rf "$work"' EXIT

# where its usr/ is
pgvector=${BENCH_PGVECTOR:-}

servers=(hybrid)
HYBRID_PG=$major test/server.sh up "$work/hybrid"
if [ -e "$work/hybrid/tree/$lib/vector.so" ]; then
	rm "$work/hybrid/tree/$lib/vector.so" "$work/hybrid/tree/$share"/vector{.control,--*.sql}
	test/server.sh install "$work/hybrid"
fi
test/server.sh run "$work/hybrid" psql -X -q -d template1 -c 'CREATE EXTENSION hybrid'
if [ -e "$pgvector/$lib/vector.so" ]; then
	servers+=(pgvector)
	HYBRID_PG=$major test/server.sh up "$work/pgvector"
	rm -f "$work/pgvector/tree/$lib/hybrid_vector.so" "$work/pgvector/tree/$share"/vector{.control,--*.sql}
	install -m 755 "$pgvector/$lib/vector.so" "$work/pgvector/tree/$lib/"
	install -m 644 "$pgvector/$share"/vector{.control,--*.sql} "$work/pgvector/tree/$share/"
fi

number=0
failed=0
for server in "${servers[@]}"; do
	for file in test/clients/node/*.mjs; do
		name=${file##*/}
		name=${name%.mjs}
		[ "$name" != check ] || continue
		[[ $which = all || " ${short[*]} " = *" $name "* ]] || continue
		status=0
		test/server.sh run "$work/$server" psql -X -q -c "CREATE DATABASE \"client $name\"" </dev/null
		(cd "$packages" && PGHOST=$work/$server/socket PGPORT=5432 PGUSER=postgres PGDATABASE="client $name" \
			timeout -k 10 "$program_limit" node "$name.mjs") >"$work/out" 2>"$work/err" </dev/null || status=$?
		# its lines become ours, with numbers of our own
		while IFS= read -r line; do
			case $line in
			"ok "* | "not ok "*)
				number=$((number + 1))
				[[ $line != not* ]] || failed=$((failed + 1))
				[[ $line =~ ^(not\ )?ok\ [0-9]+(.*)$ ]]
				echo "${BASH_REMATCH[1]}ok $number${BASH_REMATCH[2]} ($server)"
				;;
			'#'*) echo "$line" ;;
			esac
		done <"$work/out"
		if [ "$status" != 0 ] && ! grep -q '^not ok' "$work/out" || ! grep -q '^1\.\.[1-9]' "$work/out"; then
			number=$((number + 1))
			failed=$((failed + 1))
			echo "not ok $number - $name: ended with status $status ($server)"
			sed 's/^/# /' "$work/err"
		fi
	done
done
echo "1..$number"
[ "$failed" = 0 ]
