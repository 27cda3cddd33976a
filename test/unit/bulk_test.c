/*
 * bulk_test.c
 *		Large tasks in pieces on scripted devices and a CPU of given speed: which side does which
 *		part, the time it takes, and that a job that is stopped or fails anywhere leaves nothing
 *		behind.
 */
#include "core/topk.h"
#include "bulk_stage.h"

static void
test_split_of_two_equal_sides(void)
{
	double ns;

	stage_begin(1);
	stage.device_item_ns = 100;
	stage_teach(stage.executor, 1);
	ns = bulk(100000, (HyBulkPlan){2, true, true, -1});
	CHECK_MSG(10e6 / ns >= 1.85, "%.2f times", 10e6 / ns);
	CHECK(!report.fallback);
	CHECK(report.rows[0] > 45000 && report.rows[1] > 45000);
	CHECK(hy_executor_counters(stage.executor, 1, HY_OP_DISTANCE)->pieces > 0);
	CHECK_INT(hy_executor_counters(stage.executor, 1, HY_OP_DISTANCE)->pieces +
	              hy_executor_counters(stage.executor, 0, HY_OP_DISTANCE)->pieces,
	          report.pieces);
	CHECK_INT(hy_executor_counters(stage.executor, 0, HY_OP_DISTANCE)->items, report.rows[0]);
	CHECK_INT(hy_executor_counters(stage.executor, 1, HY_OP_DISTANCE)->items, report.rows[1]);
	stage_end();
}

static void
test_several_devices(void)
{
	int count;

	for (count = 2; count <= 4; count++)
	{
		double ns;

		stage_begin(count);
		stage.device_item_ns = 100;
		stage_teach(stage.executor, count);
		ns = bulk(200000, (HyBulkPlan){(2u << count) - 2, false, true, -1});
		CHECK_MSG(20.02e6 / ns >= 0.9 * count, "%d devices: %.2f times one", count, 20.02e6 / ns);
		CHECK_INT(report.rows[0], 0);
		stage_end();
	}
	/* unequal ones, and what they could do together */
	stage_begin(3);
	stage.device_item_ns = 100;
	stage.slowness[1] = 2;
	stage.slowness[2] = 8;
	stage_teach(stage.executor, 3);
	{
		double ns = bulk(200000, (HyBulkPlan){14, false, true, -1});

		CHECK_MSG(20e6 / ns >= 0.9 * 1.625, "%.2f times the first", 20e6 / ns);
		CHECK(report.rows[1] > report.rows[2] && report.rows[2] > report.rows[3]);
	}
	stage_end();
}

static void
test_cancel(void)
{
	int64_t at;

	for (at = 1; at <= 12; at++)
	{
		HyTask task;
		HyBulkPlan plan = {6, true, true, -1};

		stage_begin(2);
		stage.device_item_ns = 50;
		stage_teach(stage.executor, 2);
		unit_cancel_init(&stage.cancel, at);
		task = stage_task(100000);
		CHECK_INT(hy_bulk_run(stage.executor, &task, &plan, &report), HY_CANCELLED);
		CHECK_INT(stage.executor->member[1].breakers[HY_OP_DISTANCE].successes,
		          stage.executor->member[1].breakers[HY_OP_DISTANCE].count);
		stage_end();
	}
}

static void
test_short_of_memory(void)
{
	int64_t fail_at;

	for (fail_at = 1; fail_at <= 12; fail_at++)
	{
		HyBulkPlan plan = {6, true, true, -1};
		HyNeighbor *out = malloc(5 * sizeof(HyNeighbor));
		HyNeighbor *expected = malloc(5 * sizeof(HyNeighbor));
		int32_t counts[2] = {0, 0};
		HyStatus st;
		HyTask task;
		HyMatrix queries;
		HyMatrix targets;

		stage_begin(2);
		stage.device_item_ns = 100;
		task = stage_task(50000);
		queries = task.u.distance.queries;
		targets = task.u.distance.targets;
		task.op = HY_OP_TOPK;
		task.u.topk = (HyTopKTask){HY_METRIC_L2, queries, targets, 5, out, &counts[0], NULL};
		hy_topk_search(HY_METRIC_L2, &queries, &targets, 5, expected, &counts[1], NULL);
		stage.memory.calls = 0;
		stage.memory.fail_at = fail_at;
		st = hy_bulk_run(stage.executor, &task, &plan, &report);
		CHECK_MSG(fail_at <= 4 ? st == HY_NOMEM : st == HY_OK, "%lld: %s", (long long) fail_at,
		          hy_status_name(st));
		if (st == HY_OK)
		{
			CHECK_INT(counts[0], 5);
			CHECK_INT(memcmp(out, expected, 5 * sizeof(HyNeighbor)), 0);
		}
		free(out);
		free(expected);
		stage_end();
	}
}

