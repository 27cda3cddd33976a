#!/bin/bash
# A private, temporary PostgreSQL with this checkout's build of hybrid in it.
#
#	test/server.sh tree DIR						copy a server tree into DIR and install hybrid there
#	test/server.sh up DIR [setting=value ...]	the same, then initdb and start
#	test/server.sh install DIR					copy the freshly built extension into the tree again
#	test/server.sh run DIR COMMAND [ARG ...]	run a command against it, as the server's user
#	test/server.sh start|restart|stop DIR		with the existing data
#	test/server.sh kill DIR						end it at once, like a crash
#	test/server.sh down DIR						stop it and remove DIR
#
# The server is the `postgres` in PATH, if it lies as in Debian below any directory (a tree that was moved to a machine
# without packages; LD_LIBRARY_PATH is passed on), otherwise Debian's own.
# Nothing is installed into the system's PostgreSQL. PostgreSQL finds its files relative to its own
# binary, so a copied tree is a whole installation. It listens only on a socket in DIR. If root
# starts it, the server runs as the unprivileged user 'postgres' (or 'nobody'), because PostgreSQL
# refuses root.
set -euo pipefail

usage="usage: test/server.sh tree|up|install|run|start|restart|stop|kill|down DIR"
verb=${1:?$usage}
dir=$(realpath -m "${2:?$usage}")
shift 2
checkout=$(cd "$(dirname "$0")/.." && pwd)
major=${HYBRID_PG:-15}
lib=usr/lib/postgresql/$major
share=usr/share/postgresql/$major
bindir=$dir/tree/$lib/bin
# what $lib and $share are below, '' for /
from=$(realpath "$(command -v postgres)" 2>/dev/null) || from=
case $from in
*"/$lib/bin/postgres") from=${from%"/$lib/bin/postgres"} ;;
*) from= ;;
esac

owner=
if [ "$(id -u)" = 0 ]; then
	owner=nobody
	if id postgres >/dev/null 2>&1; then
		owner=postgres
	fi
fi

# as_server COMMAND ...: as the user who owns the server, in a directory that user can read
as_server()
{
	local user=()

	[ -z "$owner" ] || user=(setpriv --reuid="$owner" --regid="$(id -g "$owner")" --clear-groups
		env HOME="$dir" USER="$owner" LOGNAME="$owner" TMPDIR="$dir/tmp")
	cd "$dir"
	exec "${user[@]}" env PATH="$bindir:/usr/local/bin:/usr/bin:/bin" \
		PGHOST="$dir/socket" PGPORT=5432 PGUSER=postgres PGDATABASE="${PGDATABASE:-postgres}" \
		LC_ALL=C.UTF-8 "$@"
}

# as_server replaces the process; this one comes back
call_as_server()
{
	(as_server "$@")
}

# install_library FROM TO: where it was built; a new file, not new bytes in one that a backend has mapped
install_library()
{
	[ -e "$1" ] || return 0
	install -m 755 "$1" "$2.new"
	mv "$2.new" "$2"
}

install_extension()
{
	local libdir=$dir/tree/$lib/lib extensions=$dir/tree/$share/extension f

	for f in hybrid.so hybrid_emulated.so hybrid_cuda.so; do
		install_library "$checkout/$f" "$libdir/$f"
	done
	# the CUDA plug-in on the fake device, for tests that want its threads in a backend
	install_library "$checkout/build/cuda/fake/hybrid_cuda.so" "$libdir/hybrid_cuda_fake.so"
	install -m 644 "$checkout/hybrid.control" "$checkout"/hybrid--*.sql "$extensions/"
	# The extension "vector" is hybrid's, also where the machine has pgvector.
	if [ -e "$checkout/hybrid_vector.so" ]; then
		rm -f "$libdir/vector.so" "$extensions"/vector{.control,--*.sql}
		install_library "$checkout/hybrid_vector.so" "$libdir/hybrid_vector.so"
		install -m 644 "$checkout"/compat/vector{.control,--*.sql} "$extensions/"
	fi
}

