/*
 * buffers.h
 *		Pages that a search reads again and again, found without the buffer table, and fetched ahead.
 *
 * A search reads thousands of pages in an order that no prefetcher of the processor foresees, and
 * most of its time would go by waiting for memory: for the buffer table, the buffer's header, the
 * page.  A backend remembers in which buffer it found a page; if it is still there (which
 * ReadRecentBuffer checks), nothing is looked up, and what will be read soon can be asked for while
 * something else is computed.
 */
#ifndef HYBRID_INDEX_BUFFERS_H
#define HYBRID_INDEX_BUFFERS_H

#include "postgres.h"

#include "storage/bufmgr.h"
#include "utils/relcache.h"

/* hybrid_buffer_read: the page, pinned; index_corrupted where the block is none. */
extern Buffer hybrid_buffer_read(Relation index, BlockNumber block, BufferAccessStrategy strategy);

/*
 * hybrid_buffer_expect: the header of the page, and `bytes` from `offset` on, will be read soon.
 */
extern void hybrid_buffer_expect(Relation index, BlockNumber block, Size offset, Size bytes);

/*
 * hybrid_buffer_guess: where that page lay when it was read last, for who fetches memory ahead: something
 * else may lie there by now.  NULL: nobody knows, or there is no such block.
 */
extern const char *hybrid_buffer_guess(Relation index, BlockNumber block);

/*
 * hybrid_buffer_expect_row: a row of a table will be read soon: its page's header and its item; and then,
 * when these have come, the row itself.
 */
extern void hybrid_buffer_expect_row(Relation heap, const ItemPointerData *tid, bool item);

#endif
