#!/bin/sh
# Runs the kernels of processors other than this one, bit by bit against the canonical reduction.
#
#	test/unit/other_machines.sh
#
# neon: the tests of distances, bits, tiles, the search, rotations and codes, cross-compiled and run
# under qemu-aarch64.
# avx512, amx: the sources of those kernels themselves, their intrinsics replaced by SIMDe's and by
# those of emulated_amx.h, which compute them with what this processor has, in programs that believe
# to be on a processor with all of them (emulated_cpu.c).  Where the processor has AVX-512 or AMX,
# run.sh runs the real ones.
#
# Where a tool is missing, the part is only compiled, or skipped, and a line says so.
# Ends with a line 'N passed, M failed'.
set -u

cd "$(dirname "$0")/../.." || exit 2

flags="-std=c11 -O2 -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno -Isrc -Itest/unit"
dir=build/unit/other
mkdir -p "$dir"
log=
passed=0
failed=0

# count NAME STATUS: adds what the log says.
count() {
	good=$(grep -c '^ok ' "$log")
	bad=$(grep -c '^not ok ' "$log")
	planned=$(sed -n 's/^1\.\.\([0-9]*\).*$/\1/p' "$log" | tail -n 1)
	if [ "$bad" -eq 0 ] && { [ "$2" -ne 0 ] || [ "${planned:--1}" -ne "$good" ]; }; then
		bad=1
	fi
	passed=$((passed + good))
	failed=$((failed + bad))
	echo "== $1: $good passed, $bad failed"
	[ "$bad" -eq 0 ] || grep -v '^ok ' "$log"
}

# each PART LABEL TEST ...: builds and runs the tests beside each other, by PART_test, and counts what they say.
each() {
	part=$1
	label=$2
	shift 2
	for name; do
		{
			"${part}_test" "$name" >"$dir/$part/$name.log" 2>&1
			echo $? >"$dir/$part/$name.status"
		} &
	done
	wait
	for name; do
		log=$dir/$part/$name.log
		read -r status <"$dir/$part/$name.status"
		count "$name ($label)" "$status"
	done
}

neon() {
	emulator=$(command -v qemu-aarch64-static || command -v qemu-aarch64)
	if ! command -v aarch64-linux-gnu-gcc >/dev/null; then
		echo "== neon: skipped, there is no aarch64-linux-gnu-gcc"
		return
	fi
	# The pure sources once, then a program for each test.
	rm -rf "$dir/neon"
	mkdir -p "$dir/neon"
	for file in src/core/*.c; do
		# shellcheck disable=SC2086
		aarch64-linux-gnu-gcc $flags -c -o "$dir/neon/$(basename "$file" .c).o" "$file"
	done
	each neon neon distance_test half_test distance_blocks_test bits_test topk_test cpu_features_test \
		tile_test prefilter_test rotation_test codes_test codes_levels_test
}

neon_test() {
	# shellcheck disable=SC2086
	aarch64-linux-gnu-gcc $flags -static -o "$dir/neon/$1" "test/unit/$1.c" "$dir"/neon/*.o -lm || return 1
	if [ -z "$emulator" ]; then
		echo "1..0 # compiled only, there is no qemu-aarch64"
	else
		"$emulator" "$dir/neon/$1"
	fi
}

emulated() {
	if [ "$(uname -m)" != x86_64 ] || ! grep -qw f16c /proc/cpuinfo || ! grep -qw fma /proc/cpuinfo; then
		echo "== avx512, amx: skipped, their emulation needs AVX2, FMA and F16C"
		return
	elif ! echo '#include <simde/x86/avx512.h>' | "${CC:-gcc}" -E - >/dev/null 2>&1; then
		echo "== avx512, amx: skipped, there is no SIMDe (Debian: libsimde-dev)"
		return
	fi
	rm -rf "$dir/emulated"
	mkdir -p "$dir/emulated"
	for file in src/core/*.c test/unit/emulated_cpu.c; do
		case $file in
			*/cpu_features.c) continue ;;
			*_avx512.c | *_amx.c)
				set -- -Wno-psabi -mavx2 -mfma -mf16c -mpopcnt '-DHY_SIMD_HEADER="emulated_amx.h"'
				;;
			*) set -- ;;
		esac
		# shellcheck disable=SC2086
		"${CC:-gcc}" $flags "$@" -c -o "$dir/emulated/$(basename "$file" .c).o" "$file"
	done
	each emulated "avx512, amx" distance_test half_test bits_test tile_test prefilter_test rotation_test codes_test \
		codes_levels_test
}

emulated_test() {
	# shellcheck disable=SC2086
	"${CC:-gcc}" $flags -o "$dir/emulated/$1" "test/unit/$1.c" "$dir"/emulated/*.o -lm || return 1
	UNIT_SHARE=3 "$dir/emulated/$1"
}

# part NAME: one of them, beside the other; one that does not come to its end has counted nothing, which is a failure.
part() {
	rm -f "$dir/$1.count"
	"$1" >"$dir/$1.out" 2>&1
	echo "$passed $failed" >"$dir/$1.count"
}

part neon &
part emulated &
wait
for name in neon emulated; do
	cat "$dir/$name.out"
	good=0
	bad=1
	[ ! -e "$dir/$name.count" ] || read -r good bad <"$dir/$name.count"
	passed=$((passed + good))
	failed=$((failed + bad))
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
