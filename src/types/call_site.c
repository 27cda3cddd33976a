/*
 * call_site.c
 *		State that a distance function keeps for one call site: see call_site.h.
 */
#include "postgres.h"

#include "types/call_site.h"

HybridCallSite *
hybrid_call_site(FunctionCallInfo fcinfo)
{
	FmgrInfo *function = fcinfo->flinfo;

	if (function == NULL)
		return NULL;
	if (function->fn_extra == NULL)
	{
		HybridCallSite *call = MemoryContextAllocZero(function->fn_mcxt, sizeof(HybridCallSite));

		hybrid_recurring_init(&call->recurring, function);
		function->fn_extra = call;
	}
	return (HybridCallSite *) function->fn_extra;
}
