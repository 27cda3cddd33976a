/*
 * split.h
 *		A list that has grown too long becomes two; lists that are copied otherwise.
 */
#ifndef HYBRID_INDEX_SPLIT_H
#define HYBRID_INDEX_SPLIT_H

#include "index/write/copy.h"

/*
 * hybrid_split: splits a list of this level if it is too long and nobody else is at it; and then the
 * list above, if that has become too long by it.  hint: the list above as far as it is known.
 */
extern void
hybrid_split(Relation index, const HybridIndex *open, HybridLink list, HybridLink hint, int level);

/*
 * hybrid_copy_lists: `into` copies take the place of one or two lists of a level.  The caller holds
 * their locks exclusively, and the meta page's.  *above, *due: as hybrid_link_parts has them; made:
 * the copies.  false: nothing happened, because a list was moved, or two are not in the same list above any more.
 */
extern bool
hybrid_copy_lists(Relation index, const HybridIndex *open, const HybridLink *lists, int count,
                  int level, int into, HybridLink *above, bool *due, HybridLink *made);

/*
 * hybrid_copies_replace: one or two copies that are yet to be written take the place of lists, as above;
 * frame: with the centre, which is a new one unless it is NULL.
 */
extern bool hybrid_copies_replace(Relation index, const HybridIndex *open, HybridFrame *frame,
                                  const HybridLink *lists, int count, int level, HybridCopy *copies,
                                  int into, const float *centre, HybridLink *above, bool *due);

/*
 * hybrid_shrink_root: the tree loses a level if the root names one list only; returns whether it does.
 * The caller holds the meta page's lock, shared.
 */
extern bool hybrid_shrink_root(Relation index, const HybridIndex *open);

#endif
