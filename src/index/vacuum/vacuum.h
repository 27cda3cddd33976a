/*
 * vacuum.h
 *		The VACUUM callbacks of the access method.
 */
#ifndef HYBRID_INDEX_VACUUM_H
#define HYBRID_INDEX_VACUUM_H

#include "postgres.h"

#include "access/genam.h"

/* callbacks of IndexAmRoutine */
extern IndexBulkDeleteResult *hybridbulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
                                               IndexBulkDeleteCallback callback, void *state);
extern IndexBulkDeleteResult *
hybridvacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats);

#endif
