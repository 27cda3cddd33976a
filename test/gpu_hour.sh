#!/bin/bash
# One part of the checks and benches for a borrowed GPU, from the bundle of `make gpu-bundle`.
#
#	test/gpu_hour.sh PART OUT			runs a part; OUT gets PART.log and PART.csv
#	test/gpu_hour.sh merge CSV ...		the parts' figures in one file of bench/results
#
# The parts, most valuable first, each with the seconds that its steps may take at most:
#
#	ops			280		every operation against the CPU, the filters, resident figures
#	query		260		searches of many queries, assignment, spreading, small calls, FAISS or PyTorch
#	server		270		pg_regress on the device, sessions, and failures of both
#	rest		260		copies beside kernels, batches, utilization, cuBLAS, memory, routing, shapes, codes
#	sanitizer	170		small shapes under compute-sanitizer
#
# All of them take 22 minutes at most, and none takes nine. A step that exceeds its limit is ended, and the next one
# begins. The machine needs a driver; it does not need PostgreSQL, nvcc or a network. The part runs the contents of the
# bundle, HYBRID_GPU_BUNDLE or build/gpu/hybrid-gpu.tar.xz, in a directory of its own. If root starts it, it runs as
# 'nobody', because PostgreSQL refuses root; it runs as root only if 'nobody' may not use the device. Exit status: 0 if
# all steps were ok, 1 if not, 2 if none was run, as on a machine without a GPU. Give each part its own OUT.
#
# HYBRID_GPU_HOUR=small makes all shapes small: a dry run on the fake device.
set -uo pipefail

checkout=$(cd "$(dirname "$0")/.." && pwd)
parts=(ops query server rest sanitizer)
usage="usage: test/gpu_hour.sh $(IFS='|' && echo "${parts[*]}") OUT, or merge CSV ..."

