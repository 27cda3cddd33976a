/*
 * learn.h
 *		The recall curve of an index that has grown.
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

#endif
