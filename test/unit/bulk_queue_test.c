/*
 * bulk_queue_test.c
 *		A bulk job among other users of its device: it waits for its turn, but not forever.
 */
#include "bulk_stage.h"

static HyQueue queue;
static const HyQueueClient mine = {.queue = &queue, .id = 1, .role = 1};
static const HyQueueClient other = {.queue = &queue, .id = 2, .role = 2};

/* A lane that never gets its turn is given up after as long as a whole task would wait. */
static void
test_a_job_does_not_wait_for_ever_for_its_turn(void)
{
	HyBulkPlan plan = {2, false, true, -1};
	int rescue;
	int i;

	for (rescue = 0; rescue <= 1; rescue++)
	{
		double ns;

		stage_begin(1);
		hy_queue_init(&queue);
		hy_executor_use_queue(stage.executor, &mine);
		stage.config.timeout_ns = 50000000;
		stage_teach(stage.executor, 1);
		bulk(200000, plan);
		CHECK_INT(report.rows[1], 200000);
		for (i = 0; i < stage.config.queue_depth; i++)
		{
			int32_t slot = hy_queue_ask(&other, 1, 1e6, true, stage.clock.time);

			CHECK_MSG(hy_queue_granted(&other, slot, stage.config.queue_depth, stage.clock.time),
			          "%d of %d: %d", i, stage.config.queue_depth, slot);
		}
		plan.rescue = rescue;
		if (rescue)
		{
			ns = bulk(200000, plan);
			CHECK_INT(report.rows[0], 200000);
			CHECK_INT(report.status, HY_OK);
			CHECK(report.fallback);
			CHECK(ns < 50e6 + 100 * 200000 + 5e6);
		}
		else
		{
			HyTask task = stage_task(200000);

			hy_executor_configure(stage.executor, &stage.config);
			CHECK_INT(hy_bulk_run(stage.executor, &task, &plan, &report), HY_BUSY);
		}
		CHECK_INT(report.first, HY_BUSY);
		CHECK_STR(report.failure.text, "others had it all the time");
		CHECK_INT(hy_executor_counters(stage.executor, 1, HY_OP_DISTANCE)->by_status[HY_BUSY], 1);
		/* so that the next one does not wait as long to hear the same */
		CHECK(stage.executor->member[1].missed_turn_ns >= 50000000);
		stage_end();
	}
}

/*
 * Places in the queue that a job has requested but will not use, because its device has failed, are
 * free for others.
 */
static void
test_a_closed_lane_keeps_no_place(void)
{
	HyBulkPlan plan = {2, false, true, -1};
	HyTask task;
	HyBulk *job;
	uint64_t wait;
	bool skip;
	int32_t slot;
	int i;

	stage_begin(1);
	task = stage_task(3000000);
	hy_queue_init(&queue);
	hy_executor_use_queue(stage.executor, &mine);
	stage.config.queue_depth = 2;
	stage_teach(stage.executor, 1);
	hy_executor_configure(stage.executor, &stage.config);
	slot = hy_queue_ask(&other, 1, 1e6, true, stage.clock.time);
	CHECK(hy_queue_granted(&other, slot, 2, stage.clock.time));
	stage.fail_in_poll = true;
	stage.script[stage.scripted = 0] = HY_TRANSIENT;
	CHECK_INT(hy_bulk_begin(stage.executor, &task, &plan, &job), HY_OK);
	for (i = 0; i < 100000 && hy_bulk_report(job)->first == HY_OK; i++)
	{
		CHECK(!hy_bulk_step(job, &wait, &skip));
		stage.clock.time += wait < 500000 ? wait : 500000;
	}
	CHECK_INT(hy_bulk_report(job)->first, HY_TRANSIENT);
	CHECK(!hy_bulk_step(job, &wait, &skip));
	CHECK(hy_bulk_report(job)->rows[0] < 3000000);
	CHECK_INT(hy_queue_load(&other, 1).tasks, 1);
	while (!hy_bulk_step(job, &wait, &skip))
		stage.clock.time += wait < 500000 ? wait : 500000;
	CHECK_INT(hy_bulk_report(job)->rows[0], 3000000);
	hy_bulk_end(job);
	hy_queue_leave(&other, slot);
	CHECK_INT(hy_queue_load(&other, 1).tasks, 0);
	stage_end();
}

