/*
 * topk.h
 *		The k nearest rows, kept in a bounded max-heap ordered by (distance, row).
 *
 * The order is total: equal distances are ordered by ascending row.  The result therefore does not
 * depend on the order in which candidates arrive, on the batch size, on the number of threads, or
 * on the backend.  NaN is never kept.
 */
#ifndef HY_TOPK_H
#define HY_TOPK_H

#include <pthread.h>
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

/*
 * HyTopKLocks: locks for heaps that several threads share.  Heap number i has the lock number
 * i % HY_TOPK_LOCKS.
 */
#define HY_TOPK_LOCKS 64

typedef struct HyTopKLocks
{
	bool used; /* false: one thread only, and locking does nothing */
	pthread_mutex_t mutex[HY_TOPK_LOCKS];
} HyTopKLocks;

/* hy_neighbor_compare: return <0, 0 or >0, by (distance, row). */
static inline int
hy_neighbor_compare(const HyNeighbor *a, const HyNeighbor *b)
{
	if (a->distance != b->distance)
		return a->distance < b->distance ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

/* hy_topk_init: create an empty heap over items[0 .. k-1], k >= 1. */
extern void hy_topk_init(HyTopK *topk, HyNeighbor *items, int32_t k);

/* hy_topk_push: offer a candidate.  Returns true if it was kept. */
extern bool hy_topk_push(HyTopK *topk, double distance, int64_t row);

/*
 * hy_topk_sort: sort items[0 .. count-1] in ascending order.  They are no longer a heap afterwards.
 */
extern void hy_topk_sort(HyTopK *topk);

/*
 * hy_topk_sort_all: sort the heaps of all queries, which lie one after another in out, k entries
 * apart.  Returns HY_OK or HY_CANCELLED.
 */
extern HyStatus hy_topk_sort_all(HyNeighbor *out, const int32_t *counts, int32_t k, int64_t queries,
                                 const HyCancel *cancel);

/* hy_topk_locks_init, hy_topk_locks_destroy: make and remove the locks for a number of threads. */
extern void hy_topk_locks_init(HyTopKLocks *locks, int threads);
extern void hy_topk_locks_destroy(HyTopKLocks *locks);

/* hy_topk_lock, hy_topk_unlock: acquire or release the lock of heap number i. */
static inline void
hy_topk_lock(HyTopKLocks *locks, int64_t i)
{
	if (locks->used)
		pthread_mutex_lock(&locks->mutex[i % HY_TOPK_LOCKS]);
}

static inline void
hy_topk_unlock(HyTopKLocks *locks, int64_t i)
{
	if (locks->used)
		pthread_mutex_unlock(&locks->mutex[i % HY_TOPK_LOCKS]);
}

/*
 * hy_topk_search: for each query, find the k nearest target rows, in ascending order.  out holds
 * queries->rows * k entries; the entries of query q start at q * k.  counts[q] <= k is the number
 * of rows found (fewer than k if there are fewer rows, or if distances are NaN).  Works in place
 * and allocates nothing.  Returns HY_INVALID, HY_CANCELLED, or HY_OK.
 */
extern HyStatus hy_topk_search(HyMetric metric, const HyMatrix *queries, const HyMatrix *targets,
                               int32_t k, HyNeighbor *out, int32_t *counts, const HyCancel *cancel);

#endif
