#!/bin/bash
# Runs every test. Steps that can use every processor run one after the other. After them, steps that mostly use one
# run beside each other, as many as there are processors; tap, which often waits for a server, is not counted.
#
#	test/check.sh [STEP ...]			all steps, or the named ones (check.sh --list)
#	test/check.sh --soak [STEP ...]		after a build: the long versions of fuzz, storm, crash and load, the long
#										versions of some tests of t/, and all of t/ and isolation/ on the
#										emulated device; what a release consists of
#
# Prints one line per step when it ends. The output of a failed step is shown, and all output is kept under build/log.
# Failures are listed once more at the end.
# The last line counts the single tests: those that a unit test, pg_regress or prove reports, and one for
# a step that reports none. A step that cannot run is a failure: `make check` has installed its packages.
set -uo pipefail

cd "$(dirname "$0")/.."
checkout=$PWD
major=${HYBRID_PG:-15}
pgxs=usr/lib/postgresql/$major/lib/pgxs/src
logs=build/log
# tap takes longest, so it begins before all that run beside it
steps=(build clang unit machines cuda tap
	layers symbols format lint regress-scalar regress-emulated regress fuzz device storm load crash isolation clients versions)
# those that use every processor, or that the others need
alone=(build clang unit machines cuda)
soak_steps=(fuzz storm crash load clients long scalar emulated release)
# steps that run only where they are named: in test/versions.sh
other_steps=(tap-short upgrade)

# Nothing of the caller's session may change what is tested.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES "${!PG@}" CFLAGS CPPFLAGS LDFLAGS CC COPT
export LC_ALL=C.UTF-8 PG_CONFIG=/usr/lib/postgresql/$major/bin/pg_config
jobs=$(nproc)

# ---------------------------------------------------------------------------------------------
# The steps.  Each runs in a shell of its own, with -e, a private directory and a time limit.
# ---------------------------------------------------------------------------------------------

# PostgreSQL's headers as system headers: their warnings are not ours. Every step has these flags, so that none compiles again
# what another has compiled. -g1: with all of its debugging information, a kernel takes half as long again to compile.
strict="-g1 -Wall -Wextra -Werror -isystem /usr/include/postgresql/$major/server"
export COPT="$strict"

step_build()
{
	local said control tree=$private/pg/tree/usr extension=share/postgresql/$major/extension

	make -s -j"$jobs" all
	# what install puts there, uninstall takes away
	make -s install DESTDIR="$private/root" >/dev/null
	make -s install-vector DESTDIR="$private/root" >/dev/null
	make -s uninstall uninstall-vector DESTDIR="$private/root" >/dev/null
	if find "$private/root" -type f | grep .; then
		echo "make uninstall leaves these behind"
		return 1
	fi
	# pgvector's files have the same names and stay as they are
	mkdir -p "$private/root$("$PG_CONFIG" --pkglibdir)"
	touch "$private/root$("$PG_CONFIG" --pkglibdir)/vector.so"
	if said=$(make -s install-vector DESTDIR="$private/root" 2>&1) || [[ $said != *"pgvector is installed"* ]]; then
		echo "make install-vector beside pgvector: $said"
		return 1
	fi
	control=$private/root$("$PG_CONFIG" --sharedir)/extension/vector.control
	mkdir -p "${control%/*}"
	echo "default_version = '0.8.6'" >"$control"
	make -s uninstall-vector DESTDIR="$private/root" >/dev/null
	if [ ! -e "$control" ]; then
		echo "make uninstall-vector removes the control file of pgvector"
		return 1
	fi
	# the tests find hybrid's extension "vector", also where the machine has pgvector
	mkdir -p "$tree/lib/postgresql/$major/lib" "$tree/$extension"
	touch "$tree/lib/postgresql/$major/lib/vector.so" "$tree/$extension"/vector{.control,--0.8.6.sql}
	test/server.sh install "$private/pg"
	if [ -e "$tree/lib/postgresql/$major/lib/vector.so" ] || [ -e "$tree/$extension/vector--0.8.6.sql" ] ||
		! cmp compat/vector.control "$tree/$extension/vector.control"; then
		echo "test/server.sh leaves the extension of pgvector in a server for tests"
		return 1
	fi
	# a machine without PostgreSQL's development files, and perhaps without a compiler, is told
	if said=$(make -s PG_CONFIG=/nonexistent CC=/nonexistent 2>&1) ||
		[[ $said != *"development files are missing"* ]]; then
		echo "make without pg_config: $said"
		return 1
	fi
}

