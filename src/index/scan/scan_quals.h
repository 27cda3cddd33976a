/*
 * scan_quals.h
 *		Check the conditions of a plan on rows that a scan has found and not returned yet.
 *
 * An access method returns rows in an order, and the executor discards rows that do not meet the query's
 * other conditions. Where few rows meet them, most of the work is wasted: a vector is read for each row,
 * and many more rows are ordered than are wanted. A search therefore checks the conditions first. The
 * executor then checks them again on the few rows that are left.
 */
#ifndef HYBRID_INDEX_SCAN_QUALS_H
#define HYBRID_INDEX_SCAN_QUALS_H

#include "postgres.h"

#include "access/genam.h"
#include "nodes/execnodes.h"

#define HYBRID_FEW 0.5 /* conditions are checked early if a smaller share of the rows meets them */

typedef struct HybridScanQuals HybridScanQuals;

/*
 * hybrid_scan_quals_new: make a filter for a scan of a table, in the current memory context. It checks
 * the conditions of node, which may be NULL, where checking them early does no harm.
 */
extern HybridScanQuals *hybrid_scan_quals_new(IndexScanDesc scan, IndexScanState *node);

/*
 * hybrid_scan_quals_share: return the planner's estimate of the share of rows that meet the conditions;
 * 1: there are none.
 */
extern double hybrid_scan_quals_share(const HybridScanQuals *filter);

/*
 * hybrid_scan_quals_passes: test for each row whether the scan's snapshot sees it and it meets the
 * conditions.
 */
extern void
hybrid_scan_quals_passes(HybridScanQuals *filter, const int64 *positions, int count, bool *passes);

/* hybrid_scan_quals_rest: release the pins of pages until the next use. */
extern void hybrid_scan_quals_rest(HybridScanQuals *filter);

/* hybrid_scan_quals_end: release the resources that memory contexts do not release. */
extern void hybrid_scan_quals_end(HybridScanQuals *filter);

#endif
