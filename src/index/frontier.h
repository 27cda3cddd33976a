/*
 * frontier.h
 *		The lists that a search may look into, in the order in which it would.
 */
#ifndef HYBRID_INDEX_FRONTIER_H
#define HYBRID_INDEX_FRONTIER_H

#include "index/inner.h"
#include "index/lookup.h"
#include "index/order.h"

/* HybridWaiting: a leaf list that was looked at. */
typedef struct HybridWaiting
{
	HybridReach reach; /* known: its own */
	float radius;      /* root mean square distance of its rows from its centroid */
	float seen;        /* rows with bounds up to this have been taken from it; -INFINITY: none */
	HybridLink link;
	const HybridInner *above; /* the list that has its centroid */
	int entry;                /* and where */
	bool known;
} HybridWaiting;

/* HybridFresh: whose keys a block has: an inner list, and the first of its entries that are there. */
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
	float scale; /* S of frontier.c */
	float width; /* what a promise of 1 is, of a list of the mean radius */
	float tired; /* is added to keys of lists that nobody has looked into */
	/* lists that were not looked at */
	HybridInnerSet inner;
	HybridInnerSet upper; /* and the lists above those */
	float *keys;          /* of what is below each of them, whole blocks */
	int keys_count;
	int keys_allocated;
	HybridOrdered *blocks; /* of keys, by the least of each */
	HybridFresh *fresh;    /* of each block */
	int blocks_count;
	/* those that were, and which of them wait */
	HybridWaiting *lists;
	int lists_count;
	int lists_allocated;
	HybridOrdered *order;
	int waiting;
} HybridFrontier;

/* hybrid_frontier_init: an empty one; scorer and context stay the caller's. */
extern void
hybrid_frontier_init(HybridFrontier *frontier, HybridScorer *scorer, MemoryContext context);

/* hybrid_frontier_clear: empties it. */
extern void hybrid_frontier_clear(HybridFrontier *frontier);

/* hybrid_frontier_begin: all leaf lists of the tree, for the scorer's query. */
extern void hybrid_frontier_begin(HybridFrontier *frontier, const HybridLookupLimits *limits);

/*
 * hybrid_frontier_next: the key of the next list: the distance, in the unit of the estimates, at which it
 * is looked into; or where limits count lists, how far it is.  Infinite: there is none.
 */
extern float hybrid_frontier_next(const HybridFrontier *frontier);

/*
 * hybrid_frontier_choose: of those that wait at less than limit at most so many, the next ones, as numbers in
 * frontier->lists, their centroids read; they wait no more.  0: there are none.
 */
extern int hybrid_frontier_choose(HybridFrontier *frontier, float limit, int *chosen, int most);

/*
 * hybrid_frontier_choose_nearest: the same where limits count lists, of which so many have been looked into: the
 * nearest, as far as the limit allows.
 */
extern int
hybrid_frontier_choose_nearest(HybridFrontier *frontier, int64 looked_into, int *chosen, int most);

/* hybrid_frontier_put: one that was chosen waits again, at that key. */
extern void hybrid_frontier_put(HybridFrontier *frontier, int which, float key);

/* hybrid_frontier_tire: so many lists have been looked into, for each HYBRID_FIRST_NEAREST rows. */
extern void hybrid_frontier_tire(HybridFrontier *frontier, double lists);

/* hybrid_frontier_threshold: from which on a list that promises so much is looked into after so many others. */
extern float hybrid_frontier_threshold(HyMetric metric, float promise, double lists);

/* hybrid_frontier_awake: the threshold from which on a search does not tire. */
extern float hybrid_frontier_awake(HyMetric metric);

/*
 * hybrid_frontier_promise: of a known list: the threshold at which its key would be that distance, in
 * the unit of the estimates.
 */
extern float hybrid_frontier_promise(const HybridFrontier *frontier, int which, float distance);

/* hybrid_frontier_promise_of: the same of any list, by its base and its radius. */
extern float hybrid_frontier_promise_of(const HybridFrontier *frontier, float base, float radius,
                                        float distance);

/* hybrid_frontier_memory: bytes of what waits. */
extern Size hybrid_frontier_memory(const HybridFrontier *frontier);

#endif
