/*
 * memo_count_test.c
 *		Calls by memo: nothing goes uncounted, and events, history and the open cost paid include
 *		all of it in time.
 */
#include "memo_stage.h"

static const HyCounters *
counters(void)
{
	return hy_executor_counters(stage.executor, 0, HY_OP_DISTANCE);
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

/*
 * The ring's slots are reused: fields that a call in pieces left there do not belong to a call by
 * memo.
 */
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

/*
 * History learns of calls by memo every HY_MEMO_CALLS, and a change that they cause ends the memo.
 */
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

/*
 * Calls of many sizes together pay for opening a closed device, no later than calls of one size
 * would.
 */
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
		memos += stage.executor->uncounted > 0;
		paid += 100 * rows;
		/* calls that are not counted yet come on top */
		CHECK(stage.executor->member[1].open_credit_ns <= (double) paid);
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

/* After another reason replaces the one for which open cost was paid, nothing more is paid. */
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
	paid = stage.executor->member[1].open_credit_ns;
	CHECK_NEAR(paid, 70000, 1);
	stage.config.min_batch[HY_OP_DISTANCE] = 200;
	for (i = 0; i < 6; i++)
		CHECK_INT(stage_dispatch(100, &decision), HY_OK);
	stage_expect(decision, 0, HY_REASON_BELOW_MIN);
	CHECK(!long_way(100));
	hy_memo_fold(stage.executor, true);
	CHECK_NEAR(stage.executor->member[1].open_credit_ns, paid, 1e-6);
	stage_end();
}

/*
 * One call in ten that is far off counts as 1.5 times the mean, or as 100 ns above the mean if that
 * is more.
 */
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
	UNIT_RUN(test_nothing_goes_uncounted);
	UNIT_RUN(test_a_call_by_memo_is_in_one_piece);
	UNIT_RUN(test_without_telemetry);
	UNIT_RUN(test_events_are_whole);
	UNIT_RUN(test_history_hears_in_time);
	UNIT_RUN(test_the_rent_of_changing_sizes);
	UNIT_RUN(test_no_rent_for_another_reason);
	UNIT_RUN(test_far_off_calls_are_clipped);
	UNIT_RUN(test_a_failing_call);
	UNIT_RUN(test_reset_forgets_what_was_jotted_down);
	UNIT_RUN(test_a_way_shapes_share);
	return unit_finish();
}
