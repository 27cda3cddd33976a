/*
 * communities.c
 *		hybrid_communities: groups of nodes with more edges inside a group than to other nodes.
 */
#include "postgres.h"

#include <float.h>

#include "core/label_propagation.h"
#include "core/leiden.h"
#include "graph/arguments.h"
#include "graph/call.h"
#include "server/report.h"

PG_FUNCTION_INFO_V1(hybrid_communities);

enum CommunitiesArgument
{
	GRAPH_ARGUMENT,
	METHOD_ARGUMENT,
	RESOLUTION_ARGUMENT,
	SEED_ARGUMENT,
	TYPES_ARGUMENT,
	PARAMS_ARGUMENT
};

/* Bytes that each method in core needs for each node and for each entry of the graph. */
#define LEIDEN_NODE_BYTES (10 * sizeof(uint32) + 6 * sizeof(double) + sizeof(bool))
#define LEIDEN_EDGE_BYTES (2 * (sizeof(uint32) + sizeof(double)))
#define LABELS_NODE_BYTES (2 * sizeof(uint32) + sizeof(double) + sizeof(bool))

Datum
hybrid_communities(PG_FUNCTION_ARGS)
{
	static const HybridWords methods = {{"leiden", "label_propagation"},
	                                    "Methods are \"leiden\" and \"label_propagation\"."};
	static const HybridArguments arguments = {GRAPH_ARGUMENT, TYPES_ARGUMENT, PARAMS_ARGUMENT};
	static const HybridRange finite = {0, DBL_MAX, .words = "finite and >= 0"};
	HybridCall call;
	bool leiden;
	double resolution;
	double modularity;
	uint64 seed;
	uint32 *community;
	int64 i;
	HyStatus status;

	hybrid_call_begin(&call, fcinfo);
	leiden = hybrid_word_argument(fcinfo, METHOD_ARGUMENT, "method", &methods) == 0;
	resolution = hybrid_number_argument(fcinfo, RESOLUTION_ARGUMENT, "resolution", &finite);
	hybrid_require_argument(fcinfo, SEED_ARGUMENT, "seed");
	seed = (uint64) PG_GETARG_INT64(SEED_ARGUMENT);
	hybrid_call_open(&call, &arguments, HY_DIRECTION_BOTH, HY_MERGE_SUM);
	hybrid_call_reserve(&call, sizeof(uint32) + (leiden ? LEIDEN_NODE_BYTES : LABELS_NODE_BYTES),
	                    leiden ? LEIDEN_EDGE_BYTES : 0);
	community = hybrid_call_array(&call, call.csr->nodes, sizeof(uint32));
	if (leiden)
		status = hy_leiden(call.csr, resolution, seed, &call.allocator, &hybrid_cancel, community,
		                   &modularity);
	else
		status = hy_label_propagation(call.csr, seed, &call.allocator, &hybrid_cancel, community);
	hybrid_check(status, "find the communities");
	for (i = 0; i < call.csr->nodes; i++)
	{
		Datum values[] = {Int64GetDatum(call.csr->ids[i]),
		                  Int64GetDatum(call.csr->ids[community[i]])};

		hybrid_call_row(&call, values);
	}
	return hybrid_call_end(&call);
}
