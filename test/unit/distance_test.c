/*
 * distance_test.c
 *		Every level of kernels compared with a plain restatement of the canonical reduction, bit
 *		by bit, and the reduction compared with long double.
 */
#include "unit.h"

#include "core/distance.h"

#define MAX_DIMS HY_MAX_DIMS
#define SLACK 16

static float left[MAX_DIMS + SLACK];
static float right[MAX_DIMS + SLACK];
static uint16_t right_half[MAX_DIMS + SLACK];

static const int odd_dims[] = {255,  256,  257,  300,  384,  511,  512,  513,  767,   768,  769,
                               960,  1000, 1023, 1024, 1025, 1087, 1088, 1089, 1536,  1999, 2000,
                               2047, 2048, 2049, 3072, 4096, 5000, 8191, 8193, 15999, 16000};
#define ODD_DIMS ((int) (sizeof(odd_dims) / sizeof(odd_dims[0])))

typedef enum Filling
{
	FILL_UNIFORM,
	FILL_CONSTANT,
	FILL_CANCELLING, /* neighbouring lanes hold values of opposite sign */
	FILL_MIXED,      /* magnitudes from 2^-20 to 2^20 */
	FILL_SUBNORMAL,  /* the products vanish, the elements nearly so */
	FILL_SMALL,      /* the products are subnormal */
	FILL_HUGE,       /* sums overflow */
	FILL_NEGATIVE_ZERO,
	FILL_SPARSE, /* mostly zeros of both signs */
	FILL_EQUAL,  /* left = right */
	FILL_COUNT
} Filling;

static const char *const filling_names[FILL_COUNT] = {
	"uniform", "constant", "cancelling",    "mixed",  "subnormal",
	"small",   "huge",     "negative zero", "sparse", "equal"};

static float
draw(UnitRandom *random, Filling filling, int i)
{
	float x = unit_random_float(random);

	switch (filling)
	{
		case FILL_CONSTANT:
			return 0.1f;
		case FILL_CANCELLING:
			return (i & 1 ? -1.0f : 1.0f) * (1000.0f + x);
		case FILL_MIXED:
			return ldexpf(x, (int) unit_random_below(random, 41) - 20);
		case FILL_SUBNORMAL:
			return ldexpf(x, -130);
		case FILL_SMALL:
			return ldexpf(x, -68);
		case FILL_HUGE:
			return ldexpf(x, 70);
		case FILL_NEGATIVE_ZERO:
			return -0.0f;
		case FILL_SPARSE:
			return unit_random_below(random, 10) == 0 ? x : x < 0 ? -0.0f : 0.0f;
		default:
			return x;
	}
}

/* fill: draw left, right and right_half; the halves are of the same kind if binary16 has it. */
static void
fill(UnitRandom *random, Filling filling, int n)
{
	int i;

	for (i = 0; i < n; i++)
	{
		float half = draw(random, filling, i);

		left[i] = draw(random, filling, i);
		right[i] = filling == FILL_EQUAL ? left[i] : draw(random, filling, i);
		if (filling == FILL_SUBNORMAL)
			half = ldexpf(half, 110);
		else if (filling == FILL_SMALL)
			half = ldexpf(half, 54);
		else if (filling == FILL_HUGE)
			half = ldexpf(half, -55);
		else if (filling == FILL_EQUAL)
			half = left[i];
		right_half[i] = hy_float_to_half(half);
	}
}

static void
fill_all(UnitRandom *random, Filling filling)
{
	fill(random, filling, MAX_DIMS + SLACK);
}

/* canonical: the head comment of distance.h, word for word; 'n' is the norm of b. */
static float
canonical(char op, const float *a, HyDtype dtype, const void *b, int dims)
{
	float lane[64];
	double twin[64];
	int i;
	int h;

	for (i = 0; i < 64; i++)
	{
		lane[i] = 0.0f;
		twin[i] = 0.0;
	}
	for (i = 0; i < dims; i++)
	{
		float x = a[i];
		float y =
			dtype == HY_F32 ? ((const float *) b)[i] : hy_half_to_float(((const uint16_t *) b)[i]);
		volatile float d = x - y;
		volatile float sum;

		switch (op)
		{
			case '2':
				lane[i % 64] = fmaf(d, d, lane[i % 64]);
				break;
			case 'i':
				lane[i % 64] = fmaf(x, y, lane[i % 64]);
				break;
			case 'n':
				lane[i % 64] = fmaf(y, y, lane[i % 64]);
				break;
			case '1':
				sum = lane[i % 64] + fabsf(d);
				lane[i % 64] = sum;
				break;
		}
		if ((i + 1) % 1024 == 0)
		{
			for (h = 0; h < 64; h++)
			{
				twin[h] += (double) lane[h];
				lane[h] = 0.0f;
			}
		}
	}
	for (h = 0; h < 64; h++)
		twin[h] += (double) lane[h];
	for (h = 32; h >= 1; h /= 2)
	{
		for (i = 0; i < h; i++)
			twin[i] += twin[i + h];
	}
	return (float) twin[0];
}

