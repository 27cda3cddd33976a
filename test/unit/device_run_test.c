/*
 * device_run_test.c
 *		Waiting for a device: in small steps, until it is done, canceled, or given up.
 */
#include "dispatch_stage.h"

static void
test_timeout_of_a_hang(void)
{
	HyDecision decision;
	uint64_t start;

	stage_begin(1);
	stage.hang = true;
	stage.config.timeout_ns = 500000000;
	start = stage.clock.time;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(decision.fallback);
	CHECK_INT(decision.status, HY_TIMEOUT);
	CHECK_STR(decision.failure.text, "no answer within 500 ms");
	CHECK_INT(stage.cancels, 1);
	CHECK(stage.clock.time - start >= 500000000);
	CHECK(stage.clock.time - start <= 502000000 + 102400);
	CHECK_INT(stage_breaker()->count, 1);
	CHECK(stage.device_open); /* it heard the cancel: it stays */
	CHECK_INT(stage.closes, 0);
	stage_end();
}

static void
test_no_timeout(void)
{
	stage_begin(1);
	stage.config.timeout_ns = 0;
	stage.hang = true;
	unit_cancel_init(&stage.cancel, 20000); /* 20 s of waiting */
	CHECK_INT(stage_dispatch(1024, NULL), HY_CANCELLED);
	CHECK(stage.clock.time > UINT64_C(15000000000));
	stage_end();
}

static void
test_cancel_of_a_hang(void)
{
	HyDecision decision;
	uint64_t start;

	stage_begin(1);
	stage.hang = true;
	unit_cancel_init(&stage.cancel, 100);
	start = stage.clock.time;
	CHECK_INT(stage_dispatch(1024, &decision), HY_CANCELLED);
	CHECK(!decision.fallback);
	CHECK_INT(stage.cancels, 1);
	CHECK_INT(decision.status, HY_CANCELLED);
	/* noticed at the poll that follows: no wait after the hundredth look */
	CHECK_INT(stage.cancel.polls, 100 + 1);
	CHECK(stage.clock.time - start < 100000000);
	CHECK_INT(stage_breaker()->count, 0);
	CHECK_INT(hy_executor_counters(stage.executor, 1, HY_OP_DISTANCE)->by_status[HY_CANCELLED], 1);
	CHECK_INT(hy_executor_counters(stage.executor, 0, HY_OP_DISTANCE)->calls, 0);
	stage_end();
}

static void
test_device_that_does_not_hear(void)
{
	HyDecision decision;
	uint64_t start;

	stage_begin(1);
	stage.deaf = true;
	stage.config.timeout_ns = 500000000;
	start = stage.clock.time;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.status, HY_TIMEOUT);
	/* nobody waits for it to hear */
	CHECK(stage.clock.time - start <= 502000000 + 102400);
	CHECK_INT(stage_logged("does not answer and is not used again"), 0);
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(decision.fallback);
	CHECK_INT(decision.status, HY_BUSY);
	CHECK_STR(decision.failure.text, "an earlier task has not ended yet");
	CHECK_INT(stage.submits, 1);
	stage.clock.time += 50000000;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(decision.fallback);
	CHECK_STR(decision.failure.text, "it does not answer");
	CHECK_INT(stage_logged("does not answer and is not used again"), 1);
	CHECK_INT(stage.closes, 0); /* closing it might block */
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.reason, HY_REASON_NO_DEVICE);
	CHECK_INT(stage_breaker()->count, 1);
	stage_end();
	CHECK_INT(stage.closes, 0);
}

static void
test_cancel_of_a_device_that_does_not_hear(void)
{
	uint64_t start;

	stage_begin(1);
	stage.deaf = true;
	unit_cancel_init(&stage.cancel, 2);
	start = stage.clock.time;
	CHECK_INT(stage_dispatch(1024, NULL), HY_CANCELLED);
	CHECK(stage.clock.time - start < 2000000);
	/* nor does closing it */
	CHECK_INT(stage.executor->member[1].leftovers, 1);
	stage_end();
	CHECK_INT(stage.closes, 0);
}

