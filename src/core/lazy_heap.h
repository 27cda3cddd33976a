/*
 * lazy_heap.h
 *		Taking the least of many, most of which are never taken.
 *
 * One array: first a heap of those up to a pivot (order.h), and then the others as they came, of which only
 * the least key is known.  When the heap is empty, and not before, some of the others are sifted
 * out of them, and when it is crowded most of it joins the others, below a lower pivot.  So what is never
 * taken costs hardly more than to be written down.  (As the near and far buckets of delta-stepping:
 * U. Meyer and P. Sanders, "Delta-stepping: a parallelizable shortest path algorithm", 2003; pivots come
 * from samples.)
 */
#ifndef HY_LAZY_HEAP_H
#define HY_LAZY_HEAP_H

#include <math.h>

#include "core/min_heap.h"

#define HY_LAZY_FEW 64    /* are sifted out at least, and left in a crowded heap */
#define HY_LAZY_CROWD 4   /* times as many are a crowd */
#define HY_LAZY_SHARE 8   /* of those that wait, that are sifted out: one in so many */
#define HY_LAZY_SAMPLE 64 /* keys that the pivot comes from */

/* HyLazyHeap: the array belongs to the caller, who sees to it that there is room. */
typedef struct HyLazyHeap
{
	HyHeapItem *items;
	int near;    /* in the heap */
	int count;   /* of all */
	int crowd;   /* in the heap, from which on some leave it */
	float pivot; /* the heap has what is not above it; no NaN */
	float least; /* of the others */
} HyLazyHeap;

/* hy_lazy_clear: there is none. */
static inline void
hy_lazy_clear(HyLazyHeap *order)
{
	order->near = 0;
	order->count = 0;
	order->crowd = HY_LAZY_CROWD * HY_LAZY_FEW;
	order->pivot = -INFINITY;
	order->least = INFINITY;
}

/* hy_lazy_least: the key of the next; infinite where there is none. */
static inline float
hy_lazy_least(const HyLazyHeap *order)
{
	return order->near > 0 ? order->items[0].key : order->least;
}

/* hy_lazy_pivot: a key that about `few` of these are not above, by a sample; few < count. */
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

/* hy_lazy_part: of the first `count`, none of which is among the others, a heap of those up to a pivot remains. */
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

/* hy_lazy_add: one more; there is room for it, and its key is no NaN. */
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

/* hy_lazy_sift: the heap is empty, and gets the least of the others. */
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

/* hy_lazy_take: the least, where there is one. */
static inline HyHeapItem
hy_lazy_take(HyLazyHeap *order)
{
	HyHeapItem taken;

	if (order->near == 0)
		hy_lazy_sift(order);
	taken = hy_heap_take(order->items, &order->near);
	/* the gap behind the heap */
	order->items[order->near] = order->items[--order->count];
	return taken;
}

#endif