# The whole of it under another compiler, in a copy of the tree. Nothing of it is run, so it is not optimized: what clang says
# of a file does not depend on that. The unit tests run the pure folders as clang optimizes them.
step_clang()
{
	local kernels=(build/cuda/flags build/cuda/cuda/*.cu.*)

	rm -rf build/clang
	mkdir -p build/clang
	git_files | tar -cf - --null -T - | tar -xf - -C build/clang
	# nvcc compiles the kernels, whatever CC is
	[ ! -e "${kernels[1]}" ] || cp -a --parents "${kernels[@]}" build/clang/
	# Debian's PostgreSQL hands down gcc's options
	make -s -C build/clang -j"$jobs" CC=clang \
		COPT="$strict -O0 -Wno-unknown-warning-option -Wno-ignored-optimization-argument" all
}

step_layers() { test/layers.sh; }
step_symbols() { test/symbols.sh; }

step_format()
{
	local status=0 file

	while IFS= read -r -d '' file; do
		if ! clang-format --dry-run -Werror "$file" >/dev/null 2>&1; then
			echo "not as .clang-format has it: clang-format -i $file"
			status=1
		fi
	done < <(c_files)
	return $status
}

# explained: every reason of a decision, every status and all that a plug-in can be refused for is in the guide for who is in trouble
explained()
{
	local name missing=0

	while IFS= read -r name; do
		grep -qF "\`$name" docs/troubleshooting.md || { echo "docs/troubleshooting.md does not have '$name'"; missing=1; }
	done < <({ sed -n '/reason_names\[/,/;/p' src/dispatch/model/decision.c; sed -n '/names\[/,/;/p' src/core/status.c; } |
			grep -o '"[^"]*"' | tr -d '"' | grep -vxE 'ok|unknown'
		sed -nE 's/.*"%s\.so ([a-z ]*[a-z]).*/\1/p' src/dispatch/tools/plugin.c)
	return $missing
}

# short_functions: no function has more than 80 lines or more than 7 parameters, no file more than 700 lines
short_functions()
{
	local long

	long=$(c_files | grep -zE '^(src|cuda|compat)/' | xargs -0 awk -f test/functions.awk)
	[ -z "$long" ] || { echo "$long"; return 1; }
}

# short_lines: no line of C has more than 121 columns. clang-format does not wrap comments.
short_lines()
{
	local long

	# shellcheck disable=SC2016 # awk's
	long=$(c_files | xargs -0 awk '{
		line = $0
		while ((at = index(line, "\t")) > 0)
			line = substr(line, 1, at - 1) substr("    ", (at - 1) % 4 + 1) substr(line, at + 1)
		if (length(line) > 121)
			print FILENAME ":" FNR ": " length(line) " columns"
	}')
	[ -z "$long" ] || { echo "$long"; return 1; }
}

step_lint()
{
	local program own

	git_files | grep -zE '\.sh$|^\.ci/run$' | xargs -0 shellcheck -x
	# ereport(ERROR) does not return, which leaves cppcheck looking for a return after it; a task
	# holds addresses of the frame that runs it; a header's name may be a macro
	cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 -j "$jobs" \
		--enable=warning,portability --suppress=missingInclude --suppress=unknownMacro \
		--suppress=preprocessorErrorDirective --suppress=autoVariables \
		--suppress=uninitvar:src/dispatch/run/dispatcher.c --suppress=missingReturn \
		'-Dereport(level,...)=((level)>=21?abort():(void)0)' \
		'-Delog(level,...)=((level)>=21?abort():(void)0)' -DERROR=21 -DFATAL=22 -DPANIC=23 \
		-Isrc src compat
	short_functions
	short_lines
	named_tests
	explained
	test/meta.pl
	# benchmarks run seldom; that of the GPU is compiled against the fake runtime's header
	for program in bench/*.c; do
		own=()
		[[ $program != bench/gpu*.c ]] || own=(-D_GNU_SOURCE -I. -isystem test/cuda/fake)
		gcc -std=c11 -Wall -Wextra -Werror -fsyntax-only -Isrc -Itest/unit "${own[@]}" "$program"
	done
	git_files | xargs -0 codespell --builtin clear --skip='*.out,LICENSE' --ignore-words test/codespell.txt
}

step_unit()
{
	local thread status=0

	test/unit/run.sh plain sanitize clang
	# what several processes write at once, and what the threads of one do
	test/unit/run.sh thread -k shared_ -k threads_ &
	thread=$!
	# what is left behind by a device that fails: one program, beside those
	test/unit/run.sh valgrind -k fault_matrix || status=1
	wait "$thread" || status=1
	return $status
}
step_machines() { test/unit/other_machines.sh; }
# without a GPU: the plug-in against a fake device
step_cuda() { test/cuda/run.sh; }
step_fuzz() { test/fuzz/run.sh "${SOAK_SECONDS:-20}"; }

# Statements that are planned without sequential scans or sorts look expensive, so PostgreSQL would compile their expressions with
# LLVM, which takes longer than the statements. hybrid has no part in that.
plain="jit = off"

# regress SETTING ...: pg_regress on a server of its own with these settings, without the tests named in left_out
regress()
{
	local tests=() file

	for file in sql/*.sql; do
		[[ " ${left_out-} " = *" $(basename "$file" .sql) "* ]] || tests+=("${file#sql/}")
	done
	# statistics that autovacuum gathers would change plans
	test/server.sh up "$private/pg" "autovacuum = off" "$plain" "$@"
	mkdir "$private/pg/in" "$private/pg/out"
	cp -r sql expected "$private/pg/in/"
	open_to_server "$private/pg/in" "$private/pg/out"
	test/server.sh run "$private/pg" "/$pgxs/test/regress/pg_regress" \
		--bindir="$private/pg/tree/usr/lib/postgresql/$major/bin" --inputdir="$private/pg/in" \
		--outputdir="$private/pg/out" --dbname=contrib_regression --load-extension=hybrid \
		"${tests[@]%.sql}" || {
		cat "$private/pg/out/regression.diffs" "$private/pg/server.log" || true
		return 1
	}
}

step_regress() { regress; }

# The same answers from the emulated device, which must be there and be used. (index_many_lists is about searches, and its
# build does nothing that others do not do. index_segments is about sparse vectors, which no device computes.)
step_regress-emulated()
{
	local ran left_out="index_many_lists index_segments"

	regress "hybrid.plugins = 'hybrid_emulated'" "hybrid.execution = prefer_gpu"
	ran=$(test/server.sh run "$private/pg" psql -X -At -d contrib_regression -c "
		SELECT hybrid_distances('[1,2]', ARRAY['[3,4]', '[1,2]']::vector[])" -c "
		SELECT backend || ' ' || sum(calls) FROM hybrid_stats GROUP BY backend")
	[ "$ran" = "{2.8284271247461903,0}"$'\n'"emulated 1" ] || { echo "not the emulated device: $ran"; return 1; }
}

# Only src/core/*_scalar.c and the plain sums of sparse.c run here and not in the other two. Twelve short tests (the distances of
# each type, overflow, knn, knn_store, index_scan, index_halfvec, index_sparsevec, index_keys, maxsim) run every line of
# src/core/*_scalar.c. The tests that are left out take more than half of the time; the step scalar of `make soak` has them.
step_regress-scalar()
{
	local left_out="index_alike index_costs_toast index_l1 index_lots index_many_lists index_measure index_options"

	left_out+=" index_recall index_segments index_unlike index_vacuum knn_recall threads"
	regress "hybrid.simd = scalar"
}

# isolation SETTING ...: the isolation tests, likewise
isolation()
{
	local specs=(test/isolation/specs/*.spec)

	specs=("${specs[@]##*/}")
	test/server.sh up "$private/pg" "$plain" "$@"
	mkdir "$private/pg/out"
	cp -r test/isolation "$private/pg/in"
	open_to_server "$private/pg/in" "$private/pg/out"
	test/server.sh run "$private/pg" "/$pgxs/test/isolation/pg_isolation_regress" \
		--bindir="$private/pg/tree/usr/lib/postgresql/$major/bin" --inputdir="$private/pg/in" \
		--outputdir="$private/pg/out" --dbname=isolation_regression --load-extension=hybrid \
		"${specs[@]%.spec}" || {
		cat "$private/pg/out/regression.diffs" "$private/pg/server.log" || true
		return 1
	}
}

