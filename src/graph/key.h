/*
 * key.h
 *		All that the answer of an edges query depends on.
 */
#ifndef HYBRID_GRAPH_KEY_H
#define HYBRID_GRAPH_KEY_H

#include "postgres.h"
#include "lib/stringinfo.h"

#include "graph/edges.h"

/*
 * hybrid_write_edges_key: a query that calls no volatile function, and reads no foreign table and no
 * sequence, returns under a key what it returned under it before (constant.h).  Two keys are alike when their bytes are.
 * false: it would be too long to be of use.
 */
extern bool hybrid_write_edges_key(const HybridEdgesQuery *query, StringInfo key);

#endif
