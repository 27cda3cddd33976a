/*
 * shared_graphs.h
 *		Keeps graphs in shared memory, for the copies of registered graphs (copy.h) of all sessions.
 *
 * A session that builds a graph offers it to the others, together with the state of the table's pages. A session
 * without a copy takes the graph. It validates the pages as if it had read them itself, because a proof that a
 * page is unchanged (pages.h) holds for any session. A graph in shared memory never changes. If the snapshot of a
 * session sees other edges, the session copies the graph into its own memory and patches the copy. When the copy
 * has not changed for some calls, the session offers it, or takes a newer shared graph.
 *
 * With a shared graph, the first answer of a session on WordNet takes 6 ms. It takes 107 ms if the session
 * has to build the graph, and 114 ms if it reads the edges by a query.
 *
 * There are shared graphs only if the library is preloaded and hybrid.graph_shared_memory is not 0.
 */
#ifndef HYBRID_GRAPH_SHARED_GRAPHS_H
#define HYBRID_GRAPH_SHARED_GRAPHS_H

#include "postgres.h"

#include "core/csr.h"
#include "graph/edge.h"
#include "graph/graph.h"
#include "graph/pages.h"
#include "server/compat.h"

#define HYBRID_SHARED_GRAPHS 64 /* maximum number of shared graphs */

/* HybridCopyKey: identifies a copy, together with its edge types. No padding, so memcmp compares keys. */
typedef struct HybridCopyKey
{
	Oid database;
	Oid index;
	RelFileLocator storage; /* file of the table */
	int32 columns;
	Oid type[HYBRID_EDGE_COLUMNS];
	HyDirection direction;
	HyMerge merge;
} HybridCopyKey;

/* hybrid_shared_graphs_init: request shared memory while the postmaster preloads. _PG_init calls it. */
extern void hybrid_shared_graphs_init(void);

/*
 * hybrid_shared_graph_take: return the shared graph of this key, in a new child of context. Stores the state of the
 * table's pages in `pages`. types is NULL for all types. Returns NULL if there is no such graph.
 */
extern HybridGraph *hybrid_shared_graph_take(const HybridCopyKey *key, const ArrayType *types,
                                             MemoryContext context, HybridPages *pages);

/*
 * hybrid_shared_graph_is_newer: return whether a graph owns its arrays, and there is a shared graph of this key
 * other than the one whose arrays it copied.
 */
extern bool hybrid_shared_graph_is_newer(const HybridCopyKey *key, const ArrayType *types,
                                         const HybridGraph *graph);

/*
 * hybrid_shared_graph_offer: put a graph into shared memory, for this session and others, in place of an older
 * graph of this key. Frees graphs that no session uses until there is space for it, the least recently used
 * first. Leaves the graph where it is if there is not enough space.
 */
extern void hybrid_shared_graph_offer(const HybridCopyKey *key, const ArrayType *types,
                                      HybridGraph *graph, const HybridPages *pages);

/*
 * hybrid_shared_graph_leave: if the arrays of a graph are shared, give it a copy of them that can be changed.
 * When out of memory, returns HY_NOMEM and leaves the graph unchanged.
 */
extern HyStatus hybrid_shared_graph_leave(HybridGraph *graph);

/*
 * hybrid_shared_graphs_count: record how many bytes the copies of this session take, shared graphs not
 * included, and return the sum over all sessions. Returns 0 if the library is not preloaded.
 */
extern uint64 hybrid_shared_graphs_count(uint64 bytes);

/* HybridSharedGraphInfo: a shared graph of this database, as hybrid_shared_graphs() shows it. */
typedef struct HybridSharedGraphInfo
{
	HybridCopyKey key;
	bool all_types;
	int64 nodes;
	int64 edges;
	int64 bytes;
	int64 sessions;  /* number of sessions that use it */
	bool is_current; /* whether other sessions may take it */
} HybridSharedGraphInfo;

/* hybrid_shared_graphs_list: store up to `most` shared graphs of this database, and return their number. */
extern int hybrid_shared_graphs_list(HybridSharedGraphInfo *info, int most);

#endif
