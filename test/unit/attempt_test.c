/*
 * attempt_test.c
 *		The consequences of a device's failures: breaker, loss, another context, another attempt.
 */
#include "dispatch_stage.h"

static void
test_breaker_from_open_to_closed(void)
{
	HyDecision decision;
	int i;

	stage_begin(1);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.always_fail = true;
	stage.script[0] = HY_TRANSIENT;
	for (i = 0; i < 3; i++)
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(stage_breaker()->state, HY_BREAKER_OPEN);
	CHECK_INT(stage_logged("left alone for 1000 ms"), 1);
	for (i = 0; i < 50; i++)
	{
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		CHECK_INT(decision.reason, HY_REASON_UNRELIABLE);
		CHECK_INT(decision.device, 0);
	}
	CHECK_INT(stage.submits, 3);
	stage.clock.time += HY_BREAKER_FIRST_NS;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK); /* one probe, which fails */
	CHECK(decision.fallback);
	CHECK_INT(stage.submits, 4);
	CHECK_INT(stage_breaker()->state, HY_BREAKER_OPEN);
	CHECK_INT(stage_logged("left alone for 2000 ms"), 1);
	stage.clock.time += 2 * HY_BREAKER_FIRST_NS;
	stage.always_fail = false;
	stage.scripted = STAGE_SCRIPT;
	for (i = 0; i < 3; i++)
	{
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		CHECK(!decision.fallback);
	}
	CHECK_INT(stage_breaker()->state, HY_BREAKER_CLOSED);
	CHECK_INT(stage_logged("is tried again for distance"), 2);
	CHECK_INT(stage_logged("is trusted again with distance"), 1);
	/* one line a transition, not one a call: opened, 2 x open, 2 x half-open, closed */
	CHECK_INT(stage.lines, 6);
	stage_adds_up();
	stage_end();
}

static void
test_probe_reason_in_auto(void)
{
	HyDecision decision;
	int i;

	stage_begin(1);
	stage.always_fail = true;
	stage.script[0] = HY_TRANSIENT;
	for (i = 0; i < 3; i++)
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	stage.clock.time += HY_BREAKER_FIRST_NS;
	stage.always_fail = false;
	stage.scripted = STAGE_SCRIPT;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.reason, HY_REASON_PROBE);
	CHECK_INT(decision.device, 1);
	stage_end();
}

static void
test_out_of_memory_is_not_tried_again_at_once(void)
{
	HyDecision decision;
	int i;

	stage_begin(1);
	stage.always_fail = true;
	stage.script[0] = HY_NOMEM;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(decision.fallback);
	CHECK_INT(decision.status, HY_NOMEM);
	/* whole, then halves of it down to a 64th, then never more */
	CHECK_INT(stage.submits, 1 + 7);
	CHECK_INT(stage_breaker()->count, 0);
	stage_adds_up();
	stage.always_fail = false;
	stage.scripted = STAGE_SCRIPT;
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	CHECK(!decision.fallback && decision.pieces >= 64);
	CHECK(decision.bytes_available < 8192 / 64);
	CHECK_INT(stage.executor->member[1].cap_bytes, decision.bytes_available + 513);
	/* a little more every second, until it goes whole again */
	for (i = 0; i < 17; i++)
	{
		int32_t before = decision.pieces;

		stage.clock.time += 1000000000;
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		CHECK(decision.pieces <= before);
	}
	CHECK_INT(decision.pieces, 0);
	stage_adds_up();
	stage_end();
}

