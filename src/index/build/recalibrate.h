/*
 * recalibrate.h
 *		Measures the recall curve of an existing index again, on its rows or on the owner's
 *		queries.
 */
#ifndef HYBRID_INDEX_RECALIBRATE_H
#define HYBRID_INDEX_RECALIBRATE_H

#include "index/build/build.h"

/*
 * hybrid_recalibrate_due: return whether the index has no curve, or has at least twice or at most
 * half as many leaves as when its curve was measured.
 */
extern bool hybrid_recalibrate_due(Relation index, const HybridIndex *open);

/*
 * hybrid_recalibrate: measure the curve again and write it. With `values`, it is measured on a
 * user's queries. These are `count` detoasted values of the indexed type, with the index's
 * dimensions. If hybrid_calibrate_queries allows fewer, evenly spaced ones are used. With values
 * NULL, it is measured on rows of the index: on the rows in `kept`, in the frame of the tree, or on
 * rows read from the lists if `kept` is NULL or has too few. The caller ensures that no other
 * session measures at the same time. Returns false, with nothing written, if searches read all rows
 * anyway, so that there is nothing to measure.
 */
extern bool hybrid_recalibrate(Relation index, const HybridIndex *open, const HybridQueries *kept,
                               const void *const *values, int count);

#endif
