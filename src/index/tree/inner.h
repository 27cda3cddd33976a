/*
 * inner.h
 *		Inner lists as this backend remembers them.
 *
 * Every search goes through all inner lists, which seldom change.  What it needs of them to put the lists
 * below in order is kept in the backend's own memory, in one piece, and used again as long as the
 * list's counter of changes stands still.  Centroids are read from the index when they are needed, and
 * kept, too, where there are not too many.
 */
#ifndef HYBRID_INDEX_INNER_H
#define HYBRID_INDEX_INNER_H

#include "index/tree/scorer.h"

/* HybridInner: the live entries of an inner list as of one moment. */
typedef struct HybridInner
{
	HybridLink link;
	int count;
	int blocks; /* of codes: count entries, packed */
	uint8 *codes;
	HyCodeFactors *factors;
	float *radii;
	float *rows; /* that the lists below have, about */
	HybridLink *below;
	HybridPlace *at; /* of centroids */
	/* centroids, as they are stored, of those entries that `kept` says; NULL: none is kept */
	char *centroids;
	HybridStored *stored;
	bool *kept;
} HybridInner;

/* HybridInnerSet: those that a search uses, which stay as they are until it has done with them. */
typedef struct HybridInnerSet
{
	MemoryContext context;
	MemoryContextCallback end;
	const HybridInner **items;
	int count;
	int allocated;
} HybridInnerSet;

/* hybrid_inner_set_init: an empty one; what is in it is given back when context goes. */
extern void hybrid_inner_set_init(HybridInnerSet *set, MemoryContext context);

/* hybrid_inner_set_add: a list comes last in set; raises what hybrid_list_read does. */
extern const HybridInner *hybrid_inner_set_add(HybridInnerSet *set, const HybridScorer *scorer,
                                               const HybridLink *list, int level);

/* hybrid_inner_set_clear: gives all back. */
extern void hybrid_inner_set_clear(HybridInnerSet *set);

/*
 * hybrid_inner_score: estimates and lower bounds of the bases of the lists below, of an inner list whose centroid is
 * so far away; there is room for blocks * HY_CODE_ROWS of each. estimates NULL: nobody asks for them.
 */
extern void
hybrid_inner_score(HybridScorer *scorer, const HybridInner *inner, const HybridReach *reach,
                   float eps, float *estimates, float *lowers);

/*
 * hybrid_inner_reach: how far the centroid of an entry is, of an inner list of this level; copy, unless
 * NULL: dims floats that become the centroid.
 */
extern HybridReach hybrid_inner_reach(HybridScorer *scorer, const HybridInner *inner, int level,
                                      int entry, float *copy);

#endif
