/*
 * gpu_yardsticks.c
 *		The part of gpubench that measures the reference values of the other parts: launching, copies,
 *		reading, the matrix unit.
 */
#include "gpu.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/launch.h"
#include "gpu_loops.h"

/* What takes no longer than waking who waits for it is done so often in a row. */
#define IN_A_ROW 16

/* Copy: what one figure is taken of. */
typedef struct Copy
{
	void *to;
	const void *from;
	size_t bytes;
	enum cudaMemcpyKind kind;
	int rounds; /* of a loop */
	int times;  /* in a row; 0: once */
	double operations;
} Copy;

static void measure_copies(void);
static void measure_reading(void);
static void measure_matrix(void);
static void measure_cores(void);
static void run_copy(void *arg);
static void run_launch(void *arg);
static void run_read(void *arg);
static void run_multiply(void *arg);
static int attribute(enum cudaDeviceAttr which);

void
gpu_yardsticks(void)
{
	gpu.multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
	measure_copies();
	measure_reading();
	measure_matrix();
	measure_cores();
}

static void
measure_copies(void)
{
	Copy copy = {.bytes = (size_t) gpu_size(256, 1) * GPU_MIB};
	double bytes = (double) copy.bytes;
	void *pinned;
	void *pageable = gpu_room(1, copy.bytes);
	void *on_device;
	void *other;

	/* written, so that every page is one of its own */
	memset(pageable, 1, copy.bytes);
	gpu_check(cudaHostAlloc(&pinned, copy.bytes, cudaHostAllocDefault), "pinning memory");
	memset(pinned, 1, copy.bytes);
	gpu_check(cudaMalloc(&on_device, copy.bytes), "allocating");
	gpu_check(cudaMalloc(&other, copy.bytes), "allocating");
	gpu_check(cudaMemsetAsync(on_device, 0, copy.bytes, gpu.stream), "clearing");
	gpu_check(cudaStreamSynchronize(gpu.stream), "clearing");

	copy.from = on_device;
	copy.to = other;
	gpu_print("launch_and_wait", gpu_median_us(run_launch, &copy), "us");

	copy.kind = cudaMemcpyHostToDevice;
	copy.to = on_device;
	copy.from = pinned;
	gpu.up = bytes / gpu_median_us(run_copy, &copy);
	gpu_print("copy_up_pinned", gpu.up / 1000, "GB/s");
	copy.from = pageable;
	gpu_print("copy_up_pageable", bytes / gpu_median_us(run_copy, &copy) / 1000, "GB/s");
	copy.kind = cudaMemcpyDeviceToHost;
	copy.from = on_device;
	copy.to = pinned;
	gpu_print("copy_down_pinned", bytes / gpu_median_us(run_copy, &copy) / 1000, "GB/s");
	copy.to = pageable;
	gpu_print("copy_down_pageable", bytes / gpu_median_us(run_copy, &copy) / 1000, "GB/s");
	copy.kind = cudaMemcpyDeviceToDevice;
	copy.to = other;
	copy.times = (int) gpu_size(IN_A_ROW, 1);
	gpu.copied = 2.0 * bytes * copy.times / gpu_median_us(run_copy, &copy); /* read and written */
	gpu_print("device_bandwidth", gpu.copied / 1000, "GB/s");

	gpu_check(cudaFree(on_device), "freeing");
	gpu_check(cudaFree(other), "freeing");
	gpu_check(cudaFreeHost(pinned), "freeing");
	free(pageable);
}

/* measure_reading: of more than any cache of the device holds. */
static void
measure_reading(void)
{
	Copy copy = {.bytes = (size_t) gpu_size(1024, 1) * GPU_MIB,
	             .times = (int) gpu_size(IN_A_ROW, 1)};
	void *from;

	gpu_check(cudaMalloc(&from, copy.bytes), "allocating");
	gpu_check(cudaMalloc(&copy.to, sizeof(unsigned)), "allocating");
	gpu_check(cudaMemsetAsync(from, 1, copy.bytes, gpu.stream), "clearing");
	copy.from = from;
	gpu.read = (double) copy.bytes * copy.times / gpu_median_us(run_read, &copy);
	gpu_print("read_bandwidth", gpu.read / 1000, "GB/s");
	gpu_check(cudaFree(from), "freeing");
	gpu_check(cudaFree(copy.to), "freeing");
}

