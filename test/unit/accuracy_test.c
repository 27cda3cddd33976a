/*
 * accuracy_test.c
 *		The accuracy that users are promised: a distance is within 1e-6 of the sum of its terms'
 *		magnitudes from the exact value, for any number of dimensions, every level and every
 *		element type.
 *
 * Exact means long double sums of the stored elements, whose error is a millionth of the allowed
 * error.  For a root, and for a quotient of roots, the terms are those under the roots.  The
 * resulting bound for the Euclidean distance d is 1e-6 d.  For the cosine c of vectors a and b it
 * is 1e-6 (sum |a_i b_i| / (|a| |b|) + |c|).
 */
#include "unit.h"

#include "core/distance.h"
#include "core/sparse.h"

#define MAX_DIMS HY_MAX_DIMS
#define ALLOWED 1e-6

typedef enum Kind
{
	KIND_UNIFORM,
	KIND_CONSTANT,   /* whose sums round the same way each time */
	KIND_CANCELLING, /* products of both signs that nearly add up to nothing */
	KIND_NEAR,       /* large elements, small differences */
	KIND_MIXED,      /* magnitudes from 2^-12 to 2^12 */
	KIND_PEAKS,      /* a few elements a million times the rest */
	KIND_SPARSE,     /* mostly zeros */
	KIND_COUNT
} Kind;

static const char *const kinds[KIND_COUNT] = {"uniform", "constant", "cancelling", "near",
                                              "mixed",   "peaks",    "sparse"};

static float left[MAX_DIMS];
static float right[MAX_DIMS];
static uint16_t right_half[MAX_DIMS];
static double worst;

static void
draw(UnitRandom *random, Kind kind, int round)
{
	int i;

	for (i = 0; i < MAX_DIMS; i++)
	{
		float x = unit_random_float(random);
		float y = unit_random_float(random);

		switch (kind)
		{
			case KIND_CONSTANT:
				x = 0.1f + 0.123f * (float) round;
				y = 0.7f + 0.01f * (float) round;
				break;
			case KIND_CANCELLING:
				x = (i & 1 ? -1.0f : 1.0f) * (100.0f + x);
				y = 100.0f + y;
				break;
			case KIND_NEAR:
				x += 1000.0f;
				y += 1000.0f;
				break;
			case KIND_MIXED:
				x = ldexpf(x, (int) unit_random_below(random, 25) - 12);
				y = ldexpf(y, (int) unit_random_below(random, 25) - 12);
				break;
			case KIND_PEAKS:
				x *= unit_random_below(random, 500) == 0 ? 1000.0f : 0.001f;
				y *= unit_random_below(random, 500) == 0 ? 1000.0f : 0.001f;
				break;
			case KIND_SPARSE:
				x = unit_random_below(random, 20) == 0 ? x : 0.0f;
				y = unit_random_below(random, 20) == 0 ? y : 0.0f;
				break;
			default:
				break;
		}
		left[i] = x;
		right[i] = y;
		right_half[i] = hy_float_to_half(y);
	}
}

static void
check(const char *what, double actual, long double exact, long double allowed)
{
	double error = (double) fabsl((long double) actual - exact);

	if (allowed > 0 && error / (double) allowed > worst)
		worst = error / (double) allowed;
	CHECK_MSG(error <= (double) allowed, "%s: %.17g, exact %.17Lg, error %g, allowed %Lg", what,
	          actual, exact, error, allowed);
}

/* check_dims: check every distance of the first dims elements, at the current level. */
static void
check_dims(const char *where, HyDtype dtype, int dims)
{
	const void *b = dtype == HY_F32 ? (const void *) right : (const void *) right_half;
	long double squares = 0;
	long double taxi = 0;
	long double dot = 0;
	long double magnitude = 0;
	long double aa = 0;
	long double bb = 0;
	char what[100];
	int i;

	for (i = 0; i < dims; i++)
	{
		long double x = left[i];
		long double y = dtype == HY_F32 ? right[i] : hy_half_to_float(right_half[i]);

		squares += (x - y) * (x - y);
		taxi += fabsl(x - y);
		dot += x * y;
		magnitude += fabsl(x * y);
		aa += x * x;
		bb += y * y;
	}
#define CHECK_DISTANCE(name, actual, exact, allowed)                                               \
	do                                                                                             \
	{                                                                                              \
		snprintf(what, sizeof(what), "%s, %s, %d dims, %s", where, hy_dtype_name(dtype), dims,     \
		         name);                                                                            \
		check(what, actual, exact, allowed);                                                       \
	} while (0)
	CHECK_DISTANCE("l2", hy_distance_to(HY_METRIC_L2, left, dtype, b, dims), sqrtl(squares),
	               ALLOWED * sqrtl(squares));
	CHECK_DISTANCE("squared", hy_l2_squared(left, dtype, b, dims), squares, ALLOWED * squares);
	CHECK_DISTANCE("l1", hy_distance_to(HY_METRIC_L1, left, dtype, b, dims), taxi, ALLOWED * taxi);
	CHECK_DISTANCE("ip", hy_distance_to(HY_METRIC_IP, left, dtype, b, dims), -dot,
	               ALLOWED * magnitude);
	if (aa > 0 && bb > 0)
	{
		long double lengths = sqrtl(aa) * sqrtl(bb);

		CHECK_DISTANCE("cosine", hy_distance_to(HY_METRIC_COSINE, left, dtype, b, dims),
		               1 - dot / lengths, ALLOWED * (magnitude + fabsl(dot)) / lengths);
	}
#undef CHECK_DISTANCE
}

