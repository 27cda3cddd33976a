/*
 * kmeans_test.c
 *		Clusters: found where they are, the same everywhere, and none empty.
 */
#include "kmeans_stage.h"

#include "core/distance.h"
#include "core/prefilter.h"

static HyKmeans
clustering(const HyMatrix *rows, int32_t k, uint64_t seed)
{
	HyKmeans task = {.rows = rows,
	                 .k = k,
	                 .iterations = HY_KMEANS_ITERATIONS,
	                 .seed = seed,
	                 .allocator = &hy_malloc_allocator};

	return task;
}

/*
 * gathered: make rows around this many random places, of unequal numbers.  Row i is at place sqrt(i
 * % places^2).
 */
static float *
gathered(UnitRandom *random, int64_t rows, int dims, int places, float spread, int *place)
{
	float *values = malloc((size_t) rows * (size_t) dims * sizeof(float));
	float *middle = malloc((size_t) places * (size_t) dims * sizeof(float));
	int64_t i;
	int d;

	for (d = 0; d < places * dims; d++)
		middle[d] = 10 * unit_random_float(random);
	for (i = 0; i < rows; i++)
	{
		int at = (int) sqrt((double) (i % ((int64_t) places * places)));

		if (place != NULL)
			place[i] = at;
		for (d = 0; d < dims; d++)
			values[i * dims + d] = middle[at * dims + d] + spread * unit_random_float(random);
	}
	free(middle);
	return values;
}

static double
inertia(const float *values, int64_t rows, int dims, const float *centroids, const int32_t *nearest)
{
	double sum = 0;
	int64_t i;
	int d;

	for (i = 0; i < rows; i++)
	{
		for (d = 0; d < dims; d++)
		{
			double difference = (double) values[i * dims + d] - centroids[nearest[i] * dims + d];

			sum += difference * difference;
		}
	}
	return sum;
}

/* check_answer: check the properties of every answer. */
static void
check_answer(const HyMatrix *rows, int32_t k, const float *centroids, const int32_t *nearest,
             const int64_t *counts, int32_t found)
{
	int64_t *counted = calloc((size_t) k, sizeof(int64_t));
	int64_t i;
	int32_t c;

	CHECK(found >= 1 && found <= k);
	for (i = 0; i < rows->rows; i++)
	{
		double own;
		int32_t best = 0;
		double least = INFINITY;

		CHECK(nearest[i] >= 0 && nearest[i] < found);
		counted[nearest[i]]++;
		for (c = 0; c < found; c++)
		{
			own = hy_distance(HY_METRIC_L2, hy_matrix_row(rows, i), centroids + c * rows->dims,
			                  rows->dims);
			if (own < least)
			{
				least = own;
				best = c;
			}
		}
		CHECK_INT(nearest[i], best);
	}
	for (c = 0; c < found; c++)
	{
		CHECK(counts[c] > 0);
		CHECK_INT(counts[c], counted[c]);
	}
	free(counted);
}

static void
test_finds_what_is_there(void)
{
	enum
	{
		ROWS = 3000,
		PLACES = 12
	};
	static int place[ROWS];
	static int32_t nearest[ROWS];
	float centroids[2 * PLACES * DIMS];
	int64_t counts[2 * PLACES];
	UnitRandom random = {71};
	int seed;
	int seeds = 20;
	int whole = 0;

	for (seed = 0; seed < seeds; seed++)
	{
		float *values = gathered(&random, ROWS, DIMS, PLACES, 0.3f, place);
		HyMatrix rows = matrix(values, ROWS, DIMS);
		HyKmeans task = clustering(&rows, 2 * PLACES, (uint64_t) seed);
		int32_t found;
		bool mixed = false;
		int i;
		int j;

		CHECK_INT(hy_kmeans(&task, centroids, nearest, counts, &found), HY_OK);
		check_answer(&rows, 2 * PLACES, centroids, nearest, counts, found);
		CHECK_INT(found, 2 * PLACES);
		/* with room for all, no cluster holds rows of two places */
		for (i = 0; i < ROWS; i += 7)
		{
			for (j = i; j < ROWS; j += 13)
				mixed |= place[i] != place[j] && nearest[i] == nearest[j];
		}
		whole += !mixed;
		free(values);
	}
	CHECK_MSG(whole >= seeds - 3, "%d of %d", whole, seeds);
}

