/*
 * buffers.h
 *		Find frequently read pages without the buffer table, and prefetch them.
 *
 * A search reads thousands of pages in an order that no hardware prefetcher can predict. Most of its
 * time would go into waiting for memory: the buffer table, the buffer header, the page. A backend
 * therefore remembers in which buffer it found each page. If the page is still there, which
 * ReadRecentBuffer checks, no lookup is needed. Pages that will be read soon can be prefetched while
 * something else is computed.
 */
#ifndef HYBRID_INDEX_BUFFERS_H
#define HYBRID_INDEX_BUFFERS_H

#include "postgres.h"

#include "storage/bufmgr.h"
#include "utils/relcache.h"

/* hybrid_buffer_read: return the page, pinned. Raises index_corrupted if block is InvalidBlockNumber. */
extern Buffer hybrid_buffer_read(Relation index, BlockNumber block, BufferAccessStrategy strategy);

/*
 * hybrid_buffer_expect: prefetch the buffer header, the page header and `bytes` bytes from `offset` on.
 * The page will be read soon.
 */
extern void hybrid_buffer_expect(Relation index, BlockNumber block, Size offset, Size bytes);

/*
 * hybrid_buffer_guess: return the address that the page had when it was read last, for prefetching only.
 * Another page may be there by now. Returns NULL if the address is not known or there is no such block.
 */
extern const char *hybrid_buffer_guess(Relation index, BlockNumber block);

/*
 * hybrid_buffer_expect_row: prefetch a table row that will be read soon. Call it first without `item`,
 * to fetch the page header and the item pointer. Call it again with `item` when these have arrived, to
 * fetch the row.
 */
extern void hybrid_buffer_expect_row(Relation heap, const ItemPointerData *tid, bool item);

#endif
