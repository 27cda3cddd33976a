/*
 * degree.c
 *		hybrid_degree: the number of neighbors of each node, and the weight of the edges to them.
 *
 * The graph has one entry for each pair of adjacent nodes, so a node has as many neighbors as entries.
 */
#include "postgres.h"

#include "core/csr.h"
#include "graph/call.h"

PG_FUNCTION_INFO_V1(hybrid_degree);

enum DegreeArgument
{
	GRAPH_ARGUMENT,
	DIRECTION_ARGUMENT,
	TYPES_ARGUMENT,
	PARAMS_ARGUMENT
};

Datum
hybrid_degree(PG_FUNCTION_ARGS)
{
	static const HybridArguments arguments = {GRAPH_ARGUMENT, TYPES_ARGUMENT, PARAMS_ARGUMENT};
	HybridCall call;
	const HyCsr *csr;
	int64 i;

	hybrid_call_begin(&call, fcinfo);
	hybrid_call_open(&call, &arguments, hybrid_call_direction(&call, DIRECTION_ARGUMENT),
	                 HY_MERGE_SUM);
	hybrid_call_reserve(&call, 0, 0);
	csr = call.csr;
	for (i = 0; i < csr->nodes; i++)
	{
		Datum values[] = {Int64GetDatum(csr->ids[i]),
		                  Int64GetDatum(csr->out_start[i + 1] - csr->out_start[i]),
		                  Float8GetDatum(csr->out_weight[i])};

		hybrid_call_row(&call, values);
	}
	return hybrid_call_end(&call);
}
