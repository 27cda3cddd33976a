/*
 * bulk_devices_test.c
 *		Pieces on devices that fail: a failure costs no more than its piece, and never the
 *		answer.
 */
#include "bulk_stage.h"

static void
test_out_of_memory_halves(void)
{
	HyMember *member;
	uint64_t cap;

	stage_begin(1);
	stage_teach(stage.executor, 1);
	stage.most_items = 3000; /* the device says otherwise, but has no room for more */
	bulk(20000, (HyBulkPlan){2, false, true, -1});
	CHECK_INT(report.status, HY_OK);
	CHECK_INT(report.first, HY_NOMEM);
	CHECK_INT(report.rows[1], 20000);
	CHECK(!report.fallback);
	member = &stage.executor->member[1];
	CHECK_INT(member->breakers[HY_OP_DISTANCE].count, report.pieces); /* says nothing of it */
	CHECK(member->breakers[HY_OP_DISTANCE].successes == report.pieces);
	/* it is remembered */
	cap = member->cap_bytes;
	CHECK_INT(cap, 8 * 2500 + 8 * 20000 / 16 + 1);
	CHECK_INT(member->counters[HY_OP_DISTANCE].by_status[HY_NOMEM], 3);
	bulk(2000, (HyBulkPlan){2, false, true, -1});
	CHECK_INT(report.first, HY_OK);
	/* and raised again step by step, until it binds no more */
	stage.most_items = 0;
	stage.config.queue_depth = 1;
	bulk(400000, (HyBulkPlan){2, false, true, -1});
	CHECK(member->cap_bytes > cap);
	stage.free_bytes = 30000;
	stage.clock.time += 100000000;
	bulk(20000, (HyBulkPlan){2, false, true, -1});
	CHECK_INT(member->cap_bytes, 0);
	stage_end();

	/* a device that has no room for a single row: the CPU, for all that is left */
	stage_begin(1);
	stage_teach(stage.executor, 1);
	stage.always_fail = true;
	stage.script[0] = HY_NOMEM;
	bulk(1000, (HyBulkPlan){2, false, true, -1});
	CHECK_INT(report.status, HY_OK);
	CHECK(report.fallback);
	CHECK_INT(report.rows[0], 1000);
	stage_end();
}

static void
test_a_failure_costs_its_piece(void)
{
	int in_poll;

	for (in_poll = 0; in_poll <= 1; in_poll++)
	{
		double ns;

		stage_begin(3);
		stage.device_item_ns = 10;
		stage_teach(stage.executor, 3);
		stage.script_device = 1;
		stage.fail_in_poll = in_poll;
		stage.script[2] = HY_TRANSIENT;
		ns = bulk(300000, (HyBulkPlan){14, false, true, -1});
		CHECK_INT(report.status, HY_OK);
		CHECK_INT(report.first, HY_TRANSIENT);
		CHECK_STR(report.failure.text, "as the script says");
		CHECK(report.fallback);
		/* the CPU has its piece and nothing else, the others have the rest */
		CHECK(report.rows[0] > 0 && report.rows[0] < 30000);
		CHECK(report.rows[1] > 90000 && report.rows[3] > 90000);
		CHECK(report.rows[2] > 0);
		CHECK_INT(hy_executor_counters(stage.executor, 2, HY_OP_DISTANCE)->failures, 1);
		CHECK_INT(hy_executor_counters(stage.executor, 1, HY_OP_DISTANCE)->failures, 0);
		CHECK(ns < 100.0 * (double) report.rows[0] + 5e6);
		stage_end();
	}
}

/* The time until the right answer, less the time that the CPU needs to redo pieces. */
static void
test_a_failure_costs_little_time(void)
{
	static const HyStatus statuses[] = {HY_TRANSIENT,    HY_NOMEM,       HY_BUSY,
	                                    HY_CONTEXT_LOST, HY_DEVICE_GONE, HY_PROCESS_LOST};
	size_t s;
	int in_poll;

	for (s = 0; s < sizeof(statuses) / sizeof(statuses[0]); s++)
	{
		for (in_poll = 0; in_poll <= 1; in_poll++)
		{
			double ns;

			stage_begin(1);
			stage.device_item_ns = 200;
			stage_teach(stage.executor, 1);
			stage.always_fail = true;
			stage.fail_in_poll = in_poll;
			stage.script[0] = statuses[s];
			ns = bulk(200000, (HyBulkPlan){2, false, true, -1});
			CHECK_INT(report.status, HY_OK);
			CHECK_INT(report.rows[0], 200000);
			CHECK_MSG(ns < 20e6 + 5e6, "%s: %.1f ms more", hy_status_name(statuses[s]),
			          ns / 1e6 - 20);
			stage_end();
		}
	}
}

