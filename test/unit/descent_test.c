/*
 * descent_test.c
 *		Rounds over a poor graph: it gains the nearest rows, with canonical distances, and no row twice.
 */
#include "unit.h"

#include "core/descent.h"
#include "core/distance.h"
#include "core/threads.h"

#define ROWS 600
#define DIMS 7
#define K 9
#define ROUNDS 12

/* Stage: rows, and heaps over them. */
typedef struct Stage
{
	float values[ROWS * DIMS];
	uint16_t halves[ROWS * DIMS];
	HyMatrix matrix;
	HyNeighbor items[ROWS * K];
	HyTopK best[ROWS];
} Stage;

static const float *
row_of(const Stage *stage, int64_t row)
{
	return stage->values + row * DIMS;
}

/* fill: make random rows, some of them equal, and heaps with random other rows. */
static void
fill(Stage *stage, HyMetric metric, HyDtype dtype, uint64_t seed)
{
	UnitRandom random = {seed};
	int i;

	for (i = 0; i < ROWS * DIMS; i++)
	{
		float x =
			i >= 20 * DIMS && i < 26 * DIMS ? stage->values[i - DIMS] : unit_random_float(&random);

		stage->halves[i] = hy_float_to_half(x);
		stage->values[i] = hy_half_to_float(stage->halves[i]);
	}
	stage->matrix = (HyMatrix){.dtype = dtype, .dims = DIMS, .rows = ROWS};
	stage->matrix.stride = DIMS * hy_dtype_size(dtype);
	stage->matrix.data = dtype == HY_F32 ? (const void *) stage->values : stage->halves;
	for (i = 0; i < ROWS; i++)
	{
		bool taken[ROWS] = {false};
		HyTopK *best = &stage->best[i];

		hy_topk_init(best, stage->items + i * K, K);
		/* some heaps have the row itself, and some are not full */
		taken[i] = i % 3 != 0;
		while (best->count < (i % 50 == 0 ? 1 : K))
		{
			int64_t target = (int64_t) unit_random_below(&random, ROWS);

			if (!taken[target])
				hy_topk_push(best,
				             hy_distance(metric, row_of(stage, i), row_of(stage, target), DIMS),
				             target);
			taken[target] = true;
		}
	}
}

/* check: no row is twice in a heap, and all distances are canonical.  Returns the share of exact neighbors. */
static double
check(const Stage *stage, HyMetric metric)
{
	int64_t hits = 0;
	int i;
	int j;

	for (i = 0; i < ROWS; i++)
	{
		const HyTopK *best = &stage->best[i];
		HyNeighbor exact[K];
		HyTopK heap;

		hy_topk_init(&heap, exact, K);
		for (j = 0; j < ROWS; j++)
		{
			if (j != i)
				hy_topk_push(&heap, hy_distance(metric, row_of(stage, i), row_of(stage, j), DIMS),
				             j);
		}
		for (j = 0; j < best->count; j++)
		{
			int64_t row = best->items[j].row;
			int n;

			CHECK_SAME_F64(best->items[j].distance,
			               hy_distance(metric, row_of(stage, i), row_of(stage, row), DIMS));
			for (n = 0; n < j; n++)
				CHECK(best->items[n].row != row);
			hits += row != i && best->items[j].distance <= exact[0].distance;
		}
	}
	return (double) hits / (ROWS * K);
}

/* run: improve the heaps until a round keeps nothing. */
static void
run(Stage *stage, HyMetric metric, int threads)
{
	HyDescent *descent =
		hy_descent_create(&hy_malloc_allocator, metric, &stage->matrix, K, stage->best, threads);
	int64_t kept = 1;
	int round;

	CHECK(descent != NULL);
	for (round = 0; round < ROUNDS && kept > 0; round++)
		CHECK_INT(hy_descent_round(descent, &kept, NULL), HY_OK);
	CHECK_INT(kept, 0);
	hy_descent_free(&hy_malloc_allocator, descent);
}

static void
test_metrics(void)
{
	static Stage stage;
	int metric;
	int dtype;

	for (metric = 0; metric < HY_METRIC_COUNT; metric++)
	{
		for (dtype = 0; dtype < HY_DTYPE_COUNT; dtype++)
		{
			double before;
			double after;

			fill(&stage, (HyMetric) metric, (HyDtype) dtype, 71);
			before = check(&stage, (HyMetric) metric);
			run(&stage, (HyMetric) metric, 1);
			after = check(&stage, (HyMetric) metric);
			CHECK_MSG(before < 0.2, "metric %d: %f before", metric, before);
			CHECK_MSG(after > 0.85, "metric %d: %f after", metric, after);
		}
	}
}

static void
test_threads(void)
{
	static Stage one;
	static Stage many;

	fill(&one, HY_METRIC_COSINE, HY_F16, 72);
	run(&one, HY_METRIC_COSINE, 1);
	fill(&many, HY_METRIC_COSINE, HY_F16, 72);
	hy_threads_set_least(1);
	hy_threads_allow(4);
	/* more than there can be */
	run(&many, HY_METRIC_COSINE, HY_THREADS_MOST + 60);
	hy_threads_allow(1);
	hy_threads_set_least(0);
	CHECK(memcmp(one.items, many.items, sizeof(one.items)) == 0);
}

static void
test_memory_and_cancel(void)
{
	static Stage stage;
	UnitMemory memory;
	UnitCancel cancel;
	HyDescent *descent;
	int fail_at;
	int poll;
	int64_t polls = 1;
	int64_t kept;

	for (fail_at = 1;; fail_at++)
	{
		fill(&stage, HY_METRIC_L2, HY_F32, 73);
		unit_memory_init(&memory, fail_at);
		descent =
			hy_descent_create(&memory.allocator, HY_METRIC_L2, &stage.matrix, K, stage.best, 1);
		if (descent != NULL)
			break;
		CHECK_INT(memory.outstanding, 0);
	}
	CHECK_INT(fail_at, 9);
	/* without memory for a second thread, one does all */
	hy_descent_free(&memory.allocator, descent);
	unit_memory_init(&memory, fail_at);
	descent = hy_descent_create(&memory.allocator, HY_METRIC_L2, &stage.matrix, K, stage.best, 2);
	CHECK(descent != NULL);
	CHECK_INT(memory.failures, 1);
	unit_cancel_init(&cancel, 0);
	CHECK_INT(hy_descent_round(descent, &kept, &cancel.cancel), HY_OK);
	CHECK(kept > ROWS);
	polls = cancel.polls;
	hy_descent_free(&memory.allocator, descent);
	CHECK_INT(memory.outstanding, 0);
	/* it stops at each poll, and the heaps are good at any time */
	CHECK(polls > ROWS);
	for (poll = 1; poll <= polls; poll += poll < 40 ? 1 : 29)
	{
		fill(&stage, HY_METRIC_L2, HY_F32, 73);
		descent =
			hy_descent_create(&hy_malloc_allocator, HY_METRIC_L2, &stage.matrix, K, stage.best, 1);
		unit_cancel_init(&cancel, poll);
		CHECK_INT(hy_descent_round(descent, &kept, &cancel.cancel), HY_CANCELLED);
		CHECK_INT(cancel.polls, poll);
		hy_descent_free(&hy_malloc_allocator, descent);
	}
	(void) check(&stage, HY_METRIC_L2);
}

int
main(void)
{
	UNIT_RUN(test_metrics);
	UNIT_RUN(test_threads);
	UNIT_RUN(test_memory_and_cancel);
	return unit_finish();
}
