/*
 * gpu_assign.c
 *		The part of gpubench that measures how near the kernels that filter 'assign' come to the rate of
 *		the matrix unit.
 *
 * It uses no task, only the bench's own launches, to show how much time is lost outside of the kernels:
 * rounding, products, settling and the remaining rows, all on the device, timed by events.  The targets
 * apply to tasks (gpu_ops.c).
 */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>

#include "cuda/assign_filter_launch.h"

#define RUNS 11
#define CENTROID_SEED (UINT64_C(1) << 40)

static void bench_kernels(int32_t dims, int32_t rows, int32_t centroids);
static void *room(uint64_t bytes);
static void copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
static float *vectors_on_device(int32_t dims, int64_t count, uint64_t seed);
static float run_us(const HyCudaAssignFiltered *args, const cudaEvent_t *event);
static int ascending(const void *a, const void *b);

void
gpu_assign_kernels(void)
{
	int32_t dims = (int32_t) gpu_size(768, 64);
	int32_t centroids = (int32_t) gpu_size(4096, 128);

	if (gpu.matrix <= 0)
	{
		gpu_print_missing("assign_launch_share_of_matrix_rate", "ratio", GPU_NOTHING,
		                  "the device has no bfloat16");
		return;
	}
	bench_kernels(dims, (int32_t) gpu_size(32768, 256), centroids);
	/* a piece of a task whose rows are the host's */
	bench_kernels(dims, (int32_t) gpu_size(1280, 128), centroids);
}

/* bench_kernels: so many rows, and centroids, whole tiles; dims in whole steps. */
static void
bench_kernels(int32_t dims, int32_t rows, int32_t centroids)
{
	uint64_t vectors = (uint64_t) rows;
	HyCudaAssignFiltered args = {
		.assign = {.rows = vectors_on_device(dims, rows, 1),
	               .centroids = vectors_on_device(dims, centroids, CENTROID_SEED),
	               .row_stride = dims,
	               .row_count = rows,
	               .dims = dims,
	               .end = centroids,
	               .found = room(vectors * sizeof(uint64_t))},
		.padded = dims,
		.middle = room((uint64_t) dims * sizeof(float)),
		.centroids = room((uint64_t) centroids * (uint64_t) dims * sizeof(uint16_t)),
		.reach = room((uint64_t) centroids * sizeof(HyCudaReach)),
		.rows = room(vectors * (uint64_t) dims * sizeof(uint16_t)),
		.aim = room(vectors * sizeof(HyCudaAim)),
		.least = room(vectors * sizeof(uint32_t)),
		.count = room(vectors * sizeof(int32_t)),
		.open = room(vectors * HY_CUDA_ASSIGN_LIST * sizeof(HyCudaOpen)),
		.left = room(vectors * sizeof(int32_t)),
		.rest = room(sizeof(HyCudaAssignRest))};
	HyCudaRows all = {.targets = args.assign.centroids,
	                  .stride = (int64_t) dims * (int64_t) sizeof(float),
	                  .rows = centroids,
	                  .dims = dims};
	HyCudaRound round = {.rows = all.targets,
	                     .stride = all.stride,
	                     .count = centroids,
	                     .room = centroids,
	                     .dims = dims,
	                     .padded = dims,
	                     .middle = args.middle,
	                     .rounded = (uint16_t *) (uintptr_t) args.centroids,
	                     .reach = (HyCudaReach *) (uintptr_t) args.reach};
	void *const memory[] = {(void *) (uintptr_t) args.assign.rows,
	                        (void *) (uintptr_t) args.assign.centroids,
	                        args.assign.found,
	                        (void *) (uintptr_t) args.middle,
	                        round.rounded,
	                        round.reach,
	                        args.rows,
	                        args.aim,
	                        args.least,
	                        args.count,
	                        args.open,
	                        args.left,
	                        args.rest};
	HyCudaAssignRest rest;
	cudaEvent_t event[2];
	float us[RUNS];
	char name[96];
	size_t i;

	for (i = 0; i < 2; i++)
		gpu_check(cudaEventCreateWithFlags(&event[i], cudaEventDefault), "making an event");
	gpu_check(hy_cuda_launch_middle(HY_F32, &all, (float *) (uintptr_t) args.middle, gpu.stream),
	          "starting a kernel");
	gpu_check(hy_cuda_launch_round(HY_METRIC_L2, HY_F32, &round, gpu.stream), "starting a kernel");
	for (i = 0; i < RUNS; i++)
		us[i] = run_us(&args, event);
	qsort(us, RUNS, sizeof(float), ascending);
	copy(&rest, args.rest, sizeof(rest), cudaMemcpyDeviceToHost);
	snprintf(name, sizeof(name), "assign_launch_%d_%dx%d", (int) dims, (int) rows, (int) centroids);
	gpu_print(name, (double) us[RUNS / 2], "us");
	gpu_print_matrix_share(name, 2.0 * rows * centroids * dims / (double) us[RUNS / 2],
	                       GPU_NOTHING);
	gpu_print(gpu_name("%s_rest", name), (double) rest.firsts[1] / rows, "ratio");
	for (i = 0; i < 2; i++)
		gpu_check(cudaEventDestroy(event[i]), "giving an event back");
	for (i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
		gpu_check(cudaFree(memory[i]), "freeing");
}

static void *
room(uint64_t bytes)
{
	void *memory = NULL;

	gpu_check(cudaMalloc(&memory, bytes), "allocating");
	return memory;
}

static void
copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	gpu_check(cudaMemcpyAsync(to, from, bytes, kind, gpu.stream), "copying");
	gpu_check(cudaStreamSynchronize(gpu.stream), "copying");
}

static float *
vectors_on_device(int32_t dims, int64_t count, uint64_t seed)
{
	HyMatrix host = gpu_matrix(dims, count, seed);
	size_t bytes = (size_t) count * host.stride;
	float *memory = room(bytes);

	copy(memory, host.data, bytes, cudaMemcpyHostToDevice);
	gpu_matrix_free(&host);
	return memory;
}

/* run_us: one piece, as cuda/assign_filter.c queues it. */
static float
run_us(const HyCudaAssignFiltered *args, const cudaEvent_t *event)
{
	HyCudaAssign whole = args->assign;
	float milliseconds;

	whole.groups = (HyCudaAssignGroups){.groups = 1,
	                                    .largest = whole.end - whole.first,
	                                    .begin = args->rest->begin,
	                                    .members = args->left,
	                                    .firsts = args->rest->firsts,
	                                    .tiles = args->rest->tiles};
	gpu_check(cudaEventRecord(event[0], gpu.stream), "recording");
	gpu_check(hy_cuda_launch_assign_filtered(args, gpu.stream), "starting a kernel");
	gpu_check(hy_cuda_launch_assign_rest(&whole, gpu.multiprocessors, gpu.stream),
	          "starting a kernel");
	gpu_check(cudaEventRecord(event[1], gpu.stream), "recording");
	gpu_check(cudaStreamSynchronize(gpu.stream), "running a kernel");
	gpu_check(cudaEventElapsedTime(&milliseconds, event[0], event[1]), "reading a time");
	return milliseconds * 1000;
}

static int
ascending(const void *a, const void *b)
{
	float x = *(const float *) a;
	float y = *(const float *) b;

	return (x > y) - (x < y);
}
