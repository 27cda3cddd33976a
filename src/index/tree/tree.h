/*
 * tree.h
 *		The lists of an index: how one is found, opened and read.
 */
#ifndef HYBRID_INDEX_TREE_H
#define HYBRID_INDEX_TREE_H

#include "index/page/list_read.h"

/*
 * hybrid_chain_step: counts the pages of a list, from 0, one after the other: raises index_corrupted
 * when they are more than the file has, since then they have no end.
 */
extern void hybrid_chain_step(Relation index, const HybridLink *list, uint32 *pages);

/*
 * hybrid_list_changes: the change counter of a list as it is now.  Raises snapshot_too_old where a scan
 * with this snapshot, unless NULL, may miss what the list has lost.
 */
extern uint64 hybrid_list_changes(Relation index, const HybridLayout *layout,
                                  const HybridLink *list, int level, Snapshot snapshot);

/* hybrid_list_lives: whether this list, which may be none any more, was not moved. */
extern bool hybrid_list_lives(Relation index, const HybridLink *list);

/*
 * hybrid_tree_lists: all lists of a level, in the current memory context; for a scan with this snapshot, or
 * NULL, as hybrid_list_changes.
 */
extern HybridLink *
hybrid_tree_lists(Relation index, const HybridIndex *open, const HybridTree *tree, int level,
                  Snapshot snapshot, int *count);

#endif
