/*
 * typed_edges.h
 *		Sorts edges that have types, and adds the weights of parallel edges of the same type.
 */
#ifndef HYBRID_GRAPH_TYPED_EDGES_H
#define HYBRID_GRAPH_TYPED_EDGES_H

#include "postgres.h"

#include "graph/call.h"
#include "utils/tuplesort.h"

/* HybridTypedEdges: the edges so far. */
typedef struct HybridTypedEdges
{
	Tuplesortstate *sort;
	TupleTableSlot *slot;
} HybridTypedEdges;

/*
 * hybrid_typed_edges_begin: start with no edges. The call's SQL function must return source, target, weight and
 * type.
 */
extern void hybrid_typed_edges_begin(HybridTypedEdges *edges, const HybridCall *call);

/* hybrid_typed_edges_add: add an edge. type is NULL if it has none. */
extern void hybrid_typed_edges_add(HybridTypedEdges *edges, const HyEdge *edge, text *type);

/*
 * hybrid_typed_edges_answer: store the edges by source, target and type. Parallel edges of the same type become
 * one row with the sum of their weights. Raises if this sum is out of the range of real.
 */
extern void hybrid_typed_edges_answer(HybridTypedEdges *edges, HybridCall *call);

/* hybrid_typed_edges_end: free the edges. */
extern void hybrid_typed_edges_end(HybridTypedEdges *edges);

#endif
