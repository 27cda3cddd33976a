/*
 * record_sort_test.c
 *		Tests that records are sorted by all bytes of their keys, and that records with equal keys keep
 *		their order. Also tests a call that is canceled.
 */
#include "unit.h"

#include "core/record_sort.h"

/* With each mask, keys differ in other bytes, so the sort skips other passes. */
static void
test_masks(void)
{
	static const uint32_t masks[] = {0,      0xff,       0xff00, 0xff0000,  0xff000000,
	                                 0xffff, 0xffff0000, 0x0fff, UINT32_MAX};
	const int64_t count = 10000;
	UnitRandom random = {51};
	uint64_t *records = malloc(sizeof(uint64_t) * (size_t) count);
	uint64_t *scratch = malloc(sizeof(uint64_t) * (size_t) count);
	size_t m;

	for (m = 0; m < sizeof(masks) / sizeof(masks[0]); m++)
	{
		uint64_t keys = 0;
		int64_t wrong = 0;
		int64_t i;

		for (i = 0; i < count; i++)
		{
			uint32_t key = (uint32_t) unit_random(&random) & masks[m];

			records[i] = hy_record(key, (uint32_t) i);
			keys += key;
		}
		CHECK_INT(hy_record_sort(records, scratch, count, NULL), HY_OK);
		for (i = 0; i < count; i++)
		{
			keys -= hy_record_key(records[i]);
			/* a payload is the old place, so a stable sort by key orders whole records */
			wrong += i > 0 && records[i - 1] >= records[i];
			wrong += hy_record_payload(records[i]) >= count;
		}
		CHECK_INT(wrong, 0);
		CHECK_INT(keys, 0);
	}
	free(records);
	free(scratch);
}

static void
test_short(void)
{
	uint64_t one = hy_record(7, 8);
	uint64_t two[2] = {hy_record(UINT32_MAX, 1), hy_record(0, 2)};
	uint64_t scratch[2];

	CHECK_INT(hy_record_sort(NULL, NULL, 0, NULL), HY_OK);
	CHECK_INT(hy_record_sort(&one, scratch, 1, NULL), HY_OK);
	CHECK(one == hy_record(7, 8));
	CHECK_INT(hy_record_sort(two, scratch, 2, NULL), HY_OK);
	CHECK(two[0] == hy_record(0, 2) && two[1] == hy_record(UINT32_MAX, 1));
}

static void
test_cancel(void)
{
	const int64_t count = HY_CANCEL_BLOCK + 1;
	UnitRandom random = {52};
	uint64_t *records = malloc(sizeof(uint64_t) * (size_t) count);
	uint64_t *scratch = malloc(sizeof(uint64_t) * (size_t) count);
	int64_t stop;
	int64_t i;

	/* two polls for each of five passes: one pass counts, and four sort by one byte each */
	for (stop = 1; stop <= 11; stop++)
	{
		UnitCancel cancel;

		for (i = 0; i < count; i++)
			records[i] = unit_random(&random);
		unit_cancel_init(&cancel, stop);
		CHECK_INT(hy_record_sort(records, scratch, count, &cancel.cancel),
		          stop > 10 ? HY_OK : HY_CANCELLED);
		CHECK_INT(cancel.polls, stop > 10 ? 10 : stop);
	}
	free(records);
	free(scratch);
}

int
main(void)
{
	UNIT_RUN(test_masks);
	UNIT_RUN(test_short);
	UNIT_RUN(test_cancel);
	return unit_finish();
}
