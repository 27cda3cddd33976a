/*
 * prefilter_test.c
 *		The filtered search compared with the exact pass: the same bits, whatever the vectors.
 */
#include "unit.h"

#include <time.h>

#include "core/distance.h"
#include "core/prefilter.h"
#include "core/tile.h"
#include "core/topk.h"
#include "prefilter_stage.h"

#define MOST_QUERIES 40
#define MOST_TARGETS 700
#define MOST_K 30

/*
 * check_search: compare the results. limits: NULL, or limits beyond which results may be missing.
 */
static void
check_search(HyMetric metric, const Stage *stage, int32_t k, const double *limits)
{
	static HyNeighbor expected[MOST_QUERIES * MOST_K];
	static HyNeighbor actual[MOST_QUERIES * MOST_K];
	int32_t expected_counts[MOST_QUERIES];
	int32_t counts[MOST_QUERIES];
	int q;

	CHECK_INT(hy_topk_search(metric, &stage->queries, &stage->targets, k, expected, expected_counts,
	                         NULL),
	          HY_OK);
	CHECK_INT(hy_prefilter_search(
				  &(HyNearest){metric, k, &stage->queries, &stage->targets, limits, actual, counts},
				  &hy_malloc_allocator, NULL),
	          HY_OK);
	for (q = 0; q < stage->queries.rows; q++)
	{
		const HyNeighbor *right = expected + q * k;
		int32_t wanted = expected_counts[q];
		int32_t n;

		while (limits != NULL && wanted > 0 && !(right[wanted - 1].distance <= limits[q]))
			wanted--;
		CHECK_MSG(limits == NULL ? counts[q] == wanted : counts[q] >= wanted,
		          "%s, %d dims, query %d of %d: %d found, not %d", hy_metric_name(metric),
		          stage->dims, q, (int) stage->queries.rows, counts[q], wanted);
		for (n = 0; n < wanted && n < counts[q]; n++)
		{
			CHECK_INT(actual[q * k + n].row, right[n].row);
			CHECK_SAME_F64(actual[q * k + n].distance, right[n].distance);
		}
	}
}

static void
test_same_as_the_exact_pass(void)
{
	static const HyMetric metrics[] = {HY_METRIC_L2, HY_METRIC_IP, HY_METRIC_COSINE};
	UnitRandom random = {61};
	const HyTileKernels *tiles;
	int repeat;
	int n;

	for (n = 0; (tiles = hy_tile_kernels_nth(n)) != NULL; n++)
	{
		CHECK_INT(hy_kernels_force(tiles->level), HY_OK);
		hy_tile_kernels_force(tiles);
		for (repeat = 0; repeat < unit_repeats(150); repeat++)
		{
			HyMetric metric = metrics[unit_random_below(&random, 3)];
			int dims = 1 + (int) unit_random_below(&random, repeat % 10 == 0 ? 2000 : 200);
			int queries = 1 + (int) unit_random_below(&random, MOST_QUERIES);
			int targets = 1 + (int) unit_random_below(&random, MOST_TARGETS);
			int32_t k = 1 + (int32_t) unit_random_below(&random, MOST_K);
			double limits[MOST_QUERIES];
			Stage stage;
			int q;

			make_stage(&stage, &random, (HyDtype) unit_random_below(&random, 2), dims, queries,
			           targets, (Filling) (repeat % FILLINGS));
			check_search(metric, &stage, k, NULL);
			for (q = 0; q < queries; q++)
			{
				HyMatrix query = stage.queries;
				HyMatrix target = stage.targets;

				query.rows = target.rows = 1;
				query.data = stage.q + q * dims;
				target.data = hy_matrix_row(
					&stage.targets, (int64_t) unit_random_below(&random, (uint64_t) targets));
				CHECK_INT(hy_distance_matrix(metric, &query, &target, &limits[q], NULL), HY_OK);
			}
			check_search(metric, &stage, k, limits);
			free_stage(&stage);
		}
	}
	hy_kernels_force(hy_simd_best());
	hy_tile_kernels_force(NULL);
}

