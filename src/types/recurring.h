/*
 * recurring.h
 *		The one of two arguments that is the same in call after call, and what was made of it.
 *
 * A query computes the distances of many rows to one value.  What a distance needs of that value, be
 * it its norm or its elements as floats, is made once.
 *
 * A constant of the query is sure to be the same.  A parameter, or what a subquery returned, only
 * looks like it when it lies where it lay in the call before, for its successor may lie there, too: an
 * expression of PL/pgSQL is kept, with all that it remembers, while its variables change.  So it is
 * compared with a copy.
 */
#ifndef HYBRID_RECURRING_H
#define HYBRID_RECURRING_H

#include "fmgr.h"

/* HybridRecurring: lives as long as the function's place in the query. */
typedef struct HybridRecurring
{
	MemoryContext context;
	int constant;         /* the argument that is a constant, or -1 */
	const void *last[2];  /* where each was in the call before */
	struct varlena *copy; /* what floats and norm_sq belong to; NULL: nothing yet */
	Size room;            /* bytes of it */
	float *floats;
	int length;  /* floats that there is room for */
	bool normed; /* norm_sq is known */
	float norm_sq;
} HybridRecurring;

/* hybrid_recurring_init: at the first call of a function. */
extern void hybrid_recurring_init(HybridRecurring *recurring, const FmgrInfo *function);

/* hybrid_recurring_argument: which of this call's arguments, detoasted, may be the one; -1: none. */
extern int hybrid_recurring_argument(HybridRecurring *recurring, const void *a, const void *b);

/*
 * hybrid_recurring_known: whether that argument is what floats and norm_sq belong to.  If not, it is
 * from now on: the caller fills floats, of which there is room for length, and norm_sq is not known.
 */
extern bool hybrid_recurring_known(HybridRecurring *recurring, const void *value, int length);

#endif
