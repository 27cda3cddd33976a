#!/bin/bash
# Tests other versions of PostgreSQL, each in a chroot of a Debian release that has the version.
#
#	test/versions.sh VERSION ...
#
# It builds with -Werror and runs pg_regress, the isolation tests and a part of the TAP tests (the step tap-short of
# test/check.sh). Then pg_upgrade moves a database of this machine's PostgreSQL 15 to the version (the step upgrade).
# Packages come from the mirror of Debian that this machine's apt is configured for, or from HYBRID_MIRROR. If a chroot
# cannot be made, the script prints 'not run' with the reason, and this is no failure: the mirror may be down, or a release
# may no longer have the version. Making a chroot needs root, or sudo that asks for no password. The last line counts the
# tests of all versions.
set -euo pipefail

cd "$(dirname "$0")/.."
checkout=$PWD
# seconds that a version may take: its chroot, then its tests
chroot_limit=480
tests_limit=900
steps=(build regress isolation tap-short)
# where the tree of PostgreSQL 15 is in a chroot
old=/opt/postgresql-15
# the line in which test/check.sh counts the tests
counted='[0-9]+ passed, [0-9]+ failed'
# postgresql-server-dev-NN depends on clang and LLVM, which are not needed, so it is only unpacked
packages=gcc,g++,make,libc6-dev,perl,libipc-run-perl

# release_of VERSION: the Debian release that has it
release_of()
{
	case $1 in
	15) echo bookworm ;;
	17) echo trixie ;;
	18) echo forky ;;
	esac
}

not_run()
{
	echo "PostgreSQL $1: not run: $2"
}

# apart COMMAND [ARG ...]: with mounts and processes of its own, all of which end with the command
apart()
{
	# The shell stays the first process: newer versions of timeout refuse to be that.
	# shellcheck disable=SC2016 # the inner shell expands these
	unshare --mount --pid --fork --kill-child bash -ec 'mount --make-rprivate /; mount -t proc proc /proc; "$@" || exit' bash "$@" </dev/null
}

# make_chroot VERSION DIR: its output goes to DIR.log
make_chroot()
{
	local version=$1 dir=$2 conf=/etc/postgresql-common/createcluster.d

	# A mirror that is copied once in a while keeps signed lists that have expired.
	apart timeout -k 10 "$chroot_limit" mmdebstrap --mode=root --variant=minbase \
		--aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Check-Valid-Until "false"' \
		--aptopt='Acquire::Retries "3"' --dpkgopt=force-unsafe-io \
		--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--include="$packages,postgresql-$version" \
		--essential-hook="mkdir -p \"\$1$conf\" && echo 'create_main_cluster = false' >\"\$1$conf/hybrid.conf\"" \
		--customize-hook="chroot \"\$1\" sh -ec 'cd /tmp
			apt-get -q download postgresql-server-dev-$version
			dpkg-deb -x postgresql-server-dev-*.deb /'" \
		"$(release_of "$version")" "$dir" "$mirror" >"$dir.log" 2>&1
}

# in_chroot DIR COMMAND [ARG ...]: with /proc, /dev and processes of its own
in_chroot()
{
	# shellcheck disable=SC2016 # the inner shell expands these
	apart bash -ec '
		mount -t proc proc "$0/proc"
		mount --bind /dev "$0/dev"
		mount -t tmpfs tmpfs "$0/dev/shm"
		exec chroot "$0" "$@"' "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "${@:2}"
}

# make_old DIR: this machine's PostgreSQL 15 with its build of hybrid and all libraries, for a chroot
make_old()
{
	local dir=$1 lib=usr/lib/postgresql/15 program

	# without the CUDA plug-in, which no upgrade needs
	${SUDO_USER:+sudo -u "$SUDO_USER"} env NVCC= test/check.sh build &&
		HYBRID_PG=15 test/server.sh tree "$dir" &&
		# PostgreSQL's compiler at run time needs LLVM, which is larger than all the rest
		rm -rf "$dir/tree/$lib/lib"/{llvmjit*,bitcode} &&
		test/libraries.sh "$dir/tree" "$dir/lib" &&
		mkdir "$dir/bin" || return
	cat >"$dir/run" <<-END
		#!/bin/sh
		LD_LIBRARY_PATH=$old/lib exec $old/tree/$lib/bin/"\${0##*/}" "\$@"
	END
	chmod 755 "$dir/run"
	for program in "$dir/tree/$lib/bin"/*; do
		ln -s ../run "$dir/bin/${program##*/}"
	done
}

