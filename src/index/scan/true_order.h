/*
 * true_order.h
 *		Order rows by the distances of their values in the table.
 *
 * PostgreSQL's executor could do this (xs_recheckorderby). But it loses the ctid of the rows that it
 * reorders, except in recent minor releases.
 */
#ifndef HYBRID_INDEX_TRUE_ORDER_H
#define HYBRID_INDEX_TRUE_ORDER_H

#include "postgres.h"

#include "access/genam.h"

#include "index/scan/scan_quals.h"

typedef struct HybridTrueOrder HybridTrueOrder;

/*
 * hybrid_true_order_new: make an empty queue for the rows of a scan, in the current memory context. Rows
 * are fetched from the table with `fetcher`, which keeps a page pinned until hybrid_scan_quals_rest.
 */
extern HybridTrueOrder *hybrid_true_order_new(IndexScanDesc scan, HybridScanQuals *fetcher);

/*
 * hybrid_true_order_add: compute the values of a row from the table, and add the row. Does nothing if the
 * scan's snapshot sees no version of the row. `bound` is a lower bound of the first value; a value below
 * it raises ERRCODE_INDEX_CORRUPTED.
 */
extern void
hybrid_true_order_add(HybridTrueOrder *order, int64 position, const IndexOrderByDistance *bound);

/* hybrid_true_order_measure: compute the values of the row in the slot, add the row, and return its first value. */
extern IndexOrderByDistance
hybrid_true_order_measure(HybridTrueOrder *order, int64 position, TupleTableSlot *slot);

/* hybrid_true_order_values: compute the value of each ORDER BY expression for the row in the slot. */
extern void hybrid_true_order_values(const HybridTrueOrder *order, TupleTableSlot *slot,
                                     IndexOrderByDistance *values);

/*
 * hybrid_true_order_ready: test whether there is a first row, and it precedes each row that may still be added. If there
 * is one ORDER BY expression, it may also tie with such rows. `bound` is a lower bound of the first values of the rows
 * to come, or NULL if no row will be added.
 */
extern bool
hybrid_true_order_ready(const HybridTrueOrder *order, const IndexOrderByDistance *bound);

/* hybrid_true_order_remove: remove the first row. Returns its position, and copies its values to `values`. */
extern int64 hybrid_true_order_remove(HybridTrueOrder *order, IndexOrderByDistance *values);

/* hybrid_true_order_clear: remove all rows, and free their memory. */
extern void hybrid_true_order_clear(HybridTrueOrder *order);

/* hybrid_true_order_memory: return the bytes allocated for rows. */
extern Size hybrid_true_order_memory(const HybridTrueOrder *order);

/* hybrid_true_order_end: release the resources that memory contexts do not release. */
extern void hybrid_true_order_end(HybridTrueOrder *order);

#endif
