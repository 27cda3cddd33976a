/*
 * list_read.h
 *		Read the pages of a list, each checked before anything on it is used.
 */
#ifndef HYBRID_INDEX_LIST_READ_H
#define HYBRID_INDEX_LIST_READ_H

#include "index/page/index.h"

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

#endif
