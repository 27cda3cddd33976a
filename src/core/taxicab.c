/*
 * taxicab.c
 *		The Euclidean distance of rows that are at a given taxicab distance: see taxicab.h.
 */
#include "core/taxicab.h"

#include <math.h>
#include <string.h>

#define LEAST 8 /* minimum number of rows for a prediction */
/*
 * ASSUMED is the standard deviation of log(a / e) before any row is added, with the weight of PRIOR
 * rows.
 */
#define PRIOR 2
#define ASSUMED 0.1
#define STEEPEST 0.9 /* with a slope of 1 or more, e would not grow with a */

void
hy_taxicab_clear(HyTaxicab *taxicab, int dims)
{
	memset(taxicab, 0, sizeof(*taxicab));
	taxicab->dims = dims;
}

void
hy_taxicab_add(HyTaxicab *taxicab, double distance, double square)
{
	double x = log(distance), y = x - 0.5 * log(square);

	taxicab->rows++;
	if (!isfinite(y))
		return;
	if (taxicab->distinct++ == 0)
	{
		taxicab->first_x = x;
		taxicab->first_y = y;
	}
	x -= taxicab->first_x;
	y -= taxicab->first_y;
	taxicab->x += x;
	taxicab->y += y;
	taxicab->xx += x * x;
	taxicab->xy += x * y;
	taxicab->yy += y * y;
}

int
hy_taxicab_known(const HyTaxicab *taxicab)
{
	return taxicab->rows >= LEAST;
}

double
hy_taxicab_square(const HyTaxicab *taxicab, double distance, double deviations)
{
	const double n = taxicab->distinct, weight = PRIOR * ASSUMED * ASSUMED;
	double most = distance * distance, square;
	double xx, xy, yy, slope, variance, away;

	if (n == 0 || !(distance > 0) || !isfinite(most))
		return most;
	xx = taxicab->xx - taxicab->x * taxicab->x / n + weight;
	xy = taxicab->xy - taxicab->x * taxicab->y / n;
	yy = taxicab->yy - taxicab->y * taxicab->y / n;
	slope = fmin(xy / xx, STEEPEST);
	/*
	 * Use the variance of y itself, not of its deviation from the fitted line. The rows were read
	 * in the order of e, so they deviate less from the line than other rows do.
	 */
	variance = (yy + weight) / (n + PRIOR);
	away = log(distance) - taxicab->first_x - taxicab->x / n;
	variance *= 1 + 1 / n + away * away / xx;
	square = log(distance) - taxicab->first_y - taxicab->y / n - slope * away +
	         deviations * sqrt(variance);
	square = exp(2 * square);
	return fmin(fmax(square, most / taxicab->dims), most);
}
