/*
 * memo_test.c
 *		Decisions that are kept for a while: for which tasks, and which changes end them.
 */
#include "memo_stage.h"

static void
test_like_shapes_only(void)
{
	HyTask task;

	/* 16 dims: 96 to 127 rows are work of 1.5 to 2 times 1,024 */
	stage_begin(0);
	settled(100);
	CHECK(!long_way(100));
	CHECK(!long_way(96));
	CHECK(!long_way(127));
	CHECK(long_way(95));
	CHECK(long_way(128));
	CHECK(!long_way(100));
	task = stage_task(100);
	task.u.distance.metric = HY_METRIC_L1;
	CHECK_INT(hy_dispatch(stage.executor, &task, NULL), HY_OK);
	CHECK_INT(
		hy_executor_event(stage.executor, hy_executor_events(stage.executor) - 1)->shape.metric,
		HY_METRIC_L1);
	/* what a call is refused for is seen with a memo too */
	task = stage_task(100);
	task.u.distance.targets.buffer = (HyBuffer *) &stage;
	CHECK_INT(hy_dispatch(stage.executor, &task, NULL), HY_INVALID);
	task = stage_task(100);
	task.u.distance.out = NULL;
	CHECK_INT(hy_dispatch(stage.executor, &task, NULL), HY_INVALID);
	stage_end();
}

/* A minimum in the middle of half a power of two, and a device that becomes faster there. */
static void
test_no_further_than_the_decision_holds(void)
{
	HyDecision decision;
	int i;

	stage_begin(1);
	stage.config.min_batch[HY_OP_DISTANCE] = 110;
	settled(100);
	CHECK(!long_way(100));
	CHECK(long_way(109)); /* to 127 it does not hold, which is all that was asked */
	for (i = 96; i < 110; i++)
		CHECK(!long_way(i));
	CHECK_INT(stage_dispatch(110, &decision), HY_OK);
	CHECK(decision.reason != HY_REASON_BELOW_MIN);
	CHECK_INT(stage_dispatch(109, &decision), HY_OK);
	CHECK_INT(decision.reason, HY_REASON_BELOW_MIN);
	stage_end();

	/* the device takes 11 us, the CPU 100 ns a row: by the threshold of 1.1 it is 121 rows */
	stage_begin(1);
	stage.cpu_item_ns = 100;
	stage.device_launch_ns = 11000;
	stage.device_item_ns = 0;
	for (i = 0; i < 2000; i++)
		CHECK_INT(stage_dispatch(70 + i * 37 % 180, NULL), HY_OK);
	for (i = 0; i < 200; i++)
	{
		CHECK_INT(stage_dispatch(i % 2 == 0 ? 97 : 127, &decision), HY_OK);
		if (decision.reason == HY_REASON_COST)
			CHECK_INT(decision.device, i % 2);
	}
	stage_end();
}

static void
test_changing_sizes_are_told_apart(void)
{
	HyDecision decision;
	const HyDecision *event;
	HyTrackerRow row;
	int64_t sum = 0;
	int i;

	stage_begin(1);
	stage.cpu_item_ns = 10;
	stage.device_launch_ns = 100000;
	for (i = 0; i < 3000; i++)
	{
		int64_t rows = 64 + i * 37 % 255;

		CHECK_INT(stage_dispatch(rows, &decision), HY_OK);
		if (i < 1000)
			continue;
		event = hy_executor_event(stage.executor, hy_executor_events(stage.executor) - 1);
		CHECK_INT(event->shape.targets, rows);
		CHECK_INT(event->items, rows);
		CHECK_INT(decision.shape.targets, rows);
		if (decision.reason == HY_REASON_COST)
		{
			CHECK_NEAR(decision.predicted_cpu_ns, 10.0 * (double) rows, 0.5 * (double) rows);
			CHECK_NEAR(decision.predicted_device_ns, 100000, 10000);
			sum++;
		}
	}
	CHECK(sum > 1900);
	/* what history took in together says the same of each of them */
	CHECK(hy_tracker_row(hy_executor_tracker(stage.executor), 0, &row));
	for (i = 64; i < 319; i += 5)
	{
		row.shape.targets = i;
		CHECK_NEAR(hy_tracker_predict(stage.executor->tracker, &row.shape, 0), 10.0 * i, 0.3 * i);
	}
	stage_end();
}

/*
 * Memos of many sizes of one kind do not each delay a trial by as many calls as a single memo may.
 */
