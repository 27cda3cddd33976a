/*
 * call.h
 *		One call of a graph function: opens the graph, and stores the rows of the answer.
 *
 * A graph function reads its own arguments, opens the graph, reserves memory for its arrays, calls the
 * algorithm in core, and stores rows:
 *
 *		hybrid_call_begin(&call, fcinfo);
 *		... read arguments ...
 *		hybrid_call_open(&call, &arguments, direction, merge);
 *		hybrid_call_reserve(&call, bytes for each node, bytes for each edge);
 *		... compute; hybrid_call_row(&call, values) for each row ...
 *		return hybrid_call_end(&call);
 *
 * Between begin and end, the current memory context is the call's own. hybrid_call_end deletes this context.
 * After an error, the context is deleted together with its parent.
 */
#ifndef HYBRID_GRAPH_CALL_H
#define HYBRID_GRAPH_CALL_H

#include "postgres.h"
#include "fmgr.h"
#include "nodes/execnodes.h"

#include "core/allocator.h"
#include "core/csr.h"
#include "graph/graph.h"

/* HybridCall: the state of one call. */
typedef struct HybridCall
{
	FunctionCallInfo fcinfo;
	ReturnSetInfo *result;
	MemoryContext context; /* holds all memory of the call, except a kept graph and the answer */
	MemoryContext caller;
	HyAllocator allocator; /* allocates memory that is freed when the call ends */
	HybridGraph *graph;
	const HyCsr *csr; /* the graph's adjacency lists */
	uint64 room;      /* bytes left within hybrid.graph_memory_limit, set by hybrid_call_reserve */
} HybridCall;

/* HybridArguments: positions of the arguments that say which edges to read. */
typedef struct HybridArguments
{
	int graph;
	int types;
	int params;
} HybridArguments;

/*
 * hybrid_call_begin: start a call of a function that returns a table, and switch to the memory
 * context of the call.
 */
extern void hybrid_call_begin(HybridCall *call, FunctionCallInfo fcinfo);

/* hybrid_call_query: return the edges query that the arguments describe. Raises if the graph is NULL. */
extern HybridEdgesQuery hybrid_call_query(HybridCall *call, const HybridArguments *arguments);

/*
 * hybrid_call_open: open the graph of the edges that the arguments select. The graph of a registered graph is
 * usually the session's copy; otherwise the edges are read. Sets graph and csr. Raises what hybrid_read_edges
 * raises.
 */
extern void hybrid_call_open(HybridCall *call, const HybridArguments *arguments,
                             HyDirection direction, HyMerge merge);

/*
 * hybrid_call_reserve: raise if the graph, node_bytes for each node and edge_bytes for each edge
 * together exceed hybrid.graph_memory_limit. Sets room.
 */
extern void hybrid_call_reserve(HybridCall *call, uint64 node_bytes, uint64 edge_bytes);

/* hybrid_call_array: allocate an array of count elements, or of one if count is 0. The array may exceed 1 GB. */
extern void *hybrid_call_array(HybridCall *call, int64 count, Size size);

/* hybrid_call_direction: return the direction that argument n names. */
extern HyDirection hybrid_call_direction(HybridCall *call, int n);

/* hybrid_direction_name: return the word for a direction. */
extern const char *hybrid_direction_name(HyDirection direction);

/*
 * hybrid_call_nodes: return the node numbers of the ids in argument n, a bigint[], and their count. Leaves out
 * ids that are not in the graph. Raises on NULL, and on arrays that hybrid_check_array rejects.
 */
extern uint32 *hybrid_call_nodes(HybridCall *call, int n, const char *name, int64 *count);

/* hybrid_call_limit: return the number of rows that argument n allows, PG_INT64_MAX for NULL. */
extern int64 hybrid_call_limit(HybridCall *call, int n);

/* hybrid_call_row: store a row of the answer. No value is NULL. */
extern void hybrid_call_row(HybridCall *call, const Datum *values);

/* hybrid_call_row_with_nulls: store a row of the answer. nulls says which values are NULL. */
extern void hybrid_call_row_with_nulls(HybridCall *call, const Datum *values, const bool *nulls);

/* hybrid_call_end: free the memory of the call, and return the result of the SQL function. */
extern Datum hybrid_call_end(HybridCall *call);

#endif
