/*
 * constant.h
 *		Determines whether an edges query returns the same rows when it is run again.
 */
#ifndef HYBRID_GRAPH_CONSTANT_H
#define HYBRID_GRAPH_CONSTANT_H

#include "postgres.h"
#include "nodes/parsenodes.h"

/*
 * hybrid_query_is_constant: return whether the query returns the same rows whenever the key of
 * key.h is the same. The query is rewritten (with views and row security applied), but not planned
 * yet.
 */
extern bool hybrid_query_is_constant(Query *query);

#endif
