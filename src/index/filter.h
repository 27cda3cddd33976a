/*
 * filter.h
 *		The conditions of a plan, on rows that a scan has found and not returned yet.
 *
 * An access method is asked for rows in an order, and the executor throws those away that do not meet the
 * query's other conditions.  Where few of them do, most of the work is done for nothing: a vector is
 * read for each row, and many more rows are put in order than are wanted.  So a search asks first.
 * The executor then asks again, of the few rows that are left.
 */
#ifndef HYBRID_INDEX_FILTER_H
#define HYBRID_INDEX_FILTER_H

#include "postgres.h"

#include "access/genam.h"
#include "nodes/execnodes.h"

#define HYBRID_FEW                                                                                 \
	0.5 /* share of the rows that meet a condition, below which it is asked beforehand */

typedef struct HybridFilter HybridFilter;

/*
 * hybrid_filter_new: of a scan of a table, in the current memory context.  With node, which may be NULL,
 * it asks for the conditions of that node, where asking beforehand does no harm.
 */
extern HybridFilter *hybrid_filter_new(IndexScanDesc scan, IndexScanState *node);

/* hybrid_filter_share: of the rows, how many the planner thinks meet the conditions; 1: there are none. */
extern double hybrid_filter_share(const HybridFilter *filter);

/* hybrid_filter_passes: of each row whether the scan's snapshot sees it, and it meets the conditions. */
extern void
hybrid_filter_passes(HybridFilter *filter, const int64 *positions, int count, bool *passes);

/* hybrid_filter_rest: no page is kept until the next row. */
extern void hybrid_filter_rest(HybridFilter *filter);

/* hybrid_filter_end: gives back what memory contexts do not. */
extern void hybrid_filter_end(HybridFilter *filter);

#endif
