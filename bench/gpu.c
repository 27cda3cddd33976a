/*
 * gpu.c
 *		What a device costs and what the CUDA plug-in makes of it.
 *
 *		gpubench DIRECTORY [DEVICE]
 *
 * Prints 'measure,value,unit' lines.  The plug-in is driven through its vtable, as the dispatcher
 * does; copies and bandwidth are measured with the runtime beside it.  Each figure is the median of
 * several runs.  Exit status 2 where there is no GPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#include "ascending.h"
#include "core/distance.h"
#include "core/filter.h"
#include "core/spread.h"
#include "core/topk.h"
#include "cuda/launch.h"
#include "dispatch/plugin.h"
#include "gpu.h"
#include "matrix_rate.h"

#define RUNS 15
#define K 10
#define MIB ((size_t) 1024 * 1024)

/* What one figure is taken of. */
typedef struct Work
{
	HyDevice *device;
	HyTask task;
	cudaStream_t stream;
	void *to;
	const void *from;
	size_t bytes;
	enum cudaMemcpyKind kind;
	int multiprocessors;
	double operations;
} Work;

static const HyBackend *cuda;

static void
give_up(const char *doing, HyDevice *device)
{
	HyFailure failure;

	cuda->last_error(device, &failure);
	printf("# %s: %s\n", doing, failure.text);
	exit(1);
}

static void
check(cudaError_t error, const char *doing)
{
	if (error == cudaSuccess)
		return;
	printf("# %s: %s\n", doing, cudaGetErrorString(error));
	exit(1);
}

static double
now_us(void)
{
	return (double) hy_monotonic_clock.now(hy_monotonic_clock.arg) / 1000;
}

void
gpu_print(const char *measure, double value, const char *unit)
{
	printf("%s,%.6g,%s\n", measure, value, unit);
	fflush(stdout);
}

/* median_us: of RUNS runs after two that warm up. */
static double
median_us(void (*run)(Work *), Work *work)
{
	double times[RUNS];
	int i;

	for (i = -2; i < RUNS; i++)
	{
		double start = now_us();

		run(work);
		if (i >= 0)
			times[i] = now_us() - start;
	}
	qsort(times, RUNS, sizeof(double), ascending);
	return times[RUNS / 2];
}

static void
run_copy(Work *work)
{
	check(cudaMemcpyAsync(work->to, work->from, work->bytes, work->kind, work->stream), "copying");
	check(cudaStreamSynchronize(work->stream), "copying");
}

static void
run_launch(Work *work)
{
	check(hy_cuda_launch_norms(work->from, 1, 1, work->to, work->stream), "starting a kernel");
	check(cudaStreamSynchronize(work->stream), "running a kernel");
}

static void
run_task(Work *work)
{
	HyTicket ticket;
	HyTimings timings;
	bool done = false;

	if (cuda->submit(work->device, &work->task, &ticket) != HY_OK)
		give_up("submit", work->device);
	while (!done)
	{
		if (cuda->poll(work->device, ticket, &done, &timings) != HY_OK)
			give_up("poll", work->device);
	}
}

double
gpu_task_us(HyDevice *device, const HyTask *task)
{
	Work work = {.device = device, .task = *task};

	return median_us(run_task, &work);
}

/* fp32_rate: instructions a microsecond that the device's cores can start. */
static double
fp32_rate(int32_t number)
{
	int multiprocessors = 0;
	int khz = 0;
	int major = 0;
	int minor = 0;

	check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, number),
	      "asking for multiprocessors");
	check(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, number), "asking for the clock");
	check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, number),
	      "asking for the generation");
	check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, number),
	      "asking for the generation");
	/* 7.5 and 8.0 have 64 cores a multiprocessor, those after have 128 */
	return (double) multiprocessors * (major * 10 + minor > 80 ? 128 : 64) * khz / 1000;
}

static void
run_cpu(Work *work)
{
	HyDistanceTask *d = &work->task.u.distance;

	(void) hy_distance_matrix(d->metric, &d->queries, &d->targets, d->out, NULL);
}