/* More queries than are rounded at a time, long vectors, norms that the caller knows. */
static void
test_several_groups(void)
{
	enum
	{
		DIMS = 16000,
		QUERIES = 300,
		TARGETS = 70
	};
	UnitRandom random = {62};
	HyNeighbor *expected = malloc(sizeof(HyNeighbor) * QUERIES * 3);
	HyNeighbor *actual = malloc(sizeof(HyNeighbor) * QUERIES * 3);
	int32_t expected_counts[QUERIES];
	int32_t counts[QUERIES];
	float norms[TARGETS];
	Stage stage;
	int i;

	make_stage(&stage, &random, HY_F32, DIMS, QUERIES, TARGETS, PLAIN);
	for (i = 0; i < TARGETS; i++)
		norms[i] = hy_norm_sq(HY_F32, hy_matrix_row(&stage.targets, i), DIMS);
	stage.targets.norms = norms;
	CHECK_INT(hy_topk_search(HY_METRIC_COSINE, &stage.queries, &stage.targets, 3, expected,
	                         expected_counts, NULL),
	          HY_OK);
	CHECK_INT(hy_prefilter_search(&(HyNearest){HY_METRIC_COSINE, 3, &stage.queries, &stage.targets,
	                                           NULL, actual, counts},
	                              &hy_malloc_allocator, NULL),
	          HY_OK);
	CHECK(memcmp(counts, expected_counts, sizeof(counts)) == 0);
	CHECK(memcmp(actual, expected, sizeof(HyNeighbor) * QUERIES * 3) == 0);
	free_stage(&stage);
	free(expected);
	free(actual);
}

/*
 * Rows whose elements are all rounded down, in the direction of the query.  There the product is as
 * far from the exact one as the bound allows.  A bound of nine tenths of it would lose the nearest
 * row to one that is rounded up.
 */
static void
test_rows_at_the_bound(void)
{
	enum
	{
		DIMS = 400,
		QUERIES = 16,
		TARGETS = 64
	};
	UnitRandom random = {66};
	const HyTileKernels *tiles;
	int n;

	for (n = 0; (tiles = hy_tile_kernels_nth(n)) != NULL; n++)
	{
		double middle = fmin(tiles->length / sqrt(DIMS), 0.6 * tiles->largest_element);
		double x[DIMS];
		double square = 0;
		Stage stage;
		int i;
		int r;

		CHECK_INT(hy_kernels_force(tiles->level), HY_OK);
		hy_tile_kernels_force(tiles);
		make_stage(&stage, &random, HY_F32, DIMS, QUERIES, TARGETS, PLAIN);
		for (i = 0; i < QUERIES * DIMS; i++)
			stage.q[i] = 1.0f;
		memset(stage.t, 0, (size_t) (TARGETS * DIMS) * sizeof(float));
		for (i = 1; i < DIMS; i++)
		{
			x[i] = floor(middle * (0.95 + 0.1 * fabs((double) unit_random_float(&random)))) + 0.47;
			square += x[i] * x[i];
		}
		/* the first element makes the row as long, or as wide, as its scale is to be 1 */
		x[0] = tiles->largest_element;
		if (square + x[0] * x[0] > tiles->length * tiles->length)
		{
			for (i = 1; square > tiles->length * tiles->length; i++)
			{
				square -= x[i] * x[i];
				x[i] = 0;
			}
			x[0] = sqrt(tiles->length * tiles->length - square);
		}
		/* seven more are a little farther, but half of their elements are rounded up */
		for (r = 0; r < 8; r++)
		{
			for (i = 0; i < DIMS; i++)
			{
				double by = i % 2 == 0 ? 0.05 : -0.05 - 0.002 * r;

				stage.t[r * DIMS + i] = (float) (x[i] + (r == 0 || x[i] == 0 ? 0 : by));
			}
		}
		check_search(HY_METRIC_IP, &stage, 1, NULL);
		free_stage(&stage);
	}
	hy_kernels_force(hy_simd_best());
	hy_tile_kernels_force(NULL);
}

/* Products that overflow make the k-th distance -infinity: of equal rows the first ones count. */
static void
test_rows_that_are_infinitely_near(void)
{
	enum
	{
		DIMS = 40,
		QUERIES = 20,
		TARGETS = 300
	};
	UnitRandom random = {64};
	int32_t k;
	Stage stage;
	int i;

	make_stage(&stage, &random, HY_F32, DIMS, QUERIES, TARGETS, PLAIN);
	for (i = 0; i < TARGETS * DIMS; i++)
		stage.t[i] = i / DIMS % 2 == 0 ? 3e38f : fabsf(stage.t[i]);
	for (i = 0; i < QUERIES * DIMS; i++)
		stage.q[i] = 1.0f + fabsf(stage.q[i]);
	for (k = 1; k <= MOST_K; k += 4)
		check_search(HY_METRIC_IP, &stage, k, NULL);
	free_stage(&stage);
}

