#!/bin/bash
# Checks which folders include which, and that the pure folders do not use PostgreSQL.
#
#	core <- dispatch <- { types knn index graph telemetry } <- server/module.c
#	dispatch: backend.h <- model <- share <- route <- run <- tools
#	index: page <- tree <- scan, write <- build <- vacuum <- check <- the files of index/ itself
#
# compat, a library of its own, sees the options and scan settings of index only.
# A feature folder includes no other feature folder, except for the layouts of types. A plug-in includes only core
# and dispatch/backend.h. One `ok` line per rule.
set -uo pipefail

cd "$(dirname "$0")/.." || exit
features=(types knn index graph telemetry)
status=0

# verdict NAME FILE: ok where FILE, which lists the offences, is empty
verdict()
{
	if [ -s "$2" ]; then
		echo "not ok - $1"
		sed 's/^/#   /' "$2"
		status=1
	else
		echo "ok - $1"
	fi
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folders=(core dispatch emulated server "${features[@]}")

# includes FOLDER: lines "file:line path" of what its files include; <a> keeps its brackets
includes()
{
	find "$@" -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' 2>/dev/null | sort |
		xargs -r grep -nHE '^[[:space:]]*#[[:space:]]*include' /dev/null |
		sed -nE 's/^([^:]+:[0-9]+):[[:space:]]*#[[:space:]]*include[[:space:]]*("([^"]+)"|(<[^>]+>)).*/\1 \3\4/p'
}

# only NAME PATTERN FOLDER ...: every include of the folders matches the pattern
only()
{
	local name=$1 pattern=$2

	shift 2
	includes "$@" | grep -vE " ($pattern)\$" >"$work/offences"
	verdict "$name" "$work/offences"
}

# libc, libm and the compiler; PostgreSQL's headers are never in angle brackets here, except libpq
system='<(assert|complex|errno|fenv|float|inttypes|limits|math|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|string|strings|time|dlfcn|pthread|sched|unistd|fcntl|signal|elf|cpuid|immintrin|x86intrin|arm_neon|(sys|asm|linux)/[a-z0-9_]+|simde/[a-z0-9_/.-]+)\.h>'

only "core includes core and the C library" "core/[a-z0-9_]+\.h|$system" src/core
only "dispatch includes core, dispatch and the C library" "(core|dispatch(/[a-z]+)?)/[a-z0-9_]+\.h|$system" src/dispatch
if [ -d src/emulated ]; then
	only "the emulated plug-in sees core and dispatch/backend.h" \
		"(core|emulated)/[a-z0-9_]+\.h|dispatch/backend\.h|$system" src/emulated
fi
if [ -d cuda ]; then
	only "the CUDA plug-in sees core and, of dispatch, backend.h" \
		"((core|cuda)/)?[a-z0-9_]+\.(h|cuh)|dispatch/backend\.h|<(cuda|cublas|cooperative|cub/)[a-z0-9_./]*>|<c[a-z]+>|$system" cuda
fi

# A path that is one of our folders' must be one that this folder may see; the rest is PostgreSQL's.
ours=$(IFS='|'; echo "${folders[*]}")
for folder in "${features[@]}"; do
	[ -d "src/$folder" ] || continue
	includes "src/$folder" | grep -E " ($ours)/" |
		grep -vE " ((core|dispatch(/[a-z]+)?|server|$folder(/[a-z]+)?)/[a-z0-9_]+|types/(vector|sparsevec|sphere))\.h\$" >"$work/offences"
	verdict "$folder includes no other feature" "$work/offences"
done
includes src/server | grep -v '^src/server/module\.c:' | grep -E " ($ours)/" |
	grep -vE ' ((core|dispatch(/[a-z]+)?|server)/[a-z0-9_]+|types/vector)\.h$' >"$work/offences"
verdict "server, module.c aside, includes no feature" "$work/offences"

# The subfolders of dispatch: each includes itself, those before it and backend.h. What they call is checked by symbols.sh.
below=
for folder in model share route run tools; do
	below="$below${below:+|}$folder"
	includes "src/dispatch/$folder" | grep -E ' dispatch/' |
		grep -vE " dispatch/(backend|($below)/[a-z0-9_]+)\.h\$" >"$work/offences"
	verdict "dispatch/$folder includes itself and lower subfolders only" "$work/offences"
done
includes src/dispatch/backend.[ch] | grep -E ' dispatch/' | grep -v ' dispatch/backend\.h$' >"$work/offences"
verdict "dispatch/backend.h includes no subfolder" "$work/offences"

includes compat | grep -E " ($ours)/" | grep -vE ' index/(handler|page/index|scan/settings)\.h$' >"$work/offences"
verdict "compat includes the options and scan settings of index only" "$work/offences"

# The subfolders of index: each includes itself and those before it.
below=page
for folder in page tree scan write build vacuum check; do
	case $folder in
	scan) below='page|tree|scan' ;;
	write) below='page|tree|write' ;;
	build) below='page|tree|scan|write|build' ;;
	*) [ "$folder" = page ] || below="$below|$folder" ;;
	esac
	includes "src/index/$folder" | grep -E ' index/' | grep -vE " index/($below)/[a-z0-9_]+\.h\$" >"$work/offences"
	verdict "index/$folder includes itself and lower subfolders only" "$work/offences"
done

# Every quoted path that starts with one of our folders is a file; headers are found by folder.
includes src | while read -r where path; do
	case $path in
	\<* | */*) ;;
	*) continue ;;
	esac
	if [[ $path =~ ^($ours)/ ]] && [ ! -f "src/$path" ]; then echo "$where $path: no such file"; fi
done >"$work/offences"
verdict "headers are included by folder" "$work/offences"

# The pure folders build with no PostgreSQL in sight, and each of their headers stands alone. One
# without an include guard is a template, compiled by what includes it.
stands_alone()
{
	[[ $1 != *.h ]] || grep -qE '^#ifndef \w+_H$|^#pragma once' "$1"
}

pure=(src/core src/dispatch)
[ ! -d src/emulated ] || pure+=(src/emulated)
find "${pure[@]}" -name '*.[ch]' | sort | while read -r file; do
	stands_alone "$file" || continue
	gcc -std=c11 -fsyntax-only -Wall -Wextra -x c -Isrc -include stddef.h "$file" 2>&1 |
		grep -v 'warning: #pragma once' || true
done >"$work/offences"
verdict "pure folders compile without PostgreSQL" "$work/offences"

find "${pure[@]}" -name '*.[ch]' -print0 | sort -z | xargs -0 grep -nHwE \
	'elog|ereport|palloc|palloc0|pfree|longjmp|setjmp|PG_TRY|CHECK_FOR_INTERRUPTS' /dev/null |
	grep -vE '^[^:]+:[0-9]+:[[:space:]]*(/\*|\*)|/\*.*(elog|ereport|palloc|longjmp|PG_TRY|CHECK_FOR_INTERRUPTS)' \
		>"$work/offences"
verdict "pure folders raise no PostgreSQL error and jump nowhere" "$work/offences"

# Server headers stand alone too, after postgres.h.
server=()
for folder in server "${features[@]}"; do
	[ ! -d "src/$folder" ] || server+=("src/$folder")
done
find "${server[@]}" -name '*.h' | sort | while read -r file; do
	gcc -fsyntax-only -Wall -x c -Isrc -isystem /usr/include/postgresql/15/server \
		-include postgres.h "$file" 2>&1
done >"$work/offences"
verdict "server headers stand alone" "$work/offences"
exit $status
