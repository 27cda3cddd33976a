/*
 * tail_test.c
 *		The tail of known distributions from a sample.
 */
#include "tail_stage.h"

#define MOST 65536       /* numbers of a sample */
#define NOTHING 0x1p-126 /* as small as a probability becomes */

static float sample[MOST];

/* CHECK_FACTOR: check that two positive numbers are equal up to a factor. */
#define CHECK_FACTOR(actual, expected, factor)                                                     \
	check_factor(__LINE__, #actual, (actual), (expected), (factor))

static void
check_factor(int line, const char *what, double actual, double expected, double factor)
{
	if (!(actual <= expected * factor && actual >= expected / factor))
		unit_fail(__FILE__, line, "%s is %g, expected %g up to a factor of %g", what, actual,
		          expected, factor);
}

/*
 * normal_beyond: return the share of a normal distribution that lies more than z deviations above
 * its mean.
 */
static double
normal_beyond(double z)
{
	return erfc(z / sqrt(2)) / 2;
}

static void
normal_sample(UnitRandom *random, int count, double mean, double deviation)
{
	int i;

	for (i = 0; i < count; i++)
		sample[i] = (float) (mean + deviation * unit_random_gaussian(random));
}

static void
exponential_sample(UnitRandom *random, int count, double mean)
{
	int i;

	for (i = 0; i < count; i++)
		sample[i] = (float) (-mean * log1p(-unit_random_unit(random)));
}

static void
add_noise(UnitRandom *random, int count, double deviation)
{
	int i;

	for (i = 0; i < count; i++)
		sample[i] += (float) (deviation * unit_random_gaussian(random));
}

/*
 * The fitted tail is heavier than that of a normal distribution, and close to it up to 2.5
 * deviations.
 */
static void
test_normal_sample(void)
{
	int seed;

	for (seed = 1; seed <= 20; seed++)
	{
		UnitRandom random = {(uint64_t) seed};
		HyTail tail;

		normal_sample(&random, 4096, 0.1, 0.05);
		hy_tail_fit(&tail, sample, 4096, 0, PRIOR);
		check_sane(&tail);
		CHECK_FACTOR(hy_tail_at(&tail, 0.1f + 2 * 0.05f), normal_beyond(2), 1.3);
		CHECK_FACTOR(hy_tail_at(&tail, 0.1f + 2.5f * 0.05f), normal_beyond(2.5), 2);
		CHECK_FACTOR(hy_tail_at(&tail, 0.1f + 3 * 0.05f), normal_beyond(3), 3);
		CHECK(hy_tail_at(&tail, 0.1f + 3 * 0.05f) > normal_beyond(3));
		CHECK_FACTOR(hy_tail_at(&tail, 0.1f + 3.5f * 0.05f), normal_beyond(3.5), 8);
		CHECK(hy_tail_at(&tail, 0.1f + 3.5f * 0.05f) > normal_beyond(3.5));
		CHECK(hy_tail_at(&tail, 0.1f) == 1);
	}
}

/* An exponential tail is found exactly, also far beyond the sample. */
static void
test_exponential_sample(void)
{
	static const double means[] = {0.05, 1, 300};
	int seed, i;

	for (seed = 1; seed <= 6; seed++)
	{
		UnitRandom random = {(uint64_t) seed * 1000};
		double mean = means[seed % 3];
		HyTail tail;

		exponential_sample(&random, MOST, mean);
		hy_tail_fit(&tail, sample, MOST, 0, (float) (mean * mean));
		check_sane(&tail);
		CHECK_FACTOR(tail.steepness, 1 / mean, 1.05);
		CHECK_FACTOR(hy_tail_at(&tail, (float) (3 * mean)), exp(-3), 1.1);
		CHECK_FACTOR(hy_tail_at(&tail, (float) (5 * mean)), exp(-5), 1.3);
		CHECK_FACTOR(hy_tail_at(&tail, (float) (8 * mean)), exp(-8), 1.5);
		/* and from a sixteenth of it */
		for (i = 0; i < MOST; i += MOST / 16)
		{
			hy_tail_fit(&tail, sample + i, MOST / 16, 0, (float) (mean * mean));
			CHECK_FACTOR(hy_tail_at(&tail, (float) (3 * mean)), exp(-3), 1.3);
			CHECK_FACTOR(hy_tail_at(&tail, (float) (5 * mean)), exp(-5), 2);
		}
	}
}

/* Noise that is added to a sample and declared does not change its tail; undeclared noise does. */
static void
test_noise_is_taken_out(void)
{
	static const double noises[] = {0.02, 0.05, 0.1};
	const int many = 16384;
	int seed, n;

	for (seed = 1; seed <= 10; seed++)
	{
		for (n = 0; n < 3; n++)
		{
			UnitRandom random = {(uint64_t) seed * 77};
			float far = 0.1f + 3 * 0.05f;
			HyTail clean, noisy;

			normal_sample(&random, many, 0.1, 0.05);
			hy_tail_fit(&clean, sample, many, 0, PRIOR);
			add_noise(&random, many, noises[n]);
			hy_tail_fit(&noisy, sample, many, (float) (noises[n] * noises[n]), PRIOR);
			check_sane(&noisy);
			CHECK_FACTOR(hy_tail_at(&noisy, far), hy_tail_at(&clean, far), 2);
			CHECK_FACTOR(noisy.steepness, clean.steepness, 1.15);
			hy_tail_fit(&noisy, sample, many, 0, PRIOR);
			CHECK(n == 0 || hy_tail_at(&noisy, far) > 4 * hy_tail_at(&clean, far));

			/* a tail that is heavier than that of the noise */
			exponential_sample(&random, many, 0.05);
			hy_tail_fit(&clean, sample, many, 0, PRIOR);
			add_noise(&random, many, noises[n] / 4);
			hy_tail_fit(&noisy, sample, many, (float) (noises[n] * noises[n] / 16), PRIOR);
			far = 4 * 0.05f;
			CHECK_FACTOR(hy_tail_at(&noisy, far), hy_tail_at(&clean, far), 1.5);
		}
	}
}

/* Without a sample: a normal distribution of the expected variance, whatever the noise is. */
static void
test_no_sample(void)
{
	float empty[1] = {NAN};
	HyTail tail, same;

	hy_tail_fit(&tail, NULL, 0, 0, PRIOR);
	check_sane(&tail);
	CHECK_FACTOR(hy_tail_at(&tail, 1.5f * 0.05f), normal_beyond(1.5), 1.2);
	CHECK_FACTOR(hy_tail_at(&tail, 2 * 0.05f), normal_beyond(2), 1.2);
	CHECK_FACTOR(hy_tail_at(&tail, 3 * 0.05f), normal_beyond(3), 3);
	CHECK(hy_tail_at(&tail, -0.05f) == 1);
	hy_tail_fit(&same, empty, 0, 0, PRIOR);
	CHECK_SAME_F32(same.top, tail.top);
	CHECK_SAME_F32(same.steepness, tail.steepness);
	hy_tail_fit(&same, empty, 0, 0.01f, PRIOR);
	CHECK_CLOSE(same.top, tail.top, 1e-6);
	CHECK_CLOSE(same.steepness, tail.steepness, 1e-6);
	/* nothing is known and nothing expected */
	hy_tail_fit(&same, NULL, 0, 0.01f, 0);
	check_sane(&same);
	CHECK(hy_tail_at(&same, 1e-6f) <= NOTHING);
	CHECK(hy_tail_at(&same, -1e-6f) == 1);
}

static void
test_one_number(void)
{
	float none = 0, far = 3 * 0.05f, low = -3 * 0.05f, huge = 1e30f;
	HyTail tail, prior;

	hy_tail_fit(&prior, NULL, 0, 0, PRIOR);
	hy_tail_fit(&tail, &none, 1, 0, PRIOR);
	check_sane(&tail);
	CHECK_FACTOR(hy_tail_at(&tail, 2 * 0.05f), normal_beyond(2), 2);
	CHECK(hy_tail_at(&tail, 2 * 0.05f) < hy_tail_at(&prior, 2 * 0.05f));
	hy_tail_fit(&tail, &far, 1, 0, PRIOR);
	check_sane(&tail);
	CHECK(hy_tail_at(&tail, far) > 5 * hy_tail_at(&prior, far) && hy_tail_at(&tail, far) < 0.25);
	/* a low one says less of the upper end */
	prior = tail;
	hy_tail_fit(&tail, &low, 1, 0, PRIOR);
	check_sane(&tail);
	CHECK(hy_tail_at(&tail, far) < hy_tail_at(&prior, far) / 3);
	hy_tail_fit(&tail, &huge, 1, 0, PRIOR);
	check_sane(&tail);
	CHECK(hy_tail_at(&tail, 1) > 0.01f && hy_tail_at(&tail, 1e32f) <= NOTHING);
}

static void
test_equal_numbers(void)
{
	static const float values[] = {0, -0.0f, 0.1f, -0.3f, 1e-30f, 2000};
	int v, count, i;

	for (v = 0; v < 6; v++)
	{
		for (i = 0; i < 4096; i++)
			sample[i] = values[v];
		for (count = 1; count <= 4096; count *= 2)
		{
			float away = fabsf(values[v]) * 20 + 0.01f;
			HyTail tail;

			hy_tail_fit(&tail, sample, count, 0, 0);
			check_sane(&tail);
			CHECK_FACTOR(hy_tail_at(&tail, values[v] + away) + 1e-6, 1e-6, 1.5);
			CHECK(hy_tail_at(&tail, values[v] - away) == 1);
			CHECK(hy_tail_at(&tail, values[v]) >= 0 && hy_tail_at(&tail, values[v]) <= 1);
			if (values[v] == 0)
			{
				CHECK(hy_tail_at(&tail, 1e-30f) <= NOTHING);
				CHECK(hy_tail_at(&tail, -1e-30f) == 1);
			}
			/* less than the prior says, the more so the more there are */
			hy_tail_fit(&tail, sample, count, 0, PRIOR);
			check_sane(&tail);
			if (values[v] == 0 && count >= 64)
				CHECK(hy_tail_at(&tail, 2 * 0.05f) < 1e-4f);
		}
	}
}

/*
 * Numbers that are mostly noise: the rest is as wide as the prior says, and not narrower by chance.
 */
static void
test_mostly_noise(void)
{
	static const int counts[] = {64, 256, 4096};
	HyTail prior, tail;
	UnitRandom overstated = {5};
	int seed, c;

	hy_tail_fit(&prior, NULL, 0, 0, PRIOR);
	for (seed = 1; seed <= 20; seed++)
	{
		for (c = 0; c < 3; c++)
		{
			UnitRandom random = {(uint64_t) seed * 31};
			double slack = c == 0 ? 0.6 : c == 1 ? 0.75 : 0.85;

			/* nothing but noise: less than was expected of it, and more, in turn */
			normal_sample(&random, counts[c], 0, seed % 3 == 0 ? 0.19 : 0.2);
			hy_tail_fit(&tail, sample, counts[c], 0.04f, PRIOR);
			check_sane(&tail);
			CHECK_MSG(prior.steepness > slack * tail.steepness, "%d numbers: steepness %g for %g",
			          counts[c], tail.steepness, prior.steepness);
			CHECK_MSG(tail.steepness > 0.5f * prior.steepness || c < 2,
			          "%d numbers: steepness %g for %g", counts[c], tail.steepness,
			          prior.steepness);
			if (c == 2)
				CHECK_FACTOR(hy_tail_at(&tail, 2 * 0.05f), normal_beyond(2), 3);
		}
	}

	/* noise that is overstated does not make the tail the wider the narrower the sample is */
	normal_sample(&overstated, 4096, 0, 0.1);
	hy_tail_fit(&tail, sample, 4096, 0.04f, PRIOR);
	CHECK_FACTOR(tail.steepness, prior.steepness, 1.25);
}

/* The prior counts as much as HY_TAIL_PRIOR numbers. */
static void
test_prior_counts_as_numbers(void)
{
	int count, i;

	for (count = 8; count <= MOST; count *= 2)
	{
		double all = count + HY_TAIL_PRIOR;
		double variance = (count * 0.0016 + HY_TAIL_PRIOR * 0.0036) / all;
		HyTail tail, same;

		/* none of them is above the threshold */
		for (i = 0; i < count; i++)
			sample[i] = i % 2 == 0 ? 0.04f : -0.04f;
		hy_tail_fit(&tail, sample, count, 0, 0.0036f);
		hy_tail_fit(&same, NULL, 0, 0, (float) variance);
		/* sums are of single precision */
		CHECK_CLOSE(tail.steepness, same.steepness, 2e-5);
		CHECK_CLOSE(hy_tail_at(&tail, 0.2f), hy_tail_at(&same, 0.2f) * HY_TAIL_PRIOR / all, 1e-4);

		/* the mean is that of all, and the prior's is 0 */
		for (i = 0; i < count; i++)
			sample[i] = i % 2 == 0 ? 0.0001f + 0.04f : 0.0001f - 0.04f;
		same = tail;
		hy_tail_fit(&tail, sample, count, 0, 0.0036f);
		CHECK_NEAR(tail.top - same.top, 0.0001 * count / all, 2e-6);
	}
}

/*
 * A single peak is not all the evidence about peaks: two peaks of a normal distribution are added.
 */
static void
test_few_peaks(void)
{
	double all = 64 + HY_TAIL_PRIOR, mean = 0.3 / all;
	double square = 63 * mean * mean + (0.3 - mean) * (0.3 - mean);
	double deviation = sqrt((square + HY_TAIL_PRIOR * PRIOR) / all);
	double excess = 0.3 - mean - HY_TAIL_BEGIN * deviation;
	HyTail tail;

	memset(sample, 0, 64 * sizeof(float));
	sample[40] = 0.3f;
	hy_tail_fit(&tail, sample, 64, 0, PRIOR);
	CHECK_CLOSE(1 / tail.steepness, (excess + 2 * 0.48 * deviation) / 3, 0.02);
}

/* One number in 200 lies far above all others: such numbers are expected about as often as they are there. */
static void
test_a_few_far_above(void)
{
	UnitRandom random = {23};
	HyTail tail;
	int i;

	normal_sample(&random, 1000, 0, 0.1);
	for (i = 0; i < 1000; i += 200)
		sample[i] = 1.0f;
	hy_tail_fit(&tail, sample, 1000, 0, PRIOR);
	CHECK(hy_tail_at(&tail, 0.95f) > 0.0005f && hy_tail_at(&tail, 0.95f) < 0.01f);
	CHECK(hy_tail_at(&tail, 0.6f) > 0.001f && hy_tail_at(&tail, 0.6f) < 0.02f);
	/* and beyond them nearly never */
	CHECK(hy_tail_at(&tail, 5) < 1e-4f);
}

/* In another unit, the same, to the last bit. */
static void
test_unit_of_numbers(void)
{
	UnitRandom random = {5};
	int power, i;

	for (power = -20; power <= 20; power++)
	{
		static float scaled[300];
		int count = (int) unit_random_below(&random, 300);
		float noise = power % 2 == 0 ? 0.001f : 0.02f;
		HyTail tail, other;

		normal_sample(&random, count, 0.03, 0.1);
		for (i = 0; i < count; i++)
			scaled[i] = ldexpf(sample[i], power);
		hy_tail_fit(&tail, sample, count, noise, PRIOR);
		hy_tail_fit(&other, scaled, count, ldexpf(noise, 2 * power), ldexpf(PRIOR, 2 * power));
		CHECK_SAME_F32(other.top, ldexpf(tail.top, power));
		CHECK_SAME_F32(other.steepness, ldexpf(tail.steepness, -power));
		CHECK_SAME_F32(other.far_top, ldexpf(tail.far_top, power));
		CHECK_SAME_F32(other.far_steepness, ldexpf(tail.far_steepness, -power));
	}
}

/* Every number counts, and equally, wherever it is in the sample. */
static void
test_place_in_sample(void)
{
	UnitRandom random = {6};
	HyTail without, first, tail;
	int count, i;

	for (count = 1; count <= 40; count++)
	{
		normal_sample(&random, count, 0, 0.05);
		sample[0] = 0;
		hy_tail_fit(&without, sample, count, 0, PRIOR);
		sample[0] = 0.25f;
		hy_tail_fit(&first, sample, count, 0, PRIOR);
		CHECK(first.steepness < 0.97f * without.steepness);
		for (i = 1; i < count; i++)
		{
			float swap = sample[i];

			sample[i] = sample[0];
			sample[0] = swap;
			hy_tail_fit(&tail, sample, count, 0, PRIOR);
			CHECK_CLOSE(tail.steepness, first.steepness, 1e-6);
			CHECK_NEAR(tail.top, first.top, 1e-7);
			sample[0] = sample[i];
			sample[i] = swap;
		}
	}
}

static const HyTail tails[] = {
	{0.08f, 40, NO_FAR},       {-0.3f, 7.5f, NO_FAR},      {0, 1e-3f, NO_FAR},
	{0.02f, 2000, NO_FAR},     {100.5f, 0.003f, NO_FAR},   {0.5f, 0x1p10f, NO_FAR},
	{-50, 1e3f, NO_FAR},       {0.08f, 40, -0.2f, 10, -5}, {0, 5, -1, 1, -2},
	{0.02f, 20, 0.01f, 19, 0},
};

#define TAILS ((int) (sizeof(tails) / sizeof(tails[0])))

static void
test_at_ends(void)
{
	HyTail steepest = {0, 0x1p126f, NO_FAR};
	int t;

	for (t = 0; t < TAILS; t++)
	{
		const HyTail *tail = &tails[t];

		CHECK(hy_tail_at(tail, -INFINITY) == 1);
		CHECK(hy_tail_at(tail, -FLT_MAX) == 1);
		CHECK(hy_tail_at(tail, tail->top - 1 / tail->steepness) == 1);
		CHECK(hy_tail_at(tail, tail->top) == 1);
		CHECK(hy_tail_at(tail, INFINITY) >= 0 && hy_tail_at(tail, INFINITY) <= NOTHING);
		CHECK(hy_tail_at(tail, FLT_MAX) >= 0 && hy_tail_at(tail, FLT_MAX) <= NOTHING);
		CHECK(hy_tail_at(tail, NAN) >= 0 && hy_tail_at(tail, NAN) <= NOTHING);
	}
	CHECK(hy_tail_at(&steepest, 0) == 1);
	CHECK(hy_tail_at(&steepest, -FLT_MIN) == 1);
	CHECK_CLOSE(hy_tail_at(&steepest, FLT_MIN), exp(-1), 1e-4);
	CHECK(hy_tail_at(&steepest, 1) <= NOTHING && hy_tail_at(&steepest, INFINITY) <= NOTHING);
}

/*
 * Compared with exp(), above 1e-30 and below; and never increasing outward, in steps of a
 * thousandth.
 */
static void
test_at_is_exp(void)
{
	int t, i;

	for (t = 0; t < TAILS; t++)
	{
		const HyTail *tail = &tails[t];
		float last = 1;

		for (i = -1000; i <= 100000; i++)
		{
			float a = (float) (tail->top + i * 1e-3 / tail->steepness);
			double exact =
				exp(fmax(((double) tail->top - a) * tail->steepness,
			             fmin(tail->far_log, ((double) tail->far_top - a) * tail->far_steepness)));
			float p = hy_tail_at(tail, a);

			if (exact >= 1)
				CHECK_MSG(p == 1, "tail %d, %d: %g", t, i, p);
			else if (exact > 1e-30)
				CHECK_MSG(fabs(p - exact) <= 1e-4 * exact, "tail %d, %d: %.9g, expected %.9g", t, i,
				          p, exact);
			else
				CHECK_MSG(p > 0 && p <= exact * 1.001 + NOTHING, "tail %d, %d: %g", t, i, p);
			CHECK_MSG(p <= last, "tail %d, %d: %.9g after %.9g", t, i, p, last);
			last = p;
		}
		CHECK(last <= NOTHING || tail->far_top > -FLT_MAX);
	}
}

static void
test_same_fit_on_every_level(void)
{
	UnitRandom random = {12};
	int count, kind, level, i;

	for (count = 0; count <= 70; count++)
	{
		for (kind = 0; kind < MIXTURES; kind++)
		{
			float *numbers = sample_mixture(&random, count, kind);
			HyTail tail, other;

			hy_kernels_force(HY_SIMD_SCALAR);
			hy_tail_fit(&tail, numbers, count, mixture_noise(kind), PRIOR);
			check_sane(&tail);
			for (level = 0; level < HY_SIMD_COUNT; level++)
			{
				if (hy_kernels_force((HySimd) level) != HY_OK)
					continue;
				hy_tail_fit(&other, numbers, count, mixture_noise(kind), PRIOR);
				CHECK_SAME_F32(other.top, tail.top);
				CHECK_SAME_F32(other.steepness, tail.steepness);
				CHECK_SAME_F32(other.far_top, tail.far_top);
				CHECK_SAME_F32(other.far_steepness, tail.far_steepness);
				CHECK_SAME_F32(other.far_log, tail.far_log);
				for (i = 0; i < 20; i++)
					CHECK_SAME_F32(hy_tail_at(&other, 0.01f * (float) i),
					               hy_tail_at(&tail, 0.01f * (float) i));
			}
			hy_kernels_force(hy_simd_best());
			free(numbers);
		}
	}
}

int
main(void)
{
	UNIT_RUN(test_normal_sample);
	UNIT_RUN(test_exponential_sample);
	UNIT_RUN(test_noise_is_taken_out);
	UNIT_RUN(test_no_sample);
	UNIT_RUN(test_one_number);
	UNIT_RUN(test_equal_numbers);
	UNIT_RUN(test_mostly_noise);
	UNIT_RUN(test_prior_counts_as_numbers);
	UNIT_RUN(test_few_peaks);
	UNIT_RUN(test_a_few_far_above);
	UNIT_RUN(test_unit_of_numbers);
	UNIT_RUN(test_place_in_sample);
	UNIT_RUN(test_at_ends);
	UNIT_RUN(test_at_is_exp);
	UNIT_RUN(test_same_fit_on_every_level);
	return unit_finish();
}
