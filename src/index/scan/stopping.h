/*
 * stopping.h
 *		Decide when a search has found enough rows, from an estimate of the number that it misses.
 */
#ifndef HYBRID_INDEX_STOPPING_H
#define HYBRID_INDEX_STOPPING_H

#include "core/tail.h"

#include "index/scan/frontier.h"
#include "index/scan/lookup.h"

#define HYBRID_LISTS_MOST 256 /* maximum number of lists examined between two checks */

/*
 * HybridStopping: state for one search. Distances are in the unit of the estimates. For u and cosines,
 * see frontier.c.
 */
typedef struct HybridStopping
{
	float *sample; /* u of the rows in the sample */
	int sampled;
	HybridOutliers outliers; /* outliers in the sample; its field `rows` is not used */
	double noise;            /* sum of the variances that the codes add to the values of u */
	HyTail tail;             /* tail of the sample at the last check */
	/* rows nearer than the k-th best of that time that were expected in the lists examined */
	double expected;
	double found;                 /* number of such rows found in these lists */
	int taken[HYBRID_LISTS_MOST]; /* lists that were examined last */
	int taken_count;
	int lately; /* number of the k best rows that were found in the last third of the rows scored */
	int in_half;    /* the same for the last half */
	bool copies;    /* more than half of the k best rows are copies of one row */
	double rest;    /* number of rows expected in all other lists */
	bool estimated; /* `rest` is set */
	bool ended;     /* `rest` is so small that the search ended */
	double allowed; /* value of `rest` at which the search may end */
	bool all;       /* the search examines all lists: see hybrid_stopping_reads_all */
	int64 look;     /* number of lists examined from which on that is decided again */
	/* the first lists, from which the difficulty of the query is computed, and sums over them */
	int near;            /* number of these lists */
	double near_middle;  /* sum of middle * inverse */
	double near_inverse; /* sum of inverse */
	double near_reach;   /* sum of the squared distances */
	double near_radius;  /* sum of the squared radii */
} HybridStopping;

/* hybrid_stopping_init: allocate memory in the current memory context, and clear the state. */
extern void hybrid_stopping_init(HybridStopping *stopping);

/* hybrid_stopping_clear: clear the state for another search. */
extern void hybrid_stopping_clear(HybridStopping *stopping);

/*
 * hybrid_stopping_list: prepare for the first examination of a list. Returns the number of its blocks
 * that must be scored in full and passed to hybrid_stopping_rows.
 */
extern int
hybrid_stopping_list(HybridStopping *stopping, const HybridFrontier *frontier, int which);

/*
 * hybrid_stopping_rows: add the live rows of a block of that list to the sample. `estimates` has the
 * distances estimated from their codes.
 */
extern void hybrid_stopping_rows(HybridStopping *stopping, const HybridFrontier *frontier,
                                 int which, const HybridBlock *block, const float *estimates);

/* hybrid_stopping_took: record the lists that are about to be examined. */
extern void hybrid_stopping_took(HybridStopping *stopping, const int *lists, int count);

/*
 * hybrid_stopping_compare: record that those lists had `found` rows nearer than `limit`, the k-th best,
 * and compute how many were expected. Fits the tail to the whole sample.
 */
extern void hybrid_stopping_compare(HybridStopping *stopping, const HybridFrontier *frontier,
                                    float limit, int k, int found);

/*
 * hybrid_stopping_enough: test whether the search may end. *beyond is set to the number of rows that may
 * remain expected in lists that are not examined. Afterwards, the frontier's lists are ordered by the
 * number of rows expected in each.
 */
extern bool hybrid_stopping_enough(HybridStopping *stopping, HybridFrontier *frontier, float limit,
                                   int k, const HybridLookupWork *work, double *beyond);

/*
 * hybrid_stopping_reads_all: after hybrid_stopping_enough, test whether the search examines all lists, in the order of
 * the file: it needs nearly all of them, but few have a row that satisfies the conditions on words. Once it is true, it
 * remains so.
 */
extern bool hybrid_stopping_reads_all(HybridStopping *stopping, const HybridFrontier *frontier,
                                      int k, const HybridLookupWork *work);

/*
 * hybrid_stopping_missing: return the estimated number of rows that the search misses, as of the last
 * check.
 */
extern double hybrid_stopping_missing(const HybridStopping *stopping, const HybridLookupWork *work);

/*
 * hybrid_stopping_least_rows: return the number of rows that a search scores at least, in an index of `rows` rows
 * that has no curve, or an outdated one.
 */
extern double hybrid_stopping_least_rows(const HybridTree *tree, int dims, double rows);

/* hybrid_stopping_difficulty: do the work of hybrid_lookup_difficulty; limit is the k-th best distance. */
extern int hybrid_stopping_difficulty(const HybridStopping *stopping, float limit);

/* hybrid_stopping_nearness: do the work of hybrid_lookup_nearness. */
extern float
hybrid_stopping_nearness(const HybridStopping *stopping, const HybridFrontier *frontier);

#endif
