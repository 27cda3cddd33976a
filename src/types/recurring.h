/*
 * recurring.h
 *		Recognizes the argument that stays the same from call to call, and keeps results
 *		computed from it.
 *
 * A query often computes the distances of many rows to one value. Intermediate results that depend only on that
 * value, such as its norm or its elements as floats, are computed once.
 *
 * A constant of the query certainly stays the same. A parameter or the result of a subquery may be the same if
 * it has the same address as in the previous call. But the address may also hold another value: PL/pgSQL keeps
 * the state of an expression while its variables change. So an argument that is not a constant is also compared
 * with a copy.
 */
#ifndef HYBRID_RECURRING_H
#define HYBRID_RECURRING_H

#include "fmgr.h"

/*
 * HybridRecurringArgument: the state of one call site. It lives as long as the call site's
 * FmgrInfo.
 */
typedef struct HybridRecurringArgument
{
	MemoryContext context;
	int constant;         /* number of the argument that is a constant, or -1 */
	const void *last[2];  /* address of each argument in the previous call */
	struct varlena *copy; /* value from which floats and norm_sq were computed; NULL at first */
	Size room;            /* bytes allocated for copy */
	float *floats;
	int length;  /* elements allocated for floats */
	bool normed; /* whether norm_sq is valid */
	float norm_sq;
} HybridRecurringArgument;

/* hybrid_recurring_init: initialize the state at the first call of a function. */
extern void hybrid_recurring_init(HybridRecurringArgument *recurring, const FmgrInfo *function);

/*
 * hybrid_recurring_argument: return the number of the argument that is a constant or has the same address as in
 * the previous call, or -1 if there is none. a and b are the detoasted arguments.
 */
extern int
hybrid_recurring_argument(HybridRecurringArgument *recurring, const void *a, const void *b);

/*
 * hybrid_recurring_known: return whether floats and norm_sq were computed from this value. If not,
 * the function copies the value, which becomes the known value, and sets normed to false. The
 * caller then fills floats, which has space for length elements.
 */
extern bool
hybrid_recurring_known(HybridRecurringArgument *recurring, const void *value, int length);

#endif