/* cpu_seconds: return the time of one search, with the filter or without; the best of some runs. */
static double
cpu_seconds(const Stage *stage, bool filter)
{
	enum
	{
		QUERIES = 32
	};
	HyNeighbor out[QUERIES * 10];
	int32_t counts[QUERIES];
	double best = INFINITY;
	int repeat;

	for (repeat = 0; repeat < 3; repeat++)
	{
		clock_t start = clock();
		double seconds;

		if (filter)
			CHECK_INT(hy_prefilter_search(&(HyNearest){HY_METRIC_L2, 10, &stage->queries,
			                                           &stage->targets, NULL, out, counts},
			                              &hy_malloc_allocator, NULL),
			          HY_OK);
		else
			CHECK_INT(hy_topk_search(HY_METRIC_L2, &stage->queries, &stage->targets, 10, out,
			                         counts, NULL),
			          HY_OK);
		seconds = (double) (clock() - start) / CLOCKS_PER_SEC;
		best = seconds < best ? seconds : best;
	}
	return best;
}

/*
 * If all rows are equal, all of them are candidates: that must take no more than a few times as
 * long as the exact pass. (It once took a hundred times as long, because a list was searched for
 * each of its members.)
 */
static void
test_equal_rows_are_not_dear(void)
{
	enum
	{
		DIMS = 8,
		QUERIES = 32,
		TARGETS = 8192
	};
	UnitRandom random = {65};
	double exact;
	double filter;
	Stage stage;
	int i;

	make_stage(&stage, &random, HY_F32, DIMS, QUERIES, TARGETS, PLAIN);
	for (i = 0; i < TARGETS * DIMS; i++)
		stage.t[i] = (float) (i % DIMS);
	exact = cpu_seconds(&stage, false);
	filter = cpu_seconds(&stage, true);
	CHECK_MSG(filter <= 20 * exact + 0.005, "%.4f s, and the exact pass %.4f s", filter, exact);
	free_stage(&stage);
}

static void
test_memory_and_cancel(void)
{
	UnitRandom random = {63};
	HyNeighbor out[10 * 5];
	int32_t counts[10];
	Stage stage;
	int64_t at;

	make_stage(&stage, &random, HY_F32, 2000, 10, MOST_TARGETS, PLAIN);
	for (at = 1; at < 100; at++)
	{
		UnitMemory memory;
		HyStatus status;

		unit_memory_init(&memory, at);
		status = hy_prefilter_search(
			&(HyNearest){HY_METRIC_L2, 5, &stage.queries, &stage.targets, NULL, out, counts},
			&memory.allocator, NULL);
		CHECK_INT(memory.outstanding, 0);
		if (memory.failures == 0)
		{
			CHECK_INT(status, HY_OK);
			break;
		}
		CHECK_INT(status, HY_NOMEM);
	}
	CHECK(at > 10 && at < 100);
	for (at = 1; at < 100; at++)
	{
		UnitCancel cancel;
		UnitMemory memory;
		HyStatus status;

		unit_cancel_init(&cancel, at);
		unit_memory_init(&memory, 0);
		status = hy_prefilter_search(
			&(HyNearest){HY_METRIC_L2, 5, &stage.queries, &stage.targets, NULL, out, counts},
			&memory.allocator, &cancel.cancel);
		CHECK_INT(memory.outstanding, 0);
		if (status == HY_OK)
			break;
		CHECK_INT(status, HY_CANCELLED);
	}
	CHECK(at > 2 && at < 100);
	free_stage(&stage);
}

/*
 * Shapes for which each way was measured to be considerably faster than the other
 * (bench/filter.sh).
 */