static void
test_device_that_hears_late(void)
{
	HyDecision decision;

	stage_begin(1);
	stage.deaf = true;
	stage.config.timeout_ns = 500000000;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.status, HY_TIMEOUT);
	stage.deaf = false; /* it lets go, and is as good as before */
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(!decision.fallback);
	CHECK_INT(decision.device, 1);
	CHECK_INT(stage.opens, 1);
	stage_end();
	CHECK_INT(stage.closes, 1);
}

/* Several tasks at once, while the caller does other work. */
static void
test_flights(void)
{
	static double out[3][64];
	static float vectors[65 * STAGE_DIMS];
	HyFlight flight[3];
	HyTask task = {.op = HY_OP_DISTANCE};
	HyMember *member;
	uint64_t start;
	bool may_skip;
	int i;

	stage_begin(3);
	task.u.distance.queries =
		(HyMatrix){.dims = STAGE_DIMS, .rows = 1, .stride = STAGE_DIMS * 4, .data = vectors};
	task.u.distance.targets = task.u.distance.queries;
	task.u.distance.targets.rows = 64;
	start = stage.clock.time;
	/* the scripted backend has one ticket a device, so one flight on each */
	for (i = 0; i < 3; i++)
	{
		member = &stage.executor->member[1 + i];
		CHECK_INT(hy_member_open(stage.executor, member, start), HY_OK);
		task.u.distance.out = out[i];
		hy_flight_start(stage.executor, member, &task, false, &flight[i]);
		CHECK(flight[i].in_flight);
	}
	for (i = 0; i < 3; i++)
		CHECK(!hy_flight_over(stage.executor, &flight[i]));
	CHECK_INT(hy_flight_poll_delay(stage.executor, &flight[0], &may_skip), 20064);
	CHECK(!may_skip);
	CHECK_INT(stage.clock.time, start); /* nobody has waited yet */
	stage.clock.time += 20063;
	CHECK(!hy_flight_over(stage.executor, &flight[0]));
	stage.clock.time += 1;
	for (i = 0; i < 3; i++)
	{
		CHECK(hy_flight_over(stage.executor, &flight[i]));
		CHECK_INT(flight[i].run.status, HY_OK);
		CHECK_INT(flight[i].run.finished_ns - flight[i].run.started_ns, 20064);
		CHECK(hy_flight_over(stage.executor, &flight[i])); /* and stays so */
	}
	hy_flight_start(stage.executor, member, &task, false, &flight[0]);
	hy_flight_stop(stage.executor, &flight[0]);
	CHECK_INT(flight[0].run.status, HY_CANCELLED);
	CHECK_INT(member->leftovers, 0);
	stage_end();
}

static void
test_steps_grow_to_a_millisecond(void)
{
	stage_begin(1);
	stage.hang = true;
	stage.config.timeout_ns = 1000000000;
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	/* 20, 40, ... 640 us, then 1 ms each */
	CHECK(stage.clock.waits >= 1000 && stage.clock.waits <= 1010);
	stage_end();
}

/* Polling feeds a device: a device that makes progress in pieces must not wait for the next one. */
static void
test_pieces_are_not_kept_waiting(void)
{
	static const uint64_t lasts[] = {20000, 100000, 400000, 1000000, 3000000};
	size_t i;

	for (i = 0; i < sizeof(lasts) / sizeof(lasts[0]); i++)
	{
		HyDecision decision;
		uint64_t start;
		double worked;

		stage_begin(1);
		stage.pieces = 1000;
		stage.piece_ns = lasts[i];
		stage.poll_ns = 1500;
		stage.config.timeout_ns = 0;
		stage.config.execution = HY_EXECUTION_GPU;
		start = stage.clock.time;
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		CHECK_INT(decision.device, 1);
		worked = (double) stage.pieces * (double) stage.piece_ns;
		CHECK_MSG((double) (stage.clock.time - start) <= 1.03 * worked,
		          "%.1f ms for pieces that take %.1f ms", (double) (stage.clock.time - start) / 1e6,
		          worked / 1e6);
		stage_end();
	}
}

