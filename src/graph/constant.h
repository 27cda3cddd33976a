/*
 * constant.h
 *		Determines whether an edges query returns the same rows when it is run again.
 */
#ifndef HYBRID_GRAPH_CONSTANT_H
#define HYBRID_GRAPH_CONSTANT_H

#include "postgres.h"
#include "nodes/parsenodes.h"

/*
 * hybrid_query_is_constant: return whether the query returns the same rows whenever its key (key.h)
 * is the same. The query has been rewritten (with views and row security applied) but not yet
 * planned.
 */
extern bool hybrid_query_is_constant(Query *query);

#endif
