#!/bin/bash
# Tests what a release consists of, in bare chroots of Debian: the archive (make dist), the packages (make deb), and the
# steps of the Dockerfile.
#
#	test/release.sh [RELEASE ...]		bookworm and trixie by default
#
# The archive has what is committed. For each release of Debian:
#
# * a chroot with only the packages that docs/deployment.md names unpacks the archive, runs `make deb` and lintian;
# * a bare chroot installs the packages and tries them, replaces pgvector, and removes them;
# * on the first release, the steps of the Dockerfile run in these chroots, which have the layout of the official image;
# * the regression tests run from the unpacked archive, on the cluster that Debian's package created.
#
# Prints a line of TAP per check. If no chroot can be made, prints 'not run' with the reason, which is no failure.
# Needs root, or sudo that asks for no password.
set -uo pipefail

cd "$(dirname "$0")/.." || exit
# shellcheck source=test/chroot.sh
. test/chroot.sh
checks=0
failures=0

not_run()
{
	echo "release: not run: $1"
	exit 0
}

# check NAME COMMAND [ARG ...]: whether it succeeds; what it prints is shown if it fails
check()
{
	local name=$1 status=0

	shift
	"$@" >"$work/output" 2>&1 || status=$?
	checks=$((checks + 1))
	if [ "$status" = 0 ]; then
		echo "ok $checks - $name"
		return 0
	fi
	echo "not ok $checks - $name"
	tail -n 60 "$work/output" | sed 's/^/#   /'
	failures=$((failures + 1))
	return 1
}

# script DIR [NAME=VALUE ...]: runs a script from standard input in a chroot, and stops at the first failure
script()
{
	local dir=$1

	shift
	cat >"$dir/root/script"
	in_chroot "$dir" env "$@" bash -euxo pipefail /root/script
}

# version_of RELEASE: of PostgreSQL
version_of()
{
	case $1 in
	bookworm) echo 15 ;;
	trixie) echo 17 ;;
	*) return 1 ;;
	esac
}

build_packages()
{
	script "$1" <<-'SCRIPT'
		apt-get -q install -y build-essential debhelper postgresql-server-dev-all unzip lintian
		cd /root
		unzip -q hybrid-*.zip
		cd hybrid-*/
		make deb
		test "$(ls build/deb/*.deb | grep -vc dbgsym)" = 2
	SCRIPT
}

# All tags of errors and warnings, but for what debian/*.lintian-overrides explains.
lintian_is_silent()
{
	script "$1" <<-'SCRIPT'
		cd /root/hybrid-*/build/deb
		lintian --allow-root --fail-on error,warning *.changes
	SCRIPT
}

# What a new user does.
try_packages()
{
	script "$1" V="$2" <<-'SCRIPT'
		apt-get -q install -y ./root/postgresql-$V-hybrid_*.deb ./root/postgresql-$V-hybrid-vector_*.deb
		minor=$(dpkg-query -W -f '${Version}' postgresql-$V)
		[[ $(dpkg-query -W -f '${Depends}' postgresql-$V-hybrid) == *"postgresql-$V (>= ${minor%%-*}~)"* ]]
		pg_ctlcluster $V main status || pg_ctlcluster $V main start
		cat >/tmp/try.sql <<-'SQL'
			CREATE EXTENSION hybrid;
			CREATE TABLE doc (id bigint PRIMARY KEY, title text, v vector(3));
			INSERT INTO doc VALUES (1, 'cat', '[1,0,0.1]'), (2, 'dog', '[0.9,0.3,0]'), (3, 'car', '[0,0.2,1]');
			CREATE INDEX ON doc USING hybrid (v vector_cosine_ops);
			SELECT string_agg(title, ' ') FROM (SELECT title FROM doc ORDER BY v <=> '[1,0,0.1]' LIMIT 2) near;
			CREATE TABLE link (source bigint, target bigint, weight real);
			INSERT INTO link VALUES (1, 2, 1), (3, 1, 4);
			SELECT string_agg(id::text, ' ' ORDER BY activation DESC)
			FROM hybrid_spread('SELECT source, target, weight FROM link', ARRAY[3]);
			CREATE EXTENSION vector;
			CREATE INDEX ON doc USING hnsw (v vector_l2_ops) WITH (m = 8);
			SET enable_seqscan = off;
			SELECT string_agg(title, ' ') FROM (SELECT title FROM doc ORDER BY v <-> '[0,0,1]' LIMIT 1) near;
			SHOW shared_preload_libraries;
		SQL
		test "$(runuser -u postgres -- psql -XqAt -v ON_ERROR_STOP=1 -f /tmp/try.sql 2>/tmp/notices)" = \
			$'cat dog\n3 1 2\ncar'
		grep -q 'have no effect' /tmp/notices
		pg_ctlcluster $V main stop
	SCRIPT
}

