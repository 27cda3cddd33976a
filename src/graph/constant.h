/*
 * constant.h
 *		Whether an edges query returns the same rows when it is run again.
 */
#ifndef HYBRID_GRAPH_CONSTANT_H
#define HYBRID_GRAPH_CONSTANT_H

#include "postgres.h"
#include "nodes/parsenodes.h"

/*
 * hybrid_query_is_constant: whether nothing in a query makes it return others while what key.h has in a
 * key is the same.  The query is rewritten (views and row security are part of it), not yet planned.
 */
extern bool hybrid_query_is_constant(Query *query);

#endif
