#!/bin/bash
# A private, throw-away PostgreSQL 15 with this checkout's build of hybrid in it.
#
#	test/server.sh up DIR [setting=value ...]	copy a server tree into DIR, install, initdb, start
#	test/server.sh install DIR					copy the freshly built extension into the tree again
#	test/server.sh run DIR COMMAND [ARG ...]	run a command against it, as the server's user
#	test/server.sh down DIR						stop it and remove DIR
#
# Nothing goes into the system's PostgreSQL.  PostgreSQL finds its files relative to its own
# binary, so a copied tree is a whole installation.  It listens on a socket in DIR only.  Started
# by root, the server runs as the unprivileged user 'postgres' (or 'nobody'), since PostgreSQL
# refuses root.
set -euo pipefail

verb=${1:?usage: test/server.sh up|install|run|down DIR}
dir=${2:?usage: test/server.sh up|install|run|down DIR}
shift 2
checkout=$(cd "$(dirname "$0")/.." && pwd)
major=15
bindir=$dir/tree/usr/lib/postgresql/$major/bin

# as_server COMMAND ...: as the user who owns the server, in a directory that user can read
as_server()
{
	if [ "$(id -u)" = 0 ]; then
		local user=nobody
		id postgres >/dev/null 2>&1 && user=postgres
		(cd "$dir" && exec setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups \
			env HOME="$dir" USER="$user" PATH="$bindir:/usr/bin:/bin" PGHOST="$dir/socket" PGPORT=5432 \
			PGUSER=postgres PGDATABASE="${PGDATABASE:-postgres}" LC_ALL=C.UTF-8 "$@")
	else
		(cd "$dir" && exec env PATH="$bindir:/usr/bin:/bin" PGHOST="$dir/socket" PGPORT=5432 \
			PGUSER=postgres PGDATABASE="${PGDATABASE:-postgres}" LC_ALL=C.UTF-8 "$@")
	fi
}

install_extension()
{
	local lib=$dir/tree/usr/lib/postgresql/$major/lib share=$dir/tree/usr/share/postgresql/$major/extension f
	for f in hybrid.so hybrid_emulated.so hybrid_cuda.so; do
		if [ -e "$checkout/$f" ]; then
			# a new file, not new bytes in a file that a running backend has mapped
			cp "$checkout/$f" "$lib/$f.new" && chmod 755 "$lib/$f.new" && mv "$lib/$f.new" "$lib/$f"
		fi
	done
	cp "$checkout/hybrid.control" "$checkout"/hybrid--*.sql "$share/"
	chmod 644 "$share"/hybrid*
}

case $verb in
up)
	mkdir -p "$dir/tree/usr/lib/postgresql" "$dir/tree/usr/share/postgresql" "$dir/socket"
	cp -a "/usr/lib/postgresql/$major" "$dir/tree/usr/lib/postgresql/"
	cp -a "/usr/share/postgresql/$major" "$dir/tree/usr/share/postgresql/"
	install_extension
	chmod 755 "$dir"
	if [ "$(id -u)" = 0 ]; then
		owner=nobody
		id postgres >/dev/null 2>&1 && owner=postgres
		chown "$owner" "$dir" "$dir/socket"
	fi
	as_server "$bindir/initdb" -D "$dir/data" -U postgres -A trust --no-sync -E UTF8 \
		--locale=C.UTF-8 >"$dir/initdb.log" 2>&1 || { cat "$dir/initdb.log" >&2; exit 1; }
	{
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$dir/socket'"
		echo "fsync = off"
		echo "timezone = 'UTC'"
		for setting in "$@"; do echo "$setting"; done
	} >>"$dir/data/postgresql.conf"
	as_server "$bindir/pg_ctl" -D "$dir/data" -l "$dir/server.log" -w start >/dev/null || {
		cat "$dir/server.log" >&2; exit 1; }
	;;
install)
	install_extension
	;;
run)
	as_server "$@"
	;;
down)
	as_server "$bindir/pg_ctl" -D "$dir/data" -m immediate -w stop >/dev/null 2>&1 || true
	rm -rf "$dir"
	;;
*)
	echo "test/server.sh: unknown verb '$verb'" >&2
	exit 2
	;;
esac