static void
test_it_suits_where_it_was_measured_to(void)
{
	int64_t n;

	CHECK(hy_prefilter_pays(HY_METRIC_L2, 1000, 10000, 768, 10));
	CHECK(!hy_prefilter_pays(HY_METRIC_L1, 1000, 10000, 768, 10));
	CHECK(!hy_prefilter_pays(HY_METRIC_L2, 1000, 10000, 768, 9000));
	CHECK(!hy_prefilter_pays(HY_METRIC_L2, 1000, 10000, 7, 10));
	hy_prefilter_allow(false);
	CHECK(!hy_prefilter_pays(HY_METRIC_L2, 1000, 10000, 768, 10));
	hy_prefilter_allow(true);

	/* few queries do not pay for the rounding of the targets, of however many */
	CHECK(!hy_prefilter_pays(HY_METRIC_L2, 1, 10000000, 768, 10));
	CHECK(!hy_prefilter_pays(HY_METRIC_COSINE, 4, 10000000, 768, 10));
	CHECK(hy_prefilter_pays(HY_METRIC_IP, 8, 4096, 768, 10));
	CHECK(hy_prefilter_pays(HY_METRIC_L2, 12, 4096, 768, 10));
	/* nor do few targets, among which most are candidates */
	CHECK(!hy_prefilter_pays(HY_METRIC_L2, 16, 64, 768, 10));
	CHECK(!hy_prefilter_pays(HY_METRIC_L2, 16, 128, 768, 10));
	CHECK(!hy_prefilter_pays(HY_METRIC_IP, 64, 64, 768, 10));
	CHECK(hy_prefilter_pays(HY_METRIC_IP, 24, 64, 768, 1));
	CHECK(hy_prefilter_pays(HY_METRIC_L2, 16, 512, 768, 10));
	CHECK(!hy_prefilter_pays(HY_METRIC_IP, 64, 256, 768, 100));
	CHECK(!hy_prefilter_pays(HY_METRIC_IP, 16, 512, 768, 100));
	CHECK(hy_prefilter_pays(HY_METRIC_IP, 16, 4096, 768, 100));
	/* what suits some suits more */
	for (n = 1; n < 20000; n = n * 3 / 2 + 1)
	{
		CHECK(!hy_prefilter_pays(HY_METRIC_L2, 16, n, 768, 10) ||
		      hy_prefilter_pays(HY_METRIC_L2, 16, n * 2, 768, 10));
		CHECK(!hy_prefilter_pays(HY_METRIC_L2, n, 300, 768, 10) ||
		      hy_prefilter_pays(HY_METRIC_L2, n * 2, 300, 768, 10));
	}
	CHECK(!hy_prefilter_pays(HY_METRIC_L2, 0, 0, 768, 10));
	CHECK(hy_prefilter_pays(HY_METRIC_L2, INT64_C(1) << 40, INT64_C(1) << 40, 16000, INT32_MAX));
}

static void
test_refusals(void)
{
	static float data[8 * 80];
	HyMatrix queries = {HY_F32, 8, 10, 32, data, NULL, 0, NULL};
	HyMatrix targets = {HY_F32, 8, 80, 32, data, NULL, 0, NULL};
	HyNeighbor out[30];
	int32_t counts[10];

	CHECK_INT(
		hy_prefilter_search(&(HyNearest){HY_METRIC_L1, 3, &queries, &targets, NULL, out, counts},
	                        &hy_malloc_allocator, NULL),
		HY_UNSUPPORTED);
	CHECK_INT(
		hy_prefilter_search(&(HyNearest){HY_METRIC_L2, 0, &queries, &targets, NULL, out, counts},
	                        &hy_malloc_allocator, NULL),
		HY_INVALID);
	targets.dims = 7;
	CHECK_INT(
		hy_prefilter_search(&(HyNearest){HY_METRIC_L2, 3, &queries, &targets, NULL, out, counts},
	                        &hy_malloc_allocator, NULL),
		HY_INVALID);
	targets.dims = 8;
	targets.rows = 0;
	counts[9] = 7;
	CHECK_INT(
		hy_prefilter_search(&(HyNearest){HY_METRIC_L2, 3, &queries, &targets, NULL, out, counts},
	                        &hy_malloc_allocator, NULL),
		HY_OK);
	CHECK_INT(counts[9], 0);
}

int
main(void)
{
	UNIT_RUN(test_same_as_the_exact_pass);
	UNIT_RUN(test_several_groups);
	UNIT_RUN(test_rows_at_the_bound);
	UNIT_RUN(test_rows_that_are_infinitely_near);
	UNIT_RUN(test_equal_rows_are_not_dear);
	UNIT_RUN(test_memory_and_cancel);
	UNIT_RUN(test_it_suits_where_it_was_measured_to);
	UNIT_RUN(test_refusals);
	return unit_finish();
}