static void
check_sum(const char *what, const HyKernels *kernels, Filling filling, HyDtype dtype, int dims,
          float actual, float expected)
{
	CHECK_MSG(unit_same_f64(actual, expected), "%s %s %s %s %d dims: %a, expected %a",
	          hy_simd_name(kernels->level), what, hy_dtype_name(dtype), filling_names[filling],
	          dims, (double) actual, (double) expected);
}

/* check_pair: check all sums of one pair at every level. */
static void
check_pair(Filling filling, HyDtype dtype, const float *a, const void *b, int dims)
{
	float l2sq = canonical('2', a, dtype, b, dims);
	float ip = canonical('i', a, dtype, b, dims);
	float l1 = canonical('1', a, dtype, b, dims);
	float norm = canonical('n', a, dtype, b, dims);
	int level;

	for (level = 0; level < HY_SIMD_COUNT; level++)
	{
		const HyKernels *kernels = hy_kernels_at((HySimd) level);
		const HyPairKernels *pair;
		float both[2];

		if (kernels == NULL)
			continue;
		pair = &kernels->pair[dtype];
		check_sum("l2sq", kernels, filling, dtype, dims, pair->l2sq(a, b, dims), l2sq);
		check_sum("ip", kernels, filling, dtype, dims, pair->ip(a, b, dims), ip);
		check_sum("l1", kernels, filling, dtype, dims, pair->l1(a, b, dims), l1);
		pair->ip_norm(a, b, dims, both);
		check_sum("ip_norm, ip", kernels, filling, dtype, dims, both[0], ip);
		check_sum("ip_norm, norm", kernels, filling, dtype, dims, both[1], norm);
	}
}

static void
test_small_dims(void)
{
	UnitRandom random = {1};
	int filling;
	int dims;

	for (filling = 0; filling < FILL_COUNT; filling++)
	{
		fill(&random, (Filling) filling, 256);
		for (dims = 1; dims <= 200; dims++)
		{
			check_pair((Filling) filling, HY_F32, left, right, dims);
			check_pair((Filling) filling, HY_F16, left, right_half, dims);
		}
	}
}

static void
test_large_dims(void)
{
	UnitRandom random = {2};
	int filling;
	int i;

	for (filling = 0; filling < FILL_COUNT; filling++)
	{
		fill_all(&random, (Filling) filling);
		for (i = 0; i < ODD_DIMS; i++)
		{
			check_pair((Filling) filling, HY_F32, left, right, odd_dims[i]);
			check_pair((Filling) filling, HY_F16, left, right_half, odd_dims[i]);
		}
	}
}

static void
test_unaligned(void)
{
	UnitRandom random = {3};
	int i;
	int j;

	fill(&random, FILL_MIXED, 4096);
	for (i = 0; i < 16; i++)
	{
		for (j = 0; j < 16; j += 3)
		{
			check_pair(FILL_MIXED, HY_F32, left + i, right + j, 773);
			check_pair(FILL_MIXED, HY_F16, left + i, right_half + j, 773);
			check_pair(FILL_MIXED, HY_F32, left + i, right + j, 1024 + 77);
		}
	}
}