step_isolation() { isolation; }

# tap FILE ...: of test/t; TEMP_CONFIG, if any, is what all servers have in their settings
tap()
{
	local failed="" file

	test/server.sh tree "$private/pg"
	mkdir "$private/pg/out"
	cat ${TEMP_CONFIG:+"$TEMP_CONFIG"} - <<<"$plain" >"$private/pg/tap.conf"
	chmod 644 "$private/pg/tap.conf"
	cp -r test/t "$private/pg/t"
	gcc -shared -fPIC -Wall -Werror -Isrc -I"$("$PG_CONFIG" --includedir-server)" -o "$private/pg/t/hold_lock.so" test/t/hold_lock.c
	# a driver that fails as its environment says, for the plug-in where there is one
	gcc -shared -fPIC -Wall -Werror -Wl,-soname,libcuda.so.1 test/cuda/stub_driver.c -o "$private/pg/t/libcuda.so.1"
	cp -r docs README.md "$private/pg/"
	cp -r test/clients "$private/pg/clients"
	mkdir "$private/pg/bench"
	cp -r bench/page.py bench/draw.py bench/scale.py bench/results "$private/pg/bench/"
	# one test adds files of a newer version to the tree
	open_to_server "$private/pg/t" "$private/pg/docs" "$private/pg/clients" "$private/pg/out" \
		"$private/pg/tree/usr/share/postgresql/$major/extension"
	test/server.sh run "$private/pg" env TESTDIR="$private/pg/out" TESTDATADIR="$private/pg/out/tmp_check" \
		TESTLOGDIR="$private/pg/out/tmp_check/log" TMPDIR="$private/pg/tmp" \
		HYBRID_DOCS="$private/pg/docs" HYBRID_CLIENTS="$private/pg/clients" HYBRID_BENCH="$private/pg/bench" \
		PERL5LIB="/$pgxs/test/perl" PG_REGRESS="/$pgxs/test/regress/pg_regress" \
		HYBRID_CUTS="${HYBRID_CUTS-}" HYBRID_ROWS="${HYBRID_ROWS-}" \
		TEMP_CONFIG="$private/pg/tap.conf" \
		prove --verbose --timer "${@/#/$private/pg/t/}" 2>&1 | tee "$private/pg/tap.log" || failed=1
	[ -n "$failed" ] || return 0
	# the servers of the files that failed: FILE (Wstat: ...)
	sed -n 's/^.*\/\([^/ ]*\)\.pl *(Wstat.*/\1/p' "$private/pg/tap.log" | while IFS= read -r file; do
		tail -n 50 "$private/pg/out/tmp_check/log"/*"$file"* || true
	done
	return 1
}

step_tap()
{
	local files=(test/t/*.pl)

	make -s -j"$jobs" build/cuda/fake/hybrid_cuda.so
	tap "${files[@]##*/}"
}

