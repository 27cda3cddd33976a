/*
 * pieces_test.c
 *		When hy_dispatch cuts a task, over which sides, and what the decision and the counters
 *		report.
 */
#include "dispatch_stage.h"

static HyDecision decision;

/* begin: set up devices that are open and known, as is the CPU. */
static void
begin(int32_t devices, double device_item_ns)
{
	int32_t d;

	stage_begin(devices);
	stage.device_item_ns = device_item_ns;
	stage_teach(stage.executor, devices);
	for (d = 1; d <= devices; d++)
		CHECK_INT(hy_member_open(stage.executor, &stage.executor->member[d], stage.clock.time),
		          HY_OK);
}

static void
test_split_in_auto(void)
{
	begin(1, 100); /* as fast as the CPU */
	CHECK_INT(stage_dispatch(100000, &decision), HY_OK);
	CHECK_INT(decision.reason, HY_REASON_SPLIT);
	CHECK_INT(decision.device, 1);
	CHECK(decision.pieces > 2 && !decision.fallback && decision.status == HY_OK);
	CHECK_MSG(decision.actual_ns < 10e6 / 1.7, "%.2f ms", decision.actual_ns / 1e6);
	CHECK(decision.split_share > 0.4 && decision.split_share < 0.6);
	/* one call, sent to the device; both sides did some of it */
	CHECK_INT(stage_counters(1)->calls, 1);
	CHECK_INT(stage_counters(1)->by_reason[HY_REASON_SPLIT], 1);
	CHECK_INT(stage_counters(0)->calls, 0);
	CHECK_INT(stage_counters(0)->items + stage_counters(1)->items, 100000);
	CHECK_INT(stage_counters(0)->pieces + stage_counters(1)->pieces, decision.pieces);
	CHECK_INT((int64_t) stage_counters(1)->total_ns, (int64_t) decision.actual_ns);
	stage_end();

	begin(1, 1); /* a hundred times as fast: alone */
	CHECK_INT(stage_dispatch(100000, &decision), HY_OK);
	CHECK_INT(decision.reason, HY_REASON_COST);
	CHECK_INT(decision.pieces, 0);
	CHECK_INT(stage_counters(0)->items, 0);
	stage_end();

	/* from a millisecond on: what is shorter is not worth the joining */
	begin(1, 100);
	CHECK_INT(stage_dispatch(9500, &decision), HY_OK);
	CHECK(decision.reason != HY_REASON_SPLIT);
	CHECK_INT(stage_dispatch(10500, &decision), HY_OK);
	CHECK_INT(decision.reason, HY_REASON_SPLIT);
	stage_end();
}

static void
test_split_asked_for(void)
{
	static const int percents[] = {-1, 0, 25, 100};
	size_t i;

	for (i = 0; i < sizeof(percents) / sizeof(percents[0]); i++)
	{
		begin(1, 20);
		stage.config.execution = HY_EXECUTION_SPLIT;
		stage.config.split_percent = percents[i];
		CHECK_INT(stage_dispatch(40000, &decision), HY_OK);
		CHECK_INT(decision.reason, HY_REASON_SPLIT);
		CHECK_INT(stage_counters(0)->items + stage_counters(1)->items, 40000);
		/* a share of nothing makes it the CPU's call, with the reason that was asked for */
		CHECK_INT(decision.device, percents[i] == 0 ? 0 : 1);
		CHECK_INT(stage_counters(decision.device)->calls, 1);
		CHECK_INT(stage_counters(decision.device)->by_reason[HY_REASON_SPLIT], 1);
		CHECK_INT(stage_counters(0)->calls + stage_counters(1)->calls, 1);
		stage_adds_up();
		if (percents[i] >= 0)
			CHECK_NEAR(decision.split_share, percents[i] / 100.0, 1e-9);
		if (percents[i] >= 0)
			CHECK_INT(stage_counters(1)->items, 400 * percents[i]);
		else
			CHECK(stage_counters(1)->items > 3 * stage_counters(0)->items &&
			      stage_counters(0)->items > 0);
		stage_end();
	}
	/* a failing device part is redone on the CPU */
	begin(1, 20);
	stage.config.execution = HY_EXECUTION_SPLIT;
	stage.always_fail = true;
	stage.script[0] = HY_TRANSIENT;
	CHECK_INT(stage_dispatch(40000, &decision), HY_OK);
	CHECK(decision.fallback && decision.status == HY_TRANSIENT);
	CHECK_INT(stage_counters(0)->items, 40000);
	CHECK_INT(stage_counters(0)->calls, 1);
	CHECK_INT(stage_counters(1)->calls, 0);
	CHECK_INT(stage_counters(1)->fallbacks, 1);
	stage_end();
}