/* Nothing outside the vectors may be read: they end where a malloc block ends. */
static void
test_reads_within_bounds(void)
{
	UnitRandom random = {4};
	int dims;

	fill(&random, FILL_UNIFORM, 256);
	for (dims = 1; dims <= 200; dims++)
	{
		float *a = malloc((size_t) dims * sizeof(float));
		float *b = malloc((size_t) dims * sizeof(float));
		uint16_t *half = malloc((size_t) dims * sizeof(uint16_t));

		memcpy(a, left, (size_t) dims * sizeof(float));
		memcpy(b, right, (size_t) dims * sizeof(float));
		memcpy(half, right_half, (size_t) dims * sizeof(uint16_t));
		check_pair(FILL_UNIFORM, HY_F32, a, b, dims);
		check_pair(FILL_UNIFORM, HY_F16, a, half, dims);
		free(a);
		free(b);
		free(half);
	}
}

/* Data behind the last element must not matter, even NaN. */
static void
test_ignores_what_follows(void)
{
	UnitRandom random = {5};
	int dims;

	for (dims = 1; dims <= 130; dims++)
	{
		int i;

		fill(&random, FILL_UNIFORM, 256);
		for (i = dims; i < 256; i++)
		{
			left[i] = NAN;
			right[i] = INFINITY;
			right_half[i] = 0x7e00;
		}
		check_pair(FILL_UNIFORM, HY_F32, left, right, dims);
		check_pair(FILL_UNIFORM, HY_F16, left, right_half, dims);
		CHECK(isfinite(canonical('i', left, HY_F32, right, dims)));
	}
}

/* A zero sum is +0 whatever the signs of its terms. */
static void
test_zero_sums_are_positive(void)
{
	static const int dims[] = {1, 7, 64, 65, 1024, 1025, 2048, 3000};
	int level;
	int i;

	for (i = 0; i < 3000; i++)
	{
		left[i] = 0.0f;
		right[i] = -0.0f;
		right_half[i] = 0x8000;
	}
	for (level = 0; level < HY_SIMD_COUNT; level++)
	{
		const HyKernels *kernels = hy_kernels_at((HySimd) level);

		for (i = 0; i < 8 && kernels != NULL; i++)
		{
			CHECK_SAME_F32(kernels->pair[HY_F32].ip(left, right, dims[i]), 0.0);
			CHECK_SAME_F32(kernels->pair[HY_F16].ip(left, right_half, dims[i]), 0.0);
			CHECK_SAME_F32(kernels->pair[HY_F32].l2sq(left, right, dims[i]), 0.0);
		}
	}
}

/* Also if every lane rounds to -0, as negative products too small for fp32 do. */
static void
test_vanishing_sums_are_positive(void)
{
	int level;
	int dims;
	int i;

	for (i = 0; i < 2200; i++)
	{
		left[i] = 1e-30f;
		right[i] = -1e-30f;
	}
	CHECK(signbit(fmaf(left[0], right[0], 0.0f)));
	for (level = 0; level < HY_SIMD_COUNT; level++)
	{
		const HyKernels *kernels = hy_kernels_at((HySimd) level);
		float both[2];

		for (dims = 64; dims < 2200 && kernels != NULL; dims += 64)
		{
			CHECK_SAME_F32(kernels->pair[HY_F32].ip(left, right, dims), 0.0);
			kernels->pair[HY_F32].ip_norm(left, right, dims, both);
			CHECK_SAME_F32(both[0], 0.0);
		}
	}
}

/*
 * Products for which the exact sum differs from the middle between two floats by less than a double
 * can represent: a multiply-add made of doubles must not round twice.
 */
static void
test_rounds_once(void)
{
	int hard = 0;
	int i;
	int j;

	memset(left, 0, 128 * sizeof(float));
	memset(right, 0, 128 * sizeof(float));
	for (i = 1; i < 4000; i++)
	{
		float x = 1.0f + (float) i * 0x1p-15f;

		for (j = 0; j < 8; j++)
		{
			float y = nextafterf(1.0f / x, j & 1 ? 0.0f : 2.0f);
			float sign = j & 4 ? -1.0f : 1.0f;

			/* Lane 0 is 1, or the next float, before x * y * 2^-24 comes to it. */
			left[0] = sign;
			right[0] = j & 2 ? 1.0f + 0x1p-23f : 1.0f;
			left[64] = sign * x;
			right[64] = (j & 1 ? 1.0f / x : y) * 0x1p-24f;
			if ((float) ((double) left[64] * (double) right[64] +
			             (double) left[0] * (double) right[0]) !=
			    fmaf(left[64], right[64], left[0] * right[0]))
				hard++;
			check_pair(FILL_MIXED, HY_F32, left, right, 65);
		}
	}
	CHECK_MSG(hard > 10, "only %d of these are hard", hard);
}

