#!/bin/bash
# Tests other versions of PostgreSQL, each in a chroot of a Debian release that has the version.
#
#	test/versions.sh VERSION ...
#
# It builds with -Werror and runs pg_regress, the isolation tests and a part of the TAP tests (the step tap-short of
# test/check.sh). Packages come from the mirror of Debian that this machine's apt is configured for. If a chroot cannot
# be made, the script prints 'not run' with the reason, and this is no failure: the mirror may be down, or a release may
# no longer have the version. Making a chroot needs root, or sudo that asks for no password.
set -euo pipefail

cd "$(dirname "$0")/.."
checkout=$PWD
# seconds that a version may take: its chroot, then its tests
chroot_limit=480
tests_limit=900
steps=(build regress isolation tap-short)
# postgresql-server-dev-NN depends on clang and LLVM, which are not needed, so it is only unpacked
packages=gcc,make,libc6-dev,perl,libipc-run-perl

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

# make_chroot VERSION DIR: its output goes to DIR.log
make_chroot()
{
	local version=$1 dir=$2 conf=/etc/postgresql-common/createcluster.d

	# A mirror that is copied once in a while keeps signed lists that have expired.
	timeout -k 10 "$chroot_limit" mmdebstrap --mode=root --variant=minbase \
		--aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Check-Valid-Until "false"' \
		--aptopt='Acquire::Retries "3"' --dpkgopt=force-unsafe-io \
		--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--include="$packages,postgresql-$version" \
		--essential-hook="mkdir -p \"\$1$conf\" && echo 'create_main_cluster = false' >\"\$1$conf/hybrid.conf\"" \
		--customize-hook="chroot \"\$1\" sh -ec 'cd /tmp
			apt-get -q download postgresql-server-dev-$version
			dpkg-deb -x postgresql-server-dev-*.deb /'" \
		"$(release_of "$version")" "$dir" "$mirror" >"$dir.log" 2>&1 </dev/null
}

# in_chroot DIR COMMAND [ARG ...]: with /proc, /dev and processes of its own, all of which end with the command
in_chroot()
{
	# shellcheck disable=SC2016 # the inner shell expands these
	unshare --mount --pid --fork --kill-child bash -ec '
		mount --make-rprivate /
		mount -t proc proc "$0/proc"
		mount --bind /dev "$0/dev"
		mount -t tmpfs tmpfs "$0/dev/shm"
		exec chroot "$0" "$@"' "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "${@:2}" </dev/null
}

# test_version VERSION DIR: 0 if all passed or nothing could be run
test_version()
{
	local version=$1 dir=$2 begin=$SECONDS status=0 reason

	if ! wait "${making[$version]}"; then
		reason=$(grep -m 1 '^E: ' "$dir.log" || echo 'no chroot in '"$chroot_limit"' s')
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
	in_chroot "$dir" timeout -k 30 "$tests_limit" env HYBRID_PG="$version" \
		/root/hybrid/test/check.sh "${steps[@]}" || status=$?
	mkdir -p "build/log/$version"
	cp "$dir"/root/hybrid/build/log/*.log "build/log/$version/" || true
	[ "$status" != 124 ] || echo "PostgreSQL $version: stopped after $tests_limit s"
	echo "PostgreSQL $version: $((SECONDS - begin)) s"
	rm -rf "$dir"
	return $((status != 0))
}

[ $# -gt 0 ] || { echo "usage: test/versions.sh VERSION ..." >&2 && exit 2; }
for version in "$@"; do
	[ -n "$(release_of "$version")" ] || { echo "test/versions.sh: no Debian release with PostgreSQL $version is known" >&2 && exit 2; }
done
if [ "$(id -u)" != 0 ]; then
	if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
		exec sudo -n "$0" "$@"
	fi
	not_run "$*" "a chroot takes root"
	exit 0
fi
if ! said=$(test/packages.sh versions 2>&1); then
	not_run "$*" "mmdebstrap could not be installed: $said"
	exit 0
fi
# shellcheck disable=SC2016 # apt expands these
mirror=$(apt-get indextargets --format '$(LABEL) $(COMPONENT) $(SITE)' 'Identifier: Packages' 2>/dev/null |
	awk '$1 == "Debian" && $2 == "main" { print $3; exit }')
if [ -z "$mirror" ]; then
	not_run "$*" "apt has no mirror of Debian"
	exit 0
fi

work=$(mktemp -d /tmp/hybrid-versions.XXXXXX)
trap 'rm -rf "$work"' EXIT
declare -A making
for version in "$@"; do
	make_chroot "$version" "$work/$version" &
	making[$version]=$!
done
failed=0
for version in "$@"; do
	test_version "$version" "$work/$version" || failed=1
done
exit "$failed"
