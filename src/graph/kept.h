/*
 * kept.h
 *		The graph that a call site keeps from call to call.
 *
 * SELECT ... FROM seeds, LATERAL hybrid_spread('SELECT ...', seeds.ids) calls the function for each
 * row. The call site (an FmgrInfo, which lives as long as the query runs) keeps the last graph. The
 * next call reuses that graph if it would read the same edges.
 */
#ifndef HYBRID_GRAPH_KEPT_H
#define HYBRID_GRAPH_KEPT_H

#include "postgres.h"
#include "fmgr.h"
#include "lib/stringinfo.h"

#include "core/csr.h"
#include "core/packed_graph.h"
#include "core/spread.h"
#include "graph/edges.h"

/* HybridGraph: a graph, with the results computed from it for the last decay and fan. */
typedef struct HybridGraph
{
	HyCsr csr;
	double decay;
	double fan;
	double *gain; /* gain of each node; NULL until allocated */
	bool gained;  /* whether gain is valid for decay and fan */
	bool normed;  /* whether converges and norm are valid for decay and fan */
	bool converges;
	double norm;
	MemoryContext context; /* memory context of the whole graph */
	StringInfo key;        /* key under which the edges were read */
	uint64 number;         /* serial number among the graphs kept by this process; 0 if not kept */

	/* used by device.c: the layout on a device, valid after the graph has been packed */
	bool is_packed;
	HyPackedGraph packed;
	MemoryContextCallback forget;
} HybridGraph;

/*
 * hybrid_graph_of: return the graph of these edges, either the kept graph of the call site or a new
 * one. A new graph lives in the current memory context. If the call site keeps the graph, it lives
 * until the next call.
 */
extern HybridGraph *hybrid_graph_of(FunctionCallInfo fcinfo, const HybridEdgesQuery *query);

/* hybrid_graph_gain: return the result of hy_spread_gain for this decay and fan. */
extern const double *hybrid_graph_gain(HybridGraph *graph, double decay, double fan);

/* hybrid_graph_converges: return the results of hy_spread_converges for these parameters. */
extern bool hybrid_graph_converges(HybridGraph *graph, const HySpreadParams *params, double *norm);

#endif