# merge CSV ...: figures that came more than once, as yardsticks do, are the first's; the others become comments
merge()
{
	local device day name kept number

	device=$(grep -hE '^# .*, sm_[0-9]+, ' "$@" | head -n 1 | sed -E 's/^# (NVIDIA )?([^,]*),.*/\2/')
	day=$(sed -nE 's/^# part [a-z]+, ([0-9]{4}-[0-9]{2}-[0-9]{2})T.*/\1/p' "$@" | sort | tail -n 1)
	if [ -z "$device" ] || [ -z "$day" ]; then
		echo "these files are not the figures of a part, or none of them names its device: $*" >&2
		return 1
	fi
	name=$(tr '[:upper:]' '[:lower:]' <<<"$device" | tr -cs '[:alnum:]\n' -)
	kept=${GPUBENCH_RESULTS:-$checkout/bench/results}/$day-${name%-}-gpu
	# an earlier hour of that day stays
	number=
	while [ -e "$kept${number:+-$number}.csv" ]; do
		number=$((${number:-1} + 1))
	done
	kept=$kept${number:+-$number}.csv
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

# what a part that was killed has left: its servers hold the device
for each in /tmp/hybrid-gpu.*; do
	if [ -e "$each/part" ] && ! kill -0 "$(cat "$each/part")" 2>/dev/null; then
		for server in "$each"/tmp/*/pg/data/postmaster.pid; do
			[ ! -e "$server" ] || kill -QUIT "$(head -n 1 "$server")" 2>/dev/null
		done
		rm -rf "$each"
	fi
done
work=$(mktemp -d /tmp/hybrid-gpu.XXXXXX) || exit 2
echo $$ >"$work/part"
holder=
trap '[ -z "$holder" ] || kill "$holder" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 143' TERM INT
if command -v xz >/dev/null; then
	tar -C "$work" -xJf "$bundle" || exit 2
else
	python3 -m tarfile -e "$bundle" "$work" || exit 2
fi
mkdir "$work/tmp"
chmod 755 "$work"
dropped=()
if [ "$(id -u)" = 0 ]; then
	chown -R nobody "$work"
	dropped=(setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups)
fi
environment=(HOME="$work" USER=nobody LOGNAME=nobody TMPDIR="$work/tmp" HYBRID_GPU_HOUR="${HYBRID_GPU_HOUR:-whole}")
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
# of what runs a server; the other programs have their machine's libraries
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
} >>"$log"

# probe COMMAND ...: whether there is a device for who runs so
probe()
{
	timeout -k 5 60 "$@" env "${environment[@]}" build/cuda/hog 0 probe >>"$log" 2>&1
}
if ! probe "${dropped[@]}"; then
	if [ ${#dropped[@]} = 0 ] || ! probe; then
		echo "# no GPU: $(tail -n 1 "$log")" | tee -a "$log" | tee -a "$figures"
		exit 2
	fi
	dropped=()
	echo "# nobody may not use the device: the part runs as root" | tee -a "$log" >>"$figures"
fi
"${dropped[@]}" env "${environment[@]}" id -un >>"$log"
# while somebody has a context, the driver does not start anew for each session
"${dropped[@]}" env "${environment[@]}" build/cuda/hog 0 hold >/dev/null 2>&1 &
holder=$!

# step NAME SECONDS COMMAND ...: within its time and as nobody; all that it prints goes to the log, its figures and
# verdicts to the figures
step()
{
	local name=$1 limit=$2 begin=$SECONDS from status said

	shift 2
	from=$(wc -c <"$figures")
	timeout -k 5 $((limit * slack)) "${dropped[@]}" env "${environment[@]}" "$@" 2>&1 </dev/null | tee -a "$log" |
		sed -unE '/^# in all$/,$ p; /^# in all$/,$! { /^(# |(fake )?[a-z0-9_]+,)/ { /^# (step|test|  |the programs that are here)|:[0-9]+: / !p } }' >>"$figures"
	status=${PIPESTATUS[0]}
	case $status in
	0) said=ok ;;
	124 | 137) said="no end after $limit s" ;;
	*) said="status $status" ;;
	esac
	[ "$status" = 0 ] || failed=1
	if [ "$said" = ok ] && tail -c +$((from + 1)) "$figures" | grep -qE '^# [a-z_ ]+ +[0-9]+ s  (ok, in part|not available)'; then
		said="ok, but something was not available"
	fi
	echo "# step $name, $((SECONDS - begin)) s of $limit: $said" | tee -a "$log" | tee -a "$figures"
}

# check SECTION SECONDS EACH [VARIABLE=VALUE ...]: of test/cuda/gpucheck.sh, whose parts may take EACH, and all of them ten
# seconds less than the step, so that they end by themselves
check()
{
	step "check $1" "$2" env HYBRID_GPUCHECK_LIMIT=$(($3 * slack)) HYBRID_GPUCHECK_ALL=$((($2 - 10) * slack)) \
		"${@:4}" test/cuda/gpucheck.sh 0 "$1"
}

# bench SECONDS EACH SECTION ...: of bench/gpu.sh, whose sections may take EACH
bench()
{
	step "bench ${*:3}" "$1" bench/gpu.sh "${quick[@]}" --limit $(($2 * slack)) 0 "${@:3}"
}

case $part in
ops)
	check ops 110 100
	check filter 120 110
	bench 50 40 resident
	;;
query)
	bench 200 60 queries assign spread small
	bench 60 50 peers
	;;
server)
	check regress 140 130 "${server[@]}"
	check server 130 120 "${server[@]}"
	;;
rest)
	bench 200 50 overlap batch busy cublas pool route shapes codes
	step sql 60 env "${server[@]}" bench/gpu_sql.sh $plugin
	;;
sanitizer)
	check sanitizer 170 45
	;;
esac
for file in "$log" "$figures"; do
	[ "$(stat -c %s "$file")" -lt 16000000 ] || truncate -s 16000000 "$file"
done
exit $failed