/* a probe that reveals nothing about the device allows the next task to probe */
static void
test_probe_that_runs_out_of_memory(void)
{
	HyDecision decision;
	int i;

	stage_begin(1);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.always_fail = true;
	stage.script[0] = HY_TRANSIENT;
	for (i = 0; i < 3; i++)
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	stage.clock.time += HY_BREAKER_FIRST_NS;
	stage.script[0] = HY_NOMEM;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(stage_breaker()->state, HY_BREAKER_HALF_OPEN);
	stage.always_fail = false;
	stage.scripted = STAGE_SCRIPT;
	stage.clock.time += UINT64_C(20000000000); /* the cap has gone */
	CHECK_INT(stage_dispatch(512, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	CHECK_INT(stage_breaker()->probes, 1);
	stage_end();
}

/* events are written in place, over those of 257 calls ago */
static void
test_an_error_is_not_shown_again(void)
{
	HyDecision decision;
	int i;

	stage_begin(1);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.script[0] = HY_TRANSIENT;
	CHECK_INT(stage_dispatch(64, &decision), HY_OK);
	CHECK_STR(decision.failure.text, "as the script says");
	stage.config.force_cpu = true;
	for (i = 0; i < 2 * HY_EVENT_SLOTS; i++)
	{
		CHECK_INT(stage_dispatch(64, &decision), HY_OK);
		CHECK_STR(decision.failure.text, "");
		CHECK_INT(decision.failure.native_code, 0);
	}
	stage_end();
}

static void
test_lost_context_is_reopened_once(void)
{
	HyDecision decision;

	stage_begin(1);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.script[0] = HY_CONTEXT_LOST;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(!decision.fallback);
	CHECK_INT(decision.status, HY_CONTEXT_LOST); /* of the first attempt */
	CHECK_INT(stage.submits, 2);
	CHECK_INT(stage.opens, 2);
	CHECK_INT(stage.closes, 1);
	CHECK_INT(stage_counters(1)->calls, 1);
	CHECK_INT(stage_counters(1)->failures, 1);
	stage_adds_up();

	stage.scripted = 0;
	stage.script[1] = HY_CONTEXT_LOST; /* twice: the CPU */
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(decision.fallback);
	CHECK_INT(stage.submits, 4);
	CHECK_INT(stage.opens, 3);
	stage_adds_up();
	stage_end();
}

static void
test_process_lost_for_life(void)
{
	HyDecision decision;
	HyDeviceState state;
	int i;

	stage_begin(2);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	stage.scripted = 0;
	stage.script[0] = HY_PROCESS_LOST;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(decision.fallback);
	for (i = 0; i < 5; i++)
	{
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		CHECK_INT(decision.reason, HY_REASON_NO_DEVICE);
	}
	CHECK_INT(stage.submits, 2);
	CHECK_INT(stage_logged("not used again"), 1);
	for (i = 1; i <= 2; i++)
	{
		hy_executor_device(stage.executor, i, &state);
		CHECK(state.latched);
		CHECK_STR(state.why, "it lost this process its context");
	}
	CHECK_INT(stage.opens, stage.closes);
	hy_executor_reset(stage.executor); /* forgets history, not this */
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.reason, HY_REASON_NO_DEVICE);
	stage_end();
}

/* a device that is lost to the process stays lost after a restart of the executor */
static void
test_a_lost_device_stays_lost_in_the_next_executor(void)
{
	static const HyStatus loss[] = {HY_PROCESS_LOST, HY_DEVICE_GONE};
	static HyLosses losses;
	HyDecision decision;
	HyDeviceState state;
	size_t i;
	int32_t d;

	for (i = 0; i < 2; i++)
	{
		HyExecutor *first;

		memset(&losses, 0, sizeof(losses));
		stage_begin(0);
		hy_executor_set_losses(stage.executor, &losses);
		stage.devices = 2;
		CHECK_INT(hy_executor_add_backend(stage.executor, &stage_backend), HY_OK);
		stage.config.execution = HY_EXECUTION_PREFER_GPU;
		stage.script[0] = loss[i];
		stage.always_fail = true;
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		CHECK(decision.fallback);
		stage.always_fail = false;
		stage.scripted = STAGE_SCRIPT;
		first = stage.executor;
		CHECK_INT(
			hy_executor_create(&stage.memory.allocator, &stage.clock.clock, NULL, &stage.executor),
			HY_OK);
		hy_executor_destroy(first);
		hy_executor_set_losses(stage.executor, &losses);
		/* one device more than before: of a lost process it is lost as well */
		stage.devices = 3;
		CHECK_INT(hy_executor_add_backend(stage.executor, &stage_backend), HY_OK);
		for (d = 1; d <= 3; d++)
		{
			hy_executor_device(stage.executor, d, &state);
			CHECK_INT(state.latched, loss[i] == HY_PROCESS_LOST || d == decision.device);
			CHECK(!state.latched || state.why != NULL);
		}
		stage_end();
	}
}

/* if there is no room to record a loss, one entry stands for all devices of the backend */
static void
test_where_there_is_no_room_for_a_loss_one_stands_for_all(void)
{
	HyLosses losses;
	HyDecision decision;
	int32_t i;

	memset(&losses, 0, sizeof(losses));
	losses.count = HY_MAX_LOSSES;
	for (i = 0; i < HY_MAX_LOSSES; i++)
	{
		strcpy(losses.loss[i].backend, i == 5 ? stage_backend.name : "other");
		losses.loss[i].number = 100 + i;
	}
	stage_begin(0);
	hy_executor_set_losses(stage.executor, &losses);
	stage.devices = 1;
	CHECK_INT(hy_executor_add_backend(stage.executor, &stage_backend), HY_OK);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.script[0] = HY_DEVICE_GONE;
	stage.always_fail = true;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(losses.count, HY_MAX_LOSSES);
	CHECK_INT(losses.loss[5].number, -1);
	CHECK_INT(losses.loss[6].number, 106);
	stage_end();
}

static void
test_one_device_gone(void)
{
	HyDecision decision;

	stage_begin(2);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.script[0] = HY_DEVICE_GONE;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(decision.fallback);
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.device, 2);
	CHECK_INT(stage_logged("not used again"), 1);
	stage_adds_up();
	stage_end();
}

