#!/bin/bash
# Test test/gpu_hour.sh on the fake device: run every part from the bundle, and check every line that it prints.
#
#	test/cuda/hour.sh
#
# Each part runs in an empty directory.  If root runs this script, the parts cannot see the machine's PostgreSQL and
# CUDA toolkit.  The figures are meaningless, and each line says so.  Only counts are checked, not times.
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d /tmp/hybrid-hour.XXXXXX)
# the parts run as a user without rights
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
number=0
failed=0

# verdict NAME STATUS [FILE with details]
verdict()
{
	number=$((number + 1))
	if [ "$2" = 0 ]; then
		echo "ok $number - $1"
	else
		echo "not ok $number - $1"
		[ -z "${3:-}" ] || tail -n 50 "$3" | sed 's/^/#   /'
		failed=$((failed + 1))
	fi
}

# equal NAME GOT WANTED
equal()
{
	[ "$2" = "$3" ]
	verdict "$1" $?
	[ "$2" = "$3" ] || echo "#   got $2, wanted $3"
}

# a value: finite and above 0, as %.6g prints it
v='([1-9][0-9]*(\.[0-9]+)?|0\.0*[1-9][0-9]*|[1-9](\.[0-9]+)?e[+-][0-9]+)'
# what it may be besides, and why: a context takes none of the fake device's memory
none='context_memory,0,MiB'
# that no row was left over is what should be
none+='|assign_launch_[0-9x_]+_rest,0,ratio'
# the times of the fake device follow no law, so what is predicted of them may be right of nothing, or never, and cost anything
none+='|audit_(right_share,0,ratio|lost,0,percent|calls_before_on_device,0,calls)|break_even_[a-z0-9_]+_off,(0|inf)?,percent'

# odd FILE: the lines with another value than these
odd()
{
	grep -E '^fake ' "$1" | grep -vE "^fake ([^,]+,$v,[^,]*|$none),"
}

# has SECTION PATTERN ...: a line each, with a value, that begins so; '>' and '<' are what was asked
has()
{
	local section=$1 pattern missing=

	shift
	for pattern in "$@"; do
		grep -qE "^fake $pattern" "$work/out" || missing+=" $pattern"
	done
	verdict "$section: ${#} lines" $(("${#missing}" > 0))
	[ -z "$missing" ] || echo "#  missing:$missing"
}

# ---------------------------------------------------------------------------------------------
# The parts
# ---------------------------------------------------------------------------------------------

