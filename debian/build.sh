#!/bin/bash
# Builds the packages of Debian from this tree (make deb).
#
# There are packages for each version of PostgreSQL whose postgresql-server-dev-NN is installed. Those of the CUDA
# plug-in are built only where nvcc is found. All packages, and their source package, go to build/deb.
set -euo pipefail

cd "$(dirname "$0")/.."
for command in dpkg-buildpackage dh pg_buildext; do
	if ! command -v "$command" >/dev/null; then
		echo "$command is missing. On Debian: apt-get install build-essential debhelper postgresql-server-dev-all" >&2
		exit 1
	fi
done

# sources: list every file that git does not ignore; in an unpacked archive, every file that `make` did not build
sources()
{
	if [ -e .git ]; then
		git -c safe.directory="$PWD" ls-files -z --cached --others --exclude-standard --deduplicate |
			while IFS= read -r -d '' file; do
				[ ! -f "$file" ] || printf '%s\0' "$file"
			done
	else
		find . -path ./build -prune -o -type f ! -name '*.o' ! -name '*.so' ! -name '*.d' -print0
	fi
}

name=postgresql-hybrid
version=$(sed -nE '1s/.*\((.*)-[^-]*\).*/\1/p' debian/changelog)
out=build/deb
tree=$out/$name-$version
rm -rf "$out"
mkdir -p "$tree"
sources | tar -cf - --null -T - | tar -xf - -C "$tree"
tar -czf "$out/${name}_$version.orig.tar.gz" --exclude="$name-$version/debian" -C "$out" "$name-$version"

# make passes its own options in these variables, and the Debian build must not inherit them
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
export PG_SUPPORTED_VERSIONS=${PG_SUPPORTED_VERSIONS:-installed}
if [ -z "${DEB_BUILD_PROFILES+set}" ] && [ -n "$(make -s cuda-nvcc)" ]; then
	export DEB_BUILD_PROFILES=pkg.postgresql-hybrid.cuda
fi
cd "$tree"
pg_buildext updatecontrol
dpkg-buildpackage -us -uc
cd ..
rm -rf "${tree##*/}"
echo "In $out:"
ls ./*.deb