/* bench_context: the time to open, and what a second process with a context takes of the device. */
static HyDevice *
bench_context(int32_t number)
{
	int go[2];
	int ready[2];
	HyDevice *device = NULL;
	size_t before;
	size_t after;
	size_t total;
	double start;
	pid_t child;
	char token = 0;

	/* the child forks before anybody has called CUDA, and opens when it is told to */
	if (pipe(go) != 0 || pipe(ready) != 0)
		exit(1);
	child = fork();
	if (child == 0)
	{
		HyStatus status;

		if (read(go[0], &token, 1) != 1)
			_exit(1);
		status = cuda->open(number, NULL, &device);
		token = status == HY_OK;
		if (write(ready[1], &token, 1) != 1 || read(go[0], &token, 1) != 1)
			_exit(1);
		_exit(0);
	}
	start = now_us();
	if (cuda->open(number, NULL, &device) != HY_OK)
	{
		HyFailure failure;

		cuda->last_error(NULL, &failure);
		printf("no GPU: device %d cannot be opened: %s\n", (int) number, failure.text);
		(void) close(go[1]);
		exit(2);
	}
	gpu_print("context_open", (now_us() - start) / 1000, "ms");
	check(cudaSetDevice(number), "selecting the device");
	check(cudaMemGetInfo(&before, &total), "asking for memory");
	if (write(go[1], &token, 1) == 1 && read(ready[0], &token, 1) == 1 && token)
	{
		check(cudaMemGetInfo(&after, &total), "asking for memory");
		gpu_print("context_memory", ((double) before - (double) after) / MIB, "MiB");
	}
	if (write(go[1], &token, 1) != 1)
		exit(1);
	(void) waitpid(child, NULL, 0);
	return device;
}

/* bench_copies: the device's own bandwidth in bytes a microsecond. */
static double
bench_copies(Work *work)
{
	size_t bytes = 256 * MIB;
	double us;
	double bandwidth;
	void *pinned;
	void *pageable = calloc(1, bytes);
	void *on_device;
	void *other;

	check(cudaHostAlloc(&pinned, bytes, cudaHostAllocDefault), "pinning memory");
	memset(pinned, 1, bytes);
	check(cudaMalloc(&on_device, bytes), "allocating");
	check(cudaMalloc(&other, bytes), "allocating");
	check(cudaMemset(on_device, 0, bytes), "clearing");
	work->bytes = bytes;

	work->from = on_device;
	work->to = other;
	gpu_print("launch_and_wait", median_us(run_launch, work), "us");

	work->kind = cudaMemcpyHostToDevice;
	work->to = on_device;
	work->from = pinned;
	gpu_print("copy_up_pinned", bytes / median_us(run_copy, work) / 1000, "GB/s");
	work->from = pageable;
	gpu_print("copy_up_pageable", bytes / median_us(run_copy, work) / 1000, "GB/s");
	work->kind = cudaMemcpyDeviceToHost;
	work->from = on_device;
	work->to = pinned;
	gpu_print("copy_down_pinned", bytes / median_us(run_copy, work) / 1000, "GB/s");
	work->to = pageable;
	gpu_print("copy_down_pageable", bytes / median_us(run_copy, work) / 1000, "GB/s");
	work->kind = cudaMemcpyDeviceToDevice;
	work->to = other;
	us = median_us(run_copy, work);
	bandwidth = 2.0 * bytes / us; /* read and written */
	gpu_print("device_bandwidth", bandwidth / 1000, "GB/s");

	check(cudaFree(on_device), "freeing");
	check(cudaFree(other), "freeing");
	check(cudaFreeHost(pinned), "freeing");
	free(pageable);
	return bandwidth;
}

/* run_topk_cpu, run_distance_and_sort: other ways to the same answer. */
static void
run_topk_cpu(Work *work)
{
	HyTopKTask *t = &work->task.u.topk;

	(void) hy_nearest_search(t->metric, &t->queries, &t->targets, t->k, NULL, &hy_malloc_allocator,
	                         t->out, t->counts, NULL);
}

static void
run_distance_and_sort(Work *work)
{
	const HyDistanceTask *d = &work->task.u.distance;
	int64_t q;
	int64_t i;

	run_task(work);
	for (q = 0; q < d->queries.rows; q++)
	{
		HyNeighbor best[K];
		HyTopK topk;

		hy_topk_init(&topk, best, K);
		for (i = 0; i < d->targets.rows; i++)
			hy_topk_push(&topk, d->out[q * d->targets.rows + i], i);
		hy_topk_sort(&topk);
	}
}