parts=(ops query server rest sanitizer)
# how hard xz tries changes nothing but the size, which is the real bundle's affair
test/cuda/bundle.sh build/cuda/fake "$work/hybrid-gpu.tar.xz" 0 >"$work/said" 2>&1
verdict "the bundle is packed" $? "$work/said"
mkdir -p "$work/empty/test" "$work/bin"
cp test/gpu_hour.sh "$work/empty/test/"
# a sanitizer that runs each program once, and finds nothing
cat >"$work/bin/compute-sanitizer" <<-'EOF'
	#!/bin/sh
	tool=$2
	while case $1 in */gpucheck*) false ;; esac do shift; done
	said=$TMPDIR/${1##*/}.said
	[ -e "$said" ] || "$@" >"$said" 2>&1
	status=$?
	cat "$said"
	if [ "$tool" = racecheck ]; then
		echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"
	else
		echo "========= ERROR SUMMARY: 0 errors"
	fi
	exit $status
EOF
chmod 755 "$work/bin/compute-sanitizer"
without=()
if [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null; then
	# shellcheck disable=SC2016  # the inner shell's
	without=(unshare --mount bash -c 'for each in /usr/lib/postgresql /usr/share/postgresql /usr/local/cuda; do
		[ ! -d "$each" ] || mount -t tmpfs none "$(realpath "$each")" || exit 9
	done
	! command -v postgres && ! command -v nvcc && exec "$@"' -)
else
	echo "# no right to unshare mounts: the machine's own PostgreSQL and CUDA toolkit are not hidden"
fi

# part NAME: its status is left in $work/NAME.status
part()
{
	(
		cd "$work/empty" || exit 2
		PATH=$work/bin:/usr/sbin:/usr/bin:/sbin:/bin HYBRID_GPU_HOUR=small HYBRID_GPU_BUNDLE=$work/hybrid-gpu.tar.xz \
			"${without[@]}" test/gpu_hour.sh "$1" "$work/out.$1"
	) >"$work/$1.said" 2>&1 </dev/null
	echo $? >"$work/$1.status"
}

part server &
for each in ops query rest sanitizer; do
	part "$each"
done
wait
figures=()
for each in "${parts[@]}"; do
	figures+=("$work/out.$each/$each.csv")
	[ "$(cat "$work/$each.status")" = 0 ]
	verdict "the part $each" $? "$work/out.$each/$each.log"
	equal "leaves two files" "$(cd "$work/out.$each" && find . -type f | sort | xargs)" "./$each.csv ./$each.log"
done
for each in ops filter regress server {memcheck,initcheck,racecheck}' gpucheck'{,_filter}; do
	grep -hE "^# $each +[0-9]+ s  ok$" "${figures[@]}" >"$work/said"
	verdict "$each is ok, and among the figures" $? "$work/said"
done
[ "$(id -u)" != 0 ] || grep -qx nobody "$work/out.ops/ops.log"
verdict "root is given up" $?
# seconds FILE ...: what the steps of these parts may take at most
seconds()
{
	cat "$@" | sed -nE 's/^# step .*, [0-9]+ s of ([0-9]+): .*/\1/p' | awk '{ sum += $1 } END { print sum + 0 }'
}
for each in "${figures[@]}"; do
	most=$(seconds "$each")
	[ "$most" -gt 0 ] && [ "$most" -lt 540 ]
	verdict "the part takes $most s at most" $?
done
# each step may be killed five seconds after its limit, and unpacking takes some for each part
most=$(($(seconds "${figures[@]}") + 5 * $(cat "${figures[@]}" | grep -c '^# step ') + 5 * ${#parts[@]}))
[ "$most" -le 1320 ]
verdict "all take $most s at most" $?
# where there is no device nothing is run, and that is told
mkdir "$work/unpacked"
tar -C "$work/unpacked" -xJf "$work/hybrid-gpu.tar.xz"
printf '#!/bin/sh\necho nothing taken: no device; exit 1\n' >"$work/unpacked/build/cuda/hog"
tar -C "$work/unpacked" -cf - . | xz -0 >"$work/no_device.tar.xz"
HYBRID_GPU_BUNDLE=$work/no_device.tar.xz test/gpu_hour.sh server "$work/none" >"$work/said" 2>&1
equal "without a device nothing is run" "$?, $(tail -n 1 "$work/said")" "2, # no GPU: nothing taken: no device"
rm -rf "$work/unpacked" "$work/no_device.tar.xz"
test/gpu_hour.sh everything "$work/none" >"$work/said" 2>&1
[ $? = 2 ] && grep -q 'ops|query|server|rest|sanitizer' "$work/said"
verdict "an unknown part is refused, with those that exist" $?
HYBRID_GPU_BUNDLE=$work/none test/gpu_hour.sh ops "$work/none" >"$work/said" 2>&1
[ $? = 2 ] && grep -q 'make gpu-bundle' "$work/said"
verdict "without a bundle it says how to make one" $?

# one dated file has each figure once, and what was measured again as a comment
mkdir "$work/results"
kept=$(GPUBENCH_RESULTS=$work/results test/gpu_hour.sh merge "${figures[@]}")
[[ $kept = $work/results/20??-??-??-fake-device*-gpu.csv ]]
verdict "the parts are merged" $? <(echo "$kept")
cp "$kept" "$work/merged"
equal "each figure is there once" "$(grep -v '^#' "$work/merged" | cut -d, -f1 | sort | uniq -d)" ""
grep -q '^# again: fake context_open,' "$work/merged"
verdict "what was measured again is a comment" $?
commit=$(git -c safe.directory="$PWD" describe --always --dirty 2>/dev/null || echo unknown)
equal "each part names its commit" "$(grep -c "^# part [a-z]*, .*, commit $commit$" "$work/merged")" 5
GPUBENCH_RESULTS=$work/results test/gpu_hour.sh merge "$work/said" >/dev/null 2>&1
equal "a file that is no part is not merged" $? 1

# ---------------------------------------------------------------------------------------------
# The figures
# ---------------------------------------------------------------------------------------------

grep -q '^# fake device.*NO FIGURE BELOW MEANS ANYTHING' "$work/merged"
verdict "the head says that there was no device" $?
# those of other programs are no figures of the fake device
grep -vE '^(sql|torch|faiss)_' "$work/merged" >"$work/out"
! grep -vE '^(#|measure,|fake [^,]+,[^,]*,[^,]*,([<>]= [0-9.]+)?,(fake|not available),[^,]*$)' "$work/out" >"$work/bad"
verdict "and so does each line" $?
sed 's/^/#   /' "$work/bad"
! odd "$work/out" >"$work/bad"
verdict "every value is finite and above 0, but for those that need not be" $?
sed 's/^/#   /' "$work/bad"
for value in inf -inf nan -nan 0 -0 0.000 -1.5 1.5.2 1e 1-2 ''; do
	echo "fake top10_l2_float32_128_1x2000_resident,$value,us,,fake,"
done >"$work/made_up"
equal "values that are not are told" "$(odd "$work/made_up" | wc -l) of $(wc -l <"$work/made_up")" "12 of 12"
printf 'fake %s,,fake,\n' break_even_topk_64_1_off,nan,percent context_memory,inf,MiB context_open,0,ms \
	assign_launch_64_128x128_share_of_matrix_rate,0,ratio >"$work/made_up"
equal "also of those that may be 0" "$(odd "$work/made_up" | wc -l) of $(wc -l <"$work/made_up")" "4 of 4"

has yardsticks "context_open,$v,ms" "context_memory,0,MiB" "launch_and_wait,$v,us" "copy_up_pinned,$v,GB/s" \
	"copy_up_pageable,$v,GB/s" "copy_down_pinned,$v,GB/s" "copy_down_pageable,$v,GB/s" "device_bandwidth,$v,GB/s" \
	"read_bandwidth,$v,GB/s" "matrix_rate_bfloat16,$v,TFLOP/s" "matrix_rate_bfloat16_loop,$v,TFLOP/s" \
	"matrix_rate_bfloat16_cublas,$v,TFLOP/s"
has resident "top10_l2_float32_128_1x[0-9]+_resident_share_of_read_bandwidth,$v,ratio,>= 0.8," \
	"top10_l2_float16_768_1x[0-9]+_resident_share_of_read_bandwidth,$v,ratio,>= 0.8,"
has queries "top10_l2_float32_768_[0-9x]+_resident_share_of_matrix_rate,$v,ratio,>= 0.5," \
	"top10_cosine_float16_768_[0-9x]+_resident_share_of_matrix_rate,$v,ratio,>= 0.5," \
	"top10_l2_float32_768_[0-9x]+_answers_that_are_canonical,16,queries,>= 16," \
	"top10_cosine_float16_768_[0-9x]+_answers_that_are_canonical,16,queries,>= 16,"
has assign "assign_768_[0-9x]+_0_resident_share_of_matrix_rate,$v,ratio,>= 0.5," \
	"assign_768_[0-9x]+_0_host_share_of_matrix_rate,$v,ratio,,fake" "assign_launch_[0-9x_]+_share_of_matrix_rate,$v,ratio,,fake" \
	"assign_768_[0-9x]+_2_host_speedup,$v,ratio"
has spread "spread_[0-9x]+_1_hop_share_of_read_bandwidth,$v,ratio,>= 0.35," \
	"spread_[0-9x]+_16_hop_share_of_read_bandwidth,$v,ratio,>= 0.5," "spread_[0-9x]+_16_10_hops_resident_speedup,$v,ratio" \
	"spread_[0-9x]+_16_10_hops_host,$v,us"
for limits in '0.8 0.45 0.85' '0.3 0.12 0.18'; do
	read -r cosine spread knn <<<"$limits"
	has "small" "cosine_[0-9x]+_resident,$v,ms,<= $cosine," "spread_[0-9x]+_3_hops_resident,$v,ms,<= $spread," \
		"knn_[0-9x]+_resident,$v,ms,<= $knn,"
done
for call in 'cosine_[0-9x]+_resident' 'spread_[0-9x]+_3_hops_resident' 'knn_[0-9x]+_resident'; do
	has "small, ${call%%_*}" "${call}_speedup,$v,ratio" "${call%_resident}_pinned_host,$v,ms" "${call%_resident}_transfer,$v,ms"
done
for batch in topk_32x 'assign_[0-9]+x768_to_' spread_batch_; do
	has "batch, ${batch%%_*}" "${batch}[0-9a-z_]+_speedup,$v,ratio,>= 5," "${batch}[0-9a-z_]+_process_a_core,$v,us" \
		"${batch}[0-9a-z_]+_speedup_to_process_a_core,$v,ratio"
done
has overlap "overlap_copies_alone,$v,us" "overlap_1x[0-9x]+,$v,ratio,<= 1.15,"
has busy "busy_topk_resident,88,percent,>= 80," "busy_topk_resident_any_kernel,99,percent" "busy_topk_host,88,percent,>= 80," \
	"busy_assign_host,88,percent,>= 80," "busy_spread_batch,88,percent,>= 80,"
has cublas "cublas_bfloat16_[0-9x]+_share_of_matrix_rate,$v,ratio"
has shapes "distance_l2_float32_768_5x100_host_share_of_copies,$v,ratio" "top10_l2_float32_768_5x100_resident_speedup,$v,ratio"
has codes "score_codes_768_8x2048_200_share_of_read_bandwidth,$v,ratio"
for section in resident queries assign spread small batch overlap busy shapes codes; do
	has "$section, pieces" "${section}_longest_piece,$v,ms,<= 5,"
done
has pool "pool_held_above_payload,0\.[0-4][0-9]*,ratio,<= 0.5,"
# what there is no break even of has no value, but says so
off="_off,($v|0|inf),percent,<= 20,fake," none="_off,,percent,<= 20,not available,"
has route "calibration_time,$v,s" "audit_right_share,(0|1|0\.[0-9]+),ratio,>= 0.95," \
	"break_even_(distance|topk|spread)_[0-9_]+_off(,,percent,<= 20,not available|,($v|0|inf),percent,<= 20,fake)," \
	"break_even_(median$off|worst$none)" "break_even_worst($off|$none)"

# what it looks for at run time may not be there; and a part of it is a part
build/cuda/fake/gpubench --quick build/cuda/fake 0 busy cublas >"$work/out" 2>&1
verdict "a part of the bench ends well" $?
! grep -q '^fake top10' "$work/out"
verdict "and does no more than was asked" $?
if [[ "$(ldconfig -p)" != *libnvidia-ml.so.1* ]]; then
	grep -q '^fake busy_assign_host,,percent,>= 80,not available,libnvidia-ml' "$work/out"
	verdict "without NVML it says so" $?
fi
build/cuda/fake/gpubench --quick build/cuda/fake 0 nothing >"$work/out" 2>&1
[ $? = 2 ] && grep -q '^sections: yardsticks resident' "$work/out"
verdict "a section that there is not is told, with those there are" $?
if ! python3 -c 'import faiss, torch' 2>/dev/null; then
	grep -qE '^(faiss_top10_|torch_matrix_rate_).*,,(us|TFLOP/s),,not available,' "$work/merged"
	verdict "without FAISS or PyTorch a line says so" $?
fi
grep -qE '^sql_audit_right_share,[01](\.[0-9]+)?,ratio,>= 0.95,(yes|no),' "$work/merged"
verdict "the audit through SQL has a share" $?
# the fake device is one of 9.0, where no loop of ours reaches what cuBLAS does
build/cuda/fake/gpubench --quick build/cuda/fake 0 assign >"$work/out" 2>&1
grep -q '^fake matrix_rate_bfloat16_cublas,,TFLOP/s,,not available,cuBLAS ' "$work/out" &&
	grep -qE "^fake matrix_rate_bfloat16,$v,TFLOP/s,,fake,too low: only a loop of mma.sync and no cuBLAS,?$" "$work/out" &&
	grep -q '_resident_share_of_matrix_rate,.*without cuBLAS the rate is too low$' "$work/out"
verdict "without cuBLAS the rate of the matrix unit is said to be too low" $? "$work/out"

# ---------------------------------------------------------------------------------------------
# A section that does not end, or fails
# ---------------------------------------------------------------------------------------------

mkdir -p "$work/tree/bench" "$work/tree/build/cuda" "$work/site/nvidia/cu13/lib"
cp build/cuda/fake/lib/libcublas.so.13 "$work/site/nvidia/cu13/lib/"
cp bench/gpu.sh "$work/tree/bench/"
touch "$work/tree/hybrid_cuda.so"
# bench WHAT: gpu.sh with a stand-in for gpubench that has four sections, of which 'bad' does WHAT
bench()
{
	cat >"$work/tree/build/cuda/gpubench" <<-EOF
		#!/bin/bash
		[ \$# -gt 0 ] || { echo "sections: yardsticks good bad after" >&2 && exit 2; }
		echo "called: \$*"
		for section in yardsticks good bad after; do
			[[ \$section = yardsticks || " \$* " = *" \$section "* ]] || continue
			[ \$section != bad ] || { $1; }
			echo "figure_of_\$section,1,us,,,"
			echo "# \$section: 0.1 s"
		done
	EOF
	chmod 755 "$work/tree/build/cuda/gpubench"
	"$work/tree/bench/gpu.sh" --limit 7 0 good bad after >"$work/said" 2>&1
}
# measured: the figures of the last bench
measured()
{
	sed -n 's/^figure_of_\([a-z]*\),.*/\1/p' "$work/said" | xargs
}
bench 'echo "# bad: no end after 7 s"; exit 3'
equal "after a section that does not end the others run" "$?, $(measured)" "3, yardsticks good yardsticks after"
grep -qE '^called: --limit 7 [^ ]* 0 after$' "$work/said"
verdict "with the same limit" $?
bench 'exit 1'
equal "so they do after one that fails" "$?, $(measured)" "1, yardsticks good yardsticks after"
grep -qx '# bad: failed, status 1' "$work/said"
verdict "which is told" $?
bench 'echo "no GPU: gone"; exit 2'
equal "without a device nothing more is tried" "$?, $(grep -c '^called' "$work/said")" "2, 1"
# PyTorch brings cuBLAS along, where only python3 finds it
# shellcheck disable=SC2016  # the stand-in's
PYTHONPATH=$work/site bench 'echo "path: $LD_LIBRARY_PATH"'
grep -qx "# python3 has cuBLAS in $work/site/nvidia/cu13/lib" "$work/said" && grep -q "^path: .*$work/site/nvidia/cu13/lib$" "$work/said"
verdict "cuBLAS is found where pip puts it" $? "$work/said"
bench :
equal "where all is well each section runs once" "$?, $(grep -c '^called' "$work/said")" "0, 1"
build/cuda/fake/gpubench --quick --limit 1 build/cuda/fake 0 route >"$work/said" 2>&1
[ $? = 3 ] && grep -qx '# route: no end after 1 s' "$work/said"
verdict "the bench itself ends a section that takes too long" $? "$work/said"
rm -rf "$work/tree"

# what was built elsewhere is run as it is, though there is an nvcc; beside its objects it is built anew
mkdir -p "$work/tree/bench" "$work/tree/build/cuda/cuda"
cp bench/gpu.sh "$work/tree/bench/"
touch "$work/tree/hybrid_cuda.so"
printf '#!/bin/sh\nif [ $# = 0 ]; then echo sections: yardsticks; else echo the bench ran; fi\n' >"$work/tree/build/cuda/gpubench"
printf '#!/bin/sh\necho it is built\n' >"$work/bin/make"
chmod 755 "$work/tree/build/cuda/gpubench" "$work/bin/make"
PATH=$work/bin:$PATH NVCC=/bin/true "$work/tree/bench/gpu.sh" 0 yardsticks >"$work/out" 2>&1
grep -q 'the bench ran' "$work/out" && ! grep -q 'it is built' "$work/out"
verdict "programs that were carried are run as they are" $?
touch "$work/tree/build/cuda/cuda/plugin.o"
PATH=$work/bin:$PATH NVCC=/bin/true "$work/tree/bench/gpu.sh" 0 yardsticks >"$work/out" 2>&1
grep -q 'the bench ran' "$work/out" && grep -q 'it is built' "$work/out"
verdict "those beside their objects are built first" $?
# shellcheck disable=SC2016  # the stand-in's
printf '#!/bin/sh\necho "sees $CUDA_VISIBLE_DEVICES"\n' >"$work/tree/bench/gpu_sql.sh"
chmod 755 "$work/tree/bench/gpu_sql.sh"
CUDA_VISIBLE_DEVICES=5,3 PATH=$work/bin:$PATH NVCC=/bin/true "$work/tree/bench/gpu.sh" 1 sql >"$work/out" 2>&1
grep -qx 'sees 3' "$work/out"
verdict "of devices that may be seen a server gets the one that was measured" $?

echo "1..$number"
exit $((failed > 0))
