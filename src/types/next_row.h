/*
 * next_row.h
 *		Having the row that comes next on its way while a function works on this one.
 *
 * A function of two values that is called row after row keeps a HybridNextRow for as long as the query
 * runs, and tells it the values of each call.
 */
#ifndef HYBRID_NEXT_ROW_H
#define HYBRID_NEXT_ROW_H

#include "fmgr.h"

#include "core/look_ahead.h"

/* What comes before the value in its row, and is read first. */
#define HYBRID_ROW_HEAD HY_CACHE_LINE

/* HybridNextRow: all zero before the first call. */
typedef struct HybridNextRow
{
	HyLookAhead ahead[2]; /* of each argument */
	uintptr_t next[2];    /* where its next value is expected, or 0 */
} HybridNextRow;

/* hybrid_expect_rows: these are the arguments, detoasted where need be, of this call. */
static inline void
hybrid_expect_rows(HybridNextRow *row, FunctionCallInfo fcinfo, const void *a, const void *b)
{
	/* a detoasted copy lies anywhere */
	row->next[0] = a == PG_GETARG_POINTER(0) ? hy_look_ahead(&row->ahead[0], a) : 0;
	row->next[1] = b == PG_GETARG_POINTER(1) ? hy_look_ahead(&row->ahead[1], b) : 0;
}

/* hybrid_fetch_rows: asks for the bytes from .. to - 1 of the expected values, 0 with what is before. */
static inline void
hybrid_fetch_rows(const HybridNextRow *row, Size from, Size to)
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
