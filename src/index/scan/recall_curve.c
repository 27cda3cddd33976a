/*
 * recall_curve.c
 *		How far to go for a recall, by what the index has measured.
 */
#include "postgres.h"

#include <math.h>

#include "index/scan/lookup.h"

/*
 * Where the index's own rows could miss more than was asked, which they mostly can where they are easy to find, so much less
 * is allowed: queries that are as difficult but unlike them may not.  (bench/recall.sh, rows of `packages` as queries at a
 * target of .9: searches score 4% of the rows with 24, and 24% without any of it; `heavy_tails` lost its target by 24.)
 */
#define CAUTION 50

static HybridCurvePoint between(const HybridCurvePoint *points, int count, double recall);

/*
 * hybrid_lookup_eps: by 1.9 deviations 1 of 100 rows is lost, by 3 one of thousands; each costs vectors
 * that are read in vain.
 */
float
hybrid_lookup_eps(double recall)
{
	if (recall >= 0.998)
		return 4;
	return recall <= 0.95 ? 1.9f : (float) (1.9 + Min((recall - 0.95) / 0.04, 1) * 1.1);
}

void
hybrid_lookup_limits(const HybridTree *tree, double recall, int probes, HybridLookupLimits *limits)
{
	HybridCurvePoint point;
	int i;

	limits->other = (float) (1 - recall);
	for (i = 0; i < HYBRID_DIFFICULTIES; i++)
		limits->missing[i] = -1;
	if (tree->curve_size > 0)
	{
		point = between(tree->curve, tree->curve_size, recall);
		/* what was measured on a user's own queries holds for them as it is */
		for (i = 0; i < HYBRID_DIFFICULTIES; i++)
			limits->missing[i] = point.missing[i] > limits->other && !tree->curve_by_queries
			                         ? Max(point.missing[i] / CAUTION, limits->other)
			                         : point.missing[i];
	}
	limits->eps = hybrid_lookup_eps(recall);
	limits->probes = probes;
}

double
hybrid_curve_rows(const HybridTree *tree, double recall)
{
	Assert(tree->curve_size > 0);
	return between(tree->curve, tree->curve_size, recall).rows;
}

/* between: the point of a recall; what is below the first one is as that, and beyond the last so much less may be missing. */
static HybridCurvePoint
between(const HybridCurvePoint *points, int count, double recall)
{
	HybridCurvePoint point = points[count - 1];
	double share;
	int at = 1, i;

	if (recall <= points[0].recall)
		return points[0];
	while (at < count && points[at].recall < recall)
		at++;
	if (at == count)
	{
		for (i = 0; i < HYBRID_DIFFICULTIES; i++)
			point.missing[i] *= (float) ((1 - recall) / (1 - point.recall));
		return point;
	}
	share = (recall - points[at - 1].recall) / (points[at].recall - points[at - 1].recall);
	point.recall = (float) recall;
	point.rows = (float) (points[at - 1].rows + share * (points[at].rows - points[at - 1].rows));
	for (i = 0; i < HYBRID_DIFFICULTIES; i++)
	{
		float less = points[at].missing[i], more = points[at - 1].missing[i];

		point.missing[i] =
			less > 0 && more > 0 ? (float) (more * pow(less / more, share)) : Min(less, more);
	}
	return point;
}
