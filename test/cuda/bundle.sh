#!/bin/bash
# Pack what test/gpu_hour.sh needs on a machine that has a GPU driver, but no PostgreSQL, nvcc or network.
#
#	test/cuda/bundle.sh [BUILT [OUT [LEVEL]]]
#
# BUILT is the directory of the programs: build/cuda, which `make gpu-programs` fills, or build/cuda/fake for a dry run
# on the fake device.  OUT is the archive (build/gpu/hybrid-gpu.tar.xz by default), and LEVEL is the compression level
# of xz (6).  An archive above 45 MB is refused, because 64 MiB in all can be copied to a machine.
#
# The archive is a small checkout, and the scripts run in it as they do here.  It has no object files and no Makefile,
# so nothing is built there.  server/ has this machine's PostgreSQL 15, which finds its files relative to its own
# binaries, and the shared libraries that PostgreSQL needs.  The C library is the other machine's, 2.36 or later.
set -euo pipefail

cd "$(dirname "$0")/../.."
built=${1:-build/cuda}
out=$(realpath -m "${2:-build/gpu/hybrid-gpu.tar.xz}")
level=${3:-6}
most=45000000
major=15
lib=usr/lib/postgresql/$major
share=usr/share/postgresql/$major
plugin=hybrid_cuda.so
[ "$built" = build/cuda ] || plugin=$built/hybrid_cuda.so

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

for file in hybrid.so hybrid_emulated.so "$plugin" "$built"/{gpucheck,gpucheck_filter,gpubench,hog}; do
	[ -e "$file" ] || { echo "$file is not built" >&2 && exit 1; }
done
[ -x "/$lib/bin/postgres" ] || { echo "PostgreSQL $major is not in /$lib" >&2 && exit 1; }

mkdir -p "$root"/{build/cuda,test/cuda,bench,server/so,"server/$lib/lib/pgxs/src/test","server/${share%/*}"}
cp -a "/$lib/bin" "$root/server/$lib/"
# PostgreSQL's compiler at run time needs LLVM, which is larger than all the rest
find "/$lib/lib" -maxdepth 1 -name '*.so' ! -name 'llvmjit*' -exec cp -a -t "$root/server/$lib/lib" {} +
cp -a "/$lib/lib/pgxs/src/test/regress" "$root/server/$lib/lib/pgxs/src/test/"
cp -a "/$share" "$root/server/${share%/*}/"
rm -rf "$root/server/$share/man"
# nor is what other packages have put there: PostGIS takes more libraries than all the rest
if owned=$(dpkg -L "postgresql-$major" "postgresql-client-$major" "postgresql-server-dev-$major" 2>/dev/null); then
	(cd "$root/server" && find usr ! -type d -printf '/%p\n' | grep -vxFf <(printf '%s\n' "$owned") |
		sed 's|^/||' | xargs -r -d '\n' rm)
fi
test/libraries.sh "$root/server/$lib" "$root/server/so"

cp hybrid.so hybrid_emulated.so "$root/"
cp "$plugin" "$root/hybrid_cuda.so"
cp "$built"/{gpucheck,gpucheck_filter,gpubench,hog} "$root/build/cuda/"
# the fake device's hog is a script
strip -g "$root"/*.so "$root"/build/cuda/gpu*
# libraries of the fake device's machine
[ ! -d "$built/lib" ] || cp -r "$built/lib" "$root/lib"
cp -r sql expected hybrid.control hybrid--*.sql "$root/"
cp test/device.sh test/server.sh "$root/test/"
cp test/cuda/gpucheck.sh "$root/test/cuda/"
cp bench/gpu.sh bench/gpu_sql.sh bench/gpu_peers.py "$root/bench/"
git -c safe.directory="$PWD" describe --always --dirty >"$root/commit" 2>/dev/null || echo unknown >"$root/commit"

mkdir -p "${out%/*}"
tar -C "$root" --owner=0 --group=0 -cf - . | xz -T0 "-$level" >"$out"
bytes=$(stat -c %s "$out")
echo "$out: $bytes bytes, commit $(cat "$root/commit")"
if [ "$bytes" -gt "$most" ]; then
	rm "$out"
	echo "that is more than $most bytes" >&2
	exit 1
fi