/* Iterations improve the result, and with many of them moving a row changes almost nothing. */
static void
test_iterations_make_it_better(void)
{
	enum
	{
		ROWS = 2000,
		K = 30
	};
	static int32_t nearest[ROWS];
	float centroids[K * DIMS];
	int64_t counts[K];
	UnitRandom random = {72};
	float *values = gathered(&random, ROWS, DIMS, 10, 8, NULL);
	HyMatrix rows = matrix(values, ROWS, DIMS);
	double before = INFINITY;
	double first = 0;
	int32_t found;
	int iterations;
	int i;
	int c;
	int d;

	for (iterations = 0; iterations <= 200; iterations = iterations < 4 ? iterations + 1 : 200)
	{
		HyKmeans task = clustering(&rows, K, 5);
		double now;

		task.iterations = iterations;
		CHECK_INT(hy_kmeans(&task, centroids, nearest, counts, &found), HY_OK);
		check_answer(&rows, K, centroids, nearest, counts, found);
		now = inertia(values, ROWS, DIMS, centroids, nearest);
		CHECK_MSG(now < before, "%d iterations: %g after %g", iterations, now, before);
		before = now;
		first = iterations == 0 ? now : first;
		if (iterations == 200)
			break;
	}
	CHECK_MSG(before < 0.85 * first, "%g after %g", before, first);
	/* a fixed point: each centroid is the mean of its rows */
	for (c = 0; c < found; c++)
	{
		for (d = 0; d < DIMS; d++)
		{
			double sum = 0;

			for (i = 0; i < ROWS; i++)
				sum += nearest[i] == c ? (double) values[i * DIMS + d] : 0;
			CHECK_NEAR(centroids[c * DIMS + d], sum / (double) counts[c], 1e-5);
		}
	}
	free(values);
}

typedef struct Caller
{
	HyKmeansHere here;
	int calls;
	int fail_at;
	bool forgetful; /* says that no row is near to the first half of the centroids */
	bool wrong;
} Caller;

/* Joined: an assignment that never changes, in which row `lone` shares the cluster of row `host`. */
typedef struct Joined
{
	int32_t nearest[21];
	int lone;
	int host;
	int calls;
} Joined;

static HyStatus
assign_joined(void *arg, const HyMatrix *rows, const HyMatrix *centroids, int32_t *nearest)
{
	static HyKmeansHere here = {&hy_malloc_allocator, NULL};
	Joined *joined = arg;

	if (joined->calls++ == 0)
	{
		CHECK_INT(hy_kmeans_assign(&here, rows, centroids, joined->nearest), HY_OK);
		joined->nearest[joined->lone] = joined->nearest[joined->host];
	}
	memcpy(nearest, joined->nearest, sizeof(joined->nearest));
	return HY_OK;
}

static HyStatus
assign_for(void *arg, const HyMatrix *rows, const HyMatrix *centroids, int32_t *nearest)
{
	Caller *caller = arg;
	HyStatus status;
	int64_t i;

	if (++caller->calls == caller->fail_at)
		return HY_DEVICE_GONE;
	status = hy_kmeans_assign(&caller->here, rows, centroids, nearest);
	for (i = 0; i < rows->rows && caller->forgetful && caller->calls == 1; i++)
		nearest[i] = (int32_t) (centroids->rows - 1 - i % (centroids->rows / 2));
	if (caller->wrong)
		nearest[rows->rows / 2] = (int32_t) centroids->rows;
	return status;
}