static void
test_a_hang(void)
{
	double ns;
	int deaf;

	for (deaf = 0; deaf <= 1; deaf++)
	{
		stage_begin(2);
		stage.device_item_ns = 10;
		stage.config.timeout_ns = 20000000;
		stage_teach(stage.executor, 2);
		stage.hang = !deaf;
		stage.deaf = deaf;
		stage.stuck_device = 0;
		ns = bulk(100000, (HyBulkPlan){6, false, true, -1});
		CHECK_INT(report.status, HY_OK);
		CHECK_INT(report.first, HY_TIMEOUT);
		CHECK(report.rows[2] > 40000 && report.rows[0] > 0 && report.rows[1] == 0);
		CHECK_MSG(ns < 20e6 + 100.0 * (double) report.rows[0] + 5e6, "%.1f ms", ns / 1e6);
		CHECK_INT(stage.executor->member[1].leftovers, deaf ? 2 : 0);
		/* beside the CPU nobody waits for the timeout */
		stage.stuck_device = -1;
		stage.config.timeout_ns = 2000000000;
		hy_breaker_init(&stage.executor->member[1].breakers[HY_OP_DISTANCE]);
		ns = bulk(100000, (HyBulkPlan){4, true, true, -1});
		CHECK_INT(report.status, HY_OK);
		CHECK(report.stolen > 0);
		CHECK_INT(report.rows[0], 100000);
		CHECK_MSG(ns < 3 * 10e6, "%.1f ms", ns / 1e6);
		stage_end();
	}
}

static void
test_lost_contexts(void)
{
	stage_begin(2);
	stage.device_item_ns = 10;
	stage_teach(stage.executor, 2);
	stage.script_device = 0;
	stage.script[1] = HY_CONTEXT_LOST;
	bulk(400000, (HyBulkPlan){6, false, true, -1});
	CHECK_INT(report.status, HY_OK);
	CHECK_INT(report.first, HY_CONTEXT_LOST);
	CHECK(!report.fallback); /* a new context has done it */
	CHECK(report.rows[0] == 0 && report.rows[1] > 120000);
	CHECK_INT(stage.opens, 3);
	/* twice is once too often */
	stage.scripted = 0;
	stage.script[3] = HY_CONTEXT_LOST;
	stage.script[5] = HY_CONTEXT_LOST;
	stage.script[4] = stage.script[6] = HY_CONTEXT_LOST;
	bulk(400000, (HyBulkPlan){6, false, true, -1});
	CHECK_INT(report.status, HY_OK);
	CHECK(report.fallback);
	CHECK(report.rows[0] > 0 && report.rows[2] > 150000);
	stage_end();

	stage_begin(2);
	stage.device_item_ns = 10;
	stage_teach(stage.executor, 2);
	stage.script_device = 1;
	stage.script[2] = HY_PROCESS_LOST; /* takes the other along: they are of one backend */
	bulk(400000, (HyBulkPlan){6, false, true, -1});
	CHECK_INT(report.status, HY_OK);
	CHECK(report.rows[0] > 10000);
	CHECK(stage.executor->member[1].latched && stage.executor->member[2].latched);
	stage_end();
	CHECK_INT(stage.opens, stage.closes);

	stage_begin(2);
	stage.device_item_ns = 10;
	stage_teach(stage.executor, 2);
	stage.script_device = 1;
	stage.script[2] = HY_DEVICE_GONE; /* leaves the other */
	bulk(400000, (HyBulkPlan){6, false, true, -1});
	CHECK_INT(report.status, HY_OK);
	CHECK(report.rows[1] > 150000);
	CHECK(!stage.executor->member[1].latched && stage.executor->member[2].latched);
	stage_end();
}