/* shape_make: a task of distances over data of its own, in the host's memory. */
static void
shape_make(Work *work, HyMetric metric, HyDtype dtype, int32_t dims, int64_t queries, int64_t rows)
{
	HyDistanceTask *d = &work->task.u.distance;
	size_t row_bytes = (size_t) dims * hy_dtype_size(dtype);
	char *targets = calloc((size_t) rows, row_bytes);
	float *query = calloc((size_t) queries * (size_t) dims, sizeof(float));
	size_t i;

	if (targets == NULL || query == NULL)
		exit(1);
	for (i = 0; i < (size_t) rows * (size_t) dims; i++)
	{
		/* no order in it: rows that come nearer and nearer would be kept more often than others */
		float value = (float) (i * UINT64_C(0x9e3779b97f4a7c15) >> 40) * 0x1p-23f - 1;

		if (dtype == HY_F32)
			((float *) targets)[i] = value;
		else
			((uint16_t *) targets)[i] = hy_float_to_half(value);
	}
	for (i = 0; i < (size_t) queries * (size_t) dims; i++)
		query[i] = (float) (i % 17) / 8 - 1;
	memset(&work->task, 0, sizeof(work->task));
	work->task.op = HY_OP_DISTANCE;
	work->task.allocator = &hy_malloc_allocator;
	d->metric = metric;
	d->queries.dims = d->targets.dims = dims;
	d->queries.rows = queries;
	d->queries.stride = (size_t) dims * sizeof(float);
	d->queries.data = query;
	d->targets.dtype = dtype;
	d->targets.rows = rows;
	d->targets.stride = row_bytes;
	d->targets.data = targets;
}

/* resident: a copy of the rows in a buffer of the device. */
static HyBuffer *
resident(Work *work, const HyMatrix *targets)
{
	uint64_t bytes = (uint64_t) targets->rows * targets->stride;
	HyBuffer *buffer;

	if (cuda->buf_alloc(work->device, bytes, &buffer) != HY_OK ||
	    cuda->upload(work->device, buffer, 0, targets->data, bytes) != HY_OK)
		give_up("a resident buffer", work->device);
	return buffer;
}

/* print_of: one measure of a shape. */
static void
print_of(const char *op, const HyDistanceTask *d, const char *measure, double value,
         const char *unit)
{
	char name[160];

	snprintf(name, sizeof(name), "%s_%s_%s_%d_%lldx%lld_%s", op, hy_metric_name(d->metric),
	         hy_dtype_name(d->targets.dtype), (int) d->targets.dims, (long long) d->queries.rows,
	         (long long) d->targets.rows, measure);
	gpu_print(name, value, unit);
}

/* bench_topk: of the task of distances that work holds; with_cpu: beside the CPU too. */
static void
bench_topk(Work *work, HyBuffer *buffer, double bandwidth, bool with_cpu)
{
	HyTask distances = work->task;
	const HyDistanceTask *d = &distances.u.distance;
	double bytes = (double) d->targets.rows * (double) d->targets.stride;
	HyNeighbor *out = calloc((size_t) d->queries.rows * K, sizeof(HyNeighbor));
	int32_t *counts = calloc((size_t) d->queries.rows, sizeof(int32_t));
	HyTopKTask *t = &work->task.u.topk;
	double on_device;
	double cpu;

	if (out == NULL || counts == NULL)
		exit(1);
	work->task.op = HY_OP_TOPK;
	*t = (HyTopKTask){.metric = d->metric,
	                  .queries = d->queries,
	                  .targets = d->targets,
	                  .k = K,
	                  .out = out,
	                  .counts = counts};
	cpu = with_cpu ? median_us(run_topk_cpu, work) : 0;
	t->targets.data = NULL;
	t->targets.buffer = buffer;
	on_device = median_us(run_task, work);
	print_of("top10", d, "resident", on_device, "us");
	print_of("top10", d, "resident_share_of_bandwidth", bytes / on_device / bandwidth, "ratio");
	if (with_cpu)
	{
		print_of("top10", d, "one_cpu", cpu, "us");
		print_of("top10", d, "resident_speedup", cpu / on_device, "ratio");
	}
	work->task = distances;
	free(out);
	free(counts);
}

