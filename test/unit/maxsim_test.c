/*
 * maxsim_test.c
 *		MaxSim compared with the nearest row of each vector: the same bits, whatever the vectors.
 */
#include "unit.h"

#include "core/distance.h"
#include "core/maxsim.h"
#include "core/tile.h"
#include "core/topk.h"
#include "prefilter_stage.h"

#define MOST_QUERIES 40

/* expect: compute MaxSim from the nearest row of each vector, in plain C. */
static double
expect(const Stage *stage)
{
	HySimd level = hy_kernels()->level;
	HyNeighbor nearest[MOST_QUERIES];
	int32_t counts[MOST_QUERIES];
	double sum = 0;
	int64_t q;

	hy_kernels_force(HY_SIMD_SCALAR);
	CHECK_INT(
		hy_topk_search(HY_METRIC_IP, &stage->queries, &stage->targets, 1, nearest, counts, NULL),
		HY_OK);
	hy_kernels_force(level);
	for (q = 0; q < stage->queries.rows; q++)
		sum += counts[q] > 0 ? -nearest[q].distance : (double) NAN;
	return sum;
}

/* check: compare MaxSim with the expected value, by pairs and with each kind of tiles. */
static void
check(const Stage *stage)
{
	double expected = expect(stage);
	double found = -1;
	const HyTileKernels *tiles;
	int n;

	CHECK_INT(hy_maxsim(&stage->queries, NULL, &stage->targets, &found, NULL), HY_OK);
	CHECK_SAME_F64(found, expected);
	CHECK(!isnan(found) || !signbit(found));
	for (n = 0; (tiles = hy_tile_kernels_nth(n)) != NULL; n++)
	{
		HyMaxsim *rounded;
		int again;

		hy_tile_kernels_force(tiles);
		rounded = hy_maxsim_create(&stage->queries, &hy_malloc_allocator);
		CHECK((rounded != NULL) == (stage->queries.rows >= 16));
		/* the second time, nothing of the first is left */
		for (again = 0; again < 2; again++)
		{
			CHECK_INT(hy_maxsim(&stage->queries, rounded, &stage->targets, &found, NULL), HY_OK);
			CHECK_SAME_F64(found, expected);
			CHECK(!isnan(found) || !signbit(found));
		}
		hy_maxsim_free(rounded, &hy_malloc_allocator);
	}
	hy_tile_kernels_force(NULL);
}

static void
test_same_as_the_nearest_rows(void)
{
	static const int dims[] = {1, 3, 16, 31, 128, 700};
	UnitRandom random = {26};
	int share = unit_share();
	int filling;
	size_t d;
	int r;

	for (filling = 0; filling < FILLINGS; filling++)
	{
		for (d = 0; d < sizeof(dims) / sizeof(dims[0]); d++)
		{
			for (r = 0; r < 6; r++)
			{
				Stage stage;
				int queries = 1 + (int) unit_random_below(&random, MOST_QUERIES);
				int targets = 1 + (int) unit_random_below(&random, r < 4 ? 90 : 600);

				make_stage(&stage, &random, r % 2 ? HY_F16 : HY_F32, dims[d], queries, targets,
				           (Filling) filling);
				if (r % share == 0)
					check(&stage);
				free_stage(&stage);
			}
		}
	}
}