/*
 * measure_matrix: what shares are of.  From compute capability 9.0 on mma.sync does not reach what the unit
 * can, cuBLAS does: so it is the larger of the two.
 */
static void
measure_matrix(void)
{
	Copy copy = {.rounds = (int) gpu_size(20000, 4)};
	const char *why = NULL;
	double rate;

	if (attribute(cudaDevAttrComputeCapabilityMajor) < 8)
	{
		gpu_print_missing("matrix_rate_bfloat16", "TFLOP/s", GPU_NOTHING,
		                  "no bfloat16 before compute capability 8.0");
		return;
	}
	gpu_check(cudaMalloc(&copy.to, sizeof(float)), "allocating");
	gpu.matrix = 1 / gpu_median_us(run_multiply, &copy);
	gpu.matrix *= copy.operations;
	gpu.matrix_by = "a loop of mma.sync";
	gpu_print("matrix_rate_bfloat16_loop", gpu.matrix / 1e6, "TFLOP/s");
	gpu_check(cudaFree(copy.to), "freeing");
	rate = gpu_cublas_rate(&why);
	if (rate > 0)
		gpu_print("matrix_rate_bfloat16_cublas", rate / 1e6, "TFLOP/s");
	else
	{
		gpu_print_missing("matrix_rate_bfloat16_cublas", "TFLOP/s", GPU_NOTHING, "%s", why);
		gpu.matrix_low = attribute(cudaDevAttrComputeCapabilityMajor) >= 9;
	}
	if (rate > gpu.matrix)
	{
		gpu.matrix = rate;
		gpu.matrix_by = "cuBLAS";
	}
	gpu_print_beside("matrix_rate_bfloat16", gpu.matrix / 1e6, "TFLOP/s", GPU_NOTHING,
	                 gpu.matrix_low ? "too low: only %s and no cuBLAS" : "the larger: %s",
	                 gpu.matrix_by);
}

/* measure_cores: nothing is measured: the clock times what the generation is known to have. */
static void
measure_cores(void)
{
	int generation = attribute(cudaDevAttrComputeCapabilityMajor) * 10 +
	                 attribute(cudaDevAttrComputeCapabilityMinor);
	int khz = attribute(cudaDevAttrClockRate);

	/* 7.5 and 8.0 have 64 cores a multiprocessor, those after have 128 */
	gpu.fp32 = (double) gpu.multiprocessors * (generation > 80 ? 128 : 64) * khz / 1000;
	gpu_print("fp32_instructions_nominal", gpu.fp32 / 1e6, "T/s");
}

static void
run_copy(void *arg)
{
	const Copy *copy = arg;
	int i = 0;

	do
		gpu_check(cudaMemcpyAsync(copy->to, copy->from, copy->bytes, copy->kind, gpu.stream),
		          "copying");
	while (++i < copy->times);
	gpu_check(cudaStreamSynchronize(gpu.stream), "copying");
}

static void
run_launch(void *arg)
{
	const Copy *copy = arg;

	gpu_check(hy_cuda_launch_norms(copy->from, 1, 1, copy->to, gpu.stream), "starting a kernel");
	gpu_check(cudaStreamSynchronize(gpu.stream), "running a kernel");
}

static void
run_read(void *arg)
{
	const Copy *copy = arg;
	int i;

	for (i = 0; i < copy->times; i++)
		gpu_check(hy_bench_read(gpu.multiprocessors, copy->from, copy->bytes, copy->to, gpu.stream),
		          "starting a kernel");
	gpu_check(cudaStreamSynchronize(gpu.stream), "running a kernel");
}

static void
run_multiply(void *arg)
{
	Copy *copy = arg;

	gpu_check(hy_bench_multiply(gpu.multiprocessors, copy->rounds, copy->to, &copy->operations,
	                            gpu.stream),
	          "starting a kernel");
	gpu_check(cudaStreamSynchronize(gpu.stream), "running a kernel");
}

static int
attribute(enum cudaDeviceAttr which)
{
	int value = 0;

	gpu_check(cudaDeviceGetAttribute(&value, which, gpu.number), "asking for an attribute");
	return value;
}
