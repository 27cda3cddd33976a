/*
 * list_read.h
 *		Read the pages of a list. Each page is checked before anything on it is used.
 */
#ifndef HYBRID_INDEX_LIST_READ_H
#define HYBRID_INDEX_LIST_READ_H

#include "index/page/index.h"

/*
 * hybrid_list_read: read LIST page `block` of a list and check it. Returns the page locked in share mode;
 * the caller unlocks it. Raises index_corrupted if the page is damaged or does not belong to this list. On
 * a standby, a page that does not belong to the list raises a serialization failure instead, because
 * replay may replace the list while a scan reads it.
 */
extern Buffer hybrid_list_read(Relation index, const HybridLayout *layout, const HybridLink *list,
                               int level, BlockNumber block, BufferAccessStrategy strategy);

/*
 * hybrid_part_read: read a page of another kind that belongs to a list. Locks the page as hybrid_list_read
 * does, and raises the same errors if the page is not of this kind or does not belong to the list.
 */
extern Buffer hybrid_part_read(Relation index, const HybridLink *list, HybridPageKind kind,
                               BlockNumber block, BufferAccessStrategy strategy);

/*
 * hybrid_vector_read: copy the stored vector of a slot to `vector`, which has space for the `stride` bytes of the
 * list's layout. The caller has locked the slot's page.
 */
extern void hybrid_vector_read(Relation index, const HybridLayout *layout, HybridSlot slot,
                               HybridStored *stored, void *vector, BufferAccessStrategy strategy);

#endif