/* If the ends of pieces were not observed in time, the time of each one is unknown. */
static void
test_pieces_heard_of_at_once_are_not_believed(void)
{
	static const HyBulkPlan plan = {2, false, true, -1};
	HyTask task;
	HyBulk *job;
	HyTrackerRow row;
	HyTrackerRow after;
	uint64_t wait_ns;
	bool may_skip;

	stage_begin(1);
	stage.device_item_ns = 10;
	stage_teach(stage.executor, 1);
	CHECK(hy_tracker_row(stage.executor->tracker, 1, &row));
	CHECK_INT(row.device, 1);
	stage.config.queue_depth = 2;
	hy_executor_configure(stage.executor, &stage.config);
	task = stage_task(2000000);
	CHECK_INT(hy_bulk_begin(stage.executor, &task, &plan, &job), HY_OK);
	while (!hy_bulk_step(job, &wait_ns, &may_skip))
		stage.clock.time += UINT64_C(1000000000);
	CHECK_INT(hy_bulk_report(job)->status, HY_OK);
	CHECK(hy_bulk_report(job)->pieces > 2);
	CHECK(stage_right(&task));
	hy_bulk_end(job);
	CHECK(hy_tracker_row(stage.executor->tracker, 1, &after));
	CHECK_INT(after.device, 1);
	CHECK_INT(after.observations, row.observations);
	CHECK_INT(memcmp(&after.model, &row.model, sizeof(row.model)), 0);
	stage_end();
}

/* If they were, it is known, even if the pieces follow each other without a pause. */
static void
test_pieces_heard_of_in_time_are_believed(void)
{
	HyTrackerRow row;
	HyTrackerRow after;

	stage_begin(1);
	stage.device_item_ns = 10;
	stage_teach(stage.executor, 1);
	CHECK(hy_tracker_row(stage.executor->tracker, 1, &row));
	stage.config.queue_depth = 2;
	bulk(2000000, (HyBulkPlan){2, false, true, -1});
	CHECK(hy_tracker_row(stage.executor->tracker, 1, &after));
	CHECK_INT(after.observations, row.observations + report.pieces);
	CHECK_NEAR(after.fit.launch_ns / stage.device_launch_ns, 1, 0.05);
	stage_end();
}

/* The CPU takes over the rows of a device that hangs; the hang still counts as a failure. */
static void
test_a_hang_beside_the_cpu_is_a_failure(void)
{
	static const HyBulkPlan both = {2, true, true, -1};
	const HyCounters *counters;
	HyTrackerRow before;
	HyTrackerRow after;
	int i;

	stage_begin(1);
	stage.cpu_item_ns = 12;
	stage.device_item_ns = 10;
	stage_teach(stage.executor, 1);
	CHECK(hy_tracker_row(stage.executor->tracker, 1, &before));
	stage.hang = true;
	for (i = 1; i <= 3; i++)
	{
		double ns = bulk(2000000, both);

		CHECK_INT(report.status, HY_OK);
		CHECK_INT(report.rows[0], 2000000);
		CHECK_INT(report.first, HY_TIMEOUT);
		CHECK(report.fallback);
		CHECK(strstr(report.failure.text, "no answer in") != NULL);
		/* far less than the time it may have alone */
		CHECK(ns < 12 * 2000000 * 1.5);
		counters = hy_executor_counters(stage.executor, 1, HY_OP_DISTANCE);
		CHECK_INT(counters->by_status[HY_TIMEOUT], i);
	}
	CHECK_INT(stage.executor->member[1].breakers[HY_OP_DISTANCE].state, HY_BREAKER_OPEN);
	/* failures never train */
	CHECK(hy_tracker_row(stage.executor->tracker, 1, &after));
	CHECK_INT(after.observations, before.observations);
	stage_end();
}

/*
 * A device that is merely much slower than before is recognized as such, and is not reported as
 * failing for long.
 */
static void
test_a_device_that_got_slower_is_believed_to_be(void)
{
	static const HyBulkPlan both = {2, true, true, -1};
	double first;
	double last = 0;
	int i;

	stage_begin(1);
	stage.cpu_item_ns = 12;
	stage.device_item_ns = 10;
	stage_teach(stage.executor, 1);
	stage.device_item_ns = 60;
	first = bulk(500000, both);
	for (i = 0; i < 30; i++)
		last = bulk(500000, both);
	CHECK(last <= first && last < 12 * 500000 * 1.02);
	CHECK(hy_executor_counters(stage.executor, 1, HY_OP_DISTANCE)->by_status[HY_TIMEOUT] <= 1);
	stage_end();
}

static void
test_devices_only(void)
{
	/* the other device redoes what failed */
	stage_begin(2);
	stage.device_item_ns = 10;
	stage_teach(stage.executor, 2);
	stage.script_device = 0;
	stage.script[1] = HY_TRANSIENT;
	bulk(100000, (HyBulkPlan){6, false, false, -1});
	CHECK_INT(report.status, HY_OK);
	CHECK_INT(report.rows[0], 0);
	CHECK(!report.fallback);
	/* and where there is none, what it said is what comes back */
	stage.scripted = 0;
	stage.script[0] = HY_TRANSIENT;
	bulk(100000, (HyBulkPlan){2, false, false, -1});
	CHECK_INT(report.status, HY_TRANSIENT);
	CHECK_STR(report.failure.text, "as the script says");
	stage_end();
}