static void
test_same_everywhere(void)
{
	enum
	{
		ROWS = 2500,
		K = 40
	};
	static int32_t nearest[2][ROWS];
	static float centroids[2][K * DIMS];
	UnitRandom random = {73};
	float *values = gathered(&random, ROWS, DIMS, 10, 8, NULL);
	HyMatrix rows = matrix(values, ROWS, DIMS);
	HyKmeans task = clustering(&rows, K, 9);
	HySimd level = hy_kernels()->level;
	Caller caller = {.here = {&hy_malloc_allocator, NULL}};
	int32_t found[2];
	int other;

	CHECK_INT(hy_kmeans(&task, centroids[0], nearest[0], NULL, &found[0]), HY_OK);
	for (other = 0; other < HY_SIMD_COUNT + 2; other++)
	{
		if (other < HY_SIMD_COUNT && hy_kernels_force((HySimd) other) != HY_OK)
			continue;
		hy_prefilter_allow(other != HY_SIMD_COUNT);
		if (other == HY_SIMD_COUNT + 1)
		{
			task.assign = assign_for;
			task.assign_arg = &caller;
		}
		CHECK_INT(hy_kmeans(&task, centroids[1], nearest[1], NULL, &found[1]), HY_OK);
		CHECK_INT(found[1], found[0]);
		CHECK(memcmp(centroids[0], centroids[1], sizeof(centroids[0])) == 0);
		CHECK(memcmp(nearest[0], nearest[1], sizeof(nearest[0])) == 0);
		CHECK_INT(hy_kernels_force(level), HY_OK);
		hy_prefilter_allow(true);
	}
	CHECK(caller.calls > 1 && caller.calls <= HY_KMEANS_ITERATIONS + 1);
	/* nearest is not wanted; another seed is another clustering */
	CHECK_INT(hy_kmeans(&task, centroids[1], NULL, NULL, &found[1]), HY_OK);
	CHECK(memcmp(centroids[0], centroids[1], sizeof(centroids[0])) == 0);
	task.seed = 10;
	CHECK_INT(hy_kmeans(&task, centroids[1], NULL, NULL, &found[1]), HY_OK);
	CHECK(memcmp(centroids[0], centroids[1], sizeof(centroids[0])) != 0);
	free(values);
}

static void
test_the_callers_assignment(void)
{
	enum
	{
		ROWS = 600,
		K = 12
	};
	int32_t nearest[ROWS];
	int64_t counts[K];
	float centroids[K * DIMS];
	UnitRandom random = {74};
	float *values = gathered(&random, ROWS, DIMS, 6, 3, NULL);
	HyMatrix rows = matrix(values, ROWS, DIMS);
	HyKmeans task = clustering(&rows, K, 9);
	Caller forgetful = {.here = {&hy_malloc_allocator, NULL}, .forgetful = true};
	Caller failing = {.here = {&hy_malloc_allocator, NULL}, .fail_at = 3};
	Caller wrong = {.here = {&hy_malloc_allocator, NULL}, .wrong = true};
	int32_t found;
	int i;

	task.assign = assign_for;
	task.assign_arg = &forgetful;
	/* the empty half is filled again */
	CHECK_INT(hy_kmeans(&task, centroids, nearest, counts, &found), HY_OK);
	CHECK_INT(found, K);
	check_answer(&rows, K, centroids, nearest, counts, found);
	/* and is left out where it is not */
	forgetful.calls = 0;
	task.iterations = 0;
	CHECK_INT(hy_kmeans(&task, centroids, nearest, counts, &found), HY_OK);
	CHECK_INT(found, K / 2);
	for (i = 0; i < ROWS; i++)
		CHECK_INT(nearest[i], K / 2 - 1 - i % (K / 2));
	CHECK_INT(counts[0], ROWS / (K / 2));
	task.iterations = HY_KMEANS_ITERATIONS;
	task.assign_arg = &failing;
	CHECK_INT(hy_kmeans(&task, centroids, nearest, counts, &found), HY_DEVICE_GONE);
	CHECK_INT(failing.calls, 3);
	task.assign_arg = &wrong;
	CHECK_INT(hy_kmeans(&task, centroids, nearest, counts, &found), HY_BUG);
	free(values);
}

