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

/* HybridOverflow: a slot of a list page, and a copy of that page's directory. */
typedef struct HybridOverflow
{
	const HybridLink *list;
	int level;
	int slot;
	BlockNumber *directory;
} HybridOverflow;

/*
 * hybrid_write_vector, hybrid_write_codes: write the vector or the codes of a slot to the pages that
 * the directory names. If the directory does not name a page yet, a page is allocated and entered into
 * the copy of the directory. The caller must write this copy back to the list page. hybrid_write_codes
 * does nothing if the codes are stored in their block.
 */
extern void
hybrid_write_vector(Relation index, const HybridLayout *layout, const HybridOverflow *slot,
                    const HybridStored *stored, const void *vector);
extern void hybrid_write_codes(Relation index, const HybridLayout *layout,
                               const HybridOverflow *slot, const uint8 *bits, const HyCode *code);

/*
 * hybrid_write_piece: write a value of varying length to the stream of its list page. The directory is
 * used as above.
 */
extern void
hybrid_write_piece(Relation index, const HybridLayout *layout, const HybridOverflow *slot,
                   const HybridPiece *piece, const void *value);

#endif
