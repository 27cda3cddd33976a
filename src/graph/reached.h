/*
 * reached.h
 *		The nodes that hybrid_neighbors and hybrid_subgraph find within a number of hops.
 */
#ifndef HYBRID_GRAPH_REACHED_H
#define HYBRID_GRAPH_REACHED_H

#include "postgres.h"

#include "core/reach.h"
#include "graph/call.h"

/* HybridReached: a call of hybrid_neighbors or hybrid_subgraph. */
typedef struct HybridReached
{
	HybridCall call;
	HyReached nodes;
} HybridReached;

/* hybrid_reached_arguments: positions of the arguments that select the edges, in both functions. */
extern const HybridArguments hybrid_reached_arguments;

/* hybrid_reached_find: begin the call, open its graph and find the nodes. */
extern void hybrid_reached_find(FunctionCallInfo fcinfo, HybridReached *reached);

#endif
