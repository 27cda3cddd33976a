/*
 * curve.c
 *		How far to go for a recall, by what the index has measured.
 */
#include "postgres.h"

#include <math.h>

#include "index/frontier.h"
#include "index/lookup.h"

#define CLIFF 0.04f /* of recall between two points: nothing is known of what lies between them */
#define MOST 0.75f  /* of the rows that finding all takes: where there is little to be saved */

static HybridCurvePoint
between(const HybridCurvePoint *points, int count, double recall, float cliff);

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
hybrid_lookup_limits(const HybridTree *tree, HyMetric metric, double recall, int probes,
                     HybridLookupLimits *limits)
{
	/* for an index that was never measured: on the safe side for 768 dimensions of text */
	static const HybridCurvePoint distances[] = {
		{0, 0.5f, 0},  {0.5f, 0.8f, 0},  {1, 0.9f, 0},   {1.5f, 0.95f, 0},
		{2, 0.98f, 0}, {2.4f, 0.99f, 0}, {3, 0.998f, 0}, {5, 1, 0}};
	static const HybridCurvePoint products[] = {
		{-0.5f, 0.5f, 0}, {0, 0.8f, 0},     {0.3f, 0.9f, 0},   {0.45f, 0.95f, 0},
		{0.6f, 0.98f, 0}, {0.7f, 0.99f, 0}, {0.9f, 0.998f, 0}, {2, 1, 0}};
	const HybridCurvePoint *unmeasured = metric == HY_METRIC_IP ? products : distances;

	StaticAssertStmt(lengthof(distances) == lengthof(products), "they are as long");
	limits->threshold =
		tree->curve_size > 1
			? between(tree->curve, tree->curve_size, recall, CLIFF).threshold
			: hybrid_frontier_threshold(
				  metric, between(unmeasured, (int) lengthof(distances), recall, 1).threshold,
				  tree->leaves);
	limits->eps = hybrid_lookup_eps(recall);
	limits->probes = probes;
}

double
hybrid_curve_rows(const HybridTree *tree, double recall)
{
	Assert(tree->curve_size > 0);
	return tree->curve_size > 1 ? between(tree->curve, tree->curve_size, recall, CLIFF).rows
	                            : tree->curve[0].rows;
}

/*
 * between: the point of a recall between those measured, two at least.  Where all lists promise about the same, as
 * among rows without any structure, searches look into few of them or all: what lies between two such
 * points is not on the line through them.
 */
static HybridCurvePoint
between(const HybridCurvePoint *points, int count, double recall, float cliff)
{
	HybridCurvePoint point;
	float share;
	int i = 1;

	while (i < count - 1 && points[i].recall < recall)
		i++;
	/* nothing was measured below the first point, and nothing is known of it */
	share = (float) ((recall - points[i - 1].recall) / (points[i].recall - points[i - 1].recall));
	share = Max(share, 0);
	/* lists that are always looked into have no threshold */
	if (share >= 1 || !isfinite(points[i - 1].threshold))
		return points[i];
	/* the edge is not safe, either: what a search finds there is a matter of little */
	if (share > 0 && (points[i].recall - points[i - 1].recall > cliff ||
	                  points[i - 1].rows > MOST * points[count - 1].rows))
		return points[Min(i + 1, count - 1)];
	if (share > 0 && i > 1 && points[i - 1].recall - points[i - 2].recall > cliff)
		return points[i];
	point.recall = (float) recall;
	point.threshold =
		points[i - 1].threshold + share * (points[i].threshold - points[i - 1].threshold);
	point.rows = points[i - 1].rows + share * (points[i].rows - points[i - 1].rows);
	return point;
}
