#!/bin/bash
# Copies the libraries that a tree of programs and modules needs, except those of the C library, so that the tree runs on
# another release of Debian.
#
#	test/libraries.sh TREE TO
set -euo pipefail

tree=${1:?usage: test/libraries.sh TREE TO}
to=${2:?usage: test/libraries.sh TREE TO}
mkdir -p "$to"
# ldd fails for what is no program of this machine, and says so of scripts
{ find "$tree" \( -perm -u+x -o -name '*.so' \) -type f -exec ldd {} + 2>/dev/null || true; } |
	awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
	grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv|ld-linux[^/]*)\.so' |
	xargs cp -L -t "$to"
