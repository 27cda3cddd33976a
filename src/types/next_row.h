/*
 * next_row.h
 *		Prefetches the next row while a function works on the current one.
 *
 * A function of two values that is called row after row keeps a HybridPrefetch while the query
 * runs. It passes the values of each call to hybrid_prefetch_predict.
 */
#ifndef HYBRID_NEXT_ROW_H
#define HYBRID_NEXT_ROW_H

#include "fmgr.h"

#include "core/look_ahead.h"

/* bytes of a row that precede the value; they are read first */
#define HYBRID_ROW_HEAD HY_CACHE_LINE

/* HybridPrefetch: the predictions for both arguments. All zero before the first call. */
typedef struct HybridPrefetch
{
	HyLookAhead ahead[2]; /* access pattern of each argument */
	uintptr_t next[2];    /* address at which the next value of each argument is expected, or 0 */
} HybridPrefetch;

/*
 * hybrid_prefetch_predict: record the addresses of the detoasted arguments a and b of this call,
 * and predict those of the next call.
 */
static inline void
hybrid_prefetch_predict(HybridPrefetch *row, FunctionCallInfo fcinfo, const void *a, const void *b)
{
	/* the address of a detoasted copy does not help to predict the next row */
	row->next[0] = a == PG_GETARG_POINTER(0) ? hy_look_ahead(&row->ahead[0], a) : 0;
	row->next[1] = b == PG_GETARG_POINTER(1) ? hy_look_ahead(&row->ahead[1], b) : 0;
}

/*
 * hybrid_prefetch: prefetch bytes from .. to - 1 of the expected values. If from is 0, prefetch
 * the bytes before each value, too.
 */
static inline void
hybrid_prefetch(const HybridPrefetch *row, Size from, Size to)
{
	int i;

	for (i = 0; i < 2; i++)
	{
		if (row->next[i] != 0)
			hy_fetch(row->next[i] + from - (from == 0 ? HYBRID_ROW_HEAD : 0),
			         to - from + (from == 0 ? HYBRID_ROW_HEAD : 0));
	}
}

#endif
