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

/* HybridLeafCandidate: a leaf list that may be examined. */
typedef struct HybridLeafCandidate
{
	HybridReach reach;
	float radius; /* root mean square distance of the list's rows from its centroid */
	float rows;   /* approximate number of rows of the list */
	/* rows whose lower bounds are at most this were taken from the list; -INFINITY if the list was not examined */
	float seen;
	/* number of rows that the search had scored when it had scored half of this list */
	int64 place;
	HybridLink link;
	/* inner list and number of the entry whose centroid gives `reach`; `inner` is NULL once the centroid was read */
	const HybridInner *inner;
	int entry;
	/* blocks that were scored in full when the list was first examined: the first ones, and the last one */
	int sampled; /* number of such blocks at the beginning of the list */
	/* number, within the list, of the block that was the last one at that time; -1 if it was not scored in full */
	int last;
} HybridLeafCandidate;

/*
 * HybridBlockOrigin: where the lists of a block of slots come from: the inner list that names them, and the number of
 * its entry for the first slot.
 */
typedef struct HybridBlockOrigin
{
	const HybridInner *inner;
	int first;
} HybridBlockOrigin;

/*
 * HybridSlots: leaves not taken yet, or inner lists not opened yet, 32 to a block, in the order of the inner lists that
 * name them. A slot without such a list has an infinite key and an infinite middle.
 */
typedef struct HybridSlots
{
	float *keys; /* key of each list; the smallest key comes next */
	/* typical distance of each list's rows from the query (m in frontier.c), in the unit of the estimates */
	float *middle;
	/* 1 / width of each list; the distance of a row with u = 1 is middle - width */
	float *inverse;
	/*
	 * standard deviation of the error of middle * inverse; 0 if `middle` was computed from the centroid
	 * instead of the code
	 */
	float *doubt;
	float *size; /* number of rows of each leaf, or number of lists below each inner list */
	HybridBlockOrigin *origins; /* origin of each block */
	int count;
	int allocated;
} HybridSlots;

/* HybridFrontier: state for one search. The arrays are in the search's memory context. */
typedef struct HybridFrontier
{
	MemoryContext context;
	HybridScorer *scorer;
	HybridLookupLimits limits;
	/* conditions on words; a list is left out if no word within its bounds satisfies them */
	const HyWordCondition *conditions;
	int conditions_count;
	HybridInnerSet inner;    /* opened inner lists that name leaves */
	HybridInnerSet upper;    /* inner lists above these */
	const HybridInner *root; /* in one of these sets; NULL if the root is the only leaf */
	HybridSlots leaves;      /* leaves that opened inner lists name */
	int *which;              /* number of each leaf in `lists`; -1 if it is not there */
	HyHeapItem *blocks; /* heap of the blocks of `leaves`, ordered by the smallest key of each */
	int blocks_count;
	HybridSlots closed; /* inner lists that name leaves and are not opened yet */
	int closed_count;
	double closed_lists; /* number of leaves below closed inner lists, as their entries record */
	double opened_lists; /* number of leaves below opened inner lists, as their entries record */
	double opened_rows;  /* number of rows of these leaves, as the opened inner lists record */
	double rows;         /* estimated number of rows of all lists; 0 if the root is the only leaf */
	/* if not NULL, keys order the lists by the share of their rows that this tail expects below `limit` */
	const HyTail *tail;
	float limit; /* if tail is not NULL, distance below which rows are expected */
	/* lists whose centroids were read or that were taken, and a heap of those that wait to be examined again */
	HybridLeafCandidate *lists;
	int lists_count;
	int lists_allocated;
	HyHeapItem *order;
	int waiting;
	int passed; /* slots of `leaves` that hybrid_frontier_take_rest has passed */
} HybridFrontier;

/* hybrid_frontier_init: make an empty frontier. The caller keeps scorer and context valid. */
extern void
hybrid_frontier_init(HybridFrontier *frontier, HybridScorer *scorer, MemoryContext context);

/* hybrid_frontier_clear: empty the frontier. */
extern void hybrid_frontier_clear(HybridFrontier *frontier);

/*
 * hybrid_frontier_open: empty the frontier, and look up the root of the scorer's tree. Returns the root, or NULL if the
 * root is the only leaf.
 */
