/*
 * reached.c
 *		The nodes within a number of hops: see reached.h.
 */
#include "postgres.h"

#include "graph/arguments.h"
#include "graph/reached.h"
#include "server/report.h"

enum ReachedArgument
{
	GRAPH_ARGUMENT,
	NODES_ARGUMENT,
	HOPS_ARGUMENT,
	DIRECTION_ARGUMENT,
	TYPES_ARGUMENT,
	PARAMS_ARGUMENT
};

const HybridArguments hybrid_reached_arguments = {GRAPH_ARGUMENT, TYPES_ARGUMENT, PARAMS_ARGUMENT};

void
hybrid_reached_find(FunctionCallInfo fcinfo, HybridReached *reached)
{
	HybridCall *call = &reached->call;
	HyDirection direction;
	int64 hops;
	HyReachStarts starts;

	hybrid_call_begin(call, fcinfo);
	direction = hybrid_call_direction(call, DIRECTION_ARGUMENT);
	hops = hybrid_count_argument(fcinfo, HOPS_ARGUMENT, "hops", 0, HY_REACH_UNLIMITED,
	                             "NULL means any number of hops.");
	/* hy_reach can follow the edges of this graph in either direction */
	hybrid_call_open(call, &hybrid_reached_arguments, HY_DIRECTION_OUT, HY_MERGE_SUM);
	starts.node = hybrid_call_nodes(call, NODES_ARGUMENT, "nodes", &starts.count);
	hybrid_call_reserve(call, sizeof(int32) + 2 * sizeof(uint32) + sizeof(int64), 0);
	reached->nodes.hop = hybrid_call_array(call, call->csr->nodes, sizeof(int32));
	reached->nodes.order = hybrid_call_array(call, call->csr->nodes, sizeof(uint32));
	hybrid_check(hy_reach(call->csr, direction, &starts, hops, &call->allocator, &hybrid_cancel,
	                      &reached->nodes),
	             "search the graph");
}
