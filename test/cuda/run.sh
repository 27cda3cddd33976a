#!/bin/bash
# Check the CUDA plug-in as far as this is possible without a GPU.
#
#	test/cuda/run.sh
#
# With only a C++ compiler: runs the kernels' own source on fibers, and the whole plug-in on a fake device.
# If nvcc is found, also checks the real library: the compiler's messages about its kernels, the libraries
# that it needs, the symbols that it exports, and its answers with a missing, old or broken driver.
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 2
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
		[ -z "${3:-}" ] || sed 's/^/#   /' "$3"
		failed=$((failed + 1))
	fi
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

processors=$(nproc)
started=()

# start PROGRAM ARGUMENT ...: beside others, as many at once as there are processors
start()
{
	local at=$work/${#started[@]}

	while [ "$(jobs -rp | wc -l)" -ge "$processors" ]; do
		wait -n
	done
	started+=("$*")
	{
		"$@" >"$at.out" 2>&1
		echo $? >"$at.status"
	} &
}

# tell: the lines of all that were started become ours; one that crashes or forgets tests is a failure more
tell()
{
	local program words name line planned seen i

	wait
	for i in "${!started[@]}"; do
		read -ra words <<<"${started[i]}"
		program=${words[0]}
		name=${program##*/}
		case ${words[1]:-} in
		TSAN_OPTIONS=*) name="${words[2]##*/} (thread)" ;;
		HY_FAKE_LATE=*) name="${words[2]##*/} (late)" ;;
		esac
		planned=0
		seen=0
		while IFS= read -r line; do
			case $line in
			"ok "* | "not ok "*)
				seen=$((seen + 1))
				number=$((number + 1))
				[ "${line%%ok *}" = "" ] || failed=$((failed + 1))
				echo "${line%%ok *}ok $number - $name: ${line#* - }"
				;;
			1..*) planned=${line#1..} ;;
			*) echo "${line/#[^#]/# &}" ;;
			esac
		done <"$work/$i.out"
		if [ "$planned" != "$seen" ] || [ "$seen" = 0 ] || [ "$(cat "$work/$i.status")" -gt 1 ]; then
			verdict "$name ends as planned" 1
		fi
	done
}

# ---------------------------------------------------------------------------------------------
# On the host alone
# ---------------------------------------------------------------------------------------------

if make -s -j"$processors" cuda-tests >"$work/make" 2>&1; then
	verdict "the tests on the fake device build" 0
	# the programs for a real device, which would otherwise first run there; first, since they take longer than anything else
	start test/cuda/hour.sh
	# threads, watched by the thread sanitizer
	if make -s -j"$processors" cuda-thread-tests >"$work/make" 2>&1; then
		start env TSAN_OPTIONS=die_after_fork=0 build/cuda/thread/plugin_idle_test
		start env TSAN_OPTIONS=die_after_fork=0 build/cuda/thread/copy_test
	else
		verdict "the tests with the thread sanitizer build" 1 "$work/make"
	fi
	for program in build/cuda/fake/*_test; do
		[ -f "test/cuda/${program##*/}.c" ] && start "$program"
	done
	# on a device whose pieces end in any order, and are told of late
	for program in build/cuda/fake/plugin_*_test; do
		[ -f "test/cuda/${program##*/}.c" ] && start env HY_FAKE_LATE=1 "$program"
	done
	tell
else
	verdict "the tests on the fake device build" 1 "$work/make"
fi

# unbounded FILE ...: the kernels that do not tell the compiler how many threads their blocks have, so that it may give each
# more registers than a multiprocessor has for them, and the launch fails
unbounded()
{
	perl -0777 -ne 'print "$ARGV: $1\n" while /(__global__(?!\s+void\s+__launch_bounds__\(HY_CUDA_THREADS[,)]).*)/g' "$@"
}

