/*
 * packed.h
 *		Values of varying length: where they go in the stream of a list page, and how they are read.
 */
#ifndef HYBRID_INDEX_PACKED_H
#define HYBRID_INDEX_PACKED_H

#include "index/page/new_list.h"

/*
 * hybrid_packed_place: a slot of a list page for a value of so many bytes, and its piece: a dead
 * slot whose room is large enough, or the end of the stream.  -1: the page is full.
 */
extern int
hybrid_packed_place(const HybridListLayout *shape, Page page, Size length, HybridPiece *piece);

/* hybrid_packed_read: the value of slot `slot` of a locked list page: see hybrid_vector_read. */
extern void hybrid_packed_read(Relation index, const HybridLayout *layout, Page list_page, int slot,
                               HybridStored *stored, void *value, BufferAccessStrategy strategy);

/*
 * hybrid_packed_put: the part of the value at `piece` that lies on page number `number` of the stream
 * gets onto that page.
 */
extern void hybrid_packed_put(Page page, int number, const HybridPiece *piece, const void *value);

/* hybrid_packed_pages: the first and the last page of the stream that a piece lies on. */
extern void hybrid_packed_pages(const HybridPiece *piece, int *first, int *last);

/*
 * hybrid_packed_fault: what is wrong with the pieces of a list page, or NULL; needed[i] becomes the
 * bytes that page number i of the stream has to have.
 */
extern const char *hybrid_packed_fault(const HybridLayout *layout, Page page, Size *needed);

/* hybrid_packed_compose: see hybrid_new_list; always a leaf. */
extern HybridLink hybrid_packed_compose(const HybridLayout *layout, HybridSink *sink, int64 count,
                                        HybridEntrySource next, void *arg);

#endif