extern const HybridInner *hybrid_frontier_open(HybridFrontier *frontier);

/*
 * hybrid_frontier_begin: add the leaf lists of the scorer's tree, ordered by their distance from the scorer's query, or
 * by the expected distance of their nearest rows if limits->probes is set. In a large index, only the nearest inner
 * lists are opened.
 */
extern void hybrid_frontier_begin(HybridFrontier *frontier, const HybridLookupLimits *limits);

/* hybrid_frontier_open_all: open all inner lists. */
extern void hybrid_frontier_open_all(HybridFrontier *frontier);

/* hybrid_frontier_has_more: test whether any list was not taken, or waits to be examined again. */
extern bool hybrid_frontier_has_more(const HybridFrontier *frontier);

/*
 * hybrid_frontier_expect: return the number of rows nearer than `limit` (in the unit of the estimates)
 * that are expected in lists not taken, if `tail` is the tail of u. From now on, lists with a larger share of rows
 * expected below `limit` come first. Opens inner lists until few of the expected rows are below closed ones: at most
 * a tenth of `enough`, or of the rows expected below opened ones if these are more. The caller keeps `tail` valid.
 */
extern double
hybrid_frontier_expect(HybridFrontier *frontier, const HyTail *tail, float limit, double enough);

/*
 * hybrid_frontier_take: take at most `most` lists, in their order, and return how many were taken. The
 * array `taken` receives their numbers in frontier->lists. If tail is not NULL, *expected is the number
 * of rows expected in lists not taken. The function subtracts the rows expected in each list that it
 * takes. After the first list, it takes no more lists once *expected is at most `enough`.
 */
extern int hybrid_frontier_take(HybridFrontier *frontier, int most, const HyTail *tail,
                                double enough, double *expected, int *taken);

/*
 * hybrid_frontier_take_again: take at most `most` lists that wait at a distance below `limit` (hybrid_frontier_put).
 * `taken` and the result are as for hybrid_frontier_take.
 */
extern int hybrid_frontier_take_again(HybridFrontier *frontier, float limit, int most, int *taken);

/*
 * hybrid_frontier_take_rest: take at most `most` of the lists not taken yet, in the order of the inner lists that name
 * them. This is nearly the order of the file. Their centroids are not read. After the first call, only this function
 * may take new lists.
 */
extern int hybrid_frontier_take_rest(HybridFrontier *frontier, int most, int *taken);

/* hybrid_frontier_reach: read the centroid of a list, unless it was read before, and set the list's `reach`. */
extern void hybrid_frontier_reach(HybridFrontier *frontier, int which);

/* hybrid_frontier_put: let a list that was taken wait to be examined again, once rows at this distance are wanted. */
extern void hybrid_frontier_put(HybridFrontier *frontier, int which, float distance);

/*
 * hybrid_frontier_u_scale: set *middle and *inverse for a list whose centroid was read. The u of a row of
 * this list is (*middle - d) * *inverse, where d is its distance in the unit of the estimates.
 */
extern void
hybrid_frontier_u_scale(const HybridFrontier *frontier, int which, float *middle, float *inverse);

/* hybrid_frontier_memory: return the number of bytes that the slots and lists take. */
extern Size hybrid_frontier_memory(const HybridFrontier *frontier);

/* The functions below, in frontier_slots.c, are for frontier.c. */

/*
 * hybrid_slots_add: add the lists that an inner list names. Their distances from the query are estimated from their
 * codes.
 */
extern void hybrid_slots_add(HybridFrontier *frontier, HybridSlots *slots, const HybridInner *inner,
                             const HybridReach *reach);

/* hybrid_slots_may_have: test whether rows below an entry of an inner list may satisfy the conditions. */
extern bool
hybrid_slots_may_have(const HybridFrontier *frontier, const HybridInner *inner, int entry);

/* hybrid_slots_leave_out: mark a slot as one without a list. */
extern void hybrid_slots_leave_out(HybridSlots *slots, int slot);

/*
 * hybrid_slots_nearest_u: return the u expected of the nearest of `rows` rows in random directions, about
 * sqrt(2 ln(rows) / dims). Between powers of 2, the logarithm is interpolated linearly.
 */
extern float hybrid_slots_nearest_u(float rows, float dims);

#endif