static void
bench_shape(Work *work, HyMetric metric, HyDtype dtype, int32_t dims, int64_t queries, int64_t rows,
            double bandwidth)
{
	HyDistanceTask *d = &work->task.u.distance;
	const void *targets;
	HyBuffer *buffer;
	double bytes;
	double on_device;
	double host;
	double cpu;

	shape_make(work, metric, dtype, dims, queries, rows);
	targets = d->targets.data;
	bytes = (double) rows * (double) d->targets.stride;
	d->out = calloc((size_t) (queries * rows), sizeof(double));
	if (d->out == NULL)
		exit(1);
	host = median_us(run_task, work);
	cpu = median_us(run_cpu, work);
	buffer = resident(work, &d->targets);
	bench_topk(work, buffer, bandwidth, true);
	d->targets.data = NULL;
	d->targets.buffer = buffer;
	on_device = median_us(run_task, work);
	print_of("distance", d, "resident", on_device, "us");
	print_of("distance", d, "resident_share_of_bandwidth", bytes / on_device / bandwidth, "ratio");
	print_of("distance", d, "resident_then_sorted_on_host", median_us(run_distance_and_sort, work),
	         "us");
	print_of("distance", d, "host", host, "us");
	print_of("distance", d, "one_cpu", cpu, "us");
	print_of("distance", d, "resident_speedup", cpu / on_device, "ratio");
	print_of("distance", d, "host_speedup", cpu / host, "ratio");
	cuda->buf_free(work->device, buffer);
	free((void *) (uintptr_t) targets);
	free((void *) (uintptr_t) d->queries.data);
	free(d->out);
}

/* bench_many: topk for so many queries that nobody would ask for a matrix. */
static void
bench_many(Work *work, HyDtype dtype, int32_t dims, int64_t queries, int64_t rows, double bandwidth)
{
	HyDistanceTask *d = &work->task.u.distance;
	HyBuffer *buffer;

	shape_make(work, HY_METRIC_L2, dtype, dims, queries, rows);
	buffer = resident(work, &d->targets);
	bench_topk(work, buffer, bandwidth, false);
	cuda->buf_free(work->device, buffer);
	free((void *) (uintptr_t) d->targets.data);
	free((void *) (uintptr_t) d->queries.data);
}

static void
run_multiply(Work *work)
{
	check(
		hy_bench_multiply(work->multiprocessors, 20000, work->to, &work->operations, work->stream),
		"starting a kernel");
	check(cudaStreamSynchronize(work->stream), "running a kernel");
}

/* bench_matrix_rate: operations a microsecond of the matrix unit in bfloat16; 0: it has none. */
static double
bench_matrix_rate(Work *work, int32_t number)
{
	double rate;
	int capability;

	check(cudaDeviceGetAttribute(&work->multiprocessors, cudaDevAttrMultiProcessorCount, number),
	      "asking for the number of multiprocessors");
	check(cudaDeviceGetAttribute(&capability, cudaDevAttrComputeCapabilityMajor, number),
	      "asking for the compute capability");
	if (capability < 8)
		return 0;
	check(cudaMalloc(&work->to, sizeof(float)), "allocating");
	rate = median_us(run_multiply, work);
	rate = work->operations / rate;
	gpu_print("matrix_rate_bfloat16", rate / 1e6, "TFLOP/s");
	check(cudaFree(work->to), "freeing");
	return rate;
}

/* bench_filter: the k nearest for so many queries that the matrix unit should be what they wait for. */
static void
bench_filter(Work *work, HyMetric metric, HyDtype dtype, int32_t dims, int64_t queries,
             int64_t rows, double rate)
{
	HyTopKTask *t = &work->task.u.topk;
	HyNeighbor *out = calloc((size_t) queries * K, sizeof(HyNeighbor));
	int32_t *counts = calloc((size_t) queries, sizeof(int32_t));
	HyDistanceTask d;
	HyBuffer *buffer;
	float *query;
	double us;
	size_t i;

	if (out == NULL || counts == NULL)
		exit(1);
	shape_make(work, metric, dtype, dims, queries, rows);
	d = work->task.u.distance;
	/* as random as the rows: those of a pattern would have the same candidates */
	query = (float *) (uintptr_t) d.queries.data;
	for (i = 0; i < (size_t) queries * (size_t) dims; i++)
		query[i] = (float) ((i + 77) * UINT64_C(0xd1342543de82ef95) >> 40) * 0x1p-23f - 1;
	buffer = resident(work, &d.targets);
	work->task.op = HY_OP_TOPK;
	*t = (HyTopKTask){.metric = metric,
	                  .queries = d.queries,
	                  .targets = d.targets,
	                  .k = K,
	                  .out = out,
	                  .counts = counts};
	t->targets.data = NULL;
	t->targets.buffer = buffer;
	us = median_us(run_task, work);
	print_of("top10", &d, "resident", us, "us");
	if (rate > 0)
		print_of("top10", &d, "resident_share_of_matrix_rate",
		         2.0 * (double) queries * (double) rows * dims / us / rate, "ratio");
	cuda->buf_free(work->device, buffer);
	free((void *) (uintptr_t) d.targets.data);
	free(query);
	free(out);
	free(counts);
}