/* A job that only waits for its turn also notices a cancel. */
static void
test_cancel_while_waiting_for_a_turn(void)
{
	HyBulkPlan plan = {2, false, false, -1};
	uint64_t before;
	HyTask task;
	int i;

	stage_begin(1);
	hy_queue_init(&queue);
	hy_executor_use_queue(stage.executor, &mine);
	stage_teach(stage.executor, 1);
	for (i = 0; i < stage.config.queue_depth; i++)
		CHECK(hy_queue_granted(&other, hy_queue_ask(&other, 1, 1e6, true, stage.clock.time),
		                       stage.config.queue_depth, stage.clock.time));
	hy_executor_configure(stage.executor, &stage.config);
	unit_cancel_init(&stage.cancel, 3);
	task = stage_task(200000);
	before = stage.clock.time;
	CHECK_INT(hy_bulk_run(stage.executor, &task, &plan, &report), HY_CANCELLED);
	CHECK(stage.clock.time - before <= 3 * HY_QUEUE_LOOK_NS);
	CHECK_INT(stage.submits, 0);
	CHECK_INT(hy_queue_load(&mine, 1).tasks, stage.config.queue_depth);
	stage_end();
}

/* Beside another bulk job a piece lasts 2 ms, so that the next client waits no longer than that. */
static void
test_pieces_beside_another_bulk_job(void)
{
	static const HyBulkPlan plan = {2, false, false, -1};
	HyTask task;

	hy_queue_init(&queue);
	stage_begin(1);
	stage.device_item_ns = 100;
	stage_teach(stage.executor, 1);
	hy_executor_configure(stage.executor, &stage.config);
	hy_executor_use_queue(stage.executor, &mine);
	task = stage_task(200000); /* 20 ms */
	CHECK_INT(hy_bulk_run(stage.executor, &task, &plan, &report), HY_OK);
	CHECK_INT(report.pieces, 1);
	hy_queue_leave(&other, hy_queue_ask(&other, 1, 20e6, false, stage.clock.time));
	CHECK_INT(hy_bulk_run(stage.executor, &task, &plan, &report), HY_OK);
	CHECK_MSG(report.pieces >= 10 && report.pieces <= 12, "%d pieces", report.pieces);
	stage_end();
}

/*
 * The delay of a piece that the CPU takes back reveals nothing about a device that others use as
 * well.
 */
static void
test_a_piece_that_was_late_beside_others_is_not_learned(void)
{
	int shared;

	for (shared = 0; shared <= 1; shared++)
	{
		HyTrackerRow before;
		HyTrackerRow after;
		HyTask task;

		stage_begin(1);
		hy_queue_init(&queue);
		hy_executor_use_queue(stage.executor, &mine);
		stage.config.queue_depth = 2;
		stage.cpu_item_ns = 12;
		stage.device_item_ns = 10;
		stage_teach(stage.executor, 1);
		stage.device_item_ns = 600;
		task = stage_task(500000);
		hy_executor_configure(stage.executor, &stage.config);
		if (shared)
		{
			int32_t slot = hy_queue_ask(&other, 1, 1e6, true, stage.clock.time);

			CHECK(hy_queue_granted(&other, slot, 2, stage.clock.time));
		}
		CHECK(hy_tracker_row(stage.executor->tracker, 1, &before));
		CHECK_INT(before.device, 1);
		CHECK_INT(hy_bulk_run(stage.executor, &task, &(HyBulkPlan){2, true, true, -1}, &report),
		          HY_OK);
		CHECK(report.stolen > 0);
		CHECK_INT(report.rows[1], 0);
		CHECK(hy_tracker_row(stage.executor->tracker, 1, &after));
		if (shared)
			CHECK_INT(after.observations, before.observations);
		else
			CHECK(after.observations > before.observations);
		stage_end();
	}
}

int
main(void)
{
	UNIT_RUN(test_a_closed_lane_keeps_no_place);
	UNIT_RUN(test_a_job_does_not_wait_for_ever_for_its_turn);
	UNIT_RUN(test_cancel_while_waiting_for_a_turn);
	UNIT_RUN(test_pieces_beside_another_bulk_job);
	UNIT_RUN(test_a_piece_that_was_late_beside_others_is_not_learned);
	return unit_finish();
}
