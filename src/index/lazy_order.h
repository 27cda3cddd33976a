/*
 * lazy_order.h
 *		Taking the least of many, most of which are never taken.
 *
 * One array: first a heap of those up to a pivot (order.h), and then the others as they came, of which only
 * the least key is known.  When the heap is empty, and not before, some of the others are sifted
 * out of them, and when it is crowded most of it joins the others, below a lower pivot.  So what is never
 * taken costs hardly more than to be written down.  (As the near and far buckets of delta-stepping:
 * U. Meyer and P. Sanders, "Delta-stepping: a parallelizable shortest path algorithm", 2003; pivots come
 * from samples.)
 */
#ifndef HYBRID_INDEX_LAZY_ORDER_H
#define HYBRID_INDEX_LAZY_ORDER_H

#include <math.h>

#include "index/order.h"

#define HYBRID_LAZY_FEW 64    /* are sifted out at least, and left in a crowded heap */
#define HYBRID_LAZY_CROWD 4   /* times as many are a crowd */
#define HYBRID_LAZY_SHARE 8   /* of those that wait, that are sifted out: one in so many */
#define HYBRID_LAZY_SAMPLE 64 /* keys that the pivot comes from */

/* HybridLazyOrder: the array belongs to the caller, who sees to it that there is room. */
typedef struct HybridLazyOrder
{
	HybridOrdered *items;
	int near;    /* in the heap */
	int count;   /* of all */
	int crowd;   /* in the heap, from which on some leave it */
	float pivot; /* the heap has what is not above it; no NaN */
	float least; /* of the others */
} HybridLazyOrder;

/* hybrid_lazy_clear: there is none. */
static inline void
hybrid_lazy_clear(HybridLazyOrder *order)
{
	order->near = 0;
	order->count = 0;
	order->crowd = HYBRID_LAZY_CROWD * HYBRID_LAZY_FEW;
	order->pivot = -INFINITY;
	order->least = INFINITY;
}

/* hybrid_lazy_least: the key of the next; infinite where there is none. */
static inline float
hybrid_lazy_least(const HybridLazyOrder *order)
{
	return order->near > 0 ? order->items[0].key : order->least;
}

/* hybrid_lazy_pivot: a key that about `few` of these are not above, by a sample; few < count. */
static inline float
hybrid_lazy_pivot(const HybridOrdered *items, int count, int few)
{
	HybridOrdered sample[HYBRID_LAZY_SAMPLE];
	int left = HYBRID_LAZY_SAMPLE, i;
	float pivot = 0;

	for (i = 0; i < HYBRID_LAZY_SAMPLE; i++)
		sample[i] = items[(int64_t) i * count / HYBRID_LAZY_SAMPLE];
	hybrid_order_make(sample, left);
	for (i = (int) ((int64_t) few * HYBRID_LAZY_SAMPLE / count); i >= 0; i--)
		pivot = hybrid_order_take(sample, &left).key;
	return pivot;
}

/* hybrid_lazy_part: of the first `count`, none of which is among the others, a heap of those up to a pivot remains. */
static inline void
hybrid_lazy_part(HybridLazyOrder *order, int count, float pivot)
{
	HybridOrdered *items = order->items;
	float least = order->least;
	int near = 0, i;

	for (i = 0; i < count; i++)
	{
		HybridOrdered item = items[i];

		if (item.key <= pivot)
		{
			items[i] = items[near];
			items[near++] = item;
		}
		else
			least = item.key < least ? item.key : least;
	}
	hybrid_order_make(items, near);
	order->near = near;
	order->crowd = HYBRID_LAZY_CROWD * (near > HYBRID_LAZY_FEW ? near : HYBRID_LAZY_FEW);
	order->pivot = pivot;
	order->least = least;
}

/* hybrid_lazy_add: one more; there is room for it, and its key is no NaN. */
static inline void
hybrid_lazy_add(HybridLazyOrder *order, float key, int32_t which)
{
	HybridOrdered *last = &order->items[order->count++];

	if (!(key <= order->pivot))
	{
		last->key = key;
		last->which = which;
		order->least = key < order->least ? key : order->least;
		return;
	}
	*last = order->items[order->near];
	hybrid_order_add(order->items, &order->near, key, which);
	if (order->near >= order->crowd)
		hybrid_lazy_part(order, order->near,
		                 hybrid_lazy_pivot(order->items, order->near, HYBRID_LAZY_FEW));
}

/* hybrid_lazy_sift: the heap is empty, and gets the least of the others. */
static inline void
hybrid_lazy_sift(HybridLazyOrder *order)
{
	int few = order->count / HYBRID_LAZY_SHARE, i;
	float pivot = order->least;

	few = few > HYBRID_LAZY_FEW ? few : HYBRID_LAZY_FEW;
	if (order->count > few)
		pivot = hybrid_lazy_pivot(order->items, order->count, few);
	for (i = 0; order->count <= few && i < order->count; i++)
		pivot = order->items[i].key > pivot ? order->items[i].key : pivot;
	order->least = INFINITY;
	hybrid_lazy_part(order, order->count, pivot);
}

/* hybrid_lazy_take: the least, where there is one. */
static inline HybridOrdered
hybrid_lazy_take(HybridLazyOrder *order)
{
	HybridOrdered taken;

	if (order->near == 0)
		hybrid_lazy_sift(order);
	taken = hybrid_order_take(order->items, &order->near);
	/* the gap behind the heap */
	order->items[order->near] = order->items[--order->count];
	return taken;
}

#endif