# Either of them replaces the other, and nothing of them is left in the end. Debian 12 has no package of pgvector: there
# one with the same name and a file of the same name takes its place.
replace_pgvector()
{
	script "$1" V="$2" <<-'SCRIPT'
		control=/usr/share/postgresql/$V/extension/vector.control
		pgvector=postgresql-$V-pgvector
		if [ -z "$(apt-cache search --names-only "^$pgvector\$")" ]; then
			mkdir -p /tmp/pgvector/DEBIAN "/tmp/pgvector/${control%/*}"
			touch /tmp/pgvector/$control
			printf '%s\n' "Package: $pgvector" 'Version: 0.8' 'Architecture: all' 'Maintainer: none <none@none.invalid>' \
				'Description: stands for pgvector' >/tmp/pgvector/DEBIAN/control
			dpkg-deb --build /tmp/pgvector /tmp/pgvector.deb
			pgvector=/tmp/pgvector.deb
		fi
		apt-get -q install -y $pgvector
		dpkg -S $control | grep -qx "postgresql-$V-pgvector: $control"
		! dpkg -s postgresql-$V-hybrid-vector | grep -q '^Status:.* installed'
		dpkg -s postgresql-$V-hybrid | grep -q '^Status:.* installed'
		apt-get -q install -y ./root/postgresql-$V-hybrid-vector_*.deb
		dpkg -S $control | grep -qx "postgresql-$V-hybrid-vector: $control"
		! dpkg -s postgresql-$V-pgvector | grep -q '^Status:.* installed'
		apt-get -q purge -y postgresql-$V-hybrid
		! find / -xdev -path /root -prune -o -path /tmp -prune -o -path /var/cache -prune -o -name '*hybrid*' -print | grep .
	SCRIPT
}

# image_layout DIR VERSION: what the official image has of it; without package lists, as there
image_layout()
{
	script "$1" V="$2" <<-'SCRIPT'
		apt-get -q install -y postgresql-common
		sed -i 's/#*create_main_cluster.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf
		apt-get -q install -y postgresql-$V
		dpkg-divert --add --rename --divert /usr/share/postgresql/postgresql.conf.sample.dpkg \
			/usr/share/postgresql/$V/postgresql.conf.sample
		cp /usr/share/postgresql/postgresql.conf.sample.dpkg /usr/share/postgresql/postgresql.conf.sample
		ln -s ../postgresql.conf.sample /usr/share/postgresql/$V/
		mkdir /docker-entrypoint-initdb.d
		rm -rf /var/lib/apt/lists/*
	SCRIPT
}

# build_image VERSION CONTEXT DIR DIR: the steps of the Dockerfile, for its stages in these chroots
build_image()
{
	local version=$1 context=$2 stages=("${@:3}") stage=-1 dir='' folder=/ instruction words minor

	# shellcheck disable=SC2016 # dpkg-query expands it
	minor=$(in_chroot "${stages[1]}" dpkg-query -W -f '${Version}' "postgresql-$version") || return
	while read -r instruction words; do
		echo "$instruction $words"
		case $instruction in
		ARG) ;;
		FROM)
			stage=$((stage + 1))
			dir=${stages[stage]}
			folder=/
			;;
		WORKDIR) folder=$words ;;
		COPY)
			case $words in
			". "*) cp -a "$context" "$dir${words#. }" ;;
			"--from=build "*" /") cp -a "${stages[0]}$(awk '{ print $2 }' <<<"$words")/." "$dir/" ;;
			*) false ;;
			esac || return
			;;
		RUN)
			in_chroot "$dir" env PG_MAJOR="$version" PG_VERSION="$minor" PATH="/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/postgresql/$version/bin" \
				sh -c "cd $folder && $words" || return
			;;
		*)
			echo "unknown instruction: $instruction"
			return 1
			;;
		esac
	done < <(grep -Ev '^(#|$)' Dockerfile | sed -e :a -e '/\\$/N; s/\\\n//; ta')
	[ "$stage" = 1 ]
}

# What the entry point of the official image does with a new volume, and a client's first statements after that.
start_image()
{
	script "$1" V="$2" <<-'SCRIPT'
		export PATH=$PATH:/usr/lib/postgresql/$V/bin
		install -d -o postgres /data
		runuser -u postgres -- env PATH="$PATH" bash -euxo pipefail <<-'AS_POSTGRES'
			initdb -D /data >/dev/null
			pg_ctl -D /data -w -l /data/log start
			for file in /docker-entrypoint-initdb.d/*.sql; do psql -Xq -v ON_ERROR_STOP=1 -f $file; done
			createdb app
			test "$(psql -XqAt -v ON_ERROR_STOP=1 app -c 'SHOW shared_preload_libraries' \
				-c 'CREATE EXTENSION IF NOT EXISTS vector' -c 'CREATE TABLE item (v vector(3))' \
				-c 'CREATE INDEX ON item USING hnsw (v vector_l2_ops)' -c "INSERT INTO item VALUES ('[1,2,3]')" \
				-c "SELECT v FROM item ORDER BY v <-> '[1,1,1]' LIMIT 1" 2>/dev/null)" = $'hybrid\n[1,2,3]'
			pg_ctl -D /data -w stop
		AS_POSTGRES
	SCRIPT
}

# install_check DIR VERSION: on a cluster as Debian's package creates it, but without autovacuum, whose statistics would
# change plans
install_check()
{
	script "$1" V="$2" <<-'SCRIPT'
		apt-get -q install -y ./root/hybrid-*/build/deb/postgresql-$V-hybrid_*.deb
		pg_conftool $V main set autovacuum off
		pg_ctlcluster $V main restart
		cp -r /root/hybrid-*/ /tmp/hybrid
		chown -R postgres /tmp/hybrid
		cd /tmp/hybrid
		runuser -u postgres -- make installcheck PG_CONFIG=/usr/lib/postgresql/$V/bin/pg_config ||
			{ cat regression.diffs; exit 1; }
	SCRIPT
}