/*
 * A small task would take longer on both sides than on the better one, which then gets all of it.
 */
static void
test_split_asked_for_of_small_tasks(void)
{
	static const double item_ns[] = {5, 14, 100, 1000};
	size_t i;
	int n;

	for (i = 0; i < sizeof(item_ns) / sizeof(item_ns[0]); i++)
	{
		for (n = 0; n < 12; n++)
		{
			int64_t rows = INT64_C(100) << n;
			double cpu_ns = 100.0 * (double) rows;
			double device_ns = 20000 + item_ns[i] * (double) rows;
			double better = cpu_ns < device_ns ? cpu_ns : device_ns;

			begin(1, item_ns[i]);
			stage.executor->no_trials = true;
			stage.config.execution = HY_EXECUTION_SPLIT;
			stage.config.speedup_threshold = 1;
			CHECK_INT(stage_dispatch(rows, &decision), HY_OK);
			CHECK_MSG(better / (double) decision.actual_ns >= 0.95,
			          "%g ns an item, %lld rows: %.3f times the better side, reason %s", item_ns[i],
			          (long long) rows, better / (double) decision.actual_ns,
			          hy_reason_name(decision.reason));
			if (better < 50000)
				CHECK_STR(hy_reason_name(decision.reason), "cost");
			stage_end();
		}
	}
}

/* A device that cannot be opened has finished nothing: the call is the CPU's. */
static void
test_a_split_without_its_device_is_the_cpus(void)
{
	stage_begin(1);
	stage.open_status = HY_BUSY;
	stage.config.execution = HY_EXECUTION_SPLIT;
	CHECK_INT(stage_dispatch(40000, &decision), HY_OK);
	CHECK_STR(hy_reason_name(decision.reason), "split");
	CHECK_INT(decision.status, HY_BUSY);
	CHECK(decision.fallback);
	CHECK_INT(stage_counters(1)->calls, 0);
	CHECK_INT(stage_counters(1)->fallbacks, 1);
	CHECK_INT(stage_counters(1)->by_cause[HY_BUSY], 1);
	CHECK_INT(stage_counters(0)->calls, 1);
	stage_adds_up();
	stage_end();
}

/*
 * Without history the split is the trial: no call goes to one side alone before that side is known.
 */
static void
test_split_asked_for_without_history(void)
{
	int i;

	stage_begin(1);
	stage.device_item_ns = 60;
	stage.config.execution = HY_EXECUTION_SPLIT;
	for (i = 0; i < 60; i++)
	{
		int64_t before[2] = {stage_counters(0)->items, stage_counters(1)->items};

		CHECK_INT(stage_dispatch(100000, &decision), HY_OK);
		CHECK_STR(hy_reason_name(decision.reason), "split");
		CHECK(stage_counters(0)->items > before[0] && stage_counters(1)->items > before[1]);
	}
	/* 10 ms, 6 ms, and both at once */
	CHECK_MSG(decision.actual_ns < 4.2e6, "%.2f ms", decision.actual_ns / 1e6);
	stage_end();
	/* a first time on the device that says nothing of the others does not keep it out */
	stage_begin(1);
	stage.config.execution = HY_EXECUTION_SPLIT;
	stage.device_launch_ns = 5e8;
	CHECK_INT(stage_dispatch(100000, &decision), HY_OK);
	stage.device_launch_ns = 20000;
	for (i = 0; i < 10; i++)
		CHECK_INT(stage_dispatch(100000, &decision), HY_OK);
	CHECK(stage_counters(1)->items > 500000);
	stage_end();
}

