/*
 * rotation_test.c
 *		Rotations preserve lengths and angles, make any vector look Gaussian, and have the same
 *		bits everywhere.
 */
#include "unit.h"

#include "core/batch.h"
#include "core/rotation.h"

#define MOST HY_MAX_DIMS

static const int some_dims[] = {1,   2,   3,   63,  64,   65,   100,  128,  129,  192,  200,  256,
                                300, 384, 700, 768, 1000, 1024, 1088, 1536, 2000, 4097, 16000};

#define DIMS_COUNT ((int) (sizeof(some_dims) / sizeof(some_dims[0])))

static float x[MOST];
static float y[MOST];
static float rotated_x[MOST];
static float rotated_y[MOST];

static void
fill(UnitRandom *random, float *v, int dims)
{
	int i;

	for (i = 0; i < dims; i++)
		v[i] = unit_random_float(random);
}

static double
dot(const float *a, const float *b, int dims)
{
	double sum = 0;
	int i;

	for (i = 0; i < dims; i++)
		sum += (double) a[i] * b[i];
	return sum;
}

static void
test_keeps_lengths_and_angles(void)
{
	UnitRandom random = {11};
	int n;

	for (n = 0; n < DIMS_COUNT; n++)
	{
		int dims = some_dims[n];
		HyRotation rotation;
		double xx;
		double yy;

		CHECK_INT(hy_rotation_init(&rotation, dims, 7 + (uint64_t) n, &hy_malloc_allocator), HY_OK);
		CHECK_INT(rotation.padded, hy_rotation_padded(dims));
		CHECK(rotation.padded >= dims && rotation.padded % HY_ROTATION_STEP == 0);
		/* two bits a dimension where they are few, at most 63 more where they are many */
		if (dims <= HY_ROTATION_LEAST / HY_ROTATION_BITS)
			CHECK(rotation.padded >= HY_ROTATION_BITS * dims &&
			      rotation.padded < HY_ROTATION_BITS * dims + HY_ROTATION_STEP);
		else
			CHECK(rotation.padded >= HY_ROTATION_LEAST &&
			      rotation.padded <
			          (dims > HY_ROTATION_LEAST ? dims : HY_ROTATION_LEAST) + HY_ROTATION_STEP);
		fill(&random, x, dims);
		fill(&random, y, dims);
		hy_rotation_apply(&rotation, x, rotated_x);
		hy_rotation_apply(&rotation, y, rotated_y);
		xx = dot(x, x, dims);
		yy = dot(y, y, dims);
		CHECK_NEAR(sqrt(dot(rotated_x, rotated_x, rotation.padded) / xx), 1, 1e-6);
		CHECK_NEAR(sqrt(dot(rotated_y, rotated_y, rotation.padded) / yy), 1, 1e-6);
		CHECK_NEAR(dot(rotated_x, rotated_y, rotation.padded) / sqrt(xx * yy),
		           dot(x, y, dims) / sqrt(xx * yy), 1e-6);
		hy_rotation_free(&rotation);
	}
}

/*
 * moments: compute the moments of a rotated vector of length 1, times the root of its dims: 0, 1,
 * 0, 3 if Gaussian.
 */
static void
moments(const float *v, int count, double out[4])
{
	double power;
	int i;
	int j;

	memset(out, 0, 4 * sizeof(double));
	for (i = 0; i < count; i++)
	{
		power = 1;
		for (j = 0; j < 4; j++)
		{
			power *= v[i] * sqrt((double) count);
			out[j] += power / count;
		}
	}
}

/*
 * The hardest inputs: a single dimension, all equal, alternating.  Over several seeds the moments
 * are those of a normal law, every coordinate is spread evenly, and none is far out.
 */
