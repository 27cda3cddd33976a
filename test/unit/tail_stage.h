/*
 * tail_stage.h
 *		Declarations shared by the tests of tails and of the groups beyond them.
 */
#ifndef HY_TAIL_STAGE_H
#define HY_TAIL_STAGE_H

#include "unit.h"

#include <float.h>

#include "core/distance.h"
#include "core/tail.h"

#define PRIOR 0.0025f /* 1 / 400: a deviation of 0.05 */

#define MIXTURES 4 /* kinds of samples of sample_mixture */

/* NO_FAR: a tail of one exponential distribution. */
#define NO_FAR -FLT_MAX, 1, -FLT_MAX

/* CHECK_CLOSE: check equality up to a relative error. */
#define CHECK_CLOSE(actual, expected, error)                                                       \
	CHECK_NEAR((actual), (expected), (error) *fabs((double) (expected)))

static inline void
check_sane(const HyTail *tail)
{
	CHECK(isfinite(tail->top));
	CHECK(isfinite(tail->steepness) && tail->steepness > 0);
	CHECK(isfinite(tail->far_top));
	CHECK(isfinite(tail->far_steepness) && tail->far_steepness > 0);
}

/*
 * sample_mixture: return a new array of count numbers: of one size, of all sizes, all alike, or of
 * one size again.  The caller frees it.
 */
static inline float *
sample_mixture(UnitRandom *random, int count, int kind)
{
	float *numbers = malloc((size_t) (count > 0 ? count : 1) * sizeof(float));
	int i;

	for (i = 0; i < count; i++)
		numbers[i] =
			kind == 1 ? ldexpf(unit_random_float(random), (int) unit_random_below(random, 40) - 20)
			: kind == 2 ? 0.07f
						: 0.3f * (float) unit_random_gaussian(random);
	return numbers;
}

/* mixture_noise: return the noise to declare for a sample of this kind. */
static inline float
mixture_noise(int kind)
{
	return kind == 3 ? 0.08f : 0;
}

#endif
