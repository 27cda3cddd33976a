/*
 * topk.h
 *		The k nearest, kept in a bounded max-heap ordered by (distance, row).
 *
 * The order is total: equal distances go by ascending row, so that the result does not depend on
 * the order in which candidates arrive, on the batch size, or on the backend.  NaN is never kept.
 */
#ifndef HY_TOPK_H
#define HY_TOPK_H

#include <stdbool.h>

#include "core/batch.h"
#include "core/cancel.h"
#include "core/status.h"

typedef struct HyTopK
{
	HyNeighbor *items; /* the caller's array of k; a max-heap until hy_topk_sort */
	int32_t k;
	int32_t count;
} HyTopK;

/* hy_neighbor_compare: <0, 0, >0 by (distance, row). */
static inline int
hy_neighbor_compare(const HyNeighbor *a, const HyNeighbor *b)
{
	if (a->distance != b->distance)
		return a->distance < b->distance ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

/* hy_topk_init: an empty heap over items[0 .. k-1], k >= 1. */
extern void hy_topk_init(HyTopK *topk, HyNeighbor *items, int32_t k);

/* hy_topk_push: offers a candidate; true when it was kept. */
extern bool hy_topk_push(HyTopK *topk, double distance, int64_t row);

/* hy_topk_sort: items[0 .. count-1] ascending; the heap is spent afterwards. */
extern void hy_topk_sort(HyTopK *topk);

/*
 * hy_topk_search: for each query the k nearest target rows, ascending.  out holds
 * queries->rows * k entries, those of query q from q * k; counts[q] <= k says how many were found
 * (fewer than k rows, or rows whose distance is NaN).  Works in place, allocates nothing.
 */
extern HyStatus hy_topk_search(HyMetric metric, const HyMatrix *queries, const HyMatrix *targets,
                               int32_t k, HyNeighbor *out, int32_t *counts, const HyCancel *cancel);

#endif
