/*
 * recalibrate.h
 *		The recall curve of an index that has grown, or whose owner has queries to measure it by.
 */
#ifndef HYBRID_INDEX_RECALIBRATE_H
#define HYBRID_INDEX_RECALIBRATE_H

#include "index/build/build.h"

/*
 * hybrid_recalibrate_due: whether the index has twice as many leaves as when its curve was measured, or half as
 * many, or has none yet.
 */
extern bool hybrid_recalibrate_due(Relation index, const HybridIndex *open);

/*
 * hybrid_recalibrate: measures the curve again, by searching for queries of a user: `count` detoasted values of the indexed
 * type, of the dimensions of the index, or as many of these as hybrid_calibrate_queries allows, evenly spaced.  With values
 * NULL it searches for rows of the index: for those that were kept, in the frame of the tree, or, where that is NULL or
 * has few, for some that are read from the lists.  The caller keeps others from measuring at the same time.  false:
 * searches read all rows, so that there is nothing to measure, and nothing is written.
 */
extern bool hybrid_recalibrate(Relation index, const HybridIndex *open, const HybridQueries *kept,
                               const void *const *values, int count);

#endif