/* But no core is spent on a device whose pieces take long, or that makes no more progress. */
static void
test_long_pieces_are_slept_through(void)
{
	stage_begin(1);
	stage.pieces = 10;
	stage.piece_ns = 100000000;
	stage.poll_ns = 1500;
	stage.config.timeout_ns = 0;
	stage.config.execution = HY_EXECUTION_GPU;
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	/* 20, 40, ... 640 us after each, then 1 ms each */
	CHECK(stage.clock.waits >= 1000 && stage.clock.waits <= 1060);
	stage_end();
}

static HyStatus
poll_that_never_ends(HyDevice *device, HyTicket ticket, bool *done, HyTimings *timings)
{
	HyStatus st = stage_poll(device, ticket, done, timings);

	timings->total_ns = stage.clock.time += 1000;
	return st;
}

/* A device that claims endless progress gets no more time than others. */
static void
test_timeout_of_what_seems_to_move(void)
{
	HyBackend backend = stage_backend;
	HyDecision decision;
	uint64_t start;

	stage_begin(1);
	backend.poll = poll_that_never_ends;
	stage.executor->member[1].backend = &backend;
	stage.hang = true;
	stage.config.timeout_ns = 500000000;
	start = stage.clock.time;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.status, HY_TIMEOUT);
	CHECK(stage.clock.time - start >= 500000000);
	CHECK(stage.clock.time - start <= 502000000 + 102400);
	stage_end();
}

static void
test_status_out_of_range(void)
{
	HyDecision decision;

	stage_begin(1);
	stage.script[0] = (HyStatus) 999;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.status, HY_BUG);
	stage.executor->clock->wait(stage.executor->clock->arg, 1);
	stage_end();
}

static int32_t lie_count;
static int64_t lie_row;
static HyTimings lie_timings;

static HyStatus
lying_poll(HyDevice *device, HyTicket ticket, bool *done, HyTimings *timings)
{
	HyStatus st = stage_poll(device, ticket, done, timings);

	if (st == HY_OK && *done && stage.task.op == HY_OP_TOPK)
	{
		stage.task.u.topk.counts[1] = lie_count;
		stage.task.u.topk.out[stage.task.u.topk.k].row = lie_row;
	}
	*timings = lie_timings;
	return st;
}

static void
stage_liar(HyBackend *liar)
{
	stage_begin(0);
	stage.devices = 1;
	stage.virtual_time = true;
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	*liar = stage_backend;
	liar->poll = lying_poll;
	CHECK_INT(hy_executor_add_backend(stage.executor, liar), HY_OK);
	memset(&lie_timings, 0, sizeof(lie_timings));
}