make_tree()
{
	if [ ! -x "$from/$lib/bin/postgres" ]; then
		echo "test/server.sh: PostgreSQL $major is not in $from/$lib: apt-get install postgresql-$major" >&2
		exit 1
	fi
	if [ ! -e "$checkout/hybrid.so" ]; then
		echo "test/server.sh: hybrid.so is not built: make" >&2
		exit 1
	fi
	if [ -e "$dir/tree" ]; then
		echo "test/server.sh: $dir is in use: test/server.sh down $dir" >&2
		exit 1
	fi
	if [ ${#dir} -gt 80 ]; then
		echo "test/server.sh: $dir is too long for a socket's name" >&2
		exit 1
	fi
	mkdir -p "$dir/tree/${lib%/*}" "$dir/tree/${share%/*}" "$dir/socket" "$dir/tmp"
	chmod 755 "$dir"
	[ -z "$owner" ] || chown "$owner" "$dir" "$dir/socket" "$dir/tmp"
	cp -a "$from/$lib" "$dir/tree/${lib%/*}/"
	cp -a "$from/$share" "$dir/tree/${share%/*}/"
	install_extension
	if ! call_as_server test -x "$bindir/postgres"; then
		echo "test/server.sh: user ${owner:-$(id -un)} cannot reach $dir" >&2
		exit 1
	fi
}

control()
{
	call_as_server "$bindir/pg_ctl" -D "$dir/data" -l "$dir/server.log" -w -t 120 "$@" \
		>"$dir/pg_ctl.log" 2>&1 </dev/null
}

start()
{
	control start || {
		cat "$dir/pg_ctl.log" >&2
		tail -n 30 "$dir/server.log" >&2
		exit 1
	}
}

case $verb in
tree)
	make_tree
	;;
up)
	make_tree
	call_as_server "$bindir/initdb" -D "$dir/data" -U postgres -A trust --no-sync -E UTF8 \
		--locale=C.UTF-8 >"$dir/initdb.log" 2>&1 || {
		cat "$dir/initdb.log" >&2
		exit 1
	}
	{
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$dir/socket'"
		echo "fsync = off"
		# the one that is there without any files of time zones
		echo "timezone = 'GMT'"
		for setting in "$@"; do echo "$setting"; done
	} >>"$dir/data/postgresql.conf"
	start
	;;
install)
	install_extension
	;;
run)
	as_server "$@"
	;;
start)
	start
	;;
restart)
	control -m fast stop
	start
	;;
stop)
	control -m fast stop
	;;
kill)
	# the postmaster first, so that it cannot see its children go, then each of them
	read -r postmaster <"$dir/data/postmaster.pid"
	# which has no more of them once it is stopped, and that takes a while on a busy machine
	kill -STOP "$postmaster"
	while grep -qs '^State:.[^TZ]' "/proc/$postmaster/status"; do
		sleep 0.02
	done
	mapfile -t children < <(awk -v parent="$postmaster" \
		'/^Pid:/ { pid = $2 } /^PPid:/ && $2 == parent { print pid }' /proc/[0-9]*/status 2>/dev/null)
	kill -9 "$postmaster" "${children[@]}" 2>/dev/null || true
	for process in "$postmaster" "${children[@]}"; do
		while [ -e "/proc/$process/status" ] && ! grep -qs '^State:.Z' "/proc/$process/status"; do
			sleep 0.02
		done
	done
	# a zombie that nobody has waited for yet would pass for a running postmaster
	rm -f "$dir/data/postmaster.pid" "$dir"/socket/.s.PGSQL.*
	;;
down)
	if [ -e "$dir/data/postmaster.pid" ]; then
		control -m immediate stop || true
	fi
	if [ -d "$dir/tree" ]; then
		rm -rf "$dir"
	fi
	;;
*)
	echo "$usage" >&2
	exit 2
	;;
esac
