/*
 * assign_test.c
 *		The nearest centroids are those found by comparing with each one, at every level and in
 *		every layout.
 */
#include "unit.h"

#include "core/assign.h"
#include "core/distance.h"
#include "core/prefilter.h"
#include "core/topk.h"
#include "rows.h"

typedef struct Shape
{
	int64_t rows;
	int centroids;
	int groups; /* 0: none */
	int probes;
	int dims;
} Shape;

static float *
some(UnitRandom *random, int64_t rows, int dims, float offset)
{
	float *values = malloc((size_t) (rows > 0 ? rows : 1) * (size_t) dims * sizeof(float));
	int64_t i;

	for (i = 0; i < rows * dims; i++)
		values[i] = offset + unit_random_float(random);
	return values;
}

/* expected: find the nearest centroid by the canonical distances of all, one after another. */
static int32_t
expected(const HyMatrix *rows, int64_t row, const HyMatrix *centroids, const HyGroups *groups)
{
	HyMatrix one = *rows;
	HyNeighbor met[HY_ASSIGN_PROBES];
	HyNeighbor best;
	HyTopK nearest;
	int32_t count;
	int32_t i;
	int32_t c;

	one.data = hy_matrix_row(rows, row);
	one.rows = 1;
	hy_topk_init(&nearest, &best, 1);
	if (groups == NULL || groups->centers.rows <= groups->probes)
	{
		for (c = 0; c < centroids->rows; c++)
			hy_topk_push(
				&nearest,
				hy_distance(HY_METRIC_L2, one.data, hy_matrix_row(centroids, c), rows->dims), c);
		return nearest.count > 0 ? (int32_t) best.row : 0;
	}
	hy_topk_search(HY_METRIC_L2, &one, &groups->centers, groups->probes, met, &count, NULL);
	for (i = 0; i < count; i++)
	{
		for (c = groups->begin[met[i].row]; c < groups->begin[met[i].row + 1]; c++)
			hy_topk_push(
				&nearest,
				hy_distance(HY_METRIC_L2, one.data, hy_matrix_row(centroids, c), rows->dims), c);
	}
	return nearest.count > 0 ? (int32_t) best.row : 0;
}

static int64_t
differences(const HyMatrix *rows, const HyMatrix *centroids, const HyGroups *groups)
{
	int32_t *nearest = malloc((size_t) (rows->rows + 1) * sizeof(int32_t));
	int64_t wrong = 0;
	int64_t i;

	CHECK(hy_assign(rows, centroids, groups, &hy_malloc_allocator, nearest, NULL) == HY_OK);
	for (i = 0; i < rows->rows; i++)
		wrong += nearest[i] != expected(rows, i, centroids, groups);
	free(nearest);
	return wrong;
}

/* groups_of: divide the centroids at random places; some groups are empty. */
static void
groups_of(UnitRandom *random, const Shape *shape, const float *values, int32_t *begin,
          HyGroups *groups)
{
	int g;

	groups->centers = matrix(values, shape->groups, shape->dims);
	groups->begin = begin;
	groups->probes = shape->probes;
	begin[0] = 0;
	for (g = 1; g < shape->groups; g++)
	{
		int left = shape->centroids - begin[g - 1];

		begin[g] = begin[g - 1] + (int32_t) (unit_random(random) % (uint64_t) (left / 2 + 1));
	}
	begin[shape->groups] = shape->centroids;
}

