# The CUDA plug-in, its tests and its benches; included by the Makefile.
#
#	make hybrid_cuda.so		the plug-in; needs nvcc
#	make check-cuda			the checks that need no GPU (test/cuda/run.sh)
#	make gpucheck			the checks on a machine with a GPU; GPUCHECK='SECTION ...' for some sections
#	make gpubench			the benches on such a machine; GPUBENCH='--quick 0 SECTION ...' for some sections
#	make gpu-bundle			an archive with both and a PostgreSQL, for a machine that has only a driver (test/gpu_hour.sh)
#
# nvcc compiles only the .cu files; the rest is C that includes the runtime's header.  The C compiler
# links everything and includes the runtime, so the plug-in needs neither libcudart nor libstdc++.
# The runtime looks for the driver's library when devices are counted, not when the file is loaded.

NVCC ?= $(or $(shell command -v nvcc),$(wildcard /usr/local/cuda/bin/nvcc))
# nvcc may be a wrapper outside the toolkit, so it is asked for the toolkit's path.
ifeq ($(CUDA_HOME)$(if $(NVCC),,none),)
CUDA_HOME := $(realpath $(shell $(NVCC) --dryrun -x cu /dev/null 2>&1 | sed -n 's/^\#\$$ TOP=//p'))
endif

# The path and flags of nvcc, as build/flags for the C compiler.  A change recompiles the kernels.
build/cuda/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(NVCC) $(NVCC_FLAGS) $(CUDA_ARCH))' | cmp -s - $@ || \
		echo '$(subst ','\'',$(NVCC) $(NVCC_FLAGS) $(CUDA_ARCH))' >$@

# Machine code for 7.5 and the two server generations.  The driver compiles PTX: that for 9.0 on all
# later devices, and that for 8.0 on boards with an integrated GPU, which do not run the machine code of
# another 8.x.
CUDA_ARCH = -gencode arch=compute_75,code=sm_75 -gencode arch=compute_80,code=[sm_80,compute_80] \
	-gencode arch=compute_90,code=[sm_90,compute_90]
# The same bits as the CPU: no contraction, no flush to zero, every division rounded.  Code is
# compressed as much as possible and has no line numbers.  For a profiler or compute-sanitizer, add
# them with make NVCC_LINES=-lineinfo.
NVCC_FLAGS = -std=c++17 -O2 $(NVCC_LINES) -compress-mode=size -fmad=false -ftz=false -prec-div=true -prec-sqrt=true -I. -Isrc \
	-Xcompiler -fPIC,-fvisibility=hidden,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics,-ffp-contract=off,-Wall
CUDA_CFLAGS = $(PURE_CFLAGS) -D_GNU_SOURCE -I.
CUDART = $(firstword $(wildcard $(CUDA_HOME)/lib64/libcudart_static.a \
	$(CUDA_HOME)/lib/libcudart_static.a) $(CUDA_HOME)/lib64/libcudart_static.a)
CUDA_LIBS = $(CUDART) -lpthread -ldl -lrt -lm

