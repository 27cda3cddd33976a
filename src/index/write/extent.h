/*
 * extent.h
 *		List pages of many new lists, next to each other.
 *
 * What searches read of all lists is their list pages; vectors take ten times the room, and few of
 * them are read.  Where list pages lie among vectors, hardly any two are found by the same line of the
 * processor's page tables, and searches wait for these.
 */
#ifndef HYBRID_INDEX_EXTENT_H
#define HYBRID_INDEX_EXTENT_H

#include "index/tree/free_pages.h"

#define HYBRID_EXTENT_MOST 128 /* pages */
#define HYBRID_EXTENT_SHARE 32 /* of all pages, that an extent may be */

/* HybridExtentSink: a logged sink that has list pages in stock. */
typedef struct HybridExtentSink
{
	HybridSink sink; /* first: it is what others see */
	HybridLoggedSink logged;
	BlockNumber reserved; /* pages so far */
	HybridLink stock[HYBRID_EXTENT_MOST];
	int count; /* in stock */
	int next;  /* of these */
} HybridExtentSink;

extern void hybrid_extent_sink_init(HybridExtentSink *sink, Relation index);

/*
 * hybrid_extent_sink_finish: what no list took is free again.  Where an error comes first, the next VACUUM
 * finds it.
 */
extern void hybrid_extent_sink_finish(HybridExtentSink *sink);

/* hybrid_extent_size: pages that the next extent has, when there are so many. */
static inline BlockNumber
hybrid_extent_size(BlockNumber pages)
{
	return Min(Max(pages / HYBRID_EXTENT_SHARE, 1), HYBRID_EXTENT_MOST);
}

#endif
