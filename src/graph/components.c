/*
 * components.c
 *		hybrid_components: which nodes are connected.
 */
#include "postgres.h"

#include "core/components.h"
#include "graph/call.h"
#include "server/report.h"

PG_FUNCTION_INFO_V1(hybrid_components);

enum ComponentsArgument
{
	GRAPH_ARGUMENT,
	TYPES_ARGUMENT,
	PARAMS_ARGUMENT
};

Datum
hybrid_components(PG_FUNCTION_ARGS)
{
	static const HybridArguments arguments = {GRAPH_ARGUMENT, TYPES_ARGUMENT, PARAMS_ARGUMENT};
	HybridCall call;
	uint32 *component;
	int64 i;

	hybrid_call_begin(&call, fcinfo);
	hybrid_call_open(&call, &arguments, HY_DIRECTION_OUT, HY_MERGE_SUM);
	hybrid_call_reserve(&call, sizeof(uint32), 0);
	component = hybrid_call_array(&call, call.csr->nodes, sizeof(uint32));
	hybrid_check(hy_components(call.csr, &hybrid_cancel, component), "find the components");
	for (i = 0; i < call.csr->nodes; i++)
	{
		Datum values[] = {Int64GetDatum(call.csr->ids[i]),
		                  Int64GetDatum(call.csr->ids[component[i]])};

		hybrid_call_row(&call, values);
	}
	return hybrid_call_end(&call);
}