static void
test_open_that_fails(void)
{
	HyDecision decision;
	int i;

	stage_begin(1);
	stage.open_status = HY_BUSY;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(decision.fallback);
	CHECK_INT(decision.status, HY_BUSY);
	CHECK_INT(decision.failure.native_code, 78);
	for (i = 0; i < 10; i++)
	{
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		CHECK_INT(decision.reason, HY_REASON_NOT_OPEN);
	}
	CHECK_INT(stage.opens, 1);
	/* the second wait is twice as long */
	stage.clock.time += 1000000000;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(decision.fallback);
	stage.clock.time += 1900000000;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.reason, HY_REASON_NOT_OPEN);
	CHECK_INT(stage.opens, 2);
	/* preferring the device does not shorten it, nor is there a line in the log for each call */
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	for (i = 0; i < 10; i++)
	{
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		CHECK_INT(decision.reason, HY_REASON_NOT_OPEN);
	}
	CHECK_INT(stage.opens, 2);
	CHECK_INT(stage_logged("could not be opened"), 1);
	stage.config.execution = HY_EXECUTION_GPU; /* insisting does */
	CHECK_INT(stage_dispatch(1024, &decision), HY_BUSY);
	CHECK_INT(stage.opens, 3);
	stage.config.execution = HY_EXECUTION_AUTO;
	stage.clock.time += UINT64_C(10000000000);
	stage.open_status = HY_OK;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	CHECK(!decision.fallback);
	stage_adds_up();
	stage_end();
}

/*
 * A device that others hold refuses every open; the log reports it once, and again after the device
 * has been open.
 */
static void
test_open_that_fails_is_logged_once(void)
{
	const uint64_t longest_wait = UINT64_C(300000000000);
	HyDecision decision;
	int i;

	stage_begin(1);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.open_status = HY_BUSY;
	for (i = 0; i < 20; i++)
	{
		stage.clock.time += longest_wait;
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		CHECK(decision.fallback);
	}
	CHECK_INT(stage.opens, 20);
	CHECK_INT(stage_logged("could not be opened: busy"), 1);
	stage.open_status = HY_TRANSIENT; /* another reason is another line */
	stage.clock.time += longest_wait;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(stage_logged("could not be opened: transient"), 1);
	stage.open_status = HY_OK;
	stage.clock.time += longest_wait;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(stage_logged("opened"), 3);
	hy_executor_close_devices(stage.executor);
	stage.open_status = HY_BUSY;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(stage_logged("could not be opened: busy"), 2);
	stage_end();
}

