/*
 * call.h
 *		One place in a query where distances are computed, for as long as the query runs.
 *
 * What it remembers from row to row saves time: where the next row will lie (next_row.h), and what was
 * made of the value that is always the same (recurring.h).
 */
#ifndef HYBRID_CALL_H
#define HYBRID_CALL_H

#include "fmgr.h"

#include "types/next_row.h"
#include "types/recurring.h"

typedef struct HybridCall
{
	HybridNextRow row;
	HybridRecurring recurring;
} HybridCall;

/* hybrid_call_of: NULL where the function is called without a place of its own. */
extern HybridCall *hybrid_call_of(FunctionCallInfo fcinfo);

#endif
