/*
 * sparse_test.c
 *		A sparse vector's distances equal the dense one's, bit by bit, at every level.
 */
#include "unit.h"

#include "core/distance.h"
#include "core/sparse.h"

#define MAX_DENSE 40000

typedef struct Stored
{
	int32_t indices[HY_SPARSE_MAX_ELEMENTS];
	float values[HY_SPARSE_MAX_ELEMENTS];
	HySparse view;
} Stored;

static Stored left;
static Stored right;
static float dense_left[MAX_DENSE];
static float dense_right[MAX_DENSE];

static const HyMetric metrics[] = {HY_METRIC_L2, HY_METRIC_IP, HY_METRIC_COSINE, HY_METRIC_L1};

typedef enum Filling
{
	FILL_UNIFORM,
	FILL_CONSTANT,
	FILL_MIXED, /* magnitudes from 2^-20 to 2^20 */
	FILL_SMALL, /* the products are subnormal, or vanish */
	FILL_HUGE,  /* sums overflow */
	FILL_COUNT
} Filling;

static float
draw(UnitRandom *random, Filling filling)
{
	float x;

	do
	{
		x = filling == FILL_CONSTANT ? 0.1f : unit_random_float(random);
		if (filling == FILL_MIXED)
			x = ldexpf(x, (int) unit_random_below(random, 41) - 20);
		else if (filling == FILL_SMALL)
			x = ldexpf(x, -72);
		else if (filling == FILL_HUGE)
			x = ldexpf(x, 64);
	} while (x == 0);
	return x;
}

/*
 * fill: draw about this share of all elements, in clumps or evenly, and the same as a dense vector.
 */
static void
fill(UnitRandom *random, Filling filling, int32_t dims, double share, Stored *stored, float *dense)
{
	bool clumps = unit_random_below(random, 2) == 0;
	bool in_clump = false;
	int32_t count = 0;
	int32_t i;

	for (i = 0; i < dims; i++)
	{
		dense[i] = 0.0f;
		if (i % 128 == 0)
			in_clump = unit_random_unit(random) < share;
		if (count == HY_SPARSE_MAX_ELEMENTS ||
		    (clumps ? !in_clump : unit_random_unit(random) >= share))
			continue;
		dense[i] = draw(random, filling);
		stored->indices[count] = i;
		stored->values[count++] = dense[i];
	}
	stored->view.dims = dims;
	stored->view.count = count;
	stored->view.indices = stored->indices;
	stored->view.values = stored->values;
}

static void
check_distances(const char *what, const float *a, const float *b, int32_t dims)
{
	double norm = 0.0;
	int level;
	int m;
	int i;

	for (level = 0; level < HY_SIMD_COUNT; level++)
	{
		if (hy_kernels_force((HySimd) level) != HY_OK)
			continue;
		for (m = 0; m < HY_METRIC_COUNT; m++)
		{
			double expected = hy_distance(metrics[m], a, b, dims);
			double actual = hy_sparse_distance(metrics[m], &left.view, &right.view);

			CHECK_MSG(unit_same_f64(actual, expected),
			          "%s, %s, %s, %d dims, %d and %d elements: %a, expected %a", what,
			          hy_simd_name((HySimd) level), hy_metric_name(metrics[m]), (int) dims,
			          (int) left.view.count, (int) right.view.count, actual, expected);
		}
		CHECK_SAME_F64(hy_sparse_l2_squared(&left.view, &right.view),
		               hy_l2_squared(a, HY_F32, b, dims));
	}
	hy_kernels_force(hy_simd_best());
	for (i = 0; i < dims; i++)
		norm += (double) a[i] * (double) a[i];
	CHECK_SAME_F64(hy_sparse_norm(&left.view), sqrt(norm));
}

static void
test_bits_of_the_dense(void)
{
	static const double shares[] = {0.0, 0.001, 0.02, 0.3, 1.0};
	static const int32_t dims[] = {1,    2,    63,   64,   65,   200,  1000,  1023,  1024,
	                               1025, 2048, 3000, 4096, 4097, 9999, 16000, 16385, MAX_DENSE};
	UnitRandom random = {1};
	char what[64];
	int filling;
	size_t d;
	size_t s;
	size_t t;

	for (filling = 0; filling < FILL_COUNT; filling++)
	{
		for (d = 0; d < sizeof(dims) / sizeof(dims[0]); d++)
		{
			for (s = 0; s < 5; s++)
			{
				for (t = 0; t < 5; t++)
				{
					/* Beyond the most elements, as many as there may be come first. */
					fill(&random, (Filling) filling, dims[d], shares[s], &left, dense_left);
					fill(&random, (Filling) filling, dims[d], shares[t], &right, dense_right);
					snprintf(what, sizeof(what), "filling %d, shares %g and %g", filling, shares[s],
					         shares[t]);
					check_distances(what, dense_left, dense_right, dims[d]);
				}
			}
		}
	}
}

/*
 * A vector with itself, and with one that differs in a few elements: sums of zeros, exact matches.
 */
static void
test_equal_and_nearly_equal(void)
{
	UnitRandom random = {2};
	int round;

	for (round = 0; round < 200; round++)
	{
		fill(&random, FILL_MIXED, 5000, 0.1, &left, dense_left);
		memcpy(dense_right, dense_left, sizeof(dense_left));
		right = left;
		right.view.indices = right.indices;
		right.view.values = right.values;
		check_distances("equal", dense_left, dense_right, 5000);
		if (right.view.count == 0)
			continue;
		right.values[0] = 3.0f;
		dense_right[right.indices[0]] = 3.0f;
		check_distances("nearly equal", dense_left, dense_right, 5000);
	}
}

