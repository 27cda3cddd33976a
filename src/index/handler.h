/*
 * handler.h
 *		Declarations of the access method that the module's entry point and handler.c need.
 */
#ifndef HYBRID_INDEX_HANDLER_H
#define HYBRID_INDEX_HANDLER_H

#include "postgres.h"

#include "access/amapi.h"
#include "nodes/pathnodes.h"

/* callbacks of IndexAmRoutine */
extern void
hybridcostestimate(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup,
                   Cost *total, Selectivity *selectivity, double *correlation, double *pages);
extern bytea *hybridoptions(Datum reloptions, bool validate);
extern bool hybridproperty(Oid index, int attno, IndexAMProperty property, const char *name,
                           bool *result, bool *isnull);
extern bool hybridcanreturn(Relation index, int attno);
extern bool hybridvalidate(Oid opclass);

/*
 * hybrid_index_init: register the index options, the hooks, and the reader of index stores. Called
 * once, from _PG_init.
 */
extern void hybrid_index_init(void);

/*
 * hybrid_index_add_options: add the options storage and list_size to a relopt_kind. They are the first
 * fields of HybridOptions. A library that defines this access method under other names calls this
 * function for its own kind.
 */
PGDLLEXPORT void hybrid_index_add_options(bits32 kind);

#endif
