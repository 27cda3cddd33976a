/*
 * memo_test.c
 *		Decisions that hold for a while: what they must not outlive, and that nothing goes uncounted.
 */
#include "dispatch_stage.h"

static const HyCounters *
counters(void)
{
	return hy_executor_counters(stage.executor, 0, HY_OP_DISTANCE);
}

/* settled: so many calls that a memo is there; no device can want them. */
static void
settled(int64_t rows)
{
	int i;

	for (i = 0; i < 6; i++)
		CHECK_INT(stage_dispatch(rows, NULL), HY_OK);
	CHECK(stage.executor->jotted > 0);
}

/* long_way: whether the next call is decided anew. */
static bool
long_way(int64_t rows)
{
	int32_t jotted = stage.executor->jotted;
	uint64_t kept = stage.executor->kept;

	CHECK_INT(stage_dispatch(rows, NULL), HY_OK);
	CHECK(stage.executor->kept == kept + 1);
	return stage.executor
	               ->briefs[(stage.executor->next_event + HY_EVENT_SLOTS - 1) % HY_EVENT_SLOTS]
	               .memo == HY_BRIEF_FULL &&
	       stage.executor->jotted <= jotted + 1;
}

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

/* A minimum in the middle of a half power of two, and a device that overtakes there. */
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