# all tests of regress-scalar
step_scalar() { regress "hybrid.simd = scalar"; }

# The tests that depend most on the server: WAL, standbys, workers and shared memory, settings, dumps, what ends a
# statement.
step_tap-short()
{
	make -s -j"$jobs" build/cuda/fake/hybrid_cuda.so
	tap 010_index_crash.pl 010_vector_dump.pl 011_index_standby.pl 016_index_build.pl 030_shared_stats.pl \
		031_settings.pl 035_threads.pl 036_other_ends.pl 051_vector_extension.pl 061_registered_graph.pl
}

# pg_upgrade from the server in HYBRID_OLD_SERVER
step_upgrade() { tap 053_upgrade.pl; }

# What has a server of its own, with the emulated device of 4 GB in all of them: the same answers.  But for
# the test of what settings are where nobody sets them.
step_emulated()
{
	local device=("hybrid.plugins = 'hybrid_emulated'" "hybrid.execution = prefer_gpu") files=() file

	isolation "${device[@]}"
	test/server.sh down "$private/pg"
	rm -rf "$private/pg"
	printf '%s\n' "${device[@]}" >"$private/emulated.conf"
	chmod 644 "$private/emulated.conf"
	for file in test/t/*.pl; do
		[[ $file = */031_* ]] || files+=("${file##*/}")
	done
	make -s -j"$jobs" build/cuda/fake/hybrid_cuda.so
	TEMP_CONFIG=$private/emulated.conf tap "${files[@]}"
}