static void
test_few_and_equal_rows(void)
{
	static float values[500 * DIMS];
	static int32_t nearest[500];
	static float centroids[100 * DIMS];
	int64_t counts[100];
	int32_t found;
	int i;
	int d;
	HyMatrix rows = matrix(values, 500, DIMS);
	HyKmeans task = clustering(&rows, 100, 3);

	/* all alike */
	CHECK_INT(hy_kmeans(&task, centroids, nearest, counts, &found), HY_OK);
	CHECK_INT(found, 1);
	CHECK_INT(counts[0], 500);
	/* five that differ, the fifth only once */
	for (i = 0; i < 500; i++)
	{
		for (d = 0; d < DIMS; d++)
			values[i * DIMS + d] = i == 499 ? 4 : (float) (i % 4);
	}
	CHECK_INT(hy_kmeans(&task, centroids, nearest, counts, &found), HY_OK);
	CHECK_INT(found, 5);
	check_answer(&rows, 100, centroids, nearest, counts, found);
	/* fewer rows than centroids; a single one */
	rows.rows = 4;
	CHECK_INT(hy_kmeans(&task, centroids, nearest, counts, &found), HY_OK);
	CHECK_INT(found, 4);
	rows.rows = 1;
	CHECK_INT(hy_kmeans(&task, centroids, nearest, counts, &found), HY_OK);
	CHECK_INT(found, 1);
	/* so far away that squares are infinite */
	rows.rows = 500;
	for (i = 0; i < 500 * DIMS; i++)
		values[i] = i % 3 == 0 ? 3e38f : -3e38f;
	CHECK_INT(hy_kmeans(&task, centroids, nearest, counts, &found), HY_OK);
	CHECK(found >= 1);

	rows.rows = 0;
	CHECK_INT(hy_kmeans(&task, centroids, nearest, counts, &found), HY_INVALID);
	rows.rows = 4;
	task.k = 0;
	CHECK_INT(hy_kmeans(&task, centroids, nearest, counts, &found), HY_INVALID);
	task.k = 2;
	rows.dtype = HY_F16;
	CHECK_INT(hy_kmeans(&task, centroids, nearest, counts, &found), HY_INVALID);
}

/* Iterations end when an empty cluster cannot be filled and no mean changes. */
static void
test_nothing_to_split_off(void)
{
	static float values[21 * DIMS];
	int32_t nearest[21];
	float centroids[3 * DIMS];
	int64_t counts[3];
	int32_t found;
	int i;
	int d;
	HyMatrix rows = matrix(values, 21, DIMS);
	HyKmeans task = clustering(&rows, 3, 3);
	Joined joined = {.lone = 20, .host = 19};

	/* the largest cluster has 13 equal rows; the lone row leaves its own cluster empty */
	for (i = 0; i < 21; i++)
	{
		for (d = 0; d < DIMS; d++)
			values[i * DIMS + d] = i < 13 ? 0 : i < 20 ? 4 : 9;
	}
	task.assign = assign_joined;
	task.assign_arg = &joined;
	CHECK_INT(hy_kmeans(&task, centroids, nearest, counts, &found), HY_OK);
	CHECK_INT(found, 2);
	CHECK_INT(counts[nearest[0]], 13);
	CHECK_INT(counts[nearest[19]], 8);
	/* the seeds, and once more because the lone row moved a mean */
	CHECK_INT(joined.calls, 2);
}

