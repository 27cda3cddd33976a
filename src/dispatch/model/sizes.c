/*
 * sizes.c
 *		Keeps mean times of size classes, and corrects predictions by them: see sizes.h.
 */
#include "dispatch/model/sizes.h"

#include <math.h>
#include <string.h>

#include "dispatch/model/kind.h"

#define ELSEWHERE 0.5 /* weight, in observations, of a correction from other sizes */
#define DOUBT 0.5     /* weight, in observations, of the assumption that no correction is needed */
#define WIDEST 1e6    /* limit of a correction in either direction */

static double faded(uint32_t away);
static double log_correction(const HySize *size, const HyCoefficients *fit);

const HySize *
hy_sizes_find(const HySizes *sizes, uint32_t number)
{
	int i;

	for (i = 0; i < HY_SIZES; i++)
	{
		if (sizes->size[i].number == number)
			return &sizes->size[i];
	}
	return NULL;
}

HySize *
hy_sizes_claim(HySizes *sizes, uint32_t number, uint64_t now)
{
	HySize *chosen = &sizes->size[0];
	int i;

	for (i = 0; i < HY_SIZES; i++)
	{
		HySize *size = &sizes->size[i];

		if (size->number == number)
		{
			chosen = size;
			break;
		}
		if (size->last < chosen->last)
			chosen = size;
	}
	if (chosen->number != number)
	{
		memset(chosen, 0, sizeof(*chosen));
		chosen->number = number;
	}
	chosen->last = now;
	return chosen;
}

void
hy_size_observe(HySize *size, HyCostTerms terms, double ns, int32_t count, int32_t window)
{
	double share;

	size->samples = size->samples + count < window ? size->samples + count : window;
	share = count / size->samples;
	if (share > 1)
		share = 1;
	size->ns += share * (ns - size->ns);
	size->means.work += share * (terms.work - size->means.work);
	size->means.bytes += share * (terms.bytes - size->means.bytes);
	size->means.serial += share * (terms.serial - size->means.serial);
}

double
hy_sizes_correction(const HySizes *sizes, const HyCoefficients *fit, uint32_t number)
{
	const HySize *own = NULL;
	const HySize *below = NULL;
	const HySize *above = NULL;
	double correction = 0;
	int i;

	for (i = 0; i < HY_SIZES; i++)
	{
		const HySize *size = &sizes->size[i];

		if (!hy_size_alike(size->number, number))
			continue;
		if (size->number == number)
			own = size;
		else if (size->number < number && (below == NULL || size->number > below->number))
			below = size;
		else if (size->number > number && (above == NULL || size->number < above->number))
			above = size;
	}
	if (below != NULL && above != NULL)
		correction = (log_correction(below, fit) * (above->number - number) +
		              log_correction(above, fit) * (number - below->number)) /
		             (above->number - below->number);
	else if (below != NULL)
		correction = log_correction(below, fit) * faded(number - below->number);
	else if (above != NULL)
		correction = log_correction(above, fit) * faded(above->number - number);
	if (own != NULL)
		correction = (ELSEWHERE * correction + own->samples * log_correction(own, fit)) /
		             (ELSEWHERE + own->samples);
	return exp(correction);
}

/* faded: return the fraction of a class's correction that applies this many powers of two away. */
static double
faded(uint32_t away)
{
	return 6.0 / (5 + away);
}

/*
 * log_correction: return the logarithm of the ratio of a class's mean time to the regression's
 * prediction, reduced while the class has few observations.
 */
static double
log_correction(const HySize *size, const HyCoefficients *fit)
{
	double factor = size->ns / hy_cost_predict(fit, size->means);

	/* written so that a NaN becomes the lower limit */
	factor = factor < WIDEST ? factor : WIDEST;
	factor = factor > 1 / WIDEST ? factor : 1 / WIDEST;
	return log(factor) * (size->samples / (size->samples + DOUBT));
}