static void
test_a_trial_waits_for_no_memo_of_its_kind(void)
{
	int64_t before;
	int i;

	stage_begin(1);
	stage.cpu_item_ns = 10;
	stage.device_launch_ns = 20000;
	stage.device_item_ns = 0;
	for (i = 0; i < 4000; i++)
		CHECK_INT(stage_dispatch(500 + i * 37 % 1500, NULL), HY_OK);
	before = hy_executor_counters(stage.executor, 1, HY_OP_DISTANCE)->calls;
	for (i = 0; i < 4000; i++)
		CHECK_INT(stage_dispatch(500 + i * 37 % 1500, NULL), HY_OK);
	/* one in 256 is due, when what it may lose allows it */
	CHECK(hy_executor_counters(stage.executor, 1, HY_OP_DISTANCE)->calls - before >= 7);
	stage_end();
}

static void
test_a_setting_is_seen_at_once(void)
{
	HyDecision decision;

	stage_begin(1);
	settled(32); /* below the minimum */
	CHECK_INT(stage_dispatch(32, &decision), HY_OK);
	CHECK_INT(decision.reason, HY_REASON_BELOW_MIN);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	CHECK_INT(stage_dispatch(32, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	stage.config.execution = HY_EXECUTION_CPU;
	CHECK_INT(stage_dispatch(32, &decision), HY_OK);
	CHECK_INT(decision.reason, HY_REASON_USER);
	stage.config.execution = HY_EXECUTION_AUTO;
	stage.config.min_batch[HY_OP_DISTANCE] = 16;
	CHECK_INT(stage_dispatch(32, &decision), HY_OK);
	CHECK(decision.reason != HY_REASON_BELOW_MIN);
	stage_end();
}

static void
test_no_longer_than_100_ms(void)
{
	stage_begin(0);
	settled(100);
	CHECK(!long_way(100));
	stage.clock.time += HY_MEMO_NS;
	CHECK(long_way(100));
	CHECK(!long_way(100));
	stage_end();
}

/*
 * A decision made because of an open breaker ends with it: the probe is sent at that very moment.
 */
static void
test_a_breaker_that_may_be_tried(void)
{
	HyBreaker *breaker;
	HyDecision decision;
	bool probe;
	int i;

	stage_begin(1);
	stage.executor->member[1].info.open_cost_ns = 0;
	breaker = &stage.executor->member[1].breakers[HY_OP_DISTANCE];
	for (i = 0; i < 3; i++)
		hy_breaker_record(breaker, stage.clock.time, false, 0.95);
	stage.clock.time = breaker->open_until_ns - HY_MEMO_NS / 2;
	settled(100);
	CHECK(!long_way(100));
	stage.clock.time = breaker->open_until_ns - 1;
	CHECK(!long_way(100)); /* it holds to the end */
	stage.clock.time = breaker->open_until_ns;
	CHECK_INT(stage_dispatch(100, &decision), HY_OK);
	stage_expect(decision, 1, HY_REASON_PROBE);
	stage_end();

	/* while a probe of somebody else is out, the next call may be the next one */
	stage_begin(1);
	stage.executor->member[1].info.open_cost_ns = 0;
	breaker = &stage.executor->member[1].breakers[HY_OP_DISTANCE];
	for (i = 0; i < 3; i++)
		hy_breaker_record(breaker, stage.clock.time, false, 0.95);
	stage.clock.time = breaker->open_until_ns;
	CHECK(hy_breaker_allow(breaker, stage.clock.time, &probe));
	CHECK(probe);
	for (i = 0; i < 6; i++)
	{
		CHECK_INT(stage_dispatch(100, &decision), HY_OK);
		stage_expect(decision, 0, HY_REASON_UNRELIABLE);
		CHECK(long_way(100));
	}
	hy_breaker_record(breaker, stage.clock.time, true, 0.95);
	CHECK_INT(stage_dispatch(100, &decision), HY_OK);
	stage_expect(decision, 1, HY_REASON_PROBE);
	stage_end();
}

/* An open that failed is repeated when it is due, not a memo's lifetime later. */
static void
test_a_device_that_may_be_opened_again(void)
{
	HyDecision decision;
	uint64_t again;

	stage_begin(1);
	stage.executor->member[1].info.open_cost_ns = 0;
	stage.open_status = HY_TRANSIENT;
	CHECK_INT(stage_dispatch(100, &decision), HY_OK);
	CHECK(decision.fallback);
	CHECK_INT(stage.opens, 1);
	again = stage.executor->member[1].open_after_ns;
	CHECK(again > stage.clock.time + HY_MEMO_NS);
	stage.clock.time = again - HY_MEMO_NS / 2;
	settled(100);
	stage.open_status = HY_OK;
	stage.clock.time = again - 1;
	CHECK(!long_way(100));
	CHECK_INT(stage.opens, 1);
	stage.clock.time = again;
	CHECK_INT(stage_dispatch(100, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	CHECK_INT(stage.opens, 2);
	stage_end();
}

/*
 * moved: record a hundred times that the CPU takes this many times as long.  Returns the factor by
 * which the prediction changes.
 */
static double
moved(double times)
{
	HyTask task = stage_task(1000);
	HyShape shape = hy_task_shape(&task);
	double before = hy_tracker_predict(stage.executor->tracker, &shape, 0);

	hy_tracker_record_many(stage.executor->tracker, &shape, 0, times * 10000, 100);
	hy_generation_check(stage.executor);
	return hy_tracker_predict(stage.executor->tracker, &shape, 0) / before;
}

/* If the device is further off, a memo ends only with leaps of history, not with every move. */
static void
test_what_moves_a_memo(void)
{
	double by;

	known(18000);
	by = moved(1.15);
	CHECK(by > 1.05 && by < 1.25);
	CHECK(long_way(1000));
	stage_end();
	known(22500);
	by = moved(1.15);
	CHECK(by > 1.05 && by < 1.25);
	CHECK(!long_way(1000));
	by = moved(1.6);
	CHECK(by > 1.25);
	CHECK(long_way(1000));
	stage_end();
}

/* The CPU is taken by cost; then so many processes want it that the device is cheaper. */
static void
test_a_load_is_seen_at_once(void)
{
	HyLoad idle = {.runnable = 1, .memory = 1};
	HyLoad busy = {.runnable = 4, .memory = 1};
	HyDecision decision;
	int i;

	stage_begin(1);
	hy_executor_set_load(stage.executor, &idle);
	stage.cpu_item_ns = 10; /* 10 us, four times that, and the device's 21 */
	for (i = 0; i < 60; i++)
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	stage_expect(decision, 0, HY_REASON_COST);
	CHECK(!long_way(1024));
	/* the same again changes nothing */
	hy_executor_set_load(stage.executor, &idle);
	CHECK(!long_way(1024));
	hy_executor_set_load(stage.executor, &busy);
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	stage_expect(decision, 1, HY_REASON_COST);
	CHECK_NEAR(decision.predicted_cpu_ns, 40960, 400);
	stage_end();
}

static void
test_a_device_that_comes_late(void)
{
	HyDecision decision;

	stage_begin(0);
	settled(1024);
	stage.devices = 1;
	CHECK_INT(hy_executor_add_backend(stage.executor, &stage_backend), HY_OK);
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	stage_end();
}

static void
test_what_history_says_anew(void)
{
	HyDecision decision;
	int i;

	/* The CPU is taken by cost; then it becomes ten times as slow. */
	stage_begin(1);
	stage.cpu_item_ns = 10;
	for (i = 0; i < 100; i++)
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.device, 0);
	CHECK_INT(decision.reason, HY_REASON_COST);
	CHECK(stage.executor->uncounted > 0);
	stage.cpu_item_ns = 100;
	for (i = 0; i < 3000 && decision.device == 0; i++)
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	stage_end();
}

int
main(void)
{
	UNIT_RUN(test_like_shapes_only);
	UNIT_RUN(test_no_further_than_the_decision_holds);
	UNIT_RUN(test_changing_sizes_are_told_apart);
	UNIT_RUN(test_a_trial_waits_for_no_memo_of_its_kind);
	UNIT_RUN(test_a_setting_is_seen_at_once);
	UNIT_RUN(test_no_longer_than_100_ms);
	UNIT_RUN(test_a_breaker_that_may_be_tried);
	UNIT_RUN(test_a_device_that_may_be_opened_again);
	UNIT_RUN(test_what_moves_a_memo);
	UNIT_RUN(test_a_load_is_seen_at_once);
	UNIT_RUN(test_a_device_that_comes_late);
	UNIT_RUN(test_what_history_says_anew);
	return unit_finish();
}
