/*
 * frontier.h
 *		The leaf lists that a search may examine, in the order of examination.
 */
#ifndef HYBRID_INDEX_FRONTIER_H
#define HYBRID_INDEX_FRONTIER_H

#include "core/tail.h"

#include "index/tree/inner.h"
#include "index/scan/lookup.h"
#include "core/min_heap.h"

/* HybridLeafCandidate: a leaf list whose centroid was read. */
typedef struct HybridLeafCandidate
{
	HybridReach reach;
	float radius; /* root mean square distance of its rows from its centroid */
	float rows;   /* approximate number of rows */
	float seen;   /* rows with bounds up to this were taken from it; -INFINITY: none */
	HybridLink link;
	/* blocks that were scored in full when the list was examined first */
	int sampled; /* number of them at the beginning of the list */
	int last;    /* number, within the list, of the block that was last then; -1: none */
} HybridLeafCandidate;

/* HybridBlockOrigin: origin of a block: an inner list, and the first of its entries in the block. */
typedef struct HybridBlockOrigin
{
	const HybridInner *inner;
	int first;
} HybridBlockOrigin;

/* HybridFrontier: state for one search. The arrays are in the search's memory context. */
typedef struct HybridFrontier
{
	MemoryContext context;
	HybridScorer *scorer;
	HybridLookupLimits limits;
	/* all leaf lists, 32 to a block, in the order of the inner lists */
	HybridInnerSet inner;
	HybridInnerSet upper; /* the lists above those */
	float *keys;          /* the list with the least key is taken next; infinite: it was taken */
	/*
	 * middle of its rows' distances, m in frontier.c, in the unit of the estimates; infinite: it was
	 * taken
	 */
	float *middle;
	/* 1 / width, where the width is how much nearer than the middle a row with u = 1 is */
	float *inverse;
	/* standard deviation of middle * inverse by its code; 0: its centroid was read */
	float *doubt;
	float *size; /* number of rows */
	int *which;  /* its number in `lists`, once its centroid was read; else -1 */
	int keys_count;
	int keys_allocated;
	HyHeapItem *blocks;       /* heap of blocks, by the least key of each */
	HybridBlockOrigin *fresh; /* origin of each block */
	int blocks_count;
	bool expecting; /* keys order by expected rows, not by distance */
	float limit;    /* then, the distance below which rows are expected */
	/* lists whose centroids were read, and a heap of those that wait to be examined again */
	HybridLeafCandidate *lists;
	int lists_count;
	int lists_allocated;
	HyHeapItem *order;
	int waiting;
} HybridFrontier;

/* hybrid_frontier_init: make an empty frontier. scorer and context stay the caller's. */
extern void
hybrid_frontier_init(HybridFrontier *frontier, HybridScorer *scorer, MemoryContext context);

/* hybrid_frontier_clear: empty the frontier. */
extern void hybrid_frontier_clear(HybridFrontier *frontier);

/* hybrid_frontier_begin: add all leaf lists of the tree, for the scorer's query, nearest first. */
extern void hybrid_frontier_begin(HybridFrontier *frontier, const HybridLookupLimits *limits);

/*
 * hybrid_frontier_has_more: test whether there is a list that was not taken, or that waits to be examined
 * again.
 */
extern bool hybrid_frontier_has_more(const HybridFrontier *frontier);

/*
 * hybrid_frontier_expect: return the number of rows nearer than `limit`, in the unit of the estimates,
 * that are expected in lists not taken, if u has this tail. From now on, the lists with the most
 * expected rows come first.
 */
extern double hybrid_frontier_expect(HybridFrontier *frontier, const HyTail *tail, float limit);

/*
 * hybrid_frontier_take: take at most `most` lists, in their order, and put their numbers in
 * frontier->lists into *taken. Returns how many were taken. If tail is not NULL, *expected is the number
 * of rows expected in lists not taken. The rows expected in each list taken are subtracted from it.
 * After the first list, no more are taken once *expected is at most `enough`.
 */
extern int hybrid_frontier_take(HybridFrontier *frontier, int most, const HyTail *tail,
                                double enough, double *expected, int *taken);

/*
 * hybrid_frontier_take_again: take lists that wait to be examined again at a distance below limit.
 * Arguments and result are as for hybrid_frontier_take.
 */
extern int hybrid_frontier_take_again(HybridFrontier *frontier, float limit, int most, int *taken);

/* hybrid_frontier_put: make a list that was taken wait until rows at this distance are wanted. */
extern void hybrid_frontier_put(HybridFrontier *frontier, int which, float distance);

/*
 * hybrid_frontier_u_scale: return, for a list that was taken, the numbers that convert a distance d to
 * u: u = (*middle - d) * *inverse.
 */
extern void
hybrid_frontier_u_scale(const HybridFrontier *frontier, int which, float *middle, float *inverse);

/* hybrid_frontier_memory: return the bytes that the lists take. */
extern Size hybrid_frontier_memory(const HybridFrontier *frontier);

#endif