/*
 * Skipped blocks of 1,024 elements do not matter, and others do: the same elements moved apart by
 * whole blocks give the same bits, up to the most dimensions.
 */
static void
test_a_billion_dims(void)
{
	UnitRandom random = {3};
	int round;
	int32_t i;

	for (round = 0; round < 50; round++)
	{
		int32_t apart = 1 + (int32_t) unit_random_below(&random, HY_SPARSE_MAX_DIMS / 20000);
		double expected[HY_METRIC_COUNT];
		int m;

		fill(&random, FILL_MIXED, 20000, 0.05, &left, dense_left);
		fill(&random, FILL_MIXED, 20000, 0.05, &right, dense_right);
		for (m = 0; m < HY_METRIC_COUNT; m++)
			expected[m] = hy_distance(metrics[m], dense_left, dense_right, 20000);
		for (i = 0; i < left.view.count; i++)
			left.indices[i] += left.indices[i] / 1024 * 1024 * (apart - 1);
		for (i = 0; i < right.view.count; i++)
			right.indices[i] += right.indices[i] / 1024 * 1024 * (apart - 1);
		left.view.dims = right.view.dims = HY_SPARSE_MAX_DIMS;
		CHECK_INT(hy_sparse_check_indices(left.indices, left.view.count, HY_SPARSE_MAX_DIMS),
		          HY_SPARSE_OK);
		for (m = 0; m < HY_METRIC_COUNT; m++)
			CHECK_SAME_F64(hy_sparse_distance(metrics[m], &left.view, &right.view), expected[m]);
	}
}

/*
 * The fold points matter: a lane that holds 1 and gets 2^-24 twice stays 1 within a block, but not
 * if a block ends in between.
 */
static void
test_fold_points(void)
{
	static const float ones[] = {1.0f, 0x1p-12f, 0x1p-12f, 0x1p-12f, 0x1p-12f};
	int32_t within[] = {0, 64, 128, 192, 256};
	int32_t across[] = {0, 1024, 1088, 1152, 1216};
	HySparse a = {2048, 5, within, ones};
	HySparse b = {2048, 5, across, ones};

	CHECK_SAME_F64(hy_sparse_distance(HY_METRIC_IP, &a, &a), -1.0);
	CHECK_SAME_F64(hy_sparse_distance(HY_METRIC_IP, &b, &b), -(1.0 + 0x1p-22));
}

static void
test_compare(void)
{
	UnitRandom random = {4};
	int signs[3] = {0, 0, 0};
	int round;

	for (round = 0; round < 20000; round++)
	{
		int32_t dims[2];
		int expected = 0;
		int i;

		for (i = 0; i < 2; i++)
			dims[i] = 1 + (int32_t) unit_random_below(&random, 3);
		/* Of few values, so that many elements are equal. */
		fill(&random, FILL_CONSTANT, dims[0], 0.5, &left, dense_left);
		fill(&random, FILL_CONSTANT, dims[1], 0.5, &right, dense_right);
		for (i = 0; i < left.view.count; i++)
		{
			if (unit_random_below(&random, 3) == 0)
				dense_left[left.indices[i]] = left.values[i] = -0.1f;
		}
		for (i = 0; expected == 0 && i < dims[0] && i < dims[1]; i++)
			expected = (dense_left[i] > dense_right[i]) - (dense_left[i] < dense_right[i]);
		if (expected == 0)
			expected = (dims[0] > dims[1]) - (dims[0] < dims[1]);
		CHECK_INT(hy_sparse_compare(&left.view, &right.view), expected);
		CHECK_INT(hy_sparse_compare(&right.view, &left.view), -expected);
		signs[expected + 1]++;
	}
	CHECK(signs[0] > 1000 && signs[1] > 500 && signs[2] > 1000);
}

static void
test_check_indices(void)
{
	static const int32_t good[] = {0, 1, 7, 9};
	static const int32_t twice[] = {0, 7, 7, 9};
	static const int32_t back[] = {0, 7, 1, 9};
	static const int32_t negative[] = {-1, 0};
	static const int32_t least[] = {INT32_MIN, 0};

	CHECK_INT(hy_sparse_check_indices(good, 4, 10), HY_SPARSE_OK);
	CHECK_INT(hy_sparse_check_indices(good, 4, 9), HY_SPARSE_OUT_OF_BOUNDS);
	CHECK_INT(hy_sparse_check_indices(good, 0, 1), HY_SPARSE_OK);
	CHECK_INT(hy_sparse_check_indices(twice, 4, 10), HY_SPARSE_DUPLICATE);
	CHECK_INT(hy_sparse_check_indices(back, 4, 10), HY_SPARSE_UNORDERED);
	CHECK_INT(hy_sparse_check_indices(negative, 2, 10), HY_SPARSE_OUT_OF_BOUNDS);
	CHECK_INT(hy_sparse_check_indices(least, 2, 10), HY_SPARSE_OUT_OF_BOUNDS);
	/* The first fault is told. */
	CHECK_INT(hy_sparse_check_indices(twice, 4, 9), HY_SPARSE_DUPLICATE);
}

int
main(void)
{
	UNIT_RUN(test_bits_of_the_dense);
	UNIT_RUN(test_equal_and_nearly_equal);
	UNIT_RUN(test_a_billion_dims);
	UNIT_RUN(test_fold_points);
	UNIT_RUN(test_compare);
	UNIT_RUN(test_check_indices);
	return unit_finish();
}
