#!/bin/sh
# Builds and runs the unit tests, with no server.
#
#	test/unit/run.sh [plain] [sanitize] [clang] [thread] [valgrind] [-k NAME ...]
#
# Without a variant: plain.  -k runs only the tests whose file name contains a NAME.  Objects are kept
# in build/unit/VARIANT and rebuilt when a file they were made from is newer.  plain and valgrind test
# the objects of the plug-ins (build/pure).  As many tests run at once as there are processors, while
# others still compile.  Ends with a line
# 'N passed, M failed' over all variants; a program that crashes, prints no plan, or runs another
# number of tests than it planned counts as one failure.  Under valgrind, which is slow, those that
# sweep over thousands of combinations take one of UNIT_SHARE; a leak is a failure.
set -u

cd "$(dirname "$0")/../.." || exit 2

variants=
only=
while [ $# -gt 0 ]; do
	case $1 in
		plain | sanitize | clang | thread | valgrind) variants="$variants $1" ;;
		-k)
			only="$only $2"
			shift
			;;
		*)
			echo "usage: $0 [plain] [sanitize] [clang] [thread] [valgrind] [-k NAME ...]" >&2
			exit 2
			;;
	esac
	shift
done
variants=${variants:-plain}

jobs=$(nproc 2>/dev/null || echo 1)
# lines for what a sanitizer reports
common="-std=c11 -g1 -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno -Isrc -Itest/unit"
passed=0
failed=0

# What builds a variant and runs its tests is a generated makefile, for make's eye for what is out of
# date.  A test leaves its lines in NAME.log, its exit status and seconds in NAME.status.
run() {
	variant=$1
	case $variant in
		plain | valgrind) compiler="${CC:-gcc} -O2" ;;
		clang) compiler="clang -O2" ;;
		sanitize)
			compiler="${CC:-gcc} -O1 -fno-omit-frame-pointer -fsanitize=address,undefined"
			compiler="$compiler -fno-sanitize-recover=all"
			;;
		thread) compiler="${CC:-gcc} -O1 -fno-omit-frame-pointer -fsanitize=thread" ;;
	esac
	mkdir -p "$dir"
	sources=
	library=$dir/pure.a
	folders="src/core src/dispatch src/dispatch/* src/emulated"
	case $variant in
		plain | valgrind)
			folders=
			library=build/pure/pure.a
			;;
	esac
	[ "$library" = "$dir/pure.a" ] || make -s -j"$jobs" build/pure/pure.a || return 1
	for folder in $folders; do
		for file in "$folder"/*.c; do
			[ -e "$file" ] && sources="$sources $file"
		done
	done
	{
		echo "CC = $compiler $common"
		echo "LIBS = -lm -ldl"
		objects=
		for file in $sources; do
			object=$dir/$(echo "$file" | tr / _ | sed 's/\.c$/.o/')
			objects="$objects $object"
			# shellcheck disable=SC2016
			printf '%s: %s\n\t$(CC) -MMD -c -o $@ $<\n' "$object" "$file"
		done
		# A library, so that a test may bring a symbol of its own and needs only what it uses.
		[ -z "$objects" ] || printf '%s:%s\n\trm -f $@; ar rcs $@ $^\n' "$library" "$objects"
		for file in test/unit/*_test.c; do
			name=$(basename "$file" .c)
			# shellcheck disable=SC2016
			printf '%s: %s %s\n\t$(CC) -rdynamic -MMD -MF %s.d -o $@ $< %s $(LIBS)\n' \
				"$dir/$name" "$file" "$library" "$dir/$name" "$library"
			# shellcheck disable=SC2016
			printf '%s.log: %s always\n\t@start=$$(date +%%s); $(UNDER) $< >$@ 2>&1; %s\n' \
				"$dir/$name" "$dir/$name" 'echo $$? $$(($$(date +%s) - start)) >$(@:.log=.status)'
		done
		echo "always:"
		printf -- '-include %s/*.d\n' "$dir"
	} >"$dir/Makefile.new"
	# A changed recipe must rebuild everything.
	cmp -s "$dir/Makefile.new" "$dir/Makefile" || rm -f "$dir"/*.o "$dir"/*.d "$dir"/*.a "$dir"/*_test
	mv "$dir/Makefile.new" "$dir/Makefile"
	targets=
	for file in $tests; do
		name=$(basename "$file" .c)
		targets="$targets $dir/$name.log"
		# What is left of an earlier run must not pass for this one.
		rm -f "$dir/$name.log" "$dir/$name.status"
	done
	# shellcheck disable=SC2086
	UNIT_SHARE=$share UBSAN_OPTIONS=print_stacktrace=1 \
		make -s -k -j"$jobs" -f "$dir/Makefile" UNDER="$under" $targets
}

tests=
for file in test/unit/*_test.c; do
	for name in ${only:-_test}; do
		case $file in
			*"$name"*)
				tests="$tests $file"
				break
				;;
		esac
	done
done
[ -n "$tests" ] || { echo "no test matches '${only# }'" >&2; exit 2; }

for variant in $variants; do
	dir=build/unit/$variant
	under=
	share=1
	if [ "$variant" = valgrind ]; then
		# the same programs
		dir=build/unit/plain
		under="valgrind -q --leak-check=full --errors-for-leak-kinds=definite --error-exitcode=9"
		share=11
	fi
	run "$variant" || echo "# the build of variant $variant failed"
	for file in $tests; do
		name=$(basename "$file" .c)
		log=$dir/$name.log
		status=none
		seconds=0
		[ ! -e "$dir/$name.status" ] || read -r status seconds <"$dir/$name.status"
		[ -e "$log" ] || : >"$log"
		good=$(grep -c '^ok ' "$log")
		bad=$(grep -c '^not ok ' "$log")
		planned=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$log" | tail -n 1)
		if [ "$bad" -eq 0 ] && { [ "$status" != 0 ] || [ "${planned:--1}" -ne "$good" ]; }; then
			bad=1
			echo "not ok - $name ($variant): exit status $status, $good tests of ${planned:-no plan}" >>"$log"
		fi
		passed=$((passed + good))
		failed=$((failed + bad))
		if [ "$bad" -ne 0 ]; then
			echo "== $name ($variant): $good passed, $bad failed, ${seconds} s"
			grep -v '^ok ' "$log"
		else
			echo "== $name ($variant): $good passed, ${seconds} s"
		fi
	done
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
