/*
 * distance_bound.c
 *		Bounds of the distance to a vector, computed from the distance to its rounded copy.
 *
 * Let x be the vector as given, s the vector as stored, e >= |x - s|, and q the query. Then:
 *
 *		L2			|q - x| >= |q - s| - e						(triangle inequality)
 *		L1			|q - x|_1 >= |q - s|_1 - sqrt(dims) e
 *		ip			<q,x> <= <q,s> + |q| e						(Cauchy-Schwarz)
 *		cosine		the angle between q and x is at least the angle between q and s minus b, the angle between
 *					x and s: cos(q,x) <= cos(q,s) cos b + sin(q,s) sin b where cos(q,s) <= cos b;
 *					sin b <= r = e/|x|, |x| >= |s| - e, as long as r < 1
 *
 * The distances to x and to s are both computed in floating point. The canonical reduction errs by at most
 * 1e-6 of the sum of the magnitudes of the terms. Each bound therefore allows for at least twice this
 * error, and for an absolute error in sums that underflow. If the computed distance is not finite, or if
 * the norms are too small, the lower bound is the smallest possible distance. The same holds if an inner
 * product computed from the original vector may leave the range of fp32, because this product would be
 * minus infinity. (A sum of squares or magnitudes that overflows is above every bound.) Where the bounds
 * leave the order open, a scan orders rows by true distances. A loose bound costs time, but a bound that
 * is too tight makes the result of a query wrong.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "index/page/index.h"
#include "index/page/distance_bound.h"

#define REL 2e-6   /* twice the relative error of a canonical sum */
#define ABS 1e-17  /* absolute error, above the square root of 16,000 underflowed squares */
#define TINY 1e-12 /* minimum length; in fp32 sums, the cosine of a shorter vector is meaningless */

static double turned(double distance, double sine, bool towards);
static double lost_angle(float norm, float residual);

void
hybrid_probe_init(HybridProbe *probe, HyMetric metric, const float *x, int dims)
{
	double sum = 0;
	int i;

	for (i = 0; i < dims; i++)
		sum += (double) x[i] * x[i];
	probe->metric = metric;
	probe->dims = dims;
	probe->x = x;
	probe->norm = sqrt(sum) * (1 + 1e-9);
}

double
hybrid_lower_bound(const HybridProbe *query, double distance, float norm, float residual)
{
	double e = residual, stored, r, lower;

	if (residual == 0)
		return distance;
	if (!isfinite(distance) || !isfinite(norm) || !isfinite(residual) || !isfinite(query->norm))
		return query->metric == HY_METRIC_IP ? -INFINITY : 0;

	switch (query->metric)
	{
		case HY_METRIC_L2:
			lower = distance * (1 - REL) - e;
			return Max(lower * (1 - REL) - ABS, 0);
		case HY_METRIC_L1:
			lower = distance * (1 - REL) - sqrt((double) query->dims) * e;
			return Max(lower * (1 - REL) - ABS, 0);
		case HY_METRIC_IP:
			stored = sqrt((double) norm) * (1 + REL) + ABS;
			/* no partial sum has a greater magnitude than |q| |x| */
			if (query->norm * (stored + e) > FLT_MAX / 2)
				return -INFINITY;
			return distance - query->norm * (e + 2 * REL * (stored + e)) - ABS;
		case HY_METRIC_COSINE:
			r = lost_angle(norm, residual);
			if (query->norm < TINY || r >= 1)
				return 0;
			return Max(turned(distance, r, true), 0);
	}
	elog(ERROR, "unrecognized metric: %d", (int) query->metric);
}

double
hybrid_upper_bound(const HybridProbe *query, double distance, float norm, float residual)
{
	double e = residual, stored, r;

	if (residual == 0)
		return distance;
	if (!isfinite(distance) || !isfinite(norm) || !isfinite(residual) || !isfinite(query->norm))
		return INFINITY;

	switch (query->metric)
	{
		case HY_METRIC_L2:
			return (distance * (1 + REL) + e) * (1 + REL) + ABS;
		case HY_METRIC_L1:
			return (distance * (1 + REL) + sqrt((double) query->dims) * e) * (1 + REL) + ABS;
		case HY_METRIC_IP:
			stored = sqrt((double) norm) * (1 + REL) + ABS;
			if (query->norm * (stored + e) > FLT_MAX / 2)
				return INFINITY;
			return distance + query->norm * (e + 2 * REL * (stored + e)) + ABS;
		case HY_METRIC_COSINE:
			r = lost_angle(norm, residual);
			if (query->norm < TINY || r >= 1)
				return INFINITY;
			return Min(turned(distance, r, false), 2);
	}
	elog(ERROR, "unrecognized metric: %d", (int) query->metric);
}

void
hybrid_loss_cover(HyMetric metric, HybridLoss *loss, float norm, float residual)
{
	if (residual == 0)
		return;
	if (metric != HY_METRIC_COSINE)
	{
		/* except for cosine, each bound is monotonic in both arguments, so the maxima cover all rows */
		loss->norm = Max(loss->norm, norm);
		loss->residual = Max(loss->residual, residual);
	}
	else if (loss->residual == 0 ||
	         hybrid_lost(metric, norm, residual) > hybrid_lost(metric, loss->norm, loss->residual))
	{
		loss->norm = norm;
		loss->residual = residual;
	}
}

double
hybrid_lost(HyMetric metric, float norm, float residual)
{
	/* nothing is known about the distance of such a row */
	if (!isfinite(norm) || !isfinite(residual))
		return INFINITY;
	return metric == HY_METRIC_COSINE ? lost_angle(norm, residual) : residual;
}

/*
 * turned: return the cosine distance of a vector after it is turned by an angle with this sine, towards
 * the query or away from it. To allow for the rounding of the distance, the result is reduced if the
 * vector is turned towards the query, and increased if it is turned away.
 */
static double
turned(double distance, double sine, bool towards)
{
	double error = 4 * REL, cosine = 1 - distance, turn = sqrt(1 - sine * sine);
	/* sine of the angle to the query; large enough even if rounding made the distance too small */
	double side = sqrt(Max((distance + error) * (2 - distance + error), 0));

	if (towards)
		return cosine >= turn ? 0 : 1 - (cosine * turn + Min(side, 1) * sine) - 2 * error;
	return cosine <= -turn ? 2 : 1 - (cosine * turn - Min(side, 1) * sine) + 2 * error;
}

/*
 * lost_angle: return an upper bound of the sine of the angle between a vector and its copy, or 1 if no
 * smaller bound is known.
 */
static double
lost_angle(float norm, float residual)
{
	double length = sqrt((double) norm) * (1 - REL) - residual;

	return length < TINY ? 1 : Min(residual / length, 1);
}
