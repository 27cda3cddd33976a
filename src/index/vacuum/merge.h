/*
 * merge.h
 *		Lists that have lost most of what they had.
 */
#ifndef HYBRID_INDEX_MERGE_H
#define HYBRID_INDEX_MERGE_H

#include "index/page/index.h"

/* HybridLinks: lists, by name. */
typedef struct HybridLinks
{
	HybridLink *links;
	int count;
	int allocated;
} HybridLinks;

/* hybrid_links_add: one more; the first is allocated in the current memory context. */
extern void hybrid_links_add(HybridLinks *links, HybridLink link);

/* hybrid_links_sort, hybrid_links_has: whether a list is among sorted ones. */
extern void hybrid_links_sort(HybridLinks *links);
extern bool hybrid_links_has(const HybridLinks *links, const HybridLink *link);

/*
 * hybrid_merge: leaf lists that are named in `sparse`, sorted, or are empty are merged with neighbours,
 * written anew or removed, and so are the lists above; and the tree becomes lower where it can.  The
 * caller holds the meta page's lock, shared, which is given up now and then.
 */
extern void hybrid_merge(Relation index, const HybridIndex *open, const HybridLinks *sparse);

#endif
