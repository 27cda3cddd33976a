/*
 * scan_quals.h
 *		The conditions of a plan, on rows that a scan has found and not returned yet.
 *
 * An access method is asked for rows in an order, and the executor throws those away that do not meet the
 * query's other conditions.  Where few of them do, most of the work is done for nothing: a vector is
 * read for each row, and many more rows are put in order than are wanted.  So a search asks first.
 * The executor then asks again, of the few rows that are left.
 */
#ifndef HYBRID_INDEX_SCAN_QUALS_H
#define HYBRID_INDEX_SCAN_QUALS_H

#include "postgres.h"

#include "access/genam.h"
#include "nodes/execnodes.h"

#define HYBRID_FEW                                                                                 \
	0.5 /* share of the rows that meet a condition, below which it is asked beforehand */

typedef struct HybridScanQuals HybridScanQuals;

/*
 * hybrid_scan_quals_new: of a scan of a table, in the current memory context.  With node, which may be NULL,
 * it asks for the conditions of that node, where asking beforehand does no harm.
 */
extern HybridScanQuals *hybrid_scan_quals_new(IndexScanDesc scan, IndexScanState *node);

/* hybrid_scan_quals_share: of the rows, how many the planner thinks meet the conditions; 1: there are none. */
extern double hybrid_scan_quals_share(const HybridScanQuals *filter);

/* hybrid_scan_quals_passes: of each row whether the scan's snapshot sees it, and it meets the conditions. */
extern void
hybrid_scan_quals_passes(HybridScanQuals *filter, const int64 *positions, int count, bool *passes);

/* hybrid_scan_quals_rest: no page is kept until the next row. */
extern void hybrid_scan_quals_rest(HybridScanQuals *filter);

/* hybrid_scan_quals_end: gives back what memory contexts do not. */
extern void hybrid_scan_quals_end(HybridScanQuals *filter);

#endif
