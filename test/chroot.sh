# Chroots of Debian releases, for scripts that source this file as root. Packages come from the mirror of Debian that
# this machine's apt is configured for.
# shellcheck shell=bash

# debian_mirror: prints it, or nothing
debian_mirror()
{
	# shellcheck disable=SC2016 # apt expands these
	apt-get indextargets --format '$(LABEL) $(COMPONENT) $(SITE)' 'Identifier: Packages' 2>/dev/null |
		awk '$1 == "Debian" && $2 == "main" { print $3; exit }'
}

# bare_chroot RELEASE DIR MIRROR: what is essential, apt, and the package lists, with the security updates
bare_chroot()
{
	local security=${3%/debian}/debian-security

	# A mirror that is copied once in a while keeps signed lists that have expired.
	mmdebstrap --mode=root --variant=minbase --skip=cleanup/apt/lists \
		--aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Check-Valid-Until "false"' \
		--aptopt='Acquire::Retries "3"' --dpkgopt=force-unsafe-io "$1" "$2" \
		"deb $3 $1 main" "deb $3 $1-updates main" "deb $security $1-security main"
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
		exec chroot "$0" "$@"' "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive "${@:2}" </dev/null
}