static void
run_spread_cpu(Work *work)
{
	HySpreadTask *s = &work->task.u.spread;

	(void) hy_spread(s->graph, s->gain, &s->params, &s->seeds, &hy_malloc_allocator, NULL,
	                 s->activation, s->hop);
}

/* random_graph: of so many entries a node, from anywhere. */
static HyCsr
random_graph(int64_t nodes, int64_t entries)
{
	HyCsr graph = {.nodes = nodes, .edges = nodes * entries};
	uint64_t state = 1;
	int64_t i;

	graph.row_start = malloc((size_t) (nodes + 1) * sizeof(int64_t));
	graph.column = malloc((size_t) graph.edges * sizeof(uint32_t));
	graph.weight = malloc((size_t) graph.edges * sizeof(float));
	graph.out_weight = calloc((size_t) nodes, sizeof(double));
	if (graph.row_start == NULL || graph.column == NULL || graph.weight == NULL ||
	    graph.out_weight == NULL)
		exit(1);
	for (i = 0; i <= nodes; i++)
		graph.row_start[i] = i * entries;
	for (i = 0; i < graph.edges; i++)
	{
		state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		graph.column[i] = (uint32_t) ((state >> 33) % (uint64_t) nodes);
		graph.weight[i] = (float) (1 + i % 7) / 8;
		graph.out_weight[graph.column[i]] += (double) graph.weight[i];
	}
	return graph;
}

/*
 * bench_spread: a hop over a graph that is up, and the whole task.  What must move in a hop, for each
 * group of eight sets: the graph; and of every node and set, its charge to and fro, what it has, and
 * its hop.
 */
static void
bench_spread(Work *work, const HyCsr *graph, int32_t sets, double bandwidth, bool with_cpu)
{
	enum
	{
		HOPS = 10
	};
	HySpreadTask *s = &work->task.u.spread;
	int64_t values = graph->nodes * sets;
	double groups = (sets + 7) / 8;
	double bytes = groups * ((double) graph->edges * 8 + (double) graph->nodes * 20) +
	               (double) values * (8 + 8 + 16 + 4);
	double *gain = malloc((size_t) graph->nodes * sizeof(double));
	double *value = malloc((size_t) sets * sizeof(double));
	uint32_t *node = malloc((size_t) sets * sizeof(uint32_t));
	int64_t *start = malloc((size_t) (sets + 1) * sizeof(int64_t));
	double without;
	double whole;
	double cpu;
	char measure[96];
	int32_t i;

	memset(&work->task, 0, sizeof(work->task));
	work->task.op = HY_OP_SPREAD;
	work->task.allocator = &hy_malloc_allocator;
	s->activation = malloc((size_t) values * sizeof(double));
	s->hop = malloc((size_t) values * sizeof(int32_t));
	if (gain == NULL || value == NULL || node == NULL || start == NULL || s->activation == NULL ||
	    s->hop == NULL)
		exit(1);
	hy_spread_gain(graph, 0.85, 1, gain);
	for (i = 0; i <= sets; i++)
		start[i] = i;
	for (i = 0; i < sets; i++)
	{
		node[i] = (uint32_t) (((int64_t) i * 7919) % graph->nodes);
		value[i] = 1;
	}
	s->graph = graph;
	s->gain = gain;
	s->params = (HySpreadParams){.decay = 0.85, .fan = 1, .tolerance = 1e-9};
	s->seeds = (HySpreadSeeds){sets, start, node, value};
	without = median_us(run_task, work);
	s->params.hops = HOPS;
	whole = median_us(run_task, work);
	snprintf(measure, sizeof(measure), "spread_%lldx%lld_%d", (long long) graph->nodes,
	         (long long) graph->edges, (int) sets);
	printf("%s_hop,%.6g,us\n", measure, (whole - without) / HOPS);
	printf("%s_hop_share_of_bandwidth,%.6g,ratio\n", measure,
	       bytes / ((whole - without) / HOPS) / bandwidth);
	printf("%s_10_hops,%.6g,us\n", measure, whole);
	printf("%s_no_hop,%.6g,us\n", measure, without);
	if (with_cpu)
	{
		cpu = median_us(run_spread_cpu, work);
		printf("%s_10_hops_one_cpu,%.6g,us\n", measure, cpu);
		printf("%s_10_hops_speedup,%.6g,ratio\n", measure, cpu / whole);
	}
	fflush(stdout);
	free(gain);
	free(value);
	free(node);
	free(start);
	free(s->activation);
	free(s->hop);
}

