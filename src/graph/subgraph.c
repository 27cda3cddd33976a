/*
 * subgraph.c
 *		hybrid_subgraph: the edges between the nodes within a number of hops of given nodes.
 *
 * A graph does not hold the types of its edges. If the edges have types, they are read a second time after
 * the nodes are found. The edges between the found nodes are then sorted (typed_edges.h).
 */
#include "postgres.h"

#include "graph/reached.h"
#include "graph/typed_edges.h"
#include "miscadmin.h"

PG_FUNCTION_INFO_V1(hybrid_subgraph);

#define COLUMNS 4 /* source, target, weight, type */

/* Subgraph: a call whose edges are read again. */
typedef struct Subgraph
{
	HybridReached reached;
	HybridTypedEdges edges;
} Subgraph;

static void answer_untyped(HybridReached *reached);
static void take_edge(void *arg, const HyEdge *edge, text *type);

Datum
hybrid_subgraph(PG_FUNCTION_ARGS)
{
	Subgraph subgraph;
	HybridCall *call = &subgraph.reached.call;
	HybridEdgesQuery query;

	hybrid_reached_find(fcinfo, &subgraph.reached);
	query = hybrid_call_query(call, &hybrid_reached_arguments);
	query.take = take_edge;
	query.take_arg = &subgraph;
	hybrid_typed_edges_begin(&subgraph.edges, call);
	if (hybrid_graph_read_types(call->graph, &query))
		hybrid_typed_edges_answer(&subgraph.edges, call);
	else
		answer_untyped(&subgraph.reached);
	hybrid_typed_edges_end(&subgraph.edges);
	return hybrid_call_end(call);
}

/* answer_untyped: store the entries of the graph between nodes that are reached. */
static void
answer_untyped(HybridReached *reached)
{
	static const bool nulls[COLUMNS] = {false, false, false, true};
	const int32 *hop = reached->nodes.hop;
	const HyCsr *csr = reached->call.csr;
	int64 source;
	int64 i;

	for (source = 0; source < csr->nodes; source++)
	{
		CHECK_FOR_INTERRUPTS();
		for (i = csr->out_start[source]; hop[source] >= 0 && i < csr->out_start[source + 1]; i++)
		{
			uint32 target = csr->out_row[i];
			Datum values[COLUMNS] = {Int64GetDatum(csr->ids[source]),
			                         Int64GetDatum(csr->ids[target])};

			if (hop[target] < 0)
				continue;
			values[2] = Float4GetDatum(csr->weight[hy_csr_entry(csr, target, source)]);
			hybrid_call_row_with_nulls(&reached->call, values, nulls);
		}
	}
}

/* take_edge: keep an edge between nodes that are reached. */
static void
take_edge(void *arg, const HyEdge *edge, text *type)
{
	Subgraph *subgraph = arg;
	const int32 *hop = subgraph->reached.nodes.hop;
	int64 source = hy_csr_find(subgraph->reached.call.csr, edge->source);
	int64 target = hy_csr_find(subgraph->reached.call.csr, edge->target);

	if (source >= 0 && target >= 0 && hop[source] >= 0 && hop[target] >= 0)
		hybrid_typed_edges_add(&subgraph->edges, edge, type);
}
