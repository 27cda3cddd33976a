/*
 * copy.h
 *		A session's copy of the edges of a registered graph, by page of the table.
 *
 * The copy lasts over statements and transactions. Each use validates it under the active snapshot:
 * it reads the pages again that may have changed, and no others. All copies of a session, and the
 * graphs that were built from them, together use at most hybrid.graph_memory_limit.
 */
#ifndef HYBRID_GRAPH_COPY_H
#define HYBRID_GRAPH_COPY_H

#include "postgres.h"

#include "graph/edges.h"
#include "graph/kept.h"
#include "graph/registered.h"

typedef struct HybridCopy HybridCopy;

/* HybridValidation: how the pages of a table were validated. */
typedef struct HybridValidation
{
	int64 by_map; /* pages that the visibility map shows to be unchanged */
	int64 by_lsn; /* pages that their LSN shows to be unchanged */
	int64 read;   /* pages that were read */
} HybridValidation;

/*
 * hybrid_copy_open: return the copy of the graph, after it was brought up to date for the active
 * snapshot. hybrid_registered_may_copy must have returned true for it. Returns NULL if the copy does
 * not fit the memory limit, or is in use by a caller of this function. Raises on a weight that is
 * not allowed.
 */
extern HybridCopy *hybrid_copy_open(const HybridRegistered *graph, HybridValidation *validation);

/*
 * hybrid_copy_edges: store the edges of the wanted types (NULL: all) in the current memory context.
 * Raises if they exceed the memory limit.
 */
extern void
hybrid_copy_edges(HybridCopy *copy, ArrayType *types, HyDirection direction, HybridEdges *edges);

/*
 * hybrid_copy_graph: return the graph for query, of which text and params are not used. If the copy
 * is the same as when the graph was last used, it is the same graph. It is valid until the caller
 * returns. Drops copies and graphs that exceed the memory limit, so copy must not be used after it.
 */
extern HybridGraph *hybrid_copy_graph(HybridCopy *copy, const HybridEdgesQuery *query);

#endif
