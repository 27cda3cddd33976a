/*
 * packed.h
 *		Values of varying length: where they are in the stream of a list page, and how to read them.
 */
#ifndef HYBRID_INDEX_PACKED_H
#define HYBRID_INDEX_PACKED_H

#include "index/page/new_list.h"

/*
 * hybrid_packed_place: find a slot and a piece for a value of this many bytes on a list page. The piece
 * takes the space of a dead slot, if that is large enough, or else begins at the end of the stream.
 * Returns the slot, or -1 if the page is full.
 */
extern int
hybrid_packed_place(const HybridListLayout *shape, Page page, Size length, HybridPiece *piece);

/* hybrid_packed_read: read the value of a slot of a locked list page; see hybrid_vector_read. */
extern void hybrid_packed_read(Relation index, const HybridLayout *layout, Page list_page, int slot,
                               HybridStored *stored, void *value, BufferAccessStrategy strategy);

/*
 * hybrid_packed_put: write to one page of the stream, page number `number`, the part of the value at
 * `piece` that belongs there.
 */
extern void hybrid_packed_put(Page page, int number, const HybridPiece *piece, const void *value);

/* hybrid_packed_pages: find the first and the last page of the stream that a piece extends over. */
extern void hybrid_packed_pages(const HybridPiece *piece, int *first, int *last);

/*
 * hybrid_packed_fault: check the pieces of a list page. Returns a description of the fault, or NULL. Sets
 * needed[i] to the number of bytes that page number i of the stream must hold.
 */
extern const char *hybrid_packed_fault(const HybridLayout *layout, Page page, Size *needed);

/* hybrid_packed_write_list: make a list, as hybrid_new_list does. The list is always a leaf. */
extern HybridLink hybrid_packed_write_list(const HybridLayout *layout, HybridSink *sink,
                                           const HybridNewEntries *entries);

#endif
