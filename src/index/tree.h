/*
 * tree.h
 *		The lists of an index: how one is found, opened and read.
 */
#ifndef HYBRID_INDEX_TREE_H
#define HYBRID_INDEX_TREE_H

#include "index/index.h"

/*
 * hybrid_list_read: page `block` of a list, share-locked and checked; the caller unlocks it.  Raises
 * where the page is not of this list: index_corrupted, or on a standby, where what a scan needs may
 * be replaced under it, a serialization failure.
 */
extern Buffer hybrid_list_read(Relation index, const HybridLayout *layout, const HybridLink *list,
                               int level, BlockNumber block, BufferAccessStrategy strategy);

/* hybrid_part_read: another page of a list, of this kind, share-locked and checked the same way. */
extern Buffer hybrid_part_read(Relation index, const HybridLink *list, HybridPageKind kind,
                               BlockNumber block, BufferAccessStrategy strategy);

/*
 * hybrid_vector_read: the vector of slot `slot` of a locked list page: its stored form copied to
 * vector (layout.stride bytes at most).
 */
extern void
hybrid_vector_read(Relation index, const HybridLayout *layout, Page list_page, int level, int slot,
                   HybridStored *stored, void *vector, BufferAccessStrategy strategy);

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
