/*
 * scan_quals.h
 *		Check the conditions of a plan on rows that a scan has found and not returned yet.
 *
 * An index scan returns rows in order, and the executor discards the rows that do not satisfy the query's
 * other conditions. If few rows satisfy these conditions, most of the work is wasted: a vector is read for
 * each row, and many more rows are put in order than are wanted. A search therefore checks the conditions
 * first. The executor checks them again, on the few rows that remain. In this folder, "filter" means a
 * HybridScanQuals.
 */
#ifndef HYBRID_INDEX_SCAN_QUALS_H
#define HYBRID_INDEX_SCAN_QUALS_H

#include "postgres.h"

#include "access/genam.h"
#include "nodes/execnodes.h"

/* share of rows that satisfy the conditions, below which the conditions are checked early */
#define HYBRID_FEW 0.5

typedef struct HybridScanQuals HybridScanQuals;

/*
 * hybrid_scan_quals_new: make a filter for an index scan, in the current memory context. The filter checks
 * the conditions of `node` if checking them early does no harm. `node` may be NULL. If `judged` is set, the
 * search tests all conditions by words (included_quals.h), so the filter checks only whether rows are visible.
 */
extern HybridScanQuals *hybrid_scan_quals_new(IndexScanDesc scan, ScanState *node, bool judged);

/*
 * hybrid_scan_quals_share: return the planner's estimate of the share of rows that satisfy the conditions. Returns 1 if
 * there are no conditions that may be checked early, and 0 if the table's number of rows is unknown.
 */
extern double hybrid_scan_quals_share(const HybridScanQuals *filter);

/*
 * hybrid_scan_quals_passes: test for each row whether it is visible to the scan's snapshot and satisfies
 * the conditions.
 */
extern void
hybrid_scan_quals_passes(HybridScanQuals *filter, const int64 *positions, int count, bool *passes);

/* hybrid_scan_quals_expect: prefetch rows that will be fetched. */
extern void
hybrid_scan_quals_expect(const HybridScanQuals *filter, const int64 *positions, int count);

/*
 * hybrid_scan_quals_wanted: fetch a row as hybrid_scan_quals_fetch does, but also return NULL if the row does not
 * satisfy the conditions.
 */
extern TupleTableSlot *hybrid_scan_quals_wanted(HybridScanQuals *filter, int64 position);

/*
 * hybrid_scan_quals_fetch: fetch the version of a row that the scan's snapshot sees, without testing the
 * conditions. Returns NULL if there is no such version. The slot is valid until the next call.
 */
extern TupleTableSlot *hybrid_scan_quals_fetch(HybridScanQuals *filter, int64 position);

/*
 * hybrid_scan_quals_rest: release the pins of pages that the filter keeps between rows. Its next use pins
 * pages again.
 */
extern void hybrid_scan_quals_rest(HybridScanQuals *filter);

/* hybrid_scan_quals_end: release the resources that memory contexts do not release. */
extern void hybrid_scan_quals_end(HybridScanQuals *filter);

#endif
