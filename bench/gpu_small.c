/*
 * gpu_small.c
 *		The part of gpubench that runs single calls, as a session makes them, and large batches of the
 *		same operations: beside one CPU backend, and beside one per core.
 */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUERY_SEED (UINT64_C(1) << 40)
#define CENTROID_SEED (UINT64_C(1) << 41)

/* Transfer: of as many bytes as an input has. */
typedef struct Transfer
{
	void *to;
	const void *from;
	size_t bytes;
} Transfer;

static void distances(int64_t rows, double limit_ms);
static void spreading(int64_t nodes, double limit_ms);
static void nearest(int64_t rows, double limit_ms);
static void report(const char *given, HyTask *task, HyMatrix *targets, const HyMatrix *resident,
                   GpuAsked asked);
static void report_pinned(const char *name, const HyTask *task, double bytes);
static double transfer_us(const void *pinned, size_t bytes);
static void run_transfer(void *arg);
static void *pin(const void *from, size_t bytes);
static void report_batch(const char *given, const HyTask *task);

void
gpu_small(void)
{
	distances(gpu_size(10000, 200), 0.80);
	spreading(gpu_size(10000, 300), 0.45);
	nearest(gpu_size(100000, 400), 0.85);
	distances(gpu_size(1000, 100), 0.30);
	spreading(gpu_size(1000, 100), 0.12);
	nearest(gpu_size(10000, 200), 0.18);
}

void
gpu_batch(void)
{
	int64_t rows = gpu_size(1000000, 300);
	HyMatrix queries = gpu_matrix(768, gpu_size(1000, 32), QUERY_SEED);
	HyMatrix targets = gpu_rows(HY_F32, 768, rows);
	HyTask task = gpu_topk_task(HY_METRIC_L2, &queries, &targets);
	HyAssignTask *a;

	report_batch(gpu_name("topk_%lldx%lldx768", (long long) queries.rows, (long long) rows), &task);
	gpu_topk_free(&task);
	gpu_matrix_free(&queries);

	task = (HyTask){.op = HY_OP_ASSIGN, .allocator = &hy_malloc_allocator};
	a = &task.u.assign;
	a->rows = targets;
	a->centroids = gpu_matrix(768, gpu_size(4096, 64), CENTROID_SEED);
	a->nearest = gpu_room((size_t) rows, sizeof(int32_t));
	report_batch(
		gpu_name("assign_%lldx768_to_%lld", (long long) rows, (long long) a->centroids.rows),
		&task);
	gpu_matrix_free(&a->centroids);
	free(a->nearest);

	task = gpu_spread_task(gpu_size(1000000, 500), 16, (int32_t) gpu_size(64, 16),
	                       (int32_t) gpu_size(10, 3));
	report_batch(gpu_name("spread_batch_%dx%lld_edges", (int) task.u.spread.seeds.sets,
	                      (long long) task.u.spread.graph->edges),
	             &task);
	gpu_spread_free(&task);
}

static void
distances(int64_t rows, double limit_ms)
{
	HyMatrix query = gpu_matrix(768, 1, QUERY_SEED);
	HyMatrix host = gpu_rows(HY_F32, 768, rows);
	HyMatrix resident = gpu_rows_resident(HY_F32, 768, rows);
	HyTask task = {.op = HY_OP_DISTANCE, .allocator = &hy_malloc_allocator};
	HyDistanceTask *d = &task.u.distance;

	*d = (HyDistanceTask){.metric = HY_METRIC_COSINE,
	                      .queries = query,
	                      .targets = host,
	                      .out = gpu_room((size_t) rows, sizeof(double))};
	report(gpu_name("cosine_%lldx768", (long long) rows), &task, &d->targets, &resident,
	       GPU_AT_MOST(limit_ms));
	free(d->out);
	gpu_matrix_free(&query);
}

/* nearest: the k nearest among the rows of an index. */
static void
nearest(int64_t rows, double limit_ms)
{
	HyMatrix query = gpu_matrix(768, 1, QUERY_SEED);
	HyMatrix host = gpu_rows(HY_F32, 768, rows);
	HyMatrix resident = gpu_rows_resident(HY_F32, 768, rows);
	HyTask task = gpu_topk_task(HY_METRIC_L2, &query, &host);

	report(gpu_name("knn_%lldx768", (long long) rows), &task, &task.u.topk.targets, &resident,
	       GPU_AT_MOST(limit_ms));
	gpu_topk_free(&task);
	gpu_matrix_free(&query);
}

