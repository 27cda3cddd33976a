/*
 * kmeans_test.c
 *		Clusters: found where they are, the same everywhere, and none empty; halves: balanced.
 */
#include "unit.h"

#include "core/distance.h"
#include "core/filter.h"
#include "core/kmeans.h"

#define DIMS 20

static HyMatrix
matrix(const float *values, int64_t rows, int dims)
{
	HyMatrix m = {.dtype = HY_F32,
	              .dims = dims,
	              .rows = rows,
	              .stride = (size_t) dims * sizeof(float),
	              .data = values};

	return m;
}

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

/* gathered: rows around `places` random places, of unequal numbers: row i at the root of i % places^2. */
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

/* What every answer must keep to. */
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

/* Iterations help, and many of them end where a row more or less changes nothing. */
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
		hy_filter_allow(other != HY_SIMD_COUNT);
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
		hy_filter_allow(true);
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

/* check_split: the shares, and centroids that are the means of their sides or where the last ones led. */
static int64_t
check_split(const HyMatrix *rows, double share, uint64_t seed, float *centroids, uint8_t *side)
{
	int64_t sizes[2] = {0, 0};
	int64_t least = (int64_t) (share * (double) rows->rows);
	int64_t i;

	CHECK_INT(hy_kmeans_split(rows, share, seed, &hy_malloc_allocator, NULL, centroids, side),
	          HY_OK);
	for (i = 0; i < rows->rows; i++)
	{
		CHECK(side[i] <= 1);
		sizes[side[i] & 1]++;
	}
	least = least > 1 ? least : 1;
	CHECK_MSG(sizes[0] >= least && sizes[1] >= least, "%lld and %lld of %lld", (long long) sizes[0],
	          (long long) sizes[1], (long long) rows->rows);
	return sizes[1];
}

static void
test_split(void)
{
	enum
	{
		ROWS = 1000
	};
	static uint8_t side[ROWS];
	static uint8_t again[ROWS];
	static float values[ROWS * DIMS];
	float centroids[2 * DIMS];
	float centroids_again[2 * DIMS];
	UnitRandom random = {76};
	HyMatrix rows = matrix(values, ROWS, DIMS);
	int share;
	int i;
	int d;

	/* two places, the first with so many percent of the rows */
	for (share = 1; share <= 99; share += 7)
	{
		int first = ROWS * share / 100;
		int64_t ones;
		int64_t other = 0;

		for (i = 0; i < ROWS; i++)
		{
			for (d = 0; d < DIMS; d++)
				values[i * DIMS + d] = (i < first ? 5.0f : -5.0f) + unit_random_float(&random);
		}
		ones = check_split(&rows, 0.25, 7, centroids, side);
		for (i = 0; i < ROWS; i++)
			other += side[i] != side[first > ROWS / 2 ? 0 : ROWS - 1];
		/*
		 * The smaller place is whole, and no more than must be comes to it; one of ten rows may not
		 * be seen.
		 */
		if (share >= 25 && share <= 75)
			CHECK_MSG(other == (first > ROWS / 2 ? ROWS - first : first),
			          "%d%%: %lld rows of the other side", share, (long long) other);
		else if (share > 1 && share < 99)
			CHECK_MSG(other == ROWS / 4, "%d%%: %lld rows of the other side", share,
			          (long long) other);
		CHECK(ones >= ROWS / 4 && ones <= ROWS - ROWS / 4);
		CHECK_INT(
			hy_kmeans_split(&rows, 0.25, 7, &hy_malloc_allocator, NULL, centroids_again, again),
			HY_OK);
		CHECK(memcmp(side, again, sizeof(side)) == 0);
		CHECK(memcmp(centroids, centroids_again, sizeof(centroids)) == 0);
		/* the centroids are the means of their sides */
		for (d = 0; d < 2 * DIMS; d++)
		{
			double sum = 0;
			double n = 0;

			for (i = 0; i < ROWS; i++)
			{
				if (side[i] == d / DIMS)
				{
					sum += (double) values[i * DIMS + d % DIMS];
					n++;
				}
			}
			CHECK_NEAR(centroids[d], sum / n, 1e-4);
		}
	}
	/* no limit: by what is nearer only, one row against all others too */
	for (i = 0; i < ROWS * DIMS; i++)
		values[i] = i / DIMS == 17 ? 100 : unit_random_float(&random);
	check_split(&rows, 0.0, 3, centroids, side);
	for (i = 0; i < ROWS; i++)
		CHECK_INT(side[i] == side[17], i == 17);
}

static void
test_split_of_equal_rows(void)
{
	static uint8_t side[1001];
	static float values[1001 * DIMS];
	float centroids[2 * DIMS];
	HyMatrix rows = matrix(values, 1001, DIMS);
	int i;

	for (i = 0; i < 1001 * DIMS; i++)
		values[i] = 0.1f;
	rows.rows = 1001;
	CHECK_INT(check_split(&rows, 0.25, 1, centroids, side), 501);
	for (i = 0; i < 2 * DIMS; i++)
		CHECK_NEAR(centroids[i], 0.1, 1e-6);
	/* all but one alike: that one has the others of its side to thank */
	values[500 * DIMS] = 7;
	check_split(&rows, 0.25, 1, centroids, side);
	for (rows.rows = 2; rows.rows < 10; rows.rows++)
		check_split(&rows, 0.25, 1, centroids, side);
	/* two that differ are parted */
	values[DIMS] = 7;
	rows.rows = 2;
	check_split(&rows, 0.5, 1, centroids, side);
	CHECK(side[0] != side[1]);
	/* squares that are infinite */
	for (i = 0; i < 1001 * DIMS; i++)
		values[i] = i % 3 == 0 ? 3e38f : -3e38f;
	rows.rows = 1001;
	check_split(&rows, 0.5, 1, centroids, side);

	rows.rows = 1;
	CHECK_INT(hy_kmeans_split(&rows, 0.25, 1, &hy_malloc_allocator, NULL, centroids, side),
	          HY_INVALID);
	rows.rows = 2;
	CHECK_INT(hy_kmeans_split(&rows, 0.6, 1, &hy_malloc_allocator, NULL, centroids, side),
	          HY_INVALID);
	CHECK_INT(hy_kmeans_split(&rows, (double) NAN, 1, &hy_malloc_allocator, NULL, centroids, side),
	          HY_INVALID);
}

/* The same bits in whatever order, in parts or not, on every level; and hardly another sum. */
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
	UNIT_RUN(test_memory_and_cancel);
	UNIT_RUN(test_split);
	UNIT_RUN(test_split_of_equal_rows);
	UNIT_RUN(test_sums_on_a_grid);
	return unit_finish();
}
