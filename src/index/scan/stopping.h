/*
 * stopping.h
 *		When a search has found enough: how many rows it misses, by what it has seen itself.
 */
#ifndef HYBRID_INDEX_STOPPING_H
#define HYBRID_INDEX_STOPPING_H

#include "core/tail.h"

#include "index/scan/frontier.h"
#include "index/scan/lookup.h"

#define HYBRID_LISTS_MOST 256 /* that a search looks into before it is judged again */

/* HybridStopping: of one search. Distances are in the unit of the estimates; u and cosines are those of frontier.c. */
typedef struct HybridStopping
{
	float *sample; /* u of rows that were scored */
	int sampled;
	double noise;    /* sum of what the codes add to the variance of each */
	HyTail tail;     /* of the sample, when it was last asked whether this is enough */
	double expected; /* rows nearer than the k-th best afterwards, in lists that were looked into */
	double found;    /* and how many there were */
	int taken[HYBRID_LISTS_MOST]; /* the lists that were looked into last */
	int taken_count;
	double rest;    /* rows expected in all other lists */
	bool estimated; /* `rest` is known */
	bool ended;     /* and is so little that the search ended */
	/* sums over the first lists: middle * inverse, inverse, squared distance, squared radius */
	int near;
	double near_middle;
	double near_inverse;
	double near_reach;
	double near_radius;
} HybridStopping;

/* hybrid_stopping_init: with its memory in the current context. */
extern void hybrid_stopping_init(HybridStopping *stopping);

/* hybrid_stopping_clear: nothing is known, for another search. */
extern void hybrid_stopping_clear(HybridStopping *stopping);

/*
 * hybrid_stopping_list: a list is about to be looked into for the first time.  Returns how many of its blocks are to be
 * scored whole, and given to hybrid_stopping_rows.
 */
extern int
hybrid_stopping_list(HybridStopping *stopping, const HybridFrontier *frontier, int which);

/* hybrid_stopping_rows: the distances that the codes of a block of that list say. */
extern void hybrid_stopping_rows(HybridStopping *stopping, const HybridFrontier *frontier,
                                 int which, const HybridBlock *block, const float *estimates);

/* hybrid_stopping_took: these lists are looked into now. */
extern void hybrid_stopping_took(HybridStopping *stopping, const int *lists, int count);

/*
 * hybrid_stopping_compare: they had so many rows that are nearer than `limit`, the k-th best.  The tail is fitted to all
 * that was sampled.
 */
extern void hybrid_stopping_compare(HybridStopping *stopping, const HybridFrontier *frontier,
                                    float limit, int k, int found);

/*
 * hybrid_stopping_enough: whether the search may end.  If not, *beyond is up to how many rows may be expected in lists
 * that are not looked into.  The frontier's lists are in the order of what is expected of them afterwards.
 */
extern bool hybrid_stopping_enough(HybridStopping *stopping, HybridFrontier *frontier, float limit,
                                   int k, const HybridLookupWork *work, double *beyond);

/* hybrid_stopping_missing: how many rows the search misses, when it was last judged. */
extern double hybrid_stopping_missing(const HybridStopping *stopping, const HybridLookupWork *work);

/* hybrid_stopping_difficulty: as hybrid_lookup_difficulty says, for that k-th best. */
extern int hybrid_stopping_difficulty(const HybridStopping *stopping,
                                      const HybridFrontier *frontier, float limit);

#endif
