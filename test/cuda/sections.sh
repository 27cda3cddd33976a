#!/bin/bash
# Test what gpucheck.sh prints about its sections, with stand-ins for the programs.
#
#	test/cuda/sections.sh
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=0
failed=0

# stand_in NAME LINE: a program
stand_in()
{
	printf '#!/bin/sh\n%s\n' "$2" >"$work/$1"
	chmod 755 "$work/$1"
}

# said NAME STATUS PATTERN ... -- SECTION ...: gpucheck.sh ends so, and has lines like these; '!' before one: has none
said()
{
	local name=$1 status=$2 patterns=() pattern bad=

	shift 2
	while [ "$1" != -- ]; do
		patterns+=("$1")
		shift
	done
	shift
	HYBRID_GPUCHECK_BUILT=$work HYBRID_GPUCHECK_LIMIT=2 SANITIZER=$work/sanitizer test/cuda/gpucheck.sh "$@" >"$work/out" 2>&1
	[ $? = "$status" ] || bad=" status"
	for pattern in "${patterns[@]}"; do
		case $pattern in
		!*) ! grep -qE "${pattern#!}" "$work/out" || bad+=" '$pattern'" ;;
		*) grep -qE "$pattern" "$work/out" || bad+=" '$pattern'" ;;
		esac
	done
	number=$((number + 1))
	if [ -z "$bad" ]; then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name:$bad"
		sed 's/^/#   /' "$work/out"
		failed=$((failed + 1))
	fi
}

# tap LINE ...: what prints them, as tests do
tap()
{
	printf 'echo "%s"; ' "$@"
}