/* A closed device is opened by what many sizes have paid, no later than by what one has. */
static void
test_the_rent_of_changing_sizes(void)
{
	HyDecision decision = {.device = 0};
	int64_t paid = 0;
	int memos = 0;
	int i;

	stage_begin(1);
	stage.executor->member[1].info.open_cost_ns = 20000000;
	stage.cpu_item_ns = 100;
	for (i = 0; i < 3000 && decision.device == 0; i++)
	{
		int64_t rows = 100 + i * 37 % 200;

		CHECK_INT(stage_dispatch(rows, &decision), HY_OK);
		if (decision.device != 0)
			break;
		CHECK_INT(decision.reason, HY_REASON_NOT_OPEN);
		memos += stage.executor->jotted > 0;
		paid += 100 * rows;
		/* what is still jotted down comes on top */
		CHECK(stage.executor->member[1].rent_ns <= (double) paid);
	}
	CHECK_INT(decision.device, 1);
	CHECK(memos > i / 2);
	CHECK(paid >= 20000000 && paid < 20000000 + HY_MEMO_CALLS * 30000);
	stage_end();

	/* of one size: at the very call */
	stage_begin(1);
	stage.executor->member[1].info.open_cost_ns = 20000000;
	stage.cpu_item_ns = 100;
	for (i = 0; i < 1000; i++)
	{
		CHECK_INT(stage_dispatch(200, &decision), HY_OK);
		CHECK_INT(decision.device, 0);
	}
	CHECK_INT(stage_dispatch(200, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	stage_end();
}

/* Memos of many sizes of a kind do not each wait for as many calls as one of them may. */
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
test_nothing_goes_uncounted(void)
{
	int64_t calls = 0;
	int64_t sum = 0;
	HyTrackerRow row;
	int i;

	stage_begin(0);
	for (i = 0; i < 1000; i++)
	{
		int64_t rows = i % 7 == 0 ? 50 : 100;

		CHECK_INT(stage_dispatch(rows, NULL), HY_OK);
		calls++;
		sum += rows;
		if (i % 13 == 0)
		{
			CHECK_INT(counters()->calls, calls);
			CHECK_INT(counters()->items, sum);
			CHECK_INT(counters()->by_status[HY_OK], calls);
			CHECK_INT(counters()->by_reason[HY_REASON_NO_DEVICE], calls);
			CHECK_INT(counters()->total_ns, 100 * sum);
		}
		if (i % 29 == 0)
		{
			CHECK(hy_tracker_row(hy_executor_tracker(stage.executor), 0, &row));
			CHECK_INT(row.observations, calls);
		}
	}
	CHECK_INT(counters()->calls, calls);
	CHECK(stage.executor->spent_ns == 100.0 * (double) sum);
	stage_end();
}

/* The ring's slots are used again: what a call in pieces left there is not a memo's. */
static void
test_a_call_by_memo_is_in_one_piece(void)
{
	HyDecision decision;
	int i;

	stage_begin(0);
	for (i = 0; i < 10; i++)
	{
		memset(&decision, 0x55, sizeof(decision));
		CHECK_INT(stage_dispatch(100, &decision), HY_OK);
		CHECK_INT(decision.pieces, 0);
		CHECK_INT(decision.queue, -1);
	}
	stage_end();
}

static void
test_without_telemetry(void)
{
	int i;

	stage_begin(0);
	stage.config.telemetry = false;
	for (i = 0; i < 500; i++)
		CHECK_INT(stage_dispatch(100, NULL), HY_OK);
	CHECK_INT(hy_executor_events(stage.executor), 0);
	CHECK_INT(counters()->calls, 500);
	CHECK_INT(counters()->items, 50000);
	stage_end();
}

static void
test_events_are_whole(void)
{
	HyDecision decision;
	const HyDecision *event;
	int i;

	stage_begin(0);
	settled(100);
	stage.clock.time += 5;
	CHECK_INT(stage_dispatch(100, &decision), HY_OK);
	event = hy_executor_event(stage.executor, hy_executor_events(stage.executor) - 1);
	CHECK(event->time_ns == decision.time_ns && event->actual_ns == decision.actual_ns);
	CHECK_INT(event->actual_ns, 10000);
	CHECK_INT(event->items, 100);
	CHECK_INT(decision.items, 100);
	CHECK_INT(event->shape.dims, STAGE_DIMS);
	CHECK_INT(event->reason, HY_REASON_NO_DEVICE);
	CHECK_INT(event->status, HY_OK);
	CHECK_INT(event->failure.text[0], 0);
	CHECK(!event->fallback && !event->virtual_time);
	CHECK(event->split_share < 0);
	/* an event that was looked at is counted once all the same */
	for (i = 0; i < 50; i++)
	{
		CHECK_INT(stage_dispatch(100, NULL), HY_OK);
		CHECK(hy_executor_event(stage.executor, hy_executor_events(stage.executor) - 1) != NULL);
	}
	CHECK_INT(counters()->calls, 57);
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

/* What an open breaker was the reason for ends with it: the probe goes at the very moment. */
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

/* An open that failed is tried again when its time has come, not a memo's life later. */
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

/* known: the CPU takes 10 us and the device, that is open, so much; a memo is there. */
static void
known(double device_ns)
{
	HyDecision decision;
	int i;

	stage_begin(1);
	CHECK_INT(hy_member_open(stage.executor, &stage.executor->member[1], stage.clock.time), HY_OK);
	stage.cpu_item_ns = 10;
	stage_teach_one(1000, 10000, (uint64_t) device_ns);
	for (i = 0; i < 3; i++)
		CHECK_INT(stage_dispatch(1000, &decision), HY_OK);
	stage_expect(decision, 0, HY_REASON_COST);
	CHECK(!long_way(1000));
}

/* moved: the CPU takes times as long, a hundred times over; by how much that moves what is expected. */
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

/* Where the device is twice as far off a memo ends with leaps of history only, not with each move. */
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

/* History hears of calls by memo every HY_MEMO_CALLS, and what it makes of them ends the memo. */
static void
test_history_hears_in_time(void)
{
	HyTrackerRow row;
	int64_t before;
	int n;

	known(18000);
	CHECK(hy_tracker_row(stage.executor->tracker, 0, &row));
	before = row.observations;
	stage.cpu_item_ns = 12; /* 2.4 ms for all of them */
	for (n = 0; n < 2 * HY_MEMO_CALLS && !long_way(1000); n++)
		;
	CHECK_MSG(n >= HY_MEMO_CALLS - 4 && n <= HY_MEMO_CALLS, "after %d calls", n);
	CHECK(hy_tracker_row(stage.executor->tracker, 0, &row));
	CHECK(row.observations - before >= n);
	stage_end();
}

/* Another reason in the place of one for which rent was paid pays none. */
static void
test_no_rent_for_another_reason(void)
{
	HyDecision decision;
	double paid;
	int i;

	stage_begin(1);
	stage.executor->member[1].info.open_cost_ns = 1000000000;
	for (i = 0; i < 6; i++)
		CHECK_INT(stage_dispatch(100, &decision), HY_OK);
	stage_expect(decision, 0, HY_REASON_NOT_OPEN);
	CHECK(!long_way(100));
	hy_memo_fold(stage.executor, true);
	paid = stage.executor->member[1].rent_ns;
	CHECK_NEAR(paid, 70000, 1);
	stage.config.min_batch[HY_OP_DISTANCE] = 200;
	for (i = 0; i < 6; i++)
		CHECK_INT(stage_dispatch(100, &decision), HY_OK);
	stage_expect(decision, 0, HY_REASON_BELOW_MIN);
	CHECK(!long_way(100));
	hy_memo_fold(stage.executor, true);
	CHECK_NEAR(stage.executor->member[1].rent_ns, paid, 1e-6);
	stage_end();
}

/* One call in ten that is far off counts as half as much again, or 100 ns more where that is finer. */
static void
test_far_off_calls_are_clipped(void)
{
	static const double items[] = {1, 100};
	static const double most[] = {100, 5000};
	size_t i;
	int n;

	for (i = 0; i < 2; i++)
	{
		double mean = 100 * items[i];
		HyTask task;
		HyShape shape;

		stage_begin(0);
		stage.cpu_item_ns = items[i];
		for (n = 0; n < 200; n++)
			CHECK_INT(stage_dispatch(100, NULL), HY_OK);
		hy_memo_fold(stage.executor, true);
		task = stage_task(100);
		shape = hy_task_shape(&task);
		CHECK_NEAR(hy_tracker_predict(stage.executor->tracker, &shape, 0) / mean, 1, 1e-3);
		for (n = 0; n < 10; n++)
		{
			stage.cpu_item_ns = n == 5 ? 50 * items[i] : items[i];
			CHECK(!long_way(100));
		}
		hy_memo_fold(stage.executor, true);
		/* ten of a hundred move the mean by a tenth of what they are off together */
		CHECK_NEAR(hy_tracker_predict(stage.executor->tracker, &shape, 0) - mean, most[i] / 100,
		           most[i] / 500);
		stage_end();
	}
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
	CHECK(stage.executor->jotted > 0);
	stage.cpu_item_ns = 100;
	for (i = 0; i < 3000 && decision.device == 0; i++)
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	stage_end();
}

static void
test_a_failing_call(void)
{
	HyDecision decision;
	int64_t calls;

	/* the cancel is polled for once a millisecond of work: only a large task sees it */
	stage_begin(0);
	settled(200000);
	calls = counters()->calls;
	unit_cancel_init(&stage.cancel, 1);
	CHECK_INT(stage_dispatch(200000, &decision), HY_CANCELLED);
	CHECK_INT(decision.status, HY_CANCELLED);
	CHECK_INT(decision.reason, HY_REASON_NO_DEVICE);
	CHECK_INT(counters()->calls, calls);
	CHECK_INT(counters()->by_status[HY_CANCELLED], 1);
	CHECK_INT(hy_executor_event(stage.executor, hy_executor_events(stage.executor) - 1)->status,
	          HY_CANCELLED);
	stage_end();
}

static void
test_reset_forgets_what_was_jotted_down(void)
{
	stage_begin(0);
	settled(100);
	hy_executor_reset(stage.executor);
	CHECK_INT(counters()->calls, 0);
	CHECK_INT(hy_executor_events(stage.executor), 0);
	CHECK(long_way(100));
	CHECK_INT(counters()->calls, 1);
	stage_end();
}

static void
test_a_way_shapes_share(void)
{
	int64_t expected = 0;
	int round;
	int i;

	/* more shapes than memos: they put each other out, and every call is counted */
	stage_begin(0);
	for (round = 0; round < 4; round++)
	{
		for (i = 1; i <= 300; i++)
		{
			CHECK_INT(stage_dispatch(i, NULL), HY_OK);
			CHECK_INT(stage_dispatch(i, NULL), HY_OK);
			expected += 2 * i;
		}
	}
	CHECK_INT(counters()->items, expected);
	CHECK_INT(counters()->calls, 2400);
	stage_end();
}

int
main(void)
{
	UNIT_RUN(test_like_shapes_only);
	UNIT_RUN(test_no_further_than_the_decision_holds);
	UNIT_RUN(test_changing_sizes_are_told_apart);
	UNIT_RUN(test_the_rent_of_changing_sizes);
	UNIT_RUN(test_a_trial_waits_for_no_memo_of_its_kind);
	UNIT_RUN(test_nothing_goes_uncounted);
	UNIT_RUN(test_a_call_by_memo_is_in_one_piece);
	UNIT_RUN(test_without_telemetry);
	UNIT_RUN(test_events_are_whole);
	UNIT_RUN(test_a_setting_is_seen_at_once);
	UNIT_RUN(test_no_longer_than_100_ms);
	UNIT_RUN(test_a_breaker_that_may_be_tried);
	UNIT_RUN(test_a_device_that_may_be_opened_again);
	UNIT_RUN(test_what_moves_a_memo);
	UNIT_RUN(test_history_hears_in_time);
	UNIT_RUN(test_no_rent_for_another_reason);
	UNIT_RUN(test_far_off_calls_are_clipped);
	UNIT_RUN(test_a_load_is_seen_at_once);
	UNIT_RUN(test_a_device_that_comes_late);
	UNIT_RUN(test_what_history_says_anew);
	UNIT_RUN(test_a_failing_call);
	UNIT_RUN(test_reset_forgets_what_was_jotted_down);
	UNIT_RUN(test_a_way_shapes_share);
	return unit_finish();
}