static void
test_open_that_fails(void)
{
	stage_begin(1);
	stage.open_status = HY_BUSY;
	bulk(100000, (HyBulkPlan){2, true, true, -1});
	CHECK_INT(report.status, HY_OK);
	CHECK_INT(report.rows[0], 100000);
	CHECK_INT(report.first, HY_BUSY);
	CHECK_INT(stage.opens, 1);
	stage_end();
}

static HyStatus
open_that_loses_the_process(int32_t device, const HyLimits *limits, HyDevice **opened)
{
	return device == 1 ? HY_PROCESS_LOST : stage_open(device, limits, opened);
}

static void
close_of_an_idle_device(HyDevice *device)
{
	int i;

	for (i = 0; i < STAGE_TICKETS; i++)
		CHECK(stage.tickets[i].number == 0 || stage.tickets[i].device != stage_number(device));
	stage_close(device);
}

/* Opening the second device also loses the first, which has pieces in flight. */
static void
test_an_opening_that_loses_the_process(void)
{
	HyBackend backend = stage_backend;

	stage_begin(0);
	stage.devices = 2;
	backend.open = open_that_loses_the_process;
	backend.close = close_of_an_idle_device;
	CHECK_INT(hy_executor_add_backend(stage.executor, &backend), HY_OK);
	bulk(100000, (HyBulkPlan){6, true, true, -1});
	CHECK_INT(report.status, HY_OK);
	CHECK_INT(report.first, HY_PROCESS_LOST);
	CHECK_INT(report.rows[0], 100000);
	CHECK(stage.submits > 0 && stage.cancels == stage.submits);
	CHECK_INT(stage.closes, 1);
	CHECK(stage.executor->member[1].latched && stage.executor->member[2].latched);
	stage_end();
}

/*
 * A context is opened again once, although the device has succeeded in between and is still
 * trusted.
 */
static void
test_a_context_is_opened_again_once(void)
{
	stage_begin(1);
	stage.device_item_ns = 100;
	stage_teach(stage.executor, 1);
	stage.config.queue_depth = 1;
	stage.script[1] = HY_CONTEXT_LOST;
	stage.script[4] = HY_CONTEXT_LOST;
	bulk(200000, (HyBulkPlan){2, false, true, -1});
	CHECK_INT(report.first, HY_CONTEXT_LOST);
	CHECK_INT(stage.opens, 2);
	CHECK_INT(stage.submits, 5);
	CHECK(report.fallback && report.rows[0] > 0 && report.rows[1] > 0);
	CHECK_INT(stage.executor->member[1].breakers[HY_OP_DISTANCE].state, HY_BREAKER_CLOSED);
	stage_end();
}

/* If that loss opens the breaker, there is no other attempt, and the loss is returned. */
static void
test_a_loss_that_opens_the_breaker_is_the_end(void)
{
	int i;

	stage_begin(1);
	stage_teach(stage.executor, 1);
	for (i = 0; i < 2; i++)
		hy_attempt_report(stage.executor, &stage.executor->member[1], HY_OP_DISTANCE, HY_TRANSIENT);
	stage.script[0] = HY_CONTEXT_LOST;
	bulk(1000, (HyBulkPlan){2, false, false, -1});
	CHECK_INT(report.status, HY_CONTEXT_LOST);
	CHECK_INT(report.first, HY_CONTEXT_LOST);
	CHECK_INT(stage.opens, 1);
	stage_end();
}

/* A device whose loss has cost more than 3 ms gets no other attempt. */
static void
test_who_has_lost_too_much_has_no_further_try(void)
{
	static const int rows[] = {29000, 31000}; /* at 100 ns */
	int i;

	for (i = 0; i < 2; i++)
	{
		stage_begin(1);
		stage.device_item_ns = 100;
		stage_teach(stage.executor, 1);
		stage.fail_in_poll = true;
		stage.script[0] = HY_CONTEXT_LOST;
		bulk(rows[i], (HyBulkPlan){2, false, false, -1});
		CHECK_INT(report.status, i == 0 ? HY_OK : HY_CONTEXT_LOST);
		CHECK_INT(stage.submits, 2 - i);
		stage_end();
	}
}