static void
test_the_nearest_of_all(void)
{
	static const Shape shapes[] = {
		{1, 1, 0, 0, 1},      {5, 3, 0, 0, 2},       {100, 24, 0, 0, 7},    {300, 25, 0, 0, 16},
		{1000, 90, 0, 0, 33}, {700, 600, 0, 0, 128}, {300, 200, 0, 0, 768}, {200, 127, 0, 0, 40},
		{200, 128, 0, 0, 40}, {9000, 130, 0, 0, 24}};
	UnitRandom random = {1};
	int level;
	size_t s;

	for (level = 0; level < HY_SIMD_COUNT; level++)
	{
		int64_t wrong = 0;

		if (hy_kernels_force((HySimd) level) != HY_OK)
			continue;
		for (s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
		{
			const Shape *shape = &shapes[s];
			float *rows = some(&random, shape->rows, shape->dims, s % 2 == 0 ? 0.0f : 9.0f);
			float *values = some(&random, shape->centroids, shape->dims, s % 2 == 0 ? 0.0f : 9.0f);
			HyMatrix r = matrix(rows, shape->rows, shape->dims);
			HyMatrix c = matrix(values, shape->centroids, shape->dims);

			wrong += differences(&r, &c, NULL);
			free(rows);
			free(values);
		}
		CHECK_INT(wrong, 0);
	}
	hy_kernels_force(hy_simd_best());
}

static void
test_those_of_the_nearest_groups(void)
{
	static const Shape shapes[] = {{100, 24, 5, 2, 7},
	                               {1000, 90, 9, 4, 33},
	                               {700, 600, 70, 4, 128},
	                               {9000, 300, 17, 1, 20},
	                               {200, 600, 600, 16, 600}};
	UnitRandom random = {2};
	size_t s;

	for (s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
	{
		const Shape *shape = &shapes[s];
		float *rows = some(&random, shape->rows, shape->dims, 0);
		float *values = some(&random, shape->centroids, shape->dims, 0);
		float *centers = some(&random, shape->groups, shape->dims, 0);
		int32_t *begin = malloc((size_t) (shape->groups + 1) * sizeof(int32_t));
		HyMatrix r = matrix(rows, shape->rows, shape->dims);
		HyMatrix c = matrix(values, shape->centroids, shape->dims);
		HyGroups groups;

		groups_of(&random, shape, centers, begin, &groups);
		CHECK_INT(differences(&r, &c, &groups), 0);
		free(rows);
		free(values);
		free(centers);
		free(begin);
	}
}

/* Centroids that differ only in the last bits, and rows that equal centroids. */
static void
check_nearly_equal(int centroids)
{
	enum
	{
		ROWS = 400,
		DIMS = 24
	};
	UnitRandom random = {3};
	float *values = some(&random, centroids, DIMS, 5);
	float *rows = some(&random, ROWS, DIMS, 5);
	HyMatrix r = matrix(rows, ROWS, DIMS);
	HyMatrix c = matrix(values, centroids, DIMS);
	int i;
	int d;

	for (i = 1; i < centroids; i++)
	{
		for (d = 0; d < DIMS; d++)
			values[i * DIMS + d] = values[d] * (1 + (float) (i % 7) * 1e-7f);
	}
	CHECK_INT(differences(&r, &c, NULL), 0);
	for (i = 0; i < ROWS; i++)
		memcpy(rows + i * DIMS, values + i % centroids * DIMS, DIMS * sizeof(float));
	CHECK_INT(differences(&r, &c, NULL), 0);
	/* all alike: the first */
	for (i = 1; i < centroids; i++)
		memcpy(values + i * DIMS, values, DIMS * sizeof(float));
	CHECK_INT(differences(&r, &c, NULL), 0);
	free(rows);
	free(values);
}

/* Cases that integers do not cover: zeros, and lengths at the ends of the range. */
static void
check_extremes(int centroids)
{
	enum
	{
		ROWS = 64,
		DIMS = 12
	};
	static const float scales[] = {0, 1e-38f, 1e-20f, 1, 1e15f, 1e18f, 1e37f};
	UnitRandom random = {4};
	float *values = some(&random, centroids, DIMS, 0);
	float *rows = some(&random, ROWS, DIMS, 0);
	HyMatrix r = matrix(rows, ROWS, DIMS);
	HyMatrix c = matrix(values, centroids, DIMS);
	int i;

	for (i = 0; i < ROWS * DIMS; i++)
		rows[i] *= scales[i / DIMS % 7];
	CHECK_INT(differences(&r, &c, NULL), 0);
	for (i = 0; i < centroids * DIMS; i++)
		values[i] *= scales[i / DIMS * 5 % 7];
	CHECK_INT(differences(&r, &c, NULL), 0);
	free(rows);
	free(values);
}

/* Few centroids use tiles of fp32; many use tiles of integers. */
static void
test_nearly_equal(void)
{
	check_nearly_equal(60);
	check_nearly_equal(300);
}

static void
test_extremes(void)
{
	check_extremes(48);
	check_extremes(300);
}

static void
test_what_makes_no_sense(void)
{
	float values[12] = {0};
	int32_t begin[3] = {0, 1, 3};
	int32_t nearest[2];
	HyMatrix rows = matrix(values, 2, 3);
	HyMatrix centroids = matrix(values, 3, 3);
	HyMatrix other = matrix(values, 3, 2);
	HyMatrix none = matrix(values, 0, 3);
	HyGroups groups = {.centers = matrix(values, 2, 3), .begin = begin, .probes = 1};

	CHECK_INT(hy_assign_check(&rows, &centroids, &groups), HY_OK);
	CHECK_INT(hy_assign_check(&rows, &other, NULL), HY_INVALID);
	/* rows may be where somebody else finds them, and nothing else may */
	rows.data = NULL;
	CHECK_INT(hy_assign_check(&rows, &centroids, NULL), HY_INVALID);
	rows.buffer = (HyBuffer *) (void *) values;
	CHECK_INT(hy_assign_check(&rows, &centroids, NULL), HY_OK);
	CHECK_INT(hy_assign(&rows, &centroids, NULL, &hy_malloc_allocator, nearest, NULL), HY_INVALID);
	other = rows;
	other.rows = 3;
	rows = matrix(values, 2, 3);
	CHECK_INT(hy_assign_check(&rows, &other, NULL), HY_INVALID);
	groups.centers.data = NULL;
	groups.centers.buffer = other.buffer;
	CHECK_INT(hy_assign_check(&rows, &centroids, &groups), HY_INVALID);
	groups.centers = matrix(values, 2, 3);
	CHECK_INT(hy_assign(&rows, &none, NULL, &hy_malloc_allocator, nearest, NULL), HY_INVALID);
	CHECK_INT(hy_assign(&none, &centroids, NULL, &hy_malloc_allocator, nearest, NULL), HY_OK);
	groups.probes = 0;
	CHECK_INT(hy_assign_check(&rows, &centroids, &groups), HY_INVALID);
	groups.probes = 1;
	begin[1] = 4;
	CHECK_INT(hy_assign_check(&rows, &centroids, &groups), HY_INVALID);
	begin[1] = 1;
	begin[2] = 2;
	CHECK_INT(hy_assign_check(&rows, &centroids, &groups), HY_INVALID);
}

static void
test_memory_and_cancel(void)
{
	UnitRandom random = {5};
	float *values = some(&random, 4000, 64, 0);
	HyMatrix rows = matrix(values, 4000, 64);
	HyMatrix centroids = matrix(values, 500, 64);
	int32_t begin[9] = {0, 10, 90, 100, 200, 300, 300, 444, 500};
	HyGroups groups = {.centers = matrix(values, 8, 64), .begin = begin, .probes = 2};
	int32_t *nearest = malloc(4000 * sizeof(int32_t));
	HyStatus status = HY_NOMEM;
	UnitMemory memory;
	UnitCancel cancel;
	int64_t polls;
	int64_t at;

	for (at = 1; status == HY_NOMEM && at < 1000; at++)
	{
		unit_memory_init(&memory, at);
		unit_cancel_init(&cancel, 0);
		status = hy_assign(&rows, &centroids, &groups, &memory.allocator, nearest, &cancel.cancel);
		CHECK_INT(memory.outstanding, 0);
	}
	CHECK_INT(status, HY_OK);
	CHECK_MSG(at > 12, "%lld", (long long) at);
	polls = cancel.polls;
	CHECK_MSG(polls >= 5, "%lld", (long long) polls);
	for (at = 1; at <= polls; at++)
	{
		unit_memory_init(&memory, 0);
		unit_cancel_init(&cancel, at);
		CHECK_INT(hy_assign(&rows, &centroids, &groups, &memory.allocator, nearest, &cancel.cancel),
		          HY_CANCELLED);
		CHECK_INT(cancel.polls, at);
		CHECK_INT(memory.outstanding, 0);
	}
	free(nearest);
	free(values);
}

/* With the filter off nothing is rounded, and the answer is the same. */
static void
test_without_the_filter(void)
{
	UnitRandom random = {6};
	float *values = some(&random, 900, 32, 0);
	HyMatrix rows = matrix(values, 900, 32);
	HyMatrix centroids = matrix(values, 70, 32);
	int32_t begin[5] = {0, 10, 30, 30, 70};
	HyGroups groups = {.centers = matrix(values, 4, 32), .begin = begin, .probes = 2};

	hy_prefilter_allow(false);
	CHECK_INT(differences(&rows, &centroids, NULL), 0);
	CHECK_INT(differences(&rows, &centroids, &groups), 0);
	hy_prefilter_allow(true);
	free(values);
}

/*
 * If fewer groups than requested have a distance, a row meets only these; if none has, it meets
 * none.
 */
static void
test_groups_without_a_distance(void)
{
	UnitRandom random = {7};
	float *rows = some(&random, 300, 32, 0);
	float *values = some(&random, 70, 32, 0);
	float *centers = some(&random, 5, 32, 0);
	HyMatrix r = matrix(rows, 300, 32);
	HyMatrix c = matrix(values, 70, 32);
	int32_t begin[6] = {0, 10, 30, 30, 50, 70};
	HyGroups groups = {.centers = matrix(centers, 5, 32), .begin = begin, .probes = 3};
	int g;

	for (g = 0; g < 5; g++)
	{
		centers[g * 32 + g] = NAN;
		CHECK_INT(differences(&r, &c, &groups), 0);
	}
	free(rows);
	free(values);
	free(centers);
}

int
main(void)
{
	UNIT_RUN(test_the_nearest_of_all);
	UNIT_RUN(test_those_of_the_nearest_groups);
	UNIT_RUN(test_groups_without_a_distance);
	UNIT_RUN(test_nearly_equal);
	UNIT_RUN(test_extremes);
	UNIT_RUN(test_what_makes_no_sense);
	UNIT_RUN(test_memory_and_cancel);
	UNIT_RUN(test_without_the_filter);
	return unit_finish();
}
