/*
 * min_heap_test.c
 *		The least of many items, one after another: the same as by a sort, whatever was added
 *		meanwhile.
 */
#include "core/min_heap.h"
#include "unit.h"

#define MOST 300

static uint32_t state;

static uint32_t
next_random(void)
{
	state = state * 1664525u + 1013904223u;
	return state >> 8;
}

/* random_key: return one of a few values, so that there are ties, or an end of the range. */
static float
random_key(void)
{
	switch (next_random() % 12)
	{
		case 0:
			return -INFINITY;
		case 1:
			return INFINITY;
		case 2:
			return -0.0f;
		default:
			return (float) (next_random() % 40) - 20;
	}
}

static int
compare(const void *a, const void *b)
{
	float x = *(const float *) a, y = *(const float *) b;

	return (x > y) - (x < y);
}

/* A heap made of any number of items returns each of them once, in the order of a sort. */
static void
test_gives_all_in_order(void)
{
	int count, round;

	for (round = 0; round < 2000; round++)
	{
		HyHeapItem items[MOST];
		float keys[MOST], sorted[MOST];
		bool given[MOST] = {false};
		int i;

		state = (uint32_t) round;
		count = round % MOST;
		for (i = 0; i < count; i++)
		{
			sorted[i] = keys[i] = random_key();
			items[i].key = keys[i];
			items[i].which = i;
		}
		qsort(sorted, (size_t) count, sizeof(float), compare);
		hy_heap_make(items, count);
		for (i = 0; count > 0; i++)
		{
			int before = count;
			HyHeapItem least = hy_heap_take(items, &count);

			CHECK_INT(count, before - 1);
			CHECK(least.key == sorted[i]);
			CHECK(!given[least.which]);
			CHECK_SAME_F32(least.key, keys[least.which]);
			given[least.which] = true;
		}
	}
}

/* Items are added while others are taken: the item taken is the least of those present. */
static void
test_takes_the_least_of_what_is_there(void)
{
	int round;

	for (round = 0; round < 500; round++)
	{
		HyHeapItem items[MOST];
		float keys[MOST];
		bool there[MOST] = {false};
		int count = 0, added = 0, waiting = 0, i;

		state = (uint32_t) round * 77 + 5;
		while (added < MOST || count > 0)
		{
			if (added < MOST && (count == 0 || next_random() % 5 < 3))
			{
				keys[added] = random_key();
				there[added] = true;
				hy_heap_add(items, &count, keys[added], added);
				added++;
				waiting++;
			}
			else
			{
				HyHeapItem least = hy_heap_take(items, &count);

				CHECK(there[least.which]);
				there[least.which] = false;
				waiting--;
				for (i = 0; i < added; i++)
					CHECK(!there[i] || !(keys[i] < least.key));
			}
			CHECK_INT(count, waiting);
		}
	}
}

/* The order of equal keys follows from the order in which they were added, on every machine. */
static void
test_ties_are_the_same_everywhere(void)
{
	static const int expected[] = {0, 2, 5, 6, 4, 1, 3};
	HyHeapItem items[7];
	int count = 0, i;

	for (i = 0; i < 7; i++)
		hy_heap_add(items, &count, 1, i);
	for (i = 0; i < 7; i++)
		CHECK_INT(hy_heap_take(items, &count).which, expected[i]);
}

int
main(void)
{
	UNIT_RUN(test_gives_all_in_order);
	UNIT_RUN(test_takes_the_least_of_what_is_there);
	UNIT_RUN(test_ties_are_the_same_everywhere);
	return unit_finish();
}
