/*
 * frontier.h
 *		The lists that a search may look into, in the order in which it would.
 */
#ifndef HYBRID_INDEX_FRONTIER_H
#define HYBRID_INDEX_FRONTIER_H

#include "core/tail.h"

#include "index/tree/inner.h"
#include "index/scan/lookup.h"
#include "core/min_heap.h"

/* HybridWaiting: a leaf list whose centroid was read. */
typedef struct HybridWaiting
{
	HybridReach reach;
	float radius; /* root mean square distance of its rows from its centroid */
	float rows;   /* about how many it has */
	float seen;   /* rows with bounds up to this have been taken from it; -INFINITY: none */
	HybridLink link;
	/* blocks that were scored whole when it was looked into first, numbered from the beginning of the list */
	int sampled; /* so many first ones */
	int last;    /* and the last one there was then; -1: none */
} HybridWaiting;

/* HybridFresh: the first list of a block: an inner list, and one of its entries. */
typedef struct HybridFresh
{
	const HybridInner *inner;
	int first;
} HybridFresh;

/* HybridFrontier: of one search; the arrays are in its memory context. */
typedef struct HybridFrontier
{
	MemoryContext context;
	HybridScorer *scorer;
	HybridLookupLimits limits;
	/* all lists, 32 to a block, in the order of the inner lists */
	HybridInnerSet inner;
	HybridInnerSet upper; /* and the lists above those */
	float *keys;          /* the least is taken next; infinite: it was */
	float
		*middle; /* of its rows' distances, in the unit of the estimates; infinite: it was taken */
	float *inverse; /* 1 / what a cosine of 1 would bring one of its rows nearer by */
	float *doubt;   /* deviation of middle * inverse, by its code; 0: its centroid was read */
	float *size;    /* rows */
	int *which;     /* then, where it is in `lists` */
	int keys_count;
	int keys_allocated;
	HyHeapItem *blocks; /* of keys, by the least of each */
	HybridFresh *fresh; /* of each block */
	int blocks_count;
	bool expecting; /* keys are by what is expected, and not by distance */
	float limit;    /* then: of rows nearer than that */
	/* those whose centroids were read, and which of them wait to be looked into again */
	HybridWaiting *lists;
	int lists_count;
	int lists_allocated;
	HyHeapItem *order;
	int waiting;
} HybridFrontier;

/* hybrid_frontier_init: an empty one; scorer and context stay the caller's. */
extern void
hybrid_frontier_init(HybridFrontier *frontier, HybridScorer *scorer, MemoryContext context);

/* hybrid_frontier_clear: empties it. */
extern void hybrid_frontier_clear(HybridFrontier *frontier);

/* hybrid_frontier_begin: all leaf lists of the tree, for the scorer's query, the nearest first. */
extern void hybrid_frontier_begin(HybridFrontier *frontier, const HybridLookupLimits *limits);

/* hybrid_frontier_rest: whether there is a list that was not taken, or waits to be looked into again. */
extern bool hybrid_frontier_rest(const HybridFrontier *frontier);

/*
 * hybrid_frontier_expect: how many rows of lists that were not taken are expected to be nearer than
 * `limit`, in the unit of the estimates, if cosines have this tail.  The lists that expect most come first from
 * now on.
 */
extern double hybrid_frontier_expect(HybridFrontier *frontier, const HyTail *tail, float limit);

/*
 * hybrid_frontier_take: at most so many lists, in their order, as numbers in frontier->lists.  With a tail, *expected, of which so much was left, becomes what is expected beyond them, and no more are taken once
 * that is at most `enough`.
 */
extern int hybrid_frontier_take(HybridFrontier *frontier, int most, const HyTail *tail,
                                double enough, double *expected, int *taken);

/* hybrid_frontier_take_again: lists that wait to be looked into again at less than limit, likewise. */
extern int hybrid_frontier_take_again(HybridFrontier *frontier, float limit, int most, int *taken);

/* hybrid_frontier_put: one that was taken waits to be looked into again, where a row at that distance is wanted. */
extern void hybrid_frontier_put(HybridFrontier *frontier, int which, float distance);

/* hybrid_frontier_cosines: of a list that was taken, what a distance d says of a cosine: (*middle - d) * *inverse. */
extern void
hybrid_frontier_cosines(const HybridFrontier *frontier, int which, float *middle, float *inverse);

/* hybrid_frontier_memory: bytes of what waits. */
extern Size hybrid_frontier_memory(const HybridFrontier *frontier);

#endif
