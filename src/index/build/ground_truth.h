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

/* HybridTruthQueries: the queries whose nearest rows are wanted. */
typedef struct HybridTruthQueries
{
	int count;
	const float *x; /* count vectors with the index's number of dimensions */
	/* for each query, the heap position of a row that is left out of its results; -1 for none */
	const int64 *self;
} HybridTruthQueries;

/*
 * hybrid_ground_truth: find the k nearest rows for each query. The results of query q are at
 * neighbors[q * k], ascending by distance and position, and counts[q] is their number. All lists are
 * searched. Bounds from codes allow for HYBRID_TRUTHS_SURE standard deviations of their errors. The
 * index must have codes. Raises the errors of reading the index and of hybrid_run.
 */
extern void
hybrid_ground_truth(Relation index, const HybridIndex *open, const HybridTruthQueries *queries,
                    int k, HybridGroundTruth *neighbors, int *counts);

#endif