# from_old DIR: put PostgreSQL 15 into a chroot, and try whether it runs there; prints its version or why it does not
from_old()
{
	if [ ! -e "$work/old.log" ]; then
		make_old "$work/old" >"$work/old.log" 2>&1 || rm -rf "$work/old"
	fi
	if [ ! -d "$work/old" ]; then
		tail -n 1 "$work/old.log"
		return 1
	fi
	mkdir -p "$1${old%/*}"
	cp -a "$work/old" "$1$old"
	in_chroot "$1" "$old/bin/postgres" --version 2>&1
}

# test_version VERSION DIR: adds to passed and failed
test_version()
{
	local version=$1 dir=$2 begin=$SECONDS status=0 counts reason own=("${steps[@]}")

	if ! wait "${making[$version]}"; then
		reason=$(grep -m 1 '^E: ' "$dir.log" || echo "no chroot in $chroot_limit s")
		not_run "$version" "$reason"
		return 0
	fi
	echo "$(in_chroot "$dir" "/usr/lib/postgresql/$version/bin/postgres" --version), $(release_of "$version"):"
	mkdir "$dir/root/hybrid"
	git -c safe.directory="$checkout" ls-files -z --cached --others --exclude-standard --deduplicate |
		while IFS= read -r -d '' file; do
			[ ! -f "$file" ] || printf '%s\0' "$file"
		done | tar -cf - --null -T - | tar -xf - --no-same-owner -C "$dir/root/hybrid"
	# the server's user reaches the checkout through it
	chmod 755 "$dir/root"
	if reason=$(from_old "$dir"); then
		own+=(upgrade)
	else
		not_run "$version" "pg_upgrade from PostgreSQL 15: $reason"
	fi
	in_chroot "$dir" timeout -k 30 "$tests_limit" env HYBRID_PG="$version" HYBRID_OLD_SERVER="$old" \
		/root/hybrid/test/check.sh "${own[@]}" 2>&1 | tee "$dir.tests" |
		{ grep --line-buffered -vxE "$counted" || true; } || status=$?
	mkdir -p "build/log/$version"
	cp "$dir"/root/hybrid/build/log/*.log "build/log/$version/" || true
	if ! counts=$(grep -xE "$counted" "$dir.tests"); then
		counts="0 passed, 1 failed"
		echo "PostgreSQL $version: the tests ended with status $status (124: stopped after $tests_limit s)"
	fi
	echo "PostgreSQL $version: $counts, $((SECONDS - begin)) s"
	passed=$((passed + ${counts%% *}))
	counts=${counts#*, }
	failed=$((failed + ${counts%% *}))
	rm -rf "$dir"
}

[ $# -gt 0 ] || { echo "usage: test/versions.sh VERSION ..." >&2 && exit 2; }
for version in "$@"; do
	[ -n "$(release_of "$version")" ] || { echo "test/versions.sh: no Debian release with PostgreSQL $version is known" >&2 && exit 2; }
done
# none WHY: nothing can be run
none()
{
	not_run "${versions[*]}" "$1"
	echo "0 passed, 0 failed"
	exit 0
}

versions=("$@")
if ! said=$(test/packages.sh versions 2>&1); then
	none "packages could not be installed: $said"
fi
if [ "$(id -u)" != 0 ]; then
	if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
		exec sudo -n "$0" "$@"
	fi
	none "a chroot takes root"
fi
if ! apart true 2>/dev/null; then
	none "a chroot takes the right to mount"
fi
# shellcheck disable=SC2016 # apt expands these
mirror=${HYBRID_MIRROR:-$(apt-get indextargets --format '$(LABEL) $(COMPONENT) $(SITE)' 'Identifier: Packages' 2>/dev/null |
	awk '$1 == "Debian" && $2 == "main" { print $3; exit }')}
if [ -z "$mirror" ]; then
	none "apt has no mirror of Debian"
fi

work=$(mktemp -d /tmp/hybrid-versions.XXXXXX)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
declare -A making
for version in "${versions[@]}"; do
	make_chroot "$version" "$work/$version" &
	making[$version]=$!
done
passed=0
failed=0
for version in "${versions[@]}"; do
	test_version "$version" "$work/$version"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