/* spreading: over a graph of ten edges a node, in three hops. */
static void
spreading(int64_t nodes, double limit_ms)
{
	HyTask task = gpu_spread_task(nodes, 10, 1, 3);
	HyCsr *graph = (HyCsr *) (uintptr_t) task.u.spread.graph;
	const HyCsr pageable = *graph;
	size_t starts = (size_t) (nodes + 1) * sizeof(uint32_t);
	size_t entries = (size_t) graph->edges * 4;
	size_t doubles = (size_t) nodes * sizeof(double);
	char name[96];
	double us;

	snprintf(name, sizeof(name), "spread_%lldx%lld_3_hops", (long long) nodes,
	         (long long) graph->edges);
	gpu_spread_reside(&task);
	us = gpu_task_us(&task);
	gpu_print_beside(gpu_name("%s_resident", name), us / 1000, "ms", GPU_AT_MOST(limit_ms),
	                 "%.6g ms to read it", 3 * (double) (2 * entries) / gpu.read / 1000);
	gpu_print_cpu(gpu_name("%s_resident", name), &task, us, GPU_NOTHING);
	gpu_spread_leave(&task);

	graph->row_start = pin(pageable.row_start, starts);
	graph->column = pin(pageable.column, entries);
	graph->weight = pin(pageable.weight, entries);
	graph->out_weight = pin(pageable.out_weight, doubles);
	report_pinned(name, &task, (double) (starts + 2 * entries + doubles));
	gpu_check(cudaFreeHost(graph->row_start), "freeing");
	gpu_check(cudaFreeHost(graph->column), "freeing");
	gpu_check(cudaFreeHost(graph->weight), "freeing");
	gpu_check(cudaFreeHost(graph->out_weight), "freeing");
	*graph = pageable;
	gpu_spread_free(&task);
}

/* report: of a task whose targets are in the host's memory, and lie on the device as well. */
static void
report(const char *given, HyTask *task, HyMatrix *targets, const HyMatrix *resident, GpuAsked asked)
{
	HyMatrix host = *targets;
	size_t bytes = (size_t) host.rows * host.stride;
	char name[96];
	double us;

	snprintf(name, sizeof(name), "%s", given);
	*targets = *resident;
	us = gpu_task_us(task);
	gpu_print_beside(gpu_name("%s_resident", name), us / 1000, "ms", asked, "%.6g ms to read it",
	                 (double) bytes / gpu.read / 1000);
	*targets = host;
	gpu_print_cpu(gpu_name("%s_resident", name), task, us, GPU_NOTHING);
	targets->data = pin(host.data, bytes);
	report_pinned(name, task, (double) bytes);
	gpu_check(cudaFreeHost((void *) (uintptr_t) targets->data), "freeing");
	*targets = host;
}

/* report_pinned: beside copying as much in one piece. */
static void
report_pinned(const char *name, const HyTask *task, double bytes)
{
	void *pinned;
	double us = gpu_task_us(task);
	double copying;

	gpu_check(cudaHostAlloc(&pinned, (size_t) bytes, cudaHostAllocDefault), "pinning memory");
	memset(pinned, 1, (size_t) bytes);
	copying = transfer_us(pinned, (size_t) bytes);
	gpu_check(cudaFreeHost(pinned), "freeing");
	gpu_print_beside(gpu_name("%s_pinned_host", name), us / 1000, "ms", GPU_NOTHING,
	                 "%.6g ms to copy %.6g MiB up", copying / 1000, bytes / (double) GPU_MIB);
	gpu_print(gpu_name("%s_transfer", name), copying / 1000, "ms");
}

static double
transfer_us(const void *pinned, size_t bytes)
{
	Transfer transfer = {.from = pinned, .bytes = bytes};
	double us;

	gpu_check(cudaMalloc(&transfer.to, bytes), "allocating");
	us = gpu_median_us(run_transfer, &transfer);
	gpu_check(cudaFree(transfer.to), "freeing");
	return us;
}

static void
run_transfer(void *arg)
{
	const Transfer *transfer = arg;

	gpu_check(cudaMemcpyAsync(transfer->to, transfer->from, transfer->bytes, cudaMemcpyHostToDevice,
	                          gpu.stream),
	          "copying");
	gpu_check(cudaStreamSynchronize(gpu.stream), "copying");
}

/* pin: a copy in pinned memory. */
static void *
pin(const void *from, size_t bytes)
{
	void *pinned;

	gpu_check(cudaHostAlloc(&pinned, bytes, cudaHostAllocDefault), "pinning memory");
	memcpy(pinned, from, bytes);
	return pinned;
}

/* report_batch: all of it from the host's memory, where batches come from. */
static void
report_batch(const char *given, const HyTask *task)
{
	char name[96];
	double us;
	double cores;

	snprintf(name, sizeof(name), "%s", given);
	us = gpu_task_us(task);
	gpu_print(gpu_name("%s_host", name), us, "us");
	/* more than, but whether 5.0000 is more does not matter */
	gpu_print_cpu(name, task, us, GPU_AT_LEAST(5));
	cores = gpu_cores_us(task);
	gpu_print_beside(gpu_name("%s_process_a_core", name), cores, "us", GPU_NOTHING,
	                 "%d processes; each with its share", gpu.cores);
	gpu_print_beside(gpu_name("%s_speedup_to_process_a_core", name), cores / us, "ratio",
	                 GPU_NOTHING, "%.6g us against %.6g us", us, cores);
}