/*
 * If one side does all of the work in the end, or the task cannot be cut, the event does not say
 * split.
 */
static void
test_split_that_is_none(void)
{
	int64_t before;
	int i;

	/* the prediction says half each, and then the device is as good as gone: nothing of it is used */
	for (i = 0; i < 2; i++)
	{
		begin(1, 100);
		stage.config.execution = HY_EXECUTION_SPLIT;
		stage.config.split_percent = i == 0 ? -1 : 100;
		if (i == 0)
			stage.device_launch_ns = 1e9;
		CHECK_INT(stage_dispatch(40000, &decision), HY_OK);
		before = stage_counters(i)->items;
		CHECK_INT(before, 40000);
		if (i == 1)
		{
			/* as the user has fixed it */
			CHECK_STR(hy_reason_name(decision.reason), "split");
			CHECK_NEAR(decision.split_share, 1, 1e-9);
		}
		else
		{
			CHECK_STR(hy_reason_name(decision.reason), "cost");
			CHECK_INT(decision.device, 0);
			CHECK(decision.split_share < 0);
			CHECK_INT(stage_counters(0)->by_reason[HY_REASON_COST], 1);
			CHECK_INT(stage_counters(0)->calls, 1);
			CHECK_INT(stage_counters(1)->by_reason[HY_REASON_SPLIT] + stage_counters(1)->calls, 0);
		}
		CHECK(!decision.fallback);
		stage_end();
	}
	/* the share is that of the rows that were done */
	begin(1, 20);
	stage.config.execution = HY_EXECUTION_SPLIT;
	CHECK_INT(stage_dispatch(40000, &decision), HY_OK);
	CHECK_NEAR(decision.split_share, (double) stage_counters(1)->items / 40000, 1e-9);
	stage_end();
	/* one row has no halves, whatever is asked for */
	for (i = 0; i < 2; i++)
	{
		begin(1, 20);
		stage.config.execution = HY_EXECUTION_SPLIT;
		stage.config.split_percent = i == 0 ? -1 : 50;
		CHECK_INT(stage_dispatch(1, &decision), HY_OK);
		CHECK(decision.reason != HY_REASON_SPLIT && decision.split_share < 0);
		stage_end();
	}
}

/*
 * A job that is canceled, on whichever side that is noticed, is one canceled call, as a whole task
 * is.
 */
static void
test_a_cancelled_job_says_so(void)
{
	int64_t at;

	for (at = 1; at <= 12; at++)
	{
		begin(1, 20);
		stage.config.execution = HY_EXECUTION_SPLIT;
		unit_cancel_init(&stage.cancel, at);
		CHECK_INT(stage_dispatch(400000, &decision), HY_CANCELLED);
		CHECK_INT(decision.status, HY_CANCELLED);
		CHECK(!decision.fallback);
		CHECK_INT(stage_counters(1)->by_status[HY_CANCELLED], 1);
		CHECK_INT(stage_counters(0)->by_status[HY_CANCELLED], 0);
		CHECK_INT(stage_counters(0)->calls + stage_counters(1)->calls, 0);
		stage_end();
	}
}

static void
test_all_devices_on_a_large_task(void)
{
	begin(3, 50);
	stage.config.execution = HY_EXECUTION_GPU;
	CHECK_INT(stage_dispatch(100000, &decision), HY_OK);
	CHECK(decision.pieces >= 3);
	CHECK(stage_counters(1)->items > 20000 && stage_counters(2)->items > 20000 &&
	      stage_counters(3)->items > 20000);
	CHECK_INT(stage_counters(1)->calls, 1);
	CHECK_INT(stage_counters(2)->calls + stage_counters(3)->calls + stage_counters(0)->items, 0);
	/* a small one goes to one */
	CHECK_INT(stage_dispatch(1000, &decision), HY_OK);
	CHECK_INT(decision.pieces, 0);
	CHECK_INT(stage_counters(1)->calls, 2);
	stage_end();
}

/*
 * A task is cut over all devices from half a millisecond on; below that, starting the others costs
 * too much.
 */
