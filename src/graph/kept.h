/*
 * kept.h
 *		The graph that a call site keeps.
 *
 * SELECT ... FROM seeds, LATERAL hybrid_spread('SELECT ...', seeds.ids) calls the function for each
 * row.  The place in the query where it is called (an FmgrInfo, which lives as long as the query
 * runs) keeps the last graph, and the next call finds it where it would read the same edges.
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

/* HybridGraph: a graph, and what was made of it for the last decay and fan. */
typedef struct HybridGraph
{
	HyCsr csr;
	double decay;
	double fan;
	double *gain; /* NULL: there is no room for it yet */
	bool gained;  /* gain is of decay and fan */
	bool normed;  /* converges and norm, too */
	bool converges;
	double norm;
	MemoryContext context; /* all of it is there */
	StringInfo key;        /* what it was read under */
	uint64 number;         /* among those that this process has kept; 0: it is not kept */

	/* device.c: how it lies on a device, once it was sent to one */
	bool is_packed;
	HyPackedGraph packed;
	MemoryContextCallback forget;
} HybridGraph;

/*
 * hybrid_graph_of: the graph of these edges: the one that the call site keeps, or one that is built
 * now.  In the latter case it lives as the current memory context does, or, if the call site keeps
 * it, until the next call.
 */
extern HybridGraph *hybrid_graph_of(FunctionCallInfo fcinfo, const HybridEdgesQuery *query);

/* hybrid_graph_gain: as hy_spread_gain has it. */
extern const double *hybrid_graph_gain(HybridGraph *graph, double decay, double fan);

/* hybrid_graph_converges: as hy_spread_converges has it. */
extern bool hybrid_graph_converges(HybridGraph *graph, const HySpreadParams *params, double *norm);

#endif
