/*
 * gpu_assign.c
 *		The part of gpubench that asks how near the kernels that filter 'assign' come to the rate of the
 *		matrix unit.
 *
 * Rows of a task come over the bus, which takes longer than what is done with them: so here they lie
 * on the device, as many as a piece may have, and what is measured is rounding, products, settling
 * and what is left, by events.
 */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>

#include "cuda/assign_filter_launch.h"

#define RUNS 11

static void
check(cudaError_t error, const char *doing)
{
	if (error == cudaSuccess)
		return;
	printf("# %s: %s\n", doing, cudaGetErrorString(error));
	exit(1);
}

static void *
room(uint64_t bytes)
{
	void *memory = NULL;

	check(cudaMalloc(&memory, bytes), "allocating");
	return memory;
}

static void *
noise(int64_t vectors, int32_t dims, uint64_t seed)
{
	size_t count = (size_t) vectors * (size_t) dims;
	float *from = malloc(count * sizeof(float));
	void *to = room(count * sizeof(float));
	size_t i;

	if (from == NULL)
		exit(1);
	for (i = 0; i < count; i++)
	{
		uint64_t bits = (seed + i + 1) * UINT64_C(0x9e3779b97f4a7c15);

		bits = (bits ^ bits >> 32) * UINT64_C(0xd6e8feb86659fd93);
		from[i] = (float) (bits >> 40) * 0x1p-23f - 1;
	}
	check(cudaMemcpy(to, from, count * sizeof(float), cudaMemcpyHostToDevice), "copying");
	free(from);
	return to;
}

static int
ascending(const void *a, const void *b)
{
	float x = *(const float *) a;
	float y = *(const float *) b;

	return (x > y) - (x < y);
}

/* run_us: one piece, as cuda/assign_filter.c queues it. */
static float
run_us(const HyCudaAssignFiltered *args, int multiprocessors, cudaStream_t stream,
       const cudaEvent_t *event)
{
	HyCudaAssign whole = args->assign;
	float milliseconds;

	whole.groups = (HyCudaAssignGroups){.groups = 1,
	                                    .largest = whole.end - whole.first,
	                                    .begin = args->rest->begin,
	                                    .members = args->left,
	                                    .firsts = args->rest->firsts,
	                                    .tiles = args->rest->tiles};
	check(cudaEventRecord(event[0], stream), "recording");
	check(hy_cuda_launch_assign_filtered(args, stream), "starting a kernel");
	check(hy_cuda_launch_assign_rest(&whole, multiprocessors, stream), "starting a kernel");
	check(cudaEventRecord(event[1], stream), "recording");
	check(cudaStreamSynchronize(stream), "running a kernel");
	check(cudaEventElapsedTime(&milliseconds, event[0], event[1]), "reading a time");
	return milliseconds * 1000;
}

/* bench_kernels: so many rows, and centroids, whole tiles; dims in whole steps. */
static void
bench_kernels(int32_t dims, int32_t rows, int32_t centroids, double rate)
{
	uint64_t vectors = (uint64_t) rows;
	HyCudaAssignFiltered args = {
		.assign = {.rows = noise(rows, dims, 1),
	               .centroids = noise(centroids, dims, UINT64_C(1) << 40),
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
	cudaStream_t stream;
	float us[RUNS];
	char measure[128];
	int multiprocessors;
	int number;
	size_t i;

	check(cudaGetDevice(&number), "asking for the device");
	check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, number),
	      "asking for the number of multiprocessors");
	check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
	for (i = 0; i < 2; i++)
		check(cudaEventCreate(&event[i]), "making an event");
	check(hy_cuda_launch_middle(HY_F32, &all, (float *) (uintptr_t) args.middle, stream),
	      "starting a kernel");
	check(hy_cuda_launch_round(HY_METRIC_L2, HY_F32, &round, stream), "starting a kernel");
	for (i = 0; i < RUNS; i++)
		us[i] = run_us(&args, multiprocessors, stream, event);
	qsort(us, RUNS, sizeof(float), ascending);
	check(cudaMemcpy(&rest, args.rest, sizeof(rest), cudaMemcpyDeviceToHost), "copying");
	snprintf(measure, sizeof(measure), "assign_kernels_%d_%dx%d", (int) dims, (int) rows,
	         (int) centroids);
	gpu_print(measure, (double) us[RUNS / 2], "us");
	snprintf(measure, sizeof(measure), "assign_kernels_%d_%dx%d_share_of_matrix_rate", (int) dims,
	         (int) rows, (int) centroids);
	gpu_print(measure, 2.0 * rows * centroids * dims / (double) us[RUNS / 2] / rate, "ratio");
	snprintf(measure, sizeof(measure), "assign_kernels_%d_%dx%d_rest", (int) dims, (int) rows,
	         (int) centroids);
	gpu_print(measure, (double) rest.firsts[1] / rows, "ratio");
	for (i = 0; i < 2; i++)
		check(cudaEventDestroy(event[i]), "giving an event back");
	check(cudaStreamDestroy(stream), "giving a stream back");
	for (i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
		check(cudaFree(memory[i]), "freeing");
}

void
gpu_bench_assign(double rate)
{
	if (rate <= 0)
		return;
	bench_kernels(768, 32768, 4096, rate);
	/* a piece of a task: what a slot's room for rows holds */
	bench_kernels(768, 1280, 4096, rate);
}
