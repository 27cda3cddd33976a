/*
 * recall_curve.c
 *		Choose how far to search for a recall, from the calibration curve of the index.
 */
#include "postgres.h"

#include <math.h>

#include "index/scan/lookup.h"

/*
 * Beyond this many times 1 - recall, the curve counts only for a search that found no more than 1 - recall of its
 * rows in the last half of the rows scored. The curve often allows more missing rows, where estimates for queries
 * like the rows are too high. Queries of the same difficulty that are unlike the rows would then miss their recall,
 * but they still find rows in this half. (Cases of bench/recall.sh with 12,000 rows and 250 queries, LIMIT 10:
 * searches score 52.7% of the rows, and 55.4% if the curve never counts further. Between integer points, at .99, they
 * score 20% and 62%, with a recall of .995 and 1.0. No target is missed. Without this condition, 2.5% of the queries
 * of two words in `packages` find half or less at a target of .95. With it, .4% do, as many as with the maximum.)
 */
#define TRUSTED 4

/*
 * Where the curve says nothing, 1 - recall is divided by this number: while the index has no curve, or an outdated
 * one, for a query of unknown difficulty, and for one outside the range of nearness. (40,000 rows of lognormal
 * lengths in an index that grew from empty, by inner product: queries like the rows reach .89, .92 and .96 for .9,
 * .95 and .99 without the division, and .92, .95 and .97 with it. Weights of a few words, by inner product, queries
 * for one rare word: .83 at .9 without it, and .93 with it. With an outdated curve, searches found .87 for .95 where
 * rows came closer together after the build.)
 *
 * In fewer than HYBRID_CLEAR dimensions, the lists that have near rows are known with more certainty. A search there
 * aims at a higher recall, which costs little: 1 - recall is multiplied by dims / HYBRID_CLEAR. (10,000 random rows of
 * halfvec in 10 dimensions, LIMIT 20 at .99, 400 queries that are unlike the rows, four metrics: recall .972 to .986
 * without this, and .987 to .995 with it, for 1.2 to 1.3 times the rows. The square of the factor costs 1.15 to 1.45
 * times the rows in 3 dimensions, where recall is .99 or more without it.)
 *
 * There, an index without a curve, or with an outdated one, does not divide by UNMEASURED. (10,000 rows inserted into
 * an empty index in 2, 3, 6 and 10 dimensions, seven kinds of queries, two seeds, LIMIT 10: searches score 20.2% of the
 * rows with the division and 16.3% without it. Recall is at least .97 for .9, .987 for .95 and .995 for .99.)
 *
 * In HYBRID_CLEAR dimensions or more, the same holds for the first check of a search, in its first four lists, unless
 * the curve was measured on a user's own queries. (12,000 rows of which the last 300 are long and were inserted after
 * the build, random queries by inner product, LIMIT 10 at .95: 2.5% of the queries found half or less, all of them in
 * their first four lists; .5% with the division.)
 */
#define UNMEASURED 4

static HybridCurvePoint between(const HybridCurvePoint *points, int count, double recall);

/*
 * hybrid_lookup_eps: see lookup.h. With 1.9 standard deviations 1 row in 100 is lost, with 3 one in
 * thousands. Each additional deviation makes the search read more vectors that are not among the nearest.
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
 * between: return the point of the curve at a recall, interpolated. Below the first point, the result is
 * the first point. Beyond the last point, the number of missing rows decreases in proportion to 1 -
 * recall.
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