static void
test_how_large_is_large(void)
{
	begin(2, 50); /* and 20 us */
	stage.config.execution = HY_EXECUTION_GPU;
	CHECK_INT(stage_dispatch(9200, &decision), HY_OK); /* 0.48 ms */
	CHECK_INT(decision.pieces, 0);
	CHECK_INT(stage_counters(2)->items, 0);
	CHECK_INT(stage_dispatch(10000, &decision), HY_OK); /* 0.52 ms */
	CHECK(decision.pieces >= 2);
	CHECK(stage_counters(2)->items > 3000);
	stage_end();
}

/* Another device is opened for a task if that takes at most half as long as the task. */
static void
test_opening_another_for_a_large_task(void)
{
	int dear;

	for (dear = 0; dear < 2; dear++)
	{
		HyMember *second;

		begin(2, 50);
		second = &stage.executor->member[2];
		hy_member_close(stage.executor, second);
		stage.opens = 0;
		stage.config.execution = HY_EXECUTION_GPU;
		second->info.open_cost_ns = dear ? 1060000 : 980000;
		CHECK_INT(stage_dispatch(40000, &decision), HY_OK); /* 2.02 ms */
		CHECK_INT(decision.device, 1);
		CHECK_INT(stage.opens, dear ? 0 : 1);
		CHECK_INT(stage_counters(2)->items > 0, !dear);
		CHECK_INT(decision.pieces > 1, !dear);
		stage_end();
	}
}

static void
test_devices_that_are_named(void)
{
	begin(3, 50);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.config.devices = 6; /* numbers 1 and 2: the executor's second and third */
	CHECK_INT(stage_dispatch(100000, &decision), HY_OK);
	CHECK_INT(stage_counters(1)->items, 0);
	CHECK(stage_counters(2)->items > 30000 && stage_counters(3)->items > 30000);
	stage.config.devices = 4;
	CHECK_INT(stage_dispatch(1000, &decision), HY_OK);
	CHECK_INT(decision.device, 3);
	stage.config.devices = 8; /* there is none */
	CHECK_INT(stage_dispatch(1000, &decision), HY_OK);
	CHECK_INT(decision.reason, HY_REASON_NO_DEVICE);
	stage_end();
}

static void
test_large_for_the_memory(void)
{
	begin(1, 1);
	stage.config.execution = HY_EXECUTION_GPU;
	stage.config.memory_limit = 80000; /* 10,000 items; two pieces at once */
	CHECK_INT(stage_dispatch(100000, &decision), HY_OK);
	CHECK_INT(decision.bytes_required, 800000);
	CHECK_INT(decision.bytes_available, 80000);
	CHECK_INT(decision.pieces, 20);
	CHECK_INT(stage_counters(1)->calls, 1);
	CHECK_INT(stage_counters(1)->items, 100000);
	stage_end();
}

static void
test_long_ones_are_cut_for_failures(void)
{
	begin(1, 50);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.script[2] = HY_TRANSIENT;
	CHECK_INT(stage_dispatch(400000, &decision), HY_OK); /* 20 ms */
	CHECK(decision.fallback && decision.status == HY_TRANSIENT);
	CHECK(stage_counters(1)->items > 0);
	CHECK_INT(stage_counters(0)->items + stage_counters(1)->items, 400000);
	/* where nobody would redo it there is no point in that */
	stage.config.execution = HY_EXECUTION_GPU;
	hy_breaker_init(&stage.executor->member[1].breakers[HY_OP_DISTANCE]);
	CHECK_INT(stage_dispatch(400000, &decision), HY_OK);
	CHECK_INT(decision.pieces, 0);
	stage_end();
}

