/*
 * call_site.h
 *		State that a distance function keeps for one call site while a query runs.
 *
 * The state saves time from row to row. It holds the address where the next row is expected
 * (next_row.h), and results computed from the argument that stays the same (recurring.h).
 */
#ifndef HYBRID_CALL_SITE_H
#define HYBRID_CALL_SITE_H

#include "fmgr.h"

#include "types/next_row.h"
#include "types/recurring.h"

typedef struct HybridCallSite
{
	HybridPrefetch row;
	HybridRecurringArgument recurring;
} HybridCallSite;

/*
 * hybrid_call_site: return the state of this call site, or NULL if the function was called without
 * an FmgrInfo.
 */
extern HybridCallSite *hybrid_call_site(FunctionCallInfo fcinfo);

#endif