/*
 * Without memory for the answers of a second piece, the device has one piece at a time, and no more
 * is requested.
 */
static void
test_memory_for_one_piece(void)
{
	HyBulkPlan plan = {2, false, true, -1};
	HyNeighbor out[5];
	HyNeighbor expected[5];
	int32_t counts[2] = {0, 0};
	HyTask task;
	HyMatrix queries;
	HyMatrix targets;
	int i;

	stage_begin(1);
	stage.device_item_ns = 100;
	task = stage_task(100000);
	queries = task.u.distance.queries;
	targets = task.u.distance.targets;
	task.op = HY_OP_TOPK;
	task.u.topk = (HyTopKTask){HY_METRIC_L2, queries, targets, 5, out, &counts[0], NULL};
	hy_topk_search(HY_METRIC_L2, &queries, &targets, 5, expected, &counts[1], NULL);
	/* the kind is known, so that there are several pieces */
	for (i = 0; i < 9; i++)
	{
		task.u.topk.targets.rows = i % 3 == 2 ? 100000 : i % 3 == 1 ? 10000 : 1000;
		CHECK_INT(hy_bulk_run(stage.executor, &task, &plan, &report), HY_OK);
	}
	stage.memory.calls = 0;
	stage.memory.fail_at = 6;
	stage.memory.keep_failing = true;
	CHECK_INT(hy_bulk_run(stage.executor, &task, &plan, &report), HY_OK);
	CHECK_INT(stage.memory.failures, 1);
	CHECK_INT(report.first, HY_NOMEM);
	CHECK(report.pieces > 2);
	CHECK_INT(report.rows[1], 100000);
	CHECK_INT(counts[0], 5);
	CHECK_INT(memcmp(out, expected, sizeof(out)), 0);
	stage_end();
}

/* Whatever fails, the answer is the CPU's. */
static void
test_random_failures_never_cost_an_answer(void)
{
	UnitRandom random = {99};
	int round;
	int64_t fell_back = 0;
	int64_t stolen = 0;

	for (round = 0; round < 250; round++)
	{
		static const HyStatus usual[] = {
			HY_OK,   HY_OK, HY_OK, HY_OK,           HY_NOMEM,       HY_TRANSIENT,
			HY_BUSY, HY_OK, HY_OK, HY_CONTEXT_LOST, HY_DEVICE_GONE, HY_PROCESS_LOST};
		HyBulkPlan plan;
		int32_t devices = 1 + (int32_t) unit_random_below(&random, 4);
		int i;

		stage_begin(devices);
		stage.device_item_ns = (double) (1 + unit_random_below(&random, 400));
		for (i = 0; i < devices; i++)
			stage.slowness[i] = 0.2 + 3 * unit_random_unit(&random);
		if (unit_random_below(&random, 2) != 0)
			stage_teach(stage.executor, devices);
		for (i = 0; i < devices; i++)
			stage.slowness[i] = 0.2 + 3 * unit_random_unit(&random);
		stage.script_device = (int32_t) unit_random_below(&random, 5) - 1;
		for (i = 0; i < STAGE_SCRIPT; i++)
			stage.script[i] = usual[unit_random_below(&random, 12)];
		stage.fail_in_poll = unit_random_below(&random, 2) != 0;
		stage.hang = unit_random_below(&random, 10) == 0;
		stage.stuck_device = (int32_t) unit_random_below(&random, 2);
		stage.config.timeout_ns = 5000000;
		stage.config.queue_depth = 1 + (int32_t) unit_random_below(&random, 4);
		stage.most_items = unit_random_below(&random, 3) == 0 ? 777 : 0;
		plan.devices = (uint32_t) unit_random_below(&random, UINT64_C(2) << devices);
		plan.rescue = true;
		plan.with_cpu = plan.devices < 2 || unit_random_below(&random, 2) != 0;
		plan.percent =
			unit_random_below(&random, 4) == 0 ? (int32_t) unit_random_below(&random, 101) : -1;
		bulk((int64_t) (1 + unit_random_below(&random, 12000)), plan);
		CHECK_INT(report.status, HY_OK);
		fell_back += report.fallback;
		stolen += report.stolen;
		stage_end();
	}
	CHECK(fell_back > 20 && stolen > 2);
}

