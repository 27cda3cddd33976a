/*
 * batch_size.c
 *		Whether the accumulator finds a good size: what an item costs at the size it settles on from a
 *		cold start, beside the best of a sweep over fixed sizes.
 *
 *		batch_size [ROWS]
 *
 * The workload is hybrid_knn's: rows of 128 dims come one by one, each batch is a fused search for
 * 16 queries.  On the CPU alone time is real; with an emulated device (PCIe card: 20 us launch, 25
 * GB/s; integrated: 5 us, no copy) it is virtual for what the device runs.  ROWS (2^18) go by at
 * each size, twice: the first pass warms up, the second counts.  All sizes and the choice take
 * turns, so that a busy machine meets them alike; of five rounds the median.
 *
 * CSV on stdout: batch_size,case,best_size,best_ns,found_size,found_ns,ratio
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ascending.h"
#include "dispatch/accumulator.h"

#define DIMS 128
#define QUERIES 16
#define NEIGHBOURS 10
#define POOL 65536 /* rows that take turns */
#define LEAST 64
#define MOST 16384
#define ROUNDS 5
#define SIZES 9 /* 64 .. 16384 */

extern const HyBackend *hy_plugin_entry(const HyHost *host);

typedef struct Case
{
	const char *name;
	bool device;
	const char *launch_us;
	const char *bandwidth_gbs;
} Case;

static const Case *current;
static HyShiftedClock time_; /* the device takes its own computing out of it */
static float *pool;
static HyNeighbor found[QUERIES * NEIGHBOURS];
static int32_t counts[QUERIES];

static const char *setting(void *arg, const char *name);
static HyExecutor *new_executor(int64_t batch_max);
static double pass(HyExecutor *executor, int64_t rows, int64_t *size);
static double measure(int64_t batch_max, int64_t warm_up, int64_t rows, int64_t *size);
static void die(const char *what);

int
main(int argc, char **argv)
{
	static const Case cases[] = {{"CPU alone", false, NULL, NULL},
	                             {"with an emulated PCIe card", true, "20", "25"},
	                             {"with an emulated integrated device", true, "5", "0"}};
	int64_t rows = argc > 1 ? atoll(argv[1]) : 1 << 18;
	size_t c;
	int64_t i;

	if (rows < MOST)
		die("usage: batch_size [ROWS >= 16384]");
	pool = malloc((size_t) (POOL + QUERIES) * DIMS * sizeof(float));
	if (pool == NULL)
		die("out of memory");
	for (i = 0; i < (POOL + QUERIES) * DIMS; i++)
		pool[i] = (float) ((i * 2654435761u) & 0xffff) / 65536.0f - 0.5f;

	hy_shifted_clock_init(&time_);
	printf("batch_size,case,best_size,best_ns,found_size,found_ns,ratio\n");
	for (c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
	{
		double ns[SIZES + 1][ROUNDS];
		int64_t found_size = 0;
		double found_ns;
		int best = 0;
		int round;
		int n;

		current = &cases[c];
		for (round = 0; round < ROUNDS; round++)
		{
			for (n = 0; n < SIZES; n++)
				ns[n][round] = measure(LEAST << n, rows, rows, &(int64_t){0});
			ns[SIZES][round] = measure(0, 4 * rows, rows, &found_size);
		}
		for (n = 0; n <= SIZES; n++)
			qsort(ns[n], ROUNDS, sizeof(double), ascending);
		for (n = 0; n < SIZES; n++)
		{
			if (ns[n][ROUNDS / 2] < ns[best][ROUNDS / 2])
				best = n;
		}
		found_ns = ns[SIZES][ROUNDS / 2];
		printf("batch_size,%s,%d,%.1f,%lld,%.1f,%.3f\n", current->name, LEAST << best,
		       ns[best][ROUNDS / 2], (long long) found_size, found_ns,
		       ns[best][ROUNDS / 2] / found_ns);
		fflush(stdout);
	}
	free(pool);
	return 0;
}

static const char *
setting(void *arg, const char *name)
{
	(void) arg;
	if (strcmp(name, "emulated_launch_us") == 0)
		return current->launch_us;
	if (strcmp(name, "emulated_bandwidth_gbs") == 0)
		return current->bandwidth_gbs;
	return NULL;
}

static HyExecutor *
new_executor(int64_t batch_max)
{
	static const HyHost host = {.abi = HY_BACKEND_ABI,
	                            .clock = &time_.clock,
	                            .allocator = &hy_malloc_allocator,
	                            .setting = setting};
	HyExecutor *executor;
	HyConfig config;

	if (hy_executor_create(&hy_malloc_allocator, &time_.clock, NULL, &executor) != HY_OK)
		die("out of memory");
	if (current->device && hy_executor_add_backend(executor, hy_plugin_entry(&host)) != HY_OK)
		die("the emulated device is missing");
	hy_config_default(&config);
	config.batch_max = batch_max;
	config.batch_wait_ns = 0; /* only the size is looked at */
	hy_executor_configure(executor, &config);
	return executor;
}

/* pass: so many rows, in batches; ns a row, and the size of the last batch. */
static double
pass(HyExecutor *executor, int64_t rows, int64_t *size)
{
	const HyShape shape = {.op = HY_OP_TOPK,
	                       .metric = HY_METRIC_L2,
	                       .dims = DIMS,
	                       .queries = QUERIES,
	                       .k = NEIGHBOURS};
	const uint64_t bytes = DIMS * sizeof(float);
	HyAccumulator batch;
	uint64_t ns = 0;
	int64_t row;
	int64_t first = 0;

	hy_accumulator_begin(&batch, executor, &shape, HY_BATCH_TARGETS, bytes, MOST * bytes);
	for (row = 0; row < rows; row++)
	{
		HyFlush cause = hy_accumulator_add(&batch, bytes);
		HyTask task = {.op = HY_OP_TOPK, .allocator = &hy_malloc_allocator};
		HyDecision decision;

		if (cause == HY_FLUSH_NONE && row < rows - 1)
			continue;
		task.u.topk.metric = HY_METRIC_L2;
		task.u.topk.queries = (HyMatrix){
			.dims = DIMS, .rows = QUERIES, .stride = bytes, .data = pool + (size_t) POOL * DIMS};
		task.u.topk.targets = task.u.topk.queries;
		task.u.topk.targets.rows = batch.count;
		if (first + batch.count > POOL)
			first = 0;
		task.u.topk.targets.data = pool + (size_t) first * DIMS;
		first += batch.count;
		task.u.topk.k = batch.count < NEIGHBOURS ? (int32_t) batch.count : NEIGHBOURS;
		task.u.topk.out = found;
		task.u.topk.counts = counts;
		if (hy_dispatch(executor, &task, &decision) != HY_OK)
			die("the dispatcher failed");
		ns += decision.actual_ns;
		*size = batch.size;
		hy_accumulator_flushed(&batch, executor, cause != HY_FLUSH_NONE ? cause : HY_FLUSH_END,
		                       decision.actual_ns);
	}
	return (double) ns / (double) rows;
}

static double
measure(int64_t batch_max, int64_t warm_up, int64_t rows, int64_t *size)
{
	HyExecutor *executor = new_executor(batch_max);
	double ns;

	pass(executor, warm_up, size);
	ns = pass(executor, rows, size);
	hy_executor_destroy(executor);
	return ns;
}

static void
die(const char *what)
{
	fprintf(stderr, "batch_size: %s\n", what);
	exit(1);
}
