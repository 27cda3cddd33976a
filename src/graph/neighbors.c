/*
 * neighbors.c
 *		hybrid_neighbors: the nodes within a number of hops; and hybrid_subgraph: the edges between
 *		them.
 */
#include "postgres.h"

#include "core/reach.h"
#include "graph/arguments.h"
#include "graph/call.h"
#include "miscadmin.h"
#include "server/report.h"

PG_FUNCTION_INFO_V1(hybrid_neighbors);
PG_FUNCTION_INFO_V1(hybrid_subgraph);

enum NeighborsArgument
{
	GRAPH_ARGUMENT,
	NODES_ARGUMENT,
	HOPS_ARGUMENT,
	DIRECTION_ARGUMENT,
	TYPES_ARGUMENT,
	PARAMS_ARGUMENT
};

/* Reached: the nodes within the hops that the arguments ask for. */
typedef struct Reached
{
	HybridCall call;
	HyReached nodes;
} Reached;

static void find_reached(FunctionCallInfo fcinfo, Reached *reached);

Datum
hybrid_neighbors(PG_FUNCTION_ARGS)
{
	Reached reached;
	int64 i;

	find_reached(fcinfo, &reached);
	for (i = 0; i < reached.nodes.count; i++)
	{
		uint32 node = reached.nodes.order[i];
		Datum values[] = {Int64GetDatum(reached.call.csr->ids[node]),
		                  Int32GetDatum(reached.nodes.hop[node])};

		hybrid_call_row(&reached.call, values);
	}
	return hybrid_call_end(&reached.call);
}

Datum
hybrid_subgraph(PG_FUNCTION_ARGS)
{
	Reached reached;
	const HyCsr *csr;
	int64 *next;
	int64 source;
	int64 i;

	find_reached(fcinfo, &reached);
	csr = reached.call.csr;
	/* next[i]: the next entry of row i to store; both the row and this loop ascend by source */
	next = hybrid_call_array(&reached.call, csr->nodes, sizeof(int64));
	memcpy(next, csr->row_start, sizeof(int64) * (Size) csr->nodes);
	for (source = 0; source < csr->nodes; source++)
	{
		for (i = csr->out_start[source]; i < csr->out_start[source + 1]; i++)
		{
			uint32 target = csr->out_row[i];
			int64 entry = next[target]++;

			CHECK_FOR_INTERRUPTS();
			if (reached.nodes.hop[source] >= 0 && reached.nodes.hop[target] >= 0)
			{
				Datum values[] = {Int64GetDatum(csr->ids[source]), Int64GetDatum(csr->ids[target]),
				                  Float4GetDatum(csr->weight[entry])};

				hybrid_call_row(&reached.call, values);
			}
		}
	}
	return hybrid_call_end(&reached.call);
}

static void
find_reached(FunctionCallInfo fcinfo, Reached *reached)
{
	static const HybridArguments arguments = {GRAPH_ARGUMENT, TYPES_ARGUMENT, PARAMS_ARGUMENT};
	HybridCall *call = &reached->call;
	HyDirection direction;
	int64 hops = HY_REACH_UNLIMITED;
	HyReachStarts starts;

	hybrid_call_begin(call, fcinfo);
	direction = hybrid_call_direction(call, DIRECTION_ARGUMENT);
	if (!PG_ARGISNULL(HOPS_ARGUMENT))
	{
		hops = PG_GETARG_INT32(HOPS_ARGUMENT);
		if (hops < 0)
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			                errmsg("hops must be at least 0, not " INT64_FORMAT, hops),
			                errhint("NULL means any number of hops.")));
	}
	/* hy_reach can follow the edges of this graph in either direction */
	hybrid_call_open(call, &arguments, HY_DIRECTION_OUT, HY_MERGE_SUM);
	starts.node = hybrid_call_nodes(call, NODES_ARGUMENT, "nodes", &starts.count);
	hybrid_call_reserve(call, sizeof(int32) + sizeof(uint32) + 2 * sizeof(int64), 0);
	reached->nodes.hop = hybrid_call_array(call, call->csr->nodes, sizeof(int32));
	reached->nodes.order = hybrid_call_array(call, call->csr->nodes, sizeof(uint32));
	hybrid_check(hy_reach(call->csr, direction, &starts, hops, &call->allocator, &hybrid_cancel,
	                      &reached->nodes),
	             "search the graph");
}
