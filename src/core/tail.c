/*
 * tail.c
 *		The upper tail of a distribution from a sample of it: see tail.h.
 *
 * The loops are written once, for compilers to make vector instructions of, and compiled for each level that gains from
 * that.  All of them do the same operations in the same order, in lanes, and give the same bits.
 */
#include "core/tail.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/distance.h"

/* of a normal distribution: the mean excess over HY_TAIL_BEGIN, in deviations, and the share above it */
#define NORMAL_EXCESS 0.488
#define NORMAL_SHARE 0.115
#define COMPLETED 2     /* peaks of a normal distribution that complete a sample */
#define LEAST (-126.0f) /* 2 to that is the least normal number */
#define LOG2_E 1.44269504f
#define LANES 8 /* of sums over a sample */

/* Peaks: of a sample, what lies above a threshold. */
typedef struct Peaks
{
	double excess; /* the sum of it */
	double count;
} Peaks;

#define LOOPS static inline __attribute__((always_inline))

/* exp2_of: 2 to the power of x, at most 1; what is below the range of normal numbers is about 0, and so is no number. */
LOOPS float
exp2_of(float x)
{
	/* 2^f, f in -1 .. 0: the series of e^(f log 2) */
	static const float c1 = 0.69314718f, c2 = 0.24022651f, c3 = 0.05550411f, c4 = 0.00961813f,
					   c5 = 0.00133336f, c6 = 0.00015403f;
	float f, power;
	int32_t whole;

	x = x > LEAST ? x : LEAST;
	x = x < 0 ? x : 0;
	whole = (int32_t) x;
	f = x - (float) whole;
	power = 1 + f * (c1 + f * (c2 + f * (c3 + f * (c4 + f * (c5 + f * c6)))));
	whole = (whole + 127) * (1 << 23);
	memcpy(&f, &whole, sizeof(f));
	return power * f;
}

/* sum_of: of (x - from)^power, power 1 or 2. */
LOOPS double
sum_of(const float *sample, int count, double from, int power)
{
	double sums[LANES] = {0}, sum = 0;
	int i, j;

	for (i = 0; i + LANES <= count; i += LANES)
	{
		for (j = 0; j < LANES; j++)
		{
			double x = sample[i + j] - from;

			sums[j] += power == 1 ? x : x * x;
		}
	}
	for (; i < count; i++)
		sum += power == 1 ? sample[i] - from : (sample[i] - from) * (sample[i] - from);
	for (j = 0; j < LANES; j++)
		sum += sums[j];
	return sum;
}

LOOPS Peaks
peaks_of(const float *sample, int count, double begin)
{
	double excess[LANES] = {0}, number[LANES] = {0};
	Peaks peaks = {0, 0};
	int i, j;

	for (i = 0; i + LANES <= count; i += LANES)
	{
		for (j = 0; j < LANES; j++)
		{
			double over = sample[i + j] - begin;

			excess[j] += over > 0 ? over : 0;
			number[j] += over > 0 ? 1 : 0;
		}
	}
	for (; i < count; i++)
	{
		double over = sample[i] - begin;

		peaks.excess += over > 0 ? over : 0;
		peaks.count += over > 0 ? 1 : 0;
	}
	for (j = 0; j < LANES; j++)
	{
		peaks.excess += excess[j];
		peaks.count += number[j];
	}
	return peaks;
}

LOOPS void
fit(HyTail *tail, const float *sample, int count, float noise, float prior)
{
	double all = count + HY_TAIL_PRIOR, mean = sum_of(sample, count, 0, 1) / all;
	double variance = (sum_of(sample, count, mean, 2) + HY_TAIL_PRIOR * (prior + noise)) / all;
	double deviation = sqrt(variance), shrink = 1, scale;
	Peaks peaks = peaks_of(sample, count, mean + HY_TAIL_BEGIN * deviation);

	/* where it is mostly noise, the prior says more of the rest than the difference does */
	if (variance > 0)
	{
		double known = variance - noise,
			   assumed = prior * noise / (variance > noise ? variance : noise);

		shrink = sqrt((known > assumed ? known : assumed) / variance);
	}
	peaks.excess += COMPLETED * NORMAL_EXCESS * deviation;
	scale = peaks.excess / (peaks.count + COMPLETED) * shrink;
	scale = scale > FLT_MIN ? scale : FLT_MIN;
	peaks.count += HY_TAIL_PRIOR * NORMAL_SHARE;
	tail->steepness = (float) (1 / scale);
	tail->top =
		(float) (mean + HY_TAIL_BEGIN * deviation * shrink + scale * log(peaks.count / all));
}

LOOPS double
beyond_limit(const HyTail *tail, const HyTailGroups *groups, float limit, float *keys)
{
	const float steepness = tail->steepness * LOG2_E, top = tail->top, half = tail->steepness / 2;
	const float most = 1 / (2 * tail->steepness);
	float sums[HY_TAIL_LANES] = {0}, beyond[HY_TAIL_LANES];
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
			beyond[j] = size[j] * exp2_of((top - (a + taken_out)) * steepness);
		}
		for (j = 0; j < HY_TAIL_LANES; j++)
			sums[j] += beyond[j];
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

/* wide: whether this processor may run these, and they are wanted. */
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
	return exp2_of((tail->top - a) * (tail->steepness * LOG2_E));
}
