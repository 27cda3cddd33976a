/*
 * buffers.h
 *		Find frequently read pages without the buffer table, and prefetch them.
 *
 * A search reads thousands of pages in an order that no hardware prefetcher can predict. It would spend
 * most of its time waiting for memory: for the buffer table, the buffer header and the page. Each backend
 * therefore remembers which buffers held the pages that it has read lately. ReadRecentBuffer checks whether a
 * page is still there. If so, no lookup in the buffer table is needed. Pages that will be read soon can be
 * prefetched while something else is computed.
 *
 * (200,000 vectors of 128 dimensions, medians of 5 to 9 pairs of 200 queries: without this file, a search
 * for 10 rows takes 1.18 times as long, and a search with a filter that 1% of the rows satisfy takes 1.70
 * times as long. The search with the filter takes 1.34 times as long without any prefetching, 1.36 times without
 * prefetching rows of the table, and 1.05 times without prefetching buffer headers. Without a filter,
 * prefetching gains nothing while nothing else runs. Beside other processes, which use the same cache, a
 * search for 10 rows takes 1.1 times as long without prefetching, median of 41 pairs.)
 *
 * buf_internals.h is included only for the address of a buffer header.
 */
#ifndef HYBRID_INDEX_BUFFERS_H
#define HYBRID_INDEX_BUFFERS_H

#include "postgres.h"

#include "storage/bufmgr.h"
#include "storage/itemptr.h"
#include "utils/relcache.h"

/* hybrid_buffer_read: return the buffer of a block, pinned. Raises index_corrupted if `block` is InvalidBlockNumber. */
extern Buffer hybrid_buffer_read(Relation index, BlockNumber block, BufferAccessStrategy strategy);

/*
 * hybrid_buffer_expect: prefetch for a page that will be read soon: the buffer header, the page header, and
 * `bytes` bytes of the page from `offset`.
 */
extern void hybrid_buffer_expect(Relation index, BlockNumber block, Size offset, Size bytes);

/*
 * hybrid_buffer_guess: return the address that the page had when this backend last read it. Use the
 * address only to prefetch, because another page may be there by now. Returns NULL if the address is not
 * known, or if `block` is InvalidBlockNumber.
 */
extern const char *hybrid_buffer_guess(Relation index, BlockNumber block);

/*
 * hybrid_buffer_expect_row: prefetch a table row that will be read soon. The first call, with `item` false,
 * fetches the page header and the item pointer. When these have arrived, a second call, with `item` true,
 * fetches the row.
 */
extern void hybrid_buffer_expect_row(Relation heap, const ItemPointerData *tid, bool item);

#endif