static void
test_anything_becomes_gaussian(void)
{
	enum
	{
		SEEDS = 64,
		KINDS = 5
	};
	static double squares[MOST];
	int n;
	int kind;
	int seed;
	int i;

	for (n = 0; n < DIMS_COUNT; n++)
	{
		int dims = some_dims[n];

		if (dims > 2000)
			continue;
		for (kind = 0; kind < KINDS; kind++)
		{
			int padded = hy_rotation_padded(dims);
			double sum[4] = {0};
			double far = 0;
			double deviation = sqrt(1.0 / (SEEDS * (double) padded));

			memset(squares, 0, sizeof(squares));
			for (i = 0; i < dims; i++)
			{
				x[i] = kind == 0   ? i == 0
				       : kind == 1 ? i == dims - 1
				       : kind == 2 ? i == dims / 2
				       : kind == 3 ? (float) sqrt(1.0 / dims)
				                   : (float) sqrt(1.0 / dims) * (i % 2 == 0 ? 1 : -1);
			}
			for (seed = 0; seed < SEEDS; seed++)
			{
				HyRotation rotation;
				double one[4];

				CHECK_INT(hy_rotation_init(&rotation, dims, (uint64_t) seed, &hy_malloc_allocator),
				          HY_OK);
				hy_rotation_apply(&rotation, x, rotated_x);
				moments(rotated_x, padded, one);
				for (i = 0; i < 4; i++)
					sum[i] += one[i] / SEEDS;
				for (i = 0; i < padded; i++)
				{
					double scaled = rotated_x[i] * sqrt((double) padded);

					squares[i] += scaled * scaled / SEEDS;
					far = fabs(scaled) > far ? fabs(scaled) : far;
				}
				hy_rotation_free(&rotation);
			}
			/* five deviations of such means; the fourth moment of few dims is below 3 */
			CHECK_NEAR(sum[0], 0, 5 * deviation);
			CHECK_NEAR(sum[1], 1, 1e-5);
			CHECK_NEAR(sum[2], 0, 5 * deviation * sqrt(15));
			CHECK_NEAR(sum[3], 3.0 * padded / (padded + 2), 5 * deviation * sqrt(96) + 0.02);
			CHECK_MSG(far < 6.5, "%d dims, kind %d: %g deviations", dims, kind, far);
			/* of each coordinate the mean square over the seeds */
			for (i = 0; i < padded; i++)
				CHECK_MSG(squares[i] > 0.25 && squares[i] < 2.2,
				          "%d dims, kind %d: the mean square of coordinate %d is %g", dims, kind, i,
				          squares[i]);
		}
	}
}

/* dims_of: return a number of dims that is padded to this number. */
static int
dims_of(int padded)
{
	return padded < HY_ROTATION_LEAST ? padded / HY_ROTATION_BITS : padded;
}

/*
 * The share of each coordinate's square that another coordinate gets, averaged over all signs: the
 * transform spreads a part evenly, a butterfly averages two.  It is nearly the same for all,
 * whatever the size.
 */
static void
test_all_is_mixed(void)
{
	static double energy[MOST];
	int padded;
	int source;
	int round;
	int i;

	for (padded = HY_ROTATION_STEP; padded <= MOST; padded += HY_ROTATION_STEP)
	{
		HyRotation rotation;
		int rest;

		CHECK_INT(hy_rotation_init(&rotation, dims_of(padded), 1, &hy_malloc_allocator), HY_OK);
		CHECK_INT(rotation.padded, padded);
		rest = padded - rotation.part;
		/* one of those only in the first part, in both, and only in the last */
		for (source = 0; source < 3; source++)
		{
			double most = 0;
			double least = 1e9;

			memset(energy, 0, sizeof(energy));
			energy[source == 0 ? 0 : source == 1 ? padded / 2 : padded - 1] = 1;
			for (round = 0; round < HY_ROTATION_ROUNDS; round++)
			{
				int start = round % 2 == 0 ? 0 : rest;
				double sum = 0;

				for (i = start; i < start + rotation.part; i++)
					sum += energy[i] / rotation.part;
				for (i = start; i < start + rotation.part; i++)
					energy[i] = sum;
				for (i = 0; i < rest && round % 2 != 0; i++)
					energy[i] = energy[i + rotation.part] =
						(energy[i] + energy[i + rotation.part]) / 2;
			}
			for (i = 0; i < padded; i++)
			{
				most = energy[i] * padded > most ? energy[i] * padded : most;
				least = energy[i] * padded < least ? energy[i] * padded : least;
			}
			CHECK_MSG(least > 0.92 && most < 1.08, "%d dims: from %g to %g", padded, least, most);
		}
		hy_rotation_free(&rotation);
	}
}

static void
test_same_bits_on_every_level(void)
{
	UnitRandom random = {12};
	int n;
	int level;

	for (n = 0; n < DIMS_COUNT; n++)
	{
		int dims = some_dims[n];
		HyRotation rotation;

		CHECK_INT(hy_rotation_init(&rotation, dims, 99, &hy_malloc_allocator), HY_OK);
		fill(&random, x, dims);
		CHECK(hy_rotation_apply_at(HY_SIMD_SCALAR, &rotation, x, rotated_x));
		for (level = 0; level < HY_SIMD_COUNT; level++)
		{
			/* exactly what is needed, for the sanitizers; and in place */
			float *out = malloc((size_t) rotation.padded * sizeof(float));

			memcpy(out, x, (size_t) dims * sizeof(float));
			CHECK_INT(hy_rotation_apply_at((HySimd) level, &rotation, out, out),
			          hy_simd_available((HySimd) level));
			if (hy_simd_available((HySimd) level))
				CHECK_MSG(memcmp(out, rotated_x, (size_t) rotation.padded * sizeof(float)) == 0,
				          "%s, %d dims", hy_simd_name((HySimd) level), dims);
			free(out);
		}
		hy_rotation_free(&rotation);
	}
}

