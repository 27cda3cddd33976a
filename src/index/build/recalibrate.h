/*
 * recalibrate.h
 *		Measures the recall curve of an existing index again, on its rows or on the owner's
 *		queries.
 */
#ifndef HYBRID_INDEX_RECALIBRATE_H
#define HYBRID_INDEX_RECALIBRATE_H

#include "index/build/build.h"

/*
 * hybrid_recalibrate_due: test whether the curve must be measured. This is so if the index has none, or
 * if its number of leaves has at least doubled or halved since the curve was measured. An index with a
 * single list, or of a kind without a curve (hybrid_has_curve), is never due.
 */
extern bool hybrid_recalibrate_due(Relation index, const HybridIndex *open);

/*
 * hybrid_recalibrate: measure the curve again and write it to the meta page. With `values`, the queries
 * are a user's: `count` detoasted values of the indexed type, with the index's dimensions. If
 * hybrid_calibrate_queries allows fewer, evenly spaced values are used. If `values` is NULL, the
 * queries are rows of the index: the rows in `kept`, from which the tree's center was subtracted. If
 * `kept` is NULL or has too few rows, rows are read from the lists. The caller ensures that no other
 * session measures at the same time. Returns false and writes nothing if there is no curve to measure:
 * the index is of a kind without a curve (hybrid_has_curve), it has a single list, or no query has a
 * neighbor.
 */
extern bool hybrid_recalibrate(Relation index, const HybridIndex *open, const HybridQueries *kept,
                               const void *const *values, int count);

#endif
