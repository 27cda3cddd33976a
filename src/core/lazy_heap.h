/*
 * lazy_heap.h
 *		A heap of many items, of which only a few of the smallest are ever taken.
 *
 * One array holds a heap (min_heap.h) of the items whose keys are at most a pivot, followed by the
 * waiting items in no particular order.  Only the smallest key of the waiting items is known.  When
 * the heap is empty, and only then, some of the waiting items are moved into it.  When the heap is
 * crowded, the pivot is lowered and most of the heap joins the waiting items.  An item that is
 * never taken thus costs little more than storing it.  (Compare the near and far buckets of
 * delta-stepping: U. Meyer and P. Sanders, "Delta-stepping: a parallelizable shortest path
 * algorithm", 2003.  Here pivots come from samples.)
 */
#ifndef HY_LAZY_HEAP_H
#define HY_LAZY_HEAP_H

#include <math.h>

#include "core/min_heap.h"

/* an empty heap gets about this many waiting items or more; a crowded heap keeps about this many */
#define HY_LAZY_FEW 64
#define HY_LAZY_CROWD 4   /* factor by which a heap grows before it is crowded */
#define HY_LAZY_SHARE 8   /* about one in this many waiting items is moved into an empty heap */
#define HY_LAZY_SAMPLE 64 /* sampled keys from which the pivot is chosen */

/* HyLazyHeap: the array belongs to the caller, who must ensure that its capacity suffices. */
typedef struct HyLazyHeap
{
	HyHeapItem *items;
	int near;    /* items in the heap */
	int count;   /* all items */
	int crowd;   /* heap size at which some items leave the heap */
	float pivot; /* largest key allowed in the heap; never NaN */
	float least; /* smallest key of the waiting items */
} HyLazyHeap;

/* hy_lazy_clear: make the heap empty. */
static inline void
hy_lazy_clear(HyLazyHeap *order)
{
	order->near = 0;
	order->count = 0;
	order->crowd = HY_LAZY_CROWD * HY_LAZY_FEW;
	order->pivot = -INFINITY;
	order->least = INFINITY;
}

/* hy_lazy_least: return the key of the next item; infinite if there is none. */
static inline float
hy_lazy_least(const HyLazyHeap *order)
{
	return order->near > 0 ? order->items[0].key : order->least;
}

/*
 * hy_lazy_pivot: estimate, from a sample, a key such that about `few` items have no greater key.
 * `few` is less than count.
 */
static inline float
hy_lazy_pivot(const HyHeapItem *items, int count, int few)
{
	HyHeapItem sample[HY_LAZY_SAMPLE];
	int left = HY_LAZY_SAMPLE, i;
	float pivot = 0;

	for (i = 0; i < HY_LAZY_SAMPLE; i++)
		sample[i] = items[(int64_t) i * count / HY_LAZY_SAMPLE];
	hy_heap_make(sample, left);
	for (i = (int) ((int64_t) few * HY_LAZY_SAMPLE / count); i >= 0; i--)
		pivot = hy_heap_take(sample, &left).key;
	return pivot;
}

/*
 * hy_lazy_part: partition the first `count` items.  order->least does not cover their keys yet.
 * Items up to the pivot become the heap, and the rest join the waiting items.
 */
static inline void
hy_lazy_part(HyLazyHeap *order, int count, float pivot)
{
	HyHeapItem *items = order->items;
	float least = order->least;
	int near = 0, i;

	for (i = 0; i < count; i++)
	{
		HyHeapItem item = items[i];

		if (item.key <= pivot)
		{
			items[i] = items[near];
			items[near++] = item;
		}
		else
			least = item.key < least ? item.key : least;
	}
	hy_heap_make(items, near);
	order->near = near;
	order->crowd = HY_LAZY_CROWD * (near > HY_LAZY_FEW ? near : HY_LAZY_FEW);
	order->pivot = pivot;
	order->least = least;
}

/* hy_lazy_add: add an item.  The array must have space for it, and its key must not be NaN. */
static inline void
hy_lazy_add(HyLazyHeap *order, float key, int32_t which)
{
	HyHeapItem *last = &order->items[order->count++];

	if (!(key <= order->pivot))
	{
		last->key = key;
		last->which = which;
		order->least = key < order->least ? key : order->least;
		return;
	}
	*last = order->items[order->near];
	hy_heap_add(order->items, &order->near, key, which);
	if (order->near >= order->crowd)
		hy_lazy_part(order, order->near, hy_lazy_pivot(order->items, order->near, HY_LAZY_FEW));
}

/* hy_lazy_sift: fill the empty heap with the smallest of the waiting items. */
static inline void
hy_lazy_sift(HyLazyHeap *order)
{
	int few = order->count / HY_LAZY_SHARE, i;
	float pivot = order->least;

	few = few > HY_LAZY_FEW ? few : HY_LAZY_FEW;
	if (order->count > few)
		pivot = hy_lazy_pivot(order->items, order->count, few);
	for (i = 0; order->count <= few && i < order->count; i++)
		pivot = order->items[i].key > pivot ? order->items[i].key : pivot;
	order->least = INFINITY;
	hy_lazy_part(order, order->count, pivot);
}

/* hy_lazy_take: remove and return the smallest item.  There must be at least one item. */
static inline HyHeapItem
hy_lazy_take(HyLazyHeap *order)
{
	HyHeapItem taken;

	if (order->near == 0)
		hy_lazy_sift(order);
	taken = hy_heap_take(order->items, &order->near);
	/* Fill the gap after the heap with the last item. */
	order->items[order->near] = order->items[--order->count];
	return taken;
}

#endif
