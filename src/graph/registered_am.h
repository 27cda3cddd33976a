/*
 * registered_am.h
 *		The access method hybrid_graph.
 */
#ifndef HYBRID_GRAPH_REGISTERED_AM_H
#define HYBRID_GRAPH_REGISTERED_AM_H

#include "postgres.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "access/genam.h"

/*
 * hybrid_registered_build: check the columns of a new index. Writes nothing. hybrid_is_registered recognizes
 * the access method by the address of this function.
 */
extern IndexBuildResult *hybrid_registered_build(Relation table, Relation index, IndexInfo *info);

#endif