/* Small calls go to the device on which others have least in flight. */
static void
test_least_work_in_flight(void)
{
	static HyQueue queue;
	HyQueueClient mine = {.queue = &queue, .id = 1, .role = 1};
	HyQueueClient other = {.queue = &queue, .id = 2, .role = 2};
	int32_t slot[2];

	begin(3, 1);
	hy_queue_init(&queue);
	hy_executor_use_queue(stage.executor, &mine);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	CHECK_INT(stage_dispatch(1000, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	slot[0] = hy_queue_ask(&other, 1, 5e6, false, stage.clock.time);
	CHECK(hy_queue_granted(&other, slot[0], 2, stage.clock.time));
	CHECK_INT(stage_dispatch(1000, &decision), HY_OK);
	CHECK_INT(decision.device, 2);
	slot[1] = hy_queue_ask(&other, 2, 6e6, false, stage.clock.time);
	CHECK(hy_queue_granted(&other, slot[1], 2, stage.clock.time));
	CHECK_INT(stage_dispatch(1000, &decision), HY_OK);
	CHECK_INT(decision.device, 3);
	hy_queue_leave(&other, slot[0]);
	CHECK_INT(stage_dispatch(1000, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	hy_queue_leave(&other, slot[1]);
	/* no slot is to be had: the CPU, once that has lasted too long */
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.config.devices = 1;
	stage.config.queue_depth = 1;
	stage.config.timeout_ns = 10000000;
	slot[0] = hy_queue_ask(&other, 1, 5e6, false, stage.clock.time);
	CHECK(hy_queue_granted(&other, slot[0], 1, stage.clock.time));
	CHECK_INT(stage_dispatch(1000, &decision), HY_OK);
	CHECK(decision.fallback && decision.status == HY_BUSY);
	CHECK_STR(decision.failure.text, "others had it all the time");
	CHECK_INT(stage_breaker()->count, 2);
	stage_end();
}

/* In auto a split must save a tenth, and the task must take a millisecond on the better side. */
static void
test_what_a_split_has_to_win_in_auto(void)
{
	bool just_enough = false;
	bool not_quite = false;
	double item_ns;
	int64_t rows;

	for (item_ns = 8; item_ns < 16; item_ns += 0.1)
	{
		const HyShape shape = {
			.op = HY_OP_DISTANCE, .dims = STAGE_DIMS, .queries = 1, .targets = 400000};
		HyChoice choice;
		double gain;

		begin(1, item_ns);
		stage.executor->no_trials = true;
		hy_executor_configure(stage.executor, &stage.config);
		hy_decide(stage.executor, &shape, HY_CLASS_EXACT, stage.clock.time, &choice);
		/* where it could not even be with nothing to join, it is not reckoned up */
		gain = choice.split_ns < 0 ? 1 : choice.split_ns / choice.device_ns;
		CHECK_MSG(choice.split == (gain <= 0.9), "%.4f of the device's time: %d", gain,
		          choice.split);
		just_enough = just_enough || (gain <= 0.9 && gain > 0.895);
		not_quite = not_quite || (gain > 0.9 && gain < 0.905);
		stage_end();
	}
	CHECK(just_enough && not_quite);
	for (rows = 9000; rows <= 11000; rows += 200)
	{
		begin(1, 100); /* the CPU is the better one: 0.9 to 1.1 ms */
		stage.executor->no_trials = true;
		CHECK_INT(stage_dispatch(rows, &decision), HY_OK);
		if (rows != 10000)
			CHECK_STR(hy_reason_name(decision.reason), rows > 10000 ? "split" : "cost");
		stage_end();
	}
}

int
main(void)
{
	UNIT_RUN(test_split_in_auto);
	UNIT_RUN(test_split_asked_for);
	UNIT_RUN(test_split_asked_for_of_small_tasks);
	UNIT_RUN(test_a_split_without_its_device_is_the_cpus);
	UNIT_RUN(test_split_asked_for_without_history);
	UNIT_RUN(test_split_that_is_none);
	UNIT_RUN(test_a_cancelled_job_says_so);
	UNIT_RUN(test_all_devices_on_a_large_task);
	UNIT_RUN(test_how_large_is_large);
	UNIT_RUN(test_opening_another_for_a_large_task);
	UNIT_RUN(test_devices_that_are_named);
	UNIT_RUN(test_large_for_the_memory);
	UNIT_RUN(test_long_ones_are_cut_for_failures);
	UNIT_RUN(test_least_work_in_flight);
	UNIT_RUN(test_what_a_split_has_to_win_in_auto);
	return unit_finish();
}
