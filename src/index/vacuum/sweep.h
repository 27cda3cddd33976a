/*
 * sweep.h
 *		Pages that nobody needs, found by reading the whole file.
 */
#ifndef HYBRID_INDEX_SWEEP_H
#define HYBRID_INDEX_SWEEP_H

#include "commands/vacuum.h"

#include "index/page/index.h"

/* hybrid_sweep: VACUUM's; fills in the counts of pages. */
extern void hybrid_sweep(IndexVacuumInfo *info, IndexBulkDeleteResult *stats);

#endif
