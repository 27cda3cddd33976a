/*
 * min_heap.h
 *		A binary min-heap of keys and numbers.
 *
 * The heap is meant for callers that take only some of the items.  Building the heap takes linear
 * time.  Sorting all items would cost more than the rest of a search.
 */
#ifndef HY_MIN_HEAP_H
#define HY_MIN_HEAP_H

#include <stdint.h>

typedef struct HyHeapItem
{
	float key;
	int32_t which;
} HyHeapItem;

/* hy_heap_sink: move item i down until neither child has a smaller key. */
static inline void
hy_heap_sink(HyHeapItem *items, int count, int i)
{
	HyHeapItem item = items[i];

	for (;;)
	{
		int child = 2 * i + 1;

		if (child >= count)
			break;
		if (child + 1 < count && items[child + 1].key < items[child].key)
			child++;
		if (!(items[child].key < item.key))
			break;
		items[i] = items[child];
		i = child;
	}
	items[i] = item;
}

/* hy_heap_make: turn the items into a heap. */
static inline void
hy_heap_make(HyHeapItem *items, int count)
{
	int i;

	for (i = count / 2 - 1; i >= 0; i--)
		hy_heap_sink(items, count, i);
}

/*
 * hy_heap_take: remove and return the smallest item of a heap that is not empty.  The gap moves
 * down to the bottom along the smaller children, which needs no unpredictable branch.  The last
 * item of the array then fills the gap and moves up to its place, which is usually near the bottom
 * (R. Floyd's method; I. Wegener, "Bottom-up heapsort", 1993).
 */
static inline HyHeapItem
hy_heap_take(HyHeapItem *items, int *count)
{
	HyHeapItem least = items[0], last;
	int rest = --*count, i = 0, child;

	last = items[rest];
	for (child = 2; child < rest; child = 2 * i + 2)
	{
		child -= items[child - 1].key < items[child].key;
		items[i] = items[child];
		i = child;
	}
	if (child == rest)
	{
		items[i] = items[child - 1];
		i = child - 1;
	}
	while (i > 0 && last.key < items[(i - 1) / 2].key)
	{
		items[i] = items[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	items[i] = last;
	return least;
}

/* hy_heap_add: add an item.  The array must have space for it. */
static inline void
hy_heap_add(HyHeapItem *items, int *count, float key, int32_t which)
{
	int i = (*count)++;

	while (i > 0 && key < items[(i - 1) / 2].key)
	{
		items[i] = items[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	items[i].key = key;
	items[i].which = which;
}

#endif
