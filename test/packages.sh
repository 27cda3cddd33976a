#!/bin/bash
# Finds the Debian 12 packages that a make target needs and installs the missing ones.
#
#	test/packages.sh demo|check|bench|versions
#
# As root, or if sudo asks for no password, it installs them. Otherwise it prints the missing packages and the command
# that installs them, and fails. On its first installation, PostgreSQL's package would create and start a cluster. The
# script prevents this and leaves no trace of that setting. Installed packages are not changed.
set -euo pipefail

purpose=${1:?usage: test/packages.sh demo|check|bench|versions}
major=15

build=(gcc g++ make libc6-dev "postgresql-$major" "postgresql-server-dev-$major")
# OpenBLAS: with the reference BLAS the vectors of the demo take ten times as long
data=(python3-sklearn libopenblas0-pthread wordnet-base)
# what draws and measures the page of the demo
page=(python3-matplotlib python3-networkx python3-psycopg2)
# what bench/graph.sh measures beside the graph functions
peers=(libgraphblas7 python3-igraph "postgresql-$major-pgrouting")
# the clients that test/clients runs
clients=(python3-psycopg python3-psycopg2 python3-asyncpg python3-peewee python3-sqlalchemy python3-django)
tests=(clang clang-format libclang-rt-14-dev llvm-14 gcc-aarch64-linux-gnu libc6-dev-arm64-cross
	qemu-user libsimde-dev perl libipc-run-perl shellcheck cppcheck codespell
	valgrind chromium "${clients[@]}")

case $purpose in
demo) wanted=("${build[@]}" "${data[@]}" "${page[@]}") ;;
bench) wanted=("${build[@]}" "${data[@]}" "${peers[@]}" python3-matplotlib) ;;
check) wanted=("${build[@]}" "${tests[@]}" "${page[@]}") ;;
versions) wanted=(mmdebstrap git "${build[@]}") ;;
*)
	echo "test/packages.sh: unknown purpose '$purpose'" >&2
	exit 2
	;;
esac

# installed PACKAGE: unpacked and configured; a package removed but not purged is not
installed()
{
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]
}

if ! command -v dpkg-query >/dev/null; then
	echo "This machine has no dpkg: nothing can be checked or installed. On Debian 12 it takes:"
	echo "  ${wanted[*]}"
	exit 0
fi

missing=()
for package in "${wanted[@]}"; do
	installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

command="apt-get install --no-install-recommends ${missing[*]}"
as_root=()
if [ "$(id -u)" != 0 ]; then
	if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
		as_root=(sudo -n)
	else
		{
			echo "These Debian packages are missing: ${missing[*]}"
			echo "Install them as root with"
			echo "  $command"
			if [[ " ${missing[*]} " == *" postgresql-$major "* ]]; then
				echo "(PostgreSQL's package starts a server of its own unless"
				echo "/etc/postgresql-common/createcluster.d/hybrid.conf says create_main_cluster = false.)"
			fi
		} >&2
		exit 1
	fi
fi

root()
{
	"${as_root[@]}" "$@" </dev/null
}

log=$(mktemp)
dropin=/etc/postgresql-common/createcluster.d/zz-hybrid-no-cluster.conf
dropin_made=
folder_made=
finish()
{
	if [ -n "$dropin_made" ]; then
		root rm -f "$dropin"
		[ -z "$folder_made" ] || root rmdir --ignore-fail-on-non-empty "${dropin%/*}"
	fi
	rm -f "$log"
}
trap finish EXIT

apt()
{
	root env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 NEEDRESTART_SUSPEND=1 \
		apt-get -qq -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 \
		-o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@" >>"$log" 2>&1
}

updated=
# get PACKAGE ...: install, after one update where the package list is absent or stale
get()
{
	if [ -z "$updated" ] && apt -y --no-install-recommends install "$@"; then
		return
	fi
	if [ -z "$updated" ]; then
		echo "    fetching the package list"
		: >"$log"
		# one source that is down, or another vendor's, need not stop us: the install decides
		apt update || true
		updated=1
		if apt -y --no-install-recommends install "$@"; then
			return
		fi
	elif apt -y --no-install-recommends install "$@"; then
		return
	fi
	{
		tail -n 40 "$log"
		echo "Could not install: $*"
	} >&2
	exit 1
}

start=$SECONDS
echo "Installing from Debian: ${missing[*]}"
if [[ " ${missing[*]} " == *" postgresql-$major "* ]]; then
	installed postgresql-common || get postgresql-common
	if [ ! -e "$dropin" ]; then
		[ -d "${dropin%/*}" ] || folder_made=1
		root mkdir -p "${dropin%/*}"
		dropin_made=1
		echo "create_main_cluster = false" | "${as_root[@]}" tee "$dropin" >/dev/null
	fi
	conf=/etc/postgresql-common/createcluster.conf
	if [ "$(pg_conftool "$conf" show -bs create_main_cluster 2>/dev/null)" != off ]; then
		echo "$conf does not read ${dropin%/*}: set create_main_cluster = false there," >&2
		echo "or PostgreSQL's package creates a server of its own." >&2
		exit 1
	fi
fi
get "${missing[@]}"
echo "Installed in $((SECONDS - start)) s."