/* Indexes store rotated vectors: a change of one bit here makes existing indexes useless. */
static void
test_never_changes(void)
{
	HyRotation rotation;
	uint64_t hash = 0;
	uint32_t bits;
	int i;

	CHECK_INT(hy_rotation_init(&rotation, 768, UINT64_C(0x123456789abcdef0), &hy_malloc_allocator),
	          HY_OK);
	for (i = 0; i < 768; i++)
		x[i] = (float) (i % 7) - 3;
	hy_rotation_apply(&rotation, x, rotated_x);
	for (i = 0; i < 768; i++)
	{
		memcpy(&bits, &rotated_x[i], sizeof(bits));
		hash = (hash ^ bits) * UINT64_C(0x100000001b3);
	}
	CHECK_MSG(hash == UINT64_C(0x6aaf7bbf6b359e61), "%016llx", (unsigned long long) hash);
	hy_rotation_free(&rotation);
}

/* The definition, in fp64: signs, Walsh-Hadamard matrix, halves. */
static void
test_is_what_it_says(void)
{
	static double now[1024];
	static double next[1024];
	UnitRandom random = {13};
	HyRotation rotation;
	int sizes[] = {64, 192, 448, 512};
	int n;
	int round;
	int i;
	int j;

	for (n = 0; n < 4; n++)
	{
		int padded = sizes[n];

		CHECK_INT(hy_rotation_init(&rotation, dims_of(padded), 5, &hy_malloc_allocator), HY_OK);
		CHECK_INT(rotation.padded, padded);
		fill(&random, x, dims_of(padded));
		for (i = 0; i < padded; i++)
			now[i] = i < dims_of(padded) ? x[i] : 0;
		for (round = 0; round < HY_ROTATION_ROUNDS; round++)
		{
			int start = round % 2 == 0 ? 0 : padded - rotation.part;

			for (i = 0; i < padded; i++)
				now[i] *= rotation.factors[round * padded + i] > 0 ? 1 : -1;
			memcpy(next, now, sizeof(next));
			for (i = 0; i < rotation.part; i++)
			{
				next[start + i] = 0;
				for (j = 0; j < rotation.part; j++)
					next[start + i] +=
						(__builtin_popcount((unsigned int) (i & j)) % 2 == 0 ? 1 : -1) *
						now[start + j] / sqrt(rotation.part);
			}
			memcpy(now, next, sizeof(now));
			for (i = 0; i < padded - rotation.part && round % 2 != 0; i++)
			{
				now[i] = (next[i] + next[i + rotation.part]) * sqrt(0.5);
				now[i + rotation.part] = (next[i] - next[i + rotation.part]) * sqrt(0.5);
			}
		}
		hy_rotation_apply(&rotation, x, rotated_x);
		for (i = 0; i < padded; i++)
			CHECK_NEAR(rotated_x[i], now[i], 1e-5);
		hy_rotation_free(&rotation);
	}
}

static void
test_extremes(void)
{
	HyRotation rotation;
	int i;

	CHECK_INT(hy_rotation_init(&rotation, 1000, 3, &hy_malloc_allocator), HY_OK);
	/* as long as fp32 allows, and nothing */
	for (i = 0; i < 1000; i++)
		x[i] = 4e36f;
	hy_rotation_apply(&rotation, x, rotated_x);
	for (i = 0; i < rotation.padded; i++)
		CHECK(isfinite(rotated_x[i]));
	memset(x, 0, sizeof(x));
	hy_rotation_apply(&rotation, x, rotated_x);
	for (i = 0; i < rotation.padded; i++)
		CHECK(rotated_x[i] == 0.0f);
	hy_rotation_free(&rotation);
}

static void
test_memory(void)
{
	HyRotation rotation;
	UnitMemory memory;

	unit_memory_init(&memory, 1);
	CHECK_INT(hy_rotation_init(&rotation, 10, 1, &memory.allocator), HY_NOMEM);
	hy_rotation_free(&rotation);
	CHECK_INT(hy_rotation_init(&rotation, 10, 1, &memory.allocator), HY_OK);
	hy_rotation_free(&rotation);
	CHECK_INT(memory.outstanding, 0);
	CHECK_INT(hy_rotation_init(&rotation, 0, 1, &memory.allocator), HY_INVALID);
	hy_rotation_free(&rotation);
	CHECK_INT(hy_rotation_init(&rotation, HY_MAX_DIMS + 1, 1, &memory.allocator), HY_INVALID);
	hy_rotation_free(&rotation);
}

int
main(void)
{
	UNIT_RUN(test_keeps_lengths_and_angles);
	UNIT_RUN(test_anything_becomes_gaussian);
	UNIT_RUN(test_all_is_mixed);
	UNIT_RUN(test_same_bits_on_every_level);
	UNIT_RUN(test_never_changes);
	UNIT_RUN(test_is_what_it_says);
	UNIT_RUN(test_extremes);
	UNIT_RUN(test_memory);
	return unit_finish();
}