static void
test_accuracy(void)
{
	static const int dims[] = {1,    2,    3,    7,    63,   64,   65,   100,  768,   1000, 1023,
	                           1024, 1025, 1536, 2047, 2048, 3072, 4096, 9999, 15999, 16000};
	UnitRandom random = {6};
	int level;
	int kind;
	int round;
	size_t d;

	for (round = 0; round < 4; round++)
	{
		for (kind = 0; kind < KIND_COUNT; kind++)
		{
			draw(&random, (Kind) kind, round);
			for (level = 0; level < HY_SIMD_COUNT; level++)
			{
				char where[50];

				if (hy_kernels_force((HySimd) level) != HY_OK)
					continue;
				snprintf(where, sizeof(where), "%s, %s", hy_simd_name((HySimd) level), kinds[kind]);
				for (d = 0; d < sizeof(dims) / sizeof(dims[0]); d++)
				{
					check_dims(where, HY_F32, dims[d]);
					check_dims(where, HY_F16, dims[d]);
				}
			}
		}
	}
	hy_kernels_force(hy_simd_best());
	/* what is measured here comes near to what is allowed, or the bound would say nothing */
	CHECK_MSG(worst > 0.05, "the worst error is %g of what is allowed", worst);
}

/* Sparse vectors of a billion dimensions with a few thousand elements. */
static void
test_accuracy_of_sparse(void)
{
	static int32_t a_indices[HY_SPARSE_MAX_ELEMENTS];
	static int32_t b_indices[HY_SPARSE_MAX_ELEMENTS];
	UnitRandom random = {7};
	int kind;
	int level;
	int i;

	for (kind = 0; kind < KIND_COUNT; kind++)
	{
		HySparse a = {HY_SPARSE_MAX_DIMS, MAX_DIMS, a_indices, left};
		HySparse b = {HY_SPARSE_MAX_DIMS, MAX_DIMS, b_indices, right};
		long double squares = 0;
		long double dot = 0;
		long double magnitude = 0;
		int j = 0;

		draw(&random, (Kind) kind, kind);
		for (i = 0; i < MAX_DIMS; i++)
		{
			/* half of the indices in common; no zeros */
			a_indices[i] = i * 60000 + (int32_t) unit_random_below(&random, 30000);
			b_indices[i] = i & 1 ? a_indices[i] : i * 60000 + 30000;
			left[i] = left[i] == 0 ? 1.0f : left[i];
			right[i] = right[i] == 0 ? 1.0f : right[i];
		}
		for (i = 0; i < MAX_DIMS; i++)
		{
			long double x = left[i];
			long double y = right[i];

			if (a_indices[i] != b_indices[i])
			{
				squares += x * x + y * y;
				continue;
			}
			squares += (x - y) * (x - y);
			dot += x * y;
			magnitude += fabsl(x * y);
			j++;
		}
		CHECK_INT(j, MAX_DIMS / 2);
		for (level = 0; level < HY_SIMD_COUNT; level++)
		{
			if (hy_kernels_force((HySimd) level) != HY_OK)
				continue;
			check(kinds[kind], hy_sparse_distance(HY_METRIC_L2, &a, &b), sqrtl(squares),
			      ALLOWED * sqrtl(squares));
			check(kinds[kind], hy_sparse_distance(HY_METRIC_IP, &a, &b), -dot, ALLOWED * magnitude);
		}
	}
	hy_kernels_force(hy_simd_best());
}

/* Without the fp64 twins some case would fail, so the tests above are strict enough. */
static void
test_twins_are_needed(void)
{
	double off = 0.0;
	int round;

	for (round = 0; round < 200; round++)
	{
		float x = 0.1f + 0.0123f * (float) round;
		float lane = 0.0f;
		int i;

		/* All 64 lanes alike, 250 elements each. */
		for (i = 0; i < 250; i++)
			lane = fmaf(x, x, lane);
		off = fmax(off, fabs((double) lane / (250.0 * (double) x * (double) x) - 1.0));
		for (i = 0; i < MAX_DIMS; i++)
			left[i] = x;
		CHECK_NEAR(hy_kernels()->pair[HY_F32].ip(left, left, MAX_DIMS) /
		               (MAX_DIMS * (double) x * (double) x),
		           1.0, ALLOWED);
	}
	CHECK_MSG(off > ALLOWED, "the worst plain sum is off by %g", off);
}

int
main(void)
{
	UNIT_RUN(test_accuracy);
	UNIT_RUN(test_accuracy_of_sparse);
	UNIT_RUN(test_twins_are_needed);
	return unit_finish();
}
