/*
 * vacuum.h
 *		VACUUM of an index.
 */
#ifndef HYBRID_INDEX_VACUUM_H
#define HYBRID_INDEX_VACUUM_H

#include "postgres.h"

#include "access/genam.h"

/* Callbacks of IndexAmRoutine. */
extern IndexBulkDeleteResult *hybridbulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
                                               IndexBulkDeleteCallback callback, void *state);
extern IndexBulkDeleteResult *
hybridvacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats);

#endif