static void
test_new_memory_limit_reopens(void)
{
	stage_begin(1);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	stage.config.memory_limit = 1 << 20;
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	CHECK_INT(stage.opens, 2);
	CHECK_INT(stage.closes, 1);
	hy_executor_close_devices(stage.executor);
	CHECK_INT(stage.closes, 2);
	stage_end();
	CHECK_INT(stage.closes, 2);
}

/* A time that includes waiting for other tasks reveals nothing about the device. */
static void
test_a_time_that_was_shared_is_not_learned(void)
{
	static HyQueue queue;
	static const HyQueueClient mine = {.queue = &queue, .id = 1, .role = 1};
	const HyQueueClient other = {.queue = &queue, .id = 2, .role = 2};
	HyTrackerRow row;
	int64_t before;
	int32_t slot;

	stage_begin(1);
	hy_queue_init(&queue);
	hy_executor_use_queue(stage.executor, &mine);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	CHECK(hy_tracker_row(stage.executor->tracker, 0, &row));
	CHECK_INT(row.device, 1);
	before = row.observations;
	slot = hy_queue_ask(&other, 1, 1e6, true, stage.clock.time);
	CHECK(hy_queue_granted(&other, slot, 2, stage.clock.time));
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	CHECK_INT(stage_counters(1)->calls, 3);
	CHECK(hy_tracker_row(stage.executor->tracker, 0, &row));
	CHECK_INT(row.observations, before);
	hy_queue_leave(&other, slot);
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	CHECK(hy_tracker_row(stage.executor->tracker, 0, &row));
	CHECK_INT(row.observations, before + 1);
	stage_end();
}

/*
 * If the loss of a context opens the breaker, the device gets no other context, and the loss is the
 * reported cause.
 */
static void
test_a_lost_context_that_opens_the_breaker(void)
{
	HyDecision decision;

	stage_begin(1);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.always_fail = true;
	stage.script[0] = HY_TRANSIENT;
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	stage.script[0] = HY_CONTEXT_LOST;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(stage.submits, 3);
	CHECK_INT(stage.opens, 1);
	CHECK_INT(stage.closes, 1);
	CHECK_INT(stage_counters(1)->by_cause[HY_CONTEXT_LOST], 1);
	CHECK_INT(stage_counters(1)->by_cause[HY_BUSY], 0);
	stage_end();
}

/*
 * An open that reports a cancel without one is a failure of the device, not the caller's request.
 */
static void
test_an_opening_that_says_it_was_cancelled(void)
{
	HyDecision decision;

	stage_begin(1);
	stage.open_status = HY_CANCELLED;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(decision.fallback);
	CHECK_INT(decision.status, HY_BUG);
	CHECK_INT(stage_counters(1)->by_status[HY_BUG], 1);
	CHECK_INT(stage_breaker()->streak, 1);
	stage.config.execution = HY_EXECUTION_GPU;
	CHECK_INT(stage_dispatch(1024, &decision), HY_BUG);
	stage_adds_up();
	stage_end();
}

int
main(void)
{
	UNIT_RUN(test_breaker_from_open_to_closed);
	UNIT_RUN(test_probe_reason_in_auto);
	UNIT_RUN(test_out_of_memory_is_not_tried_again_at_once);
	UNIT_RUN(test_probe_that_runs_out_of_memory);
	UNIT_RUN(test_an_error_is_not_shown_again);
	UNIT_RUN(test_lost_context_is_reopened_once);
	UNIT_RUN(test_process_lost_for_life);
	UNIT_RUN(test_one_device_gone);
	UNIT_RUN(test_a_lost_device_stays_lost_in_the_next_executor);
	UNIT_RUN(test_where_there_is_no_room_for_a_loss_one_stands_for_all);
	UNIT_RUN(test_open_that_fails);
	UNIT_RUN(test_open_that_fails_is_logged_once);
	UNIT_RUN(test_new_memory_limit_reopens);
	UNIT_RUN(test_a_time_that_was_shared_is_not_learned);
	UNIT_RUN(test_a_lost_context_that_opens_the_breaker);
	UNIT_RUN(test_an_opening_that_says_it_was_cancelled);
	return unit_finish();
}
