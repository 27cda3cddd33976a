/*
 * new_list.h
 *		A whole new list, from its entries: pages in memory, then wherever the caller puts pages.
 *
 * Builds append them to the file, splits write them with WAL on free pages.
 */
#ifndef HYBRID_INDEX_NEW_LIST_H
#define HYBRID_INDEX_NEW_LIST_H

#include "index/page/frame.h"

/* HybridSink: where new pages go. */
typedef struct HybridSink
{
	/*
	 * names a page of this kind that the caller is going to write: its block, and the generation that
	 * it would have as a head
	 */
	HybridLink (*reserve)(struct HybridSink *sink, HybridPageKind kind);

	/* the head of a list may come again */
	void (*write)(struct HybridSink *sink, BlockNumber block, Page image);
} HybridSink;

/* HybridNewEntry: an entry of a new list. */
typedef struct HybridNewEntry
{
	ItemPointerData tid; /* or a link: hybrid_link_tid */
	const HybridStored *stored;
	const void *vector; /* layout.stride bytes at most */
	const float *place; /* dims; of an index without codes: not looked at */
	float radius;       /* of an inner list's entry; a leaf's: 0 */
} HybridNewEntry;

/* HybridEntrySource: the entries of a new list, in order; what entry points to lives until the next. */
typedef void (*HybridEntrySource)(void *arg, HybridNewEntry *entry);

/*
 * hybrid_new_list: a list of `count` entries at the given level, around the centroid with this
 * place (NULL: the centre).  *radius becomes the root of the mean squared distance of the rows below
 * from it.
 */
extern HybridLink
hybrid_new_list(HybridFrame *frame, HybridSink *sink, int level, const float *centroid, int64 count,
                HybridEntrySource next, void *arg, float *radius);

/* hybrid_new_list_reserve: the pages that such a list takes, in that order, are named. */
extern void
hybrid_new_list_reserve(const HybridLayout *layout, HybridSink *sink, int level, int64 count);

#endif
