#!/bin/bash
# Checks which symbols the built libraries export and need. One `ok` line per rule.
#
# PostgreSQL loads libraries with RTLD_GLOBAL, and another extension in the same backend may have a function of the
# same name. So hybrid.so exports only what SQL names, and a plug-in only its entry.
set -uo pipefail

cd "$(dirname "$0")/.." || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
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

exports()
{
	nm -D --defined-only "$1" | awk '{ print $3 }' | sort -u
}

# The names in AS 'MODULE_PATHNAME', 'name', with or without a line end between them.
tr '\n' ' ' <hybrid--1.0.sql | grep -oE "'MODULE_PATHNAME', *'[a-z0-9_]+'" |
	sed -E "s/.*'([a-z0-9_]+)'\$/\1\npg_finfo_\1/" >"$work/named"
find src -name '*.[ch]' -exec grep -hoE '^PGDLLEXPORT .*[ *]hybrid[a-z0-9_]+\(' {} + | sed -E 's/.*[ *]([a-z0-9_]+)\(/\1/' >>"$work/named"
printf '%s\n' Pg_magic_func _PG_init >>"$work/named"
sort -u "$work/named" -o "$work/named"
exports hybrid.so >"$work/exported"

comm -13 "$work/named" "$work/exported" >"$work/offences"
verdict "hybrid.so exports nothing that SQL does not name" "$work/offences"
comm -23 "$work/named" "$work/exported" >"$work/offences"
verdict "hybrid.so exports all that SQL names" "$work/offences"
tr '\n' ' ' <hybrid--1.0.sql | grep -oE "'MODULE_PATHNAME', *'[a-z0-9_]+'" |
	grep -vE "'hybrid[a-z0-9_]*'\$" >"$work/offences"
verdict "C names of SQL functions start with hybrid" "$work/offences"

# The subfolders of dispatch: the functions that one calls are defined by itself, by those before it or by core.
globals()
{
	printf '%s\n' "$@" | sed 's/\.c$/.o/' | xargs nm --defined-only | awk 'NF == 3 && $2 ~ /[A-Z]/ { print $3 }'
}
globals src/core/*.c >"$work/lower"
for folder in . model share route run tools; do
	globals src/dispatch/"$folder"/*.c >>"$work/lower"
	sort -u "$work/lower" -o "$work/lower"
	printf '%s\n' src/dispatch/"$folder"/*.c | sed 's/\.c$/.o/' | xargs nm --undefined-only |
		awk '$2 ~ /^hy_/ { print $2 }' | sort -u | comm -23 - "$work/lower" >"$work/offences"
	verdict "dispatch/$folder calls itself and lower subfolders only" "$work/offences"
done
printf '%s\n' Pg_magic_func _PG_init >"$work/named"
tr '\n' ' ' <compat/vector--0.8.0.sql | grep -oE "'MODULE_PATHNAME', *'[a-z0-9_]+'" |
	sed -E "s/.*'([a-z0-9_]+)'\$/\1\npg_finfo_\1/" >>"$work/named"
sort -u "$work/named" -o "$work/named"
exports hybrid_vector.so | comm -3 "$work/named" - >"$work/offences"
verdict "hybrid_vector.so exports what SQL names" "$work/offences"

for plugin in hybrid_emulated.so hybrid_cuda.so; do
	if [ ! -e "$plugin" ]; then
		# the CUDA plug-in is there only where nvcc is
		[ "$plugin" = hybrid_cuda.so ] || { echo "not ok - $plugin is built"; status=1; }
		continue
	fi
	exports "$plugin" | grep -vx hy_plugin_entry >"$work/offences"
	exports "$plugin" | grep -qx hy_plugin_entry || echo "hy_plugin_entry is missing" >>"$work/offences"
	verdict "$plugin exports hy_plugin_entry only" "$work/offences"
done

for library in hybrid.so hybrid_vector.so hybrid_emulated.so hybrid_cuda.so; do
	[ -e "$library" ] || continue
	readelf -d "$library" | grep NEEDED | grep -vE '\[(libc|libm|libdl|libpthread|librt|libgcc_s|ld-linux[a-z0-9-]*)\.so\.[0-9]+\]' \
		>"$work/offences"
	verdict "$library needs the C library only" "$work/offences"
done
exit $status
