/*
 * index_only.h
 *		The rows of an index-only scan, formed from the entries of the index.
 */
#ifndef HYBRID_INDEX_ONLY_H
#define HYBRID_INDEX_ONLY_H

#include "postgres.h"

#include "access/relscan.h"
#include "nodes/execnodes.h"

#include "index/scan/lookup.h"

typedef struct HybridIndexOnly HybridIndexOnly;

/*
 * hybrid_index_only_new: prepare to form the rows of a scan. Memory comes from `context`. The caller keeps `index`
 * valid. `node` is the plan node of the scan, or NULL.
 */
extern HybridIndexOnly *hybrid_index_only_new(IndexScanDesc scan, const HybridIndex *index,
                                              ScanState *node, MemoryContext context);

/*
 * hybrid_index_only_form: form the row at a position of the table, and store it in scan->xs_hitup. `found` is the row
 * as `search` has found it, or NULL if the position of its entry in the index is not known. Returns false if the
 * snapshot of the scan sees no such row.
 */
extern bool hybrid_index_only_form(HybridIndexOnly *only, int64 position,
                                   const HybridLookup *search, const HybridFoundRow *found);

/* hybrid_index_only_end: release the resources that memory contexts do not release. */
extern void hybrid_index_only_end(HybridIndexOnly *only);

#endif