static void
test_memory_and_cancel(void)
{
	enum
	{
		ROWS = 700,
		K = 20
	};
	static int32_t nearest[ROWS];
	static uint8_t side[ROWS];
	float centroids[K * DIMS];
	UnitRandom random = {75};
	float *values = gathered(&random, ROWS, DIMS, 10, 8, NULL);
	HyMatrix rows = matrix(values, ROWS, DIMS);
	HyKmeans task = clustering(&rows, K, 9);
	Caller forgetful = {.forgetful = true};
	UnitMemory memory;
	UnitCancel cancel;
	HyStatus status = HY_NOMEM;
	int64_t polls;
	int32_t found;
	int64_t at;

	task.allocator = &memory.allocator;
	task.cancel = &cancel.cancel;
	task.assign = assign_for;
	task.assign_arg = &forgetful;
	forgetful.here = (HyKmeansHere){&memory.allocator, &cancel.cancel};
	for (at = 1; status == HY_NOMEM && at < 1000; at++)
	{
		unit_memory_init(&memory, at);
		unit_cancel_init(&cancel, 0);
		forgetful.calls = 0;
		status = hy_kmeans(&task, centroids, at % 2 == 0 ? nearest : NULL, NULL, &found);
		CHECK_INT(memory.outstanding, 0);
	}
	CHECK_INT(status, HY_OK);
	CHECK_MSG(at > 10, "%lld", (long long) at);
	polls = cancel.polls;
	CHECK_MSG(polls > 30, "%lld", (long long) polls);
	for (at = 1; at <= polls; at += at < 20 ? 1 : polls / 25)
	{
		unit_memory_init(&memory, 0);
		unit_cancel_init(&cancel, at);
		forgetful.calls = 0;
		CHECK_INT(hy_kmeans(&task, centroids, nearest, NULL, &found), HY_CANCELLED);
		CHECK_INT(cancel.polls, at);
		CHECK_INT(memory.outstanding, 0);
	}

	status = HY_NOMEM;
	for (at = 1; status == HY_NOMEM && at < 1000; at++)
	{
		unit_memory_init(&memory, at);
		unit_cancel_init(&cancel, 0);
		status =
			hy_kmeans_split(&rows, 0.25, 1, &memory.allocator, &cancel.cancel, centroids, side);
		CHECK_INT(memory.outstanding, 0);
	}
	CHECK_INT(status, HY_OK);
	polls = cancel.polls;
	for (at = 1; at <= polls; at += 1 + polls / 30)
	{
		unit_memory_init(&memory, 0);
		unit_cancel_init(&cancel, at);
		status =
			hy_kmeans_split(&rows, 0.25, 1, &memory.allocator, &cancel.cancel, centroids, side);
		CHECK_INT(status, HY_CANCELLED);
		CHECK_INT(memory.outstanding, 0);
	}
	free(values);
}

/* The same bits in any order, in parts or not, at every level; and nearly the exact sum. */
static void
test_sums_on_a_grid(void)
{
	enum
	{
		ROWS = 3000,
		WIDE = 29
	};
	static const float scales[] = {1, 1e-20f, 1e30f};
	UnitRandom random = {9};
	float *values = malloc(ROWS * WIDE * sizeof(float));
	double first[WIDE];
	size_t s;
	int level;
	int i;
	int d;

	for (s = 0; s < sizeof(scales) / sizeof(scales[0]); s++)
	{
		double largest = 0;
		double grid;

		for (i = 0; i < ROWS * WIDE; i++)
		{
			values[i] = scales[s] * unit_random_float(&random) *
			            (float) ldexp(1, -(int) (unit_random(&random) % 20));
			largest = fmax(largest, fabs((double) values[i]));
		}
		grid = hy_kmeans_grid(largest, ROWS);
		memset(first, 0, sizeof(first));
		for (i = 0; i < ROWS; i++)
			hy_kmeans_add_on_grid(first, values + i * WIDE, WIDE, grid);
		for (d = 0; d < WIDE; d++)
		{
			double exact = 0;

			for (i = 0; i < ROWS; i++)
				exact += (double) values[i * WIDE + d];
			CHECK_MSG(fabs(first[d] - exact) <= ROWS * largest * 1e-11, "%g %g", first[d], exact);
		}
		for (level = 0; level < HY_SIMD_COUNT; level++)
		{
			double parts[2][WIDE] = {{0}};

			if (hy_kernels_force((HySimd) level) != HY_OK)
				continue;
			for (i = ROWS - 1; i >= 0; i--)
				hy_kmeans_add_on_grid(parts[i * 7 % 3 == 0], values + i * WIDE, WIDE, grid);
			for (d = 0; d < WIDE; d++)
				parts[0][d] += parts[1][d];
			CHECK(memcmp(parts[0], first, sizeof(first)) == 0);
		}
		hy_kernels_force(hy_simd_best());
	}
	free(values);
}

int
main(void)
{
	UNIT_RUN(test_finds_what_is_there);
	UNIT_RUN(test_iterations_make_it_better);
	UNIT_RUN(test_same_everywhere);
	UNIT_RUN(test_the_callers_assignment);
	UNIT_RUN(test_few_and_equal_rows);
	UNIT_RUN(test_nothing_to_split_off);
	UNIT_RUN(test_memory_and_cancel);
	UNIT_RUN(test_sums_on_a_grid);
	return unit_finish();
}
