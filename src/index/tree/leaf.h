/*
 * leaf.h
 *		Find the leaf list that a row belongs in.
 */
#ifndef HYBRID_INDEX_LEAF_H
#define HYBRID_INDEX_LEAF_H

#include "index/tree/inner.h"
#include "core/min_heap.h"

/* HybridLeafSearch: memory for searches for leaves. */
typedef struct HybridLeafSearch
{
	HybridScorer scorer;
	HybridInnerSet inner;
	MemoryContext context;
	float *lowers; /* lower bounds for all lists below the lists in `inner`, block by block */
	HyHeapItem *order;
	int allocated;
	float *centroid;
	uint64 key; /* word of the row's first key, in an index with keys */
} HybridLeafSearch;

/*
 * HybridLeaf: the result of a search. The arrays belong to the search and are valid until the next
 * search.
 */
typedef struct HybridLeaf
{
	HybridLink link;
	HybridLink above;   /* list that names the leaf; its head is invalid if the leaf is the root */
	float radius;       /* radius of the leaf as `above` records it; 0 if the leaf is the root */
	bool central;       /* the centroid of the leaf is the center of the index */
	float *centroid;    /* place (frame.h) of the leaf's centroid; NULL if the leaf is central */
	const float *place; /* place of the vector (frame.h); `rotated` is this place, rotated */
	const float *rotated;
	HybridFrame *frame;
} HybridLeaf;

/* hybrid_leaf_init: initialize a search in the current memory context. */
extern void hybrid_leaf_init(HybridLeafSearch *search, Relation index, const HybridIndex *open);

/*
 * hybrid_leaf_find: find the leaf whose centroid is the nearest, or nearly the nearest, in the current tree. If the
 * vector is an outlier of that leaf, find another leaf with similar rows, if there is one. In an index with keys,
 * consider only leaves whose bounds include `key`, the word of the first key.
 */
extern void
hybrid_leaf_find(HybridLeafSearch *search, const HybridProbe *vector, uint64 key, HybridLeaf *leaf);

#endif
