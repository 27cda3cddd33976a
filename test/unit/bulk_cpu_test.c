/*
 * bulk_cpu_test.c
 *		The CPU beside devices: its fixed part, and what it takes back from who is late.
 */
#include "bulk_stage.h"

static void
test_fixed_percentage(void)
{
	static const int percents[] = {0, 1, 30, 50, 99, 100};
	size_t i;

	for (i = 0; i < sizeof(percents) / sizeof(percents[0]); i++)
	{
		stage_begin(2);
		stage.device_item_ns = 10;
		stage_teach(stage.executor, 2);
		bulk(10000, (HyBulkPlan){6, true, true, percents[i]});
		CHECK_INT(report.rows[1] + report.rows[2], 100 * percents[i]);
		CHECK_INT(report.rows[0], 10000 - 100 * percents[i]);
		CHECK(!report.fallback);
		stage_end();
	}
}

/* What a device found too much at once is still its part, not the CPU's. */
static void
test_fixed_percentage_of_a_device_short_of_memory(void)
{
	stage_begin(1);
	stage.device_item_ns = 400;
	stage_teach(stage.executor, 1);
	stage.free_bytes = 50000; /* two pieces of 2,500 rows at once */
	stage.fail_in_poll = true;
	stage.script[0] = HY_NOMEM;
	bulk(10000, (HyBulkPlan){2, true, true, 50});
	CHECK_INT(report.first, HY_NOMEM);
	CHECK_INT(report.rows[0], 5000);
	CHECK_INT(report.rows[1], 5000);
	stage_end();
}

static void
test_a_device_much_slower_than_it_was(void)
{
	double ns;

	stage_begin(1);
	stage.device_item_ns = 10;
	stage_teach(stage.executor, 1);
	stage.slowness[0] = 200;
	ns = bulk(100000, (HyBulkPlan){2, true, true, -1});
	CHECK(report.stolen > 0);
	CHECK_MSG(ns < 1.3 * 10e6, "%.1f ms instead of 10", ns / 1e6);
	stage_end();
}

int
main(void)
{
	UNIT_RUN(test_fixed_percentage);
	UNIT_RUN(test_fixed_percentage_of_a_device_short_of_memory);
	UNIT_RUN(test_a_device_much_slower_than_it_was);
	return unit_finish();
}
