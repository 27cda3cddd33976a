/*
 * overflow.h
 *		Writes the parts of an entry that are not on its list page: the vector, and long codes.
 *
 * These parts are written before the entry, in separate WAL records. No reader uses them until the slot
 * is live. The caller's lock prevents other sessions from adding to the list.
 */
#ifndef HYBRID_INDEX_OVERFLOW_H
#define HYBRID_INDEX_OVERFLOW_H

#include "index/page/page.h"

/*
 * hybrid_write_vector, hybrid_write_codes: write the vector or the codes of slot `slot` of a list page to
 * the pages that its directory names. If the directory does not name a page yet, one is allocated and
 * entered into `directory`. `directory` is a copy, which the caller must write back to the list page.
 * hybrid_write_codes does nothing if the codes are stored in their block.
 */
extern void hybrid_write_vector(Relation index, const HybridLayout *layout, int level,
                                const HybridLink *list, int slot, const HybridStored *stored,
                                const void *vector, BlockNumber *directory);
extern void
hybrid_write_codes(Relation index, const HybridLayout *layout, int level, const HybridLink *list,
                   int slot, const uint8 *bits, const HyCode *code, BlockNumber *directory);

/*
 * hybrid_write_piece: write a value of varying length to the stream of its list page. `directory` is used
 * as above.
 */
extern void hybrid_write_piece(Relation index, const HybridLayout *layout, const HybridLink *list,
                               const HybridPiece *piece, const void *value, BlockNumber *directory);

#endif