# without a mirror there is no other version of PostgreSQL, which is told and is no failure
step_versions()
{
	local said

	said=$(HYBRID_MIRROR=http://127.0.0.1:9/debian test/versions.sh 17 18)
	echo "$said"
	[[ $said == *"PostgreSQL 17"*": not run: "*$'\n'"0 passed, 0 failed" ]]
}

# sessions on a device, and what can go wrong there: what gpucheck does with a real one; and what it says of that
step_device()
{
	test/device.sh emulated
	test/cuda/sections.sh
}

# clients of pgvector for Node.js and Python: three of each, and all of them in a soak run
step_clients() { test/clients/run.sh "$([ -n "${SOAK_SECONDS:-}" ] && echo all || echo short)"; }

# a crash after each record of the log; one vector a million times
step_long() { HYBRID_CUTS=0 HYBRID_ROWS=1000000 tap 013_index_cut.pl 015_index_extremes.pl; }

# the archive, the packages and the image, in chroots
step_release() { test/release.sh; }

step_storm() { test/soak.sh storm "${SOAK_SECONDS:-20}"; }
step_crash() { test/soak.sh crash "${SOAK_SECONDS:-20}"; }
step_load() { test/soak.sh load "${SOAK_SECONDS:-20}"; }

# ---------------------------------------------------------------------------------------------
# What the steps use
# ---------------------------------------------------------------------------------------------

# every file of the checkout, committed or not, that git does not ignore; zero-terminated
git_files()
{
	git -c safe.directory="$checkout" ls-files -z --cached --others --exclude-standard --deduplicate |
		while IFS= read -r -d '' file; do
			[ ! -f "$file" ] || printf '%s\0' "$file"
		done
}

# the tests that test/README.md names, as FILE:TEST, are there
named_tests()
{
	local name file status=0

	# shellcheck disable=SC2016 # backquotes are the table's
	while IFS= read -r name; do
		case ${name%%:*} in
		*.pl) file=test/t/${name%%:*} ;;
		*.sql) file=sql/${name%%:*} ;;
		*) file=test/unit/${name%%:*}.c ;;
		esac
		if ! grep -qF -- "${name#*:}" "$file"; then
			echo "test/README.md names a test that is not there: $name"
			status=1
		fi
	done < <(grep -oE '`[a-z0-9_]+(\.pl|\.sql)?:[^`]+`' test/README.md | tr -d '`' | grep -v '^file:test$')
	return $status
}

c_files()
{
	git_files | grep -zE '\.(c|h|cu|cuh)$'
}

# open_to_server DIR ...: readable and writable by the server's user
open_to_server()
{
	[ "$(id -u)" != 0 ] || chown -R postgres "$@"
}

close_private()
{
	test/server.sh down "$private/pg" || true
	rm -rf "$private"
}

run_step()
{
	set -e
	private=$(mktemp -d /tmp/hybrid-check.XXXXXX)
	chmod 755 "$private"
	trap close_private EXIT
	trap 'exit 143' TERM INT
	"step_$1"
}

# count FILE: sets passed, failed: what a runner says of itself in lines 'N passed, M failed', or
# else the lines of TAP or pg_regress in a step's output
count()
{
	passed=0 failed=0
	# it could not be written: the step has not run, and its status says so
	[ -r "$1" ] || return 0
	if grep -qE '^[0-9]+ passed, [0-9]+ failed$' "$1"; then
		passed=$(awk '/^[0-9]+ passed, [0-9]+ failed$/ { n += $1 } END { print n }' "$1")
		failed=$(awk '/^[0-9]+ passed, [0-9]+ failed$/ { n += $3 } END { print n }' "$1")
		return
	fi
	passed=$(grep -cE '^ok\b|^(test| {4,}) *[[:alnum:]_-]+ +\.\.\. ok' "$1")
	passed=$((passed - $(grep -ciE '^ok\b.*# skip' "$1")))
	failed=$(grep -cE '^not ok\b|^(test| {4,}) *[[:alnum:]_-]+ +\.\.\. FAILED' "$1")
	failed=$((failed - $(grep -ciE '^not ok\b.*# todo' "$1")))
}