static void
test_distances_of_a_pair(void)
{
	float a[2] = {3.0f, 0.0f};
	float b[2] = {0.0f, 4.0f};
	float c[2] = {-6.0f, 0.0f};
	float zero[2] = {0.0f, -0.0f};

	CHECK_SAME_F64(hy_distance(HY_METRIC_L2, a, b, 2), 5.0);
	CHECK_SAME_F64(hy_distance(HY_METRIC_L1, a, b, 2), 7.0);
	CHECK_SAME_F64(hy_distance(HY_METRIC_IP, a, c, 2), 18.0);
	CHECK_SAME_F64(hy_distance(HY_METRIC_COSINE, a, b, 2), 1.0);
	CHECK_SAME_F64(hy_distance(HY_METRIC_COSINE, a, c, 2), 2.0);
	CHECK_SAME_F64(hy_distance(HY_METRIC_COSINE, a, a, 2), 0.0);
	CHECK(isnan(hy_distance(HY_METRIC_COSINE, a, zero, 2)));
	CHECK(isnan(hy_distance(HY_METRIC_COSINE, zero, a, 2)));
	CHECK(isnan(hy_distance(HY_METRIC_COSINE, zero, zero, 2)));
	CHECK_SAME_F64(hy_distance(HY_METRIC_L2, zero, a, 2), 3.0);
}

static void
test_distance_is_made_of_the_sums(void)
{
	UnitRandom random = {8};
	int level;
	int dims;

	for (level = 0; level < HY_SIMD_COUNT; level++)
	{
		if (hy_kernels_force((HySimd) level) != HY_OK)
			continue;
		for (dims = 1; dims < 3000; dims = dims * 3 + 1)
		{
			float ip;
			float aa;
			float bb;

			fill(&random, FILL_UNIFORM, dims);
			ip = canonical('i', left, HY_F32, right, dims);
			aa = canonical('i', left, HY_F32, left, dims);
			bb = canonical('n', left, HY_F32, right, dims);
			CHECK_SAME_F64(hy_distance(HY_METRIC_L2, left, right, dims),
			               sqrt((double) canonical('2', left, HY_F32, right, dims)));
			CHECK_SAME_F64(hy_distance(HY_METRIC_IP, left, right, dims), -(double) ip);
			CHECK_SAME_F64(hy_distance(HY_METRIC_L1, left, right, dims),
			               (double) canonical('1', left, HY_F32, right, dims));
			CHECK_SAME_F64(hy_distance(HY_METRIC_COSINE, left, right, dims),
			               hy_cosine_from_sums(ip, aa, bb));
			CHECK_SAME_F64(hy_l2_squared(left, HY_F32, right, dims),
			               (double) canonical('2', left, HY_F32, right, dims));
			CHECK_SAME_F64(hy_distance_to(HY_METRIC_L2, left, HY_F16, right_half, dims),
			               sqrt((double) canonical('2', left, HY_F16, right_half, dims)));
			CHECK_SAME_F64(hy_distance_to(HY_METRIC_IP, left, HY_F16, right_half, dims),
			               -(double) canonical('i', left, HY_F16, right_half, dims));
			CHECK_SAME_F64(hy_distance_to(HY_METRIC_L1, left, HY_F16, right_half, dims),
			               (double) canonical('1', left, HY_F16, right_half, dims));
			CHECK_SAME_F64(hy_distance_to(HY_METRIC_COSINE, left, HY_F16, right_half, dims),
			               hy_cosine_from_sums(canonical('i', left, HY_F16, right_half, dims), aa,
			                                   canonical('n', left, HY_F16, right_half, dims)));
			CHECK_SAME_F64(hy_l2_squared(left, HY_F16, right_half, dims),
			               (double) canonical('2', left, HY_F16, right_half, dims));
			CHECK_SAME_F32(hy_norm_sq(HY_F32, right, dims), bb);
			CHECK_SAME_F32(hy_norm_sq(HY_F16, right_half, dims),
			               canonical('n', left, HY_F16, right_half, dims));
		}
	}
	hy_kernels_force(hy_simd_best());
}

