#!/bin/bash
# hybrid_calibrate() and hybrid_audit() in a private server with a plug-in; output lines as in bench/gpu.c.
#
#	bench/gpu_sql.sh PLUGIN
#
# One session runs both, as a role that is not a superuser and whose only grant is hybrid_calibrate(). The calibration
# comes first and opens the device, because the audit does not open one. If PostgreSQL is not found, the output says so.
set -uo pipefail

cd "$(dirname "$0")/.." || exit 2
plugin=${1:?usage: bench/gpu_sql.sh PLUGIN}

# not_available WHY
not_available()
{
	echo "sql_audit_right_share,,ratio,>= 0.95,not available,${1//[,$'\n']/;}"
	exit 0
}

[ -e hybrid.so ] || not_available "hybrid.so is not built"
[ -x /usr/lib/postgresql/15/bin/postgres ] || command -v postgres >/dev/null || not_available "PostgreSQL 15 was not found"
private=$(mktemp -d /tmp/hybrid-gpu-sql.XXXXXX)
server=$private/pg

# shellcheck disable=SC2317  # called by the trap
close_private()
{
	test/server.sh down "$server"
	rm -rf "$private"
}
chmod 755 "$private"
trap close_private EXIT
trap 'exit 143' TERM INT

test/server.sh up "$server" "shared_preload_libraries = 'hybrid'" "hybrid.plugins = '$plugin'" >"$private/up" 2>&1 ||
	not_available "no server: $(tail -n 1 "$private/up")"
test/server.sh run "$server" psql -X -q -v ON_ERROR_STOP=1 -c "CREATE EXTENSION hybrid" -c "CREATE ROLE bench LOGIN" \
	-c "GRANT EXECUTE ON FUNCTION hybrid_calibrate(), hybrid_audit() TO bench" >"$private/up" 2>&1 ||
	not_available "$(tail -n 1 "$private/up")"
if ! test/server.sh run "$server" psql -X -q -At -F, -v ON_ERROR_STOP=1 -U bench \
	-c "SELECT 'sql_calibrated_kinds', count(*), 'kinds', '', '', count(DISTINCT backend) || ' sides' FROM hybrid_calibrate()" \
	-c "SELECT 'sql_audit_right_share', right_share, 'ratio', '>= 0.95',
			CASE WHEN right_share IS NULL THEN 'not available' WHEN right_share >= 0.95 THEN 'yes' ELSE 'no' END,
			replace(coalesce(detail, routed_right || ' of ' || compared || ' shapes'
				|| CASE WHEN virtual THEN '; the device''s time is made up' ELSE '' END), ',', ';')
		FROM hybrid_audit()" >"$private/said" 2>&1; then
	grep '^sql_calibrated' "$private/said"
	not_available "$(tail -n 1 "$private/said")"
fi
cat "$private/said"