/* bench_graphs: one that no cache holds, and one of the size of a dictionary's. */
static void
bench_graphs(Work *work, double bandwidth)
{
	HyCsr large = random_graph(2000000, 8);
	HyCsr small = random_graph(120000, 3);

	bench_spread(work, &small, 1, bandwidth, true);
	bench_spread(work, &small, 64, bandwidth, false);
	bench_spread(work, &large, 1, bandwidth, true);
	bench_spread(work, &large, 64, bandwidth, false);
	hy_csr_free(&large, &hy_malloc_allocator);
	hy_csr_free(&small, &hy_malloc_allocator);
}

int
main(int argc, char **argv)
{
	HyHost host = {HY_BACKEND_ABI, &hy_monotonic_clock, &hy_malloc_allocator, NULL, NULL};
	Work work = {0};
	HyDeviceInfo info;
	HyFailure failure;
	double bandwidth;
	double rate;
	int32_t count = 0;
	int32_t number;
	pid_t child;
	int status = 0;
	char why[256];

	if (argc < 2)
	{
		fprintf(stderr, "usage: gpubench DIRECTORY [DEVICE]\n");
		return 2;
	}
	number = argc > 2 ? atoi(argv[2]) : 0;
	cuda = hy_plugin_load(argv[1], "hybrid_cuda", &host, why, sizeof(why));
	if (cuda == NULL)
	{
		printf("no GPU: %s\n", why);
		return 2;
	}
	/* asked in a child: this process must not start the driver before it forks in bench_context */
	fflush(stdout);
	child = fork();
	if (child == 0)
	{
		if (cuda->device_count(&count) == HY_OK && count > number &&
		    cuda->probe(number, &info) == HY_OK)
		{
			printf("# %s, %s, %d multiprocessors, %.1f GiB\n", info.name, info.architecture,
			       (int) info.cores, (double) info.memory_total / (1 << 30));
			fflush(stdout);
			_exit(0);
		}
		cuda->last_error(NULL, &failure);
		printf("no GPU: %s\n", failure.text[0] != '\0' ? failure.text : "too few devices");
		fflush(stdout);
		_exit(2);
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return 2;

	work.device = bench_context(number);
	check(cudaStreamCreateWithFlags(&work.stream, cudaStreamNonBlocking), "making a stream");
	bandwidth = bench_copies(&work);
	rate = bench_matrix_rate(&work, number);

	bench_shape(&work, HY_METRIC_L2, HY_F32, 768, 1, 64, bandwidth);
	bench_shape(&work, HY_METRIC_COSINE, HY_F32, 768, 1, 1000, bandwidth);
	bench_shape(&work, HY_METRIC_COSINE, HY_F32, 768, 1, 10000, bandwidth);
	bench_shape(&work, HY_METRIC_L2, HY_F32, 128, 1, 1000000, bandwidth);
	bench_shape(&work, HY_METRIC_L2, HY_F16, 768, 1, 1000000, bandwidth);
	bench_shape(&work, HY_METRIC_L2, HY_F32, 768, 1, 500000, bandwidth);
	bench_shape(&work, HY_METRIC_L2, HY_F32, 768, 64, 20000, bandwidth);
	bench_many(&work, HY_F32, 768, 1000, 1000000, bandwidth);
	bench_filter(&work, HY_METRIC_L2, HY_F32, 768, 10000, 1000000, rate);
	bench_filter(&work, HY_METRIC_COSINE, HY_F16, 768, 10000, 1000000, rate);
	gpu_bench_assign(rate);
	bench_graphs(&work, bandwidth);
	gpu_bench_ops(work.device, fp32_rate(number), bandwidth);

	check(cudaStreamDestroy(work.stream), "giving a stream back");
	cuda->close(work.device);
	return 0;
}
