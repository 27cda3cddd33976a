/*
 * lazy_heap_test.c
 *		The least of many items, most of which are never taken: the same as by a sort, whatever
 *		was added meanwhile.
 */
#include "core/lazy_heap.h"
#include "unit.h"

#define MOST 6000

static uint32_t state;
static HyHeapItem items[MOST];
static float keys[MOST];
static bool there[MOST];

static uint32_t
next_random(void)
{
	state = state * 1664525u + 1013904223u;
	return state >> 8;
}

/* random_key: return one of this many values, so that there are ties, or an end of the range. */
static float
random_key(uint32_t values)
{
	switch (next_random() % 50)
	{
		case 0:
			return -INFINITY;
		case 1:
			return INFINITY;
		default:
			return (float) (next_random() % values) - (float) (values / 2);
	}
}

/* check_least: check the least of the items that are present. */
static void
check_least(const HyLazyHeap *order, int added)
{
	float least = INFINITY;
	int i, count = 0;

	for (i = 0; i < added; i++)
	{
		count += there[i];
		if (there[i] && keys[i] < least)
			least = keys[i];
	}
	CHECK_INT(order->count, count);
	CHECK(hy_lazy_least(order) == least);
}

/* take_one: check that the item taken is present and that no present item is less. */
static void
take_one(HyLazyHeap *order, int added)
{
	float least = hy_lazy_least(order);
	HyHeapItem taken = hy_lazy_take(order);
	int i;

	CHECK(taken.key == least);
	CHECK(there[taken.which]);
	CHECK_SAME_F32(taken.key, keys[taken.which]);
	there[taken.which] = false;
	for (i = 0; i < added; i++)
		CHECK(!there[i] || !(keys[i] < taken.key));
}

/*
 * walk: add items and take some, until each has been taken exactly once. coming: number of steps in
 * ten that add an item.
 */
static void
walk(int round, int most, uint32_t values, uint32_t coming)
{
	HyLazyHeap order = {.items = items};
	int added = 0;

	state = (uint32_t) round * 77 + 5;
	hy_lazy_clear(&order);
	memset(there, 0, sizeof(there));
	while (added < most || order.count > 0)
	{
		if (added < most && (order.count == 0 || next_random() % 10 < coming))
		{
			keys[added] = random_key(values);
			there[added] = true;
			hy_lazy_add(&order, keys[added], added);
			added++;
		}
		else
			take_one(&order, added);
		if (next_random() % 97 == 0)
			check_least(&order, added);
	}
	check_least(&order, added);
}

static void
test_takes_the_least_of_what_is_there(void)
{
	int round;

	for (round = 0; round < 40; round++)
	{
		walk(round, 300, 40, 6);
		walk(round, 1500, 1u << 20, 9);
		walk(round, 1500, 3, 8);
	}
	/* nearly all come before any is taken */
	walk(1, MOST, 1u << 20, 10);
	walk(2, MOST, 1u << 20, 9);
	walk(3, MOST, 2, 10);
}

/* As in a search: each batch is nearer than the one before, and few of its items are taken. */
static void
test_a_crowd_leaves_the_heap(void)
{
	HyLazyHeap order = {.items = items};
	int added = 0, lot, most_near = 0, i;

	state = 7;
	hy_lazy_clear(&order);
	memset(there, 0, sizeof(there));
	for (lot = 0; lot < 20; lot++)
	{
		for (i = 0; i < 250; i++)
		{
			keys[added] = (float) (next_random() % 100000) * (float) (20 - lot);
			there[added] = true;
			hy_lazy_add(&order, keys[added], added);
			added++;
			most_near = order.near > most_near ? order.near : most_near;
		}
		for (i = 0; i < 5; i++)
			take_one(&order, added);
	}
	CHECK(most_near <= HY_LAZY_CROWD * HY_LAZY_FEW * 4);
	CHECK_INT(order.count, 20 * 245);
}

/* Thousands of items with one key: each is stored once and not examined again and again. */
static void
test_equal_keys_do_not_crowd(void)
{
	HyLazyHeap order = {.items = items};
	int i, crowds = 0, crowd = 0;

	hy_lazy_clear(&order);
	memset(there, 0, sizeof(there));
	for (i = 0; i < MOST; i++)
	{
		keys[i] = 1;
		there[i] = true;
		hy_lazy_add(&order, 1, i);
		if (i == 0)
		{
			(void) hy_lazy_take(&order);
			hy_lazy_add(&order, 1, 0);
		}
		crowds += order.crowd != crowd;
		crowd = order.crowd;
	}
	CHECK(crowds < 10);
	for (i = 0; i < MOST; i++)
		take_one(&order, i < 50 ? MOST : 0);
	CHECK_INT(order.count, 0);
	CHECK(isinf(hy_lazy_least(&order)));
}

int
main(void)
{
	UNIT_RUN(test_takes_the_least_of_what_is_there);
	UNIT_RUN(test_a_crowd_leaves_the_heap);
	UNIT_RUN(test_equal_keys_do_not_crowd);
	return unit_finish();
}
