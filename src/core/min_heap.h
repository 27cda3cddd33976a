/*
 * order.h
 *		Taking the least of many, one after another: a binary min-heap of keys and numbers.
 *
 * For when only some of them will be taken: making the heap costs what a look at each costs, and a
 * sort of all would cost more than all the rest of a search.
 */
#ifndef HY_MIN_HEAP_H
#define HY_MIN_HEAP_H

#include <stdint.h>

typedef struct HyHeapItem
{
	float key;
	int32_t which;
} HyHeapItem;

/* hy_heap_sink: item i finds its place among those below it. */
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

/* hy_heap_make: a heap of what is there. */
static inline void
hy_heap_make(HyHeapItem *items, int count)
{
	int i;

	for (i = count / 2 - 1; i >= 0; i--)
		hy_heap_sink(items, count, i);
}

/*
 * hy_heap_take: the least of a heap that is not empty.  The gap goes down to the bottom along the lesser
 * children, which takes no guess of the processor's, and the last item, which mostly belongs there, comes
 * up from it (R. Floyd's way; I. Wegener, "Bottom-up heapsort", 1993).
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

/* hy_heap_add: one more; there is room for it. */
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