CUDA_C = $(wildcard cuda/*.c)
# the one that takes longest to compile begins first
CUDA_KERNELS = $(patsubst %.cu,build/cuda/%.cu.o,cuda/topk.cu $(filter-out cuda/topk.cu,$(wildcard cuda/*.cu)))
# files of the pure folders that the plug-in calls
CUDA_PURE_C = src/core/allocator.c src/core/assign_check.c src/core/batch.c src/core/packed_graph.c \
	src/core/score_check.c src/core/spread_check.c src/core/status.c src/dispatch/backend.c
CUDA_OBJS = $(CUDA_KERNELS) $(patsubst %.c,build/cuda/%.o,$(CUDA_C)) $(call pure,$(CUDA_PURE_C))

ifneq ($(NVCC),)
all: hybrid_cuda.so
else
all: no_cuda
no_cuda:
	@echo "nvcc was not found: hybrid_cuda.so is not built; everything else is."
.PHONY: no_cuda
endif

hybrid_cuda.so: $(CUDA_OBJS) cuda/exports.map
	$(CC) -shared -Wl,-z,defs -Wl,-Bsymbolic -Wl,--exclude-libs,ALL -Wl,--version-script=cuda/exports.map \
		-o $@ $(CUDA_OBJS) $(CUDA_LIBS)

build/cuda/%.o: %.c build/flags
	@mkdir -p $(@D)
	$(CC) $(CUDA_CFLAGS) -isystem $(CUDA_HOME)/include -MMD -MP -c -o $@ $<

# The output of ptxas about registers and spills is kept for test/cuda/run.sh.
build/cuda/cuda/%.cu.o: cuda/%.cu build/cuda/flags
	@mkdir -p $(@D)
	$(NVCC) $(NVCC_FLAGS) $(CUDA_ARCH) -Xptxas -v -MD -MP -MF $(@:.o=.d) -c -o $@ $< \
		2>$(@:.o=.log) || { cat $(@:.o=.log); exit 1; }

# The benches' own kernels.
build/cuda/bench/%.cu.o: bench/%.cu build/cuda/flags
	@mkdir -p $(@D)
	$(NVCC) $(NVCC_FLAGS) $(CUDA_ARCH) -MD -MP -MF $(@:.o=.d) -c -o $@ $<

# Installed beside hybrid.so, where the dispatcher looks for plug-ins.
ifneq ($(NVCC),)
ifneq ($(wildcard $(PGXS)),)
install: install-cuda
install-cuda: hybrid_cuda.so installdirs
	$(INSTALL_SHLIB) $< '$(DESTDIR)$(pkglibdir)/'
.PHONY: install-cuda
endif
endif
# also if nvcc is no longer there
ifneq ($(wildcard $(PGXS)),)
uninstall: uninstall-cuda
uninstall-cuda:
	rm -f '$(DESTDIR)$(pkglibdir)/hybrid_cuda.so'
.PHONY: uninstall-cuda
endif

# Prints the paths of the toolkit and its compiler for scripts, or nothing if they are not found.
cuda-home:
	@echo '$(if $(NVCC),$(CUDA_HOME))'
cuda-nvcc:
	@echo '$(NVCC)'
.PHONY: cuda-home cuda-nvcc

# The fake device: the same sources with our own implementation of the runtime, for machines without CUDA.
CXX_FOUND := $(or $(shell command -v g++),$(shell command -v clang++))
FAKE_FLAGS = -O2 -g1 -fPIC -Wall -Wextra $(HYBRID_CFLAGS) -D_GNU_SOURCE -I. -Isrc -Itest/unit -Itest/cuda \
	-isystem test/cuda/fake $(COPT)
FAKE_OBJS = $(patsubst %.c,build/cuda/fake/%.o,$(CUDA_C)) \
	$(call pure,$(wildcard src/core/*.c) src/dispatch/backend.c) \
	$(patsubst %.cpp,build/cuda/fake/%.o,$(wildcard test/cuda/*.cpp))
FAKE_TESTS = $(patsubst test/cuda/%.c,build/cuda/fake/%,$(wildcard test/cuda/*_test.c))

cuda-tests: $(FAKE_TESTS) build/cuda/fake/hybrid_cuda.so build/cuda/fake/gpucheck build/cuda/fake/gpucheck_filter \
	build/cuda/fake/gpubench build/cuda/fake/hog build/cuda/fake/lib/libnvidia-ml.so.1 build/cuda/fake/lib/libcublas.so.13

build/cuda/fake/%.o: %.c build/flags
	@mkdir -p $(@D)
	$(CC) -std=c11 $(FAKE_FLAGS) -MMD -MP -c -o $@ $<

build/cuda/fake/%.o: %.cpp build/flags
	@mkdir -p $(@D)
	$(CXX_FOUND) -std=c++17 $(FAKE_FLAGS) -Wno-unknown-pragmas -U_FORTIFY_SOURCE -MMD -MP -c -o $@ $<

# The fake device as a plug-in, for programs and scripts that are written for a real device.
build/cuda/fake/hybrid_cuda.so: $(FAKE_OBJS)
	$(CXX_FOUND) -shared -Wl,-Bsymbolic -o $@ $^ -lm

# Sources for a program that loads a plug-in.
PLUGIN_LOADER = src/dispatch/backend.c src/dispatch/tools/plugin.c src/dispatch/tools/words.c

build/cuda/fake/gpucheck: build/cuda/fake/test/cuda/gpucheck.o $(call pure,$(wildcard src/core/*.c) $(PLUGIN_LOADER))
	$(CC) -o $@ $^ -lm -ldl

# It calls kernels and the runtime itself.
build/cuda/fake/gpucheck_filter: build/cuda/fake/test/cuda/gpucheck_filter.o \
		$(call pure,$(PLUGIN_LOADER)) $(FAKE_OBJS)
	$(CXX_FOUND) -o $@ $(sort $^) -lm -ldl

# The plug-in and the bench in one program, and the libraries that the bench looks for at run time.
build/cuda/fake/gpubench: $(patsubst %.c,build/cuda/fake/%.o,$(wildcard bench/gpu*.c)) \
		$(call pure,$(wildcard src/dispatch/*.c src/dispatch/*/*.c)) \
		build/cuda/fake/test/cuda/fake/bench.o $(FAKE_OBJS)
	$(CXX_FOUND) -o $@ $(sort $^) -lm -ldl -lpthread

build/cuda/fake/hog: test/cuda/fake/hog
	@mkdir -p $(@D)
	cp $< $@

