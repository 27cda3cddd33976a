/*
 * ground_truth.h
 *		Finds the nearest rows to many queries, using the codes of all lists.
 */
#ifndef HYBRID_INDEX_GROUND_TRUTH_H
#define HYBRID_INDEX_GROUND_TRUTH_H

#include "index/page/index.h"

/* HybridGroundTruth: one of the nearest rows of a query. */
typedef struct HybridGroundTruth
{
	int64 position; /* heap position of the row: server/position.h */
	double distance;
} HybridGroundTruth;

/*
 * hybrid_ground_truth: find the k nearest rows for each of `queries` vectors at x. Each vector has the
 * index's number of dimensions. The row at position self[q] is excluded for query q. The results of query
 * q are at truths[q * k], ascending by distance and position, and counts[q] is their number. All lists
 * are searched, with HYBRID_TRUTHS_SURE deviations allowed for the estimates from codes. The index must
 * have codes. Raises the errors of reading the index and of hybrid_run.
 */
extern void
hybrid_ground_truth(Relation index, const HybridIndex *open, const float *x, const int64 *self,
                    int queries, int k, HybridGroundTruth *truths, int *counts);

#endif