# sanitizer END: one that runs the program and ends so
sanitizer()
{
	# shellcheck disable=SC2016  # the stand-in's
	stand_in sanitizer 'tool=$2; echo "========= COMPUTE-SANITIZER"; echo "called: $*"
while [ $# -gt 0 ]; do case $1 in */gpucheck*) "$@"; status=$?; break ;; esac; shift; done
'"$1"'
exit $status'
}

# what it says where it has found nothing
# shellcheck disable=SC2016  # the stand-in's
clean='if [ $tool = racecheck ]; then echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"
else echo "========= ERROR SUMMARY: 0 errors"; fi'
three=$(tap 'ok 1 - a' '# more' 'ok 2 - b' 'ok 3 - c' '1..3')
touch "$work/hybrid_cuda.so"
# shellcheck disable=SC2016
stand_in gpucheck 'echo ops ran, small: $3; '"$three"
stand_in gpucheck_filter "echo filter ran; $three"
sanitizer "$clean"
said "all is well" 0 'ops ran, small: small' 'filter ran' '^# in all' '^# ops +[0-9]+ s  ok$' '^# racecheck gpucheck_filter +[0-9]+ s  ok$' \
	-- ops filter sanitizer
said "a section is a section, of the device named" 0 'filter ran' '!ops' '!check gpucheck' -- 1 filter
said "a section that there is not is told" 2 'sections: ops filter' -- nothing
stand_in gpucheck "$three exit 1"
said "after a failure the others run" 1 '^# ops +[0-9]+ s  FAILED: status 1$' 'filter ran' '^# filter +[0-9]+ s  ok$' -- ops filter
stand_in gpucheck 'exec sleep 60'
said "so they do after one that does not end" 1 '^# ops +[0-9]+ s  FAILED: no end after 2 s' 'filter ran' -- ops filter
stand_in gpucheck 'echo no GPU: no driver; exit 2'
said "without a GPU there is nothing to run" 1 'no GPU' '!filter ran' '!in all' -- ops filter

# what ends well and has not run its tests, or not well
stand_in gpucheck "$(tap 'ok 1 - a' 'not ok 2 - b' '1..2') exit 0"
said "a test that is not ok is a failure, whatever the status" 1 '^# ops +[0-9]+ s  FAILED: 1 tests not ok$' -- ops
said "so it is under the sanitizer" 1 '^# initcheck gpucheck +[0-9]+ s  FAILED: 1 tests not ok$' -- sanitizer
stand_in gpucheck 'exit 0'
said "so is saying nothing" 1 '^# ops +[0-9]+ s  FAILED: no plan of its tests$' -- ops
said "and saying nothing under the sanitizer" 1 '^# memcheck gpucheck +[0-9]+ s  FAILED: no plan of its tests$' \
	'^# memcheck gpucheck_filter +[0-9]+ s  ok$' -- sanitizer
stand_in gpucheck "$(tap 'ok 1 - a' 'ok 2 - b')"
said "and an end before the plan" 1 '^# ops +[0-9]+ s  FAILED: no plan of its tests$' -- ops
stand_in gpucheck "$(tap 'ok 1 - a' '1..2')"
said "and fewer tests than were planned" 1 '^# ops +[0-9]+ s  FAILED: 1 tests ok, not 2$' -- ops
stand_in gpucheck "$(tap '1..0')"
said "and no test at all" 1 '^# ops +[0-9]+ s  FAILED: no tests$' -- ops
stand_in gpucheck "$three"

# what the sanitizer says
stand_in gpucheck "$three"' echo "called: $*"'
said "of memory it is asked, not of calls that say no" 0 '^called: --tool memcheck .*--report-api-errors no .*/gpucheck ' \
	'!^called: --tool (init|race)check .*--report-api' '^called: --tool racecheck --error-exitcode 3 .*/gpucheck_filter .* small$' -- sanitizer
stand_in sanitizer 'echo "========= Error: Device not supported. Please refer to the documentation"; exit 1'
said "a device that the sanitizer does not know is no failure" 0 \
	'^# memcheck gpucheck +[0-9]+ s  not available: compute-sanitizer says Device not supported' -- sanitizer
stand_in gpucheck "echo Error: Device not supported; $three exit 1"
said "one that a test does not know is one" 1 '^# ops +[0-9]+ s  FAILED: status 1$' '!not available' -- ops
sanitizer "$clean"
said "also under the sanitizer" 1 '^# memcheck gpucheck +[0-9]+ s  FAILED: status 1$' '!not available' -- sanitizer
stand_in gpucheck "$(tap 'not ok 1 - a' '1..1') exit 1"
sanitizer 'echo "========= Error: Device not supported"'
said "so is what fails on a device that the sanitizer does not know" 1 '^# memcheck gpucheck +[0-9]+ s  FAILED: status 1, 1 tests not ok$' \
	-- sanitizer
stand_in gpucheck "$three"
sanitizer 'echo "========= ERROR SUMMARY: 1 error"; status=3'
said "what it finds is one" 1 '^# initcheck gpucheck_filter +[0-9]+ s  FAILED: status 3' -- sanitizer
sanitizer 'echo "========= ERROR SUMMARY: 10 errors"; echo "========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)"'
said "also where its status is that of the program" 1 '^# memcheck gpucheck +[0-9]+ s  FAILED: ERROR SUMMARY: 10 errors$' \
	'^# racecheck gpucheck_filter +[0-9]+ s  FAILED: RACECHECK SUMMARY: 1 hazard displayed \(0 errors, 1 warning\)$' -- sanitizer
sanitizer 'echo "========= RACECHECK SUMMARY: 2 hazards displayed (0 errors, 2 warnings)"'
said "as it is for warnings" 1 '^# racecheck gpucheck +[0-9]+ s  FAILED: RACECHECK SUMMARY: 2 hazards displayed \(0 errors, 2 warnings\)$' \
	-- sanitizer
sanitizer :
said "and one that sums nothing up has examined nothing" 1 '^# memcheck gpucheck +[0-9]+ s  FAILED: compute-sanitizer has no summary$' \
	'^# racecheck gpucheck +[0-9]+ s  FAILED: compute-sanitizer has no summary$' -- sanitizer

# servers
mkdir "$work/bin"
stand_in device.sh "$three"
said "the sections of a server run" 0 '^# regress +[0-9]+ s  ok$' '^# server +[0-9]+ s  ok$' -- regress server
stand_in device.sh "echo ERROR: Device not supported; $(tap 'not ok 1 - a' '1..1') exit 1"
said "and fail for what their tests say" 1 '^# regress +[0-9]+ s  FAILED: status 1, 1 tests not ok$' '!not available' -- regress
stand_in device.sh "echo '# not available: pg_regress was not found'; $(tap '1..0')"
said "where they have nothing to run they say so" 0 '^# regress +[0-9]+ s  not available: pg_regress was not found$' -- regress
stand_in device.sh "echo '# not available: hybrid_emulated.so is not built'; $three"
said "or what they have not run" 0 '^# regress +[0-9]+ s  ok, in part; not available: hybrid_emulated.so is not built$' -- regress

# server_in DIR VERSION: a PostgreSQL that says so, in the place where it is looked for below DIR
server_in()
{
	local place=$1/usr/lib/postgresql/15/bin program

	mkdir -p "$work/$place" "$work/$1/usr/share/postgresql/15"
	for program in initdb pg_ctl psql postgres; do
		stand_in "$place/$program" "echo '$2'"
	done
}

stand_in device.sh "$three"
stand_in bin/postgres "echo 'postgres (PostgreSQL) 15.4'"
export HYBRID_GPUCHECK_ROOT=$work/none
PATH=$work/bin:$PATH said "without a PostgreSQL in its place no server is tried" 0 \
	'^# regress +0 s  not available: PostgreSQL 15 was not found as .*/none/usr/.*, and .*/bin/postgres does not lie so$' \
	'^# server +0 s  not available: PostgreSQL 15 was not found' -- regress server
server_in old 'postgres (PostgreSQL) 14.11'
PATH=$work/old/usr/lib/postgresql/15/bin:$PATH said "nor with one of another version there" 0 \
	'^# regress +0 s  not available: .* is not PostgreSQL 15: postgres \(PostgreSQL\) 14.11$' -- regress
server_in new 'postgres (PostgreSQL) 150.1'
PATH=$work/new/usr/lib/postgresql/15/bin:$PATH said "or of one that begins alike" 0 '^# server +0 s  not available: .* 150.1$' -- server
server_in part 'postgres (PostgreSQL) 15.4'
rm "$work/part/usr/lib/postgresql/15/bin/initdb"
PATH=$work/part/usr/lib/postgresql/15/bin:$PATH said "or with a part of it" 0 '^# server +0 s  not available: .*/bin/initdb was not found$' -- server
server_in whole 'postgres (PostgreSQL) 15.4 (Debian 15.4-1)'
PATH=$work/whole/usr/lib/postgresql/15/bin:$PATH said "one that was moved there is" 0 '^# server +[0-9]+ s  ok$' -- server
unset HYBRID_GPUCHECK_ROOT

rm "$work/gpucheck_filter"
said "a program that is not there is told" 1 'gpucheck_filter is not built' '!ok$' -- ops

echo "1..$number"
exit $((failed > 0))
