/*
 * gpu_search.c
 *		The part of gpubench that searches: one query, which is limited by memory, and thousands, which
 *		are limited by the matrix unit.
 */
#include "gpu.h"

#include <stdlib.h>
#include <string.h>

#include "core/distance.h"
#include "core/topk.h"

#define SAMPLE 16 /* queries that are answered in the canonical way as well */
#define QUERY_SEED (UINT64_C(1) << 40)

static void one_query(HyDtype dtype, int32_t dims, int64_t rows);
static void many_queries(HyMetric metric, HyDtype dtype, int32_t dims, int64_t queries,
                         int64_t rows, GpuAsked asked);
static void compare(const char *name, const HyTask *task, const HyMatrix *targets);
static void shape(HyMetric metric, HyDtype dtype, int32_t dims, int64_t queries, int64_t rows);
static void run_and_sort(void *arg);
static const char *name_of(const char *op, HyMetric metric, HyDtype dtype, int32_t dims,
                           int64_t queries, int64_t rows);

void
gpu_resident(void)
{
	int64_t rows = gpu_size(1000000, 2000);

	one_query(HY_F32, 128, rows);
	one_query(HY_F16, 768, rows);
}

void
gpu_queries(void)
{
	int64_t rows = gpu_size(1000000, 700);
	int64_t queries = gpu_size(10000, 48);

	many_queries(HY_METRIC_L2, HY_F32, 768, gpu_size(1000, 32), rows, GPU_NOTHING);
	many_queries(HY_METRIC_L2, HY_F32, 768, queries, rows, GPU_AT_LEAST(0.5));
	many_queries(HY_METRIC_COSINE, HY_F16, 768, queries, rows, GPU_AT_LEAST(0.5));
}

/* gpu_shapes: distances, and the k nearest, of shapes as calls have them. */
void
gpu_shapes(void)
{
	shape(HY_METRIC_L2, HY_F32, 768, 1, 64);
	shape(HY_METRIC_COSINE, HY_F32, 768, 1, gpu_size(1000, 100));
	shape(HY_METRIC_COSINE, HY_F32, 768, 1, gpu_size(10000, 200));
	shape(HY_METRIC_L2, HY_F32, 128, 1, gpu_size(1000000, 300));
	shape(HY_METRIC_L2, HY_F16, 768, 1, gpu_size(1000000, 400));
	shape(HY_METRIC_L2, HY_F32, 768, 1, gpu_size(500000, 500));
	shape(HY_METRIC_L2, HY_F32, 768, gpu_size(64, 5), gpu_size(20000, 100));
}

static void
one_query(HyDtype dtype, int32_t dims, int64_t rows)
{
	HyMatrix query = gpu_matrix(dims, 1, QUERY_SEED);
	HyMatrix targets = gpu_rows_resident(dtype, dims, rows);
	HyMatrix host = gpu_rows(dtype, dims, rows);
	HyTask task = gpu_topk_task(HY_METRIC_L2, &query, &targets);
	const char *name = name_of("top10", HY_METRIC_L2, dtype, dims, 1, rows);
	double bytes = (double) rows * (double) targets.stride;
	double us = gpu_task_us(&task);

	gpu_print(gpu_name("%s_resident", name), us, "us");
	gpu_print_beside(gpu_name("%s_resident_share_of_read_bandwidth", name), bytes / us / gpu.read,
	                 "ratio", GPU_AT_LEAST(0.8), "%.6g GB/s of %.6g GB/s that a kernel reads",
	                 bytes / us / 1000, gpu.read / 1000);
	task.u.topk.targets = host;
	gpu_print_cpu(gpu_name("%s_resident", name), &task, us, GPU_NOTHING);
	gpu_topk_free(&task);
	gpu_matrix_free(&query);
}

static void
many_queries(HyMetric metric, HyDtype dtype, int32_t dims, int64_t queries, int64_t rows,
             GpuAsked asked)
{
	HyMatrix asking = gpu_matrix(dims, queries, QUERY_SEED);
	HyMatrix targets = gpu_rows_resident(dtype, dims, rows);
	HyMatrix host = gpu_rows(dtype, dims, rows);
	HyTask task = gpu_topk_task(metric, &asking, &targets);
	const char *name = name_of("top10", metric, dtype, dims, queries, rows);
	double operations = 2.0 * (double) queries * (double) rows * dims;
	double us = gpu_task_us(&task);

	gpu_print(gpu_name("%s_resident", name), us, "us");
	gpu_print_matrix_share(gpu_name("%s_resident", name), operations / us, asked);
	if (asked.sense != 0)
		compare(name, &task, &host);
	gpu_topk_free(&task);
	gpu_matrix_free(&asking);
}

