/*
 * outliers.h
 *		The few rows of a store whose copies lost most.
 *
 * One copy that lost nearly all, say of a vector so short that it was rounded to zeroes, would leave no
 * bound worth having for any row.  So the worst few are set aside, to be looked up in the table for
 * every query, and the bound is that of the others.
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
	int count; /* 0: no copy lost anything */
	int least; /* of the rows, once there are as many as can be: which lost least */
	HybridOutlier rows[HYBRID_OUTLIERS];
	HybridLoss others; /* covers all rows that are not among them */
} HybridOutliers;

/* hybrid_outliers_offer: a row of the store; all zeroes is the beginning of outliers. */
extern void hybrid_outliers_offer(HybridOutliers *outliers, HyMetric metric, int64 position,
                                  float norm, float residual);

/* hybrid_is_outlier: whether the row at this position is one of them. */
extern bool hybrid_is_outlier(const HybridOutliers *outliers, int64 position);

#endif
