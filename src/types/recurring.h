/*
 * recurring.h
 *		Recognizes the argument that stays the same in call after call, and keeps results
 *		computed from it.
 *
 * A query computes the distances of many rows to one value. Results that a distance needs of that
 * value, such as its norm or its elements as floats, are computed once.
 *
 * A constant of the query certainly stays the same. A parameter or the result of a subquery may be
 * the same if it has the address that it had in the call before. But another value may have that
 * address, too: PL/pgSQL keeps an expression, with its state, while its variables change. So the
 * value is compared with a copy.
 */
#ifndef HYBRID_RECURRING_H
#define HYBRID_RECURRING_H

#include "fmgr.h"

/* HybridRecurringArgument: the state of one call site. Lives as long as the call site's FmgrInfo. */
typedef struct HybridRecurringArgument
{
	MemoryContext context;
	int constant;         /* number of the argument that is a constant, or -1 */
	const void *last[2];  /* address of each argument in the call before */
	struct varlena *copy; /* value that floats and norm_sq were computed from; NULL at first */
	Size room;            /* bytes allocated for copy */
	float *floats;
	int length;  /* number of elements allocated for floats */
	bool normed; /* whether norm_sq is valid */
	float norm_sq;
} HybridRecurringArgument;

/* hybrid_recurring_init: initialize the state at the first call of a function. */
extern void hybrid_recurring_init(HybridRecurringArgument *recurring, const FmgrInfo *function);

/*
 * hybrid_recurring_argument: return which of this call's detoasted arguments may be the recurring
 * one; -1 if neither.
 */
extern int
hybrid_recurring_argument(HybridRecurringArgument *recurring, const void *a, const void *b);

/*
 * hybrid_recurring_known: return whether floats and norm_sq belong to this value. If not, the value
 * is copied and becomes the known one. The caller then fills floats, which has room for length
 * elements, and normed is false.
 */
extern bool
hybrid_recurring_known(HybridRecurringArgument *recurring, const void *value, int length);

#endif
