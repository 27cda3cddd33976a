/*
 * tail.c
 *		The upper tail of a distribution from a sample: see tail.h.
 *
 * The loops are written once, in a form that compilers can vectorize, and compiled for each level
 * that benefits.  Every version does the same operations in the same order, in lanes, and gives the
 * same bits.
 */
#include "core/tail.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/distance.h"

/* Threshold: where the peaks begin, and how a normal distribution looks above that point. */
typedef struct Threshold
{
	double begin;  /* standard deviations above the mean */
	double excess; /* mean excess, in standard deviations */
	double share;
} Threshold;

static const Threshold near_threshold = {HY_TAIL_BEGIN, 0.488, 0.115};
static const Threshold far_threshold = {HY_TAIL_FAR, 0.283, 0.00135};

#define COMPLETED 2     /* peaks of a normal distribution added to every sample */
#define LEAST (-126.0f) /* 2 to this power is the smallest normal number */
#define LOG2_E 1.44269504f
#define LANES HY_TAIL_LANES

/* Peaks: the part of a sample above a threshold. */
typedef struct Peaks
{
	double excess; /* sum of the excess over the threshold */
	double count;
} Peaks;

#define LOOPS static inline __attribute__((always_inline))

/*
 * in_range: clamp an exponent to the range of power_of.  Below this range, the power is about 0.
 * NaN becomes the lowest exponent, too.
 */
LOOPS float
in_range(float x)
{
	x = x > LEAST ? x : LEAST;
	return x < 0 ? x : 0;
}

/* power_of: return 2 to the power of x, for x from LEAST to 0. */
LOOPS float
power_of(float x)
{
	/* 2^f, f in -1 .. 0: the series of e^(f log 2) */
	static const float c1 = 0.69314718f, c2 = 0.24022651f, c3 = 0.05550411f, c4 = 0.00961813f,
					   c5 = 0.00133336f, c6 = 0.00015403f;
	int32_t whole = (int32_t) x;
	float f = x - (float) whole;
	float power = 1 + f * (c1 + f * (c2 + f * (c3 + f * (c4 + f * (c5 + f * c6)))));

	whole = (whole + 127) * (1 << 23);
	memcpy(&f, &whole, sizeof(f));
	return power * f;
}

/* sum_of: return the sum of (x - from)^power, power 1 or 2. */
LOOPS double
sum_of(const float *sample, int count, float from, int power)
{
	double sums[LANES] = {0}, sum = 0;
	int i, j;

	for (i = 0; i + LANES <= count; i += LANES)
	{
		const float *restrict some = sample + i;

		for (j = 0; j < LANES; j++)
		{
			double x = some[j] - from;

			sums[j] += power == 1 ? x : x * x;
		}
	}
	for (j = 0; i < count; i++, j++)
	{
		double x = sample[i] - from;

		sums[j] += power == 1 ? x : x * x;
	}
	for (j = 0; j < LANES; j++)
		sum += sums[j];
	return sum;
}

LOOPS Peaks
peaks_of(const float *sample, int count, float begin)
{
	float excess[LANES] = {0}, number[LANES] = {0};
	Peaks peaks = {0, 0};
	int i, j;

	for (i = 0; i + LANES <= count; i += LANES)
	{
		const float *restrict some = sample + i;

		for (j = 0; j < LANES; j++)
		{
			float over = some[j] - begin;

			/*
			 * This expression has no branch.  Compilers turn two selections with the same condition
			 * into a jump.
			 */
			excess[j] += over + fabsf(over);
			number[j] += over > 0 ? 1.0f : 0.0f;
		}
	}
	for (j = 0; i < count; i++, j++)
	{
		float over = sample[i] - begin;

		excess[j] += over + fabsf(over);
		number[j] += over > 0 ? 1.0f : 0.0f;
	}
	for (j = 0; j < LANES; j++)
	{
		peaks.excess += excess[j] / 2;
		peaks.count += number[j];
	}
	return peaks;
}

/* Moments: moments of a sample combined with the prior. */
typedef struct Moments
{
	double all; /* size of the sample plus the weight of the prior, HY_TAIL_PRIOR */
	double mean;
	double deviation;
	double shrink; /* factor that removes the noise from deviations */
} Moments;

LOOPS Moments
moments_of(const float *sample, int count, float noise, float prior)
{
	Moments moments = {count + HY_TAIL_PRIOR, 0, 0, 1};
	double variance;

	moments.mean = sum_of(sample, count, 0, 1) / moments.all;
	variance = (sum_of(sample, count, (float) moments.mean, 2) + HY_TAIL_PRIOR * (prior + noise)) /
	           moments.all;
	moments.deviation = sqrt(variance);

	/*
	 * If the variance is mostly noise, the prior predicts the variance without noise better than
	 * the difference of variance and noise does.
	 */
	if (variance > 0)
	{
		double known = variance - noise,
			   assumed = prior * noise / (variance > noise ? variance : noise);

		moments.shrink = sqrt((known > assumed ? known : assumed) / variance);
	}
	return moments;
}

