/*
 * registered.h
 *		A registered graph: an index of the access method hybrid_graph.
 *
 * The index has no entries. It only says which columns of its table are the source, the target, the
 * weight and the type of an edge. The rows of the graph are read from the table by a query, or from a
 * copy that the session keeps (copy.h).
 */
#ifndef HYBRID_GRAPH_REGISTERED_H
#define HYBRID_GRAPH_REGISTERED_H

#include "postgres.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "graph/edges.h"

/* HybridLeafTable: a table that has rows of the graph, and its index. */
typedef struct HybridLeafTable
{
	Relation table;
	Relation index;
} HybridLeafTable;

typedef struct HybridRegistered
{
	Relation table;
	Relation index;
	List *leaves; /* of HybridLeafTable; set by hybrid_registered_may_copy */
} HybridRegistered;

/*
 * hybrid_registered_open: find the registered graph by the name of its index, which may contain a
 * schema. Locks the table and the index against changes of their definition until the transaction
 * ends. Raises if there is no such graph.
 */
extern void hybrid_registered_open(const char *name, HybridRegistered *graph);

/* hybrid_registered_close: close all tables and indexes. Keeps the locks. */
extern void hybrid_registered_close(HybridRegistered *graph);

/*
 * hybrid_registered_may_copy: return whether a copy of the graph's rows can be validated under the active
 * snapshot. If not, the rows must be read by a query. Opens and locks the leaves of the graph: the table
 * itself or, if the table is partitioned, its leaf partitions. Raises if the caller may not read the
 * columns.
 */
extern bool hybrid_registered_may_copy(HybridRegistered *graph);

/*
 * hybrid_registered_names_rows: return whether errors may name the ctid of a row. Returns false if the
 * caller may read only some columns, or if the rows are in Citus shards.
 */
extern bool hybrid_registered_names_rows(const HybridRegistered *graph);

/*
 * hybrid_registered_query: set text, registered and names_rows of a query that reads the graph's
 * edges.
 */
extern void hybrid_registered_query(const HybridRegistered *graph, HybridEdgesQuery *query);

/* hybrid_registered_check: raise unless an index on these columns can be a registered graph. */
extern void hybrid_registered_check(TupleDesc columns);

/* hybrid_is_registered: return whether the index is of the access method hybrid_graph. */
extern bool hybrid_is_registered(Relation index);

#endif
