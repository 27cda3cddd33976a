/*
 * list_read.h
 *		Read the pages of a list. Each page is checked before anything on it is used.
 */
#ifndef HYBRID_INDEX_LIST_READ_H
#define HYBRID_INDEX_LIST_READ_H

#include "index/page/index.h"

/*
 * hybrid_list_read: read LIST page `block` of a list and check it. Returns the page share-locked; the
 * caller unlocks it. Raises index_corrupted if the page does not belong to this list. On a standby it
 * raises a serialization failure instead, because replay may replace the list while a scan reads it.
 */
extern Buffer hybrid_list_read(Relation index, const HybridLayout *layout, const HybridLink *list,
                               int level, BlockNumber block, BufferAccessStrategy strategy);

/*
 * hybrid_part_read: read a page of the given kind that belongs to a list. Checks, locks and raises errors
 * like hybrid_list_read.
 */
extern Buffer hybrid_part_read(Relation index, const HybridLink *list, HybridPageKind kind,
                               BlockNumber block, BufferAccessStrategy strategy);

/*
 * hybrid_vector_read: copy the stored vector of a slot to `vector` (`stride` bytes of its list's layout at most). The
 * caller holds a lock on the slot's page.
 */
extern void hybrid_vector_read(Relation index, const HybridLayout *layout, HybridSlot slot,
                               HybridStored *stored, void *vector, BufferAccessStrategy strategy);

#endif
