/*
 * tree.h
 *		Find and read the lists of an index.
 */
#ifndef HYBRID_INDEX_TREE_H
#define HYBRID_INDEX_TREE_H

#include "index/page/list_read.h"

/*
 * hybrid_chain_step: count a page of a list, from 0. Raises index_corrupted if a list has more pages
 * than the file, since its chain is then circular.
 */
extern void hybrid_chain_step(Relation index, const HybridLink *list, uint32 *pages);

/*
 * hybrid_list_changes: return the current change counter of a list. Raises snapshot_too_old if a scan
 * with this snapshot, which may be NULL, may miss entries that were removed from the list.
 */
extern uint64 hybrid_list_changes(Relation index, const HybridLayout *layout,
                                  const HybridLink *list, int level, Snapshot snapshot);

/* hybrid_list_lives: test whether this list still exists and was not moved. */
extern bool hybrid_list_lives(Relation index, const HybridLink *list);

/*
 * hybrid_tree_lists: return all lists of a level, in the current memory context. snapshot is as for
 * hybrid_list_changes.
 */
extern HybridLink *
hybrid_tree_lists(Relation index, const HybridIndex *open, const HybridTree *tree, int level,
                  Snapshot snapshot, int *count);

#endif
