/*
 * edges.h
 *		The edges that an edges query returns.
 *
 * An edges query begins with SELECT, WITH, VALUES or TABLE and returns source, target[, weight[,
 * type]], by position.  It is run read-only with the caller's snapshot, rights and search_path, as
 * if the caller had run it.
 */
#ifndef HYBRID_GRAPH_EDGES_H
#define HYBRID_GRAPH_EDGES_H

#include "postgres.h"
#include "utils/array.h"

#include "core/csr.h"

typedef struct HybridEdgesQuery
{
	const text *text;
	ArrayType *types; /* only edges of these types (one whose type is NULL has none); NULL: all */
	HyDirection direction;
} HybridEdgesQuery;

typedef struct HybridEdges
{
	HyEdge *edge;
	int64 count;
	bool constant; /* nothing in the query makes it return others when it is run again */
} HybridEdges;

/*
 * hybrid_read_edges: runs the query; edges in the current memory context.  weight is 1 where the
 * query returns none.  Reads no more edges than can be built into a graph under
 * hybrid.graph_memory_limit.
 * Raises on text that is not an edges query, on a query that is not a plain read, returns other
 * columns or too many edges, and on an edge with a NULL or with a weight that is not finite or is
 * negative.
 */
extern void hybrid_read_edges(const HybridEdgesQuery *query, HybridEdges *edges);

/* hybrid_check_graph_memory: raises when bytes are more than hybrid.graph_memory_limit. */
extern void hybrid_check_graph_memory(uint64 bytes, int64 nodes, int64 edges);

#endif