/* compare: what was found for some of the queries with what the canonical sums of all rows say. */
static void
compare(const char *name, const HyTask *task, const HyMatrix *targets)
{
	const HyTopKTask *t = &task->u.topk;
	HyNeighbor expected[GPU_K];
	int32_t count;
	int right = 0;
	int i;

	for (i = 0; i < SAMPLE; i++)
	{
		int64_t q = t->queries.rows * i / SAMPLE;
		HyMatrix query = t->queries;
		bool same;
		int32_t j;

		query.data = hy_matrix_row(&t->queries, q);
		query.rows = 1;
		if (hy_topk_search(t->metric, &query, targets, GPU_K, expected, &count, NULL) != HY_OK)
			gpu_give_up("the canonical search");
		same = t->counts[q] == count;
		for (j = 0; j < count && same; j++)
			same =
				t->out[q * GPU_K + j].row == expected[j].row &&
				memcmp(&t->out[q * GPU_K + j].distance, &expected[j].distance, sizeof(double)) == 0;
		right += same;
	}
	gpu_print_beside(gpu_name("%s_answers_that_are_canonical", name), right, "queries",
	                 GPU_AT_LEAST(SAMPLE), "rows and the bits of distances; of %d queries", SAMPLE);
	/* whatever the shape and the device */
	if (right != SAMPLE)
	{
		gpu_print_missing("answers", "", GPU_NOTHING, "the device has given wrong ones");
		exit(1);
	}
}

static void
shape(HyMetric metric, HyDtype dtype, int32_t dims, int64_t queries, int64_t rows)
{
	HyMatrix asking = gpu_matrix(dims, queries, QUERY_SEED);
	HyMatrix host = gpu_rows(dtype, dims, rows);
	HyMatrix resident = gpu_rows_resident(dtype, dims, rows);
	HyTask topk = gpu_topk_task(metric, &asking, &resident);
	HyTask task = {.op = HY_OP_DISTANCE, .allocator = &hy_malloc_allocator};
	const char *name = name_of("distance", metric, dtype, dims, queries, rows);
	double bytes = (double) rows * (double) host.stride;
	double us;

	task.u.distance = (HyDistanceTask){.metric = metric,
	                                   .queries = asking,
	                                   .targets = resident,
	                                   .out = gpu_room((size_t) (queries * rows), sizeof(double))};
	us = gpu_task_us(&task);
	gpu_print(gpu_name("%s_resident", name), us, "us");
	gpu_print_beside(gpu_name("%s_resident_share_of_read_bandwidth", name), bytes / us / gpu.read,
	                 "ratio", GPU_NOTHING, "of %.6g GB/s", gpu.read / 1000);
	gpu_print(gpu_name("%s_resident_then_sorted_on_host", name), gpu_median_us(run_and_sort, &task),
	          "us");
	task.u.distance.targets = host;
	gpu_print_cpu(gpu_name("%s_resident", name), &task, us, GPU_NOTHING);
	us = gpu_task_us(&task);
	gpu_print(gpu_name("%s_host", name), us, "us");
	gpu_print_beside(gpu_name("%s_host_share_of_copies", name), bytes / us / gpu.up, "ratio",
	                 GPU_NOTHING, "of %.6g GB/s from pinned memory", gpu.up / 1000);

	name = name_of("top10", metric, dtype, dims, queries, rows);
	us = gpu_task_us(&topk);
	gpu_print(gpu_name("%s_resident", name), us, "us");
	gpu_print_beside(gpu_name("%s_resident_share_of_read_bandwidth", name), bytes / us / gpu.read,
	                 "ratio", GPU_NOTHING, "of %.6g GB/s", gpu.read / 1000);
	topk.u.topk.targets = host;
	gpu_print_cpu(gpu_name("%s_resident", name), &topk, us, GPU_NOTHING);
	free(task.u.distance.out);
	gpu_topk_free(&topk);
	gpu_matrix_free(&asking);
}

/* run_and_sort: the other way to the k nearest. */
static void
run_and_sort(void *arg)
{
	const HyDistanceTask *d = &((const HyTask *) arg)->u.distance;
	int64_t q;
	int64_t i;

	gpu_run_task(arg);
	for (q = 0; q < d->queries.rows; q++)
	{
		HyNeighbor best[GPU_K];
		HyTopK topk;

		hy_topk_init(&topk, best, GPU_K);
		for (i = 0; i < d->targets.rows; i++)
			hy_topk_push(&topk, d->out[q * d->targets.rows + i], i);
		hy_topk_sort(&topk);
	}
}

static const char *
name_of(const char *op, HyMetric metric, HyDtype dtype, int32_t dims, int64_t queries, int64_t rows)
{
	static char name[160];

	/* kept, for many lines begin with it */
	return strcpy(name, gpu_name("%s_%s_%s_%d_%lldx%lld", op, hy_metric_name(metric),
	                             hy_dtype_name(dtype), (int) dims, (long long) queries,
	                             (long long) rows));
}
