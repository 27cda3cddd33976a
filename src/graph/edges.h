/*
 * edges.h
 *		Reads the edges that an edges query returns.
 *
 * An edges query begins with SELECT, WITH, VALUES or TABLE. Its columns are source, target[,
 * weight[, type]], by position. It runs read-only with the caller's snapshot, privileges and
 * search_path, as if the caller had run it.
 */
#ifndef HYBRID_GRAPH_EDGES_H
#define HYBRID_GRAPH_EDGES_H

#include "postgres.h"
#include "utils/array.h"

#include "core/csr.h"
#include "server/compat.h"

/* HybridTakeEdge: takes an edge that a query returns, and its type (NULL: none). */
typedef void (*HybridTakeEdge)(void *arg, const HyEdge *edge, text *type);

typedef struct HybridEdgesQuery
{
	const text *text;
	ArrayType *types;  /* types of the edges to read; NULL: all, also edges without a type */
	ArrayType *params; /* text[]: the values of $1, $2, ... in the query; NULL: none */
	HyDirection direction;
	HyMerge merge;
	bool registered; /* for a registered graph: rows without source or target are skipped */
	bool names_rows; /* whether the columns tableoid and ctid follow the columns of the edge */
	HybridTakeEdge
		take; /* called for each edge, which is then not stored; NULL: edges are stored */
	void *take_arg;
} HybridEdgesQuery;

typedef struct HybridEdges
{
	HyEdge *edge;
	uint32 *origin; /* page number of each edge (leaves.h); NULL: not recorded */
	int64 count;
	bool typed; /* whether the query has a type column */
} HybridEdges;

/*
 * hybrid_read_edges: run the query and store its edges in the current memory context. weight is 1
 * if the query has no weight column. Reads no more edges than can be built into a graph under
 * hybrid.graph_memory_limit.
 *
 * Raises if the query is not a plain read, returns other columns or returns too many edges. Raises if a
 * source, target or weight is NULL, or if a weight is negative, not finite or too large for real. A row of a
 * registered graph without a source or target is skipped instead.
 */
extern void hybrid_read_edges(const HybridEdgesQuery *query, HybridEdges *edges);

/*
 * hybrid_is_edges_query: return whether the text begins with a word that can begin an edges query.
 * Whitespace, comments and parentheses may precede the word.
 */
extern bool hybrid_is_edges_query(const char *query);

/*
 * hybrid_most_edges: return the largest number of edges that can be read and built into a graph under
 * hybrid.graph_memory_limit.
 */
extern int64 hybrid_most_edges(HyDirection direction);

/*
 * hybrid_report_no_type: raise the error that the call selects edge types, but the edges have no type
 * column.
 */
pg_noreturn extern void hybrid_report_no_type(bool registered);

/* hybrid_check_graph_memory: raise if bytes exceed hybrid.graph_memory_limit. */
extern void hybrid_check_graph_memory(uint64 bytes, int64 nodes, int64 edges);

#endif
