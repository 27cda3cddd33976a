/*
 * recalibrate.h
 *		Measures the recall curve of an existing index again, on its rows or on the owner's
 *		queries.
 */
#ifndef HYBRID_INDEX_RECALIBRATE_H
#define HYBRID_INDEX_RECALIBRATE_H

#include "index/build/build.h"

/*
 * hybrid_recalibrate_due: test whether the curve must be measured: the index has no curve, or its number
 * of leaves has at least doubled or halved since the curve was measured.
 */
extern bool hybrid_recalibrate_due(Relation index, const HybridIndex *open);

/*
 * hybrid_recalibrate: measure the curve again and write it to the meta page. With `values`, the curve is
 * measured on a user's queries: `count` detoasted values of the indexed type, with the index's
 * dimensions. If hybrid_calibrate_queries allows fewer, evenly spaced values are used. If `values` is
 * NULL, the curve is measured on rows of the index. These are the rows in `kept`, in the frame of the
 * tree. If `kept` is NULL or has too few rows, rows are read from the lists. The caller ensures that no
 * other session measures at the same time. Returns false, with nothing written, if searches read all rows
 * in any case, so that there is nothing to measure.
 */
extern bool hybrid_recalibrate(Relation index, const HybridIndex *open, const HybridQueries *kept,
                               const void *const *values, int count);

#endif