static HyStatus
poll_that_moves_bytes(HyDevice *device, HyTicket ticket, bool *done, HyTimings *timings)
{
	HyStatus st = stage_poll(device, ticket, done, timings);

	timings->bytes_up = 1000;
	timings->bytes_down = 30;
	return st;
}

/* The record of each side is kept: the device's bytes and pieces, and the CPU's part in history. */
static void
test_the_books_of_a_split(void)
{
	HyBackend backend = stage_backend;
	const HyCounters *counters;
	HyTrackerRow before;
	HyTrackerRow after;

	backend.poll = poll_that_moves_bytes;
	stage_begin(1);
	stage.executor->member[1].backend = &backend;
	stage.device_item_ns = 100;
	stage_teach(stage.executor, 1);
	CHECK(hy_tracker_row(stage.executor->tracker, 0, &before));
	bulk(100000, (HyBulkPlan){2, true, true, -1});
	CHECK(report.rows[0] > 0 && report.rows[1] > 0);
	counters = stage_counters(1);
	CHECK(counters->pieces > 1);
	CHECK_INT(counters->bytes_up, 1000 * counters->pieces);
	CHECK_INT(counters->bytes_down, 30 * counters->pieces);
	CHECK_INT(stage_counters(0)->bytes_up + stage_counters(0)->bytes_down, 0);
	CHECK(hy_tracker_row(stage.executor->tracker, 0, &after));
	CHECK_INT(after.device, 0);
	CHECK_INT(after.observations, before.observations + 1);
	stage_end();
}

/* A probe that is cut off gives no result, and the next task may be the probe. */
static void
test_a_probe_that_is_cut_off_is_given_back(void)
{
	HyBulkPlan plan = {2, false, false, -1};
	const HyBreaker *breaker;
	HyTask task;
	HyBulk *job;
	uint64_t wait_ns;
	bool may_skip;
	int i;

	stage_begin(1);
	stage.device_item_ns = 100;
	stage_teach(stage.executor, 1);
	breaker = stage_breaker();
	for (i = 0; i < 3; i++)
		hy_attempt_report(stage.executor, &stage.executor->member[1], HY_OP_DISTANCE, HY_TRANSIENT);
	stage.clock.time += HY_BREAKER_FIRST_NS;
	hy_executor_configure(stage.executor, &stage.config);
	task = stage_task(100000);
	CHECK_INT(hy_bulk_begin(stage.executor, &task, &plan, &job), HY_OK);
	CHECK(!hy_bulk_step(job, &wait_ns, &may_skip));
	CHECK_INT(stage.submits, 1);
	CHECK(breaker->probing);
	CHECK(!hy_breaker_would_allow(breaker, stage.clock.time));
	hy_bulk_end(job);
	CHECK_INT(stage.cancels, 1);
	CHECK_INT(breaker->state, HY_BREAKER_HALF_OPEN);
	CHECK(!breaker->probing);
	CHECK(hy_breaker_would_allow(breaker, stage.clock.time));
	stage_end();
}

int
main(void)
{
	UNIT_RUN(test_split_of_two_equal_sides);
	UNIT_RUN(test_several_devices);
	UNIT_RUN(test_cancel);
	UNIT_RUN(test_short_of_memory);
	UNIT_RUN(test_memory_for_one_piece);
	UNIT_RUN(test_random_failures_never_cost_an_answer);
	UNIT_RUN(test_the_books_of_a_split);
	UNIT_RUN(test_a_probe_that_is_cut_off_is_given_back);
	return unit_finish();
}