static void
test_cosine_from_sums(void)
{
	CHECK_SAME_F64(hy_cosine_from_sums(0.5f, 1.0f, 1.0f), 0.5);
	CHECK_SAME_F64(hy_cosine_from_sums(1.0000001f, 1.0f, 1.0f), 0.0);
	CHECK_SAME_F64(hy_cosine_from_sums(-1.0000001f, 1.0f, 1.0f), 2.0);
	CHECK(isnan(hy_cosine_from_sums(0.0f, 0.0f, 1.0f)));
	CHECK(isnan(hy_cosine_from_sums(0.0f, 1.0f, 0.0f)));
	CHECK(isnan(hy_cosine_from_sums(NAN, 1.0f, 1.0f)));
	CHECK(isnan(hy_cosine_from_sums(1.0f, INFINITY, 1.0f)));
	CHECK(isnan(hy_cosine_from_sums(1.0f, 1.0f, INFINITY)));
	CHECK_SAME_F64(hy_cosine_from_sums(INFINITY, 3e38f, 3e38f), 0.0);
	/* The product of the norms would overflow fp32. */
	CHECK_NEAR(hy_cosine_from_sums(1e30f, 1e30f, 4e30f), 0.5, 1e-7);
	CHECK_NEAR(hy_cosine_from_sums(1e-30f, 1e-30f, 4e-30f), 0.5, 1e-7);
}

/*
 * Each sum ends with one rounding to fp32: a value outside its range becomes an infinity, or NaN.
 */
static void
test_out_of_range_sums(void)
{
	float a[3] = {3e38f, -3e38f, 1e30f};
	float b[3] = {-3e38f, -3e38f, 1e30f};
	float c[3] = {1.0f, 2.0f, 3.0f};
	double nan;
	int level;

	for (level = 0; level < HY_SIMD_COUNT; level++)
	{
		if (hy_kernels_force((HySimd) level) != HY_OK)
			continue;
		CHECK_SAME_F64(hy_distance(HY_METRIC_L2, a, b, 3), INFINITY);
		CHECK_SAME_F64(hy_l2_squared(a, HY_F32, b, 3), INFINITY);
		CHECK_SAME_F64(hy_distance(HY_METRIC_L1, a, b, 3), INFINITY);
		CHECK_SAME_F64(hy_distance(HY_METRIC_IP, a, a, 3), -INFINITY);
		CHECK_SAME_F64(hy_distance(HY_METRIC_IP, a, b, 3), NAN);
		CHECK_SAME_F64(hy_distance(HY_METRIC_COSINE, a, a, 3), NAN);
		CHECK_SAME_F64(hy_distance(HY_METRIC_COSINE, a, b, 3), NAN);
		/* its inner product is finite, yet there is no angle */
		CHECK_SAME_F64(hy_distance(HY_METRIC_COSINE, a, c, 3), NAN);
		CHECK_SAME_F64(hy_distance(HY_METRIC_COSINE, c, a, 3), NAN);
		/* in range: the distance is, though the terms nearly are not */
		CHECK_NEAR(hy_distance(HY_METRIC_L1, a, c, 1) / 3e38, 1.0, 1e-7);
		/* each NaN has the same bits */
		nan = hy_distance(HY_METRIC_IP, a, b, 3);
		CHECK(isnan(nan) && !signbit(nan));
	}
	hy_kernels_force(hy_simd_best());
}

static void
test_has_cosine(void)
{
	CHECK(hy_has_cosine(1.0f));
	CHECK(hy_has_cosine(1e-45f));
	CHECK(hy_has_cosine(3.4e38f));
	CHECK(!hy_has_cosine(0.0f));
	CHECK(!hy_has_cosine(INFINITY));
	CHECK(!hy_has_cosine(NAN));
}

int
main(void)
{
	UNIT_RUN(test_small_dims);
	UNIT_RUN(test_large_dims);
	UNIT_RUN(test_unaligned);
	UNIT_RUN(test_reads_within_bounds);
	UNIT_RUN(test_ignores_what_follows);
	UNIT_RUN(test_zero_sums_are_positive);
	UNIT_RUN(test_vanishing_sums_are_positive);
	UNIT_RUN(test_rounds_once);
	UNIT_RUN(test_distances_of_a_pair);
	UNIT_RUN(test_distance_is_made_of_the_sums);
	UNIT_RUN(test_cosine_from_sums);
	UNIT_RUN(test_out_of_range_sums);
	UNIT_RUN(test_has_cosine);
	return unit_finish();
}
