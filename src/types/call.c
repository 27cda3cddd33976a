/*
 * call.c
 *		State that a distance function keeps for one call site: see call.h.
 */
#include "postgres.h"

#include "types/call.h"

HybridCall *
hybrid_call_of(FunctionCallInfo fcinfo)
{
	FmgrInfo *function = fcinfo->flinfo;

	if (function == NULL)
		return NULL;
	if (function->fn_extra == NULL)
	{
		HybridCall *call = MemoryContextAllocZero(function->fn_mcxt, sizeof(HybridCall));

		hybrid_recurring_init(&call->recurring, function);
		function->fn_extra = call;
	}
	return (HybridCall *) function->fn_extra;
}
