/*
 * sweep.h
 *		Finds unused pages by reading the whole file.
 */
#ifndef HYBRID_INDEX_SWEEP_H
#define HYBRID_INDEX_SWEEP_H

#include "commands/vacuum.h"

#include "index/page/index.h"

/*
 * hybrid_sweep: free unused pages and set the page counts in `stats`. Called by VACUUM, which holds
 * neither the gate nor the lock of a list or of the meta page.
 */
extern void hybrid_sweep(IndexVacuumInfo *info, IndexBulkDeleteResult *stats);

#endif