[ $# -gt 0 ] || set -- bookworm trixie
for release in "$@"; do
	version_of "$release" >/dev/null || { echo "test/release.sh: unknown release '$release'" >&2 && exit 2; }
done
if [ "$(id -u)" != 0 ]; then
	if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
		exec sudo -n "$0" "$@"
	fi
	not_run "a chroot takes root"
fi
said=$(test/packages.sh versions 2>&1) || not_run "mmdebstrap could not be installed: $said"
mirror=$(debian_mirror)
[ -n "$mirror" ] || not_run "apt has no mirror of Debian"

work=$(mktemp -d /tmp/hybrid-release.XXXXXX)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
check "make dist" make -s dist || exit 1
first=$1
for release in "$@"; do
	version=$(version_of "$release")
	bare=$work/$release/bare
	build=$work/$release/build
	mkdir "$work/$release"
	if ! bare_chroot "$release" "$bare" "$mirror" >"$work/log" 2>&1 </dev/null; then
		echo "$release: not run: $(grep -m 1 '^E: ' "$work/log")"
		continue
	fi
	cp -a "$bare" "$build"
	cp build/dist/hybrid-*.zip "$build/root/"
	check "$release: packages from the archive" build_packages "$build" || continue
	check "$release: lintian" lintian_is_silent "$build"
	find "$build"/root/hybrid-*/build/deb -name '*.deb' ! -name '*dbgsym*' -exec cp {} "$bare/root/" \;
	if [ "$release" = "$first" ]; then
		cp -a "$bare" "$work/$release/image"
	fi
	check "$release: install and try" try_packages "$bare" "$version" &&
		check "$release: in place of pgvector, and removed" replace_pgvector "$bare" "$version"
	check "$release: installcheck on Debian's cluster" install_check "$build" "$version"
	if [ "$release" = "$first" ]; then
		image=$work/$release/image
		check "the layout of the official image" image_layout "$image" "$version" &&
			check "steps of the Dockerfile" build_image "$version" "$(echo "$build"/root/hybrid-*/)" "$build" "$image" &&
			check "a new volume of the image" start_image "$image" "$version"
	fi
	rm -rf "${work:?}/$release"
done
echo "1..$checks"
[ "$failures" = 0 ]
