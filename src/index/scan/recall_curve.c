/*
 * recall_curve.c
 *		Choose how far to search for a recall, from the calibration curve of the index.
 */
#include "postgres.h"

#include <math.h>

#include "index/scan/lookup.h"

/*
 * Divisor of the number of rows that the curve lets a search miss, if that number per row wanted is more
 * than 1 - recall. The quotient is raised to at least 1 - recall. The curve often allows that many missing
 * rows if rows of the index are easy to find. With the full number, queries of the same difficulty that
 * are unlike the rows would miss their recall. (bench/recall.sh, `packages`, two words at a target of
 * .95: 1.7% of the queries find half or less with 5, and 1.0% with 10 and with 20. WordNet, rows at .9:
 * searches score 13% of the rows with 5, 16% with 10, and 21% with 20.)
 */
#define CAUTION 10

/*
 * Maximum number of missing rows per row wanted, however easy the index's own rows are to find.
 * (bench/recall.sh, 30 clusters of unequal widths, queries between two of them, 10 rows at a target of .9:
 * without this maximum recall is .86 and 9% of the queries find half or less, and with it .94 and .3%.)
 */
#define MOST_MISSING 1.0f

/*
 * While the index has no curve, or an outdated one, 1 - recall is divided by this number. Without the
 * division, searches by inner product for rows of lognormal lengths, in an index that grew from empty,
 * found .86 and .92 for .9 and .95. With an outdated curve, searches found .87 for .95 where rows came
 * closer together after the build.
 *
 * In 16 dimensions or more, the same holds for the first check of a search, in its first four lists, unless the curve
 * was measured on a user's own queries. (12,000 rows of which the last 300 are long and were inserted after the build,
 * random queries by inner product, LIMIT 10 at .95: 2.5% of the queries found half or less, all of them in their
 * first four lists; .5% with the division. Queries like rows of WordNet, of 2,000 clusters by Zipf's law and of 1,000
 * equal clusters score .4%, 1.4% and .1% more rows with it.)
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
hybrid_lookup_limits(const HybridTree *tree, double recall, int probes, HybridLookupLimits *limits)
{
	bool known = tree->curve.size > 0 && !hybrid_curve_outdated(tree);
	HybridCurvePoint point;
	int i;

	limits->other = limits->target = (float) (1 - recall);
	/* the quality of the estimates is not known yet, or no longer */
	if (!known)
		limits->other /= UNMEASURED;
	limits->nearness[0] = tree->curve.nearness[0];
	limits->nearness[1] = tree->curve.nearness[1];
	limits->first =
		tree->curve.size > 0 && tree->curve.by_queries ? INFINITY : limits->target / UNMEASURED;
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
			limits->missing[i] = point.missing[i];
			if (point.missing[i] <= limits->other)
				continue;
			if (!known)
				limits->missing[i] = limits->other;
			/* a curve that was measured on a user's own queries is used unchanged */
			else if (!tree->curve.by_queries)
				limits->missing[i] =
					Max(Min(point.missing[i] / CAUTION, MOST_MISSING), limits->other);
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
