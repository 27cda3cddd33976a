/*
 * shortest_path.c
 *		hybrid_shortest_path: the shortest path from one node to another.
 */
#include "postgres.h"

#include "core/path.h"
#include "graph/arguments.h"
#include "graph/call.h"
#include "server/report.h"

PG_FUNCTION_INFO_V1(hybrid_shortest_path);

enum PathArgument
{
	GRAPH_ARGUMENT,
	SOURCE_ARGUMENT,
	TARGET_ARGUMENT,
	WEIGHTED_ARGUMENT,
	DIRECTION_ARGUMENT,
	TYPES_ARGUMENT,
	PARAMS_ARGUMENT
};

Datum
hybrid_shortest_path(PG_FUNCTION_ARGS)
{
	static const HybridArguments arguments = {GRAPH_ARGUMENT, TYPES_ARGUMENT, PARAMS_ARGUMENT};
	HybridCall call;
	int64 source;
	int64 target;
	bool weighted;
	HyPath path;
	int64 i;

	hybrid_call_begin(&call, fcinfo);
	hybrid_require_argument(fcinfo, SOURCE_ARGUMENT, "source");
	hybrid_require_argument(fcinfo, TARGET_ARGUMENT, "target");
	weighted = hybrid_flag_argument(fcinfo, WEIGHTED_ARGUMENT, "weighted");
	/* of parallel edges, a path takes the shortest */
	hybrid_call_open(&call, &arguments, hybrid_call_direction(&call, DIRECTION_ARGUMENT),
	                 HY_MERGE_LEAST);
	/* memory for each node: the arrays next, heap, distance and place in core, and the path */
	hybrid_call_reserve(&call, 4 * sizeof(uint32) + 2 * sizeof(double), 0);
	source = hy_csr_find(call.csr, PG_GETARG_INT64(SOURCE_ARGUMENT));
	target = hy_csr_find(call.csr, PG_GETARG_INT64(TARGET_ARGUMENT));
	if (source < 0 || target < 0)
		return hybrid_call_end(&call);

	path.step = hybrid_call_array(&call, call.csr->nodes, sizeof(uint32));
	path.cost = hybrid_call_array(&call, call.csr->nodes, sizeof(double));
	hybrid_check(hy_path(call.csr, (uint32) source, (uint32) target, weighted, &call.allocator,
	                     &hybrid_cancel, &path),
	             "find a path");
	for (i = 0; i < path.steps; i++)
	{
		Datum values[] = {Int32GetDatum((int32) i), Int64GetDatum(call.csr->ids[path.step[i]]),
		                  Float8GetDatum(path.cost[i])};

		hybrid_call_row(&call, values);
	}
	return hybrid_call_end(&call);
}
