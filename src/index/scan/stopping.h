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
 * HybridStopping: state for one search. Distances are in the unit of the estimates from codes. frontier.c
 * defines u and the cosines.
 */
typedef struct HybridStopping
{
	float *sample; /* u of the rows in the sample */
	int sampled;
	HybridOutliers outliers; /* outliers in the sample; its field `rows` is not used */
	double noise;            /* sum of the variances that the codes add to the values of u */
	HyTail tail;             /* tail of the sample at the last check */
	/* over all checks: number of rows expected in the lists examined that are nearer than the k-th best at that time */
	double expected;
	double found;                 /* number of these rows that were found */
	int taken[HYBRID_LISTS_MOST]; /* lists that were examined last */
	int taken_count;
	int lately; /* number of the k best rows that were found in the last third of the rows scored */
	int in_half; /* number of the k best rows that were found in the last half of the rows scored */
	bool copies; /* more than half of the k best rows are copies of one row */
	double rest; /* number of near rows expected in the lists not examined yet */
	bool estimated; /* `rest` is set */
	bool ended;     /* `rest` is so small that the search ended */
	double allowed; /* greatest value of `rest` at which the search may end */
	bool all;       /* the search examines all lists: see hybrid_stopping_reads_all */
	int64 look;     /* number of examined lists at which `all` is decided again */
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
 * hybrid_stopping_list: prepare for the first examination of a list. Returns the number of blocks at its
 * beginning that must be scored in full and passed to hybrid_stopping_rows. If this is not 0, so must the
 * list's last block.
 */
extern int
hybrid_stopping_list(HybridStopping *stopping, const HybridFrontier *frontier, int which);

/*
 * hybrid_stopping_rows: add the live rows of a block of list number `which` to the sample. `estimates` has the
 * distances estimated from the rows' codes.
 */
extern void hybrid_stopping_rows(HybridStopping *stopping, const HybridFrontier *frontier,
                                 int which, const HybridBlock *block, const float *estimates);

/* hybrid_stopping_took: record the lists that are about to be examined. */
extern void hybrid_stopping_took(HybridStopping *stopping, const int *lists, int count);

/*
 * hybrid_stopping_compare: record that the lists of hybrid_stopping_took had `found` of the k best rows,
 * and add the number expected there. `limit` is the distance of the k-th best row. Fits the tail to the
 * whole sample first.
 */
extern void hybrid_stopping_compare(HybridStopping *stopping, const HybridFrontier *frontier,
                                    float limit, int k, int found);

/*
 * hybrid_stopping_enough: test whether the search may end. Sets *beyond to the number of near rows that
 * may still be expected in the lists not examined; it is negative if the search must go on in any case.
 * Afterwards, the frontier's lists are ordered by the share of their rows that is expected to be near.
 */
extern bool hybrid_stopping_enough(HybridStopping *stopping, HybridFrontier *frontier, float limit,
                                   int k, const HybridLookupWork *work, double *beyond);

/*
 * hybrid_stopping_reads_all: test whether the search should examine all lists, in the order of the file, because it
 * needs most lists, but few of them have a row that satisfies the conditions on words. Call it after
 * hybrid_stopping_enough. Once the result is true, it remains true.
 */
extern bool hybrid_stopping_reads_all(HybridStopping *stopping, const HybridFrontier *frontier,
                                      int k, const HybridLookupWork *work);

/*
 * hybrid_stopping_missing: return the estimated number of rows that the search misses, as of the last
 * check.
 */
extern double hybrid_stopping_missing(const HybridStopping *stopping, const HybridLookupWork *work);

/*
 * hybrid_stopping_least_rows: return the minimum number of rows that a search scores in an index of `rows` rows that
 * has no curve, or an outdated one. Returns 0 in fewer than HYBRID_CLEAR dimensions, where there is no such minimum.
 */
extern double hybrid_stopping_least_rows(const HybridTree *tree, int dims, double rows);

/* hybrid_stopping_difficulty: do the work of hybrid_lookup_difficulty. `limit` is the distance of the k-th best row. */
extern int hybrid_stopping_difficulty(const HybridStopping *stopping, float limit);

/* hybrid_stopping_nearness: do the work of hybrid_lookup_nearness. */
extern float
hybrid_stopping_nearness(const HybridStopping *stopping, const HybridFrontier *frontier);

#endif
