/*
 * packed.h
 *		Values of varying length: where they are in the stream of a list page, and reading and writing them.
 */
#ifndef HYBRID_INDEX_PACKED_H
#define HYBRID_INDEX_PACKED_H

#include "index/page/new_list.h"

/*
 * hybrid_packed_place: find a slot and a piece on a list page for a value of `length` bytes. The piece takes
 * the space of a dead slot that is large enough, or else begins at the end of the stream. Returns the slot,
 * or -1 if the page is full.
 */
extern int
hybrid_packed_place(const HybridListLayout *shape, Page page, Size length, HybridPiece *piece);

/* hybrid_packed_read: read the value of a slot of a locked list page; see hybrid_vector_read. */
extern void hybrid_packed_read(Relation index, const HybridLayout *layout, Page list_page, int slot,
                               HybridStored *stored, void *value, BufferAccessStrategy strategy);

/*
 * hybrid_packed_put: write to page number `number` of the stream the part of a value that belongs there.
 * `piece` says where the value is in the stream.
 */
extern void hybrid_packed_put(Page page, int number, const HybridPiece *piece, const void *value);

/* hybrid_packed_pages: find the first and the last page of the stream that a piece extends over. */
extern void hybrid_packed_pages(const HybridPiece *piece, int *first, int *last);

/*
 * hybrid_packed_fault: check the pieces of a list page. Returns a description of the first fault, or NULL if
 * there is none. Sets needed[i] to the number of bytes that page number i of the stream must hold.
 */
extern const char *hybrid_packed_fault(const HybridLayout *layout, Page page, Size *needed);

/* hybrid_packed_write_list: make a list, as hybrid_new_list does. The list is always a leaf. */
extern HybridLink hybrid_packed_write_list(const HybridLayout *layout, HybridSink *sink,
                                           const HybridNewEntries *entries);

#endif
