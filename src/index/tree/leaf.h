/*
 * leaf.h
 *		The leaf list that a row belongs in.
 */
#ifndef HYBRID_INDEX_LEAF_H
#define HYBRID_INDEX_LEAF_H

#include "index/tree/inner.h"
#include "core/min_heap.h"

/* HybridLeafSearch: room for such searches. */
typedef struct HybridLeafSearch
{
	HybridScorer scorer;
	HybridInnerSet inner;
	MemoryContext context;
	float *lowers; /* of all lists below those in inner, block by block */
	HyHeapItem *order;
	int allocated;
	float *centroid;
} HybridLeafSearch;

/* HybridLeaf: what one found; the arrays are the search's own, until the next. */
typedef struct HybridLeaf
{
	HybridLink link;
	HybridLink above;   /* the list that names it; no valid head: it is the root */
	bool central;       /* its centroid is the centre */
	float *centroid;    /* its place; not of a central one */
	const float *place; /* of the vector, and this rotated */
	const float *rotated;
	HybridFrame *frame;
} HybridLeaf;

/* hybrid_leaf_init: in the current memory context. */
extern void hybrid_leaf_init(HybridLeafSearch *search, Relation index, const HybridIndex *open);

/* hybrid_leaf_find: the leaf with the nearest centroid, or nearly, in the tree as it is now. */
extern void hybrid_leaf_find(HybridLeafSearch *search, const HybridProbe *vector, HybridLeaf *leaf);

#endif
