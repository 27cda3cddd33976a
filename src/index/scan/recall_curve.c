/*
 * recall_curve.c
 *		Choose how far to search for a recall, from the calibration curve of the index.
 */
#include "postgres.h"

#include <math.h>

#include "index/scan/lookup.h"

/*
 * The curve may allow a search to expect more than TRUSTED * (1 - recall) missing rows, because the estimates for
 * queries that are like the rows are often too high. Queries of the same difficulty that are unlike the rows would then
 * fall short of the target. But such a search still finds rows in the last half of the rows that it scores. So the
 * curve is trusted beyond TRUSTED * (1 - recall) only if a search has found at most 1 - recall of its rows there.
 * (Cases of bench/recall.sh with 12,000 rows and 250 queries, LIMIT 10: searches score 52.7% of the rows, and 55.4% if
 * the curve is never trusted further. Between integer points, at .99, they score 20% and 62%, with a recall of .995 and
 * 1.0. No target is missed. If the curve is always trusted, 2.5% of the queries of two words in `packages` find half or
 * less at a target of .95. With this rule, .4% do, as many as if the curve is never trusted further.)
 */
#define TRUSTED 4

/*
 * Where the curve says nothing, a search may miss only (1 - recall) / UNMEASURED of its rows. This applies while the
 * index has no curve or an outdated one, to a query of unknown difficulty, and to a query outside the curve's range of
 * nearness. (40,000 rows of lognormal lengths in an index that grew from empty, by inner product: queries like the rows
 * reach .89, .92 and .96 for .9, .95 and .99 without the division, and .92, .95 and .97 with it. Weights of a few
 * words, by inner product, queries for one rare word: .83 at .9 without it, and .93 with it. With an outdated curve,
 * searches found .87 for .95 where rows came closer together after the build.)
 *
 * In fewer than HYBRID_CLEAR dimensions, it is more certain which lists have near rows. A search there aims at a higher
 * recall, which costs little: 1 - recall is multiplied by dims / HYBRID_CLEAR. (10,000 random rows of halfvec in 10
 * dimensions, LIMIT 20 at .99, 400 queries that are unlike the rows, four metrics: recall is .972 to .986 without the
 * factor, and .987 to .995 with it, and searches score 1.2 to 1.3 times as many rows. With the square of the factor
 * they score 1.15 to 1.45 times as many in 3 dimensions, where recall is .99 or more without it.)
 *
 * In these dimensions, searches in an index without a curve, or with an outdated one, do not divide by UNMEASURED.
 * (10,000 rows inserted into an empty index in 2, 3, 6 and 10 dimensions, seven kinds of queries, two seeds, LIMIT 10:
 * searches score 20.2% of the rows with the division and 16.3% without it. Recall is at least .97 for .9, .987 for .95
 * and .995 for .99.)
 *
 * In HYBRID_CLEAR dimensions or more, the division also applies to the first check of each search, after its first four
 * lists, unless the curve was measured on a user's own queries. (12,000 rows of which the last 300 are long and were
 * inserted after the build, random queries by inner product, LIMIT 10 at .95: 2.5% of the queries found half or less
 * without the division, all of them in their first four lists, and .5% with it.)
 */
#define UNMEASURED 4

static HybridCurvePoint between(const HybridCurvePoint *points, int count, double recall);

/*
 * hybrid_lookup_eps: see lookup.h. With 1.9 standard deviations, one row in 100 is lost; with 3, one in
 * thousands. The more deviations are allowed, the more vectors are read that are not among the nearest.
 */
float
hybrid_lookup_eps(double recall)
{
	if (recall >= 0.998)
		return 4;
	return recall <= 0.95 ? 1.9f : (float) (1.9 + Min((recall - 0.95) / 0.04, 1) * 1.1);
}

void
hybrid_lookup_limits(const HybridTree *tree, int dims, double recall, int probes,
                     HybridLookupLimits *limits)
{
	bool known = tree->curve.size > 0 && !hybrid_curve_outdated(tree);
	bool by_queries = known && tree->curve.by_queries;
	HybridCurvePoint point;
	int i;

	if (dims < HYBRID_CLEAR)
		recall = 1 - (1 - recall) * dims / HYBRID_CLEAR;
	limits->target = (float) (1 - recall);
	limits->other = known || dims >= HYBRID_CLEAR ? limits->target / UNMEASURED : limits->target;
	limits->nearness[0] = tree->curve.nearness[0];
	limits->nearness[1] = tree->curve.nearness[1];
	/* a curve that was measured on a user's own queries is trusted */
	limits->first = by_queries ? INFINITY : limits->other;
	limits->lately = by_queries ? INFINITY : limits->target;
	limits->trusted = by_queries ? INFINITY : TRUSTED * limits->target;
	limits->known = known;
	limits->outliers = tree->curve.outliers;
	limits->outlier_reach = tree->curve.outlier_reach;
	for (i = 0; i < HYBRID_DIFFICULTIES; i++)
		limits->missing[i] = -1;
	if (tree->curve.size > 0)
	{
		point = between(tree->curve.points, (int) tree->curve.size, recall);
		for (i = 0; i < HYBRID_DIFFICULTIES; i++)
		{
			limits->missing[i] = known ? point.missing[i] : Min(point.missing[i], limits->other);
		}
	}
	limits->eps = hybrid_lookup_eps(recall);
	limits->probes = probes;
}

bool
hybrid_curve_outdated(const HybridTree *tree)
{
	return tree->leaves >= (uint64) tree->curve.leaves * 2 ||
	       (uint64) tree->leaves * 2 <= tree->curve.leaves;
}

double
hybrid_curve_rows(const HybridTree *tree, double recall)
{
	Assert(tree->curve.size > 0);
	return between(tree->curve.points, (int) tree->curve.size, recall).rows;
}

/*
 * between: return the point of the curve at a recall, interpolated between two points. Below the first
 * point, return the first point. Beyond the last point, the number of missing rows decreases in
 * proportion to 1 - recall.
 */
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
