/*
 * tree.h
 *		Find and read the lists of an index.
 */
#ifndef HYBRID_INDEX_TREE_H
#define HYBRID_INDEX_TREE_H

#include "index/page/list_read.h"

/*
 * hybrid_chain_step: count one more page of a list in *pages, which begins at 0. Raises index_corrupted if
 * the list has more pages than the file, because its chain is then circular. Checks for interrupts.
 */
extern void hybrid_chain_step(Relation index, const HybridLink *list, uint32 *pages);

/*
 * hybrid_list_changes: return the current change counter of a list. `snapshot` is that of a scan, or NULL.
 * If entries that the scan needs may have been removed from the list, the function raises
 * snapshot_too_old.
 */
extern uint64 hybrid_list_changes(Relation index, const HybridLayout *layout,
                                  const HybridLink *list, int level, Snapshot snapshot);

/* hybrid_list_lives: test whether this list still exists and was not moved. */
extern bool hybrid_list_lives(Relation index, const HybridLink *list);

/*
 * hybrid_tree_lists: return all lists of a level, in the current memory context. `snapshot` is as for
 * hybrid_list_changes.
 */
extern HybridLink *
hybrid_tree_lists(Relation index, const HybridIndex *open, const HybridTree *tree, int level,
                  Snapshot snapshot, int *count);

/*
 * hybrid_tree_leaves: return the leaf lists that may have rows whose words satisfy the conditions, in the current
 * memory context. `snapshot` is as for hybrid_list_changes.
 */
extern HybridLink *
hybrid_tree_leaves(Relation index, const HybridIndex *open, const HybridTree *tree,
                   Snapshot snapshot, const HyWordCondition *conditions, int conditions_count,
                   int *count);

/* hybrid_bounds_may_have: test whether any word within a list's bounds may satisfy the conditions on the first key. */
extern bool
hybrid_bounds_may_have(const HybridBounds *bounds, const HyWordCondition *conditions, int count);

#endif