# failures STEP: the single tests that failed in a step, and the programs that ended before their last test, each with the
# lines around it, or the end of an output that names none
failures()
{
	local log=$logs/$1.log
	local pattern='^not ok\b|^Dubious|^(test| {4,}) *[[:alnum:]_-]+ +\.\.\. FAILED|^[0-9]+ passed, [1-9][0-9]* failed$'

	echo "--- $1:"
	if grep -qE "$pattern" "$log"; then
		grep -E -B 12 -A 6 "$pattern" "$log"
	else
		tail -n 40 "$log"
	fi | cut -c1-300 | head -n 80 | sed 's/^/    | /'
}

# ---------------------------------------------------------------------------------------------
# The driver
# ---------------------------------------------------------------------------------------------

limit=1500
case ${1-} in
--list)
	printf '%s\n' "${steps[@]}"
	exit
	;;
--run)
	run_step "$2"
	exit
	;;
--soak)
	shift
	export SOAK_SECONDS=${SOAK_SECONDS:-600}
	limit=$((SOAK_SECONDS * 20 + 1500))
	[ $# -gt 0 ] || set -- "${soak_steps[@]}"
	steps=(build "$@")
	alone=("${steps[@]}")
	;;
?*)
	for step in "$@"; do
		if [[ " ${steps[*]} ${other_steps[*]} " != *" $step "* ]]; then
			echo "test/check.sh: there is no step '$step'; there are: ${steps[*]}" >&2
			exit 2
		fi
	done
	# what a step tests has to be built
	if [[ " $* " == *" build "* ]]; then steps=("$@"); else steps=(build "$@"); fi
	;;
esac

all_passed=0
all_failed=0
broken=()
declare -A running=() begun=()
trap '[ ${#running[@]} = 0 ] || kill "${!running[@]}" 2>/dev/null; exit 130' INT TERM
mkdir -p "$logs" || exit 1

# begin STEP: in the background
begin()
{
	begun[$1]=$SECONDS
	timeout -k 30 "$limit" bash test/check.sh --run "$1" >"$logs/$1.log" 2>&1 </dev/null &
	running[$!]=$1
}

# finish: waits for one of the steps that are running, and prints its line
finish()
{
	local pid status step log took

	wait -n -p pid "${!running[@]}"
	status=$?
	step=${running[$pid]}
	unset "running[$pid]"
	log=$logs/$step.log
	took=$((SECONDS - begun[$step]))
	count "$log"
	[ "$status" = 0 ] || [ "$failed" -gt 0 ] || failed=1
	[ $((passed + failed)) -gt 0 ] || passed=1
	all_passed=$((all_passed + passed))
	all_failed=$((all_failed + failed))
	if [ "$failed" = 0 ]; then
		printf '%-18sok %8d passed %5d s\n' "$step" "$passed" "$took"
		return
	fi
	printf '%-18sFAILED %4d passed, %d failed, %d s' "$step" "$passed" "$failed" "$took"
	[ "$status" != 124 ] || printf ', stopped after %d s' "$limit"
	printf '\n'
	sed 's/^/    | /' "$log" | tail -n 200
	broken+=("$step")
}

# places: how many steps may run beside each other: one per processor, and tap, which often waits for a server
places()
{
	if [[ " ${running[*]} " == *" tap "* ]]; then
		echo $((jobs + 1))
	else
		echo "$jobs"
	fi
}

beside=()
for step in "${steps[@]}"; do
	if [[ " ${alone[*]} " != *" $step "* ]]; then
		beside+=("$step")
		continue
	fi
	begin "$step"
	finish
	if [ "${broken[*]}" = build ]; then
		echo "Nothing else can be tested without a build."
		beside=()
		break
	fi
done
for step in "${beside[@]}"; do
	while [ ${#running[@]} -ge "$(places)" ]; do
		finish
	done
	begin "$step"
done
while [ ${#running[@]} -gt 0 ]; do
	finish
done
for step in "${broken[@]}"; do
	failures "$step"
done
echo "$all_passed passed, $all_failed failed"
[ "$all_failed" = 0 ]
