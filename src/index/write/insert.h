/*
 * insert.h
 *		The insert callback: adds one row to an index.
 */
#ifndef HYBRID_INDEX_INSERT_H
#define HYBRID_INDEX_INSERT_H

#include "postgres.h"

#include "access/amapi.h"
#include "nodes/execnodes.h"

/* callback of IndexAmRoutine */
extern bool hybridinsert(Relation index, Datum *values, bool *isnull, ItemPointer tid,
                         Relation heap, IndexUniqueCheck unique, bool unchanged, IndexInfo *info);

#endif