build/cuda/fake/lib/%: test/cuda/fake/libraries.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -O2 -Wall -Wextra -fPIC -shared -Wl,-soname,$(@F) -o $@ $<

build/cuda/fake/%_test: build/cuda/fake/test/cuda/%_test.o $(FAKE_OBJS)
	$(CXX_FOUND) -o $@ $^ -lm

# The tests of the idle thread and of the threads that copy, with the thread sanitizer.  It instruments the plug-in, the
# fake device, and the pure files that the plug-in calls.  The rest of src/core computes what the tests expect.
THREAD_OBJS = $(patsubst %,build/cuda/thread/%.o,$(basename $(CUDA_C) $(CUDA_PURE_C) $(wildcard test/cuda/*.cpp))) \
	$(call pure,$(filter-out $(CUDA_PURE_C),$(wildcard src/core/*.c)))

build/cuda/thread/%.o: %.c build/flags
	@mkdir -p $(@D)
	$(CC) -std=c11 $(FAKE_FLAGS) -fsanitize=thread -MMD -MP -c -o $@ $<

build/cuda/thread/%.o: %.cpp build/flags
	@mkdir -p $(@D)
	$(CXX_FOUND) -std=c++17 $(FAKE_FLAGS) -Wno-unknown-pragmas -U_FORTIFY_SOURCE -fsanitize=thread -MMD -MP -c -o $@ $<

build/cuda/thread/%_test: build/cuda/thread/test/cuda/%_test.o $(THREAD_OBJS)
	$(CXX_FOUND) -fsanitize=thread -o $@ $^ -lm

cuda-thread-tests: build/cuda/thread/plugin_idle_test build/cuda/thread/copy_test

# Programs for a machine with a driver.  They load hybrid_cuda.so at run time, so building gpucheck
# needs nothing of CUDA.  The bench and gpucheck_filter also call the runtime and some kernels directly,
# and include these.  All of these programs must be copied to such a machine.
GPU_PURE_OBJS = $(call pure,$(wildcard src/core/*.c) $(PLUGIN_LOADER))

build/cuda/gpucheck: build/cuda/test/cuda/gpucheck.o $(GPU_PURE_OBJS)
	$(CC) -s -o $@ $^ -lm -ldl

build/cuda/gpucheck_filter: build/cuda/test/cuda/gpucheck_filter.o build/cuda/cuda/filter.cu.o $(GPU_PURE_OBJS)
	$(CC) -s -o $@ $^ $(CUDA_LIBS)

build/cuda/gpubench: $(patsubst %.c,build/cuda/%.o,$(wildcard bench/gpu*.c)) \
		$(call pure,$(wildcard src/dispatch/*.c src/dispatch/*/*.c)) build/cuda/bench/gpu_loops.cu.o \
		build/cuda/cuda/copy.o $(patsubst %,build/cuda/cuda/%.cu.o,assign distance filter topk) $(GPU_PURE_OBJS)
	$(CC) -s -o $@ $(sort $^) $(CUDA_LIBS)

# The program that run.sh runs with a missing or broken driver.
build/cuda/driver_check: build/cuda/test/cuda/driver_check.o $(GPU_PURE_OBJS)
	$(CC) -o $@ $^ -lm -ldl

build/cuda/stub/libcuda.so.1: test/cuda/stub_driver.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -O2 -Wall -Wextra -fPIC -shared -Wl,-soname,libcuda.so.1 -o $@ $<

build/cuda/test/cuda/%.o build/cuda/bench/%.o: CUDA_CFLAGS += -Itest/unit

cuda-driver-tests: hybrid_cuda.so build/cuda/driver_check build/cuda/stub/libcuda.so.1

# A program that takes all of a device's memory (test/device.sh).
build/cuda/hog: test/cuda/hog.c
	@mkdir -p $(@D)
	$(CC) $(CUDA_CFLAGS) -s -isystem $(CUDA_HOME)/include -o $@ $< $(CUDA_LIBS)

gpu-programs: hybrid_cuda.so build/cuda/gpucheck build/cuda/gpucheck_filter build/cuda/gpubench build/cuda/hog

gpu-bundle: all gpu-programs
	@test/cuda/bundle.sh

gpucheck:
	@test/cuda/gpucheck.sh $(GPUCHECK)

gpubench:
	@bench/gpu.sh $(GPUBENCH)

-include $(wildcard $(addsuffix /*.d,$(foreach of,build/cuda build/cuda/fake build/cuda/thread, \
	$(addprefix $(of)/,bench cuda src/core src/dispatch test/cuda test/cuda/fake))))
.PHONY: cuda-tests cuda-thread-tests cuda-driver-tests gpu-programs gpu-bundle gpucheck gpubench
