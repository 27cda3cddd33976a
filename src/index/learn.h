/*
 * learn.h
 *		The recall curve of an index that has grown, or whose owner has queries to measure it by.
 */
#ifndef HYBRID_INDEX_LEARN_H
#define HYBRID_INDEX_LEARN_H

#include "index/build.h"

/*
 * hybrid_learn_due: whether the index has twice as many leaves as when its curve was measured, or half as
 * many, or has none yet.
 */
extern bool hybrid_learn_due(Relation index, const HybridIndex *open);

/*
 * hybrid_learn: measures the curve again, by searching for some of the index's own rows.  rows: that it
 * has.  queries: which, as they are in the frame of the tree; none: some are taken from the lists.
 */
extern void
hybrid_learn(Relation index, const HybridIndex *open, double rows, const HybridQueries *queries);

/*
 * hybrid_learn_queries: measure the curve on queries of a user, which need not be rows: `count` detoasted values of the
 * indexed type, of the dimensions of the index, or as many of these as hybrid_measure_queries allows, evenly spaced.
 * The caller keeps VACUUM and others from measuring at the same time.  false: searches read all rows, so that there is
 * nothing to measure, and nothing is written.
 */
extern bool
hybrid_learn_queries(Relation index, const HybridIndex *open, const void *const *values, int count);

#endif
