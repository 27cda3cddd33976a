/*
 * ground_truth.h
 *		The nearest rows to many queries, by codes of all lists at once.
 */
#ifndef HYBRID_INDEX_GROUND_TRUTH_H
#define HYBRID_INDEX_GROUND_TRUTH_H

#include "index/page/index.h"

/* HybridGroundTruth: one of the nearest rows. */
typedef struct HybridGroundTruth
{
	int64 position; /* server/position.h */
	double distance;
} HybridGroundTruth;

/*
 * hybrid_ground_truth: for each of `queries` vectors at x, of the index's dims each, its k nearest rows, itself
 * not counted, the row of the index at position self[q]: truths[q * k ...], ascending by distance and
 * position; counts[q] is how many there are.  Searches in all lists, with SURE deviations allowed to
 * the codes; of an index with codes and a tree.  Raises what reading the index does, and what
 * hybrid_run does.
 */
extern void
hybrid_ground_truth(Relation index, const HybridIndex *open, const float *x, const int64 *self,
                    int queries, int k, HybridGroundTruth *truths, int *counts);

#endif
