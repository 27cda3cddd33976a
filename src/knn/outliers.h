/*
 * outliers.h
 *		The few rows of a store whose copies lost the most precision.
 *
 * A single copy that lost nearly all precision would make the error bound of all rows useless. For example, a
 * very short vector may be rounded to zeros. So the rows with the largest losses are set aside as outliers.
 * Outliers are looked up in the table for every query, and the error bound covers only the other rows.
 */
#ifndef HYBRID_OUTLIERS_H
#define HYBRID_OUTLIERS_H

#include "postgres.h"

#include "server/store.h"

#define HYBRID_OUTLIERS 32

typedef struct HybridOutlier
{
	int64 position;
	double lost;
	float norm;
	float residual;
} HybridOutlier;

typedef struct HybridOutliers
{
	int count; /* number of outliers; 0 if no copy lost precision */
	int least; /* index in rows of the outlier that lost the least precision */
	HybridOutlier rows[HYBRID_OUTLIERS];
	HybridLoss others; /* error bound of all rows that are not outliers */
} HybridOutliers;

/*
 * hybrid_outliers_offer: record a row of the store, either as an outlier or in `others`. The initial state of
 * outliers is all zeros.
 */
extern void hybrid_outliers_offer(HybridOutliers *outliers, HyMetric metric, int64 position,
                                  float norm, float residual);

/* hybrid_is_outlier: return whether the row at this position is an outlier. */
extern bool hybrid_is_outlier(const HybridOutliers *outliers, int64 position);

#endif
