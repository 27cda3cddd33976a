/*
 * batch_size.c
 *		Whether the accumulator finds a good batch size: the cost of an item at the size that it settles
 *		on from a cold start, beside the best of a sweep over fixed sizes.
 *
 *		batch_size [ROWS]
 *
 * The workload is that of hybrid_knn: rows of 128 dims come one by one, and each batch is a fused
 * search for 16 queries.  On the CPU alone the time is real.  With an emulated device (PCIe card:
 * 20 us launch, 25 GB/s; integrated: 5 us, no copy) it is virtual for the work that the device runs.
 * The warm-up is ROWS (2^18) rows at each fixed size, and four times as many where the accumulator
 * chooses.  Then ROWS more are measured.  All sizes and the choice take turns every 16,384 rows, so
 * that changes in the machine's speed affect them alike.  The result is the one of five rounds with
 * the median ratio.
 *
 * CSV on stdout: batch_size,case,best_size,best_ns,found_size,found_ns,ratio
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ascending.h"
#include "dispatch/route/accumulator.h"
#include "dispatch/run/dispatcher.h"

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

/* Contender: one size, or the choice, with a dispatcher of its own. */
typedef struct Contender
{
	HyExecutor *executor;
	HyAccumulator batch;
	int64_t next; /* row of the pool */
	double ns;    /* by all batches since it was last set to 0 */
} Contender;

/* Round: what a round found. */
typedef struct Round
{
	int64_t best_size;
	int64_t found_size;
	double best_ns; /* a row */
	double found_ns;
	double ratio;
} Round;

static const Case *current;
static HyShiftedClock time_; /* the device takes its own computing out of it */
static float *pool;
static HyNeighbor found[QUERIES * NEIGHBOURS];
static int32_t counts[QUERIES];

static Round run_round(int64_t rows);
static int by_ratio(const void *a, const void *b);
static const char *setting(void *arg, const char *name);
static void begin(Contender *contender, int64_t batch_max);
static void run(Contender *contender, int64_t rows);
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
		Round round[ROUNDS];
		const Round *median = &round[ROUNDS / 2];
		int r;

		current = &cases[c];
		for (r = 0; r < ROUNDS; r++)
			round[r] = run_round(rows);
		qsort(round, ROUNDS, sizeof(Round), by_ratio);
		printf("batch_size,%s,%lld,%.1f,%lld,%.1f,%.3f\n", current->name,
		       (long long) median->best_size, median->best_ns, (long long) median->found_size,
		       median->found_ns, median->ratio);
		fflush(stdout);
	}
	free(pool);
	return 0;
}

static Round
run_round(int64_t rows)
{
	Contender contenders[SIZES + 1];
	const Contender *choice = &contenders[SIZES];
	const Contender *best = contenders;
	Round round;
	int64_t turn;
	int n;

	for (n = 0; n <= SIZES; n++)
	{
		begin(&contenders[n], n < SIZES ? LEAST << n : 0);
		run(&contenders[n], n < SIZES ? rows : 4 * rows);
		contenders[n].ns = 0;
	}
	for (turn = 0; turn < rows; turn += MOST)
		for (n = 0; n <= SIZES; n++)
			run(&contenders[n], rows - turn < MOST ? rows - turn : MOST);

	for (n = 0; n < SIZES; n++)
	{
		if (contenders[n].ns < best->ns)
			best = &contenders[n];
	}
	round.best_size = LEAST << (best - contenders);
	round.best_ns = best->ns / (double) rows;
	round.found_size = choice->batch.size;
	round.found_ns = choice->ns / (double) rows;
	round.ratio = best->ns / choice->ns;
	for (n = 0; n <= SIZES; n++)
		hy_executor_destroy(contenders[n].executor);
	return round;
}

static int
by_ratio(const void *a, const void *b)
{
	return ascending(&((const Round *) a)->ratio, &((const Round *) b)->ratio);
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

static void
begin(Contender *contender, int64_t batch_max)
{
	static const HyHost host = {.abi = HY_BACKEND_ABI,
	                            .clock = &time_.clock,
	                            .allocator = &hy_malloc_allocator,
	                            .setting = setting};
	HyConfig config;

	if (hy_executor_create(&hy_malloc_allocator, &time_.clock, NULL, &contender->executor) != HY_OK)
		die("out of memory");
	if (current->device &&
	    hy_executor_add_backend(contender->executor, hy_plugin_entry(&host)) != HY_OK)
		die("the emulated device is missing");
	hy_config_default(&config);
	config.batch_max = batch_max;
	config.batch_wait_ns = 0; /* only the size is looked at */
	hy_executor_configure(contender->executor, &config);
	contender->next = 0;
	contender->ns = 0;
}

/* run: so many rows, in batches. */
static void
run(Contender *contender, int64_t rows)
{
	const HyShape shape = {.op = HY_OP_TOPK,
	                       .metric = HY_METRIC_L2,
	                       .dims = DIMS,
	                       .queries = QUERIES,
	                       .k = NEIGHBOURS};
	const uint64_t bytes = DIMS * sizeof(float);
	HyAccumulator *batch = &contender->batch;
	int64_t row;

	hy_accumulator_begin(batch, contender->executor, &shape, bytes, MOST * bytes);
	for (row = 0; row < rows; row++)
	{
		HyFlush cause = hy_accumulator_add(batch, bytes);
		HyTask task = {.op = HY_OP_TOPK, .allocator = &hy_malloc_allocator};
		HyDecision decision;

		if (cause == HY_FLUSH_NONE && row < rows - 1)
			continue;
		task.u.topk.metric = HY_METRIC_L2;
		task.u.topk.queries = (HyMatrix){
			.dims = DIMS, .rows = QUERIES, .stride = bytes, .data = pool + (size_t) POOL * DIMS};
		task.u.topk.targets = task.u.topk.queries;
		task.u.topk.targets.rows = batch->count;
		if (contender->next + batch->count > POOL)
			contender->next = 0;
		task.u.topk.targets.data = pool + (size_t) contender->next * DIMS;
		contender->next += batch->count;
		task.u.topk.k = batch->count < NEIGHBOURS ? (int32_t) batch->count : NEIGHBOURS;
		task.u.topk.out = found;
		task.u.topk.counts = counts;
		if (hy_dispatch(contender->executor, &task, &decision) != HY_OK)
			die("the dispatcher failed");
		contender->ns += (double) decision.actual_ns;
		hy_accumulator_flushed(batch, contender->executor,
		                       cause != HY_FLUSH_NONE ? cause : HY_FLUSH_END);
	}
}

static void
die(const char *what)
{
	fprintf(stderr, "batch_size: %s\n", what);
	exit(1);
}
