#!/bin/bash
# What gpucheck.sh says of its sections, with stand-ins for the programs.
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

# shellcheck disable=SC2016  # the stand-in's
run_it='while [ $# -gt 0 ]; do case $1 in */gpucheck*) exec "$@" ;; esac; shift; done'
touch "$work/hybrid_cuda.so"
# shellcheck disable=SC2016
stand_in gpucheck 'echo ops ran, small: $3'
stand_in gpucheck_filter 'echo filter ran'
stand_in sanitizer "$run_it"
said "all is well" 0 'ops ran, small: small' 'filter ran' '^# in all' '^# ops +[0-9]+ s  ok$' '^# racecheck gpucheck_filter +[0-9]+ s  ok$' \
	-- ops filter sanitizer
said "a section is a section, of the device named" 0 'filter ran' '!ops' '!check gpucheck' -- 1 filter
said "a section that there is not is told" 2 'sections: ops filter' -- nothing
stand_in gpucheck 'exit 1'
said "after a failure the others run" 1 '^# ops +[0-9]+ s  FAILED: status 1$' 'filter ran' '^# filter +[0-9]+ s  ok$' -- ops filter
stand_in gpucheck 'exec sleep 60'
said "so they do after one that does not end" 1 '^# ops +[0-9]+ s  FAILED: no end after 2 s' 'filter ran' -- ops filter
stand_in gpucheck 'echo no GPU: no driver; exit 2'
said "without a GPU there is nothing to run" 1 'no GPU' '!filter ran' '!in all' -- ops filter
stand_in gpucheck 'exit 0'
# shellcheck disable=SC2016
stand_in sanitizer 'echo called: "$@"'
said "of memory it is asked, not of calls that say no" 0 '^called: --tool memcheck .*--report-api-errors no .*/gpucheck ' \
	'!^called: --tool (init|race)check .*--report-api' '^called: --tool racecheck --error-exitcode 3 .*/gpucheck_filter .* small$' -- sanitizer
stand_in sanitizer 'echo "========= Error: Device not supported. Please refer to the documentation"; exit 1'
said "a device that the sanitizer does not know is no failure" 0 \
	'^# memcheck gpucheck +[0-9]+ s  not available: compute-sanitizer says Device not supported' -- sanitizer
stand_in sanitizer 'echo "========= ERROR SUMMARY: 1 error"; exit 3'
said "what it finds is one" 1 '^# initcheck gpucheck_filter +[0-9]+ s  FAILED: status 3' -- sanitizer
rm "$work/gpucheck_filter"
said "a program that is not there is told" 1 'gpucheck_filter is not built' '!ok$' -- ops

echo "1..$number"
exit $((failed > 0))
