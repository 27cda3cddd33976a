#!/bin/sh
# Builds every test/fuzz/*_fuzz.c with libFuzzer, ASan and UBSan, and runs each for a while.
#
#	test/fuzz/run.sh [SECONDS [NAME]]
#
# SECONDS (20) are those of each fuzzer.  Seeds are in test/fuzz/corpus/NAME; what is found along
# the way is kept in build/fuzz/corpus, a finding in build/fuzz.  Ends with 'N passed, M failed'.
set -u

cd "$(dirname "$0")/../.." || exit 2

seconds=${1:-20}
only=${2:-}
passed=0
failed=0

if ! command -v clang >/dev/null; then
	echo "test/fuzz/run.sh: clang is missing (Debian: clang, libclang-rt-14-dev)" >&2
	exit 2
fi
# src/core, once for all fuzzers, which call nothing else
flags="-std=c11 -O1 -g1 -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno -Isrc"
sanitizers="address,undefined -fno-sanitize-recover=all"
rm -rf build/fuzz/pure
mkdir -p build/fuzz/pure
# shellcheck disable=SC2016 # $0 and $1 are of the inner shell
for source in src/core/*.c; do
	printf '%s %s\n' "$source" "build/fuzz/pure/$(echo "$source" | tr / _).o"
done | xargs -P "$(nproc)" -L 1 \
	sh -c 'clang '"$flags"' -fsanitize=fuzzer-no-link,'"$sanitizers"' -c "$0" -o "$1"' || exit 2

for file in test/fuzz/*_fuzz.c; do
	name=$(basename "$file" _fuzz.c)
	case $name in
		*"$only"*) ;;
		*) continue ;;
	esac
	mkdir -p "build/fuzz/corpus/$name"
	# shellcheck disable=SC2086 # words on purpose
	if ! clang $flags -fsanitize=fuzzer,$sanitizers -o "build/fuzz/$name" "$file" \
		build/fuzz/pure/*.o -lm -ldl; then
		echo "== $name: does not compile"
		failed=$((failed + 1))
		continue
	fi
	set -- "build/fuzz/corpus/$name"
	[ -d "test/fuzz/corpus/$name" ] && set -- "$@" "test/fuzz/corpus/$name"
	if "build/fuzz/$name" -max_total_time="$seconds" -timeout=10 -max_len=4096 -print_final_stats=1 \
		-artifact_prefix="build/fuzz/$name-" "$@" >"build/fuzz/$name.log" 2>&1; then
		passed=$((passed + 1))
		runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "build/fuzz/$name.log")
		echo "== $name: passed, ${runs:-no} runs in $seconds s"
	else
		failed=$((failed + 1))
		echo "== $name: failed, see build/fuzz/$name.log"
		tail -n 40 "build/fuzz/$name.log"
	fi
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
