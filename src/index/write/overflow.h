/*
 * overflow.h
 *		What of an entry lies on other pages than its list page: its vector, and long codes.
 *
 * Written before the entry is, with WAL records of their own: as long as the slot is not live, nobody
 * looks at them.  The caller keeps others from adding to the list.
 */
#ifndef HYBRID_INDEX_OVERFLOW_H
#define HYBRID_INDEX_OVERFLOW_H

#include "index/page/page.h"

/*
 * hybrid_write_vector, hybrid_write_codes: those of slot `slot` of a list page, on the pages that its
 * directory names; a page that it does not name yet is allocated and put into `directory`, the
 * caller's copy, which has to get onto the list page.  hybrid_write_codes does nothing where codes
 * lie in their block.
 */
extern void hybrid_write_vector(Relation index, const HybridLayout *layout, int level,
                                const HybridLink *list, int slot, const HybridStored *stored,
                                const void *vector, BlockNumber *directory);
extern void
hybrid_write_codes(Relation index, const HybridLayout *layout, int level, const HybridLink *list,
                   int slot, const uint8 *bits, const HyCode *code, BlockNumber *directory);

/* hybrid_write_piece: the same of a value that has a piece; on pages of its list page's stream. */
extern void hybrid_write_piece(Relation index, const HybridLayout *layout, const HybridLink *list,
                               const HybridPiece *piece, const void *value, BlockNumber *directory);

#endif