unbounded cuda/*.cu cuda/*.cuh >"$work/out"
[ "$(cat cuda/*.cu cuda/*.cuh | grep -c __global__)" -gt 20 ] && [ ! -s "$work/out" ]
verdict "every kernel has launch bounds" $? "$work/out"
printf '__global__ void\n%s\n' 'hy_kernel(int)' '__launch_bounds__(HY_CUDA_THREADS) hy_bounded_kernel(int)' \
	'__launch_bounds__(HY_CUDA_THREADS, 2)' '__launch_bounds__(1024) hy_other_kernel(int)' >"$work/kernels"
[ "$(unbounded "$work/kernels" | wc -l)" = 2 ]
verdict "those that have none are told" $?

# ---------------------------------------------------------------------------------------------
# The real library
# ---------------------------------------------------------------------------------------------

cuda=$(make -s --no-print-directory cuda-home)
if [ -z "$cuda" ]; then
	echo "# nvcc was not found: hybrid_cuda.so itself is not checked"
	echo "1..$number"
	exit $((failed > 0))
fi
if ! make -s -j"$processors" cuda-driver-tests gpu-programs >"$work/make" 2>&1; then
	verdict "hybrid_cuda.so and its programs build" 1 "$work/make"
	echo "1..$number"
	exit 1
fi
verdict "hybrid_cuda.so and its programs build" 0

# nvcc may be a wrapper that lies elsewhere than the toolkit.
printf '#!/bin/sh\nexec "%s" "$@"\n' "$(make -s --no-print-directory cuda-nvcc)" >"$work/nvcc"
chmod +x "$work/nvcc"
wrapped=$(env -u CUDA_HOME make -s --no-print-directory NVCC="$work/nvcc" cuda-home 2>"$work/out")
[ -e "$wrapped/include/cuda_runtime_api.h" ]
verdict "a wrapper of nvcc elsewhere leads to the toolkit" $? "$work/out"

# Another CUDA_ARCH compiles the kernels anew, the same one does not: with an nvcc that only takes note.
mkdir "$work/tree"
ln -s "$PWD"/* "$work/tree"
rm -f "$work/tree/build"
cat >"$work/tree/compiler" <<-'EOF'
	#!/bin/sh
	echo "$*" >>compiled
	while [ "$1" != -o ]; do shift; done
	touch "$2"
EOF
chmod +x "$work/tree/compiler"
# compiled [CUDA_ARCH=...]: how often one was, after another make
compiled()
{
	make -s -C "$work/tree" NVCC=./compiler CUDA_HOME="$cuda" "$@" build/cuda/cuda/score.cu.o >>"$work/out" 2>&1
	wc -l <"$work/tree/compiled"
}
: >"$work/out"
other=CUDA_ARCH='-gencode arch=compute_120,code=sm_120'
seen=$(compiled && compiled && compiled "$other" && compiled "$other" && compiled)
[ "$(xargs <<<"$seen")" = "1 1 2 2 3" ] && sed -n 2p "$work/tree/compiled" | grep -q 'code=sm_120'
verdict "another CUDA_ARCH compiles the kernels anew, and only that" $? "$work/out"

# The fake header's numbers are the real one's.
{
	echo '#include <cuda_runtime_api.h>'
	sed -nE 's/^\t+(cuda[A-Za-z0-9]+) = ([0-9]+),?$/_Static_assert(\1 == \2, "\1");/p' \
		test/cuda/fake/cuda_runtime_api.h
} >"$work/numbers.c"
constants=$(grep -c Static "$work/numbers.c")
[ "$constants" -gt 50 ] &&
	"${CC:-cc}" -std=c11 -fsyntax-only -isystem "$cuda/include" "$work/numbers.c" >"$work/out" 2>&1
verdict "the fake device's $constants constants are CUDA's" $? "$work/out"

log=$work/ptxas
cat build/cuda/cuda/*.cu.log >"$log"
kernels=$(grep -c 'Used [0-9]* registers' "$log")
instances=$(grep -cE 'Compiling entry function.*hy_(distance|topk)_kernel.* for .sm_90' "$log")
# two operations, four metrics, two element types, one query or several
[ "$instances" = 32 ]
verdict "every kernel is there: $instances" $? "$log"
instances=$(grep -cE 'Compiling entry function.*hy_spread_(rows|long)_kernel.* for .sm_90' "$log")
# two ways to combine, four widths of a group, three lengths of rows
[ "$instances" = 24 ]
verdict "every kernel that pulls is there: $instances" $? "$log"
instances=$(grep -cE 'Compiling entry function.*hy_(assign|score)[a-z_]*_kernel.* for .sm_90' "$log")
# five that assign and three that filter that, three that score
[ "$instances" = 11 ]
verdict "every kernel that assigns or scores is there: $instances" $? "$log"
instances=$(grep -cE 'Compiling entry function.*hy_(round|settle|aim|middle|product)_kernel.* for .sm_90' "$log")
# three metrics and two element types to round and to settle, a threshold of each metric, two middles, and
# the products
[ "$instances" = 18 ]
verdict "every kernel that filters is there: $instances" $? "$log"
# one that is launched past HY_CUDA_LAUNCH would count as its piece's time what it takes to load it
entered=$(nm -C build/cuda/cuda/*.cu.o | grep -v 'guard variable' | grep -cE 'HyLaunched<.*::entry$')
[ "$entered" = "$(grep -cE 'Compiling entry function.* for .sm_90' "$log")" ]
verdict "every kernel is loaded when a device is opened: $entered" $? "$log"
grep -E 'bytes (stack|spill)' "$log" | grep -vE ' 0 bytes spill stores, 0 bytes spill loads' >"$work/spills"
[ "$kernels" -gt 0 ] && grep -q "for .sm_75" "$log" && [ ! -s "$work/spills" ]
verdict "no kernel of $kernels spills" $? "$work/spills"

# too_large LOG: the kernels of which so many blocks as a multiprocessor should hold do not fit its 65,536 registers, which
# are given to threads by eight
too_large()
{
	awk -v warps="$(sed -nE 's/^#define HY_CUDA_WARPS ([0-9]+).*/\1/p' cuda/row_sums.cuh)" '
		/Compiling entry function/ { name = $0; sub(/.*entry function ./, "", name); gsub(/.( for .|$)/, " ", name) }
		/Used [0-9]+ registers/ {
			registers = $0
			sub(/.*Used /, "", registers)
			# one computes while another waits
			blocks = 2
			# its sums alone are half of the registers, and its shared memory leaves no room for another
			if (name ~ /product_kernel/)
				blocks = 1
			# these kernels wait for memory, so more reads should be in flight; the norms of cosine, and the sums of
			# eight sets, take registers and allow fewer blocks
			else if (name ~ /(distance|topk|settle)_kernelI6HyKindILi2E[tf]Li[0-9]+ELi1E/)
				blocks = 3
			else if (name ~ /(distance|topk|settle)_kernelI6HyKindILi[013]E[tf]Li[0-9]+ELi1E/)
				blocks = 4
			else if (name ~ /hy_score_kernel|spread_(rows|long)_kernelI12HySpreadKindILi[01]ELi[124]E/)
				blocks = 4
			if (warps < 1 || int((registers + 7) / 8) * 8 * 32 * warps * blocks > 65536)
				print name " " registers + 0 " registers, " blocks " blocks"
		}' "$1"
}