/* Products beyond fp32: infinities win, and NaN does not count unless there is nothing else. */
static void
test_overflow(void)
{
	static float q[16 * 2];
	static float t[3 * 2] = {3e38f, 3e38f, 1, 1, -3e38f, -3e38f};
	Stage stage = {.queries = {HY_F32, 2, 16, 8, q, NULL, 0, NULL},
	               .targets = {HY_F32, 2, 3, 8, t, NULL, 0, NULL}};
	double found;
	int i;

	for (i = 0; i < 16; i++)
		q[2 * i] = q[2 * i + 1] = 1;
	check(&stage);
	q[0] = q[1] = 2;
	check(&stage);
	CHECK(expect(&stage) == INFINITY);
	/* inf - inf in two rows of three */
	q[1] = -2;
	q[3] = -3e38f;
	check(&stage);
	CHECK(isfinite(expect(&stage)) == 0);
	stage.targets.rows = 1;
	check(&stage);
	CHECK_INT(hy_maxsim(&stage.queries, NULL, &stage.targets, &found, NULL), HY_OK);
	CHECK(isnan(found));
	/* +inf for one vector, -inf for another */
	for (i = 0; i < 16; i++)
		q[2 * i] = q[2 * i + 1] = i % 2 ? 3e38f : -3e38f;
	check(&stage);
	CHECK(isnan(expect(&stage)));
}

static void
test_memory_and_cancel(void)
{
	UnitRandom random = {5};
	Stage stage;
	UnitMemory memory;
	UnitCancel cancel;
	HyMaxsim *rounded;
	double found;
	int fail_at;

	make_stage(&stage, &random, HY_F32, 700, 40, 700, PLAIN);
	for (fail_at = 1;; fail_at++)
	{
		unit_memory_init(&memory, fail_at);
		rounded = hy_maxsim_create(&stage.queries, &memory.allocator);
		if (rounded != NULL)
			break;
		CHECK_INT(memory.outstanding, 0);
	}
	CHECK(fail_at > 10);
	/* both ways stop at every poll */
	unit_cancel_init(&cancel, 0);
	CHECK_INT(hy_maxsim(&stage.queries, rounded, &stage.targets, &found, &cancel.cancel), HY_OK);
	CHECK(cancel.polls > 3);
	unit_cancel_init(&cancel, 2);
	CHECK_INT(hy_maxsim(&stage.queries, rounded, &stage.targets, &found, &cancel.cancel),
	          HY_CANCELLED);
	CHECK_INT(cancel.polls, 2);
	unit_cancel_init(&cancel, 2);
	CHECK_INT(hy_maxsim(&stage.queries, NULL, &stage.targets, &found, &cancel.cancel),
	          HY_CANCELLED);
	CHECK_INT(cancel.polls, 2);
	/* and a stopped one leaves nothing behind */
	CHECK_INT(hy_maxsim(&stage.queries, rounded, &stage.targets, &found, NULL), HY_OK);
	CHECK_SAME_F64(found, expect(&stage));
	hy_maxsim_free(rounded, &memory.allocator);
	CHECK_INT(memory.outstanding, 0);
	free_stage(&stage);
}

static void
test_refusals(void)
{
	static float data[8 * 20];
	HyMatrix query = {HY_F32, 8, 20, 32, data, NULL, 0, NULL};
	HyMatrix document = {HY_F32, 8, 20, 32, data, NULL, 0, NULL};
	HyMaxsim *rounded = hy_maxsim_create(&query, &hy_malloc_allocator);
	double found;

	document.dims = 7;
	CHECK_INT(hy_maxsim(&query, NULL, &document, &found, NULL), HY_INVALID);
	CHECK_INT(hy_maxsim(&query, rounded, &document, &found, NULL), HY_INVALID);
	document.dims = 8;
	document.rows = 0;
	CHECK_INT(hy_maxsim(&query, rounded, &document, &found, NULL), HY_INVALID);
	document.rows = 1;
	query.rows = 0;
	CHECK_INT(hy_maxsim(&query, NULL, &document, &found, NULL), HY_INVALID);
	CHECK(hy_maxsim_create(&query, &hy_malloc_allocator) == NULL);
	hy_maxsim_free(NULL, &hy_malloc_allocator);
	hy_maxsim_free(rounded, &hy_malloc_allocator);
}

int
main(void)
{
	UNIT_RUN(test_same_as_the_nearest_rows);
	UNIT_RUN(test_overflow);
	UNIT_RUN(test_memory_and_cancel);
	UNIT_RUN(test_refusals);
	return unit_finish();
}
