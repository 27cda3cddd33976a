/*
 * extent.h
 *		A sink for new lists: it allocates and writes their pages, and puts the list pages of many lists
 *		next to each other.
 *
 * A search reads the list pages of the lists that it examines, and few of the vectors, which take ten
 * times the space. If list pages were placed among the vectors, hardly any two list pages would have
 * their page-table entries in one cache line. Searches would then wait until the processor has read
 * these entries.
 */
#ifndef HYBRID_INDEX_EXTENT_H
#define HYBRID_INDEX_EXTENT_H

#include "index/tree/free_pages.h"

#define HYBRID_EXTENT_MOST 128 /* maximum number of list pages that are reserved together */
#define HYBRID_EXTENT_SHARE 32 /* at most 1/32 of all pages reserved so far are reserved together */

/* HybridExtentSink: a logged sink with a stock of list pages. */
typedef struct HybridExtentSink
{
	HybridSink sink; /* must be first: it is cast to HybridExtentSink */
	HybridLoggedSink logged;
	BlockNumber reserved; /* number of pages of all kinds reserved so far */
	HybridLink stock[HYBRID_EXTENT_MOST];
	int count; /* number of pages in stock */
	int next;  /* next unused page of the stock */
} HybridExtentSink;

extern void hybrid_extent_sink_init(HybridExtentSink *sink, Relation index);

/*
 * hybrid_extent_sink_finish: give back the reserved pages that no list took. If an error prevents this
 * call, the next VACUUM finds these pages.
 */
extern void hybrid_extent_sink_finish(HybridExtentSink *sink);

/*
 * hybrid_extent_size: return the number of list pages to reserve together, after `pages` pages were
 * reserved.
 */
static inline BlockNumber
hybrid_extent_size(BlockNumber pages)
{
	return Min(Max(pages / HYBRID_EXTENT_SHARE, 1), HYBRID_EXTENT_MOST);
}

#endif
