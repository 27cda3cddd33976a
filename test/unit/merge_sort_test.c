/*
 * merge_sort_test.c
 *		Tests that arrays of every length around a block are sorted, and that equal elements keep their
 *		order across blocks. Also tests a lack of memory and a call that is canceled.
 */
#include "unit.h"

#include "core/merge_sort.h"

/* Item: an element of three bytes, which is no power of two. */
typedef struct Item
{
	uint8_t key;
	uint8_t block; /* number of the block in which it begins */
	uint8_t other;
} Item;

static int
compare_items(const void *a, const void *b)
{
	return (int) ((const Item *) a)->key - (int) ((const Item *) b)->key;
}

/* random_items: make items with 256 keys.  Also counts them by key and `other`. */
static Item *
random_items(UnitRandom *random, int64_t count, int64_t (*counts)[256])
{
	Item *items = malloc(sizeof(Item) * (size_t) (count + 1));
	int64_t i;

	for (i = 0; i < count; i++)
	{
		items[i].key = (uint8_t) unit_random_below(random, 256);
		items[i].block = (uint8_t) (i / HY_CANCEL_BLOCK);
		items[i].other = (uint8_t) unit_random_below(random, 256);
		counts[items[i].key][items[i].other]++;
	}
	return items;
}

static void
test_lengths(void)
{
	static const int64_t lengths[] = {0,
	                                  1,
	                                  2,
	                                  1000,
	                                  HY_CANCEL_BLOCK,
	                                  HY_CANCEL_BLOCK + 1,
	                                  2 * HY_CANCEL_BLOCK,
	                                  3 * HY_CANCEL_BLOCK - 1,
	                                  5 * HY_CANCEL_BLOCK + 77};
	UnitRandom random = {41};
	size_t n;

	for (n = 0; n < sizeof(lengths) / sizeof(lengths[0]); n++)
	{
		static int64_t counts[256][256];
		int64_t wrong = 0;
		UnitMemory memory;
		Item *items;
		int64_t i;

		memset(counts, 0, sizeof(counts));
		items = random_items(&random, lengths[n], counts);
		unit_memory_init(&memory, 0);
		CHECK_INT(
			hy_merge_sort(items, lengths[n], sizeof(Item), compare_items, &memory.allocator, NULL),
			HY_OK);
		CHECK_INT(memory.outstanding, 0);
		for (i = 0; i < lengths[n]; i++)
		{
			counts[items[i].key][items[i].other]--;
			if (i == 0)
				continue;
			wrong += items[i - 1].key > items[i].key;
			wrong += items[i - 1].key == items[i].key && items[i - 1].block > items[i].block;
		}
		for (i = 0; i < 256 * 256; i++)
			wrong += counts[i / 256][i % 256] != 0;
		CHECK_INT(wrong, 0);
		free(items);
	}
}

static void
test_fails(void)
{
	const int64_t count = 3 * HY_CANCEL_BLOCK;
	static int64_t counts[256][256];
	UnitRandom random = {42};
	Item *items = random_items(&random, count, counts);
	UnitCancel cancel;
	UnitMemory memory;
	int64_t polls;
	int64_t stop;

	unit_memory_init(&memory, 1);
	CHECK_INT(hy_merge_sort(items, count, sizeof(Item), compare_items, &memory.allocator, NULL),
	          HY_NOMEM);
	unit_memory_init(&memory, 0);
	unit_cancel_init(&cancel, 0);
	CHECK_INT(
		hy_merge_sort(items, count, sizeof(Item), compare_items, &memory.allocator, &cancel.cancel),
		HY_OK);
	polls = cancel.polls;
	/* a poll for each block that is sorted, and for each block of two rounds of merges */
	CHECK_INT(polls, 9);
	for (stop = 1; stop <= polls; stop++)
	{
		unit_cancel_init(&cancel, stop);
		CHECK_INT(hy_merge_sort(items, count, sizeof(Item), compare_items, &memory.allocator,
		                        &cancel.cancel),
		          HY_CANCELLED);
		CHECK_INT(cancel.polls, stop);
		CHECK_INT(memory.outstanding, 0);
	}
	free(items);
}

int
main(void)
{
	UNIT_RUN(test_lengths);
	UNIT_RUN(test_fails);
	return unit_finish();
}
