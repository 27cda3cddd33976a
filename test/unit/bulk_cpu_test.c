/*
 * bulk_cpu_test.c
 *		The CPU beside devices: its fixed part, and the rows that it takes back from a late
 *		device.
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

/* Rows that were too many for a device at once are still its part, not the CPU's. */
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

static uint64_t longest_ns;
static int short_ones; /* of less than 50 us */

static HyStatus
measured_submit(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	HyShape shape = hy_task_shape(task);
	uint64_t ns = (uint64_t) (stage.cpu_item_ns * (double) hy_shape_items(&shape));

	longest_ns = ns > longest_ns ? ns : longest_ns;
	short_ones += ns < 50000;
	return stage_cpu_submit(device, task, ticket);
}

static void
measure(void)
{
	stage_cpu.submit = measured_submit;
	longest_ns = 0;
	short_ones = 0;
}

static void
test_how_long_the_cpu_is_deaf(void)
{
	stage_begin(1);
	stage_teach(stage.executor, 1);
	measure();
	bulk(400000, (HyBulkPlan){0, true, true, -1}); /* 40 ms */
	CHECK(longest_ns >= 2000000 && longest_ns <= 2000000 + 2 * stage.cpu_item_ns);
	CHECK_INT(report.pieces, 20);
	stage_end();
}

/*
 * The CPU's pieces never become shorter, however soon a device will be done, except for the last
 * one.
 */
static void
test_the_least_that_the_cpu_does_at_a_time(void)
{
	stage_begin(1);
	stage.device_item_ns = 100;
	stage_teach(stage.executor, 1);
	measure();
	bulk(20000, (HyBulkPlan){2, true, true, -1});
	CHECK(report.rows[1] > 0);
	CHECK_MSG(short_ones <= 1, "%d", short_ones);
	stage_end();
}

int
main(void)
{
	UNIT_RUN(test_fixed_percentage);
	UNIT_RUN(test_fixed_percentage_of_a_device_short_of_memory);
	UNIT_RUN(test_a_device_much_slower_than_it_was);
	UNIT_RUN(test_how_long_the_cpu_is_deaf);
	UNIT_RUN(test_the_least_that_the_cpu_does_at_a_time);
	return unit_finish();
}
