/*
 * key.h
 *		A key that covers everything on which the result of an edges query depends.
 */
#ifndef HYBRID_GRAPH_KEY_H
#define HYBRID_GRAPH_KEY_H

#include "postgres.h"
#include "lib/stringinfo.h"

#include "graph/edges.h"

/*
 * hybrid_write_edges_key: write the key. Under equal keys, a query returns the same edges if it
 * calls no volatile function and reads no foreign table and no sequence (constant.h). Keys are
 * equal if their bytes are equal. Returns false if the key would be too long to be useful.
 */
extern bool hybrid_write_edges_key(const HybridEdgesQuery *query, StringInfo key);

#endif
