/*
 * copy.h
 *		A session's copies of registered graphs.
 *
 * A copy is a graph in memory that the session keeps from one statement to the next. It has a part for each
 * page of the table: the edges of the rows that were visible when the page was read. Each call validates
 * the copy (pages.h). If a page has changed, its part is replaced (core/csr_patch.h). There is a copy for
 * each combination of direction, rule for parallel edges, and edge types in use.
 *
 * On WordNet (361,647 edges), a statement that spreads from ten seeds over 4 hops takes 1.2 ms with a copy.
 * Reading the edges by a query takes about 100 times as long (shared_graphs.h).
 */
#ifndef HYBRID_GRAPH_COPY_H
#define HYBRID_GRAPH_COPY_H

#include "postgres.h"

#include "graph/edges.h"
#include "graph/graph.h"
#include "graph/pages.h"
#include "graph/registered.h"

/*
 * hybrid_copy_open: bring a graph up to date for the active snapshot, and return it. The graph is valid
 * until the calling SQL function returns. text and params of the query are not used.
 * hybrid_registered_may_copy must have returned true. Returns NULL if the graph has too many edges for the
 * memory limit, or if an outer call is reading this copy. Raises on a weight that is not allowed.
 */
extern HybridGraph *hybrid_copy_open(const HybridRegistered *registered,
                                     const HybridEdgesQuery *query, HybridValidation *validation);

/*
 * hybrid_copy_edges: store the edges of a copy for HY_DIRECTION_OUT in the current memory context.
 */
extern void hybrid_copy_edges(const HybridGraph *graph, HybridEdges *edges);

#endif
