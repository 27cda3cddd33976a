/*
 * bulk_test.c
 *		Large tasks in pieces on scripted devices and a CPU of set speed: who does what, in how much
 *		time, and that no failure costs more than its piece, nor ever the answer.
 */
#include "core/topk.h"
#include "dispatch/bulk.h"
#include "dispatch_stage.h"

static HyBulkReport report;

/* bulk: a task of so many rows by this plan; what it took. */
static double
bulk(int64_t rows, HyBulkPlan plan)
{
	HyTask task = stage_task(rows);
	uint64_t before = stage.clock.time;
	HyStatus st;

	hy_executor_configure(stage.executor, &stage.config);
	st = hy_bulk_run(stage.executor, &task, &plan, &report);
	CHECK_INT(report.status, st);
	if (st == HY_OK)
	{
		int64_t done = 0;
		int d;

		CHECK(stage_right(&task));
		for (d = 0; d < HY_MAX_DEVICES; d++)
			done += report.rows[d];
		CHECK_INT(done, rows);
		CHECK_INT(report.finished_ns - report.started_ns, stage.clock.time - before);
	}
	return (double) (stage.clock.time - before);
}

static double
alone(int64_t rows, int32_t device)
{
	if (device == 0)
		return stage.cpu_item_ns * (double) rows;
	return stage.device_launch_ns + stage.device_item_ns * (double) rows;
}

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
test_split_of_any_two_sides(void)
{
	static const double ratios[] = {0.01, 0.05, 0.1, 0.25, 0.5, 0.8, 1.2, 2, 4, 10, 20, 100};
	static const int sizes[] = {2000, 20000, 100000, 400000};
	size_t r;
	size_t s;

	for (r = 0; r < sizeof(ratios) / sizeof(ratios[0]); r++)
	{
		for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		{
			double better;
			double ns;

			stage_begin(1);
			stage.device_item_ns = 100 * ratios[r];
			stage_teach(stage.executor, 1);
			better =
				alone(sizes[s], 0) < alone(sizes[s], 1) ? alone(sizes[s], 0) : alone(sizes[s], 1);
			ns = bulk(sizes[s], (HyBulkPlan){2, true, true, -1});
			CHECK_MSG(better / ns >= 0.95, "device %g times slower, %d rows: %.3f times the better",
			          ratios[r], sizes[s], better / ns);
			stage_end();
		}
	}
}

/* With no history each side shows first what it can, on a part of the work. */
static void
test_split_of_unknown_sides(void)
{
	static const double ratios[] = {0.05, 0.5, 1, 2, 20};
	size_t r;

	for (r = 0; r < sizeof(ratios) / sizeof(ratios[0]); r++)
	{
		double better;
		double ns;

		stage_begin(1);
		stage.device_item_ns = 100 * ratios[r];
		better = alone(200000, 0) < alone(200000, 1) ? alone(200000, 0) : alone(200000, 1);
		ns = bulk(200000, (HyBulkPlan){2, true, true, -1});
		CHECK_MSG(better / ns >= 0.8, "device %g times slower: %.3f times the better", ratios[r],
		          better / ns);
		if (ratios[r] == 1)
			CHECK_MSG(better / ns >= 1.7, "equal: %.3f times", better / ns);
		stage_end();
	}
}

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

static int64_t most_in_flight;

static HyEstimate
counting_estimate(const HyDevice *device, const HyShape *shape)
{
	int64_t flying = 0;
	int i;

	for (i = 0; i < STAGE_TICKETS; i++)
	{
		HyShape one = hy_task_shape(&stage.tickets[i].task);

		if (stage.tickets[i].number != 0)
			flying += hy_shape_items(&one);
	}
	if (flying > most_in_flight)
		most_in_flight = flying;
	return stage_estimate(device, shape);
}

static void
test_pieces_that_fit_the_memory(void)
{
	HyBackend backend = stage_backend;

	stage_begin(0);
	stage.devices = 1;
	backend.estimate = counting_estimate;
	CHECK_INT(hy_executor_add_backend(stage.executor, &backend), HY_OK);
	most_in_flight = 0;
	stage.free_bytes = 10000; /* 80%: 1000 items of 8 bytes, two pieces of 500 at once */
	stage_teach(stage.executor, 1);
	bulk(20300, (HyBulkPlan){2, false, true, -1});
	CHECK_INT(report.status, HY_OK);
	CHECK_INT(report.rows[1], 20300);
	CHECK_INT(report.pieces, 41);
	CHECK_MSG(most_in_flight == 1000 || most_in_flight == 500, "%lld items at once",
	          (long long) most_in_flight);
	stage.config.queue_depth = 1;
	bulk(20300, (HyBulkPlan){2, false, true, -1});
	CHECK_INT(report.pieces, 21);
	stage.config.memory_limit = 800;
	bulk(1000, (HyBulkPlan){2, false, true, -1});
	CHECK_INT(report.pieces, 10);
	/* not even the smallest */
	stage.config.memory_limit = 7;
	bulk(1000, (HyBulkPlan){2, false, true, -1});
	CHECK_INT(report.status, HY_OK);
	CHECK_INT(report.first, HY_NOMEM);
	CHECK_INT(report.rows[0], 1000);
	bulk(1000, (HyBulkPlan){2, false, false, -1});
	CHECK_INT(report.status, HY_NOMEM);
	bulk(1000, (HyBulkPlan){0, false, true, -1});
	CHECK_INT(report.status, HY_UNSUPPORTED);
	stage_end();
}

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

/* The time until the right answer, beyond what the CPU needs for what it has to redo. */
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
		task.u.topk = (HyTopKTask){HY_METRIC_L2, queries, targets, 5, out, &counts[0]};
		hy_topk_search(HY_METRIC_L2, &queries, &targets, 5, expected, &counts[1], NULL);
		stage.memory.calls = 0;
		stage.memory.fail_at = fail_at;
		st = hy_bulk_run(stage.executor, &task, &plan, &report);
		CHECK_MSG(fail_at <= 5 ? st == HY_NOMEM : st == HY_OK, "%lld: %s", (long long) fail_at,
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

/* Whatever goes wrong, the answer is the CPU's. */
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

int
main(void)
{
	UNIT_RUN(test_split_of_two_equal_sides);
	UNIT_RUN(test_split_of_any_two_sides);
	UNIT_RUN(test_split_of_unknown_sides);
	UNIT_RUN(test_fixed_percentage);
	UNIT_RUN(test_several_devices);
	UNIT_RUN(test_pieces_that_fit_the_memory);
	UNIT_RUN(test_out_of_memory_halves);
	UNIT_RUN(test_a_failure_costs_its_piece);
	UNIT_RUN(test_a_failure_costs_little_time);
	UNIT_RUN(test_a_hang);
	UNIT_RUN(test_a_device_much_slower_than_it_was);
	UNIT_RUN(test_lost_contexts);
	UNIT_RUN(test_devices_only);
	UNIT_RUN(test_open_that_fails);
	UNIT_RUN(test_cancel);
	UNIT_RUN(test_short_of_memory);
	UNIT_RUN(test_random_failures_never_cost_an_answer);
	return unit_finish();
}