/* the caller reads rows by the numbers in an answer */
static void
test_answer_that_names_no_row(void)
{
	static const struct
	{
		int32_t count;
		int64_t row;
		bool believed;
	} lies[] = {{3, 0, true},   {3, 99, true},   {4, 0, false},
	            {-1, 0, false}, {3, 100, false}, {3, -1, false}};
	HyNeighbor out[2 * 3];
	int32_t counts[2];
	size_t i;

	for (i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
	{
		HyTask task;
		HyMatrix targets;
		HyDecision decision;
		HyBackend liar;

		stage_liar(&liar);
		lie_count = lies[i].count;
		lie_row = lies[i].row;
		task = stage_task(100);
		targets = task.u.distance.targets;
		memset(&task.u, 0, sizeof(task.u));
		task.op = HY_OP_TOPK;
		task.u.topk = (HyTopKTask){.metric = HY_METRIC_L2,
		                           .queries = targets,
		                           .targets = targets,
		                           .k = 3,
		                           .out = out,
		                           .counts = counts};
		task.u.topk.queries.rows = 2;
		hy_executor_configure(stage.executor, &stage.config);
		CHECK_INT(hy_dispatch(stage.executor, &task, &decision), HY_OK);
		CHECK_INT(decision.fallback, !lies[i].believed);
		CHECK_INT(decision.status, lies[i].believed ? HY_OK : HY_BUG);
		if (!lies[i].believed)
		{
			CHECK_STR(decision.failure.text, "it named rows that it was not given");
			CHECK_INT(counts[1], 3);
			CHECK_INT(out[3].row, 1); /* the second query is the second row */
		}
		stage_end();
	}
}

static void
test_timings_that_cannot_be(void)
{
	const HyCounters *counters;
	HyDecision decision;
	HyBackend liar;

	stage_liar(&liar);
	lie_timings = (HyTimings){.total_ns = UINT64_MAX,
	                          .remaining_ns = UINT64_MAX,
	                          .bytes_up = UINT64_MAX,
	                          .bytes_down = UINT64_MAX,
	                          .may_skip = true};
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	/* a task that claims to go on for ever is waited for no longer than any other */
	CHECK(decision.virtual_time && decision.actual_ns == stage.config.timeout_ns);
	counters = hy_executor_counters(stage.executor, 1, HY_OP_DISTANCE);
	CHECK_INT(counters->calls, 2);
	CHECK_INT(counters->total_ns, 2 * stage.config.timeout_ns);
	CHECK_INT(counters->bytes_up, 0);
	CHECK_INT(counters->bytes_down, 0);
	hy_executor_reset(stage.executor); /* what is known to last would go in pieces */
	lie_timings = (HyTimings){.total_ns = 1000, .bytes_up = 30, .bytes_down = 4};
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(counters->bytes_up, 60);
	CHECK_INT(counters->bytes_down, 8);
	stage_end();
}

static HyStatus dies_of_it;

/* The device never finishes.  When canceled, it reports the failure that the cancel caused. */
static HyStatus
poll_that_dies_of_a_cancel(HyDevice *device, HyTicket ticket, bool *done, HyTimings *timings)
{
	HyStatus st = stage_poll(device, ticket, done, timings);

	return st == HY_CANCELLED ? dies_of_it : st;
}

/* A failure caused by a cancel takes precedence over a timeout, and the user's cancel over both. */
static void
test_device_that_dies_of_a_cancel(void)
{
	static const struct
	{
		HyStatus dies_of, timeout;
	} ends[] = {{HY_PROCESS_LOST, HY_PROCESS_LOST}, {HY_DEVICE_GONE, HY_DEVICE_GONE},
	            {HY_CONTEXT_LOST, HY_CONTEXT_LOST}, {HY_TRANSIENT, HY_TIMEOUT},
	            {HY_CANCELLED, HY_TIMEOUT},         {HY_BUG, HY_TIMEOUT}};
	HyBackend backend = stage_backend;
	HyDecision decision;
	size_t i;
	int asked;

	backend.poll = poll_that_dies_of_a_cancel;
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
	{
		for (asked = 0; asked <= 1; asked++)
		{
			dies_of_it = ends[i].dies_of;
			stage_begin(1);
			stage.executor->member[1].backend = &backend;
			stage.hang = true;
			stage.config.execution = HY_EXECUTION_GPU;
			if (asked)
				unit_cancel_init(&stage.cancel, 10);
			CHECK_INT(stage_dispatch(1024, &decision), asked ? HY_CANCELLED : ends[i].timeout);
			CHECK_INT(decision.status, asked ? HY_CANCELLED : ends[i].timeout);
			stage_end();
		}
	}
}

int
main(void)
{
	UNIT_RUN(test_timeout_of_a_hang);
	UNIT_RUN(test_no_timeout);
	UNIT_RUN(test_cancel_of_a_hang);
	UNIT_RUN(test_device_that_does_not_hear);
	UNIT_RUN(test_device_that_hears_late);
	UNIT_RUN(test_flights);
	UNIT_RUN(test_cancel_of_a_device_that_does_not_hear);
	UNIT_RUN(test_steps_grow_to_a_millisecond);
	UNIT_RUN(test_pieces_are_not_kept_waiting);
	UNIT_RUN(test_long_pieces_are_slept_through);
	UNIT_RUN(test_timeout_of_what_seems_to_move);
	UNIT_RUN(test_status_out_of_range);
	UNIT_RUN(test_answer_that_names_no_row);
	UNIT_RUN(test_timings_that_cannot_be);
	UNIT_RUN(test_device_that_dies_of_a_cancel);
	return unit_finish();
}