too_large "$log" >"$work/large"
# bounds that cannot be kept are left, with a warning
grep -i warning "$log" >>"$work/large"
[ ! -s "$work/large" ]
verdict "the registers of a multiprocessor hold as many blocks as they should" $? "$work/large"
# of all of them a step more, which is too much for those that are at their limit
perl -pe 's/Used \K[0-9]+(?= registers)/$& + 8/e' "$log" >"$work/larger"
large=$(too_large "$work/larger" | tee "$work/large" | wc -l)
grep -q hy_assign_kernel "$work/large" && grep -q hy_score_kernel "$work/large" && grep -q hy_topk_kernel "$work/large" &&
	[ "$large" -lt "$kernels" ]
verdict "those that take more are told" $? "$work/large"
sed -nE 's/.*Used ([0-9]+) registers.*/\1/p' "$log" | sort -n | sed -n '1h;$!d;x;G;s/\n/ to /;s/^/# registers: /p'

# of each of the .cu files; PTX is what the driver compiles where there is no machine code
files=$(find cuda -name '*.cu' | wc -l)
for kind in 'code 75' 'code 80' 'code 90' 'ptx 80' 'ptx 90'; do
	echo "$kind $files"
done >"$work/expected"
test/cuda/fatbin.pl hybrid_cuda.so 2>&1 | cut -d' ' -f1-3 | diff - "$work/expected" >"$work/out"
verdict "machine code for 7.5, 8.0 and 9.0, PTX for 8.0 and 9.0" $? "$work/out"

# 7.5 has no bfloat16: kernels that filter are not launched there, and end at once.  Another CUDA_ARCH may have PTX for 7.5 alone,
# which a later device would run: no answer is better than products that are 0.
# assembly VERSION: PTX of what filters
assembly()
{
	"$(make -s --no-print-directory cuda-nvcc)" -std=c++17 -I. -Isrc -arch="compute_$1" -ptx -o "$work/filter$1.ptx" \
		cuda/filter.cu >"$work/out" 2>&1
}
assembly 75 && assembly 80 && [ "$(grep -cw '\.entry' "$work/filter75.ptx")" = "$(grep -cw 'trap' "$work/filter75.ptx")" ] &&
	! grep -qE 'mma|(ld|st)\.(global|shared)' "$work/filter75.ptx" &&
	grep -qw 'mma' "$work/filter80.ptx" && ! grep -qw 'trap' "$work/filter80.ptx"
verdict "the kernels that filter are a trap for 7.5, and nothing else" $? "$work/out"

