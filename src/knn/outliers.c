/*
 * outliers.c
 *		The few rows of a store whose copies lost the most precision: see outliers.h.
 */
#include "postgres.h"

#include "knn/outliers.h"

static int find_least(const HybridOutliers *outliers);

void
hybrid_outliers_offer(HybridOutliers *outliers, HyMetric metric, int64 position, float norm,
                      float residual)
{
	HybridOutlier row = {.position = position, .norm = norm, .residual = residual};

	if (residual == 0)
		return;
	row.lost = hybrid_stores()->lost(metric, norm, residual);
	if (outliers->count < HYBRID_OUTLIERS)
	{
		outliers->rows[outliers->count++] = row;
		outliers->least = find_least(outliers);
		return;
	}
	if (row.lost > outliers->rows[outliers->least].lost)
	{
		HybridOutlier before = outliers->rows[outliers->least];

		outliers->rows[outliers->least] = row;
		outliers->least = find_least(outliers);
		row = before;
	}
	hybrid_stores()->cover(metric, &outliers->others, row.norm, row.residual);
}

bool
hybrid_is_outlier(const HybridOutliers *outliers, int64 position)
{
	int i;

	for (i = 0; i < outliers->count; i++)
	{
		if (outliers->rows[i].position == position)
			return true;
	}
	return false;
}

static int
find_least(const HybridOutliers *outliers)
{
	int least = 0;
	int i;

	for (i = 1; i < outliers->count; i++)
	{
		if (outliers->rows[i].lost < outliers->rows[least].lost)
			least = i;
	}
	return least;
}
