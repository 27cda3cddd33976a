/*
 * merge.h
 *		Merges, rewrites or removes lists that have lost many of their entries.
 */
#ifndef HYBRID_INDEX_MERGE_H
#define HYBRID_INDEX_MERGE_H

#include "index/page/index.h"

/* HybridLinks: a growing array of links to lists. */
typedef struct HybridLinks
{
	HybridLink *links;
	int count;
	int allocated;
} HybridLinks;

/* hybrid_links_add: append a link. The first call allocates the array, in the current memory context. */
extern void hybrid_links_add(HybridLinks *links, HybridLink link);

/* hybrid_links_sort: sort the links. hybrid_links_has: test whether sorted links contain a link. */
extern void hybrid_links_sort(HybridLinks *links);
extern bool hybrid_links_has(const HybridLinks *links, const HybridLink *link);

/*
 * hybrid_merge: merge, rewrite or remove the leaf lists that are in `sparse` (sorted) or empty. Then
 * process the lists above in the same way, and remove levels from the tree where possible. The caller
 * holds the meta page's lock in share mode. The lock is released and taken again from time to time.
 */
extern void hybrid_merge(Relation index, const HybridIndex *open, const HybridLinks *sparse);

#endif