readelf -d hybrid_cuda.so | sed -nE 's/.*NEEDED.*\[(.*)\]/\1/p' >"$work/needed"
! grep -vE '^(libc|libm|ld-linux-.*|libdl|libpthread|librt)\.so' "$work/needed" >"$work/out"
verdict "the library needs nothing but the C library" $? "$work/out"
nm -D --defined-only hybrid_cuda.so | awk '{print $3}' >"$work/exports"
[ "$(cat "$work/exports")" = hy_plugin_entry ]
verdict "it exports its entry and nothing else" $? "$work/exports"

# driver NAME EXPECTED [VARIABLE=VALUE ...]: what the plug-in says on a machine with such a driver;
# it prints nothing of its own
driver()
{
	local name=$1 expected=$2

	shift 2
	env "$@" build/cuda/driver_check >"$work/out" 2>"$work/err" && [ ! -s "$work/err" ] &&
		[[ "$(cat "$work/out")" == "driver touched by loading: no | "$expected ]]
	verdict "$name" $? "$work/out"
}

stub=LD_LIBRARY_PATH=build/cuda/stub
if [[ "$(ldconfig -p)" == *libcuda.so.1* ]]; then
	echo "# this machine has a driver: what a machine without one sees is not checked"
else
	driver "no driver: no device, and why" \
		"count: ok 0 | native 35 | no CUDA driver: * | open: device gone"
fi
driver "a driver without a device" "count: ok 0 | native 100 | * | open: device gone" $stub STUB_INIT=100
driver "a driver older than the runtime" \
	"count: device gone 0 | native 35 | the driver is for CUDA 12.2 at most, this build needs * | open: device gone" \
	$stub STUB_VERSION=12020
driver "a driver that lacks functions" "count: device gone 0 | native 500 | * | open: device gone" \
	$stub STUB_FAILS=cuGetExportTable STUB_RETURNS=500
driver "a stub library" "count: device gone 0 | native 34 | * | open: device gone" $stub STUB_INIT=34
driver "a driver that does not fit its kernel module" "count: device gone 0 | native 803 | * | open: device gone" \
	$stub STUB_INIT=803
driver "a card that does not take this driver" "count: device gone 0 | native 804 | * | open: device gone" \
	$stub STUB_INIT=804
driver "a system that is still starting" "count: transient 0 | native 802 | * | open: transient" \
	$stub STUB_INIT=802
driver "a driver out of memory" "count: out of memory 0 | native 2 | * | open: out of memory" \
	$stub STUB_INIT=2
driver "a driver that cannot start" "count: process lost 0 | native 3 | * | open: process lost" \
	$stub STUB_INIT=3
driver "a driver with an error of no name" "count: transient 0 | native 999 | * | open: transient" \
	$stub STUB_INIT=999
driver "devices that others hold" "count: busy 0 | native 46 | * | open: busy" $stub STUB_INIT=46
driver "a device file that may not be opened" "count: device gone 0 | native 304 | * | open: device gone" $stub STUB_INIT=304
driver "memory that cannot be corrected" "count: process lost 0 | native 214 | * | open: process lost" $stub STUB_INIT=214
# what fails after cuInit has not; the runtime has its own number for most of it
driver "a driver that cannot say how it loads" "count: out of memory 0 | native 2 | * | open: out of memory" \
	$stub STUB_FAILS=cuModuleGetLoadingMode STUB_RETURNS=2
driver "a driver that cannot count" "count: process lost 0 | native 3 | * | open: process lost" \
	$stub STUB_FAILS=cuDeviceGetCount STUB_RETURNS=999
driver "a device that is gone when it is looked at" "count: process lost 0 | native 3 | * | open: process lost" \
	$stub STUB_FAILS=cuDeviceGet STUB_RETURNS=101
driver "a device that does not tell its memory" "count: process lost 0 | native 3 | * | open: process lost" \
	$stub STUB_FAILS=cuDeviceTotalMem STUB_RETURNS=214
driver "a device that does not tell what it can" "count: process lost 0 | native 3 | * | open: process lost" \
	$stub STUB_FAILS=cuDeviceGetAttribute STUB_RETURNS=1
driver "a driver that does all this and is not NVIDIA's" \
	"count: device gone 0 | native 103 | *integrity checks failed* | open: device gone" $stub

# Without a device the programs for a GPU machine say so and fail.
if [ ! -e /dev/nvidiactl ]; then
	for script in test/cuda/gpucheck.sh bench/gpu.sh; do
		! $script >"$work/out" 2>&1 && grep -q 'no GPU' "$work/out"
		verdict "$script says that there is no GPU" $? "$work/out"
	done
fi

echo "1..$number"
exit $((failed > 0))
