#!/bin/bash
# Runs programs that use pgvector, each with another client: test/clients/node/NAME.mjs and test/clients/python/NAME_client.py.
#
#	test/clients/run.sh short		the most common clients, which need few packages
#	test/clients/run.sh all			all clients
#
# Each program runs in a database of its own, in which an administrator has created hybrid. The program creates the extension
# vector itself. If pgvector is in this machine's PostgreSQL or in BENCH_PGVECTOR (bench/wordnet.sh), the same programs also run with
# pgvector. The checks of the answers are the same. The packages of Node.js come from npm, in the versions of
# test/clients/node/package.json, and are kept in build/clients. Those of Python come from Debian. Debian has no
# package of pgvector's own types for Python, so test/clients/python defines these types. Prints TAP. If something is missing, the
# programs that need it do not run. A line says so, and this is not a failure.
set -euo pipefail

cd "$(dirname "$0")/../.."
which=${1:?usage: test/clients/run.sh short|all}
major=${HYBRID_PG:-15}
lib=usr/lib/postgresql/$major/lib
share=usr/share/postgresql/$major/extension
packages=$PWD/build/clients
python=/usr/bin/python3
short=(node/pg node/knex node/sequelize python/psycopg python/sqlalchemy python/django)
fetch_limit=300
program_limit=120

# node_lacks: fetches the packages of Node.js, and prints what is missing, if anything
node_lacks()
{
	local program omit=()

	for program in node npm; do
		command -v "$program" >/dev/null || { echo "$program is not installed"; return; }
	done
	mkdir -p "$packages"
	cp test/clients/node/*.mjs test/clients/node/package.json "$packages/"
	if fetched all || { [ "$which" = short ] && fetched short; }; then
		return
	fi
	[ "$which" = all ] || omit=(--omit=dev)
	rm -f "$packages"/fetched.*
	# the packages require different versions of each other
	if (cd "$packages" && timeout -k 10 "$fetch_limit" npm install --legacy-peer-deps --no-package-lock --ignore-scripts \
		--no-audit --no-fund "${omit[@]}") >"$packages/npm.log" 2>&1; then
		cp test/clients/node/package.json "$packages/fetched.$which"
	else
		echo "packages could not be fetched: $(grep -m 1 'npm error' "$packages/npm.log" || echo "no answer in $fetch_limit s")"
	fi
}

# fetched SET: whether these packages are there, in the right versions
fetched()
{
	cmp -s test/clients/node/package.json "$packages/fetched.$1"
}

# python_lacks NAME: prints which module a program needs that is not installed, if any
python_lacks()
{
	local module

	for module in psycopg2 "$1"; do
		"$python" -P -c "import $module" 2>/dev/null || { echo "python3-$module is not installed"; return; }
	done
	# SQLAlchemy's asynchronous engine needs it
	[ "$1" != sqlalchemy ] || "$python" -c 'import asyncpg' 2>/dev/null || echo "python3-asyncpg is not installed"
}

# the programs to run, as LANGUAGE/NAME
programs=()
node_lack=$(node_lacks)
[ -z "$node_lack" ] || echo "# clients of Node.js: not run: $node_lack"
for file in test/clients/node/*.mjs test/clients/python/*_client.py; do
	program=${file#test/clients/}
	program=${program%.*}
	program=${program%_client}
	[[ $program != */check && ($which = all || " ${short[*]} " = *" $program "*) ]] || continue
	if [[ $program = node/* ]]; then
		[ -z "$node_lack" ] || continue
	else
		lack=$(python_lacks "${program#*/}")
		[ -z "$lack" ] || { echo "# $program: not run: $lack"; continue; }
	fi
	programs+=("$program")
done
if [ ${#programs[@]} = 0 ]; then
	echo "1..0 # skip neither Node.js nor Python has what the programs need"
	exit 0
fi

work=$(mktemp -d /tmp/hybrid-clients.XXXXXX)
chmod 755 "$work"
trap 'for server in "$work"/*; do [ ! -d "$server" ] || test/server.sh down "$server" >/dev/null; done; rm -rf "$work"' EXIT

# the directory that holds the usr/ of pgvector
pgvector=${BENCH_PGVECTOR:-}

servers=(hybrid)
HYBRID_PG=$major test/server.sh up "$work/hybrid"
test/server.sh run "$work/hybrid" psql -X -q -d template1 -c 'CREATE EXTENSION hybrid'
if [ -e "$pgvector/$lib/vector.so" ]; then
	servers+=(pgvector)
	HYBRID_PG=$major test/server.sh up "$work/pgvector"
	rm -f "$work/pgvector/tree/$lib/hybrid_vector.so" "$work/pgvector/tree/$share"/vector{.control,--*.sql}
	install -m 755 "$pgvector/$lib/vector.so" "$work/pgvector/tree/$lib/"
	install -m 644 "$pgvector/$share"/vector{.control,--*.sql} "$work/pgvector/tree/$share/"
fi

# run SERVER PROGRAM: runs a program in a new database
run()
{
	local database=${2/\// }

	test/server.sh run "$work/$1" psql -X -q -c "CREATE DATABASE \"$database\"" </dev/null || return
	export PGHOST=$work/$1/socket PGPORT=5432 PGUSER=postgres PGDATABASE=$database
	if [[ $2 = node/* ]]; then
		cd "$packages" && timeout -k 10 "$program_limit" node "${2#*/}.mjs"
	else
		PYTHONDONTWRITEBYTECODE=1 timeout -k 10 "$program_limit" "$python" "test/clients/$2_client.py"
	fi
}

number=0
failed=0
for server in "${servers[@]}"; do
	for program in "${programs[@]}"; do
		status=0
		(run "$server" "$program") >"$work/out" 2>"$work/err" </dev/null || status=$?
		# pass on the lines of the program, with new numbers
		while IFS= read -r line; do
			case $line in
			"ok "* | "not ok "*)
				number=$((number + 1))
				[[ $line != not* ]] || failed=$((failed + 1))
				[[ $line =~ ^(not\ )?ok\ [0-9]+(.*)$ ]]
				echo "${BASH_REMATCH[1]}ok $number${BASH_REMATCH[2]} ($program, $server)"
				;;
			'#'*) echo "$line" ;;
			esac
		done <"$work/out"
		if [ "$status" != 0 ] && ! grep -q '^not ok' "$work/out" || ! grep -q '^1\.\.[1-9]' "$work/out"; then
			number=$((number + 1))
			failed=$((failed + 1))
			echo "not ok $number - ended with status $status ($program, $server)"
			sed 's/^/# /' "$work/err"
		fi
	done
done
echo "1..$number"
[ "$failed" = 0 ]
