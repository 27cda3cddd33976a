/*
 * topk.c
 *		A bounded max-heap.  Its root is the worst of the k best, so most candidates cost one
 *		comparison.
 */
#include "core/topk.h"

#include <math.h>

#include "core/distance_blocks.h"
#include "core/threads.h"

#define SORT_WORK 40.0  /* work of sorting one entry, for hy_threads_for */
#define SORT_QUERIES 16 /* queries whose heaps are sorted as one part */

typedef struct SearchSink
{
	HyNeighbor *out;
	int32_t *counts;
	int32_t k;
	HyTopKLocks locks;
} SearchSink;

typedef struct Sorting
{
	HyNeighbor *out;
	const int32_t *counts;
	int32_t k;
	int64_t queries;
} Sorting;

static void sift_down(HyNeighbor *items, int32_t count, int32_t hole, HyNeighbor item);
static void sift_up(HyNeighbor *items, int32_t hole, HyNeighbor item);
static HyStatus sort_some(void *arg, int64_t part, int worker, const HyCancel *cancel);
static void offer_block(void *arg, int64_t query, int64_t first, int n, const double *distances);

void
hy_topk_init(HyTopK *topk, HyNeighbor *items, int32_t k)
{
	topk->items = items;
	topk->k = k;
	topk->count = 0;
}

bool
hy_topk_push(HyTopK *topk, double distance, int64_t row)
{
	HyNeighbor item;

	if (isnan(distance))
		return false;
	item.distance = distance;
	item.row = row;
	if (topk->count < topk->k)
	{
		sift_up(topk->items, topk->count++, item);
		return true;
	}
	if (hy_neighbor_compare(&item, &topk->items[0]) >= 0)
		return false;
	sift_down(topk->items, topk->count, 0, item);
	return true;
}

void
hy_topk_sort(HyTopK *topk)
{
	int32_t end;

	for (end = topk->count - 1; end > 0; end--)
	{
		HyNeighbor last = topk->items[end];

		topk->items[end] = topk->items[0];
		sift_down(topk->items, end, 0, last);
	}
}

HyStatus
hy_topk_sort_all(HyNeighbor *out, const int32_t *counts, int32_t k, int64_t queries,
                 const HyCancel *cancel)
{
	Sorting sorting = {out, counts, k, queries};
	int threads = hy_threads_for((double) queries * k * SORT_WORK);

	return hy_threads_run(threads, (queries + SORT_QUERIES - 1) / SORT_QUERIES, sort_some, &sorting,
	                      cancel);
}

/* sort_some: sort the heaps of SORT_QUERIES queries. */
static HyStatus
sort_some(void *arg, int64_t part, int worker, const HyCancel *cancel)
{
	const Sorting *sorting = arg;
	int64_t q = part * SORT_QUERIES;
	int64_t last = sorting->queries - q < SORT_QUERIES ? sorting->queries : q + SORT_QUERIES;

	(void) worker;
	for (; q < last; q++)
	{
		HyTopK topk = {sorting->out + q * sorting->k, sorting->k, sorting->counts[q]};

		/* poll for each query, because sorting many entries takes long */
		if (hy_cancelled(cancel))
			return HY_CANCELLED;
		hy_topk_sort(&topk);
	}
	return HY_OK;
}

void
hy_topk_locks_init(HyTopKLocks *locks, int threads)
{
	int i;

	locks->used = threads > 1;
	for (i = 0; i < HY_TOPK_LOCKS && locks->used; i++)
		pthread_mutex_init(&locks->mutex[i], NULL);
}

void
hy_topk_locks_destroy(HyTopKLocks *locks)
{
	int i;

	for (i = 0; i < HY_TOPK_LOCKS && locks->used; i++)
		pthread_mutex_destroy(&locks->mutex[i]);
	locks->used = false;
}

HyStatus
hy_topk_search(HyMetric metric, const HyMatrix *queries, const HyMatrix *targets, int32_t k,
               HyNeighbor *out, int32_t *counts, const HyCancel *cancel)
{
	SearchSink sink;
	HyStatus status;
	int64_t q;

	if (k < 1)
		return HY_INVALID;
	for (q = 0; q < queries->rows; q++)
		counts[q] = 0;

	/* out serves as the heaps until all targets have been compared. */
	sink.out = out;
	sink.counts = counts;
	sink.k = k;
	hy_topk_locks_init(&sink.locks, hy_threads_allowed());
	status = hy_distance_blocks(metric, queries, targets, offer_block, &sink, cancel);
	hy_topk_locks_destroy(&sink.locks);
	if (status != HY_OK)
		return status;
	return hy_topk_sort_all(out, counts, k, queries->rows, cancel);
}

static void
sift_down(HyNeighbor *items, int32_t count, int32_t hole, HyNeighbor item)
{
	for (;;)
	{
		int64_t child = 2 * (int64_t) hole + 1;

		if (child >= count)
			break;
		if (child + 1 < count && hy_neighbor_compare(&items[child + 1], &items[child]) > 0)
			child++;
		if (hy_neighbor_compare(&items[child], &item) <= 0)
			break;
		items[hole] = items[child];
		hole = (int32_t) child;
	}
	items[hole] = item;
}

static void
sift_up(HyNeighbor *items, int32_t hole, HyNeighbor item)
{
	while (hole > 0)
	{
		int32_t parent = (hole - 1) / 2;

		if (hy_neighbor_compare(&items[parent], &item) >= 0)
			break;
		items[hole] = items[parent];
		hole = parent;
	}
	items[hole] = item;
}

static void
offer_block(void *arg, int64_t query, int64_t first, int n, const double *distances)
{
	SearchSink *sink = arg;
	HyTopK topk = {sink->out + query * sink->k, sink->k, 0};
	int i;

	hy_topk_lock(&sink->locks, query);
	topk.count = sink->counts[query];
	for (i = 0; i < n; i++)
		hy_topk_push(&topk, distances[i], first + i);
	sink->counts[query] = topk.count;
	hy_topk_unlock(&sink->locks, query);
}
