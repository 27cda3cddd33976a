/*
 * handler.h
 *		What the module's entry needs of the access method.
 */
#ifndef HYBRID_INDEX_HANDLER_H
#define HYBRID_INDEX_HANDLER_H

#include "postgres.h"

#include "access/amapi.h"
#include "nodes/pathnodes.h"

/* Callbacks of IndexAmRoutine. */
extern void
hybridcostestimate(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup,
                   Cost *total, Selectivity *selectivity, double *correlation, double *pages);
extern bytea *hybridoptions(Datum reloptions, bool validate);
extern bool hybridproperty(Oid index, int attno, IndexAMProperty property, const char *name,
                           bool *result, bool *isnull);
extern bool hybridvalidate(Oid opclass);

/* hybrid_index_init: registers the options of indexes and how their stores are read; from _PG_init. */
extern void hybrid_index_init(void);

#endif
