/*
 * inner.h
 *		Cache of inner lists in the memory of a backend.
 *
 * Every search needs many inner lists, or all of them in a small index, and inner lists seldom change.
 * For each inner list, the backend keeps a compact copy of the data that a search needs to order the lists
 * below. The copy is valid as long as the list's change counter stays the same. Centroids are read from
 * the index on demand. They are kept, too, unless the cache is already large or a centroid takes several pages.
 *
 * (Measured as in buffers.h: without the cache, a search for 10 rows takes 1.98 times as long, and a
 * search for 100 rows 1.81 times.)
 */
#ifndef HYBRID_INDEX_INNER_H
#define HYBRID_INDEX_INNER_H

#include "index/tree/scorer.h"

/* HybridInner: the live entries of an inner list as of one moment. */
typedef struct HybridInner
{
	HybridLink link;
	int count;
	int blocks; /* number of blocks of codes; the `count` entries fill them without gaps */
	uint8 *codes;
	HyCodeFactors *factors;
	float *radii;
	float *rows;              /* approximate number of rows of each list below */
	HybridLink *below;        /* links of the lists below */
	HybridBounds *bounds;     /* bounds of their keys, in an index with keys; else NULL */
	HybridVectorPosition *at; /* positions of the centroids */
	/* stored centroids of the entries for which `kept` is set; NULL if none is kept */
	char *centroids;
	HybridStored *stored;
	bool *kept;
} HybridInner;

/* HybridInnerSet: inner lists that a search uses. The copies stay unchanged until the search releases them. */
typedef struct HybridInnerSet
{
	MemoryContext context;
	MemoryContextCallback end;
	const HybridInner **items;
	int count;
	int allocated;
} HybridInnerSet;

/* hybrid_inner_set_init: make an empty set. Its lists are released when `context` is reset or deleted. */
extern void hybrid_inner_set_init(HybridInnerSet *set, MemoryContext context);

/*
 * hybrid_inner_set_add: append an inner list to the set and return it, read from the index if the cache has no
 * current copy. Raises the errors of hybrid_list_read.
 */
extern const HybridInner *hybrid_inner_set_add(HybridInnerSet *set, const HybridScorer *scorer,
                                               const HybridLink *list, int level);

/* hybrid_inner_set_clear: release all lists of the set. */
extern void hybrid_inner_set_clear(HybridInnerSet *set);

/*
 * hybrid_inner_score: compute estimates and lower bounds of HybridReach.base for the lists below an inner
 * list, from their codes. `reach` is the distance to the inner list's own centroid. Each array has space
 * for blocks * HY_CODE_ROWS numbers. `estimates` may be NULL.
 */
extern void
hybrid_inner_score(HybridScorer *scorer, const HybridInner *inner, const HybridReach *reach,
                   float eps, float *estimates, float *lowers);

/*
 * hybrid_inner_row_length: estimate the root mean square of the lengths of the rows below an inner list of this level,
 * for an index by inner product. The estimate comes from a sample of the lists below, and is cached with the list.
 */
extern float hybrid_inner_row_length(HybridScorer *scorer, const HybridInner *inner, int level);

/*
 * hybrid_inner_reach: return the distance to the centroid of an entry of an inner list of this level. If
 * `copy` is not NULL, it receives the centroid (dims floats).
 */
extern HybridReach hybrid_inner_reach(HybridScorer *scorer, const HybridInner *inner, int level,
                                      int entry, float *copy);

#endif
