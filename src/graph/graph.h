/*
 * graph.h
 *		The graph over which a graph function computes.
 *
 * The graph of a registered graph is kept with the session's copy of its edges (copy.h). The graph of
 * an edges query is built for one call.
 */
#ifndef HYBRID_GRAPH_GRAPH_H
#define HYBRID_GRAPH_GRAPH_H

#include "postgres.h"
#include "lib/ilist.h"

#include "core/csr.h"
#include "core/csr_patch.h"
#include "core/packed_graph.h"
#include "core/spread.h"
#include "graph/edges.h"

/* HybridGraph: a graph, and results computed from it that later calls may use again. */
typedef struct HybridGraph
{
	HyCsr csr;
	HyOrigins origins; /* origins of the edges; only in a copy of a registered graph (copy.h) */
	double decay;
	double fan;
	bool typed;  /* whether the edges query has a type column */
	bool normed; /* whether converges and norm are valid for decay, fan and normed_hub */
	bool converges;
	double norm;
	double normed_hub;     /* hub exponent for which converges and norm are valid */
	double *hub;           /* divisors of hy_spread_hub for each node; NULL until allocated */
	double hub_exponent;   /* hub exponent for which `hub` is valid; 0: none */
	MemoryContext context; /* memory context of the whole graph */
	uint64 number;         /* serial number among the graphs kept by this process; 0 if not kept */

	/* used by device.c: the layout on a device, valid after the graph has been packed */
	bool is_packed;
	HyPackedGraph packed;
	MemoryContextCallback forget;

	/* used by shared_graphs.c */
	struct SharedGraph *shared; /* owner of the arrays; NULL if this graph owns them */
	uint64 left;                /* number of the shared graph whose copy this is; 0: none */
	dlist_node shared_node;
	MemoryContextCallback withdraw;
} HybridGraph;

/*
 * hybrid_graph_of: return the graph of these edges. The graph is valid until the current memory context is
 * reset or deleted. query->text is an edges query or the name of a registered graph.
 */
extern HybridGraph *hybrid_graph_of(const HybridEdgesQuery *query);

/* hybrid_graph_make: make a graph without nodes in a new child of a memory context. */
extern HybridGraph *hybrid_graph_make(MemoryContext parent);

/*
 * hybrid_graph_build: build a graph in a new child of the current memory context. Frees the arrays of
 * edges.
 */
extern HybridGraph *hybrid_graph_build(HybridEdges *edges, HyDirection direction, HyMerge merge);

/* hybrid_graph_patch: patch a graph that has origins and is kept. On an error, the graph is freed. */
extern void hybrid_graph_patch(HybridGraph *graph, const HyCsrPatch *patch);

/*
 * hybrid_graph_read_types: run the edges query again, and pass each edge with its type to query->take. If
 * there is no type column, returns false without reading edges. graph is the graph of this query.
 */
extern bool hybrid_graph_read_types(const HybridGraph *graph, const HybridEdgesQuery *query);

/* hybrid_graph_keep: give the graph a new serial number, because later calls may use the graph. */
extern void hybrid_graph_keep(HybridGraph *graph);

/*
 * hybrid_graph_hub: return the divisors of hy_spread_hub for this exponent, or NULL if the exponent is 0.
 * The divisors are valid until the next call with another exponent above 0.
 */
extern const double *hybrid_graph_hub(HybridGraph *graph, double exponent);

/*
 * hybrid_graph_converges: return whether spreading with these parameters converges, and set *norm (see
 * hy_spread_converges and hy_spread_hub_norm). params->hub is NULL or the result of the last call of
 * hybrid_graph_hub.
 */
extern bool hybrid_graph_converges(HybridGraph *graph, const HySpreadParams *params, double *norm);

#endif
