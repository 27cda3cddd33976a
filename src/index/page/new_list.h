/*
 * new_list.h
 *		Make a new list from its entries.
 *
 * The pages are made in memory and go to a sink that the caller provides. Builds append them to the file.
 * Splits write them to free pages, with WAL.
 */
#ifndef HYBRID_INDEX_NEW_LIST_H
#define HYBRID_INDEX_NEW_LIST_H

#include "index/page/frame.h"

/* HybridSink: the destination of new pages. */
typedef struct HybridSink
{
	/*
	 * reserves a page, to which the caller will write a page of this kind; returns the block of the page,
	 * and the generation that the page would have as a head
	 */
	HybridLink (*reserve)(struct HybridSink *sink, HybridPageKind kind);

	/* writes a page; the head of a list may be written twice */
	void (*write)(struct HybridSink *sink, BlockNumber block, Page image);
} HybridSink;

/* HybridNewEntry: an entry of a new list. */
typedef struct HybridNewEntry
{
	ItemPointerData tid; /* TID of a row, or a link: hybrid_link_tid */
	const HybridStored *stored;
	const void *
		vector; /* the stored value, and the words of the entry: `carried` bytes of its list's layout */
	const float *place; /* place of the entry, dims numbers; not used in an index without codes */
	float radius;       /* radius of the list below, in an inner list; 0 in a leaf */
} HybridNewEntry;

/* HybridNewEntries: an iterator over the entries of a new list. */
typedef struct HybridNewEntries
{
	int64 count;

	/* sets the next entry; the data that the entry points to is valid until the next call */
	void (*next)(void *arg, HybridNewEntry *entry);
	void *arg;
} HybridNewEntries;

/*
 * hybrid_new_list: make a list of these entries at this level. `centroid` is the place (frame.h) of its
 * centroid; NULL means the center. Sets *radius to the root mean square distance of the rows below from
 * the centroid, encoded by hybrid_radius. A leaf's outliers do not count, except for inner products. In a packed
 * layout, sets *radius to 0. Returns the link of the list.
 */
extern HybridLink
hybrid_new_list(HybridFrame *frame, HybridSink *sink, int level, const float *centroid,
                const HybridNewEntries *entries, float *radius);

/* hybrid_compare_floats: compare two numbers of type float, for qsort. */
extern int hybrid_compare_floats(const void *a, const void *b);

#endif
