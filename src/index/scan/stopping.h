/*
 * stopping.h
 *		When a search has found enough, from an estimate of the rows that it misses.
 */
#ifndef HYBRID_INDEX_STOPPING_H
#define HYBRID_INDEX_STOPPING_H

#include "core/tail.h"

#include "index/scan/frontier.h"
#include "index/scan/lookup.h"

#define HYBRID_LISTS_MOST 256 /* maximum number of lists examined between two checks */

/*
 * HybridStopping: state for one search. Distances are in the unit of the estimates. u and cosines are
 * those of frontier.c.
 */
typedef struct HybridStopping
{
	float *sample; /* u of rows that were scored */
	int sampled;
	double noise; /* sum of the variances that the codes add to the values of u */
	HyTail tail;  /* tail of the sample, as of the last check */
	/* rows nearer than the k-th best of the time that were expected in the lists examined */
	double expected;
	double found;                 /* number of such rows found there */
	int taken[HYBRID_LISTS_MOST]; /* lists that were examined last */
	int taken_count;
	double rest;    /* rows expected in all other lists */
	bool estimated; /* `rest` is set */
	bool ended;     /* `rest` is small enough that the search ended */
	/* sums over the first lists: middle * inverse, inverse, squared distance, squared radius */
	int near;
	double near_middle;
	double near_inverse;
	double near_reach;
	double near_radius;
} HybridStopping;

/* hybrid_stopping_init: allocate memory in the current memory context, and clear the state. */
extern void hybrid_stopping_init(HybridStopping *stopping);

/* hybrid_stopping_clear: clear the state for another search. */
extern void hybrid_stopping_clear(HybridStopping *stopping);

/*
 * hybrid_stopping_list: announce that a list will be examined for the first time. Returns how many of
 * its blocks must be scored in full and passed to hybrid_stopping_rows.
 */
extern int
hybrid_stopping_list(HybridStopping *stopping, const HybridFrontier *frontier, int which);

/*
 * hybrid_stopping_rows: add the live rows of a block of that list to the sample, with the distances
 * estimated from their codes.
 */
extern void hybrid_stopping_rows(HybridStopping *stopping, const HybridFrontier *frontier,
                                 int which, const HybridBlock *block, const float *estimates);

/* hybrid_stopping_took: record the lists that are examined now. */
extern void hybrid_stopping_took(HybridStopping *stopping, const int *lists, int count);

/*
 * hybrid_stopping_compare: record that those lists had `found` rows nearer than `limit`, the k-th best,
 * and compute how many were expected. Fits the tail to the whole sample.
 */
extern void hybrid_stopping_compare(HybridStopping *stopping, const HybridFrontier *frontier,
                                    float limit, int k, int found);

/*
 * hybrid_stopping_enough: test whether the search may end. *beyond becomes the number of rows that may
 * remain expected in lists that are not examined. Afterwards, the frontier's lists are in the order of
 * the rows expected in them.
 */
extern bool hybrid_stopping_enough(HybridStopping *stopping, HybridFrontier *frontier, float limit,
                                   int k, const HybridLookupWork *work, double *beyond);

/* hybrid_stopping_missing: return how many rows the search misses, as of the last check. */
extern double hybrid_stopping_missing(const HybridStopping *stopping, const HybridLookupWork *work);

/* hybrid_stopping_difficulty: see hybrid_lookup_difficulty; limit is the k-th best distance. */
extern int hybrid_stopping_difficulty(const HybridStopping *stopping,
                                      const HybridFrontier *frontier, float limit);

#endif