static HyStatus no_room;

/* There is room for one task at a time. */
static HyStatus
submit_with_room_for_one(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	StageTicket *slot;

	for (slot = stage.tickets; slot < stage.tickets + STAGE_TICKETS; slot++)
	{
		if (slot->number != 0)
			return no_room;
	}
	return stage_submit(device, task, ticket);
}

/*
 * A device without room for a second piece gets one piece after another, and the second request is
 * not repeated.
 */
static void
test_pieces_that_are_in_each_others_way(void)
{
	static const HyStatus statuses[] = {HY_NOMEM, HY_QUOTA, HY_BUSY};
	HyBackend backend = stage_backend;
	size_t i;

	backend.submit = submit_with_room_for_one;
	for (i = 0; i < 3; i++)
	{
		stage_begin(1);
		stage.executor->member[1].backend = &backend;
		stage.device_item_ns = 100;
		stage_teach(stage.executor, 1);
		no_room = statuses[i];
		bulk(200000, (HyBulkPlan){2, false, true, -1});
		CHECK_INT(report.status, HY_OK);
		CHECK_INT(report.rows[1], 200000);
		CHECK(report.pieces > 8);
		CHECK_INT(hy_executor_counters(stage.executor, 1, HY_OP_DISTANCE)->by_status[no_room], 1);
		CHECK_INT(stage.executor->member[1].cap_bytes, 0);
		stage_end();
	}
}

/* A device that says how many tasks it accepts is not asked for more. */
static void
test_no_more_tasks_than_a_device_accepts(void)
{
	HyBackend backend = stage_backend;

	backend.submit = submit_with_room_for_one;
	stage_begin(1);
	stage.executor->member[1].backend = &backend;
	stage.executor->member[1].info.tasks = 1;
	stage.device_item_ns = 100;
	stage_teach(stage.executor, 1);
	no_room = HY_BUSY;
	bulk(200000, (HyBulkPlan){2, false, true, -1});
	CHECK_INT(report.first, HY_OK);
	CHECK_INT(report.rows[1], 200000);
	CHECK(report.pieces > 8);
	CHECK_INT(hy_executor_counters(stage.executor, 1, HY_OP_DISTANCE)->by_status[HY_BUSY], 0);
	stage_end();
}

/* A breaker that is not closed admits one piece at a time; three that succeed close it. */
static void
test_one_probe_at_a_time(void)
{
	const HyBreaker *breaker;
	int i;

	stage_begin(1);
	stage.device_item_ns = 100;
	stage_teach(stage.executor, 1);
	breaker = &stage.executor->member[1].breakers[HY_OP_DISTANCE];
	for (i = 0; i < 3; i++)
		hy_attempt_report(stage.executor, &stage.executor->member[1], HY_OP_DISTANCE, HY_TRANSIENT);
	CHECK_INT(breaker->state, HY_BREAKER_OPEN);
	stage.clock.time += HY_BREAKER_FIRST_NS;
	bulk(200000, (HyBulkPlan){2, false, true, -1});
	CHECK_INT(report.first, HY_OK);
	CHECK(!report.fallback);
	CHECK_INT(report.rows[1], 200000);
	CHECK_INT(breaker->state, HY_BREAKER_CLOSED);
	stage_end();
}

int
main(void)
{
	UNIT_RUN(test_out_of_memory_halves);
	UNIT_RUN(test_a_failure_costs_its_piece);
	UNIT_RUN(test_a_failure_costs_little_time);
	UNIT_RUN(test_a_hang);
	UNIT_RUN(test_lost_contexts);
	UNIT_RUN(test_pieces_heard_of_at_once_are_not_believed);
	UNIT_RUN(test_pieces_heard_of_in_time_are_believed);
	UNIT_RUN(test_a_hang_beside_the_cpu_is_a_failure);
	UNIT_RUN(test_a_device_that_got_slower_is_believed_to_be);
	UNIT_RUN(test_devices_only);
	UNIT_RUN(test_open_that_fails);
	UNIT_RUN(test_an_opening_that_loses_the_process);
	UNIT_RUN(test_a_context_is_opened_again_once);
	UNIT_RUN(test_a_loss_that_opens_the_breaker_is_the_end);
	UNIT_RUN(test_who_has_lost_too_much_has_no_further_try);
	UNIT_RUN(test_pieces_that_are_in_each_others_way);
	UNIT_RUN(test_no_more_tasks_than_a_device_accepts);
	UNIT_RUN(test_one_probe_at_a_time);
	return unit_finish();
}
