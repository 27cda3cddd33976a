/*
 * edge.h
 *		Converts the columns of a row into an edge.
 */
#ifndef HYBRID_GRAPH_EDGE_H
#define HYBRID_GRAPH_EDGE_H

#include "postgres.h"
#include "storage/itemptr.h"
#include "utils/array.h"

#include "core/csr.h"

enum HybridEdgeColumn
{
	HYBRID_EDGE_SOURCE,
	HYBRID_EDGE_TARGET,
	HYBRID_EDGE_WEIGHT,
	HYBRID_EDGE_TYPE,
	HYBRID_EDGE_COLUMNS
};

/* HybridEdgeRow: the row of a table that an edge comes from, for error messages. */
typedef struct HybridEdgeRow
{
	Oid table; /* InvalidOid: unknown */
	ItemPointerData tid;
} HybridEdgeRow;

/* HybridTypes: the edge types that a call selects. */
typedef struct HybridTypes
{
	text **name; /* sorted by hybrid_set_types; NULL: all types */
	int count;
} HybridTypes;

/*
 * hybrid_edge_type: return the base type of `type`, the type of an edge's column. Raises if the column cannot
 * have this type.
 */
extern Oid hybrid_edge_type(enum HybridEdgeColumn column, Oid type);

/* hybrid_edge_node: return the node id in a value of an integer type. */
extern int64 hybrid_edge_node(Datum value, Oid type);

/*
 * hybrid_edge_weight: convert a weight to real, as a cast would. But a weight that is too small for real becomes
 * 0. The ends of edge must already be set. Raises if the weight is NULL, negative, not finite or too large for
 * real. The error names the ends of the edge, and its row if known. May leak memory into the current context.
 */
extern float hybrid_edge_weight(Datum value, bool is_null, Oid type, const HyEdge *edge,
                                const HybridEdgeRow *row);

/* hybrid_same_types: return whether two arrays of types have the same bytes. NULL means all types. */
extern bool hybrid_same_types(const ArrayType *a, const ArrayType *b);

/* hybrid_set_types: select the types in an array of names, or all types if the array is NULL. */
extern void hybrid_set_types(HybridTypes *types, ArrayType *names);

/* hybrid_is_wanted: return whether an edge of this type is selected. types->name must not be NULL. */
extern bool hybrid_is_wanted(const HybridTypes *types, Datum type, bool is_null);

#endif