/*
 * fit_beyond: fit the exponential distribution beyond one threshold.  Returns the logarithm of the
 * share beyond the threshold.
 */
LOOPS float
fit_beyond(const Threshold *threshold, const float *sample, int count, const Moments *moments,
           float *top, float *steepness)
{
	double deviation = moments->deviation, scale, share_log;
	Peaks peaks = peaks_of(sample, count, (float) (moments->mean + threshold->begin * deviation));

	peaks.excess += COMPLETED * threshold->excess * deviation;
	scale = peaks.excess / (peaks.count + COMPLETED) * moments->shrink;
	scale = scale > FLT_MIN ? scale : FLT_MIN;
	peaks.count += HY_TAIL_PRIOR * threshold->share;
	*steepness = (float) (1 / scale);
	share_log = log(peaks.count / moments->all);
	*top = (float) (moments->mean + threshold->begin * deviation * moments->shrink +
	                scale * share_log);
	return (float) share_log;
}

LOOPS void
fit(HyTail *tail, const float *sample, int count, float noise, float prior)
{
	Moments moments = moments_of(sample, count, noise, prior);

	(void) fit_beyond(&near_threshold, sample, count, &moments, &tail->top, &tail->steepness);
	tail->far_log =
		fit_beyond(&far_threshold, sample, count, &moments, &tail->far_top, &tail->far_steepness);
}

LOOPS double
beyond_limit(const HyTail *tail, const HyTailGroups *groups, float limit, float *keys)
{
	const float steepness = tail->steepness * LOG2_E, top = tail->top, half = tail->steepness / 2;
	const float far_steepness = tail->far_steepness * LOG2_E, far_top = tail->far_top;
	const float far_most = tail->far_log * LOG2_E;
	const float most = 1 / (2 * tail->steepness);
	float sums[HY_TAIL_LANES] = {0}, exponents[HY_TAIL_LANES], far[HY_TAIL_LANES];
	double sum = 0;
	int i, j;

	for (i = 0; i < groups->count; i += HY_TAIL_LANES)
	{
		const float *restrict middle = groups->middle + i, *restrict inverse = groups->inverse + i;
		const float *restrict doubt = groups->doubt + i, *restrict size = groups->size + i;

		for (j = 0; j < HY_TAIL_LANES; j++)
		{
			float a = (middle[j] - limit) * inverse[j];
			float taken_out = half * doubt[j] * doubt[j];

			keys[i + j] = a - doubt[j];
			taken_out = taken_out < most ? taken_out : most;
			exponents[j] = (top - (a + taken_out)) * steepness;
			far[j] = (far_top - (a + taken_out)) * far_steepness;
		}
		/*
		 * These are separate loops.  In one loop, compilers would turn the clamp into a jump,
		 * because they know the power of its limit.
		 */
		for (j = 0; j < HY_TAIL_LANES; j++)
			far[j] = far[j] > far_most ? far_most : far[j];
		for (j = 0; j < HY_TAIL_LANES; j++)
			exponents[j] = exponents[j] > far[j] ? exponents[j] : far[j];
		for (j = 0; j < HY_TAIL_LANES; j++)
			exponents[j] = in_range(exponents[j]);
		for (j = 0; j < HY_TAIL_LANES; j++)
			sums[j] += size[j] * power_of(exponents[j]);
	}
	for (j = 0; j < HY_TAIL_LANES; j++)
		sum += sums[j];
	return sum;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void
fit_avx2(HyTail *tail, const float *sample, int count, float noise, float prior)
{
	fit(tail, sample, count, noise, prior);
}

__attribute__((target("avx2"))) static double
beyond_limit_avx2(const HyTail *tail, const HyTailGroups *groups, float limit, float *keys)
{
	return beyond_limit(tail, groups, limit, keys);
}

/* wide: test whether the level in use allows the AVX2 versions. */
static int
wide(void)
{
	HySimd level = hy_kernels()->level;

	return level == HY_SIMD_AVX2 || level == HY_SIMD_AVX512 || level == HY_SIMD_AMX;
}
#else
#define fit_avx2 fit
#define beyond_limit_avx2 beyond_limit

static int
wide(void)
{
	return 0;
}
#endif

void
hy_tail_fit(HyTail *tail, const float *sample, int count, float noise, float prior)
{
	if (wide())
		fit_avx2(tail, sample, count, noise, prior);
	else
		fit(tail, sample, count, noise, prior);
}

double
hy_tail_beyond(const HyTail *tail, const HyTailGroups *groups, float limit, float *keys)
{
	return wide() ? beyond_limit_avx2(tail, groups, limit, keys)
	              : beyond_limit(tail, groups, limit, keys);
}

float
hy_tail_at(const HyTail *tail, float a)
{
	float exponent = (tail->top - a) * (tail->steepness * LOG2_E);
	float far = (tail->far_top - a) * (tail->far_steepness * LOG2_E);

	far = far > tail->far_log * LOG2_E ? tail->far_log * LOG2_E : far;
	return power_of(in_range(exponent > far ? exponent : far));
}
