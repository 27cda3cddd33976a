#!/bin/bash
# One part of what is to be done when a GPU is at hand, from the bundle of `make gpu-bundle`.
#
#	test/gpu_hour.sh PART OUT			runs a part; OUT gets PART.log and PART.csv
#	test/gpu_hour.sh merge CSV ...		the parts' figures in one file of bench/results
#
# The parts, most valuable first, each with the seconds that its steps may take at most:
#
#	ops			320		every operation against the CPU, the filters, resident figures
#	query		290		searches of many queries, assignment, spreading, small calls, FAISS or PyTorch
#	server		260		pg_regress on the device, sessions, and what can go wrong there
#	rest		290		copies beside kernels, batches, utilization, cuBLAS, memory, routing, shapes, codes
#	sanitizer	150		small shapes under compute-sanitizer
#
# All of them take 22 minutes at most, and none takes nine.  A step that is over its limit is ended and the next one
# begins.  The machine needs a driver; it need not have PostgreSQL, nvcc or a network.  What is run is what lies in
# the bundle, HYBRID_GPU_BUNDLE or build/gpu/hybrid-gpu.tar.xz, in a directory of its own; started by root, it runs as
# 'nobody', since PostgreSQL refuses root.  Exit status: 0 where all steps were ok, 1 where not, 2 where none was run.
#
# HYBRID_GPU_HOUR=small makes all shapes small: a dry run on the fake device.
set -uo pipefail

checkout=$(cd "$(dirname "$0")/.." && pwd)
parts=(ops query server rest sanitizer)
usage="usage: test/gpu_hour.sh $(IFS='|' && echo "${parts[*]}") OUT, or merge CSV ..."

# merge CSV ...: figures that came more than once, as yardsticks do, are the first's; the others become comments
merge()
{
	local device day name kept

	device=$(grep -hE '^# .*, sm_[0-9]+, ' "$@" | head -n 1 | sed -E 's/^# (NVIDIA )?([^,]*),.*/\2/')
	day=$(sed -nE 's/^# part [a-z]+, ([0-9]{4}-[0-9]{2}-[0-9]{2})T.*/\1/p' "$@" | sort | tail -n 1)
	if [ -z "$device" ] || [ -z "$day" ]; then
		echo "these files are not the figures of a part, or none of them names its device: $*" >&2
		return 1
	fi
	name=$(tr '[:upper:]' '[:lower:]' <<<"$device" | tr -cs '[:alnum:]\n' -)
	kept=${GPUBENCH_RESULTS:-$checkout/bench/results}/$day-${name%-}-gpu.csv
	awk -F, '
		/^# the programs that are here/ || NF == 0 { next }
		/^#/ { print; next }
		/^measure,/ { if (!headed++) print; next }
		$1 in seen { print "# again: " $0; next }
		{ seen[$1]; print }' "$@" >"$kept" && echo "$kept"
}

part=${1:?$usage}
if [ "$part" = merge ]; then
	shift
	[ $# -gt 0 ] || { echo "$usage" >&2 && exit 2; }
	merge "$@"
	exit
fi
[[ " ${parts[*]} " == *" $part "* ]] || { echo "$usage" >&2 && exit 2; }
mkdir -p "${2:?$usage}" || exit 2
out=$(cd "$2" && pwd)
bundle=${HYBRID_GPU_BUNDLE:-$checkout/build/gpu/hybrid-gpu.tar.xz}
[ -f "$bundle" ] || { echo "there is no bundle in $bundle: make gpu-bundle" >&2 && exit 2; }

work=$(mktemp -d /tmp/hybrid-gpu.XXXXXX) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 143' TERM INT
tar -C "$work" -xJf "$bundle" || exit 2
mkdir "$work/tmp"
chmod 755 "$work"
dropped=()
if [ "$(id -u)" = 0 ]; then
	chown -R nobody "$work"
	dropped=(setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups)
fi
environment=(HOME="$work" USER=nobody LOGNAME=nobody TMPDIR="$work/tmp" HYBRID_GPU_HOUR="${HYBRID_GPU_HOUR-}")
quick=()
slack=1
plugin=hybrid_cuda
if [ "${HYBRID_GPU_HOUR-}" = small ]; then
	quick=(--quick)
	# of a device that is slow on a machine that may be busy
	slack=5
	# whose made-up time an audit can go by
	plugin=hybrid_emulated
	# what the bench looks for at run time is the fake device's, too
	environment+=(LD_LIBRARY_PATH="$work/lib" HY_FAKE_TAKEN="$work/taken")
fi
# of the server alone: other programs have their own libraries
server=(PATH="$work/server/usr/lib/postgresql/15/bin:$PATH"
	LD_LIBRARY_PATH="$work/server/so${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")
log=$out/$part.log
figures=$out/$part.csv
failed=0
cd "$work" || exit 2
echo "# part $part, $(date -u +%FT%TZ), commit $(cat commit)" | tee "$log" >"$figures"
{
	uname -srm
	nvidia-smi -L 2>&1
	"${dropped[@]}" env "${environment[@]}" id -un
} >>"$log"

# step NAME SECONDS COMMAND ...: within its time and as nobody; all that it prints goes to the log, its figures and
# verdicts to the figures
step()
{
	local name=$1 limit=$2 begin=$SECONDS from status said

	shift 2
	from=$(wc -c <"$log")
	timeout -k 15 $((limit * slack)) "${dropped[@]}" env "${environment[@]}" "$@" >>"$log" 2>&1 </dev/null
	status=$?
	case $status in
	0) said=ok ;;
	124 | 137) said="no end after $limit s" ;;
	*) said="status $status" ;;
	esac
	[ "$status" = 0 ] || failed=1
	tail -c +$((from + 1)) "$log" |
		sed -nE '/^# in all$/,$ p; /^# in all$/,$! { /^(# |(fake )?[a-z0-9_]+,)/ { /^# (step|test|the programs that are here)|:[0-9]+: / !p } }' >>"$figures"
	echo "# step $name, $((SECONDS - begin)) s of $limit: $said" | tee -a "$log" | tee -a "$figures"
}

# check SECTION SECONDS EACH [VARIABLE=VALUE ...]: of test/cuda/gpucheck.sh, whose parts may take EACH
check()
{
	step "check $1" "$2" env HYBRID_GPUCHECK_LIMIT=$(($3 * slack)) "${@:4}" test/cuda/gpucheck.sh 0 "$1"
}

# bench SECONDS EACH SECTION ...: of bench/gpu.sh, whose sections may take EACH
bench()
{
	step "bench ${*:3}" "$1" bench/gpu.sh "${quick[@]}" --limit $(($2 * slack)) 0 "${@:3}"
}

case $part in
ops)
	check ops 120 110
	check filter 140 130
	bench 60 40 resident
	;;
query)
	bench 230 60 queries assign spread small
	bench 60 40 peers
	;;
server)
	check regress 130 120 "${server[@]}"
	check server 130 120 "${server[@]}"
	;;
rest)
	bench 220 50 overlap batch busy cublas pool route shapes codes
	step sql 70 env "${server[@]}" bench/gpu_sql.sh $plugin
	;;
sanitizer)
	check sanitizer 150 24
	;;
esac
for file in "$log" "$figures"; do
	[ "$(stat -c %s "$file")" -lt 16000000 ] || truncate -s 16000000 "$file"
done
exit $failed
