/*
 * decide_trials_test.c
 *		Rule 9 of the decision: which side is tried, when a trial is due, and what it may cost.
 */
#include "dispatch_stage.h"

/* run_many: run calls of rows items each.  Returns how many of them explored. */
static int
run_many(int calls, int64_t rows)
{
	int explored = 0;
	int i;

	for (i = 0; i < calls; i++)
	{
		HyDecision decision;

		CHECK_INT(stage_dispatch(rows, &decision), HY_OK);
		explored += decision.reason == HY_REASON_EXPLORATION;
	}
	return explored;
}

static void
test_first_steps_without_history(void)
{
	/* the device, then the CPU, each until its cold start has company */
	static const int32_t first[] = {1, 1, 0, 0};
	HyDecision decision;
	int i;

	stage_begin(1);
	for (i = 0; i < 4; i++)
	{
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		stage_expect(decision, first[i], HY_REASON_EXPLORATION);
	}
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	stage_expect(decision, 1, HY_REASON_COST); /* 21 us against 102 us */
	CHECK_NEAR(decision.predicted_cpu_ns, 102400, 1);
	CHECK_NEAR(decision.predicted_device_ns, 21024, 1);
	CHECK_INT(decision.actual_ns, 21024);
	stage_end();
}

static void
test_exploration_is_cheap(void)
{
	uint64_t start;
	uint64_t best;

	/* The device is twice as slow: it is tried now and then, and that costs less than 1%. */
	stage_begin(1);
	stage.cpu_item_ns = 10;
	stage.device_item_ns = 0;
	stage.device_launch_ns = 20480;
	run_many(4, 1024);
	hy_executor_configure(stage.executor, &stage.config);
	stage.executor->spent_ns = 0;
	stage.executor->regret_ns = 0;
	start = stage.clock.time;
	CHECK(run_many(3000, 1024) >= 5);
	best = 3000 * UINT64_C(10240);
	CHECK((double) (stage.clock.time - start - best) <= 0.01 * (double) (stage.clock.time - start));
	CHECK(stage.executor->regret_ns > 0);
	CHECK(stage.executor->regret_ns <= 0.01 * stage.executor->spent_ns);
	stage_end();
}

static void
test_regret_is_bounded(void)
{
	/* Trying a device 3.5 times as slow at every chance would cost 5% of 300 calls. */
	stage_begin(1);
	stage.cpu_item_ns = 10;
	stage.device_item_ns = 0;
	stage.device_launch_ns = 35840;
	run_many(4, 1024);
	stage.executor->spent_ns = 0;
	stage.executor->regret_ns = 0;
	CHECK(run_many(300, 1024) >= 1);
	CHECK(stage.executor->regret_ns <= 0.01 * stage.executor->spent_ns);
	stage_end();
}

static void
test_refusals_are_bounded_too(void)
{
	HyDecision decision;
	int i;

	/* A device that takes its time to say that it is busy never gets a history. */
	stage_begin(1);
	stage.always_fail = true;
	stage.fail_in_poll = true;
	stage.script[0] = HY_BUSY;
	run_many(3, 1024);
	stage.executor->spent_ns = 0;
	stage.executor->regret_ns = 0;
	CHECK(run_many(2000, 1024) >= 5);
	/* the last one may have passed the limit, by what it took */
	CHECK(stage.executor->regret_ns <= 0.01 * stage.executor->spent_ns + 21024);
	/* when it is no longer busy, it is found out */
	stage.always_fail = false;
	stage.scripted = STAGE_SCRIPT;
	for (i = 0; i < 50; i++)
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	stage_expect(decision, 1, HY_REASON_COST);
	stage_end();
}

static void
test_no_exploration_beyond_four_times(void)
{
	stage_begin(1);
	stage.cpu_item_ns = 10;
	stage.device_item_ns = 0;
	stage.device_launch_ns = 10240 * 5;
	run_many(4, 1024);
	stage.executor->regret_ns = 0;
	stage.executor->spent_ns = 1e15; /* regret is no object */
	CHECK_INT(run_many(1000, 1024), 0);
	stage_end();
}

static void
test_stale_side_is_tried_again(void)
{
	HyDecision decision;

	/* The device gets faster behind our back; the route follows. */
	stage_begin(1);
	stage.config.window = 10;
	stage.cpu_item_ns = 10;
	stage.device_item_ns = 0;
	stage.device_launch_ns = 15000;
	run_many(2000, 1024);
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.device, 0);
	stage.device_launch_ns = 2000;
	run_many(8000, 1024);
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	stage_end();
}

static void
test_cpu_is_tried_as_well(void)
{
	HyDecision decision;

	stage_begin(1);
	stage.config.window = 10;
	stage.cpu_item_ns = 30;
	stage.device_item_ns = 0;
	stage.device_launch_ns = 20000;
	run_many(2000, 1024);
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	stage.cpu_item_ns = 5;
	run_many(8000, 1024);
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.device, 0);
	stage_end();
}

static void
test_larger_batches_get_their_chance(void)
{
	HyDecision decision;
	int i;

	/*
	 * At 64 items the launch makes the device ten times slower, at 65,536 it is four times faster:
	 * scaling the launch along with the items must not shut it out.
	 */
	stage_begin(1);
	stage.cpu_item_ns = 20;
	stage.device_launch_ns = 12800;
	stage.device_item_ns = 5;
	run_many(20, 64);
	CHECK_INT(stage_dispatch(64, &decision), HY_OK);
	stage_expect(decision, 0, HY_REASON_COST);
	for (i = 0; i < 40; i++)
		CHECK_INT(stage_dispatch(65536, &decision), HY_OK);
	stage_expect(decision, 1, HY_REASON_COST);
	stage_end();
}

static void
test_each_device_is_tried(void)
{
	static const int32_t order[] = {1, 1, 2, 2, 0, 0};
	HyDecision decision;
	int i;

	stage_begin(2);
	for (i = 0; i < 6; i++)
	{
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		stage_expect(decision, order[i], HY_REASON_EXPLORATION);
	}
	stage_end();
}

static void
test_no_device_is_tried_that_like_tasks_speak_against(void)
{
	HyTask task;
	HyDecision decision;
	int i;

	stage_begin(1);
	stage.cpu_item_ns = 10;
	stage.device_launch_ns = 200000;
	for (i = 0; i < 40; i++)
		CHECK_INT(stage_dispatch(64 << (i % 5), NULL), HY_OK);
	for (i = 0; i < 6; i++)
	{
		task = stage_task(128);
		task.u.distance.metric = HY_METRIC_L1;
		CHECK_INT(hy_dispatch(stage.executor, &task, &decision), HY_OK);
		CHECK_INT(decision.device, 0);
	}
	stage_end();
}

static void
test_a_trial_is_foretold(void)
{
	HyChoice choice;
	HyTask task;
	HyShape shape;

	/* tasks_until_trial says for how many tasks of the kind the decision needs no second look */
	stage_begin(1);
	stage.cpu_item_ns = 10;
	run_many(40, 1024);
	task = stage_task(1024);
	shape = hy_task_shape(&task);
	hy_memo_fold(stage.executor, true);
	hy_decide(stage.executor, &shape, task.numeric_class, stage.clock.time, &choice);
	CHECK_INT(choice.device, 0);
	CHECK(choice.tasks_until_trial >= 1 && choice.tasks_until_trial <= 256);
	CHECK(choice.holds_ns == UINT64_MAX);
	stage.executor->no_trials = true;
	hy_decide(stage.executor, &shape, task.numeric_class, stage.clock.time, &choice);
	CHECK_INT(choice.reason, HY_REASON_COST);
	stage_end();
}

/*
 * A device that is slow for similar kinds of task is not first tried on a task of several seconds.
 */
static void
test_a_first_try_is_no_leap(void)
{
	HyShape shape;
	HyDecision decision;
	int64_t rows;
	int i;

	stage_begin(1);
	stage.executor->member[1].info.open_cost_ns = 0;
	for (i = 0; i < 60; i++)
	{
		/* another metric, of which the device takes five times as long as the CPU */
		shape = (HyShape){.op = HY_OP_DISTANCE,
		                  .metric = HY_METRIC_IP,
		                  .dims = STAGE_DIMS,
		                  .queries = 1,
		                  .targets = INT64_C(1000) << (i % 12)};
		hy_tracker_record(stage.executor->tracker, &shape, 0, (uint64_t) (100 * shape.targets));
		hy_tracker_record(stage.executor->tracker, &shape, 1, (uint64_t) (500 * shape.targets));
		/* the CPU knows this one */
		shape.metric = HY_METRIC_L2;
		hy_tracker_record(stage.executor->tracker, &shape, 0, (uint64_t) (100 * shape.targets));
	}
	for (rows = 1000; rows <= 1000000; rows *= 1000)
	{
		decision = stage_decided(rows);
		/* 0.4 ms may be lost, 0.4 s may not */
		CHECK_INT(decision.device, rows == 1000);
		CHECK_INT(decision.reason, rows == 1000 ? HY_REASON_EXPLORATION : HY_REASON_COST);
	}
	stage_end();
}

/* ran: record that tasks of rows items took this long each on a device. */
static void
ran(int64_t rows, int32_t device, uint64_t ns, int times)
{
	HyTask task = stage_task(rows);
	HyShape shape = hy_task_shape(&task);
	int i;

	for (i = 0; i < times; i++)
		hy_tracker_record(stage.executor->tracker, &shape, device, ns);
}

/*
 * trial_after: return the number of tasks of rows items that the CPU gets until the device is
 * tried; -1: all.
 */
static int
trial_after(int64_t rows, uint64_t cpu_ns)
{
	int32_t foretold = stage_chosen(rows).tasks_until_trial;
	int n;

	for (n = 0; n < 1000; n++)
	{
		HyChoice choice = stage_chosen(rows);

		if (choice.reason == HY_REASON_EXPLORATION)
		{
			CHECK_INT(choice.device, 1);
			/* what a memo goes by: so many need not be asked about, and the next one must be */
			CHECK_INT(foretold, n);
			return n;
		}
		CHECK_INT(choice.device, 0);
		ran(rows, 0, cpu_ns, 1);
	}
	return -1;
}

/* The less is known of a side, and the closer the two are, the sooner it is tried. */
static void
test_how_soon_a_trial_is_due(void)
{
	int few;
	int even;
	int unseen;
	int stale;

	/* little to go by at all */
	stage_begin(1);
	stage.executor->spent_ns = 1e15; /* what it may lose is no object */
	ran(1024, 0, 10000, 40);
	ran(1024, 1, 20000, 6);
	few = trial_after(1024, 10000);
	ran(1024, 1, 20000, 7);
	CHECK_INT(trial_after(1024, 10000), few);
	ran(1024, 1, 20000, 2); /* a dozen, each a little forgotten */
	CHECK_INT(trial_after(1024, 10000), 256);
	stage_end();
	/* its law is known, and this size not */
	stage_begin(1);
	stage.executor->spent_ns = 1e15;
	ran(1024, 0, 10000, 40);
	ran(4096, 0, 40000, 40);
	ran(4096, 1, 80000, 40);
	ran(1024, 1, 20000, 1);
	unseen = trial_after(1024, 10000);
	stage_end();
	/* the size is hardly known, and both are about even there */
	stage_begin(1);
	stage.executor->spent_ns = 1e15;
	ran(1024, 0, 10000, 40);
	ran(4096, 0, 40000, 40);
	ran(4096, 1, 48000, 40);
	ran(1024, 1, 12000, 4);
	even = trial_after(1024, 10000);
	ran(1024, 1, 12000, 1);
	CHECK_INT(trial_after(1024, 10000), 256); /* now it is known */
	stage_end();
	/* or they are not */
	stage_begin(1);
	stage.executor->spent_ns = 1e15;
	ran(1024, 0, 10000, 40);
	ran(4096, 0, 40000, 40);
	ran(4096, 1, 80000, 40);
	ran(1024, 1, 20000, 2);
	CHECK_INT(trial_after(1024, 10000), 256);
	stage_end();
	/* all is known */
	stage_begin(1);
	stage.executor->spent_ns = 1e15;
	ran(1024, 0, 10000, 40);
	ran(1024, 1, 20000, 40);
	stale = trial_after(1024, 10000);
	CHECK_INT(few, 8);
	CHECK_INT(even, 8);
	CHECK_INT(unseen, 32);
	CHECK_INT(stale, 256);
	/* a trial puts it off again */
	ran(1024, 1, 20000, 1);
	CHECK_INT(trial_after(1024, 10000), stale);
	stage_end();
}

/* stale: both sides are well known, but the device was not observed for long. */
static void
stale(uint64_t cpu_ns, uint64_t device_ns)
{
	stage_begin(1);
	ran(1024, 0, cpu_ns, 40);
	ran(1024, 1, device_ns, 40);
	ran(1024, 0, cpu_ns, 300);
	stage.executor->spent_ns = 1e15;
}

/* Rule 9: within a factor of four either way, and 1% of the time spent. */
static void
test_what_a_trial_may_cost(void)
{
	HyChoice choice;
	int32_t tasks_until_trial;

	stale(10000, 39000);
	stage_expect(stage_decided(1024), 1, HY_REASON_EXPLORATION);
	stage_end();
	stale(10000, 41000);
	stage_expect(stage_decided(1024), 0, HY_REASON_COST);
	stage_end();
	/* where hysteresis holds to the CPU the device may be the faster one, and is no secret then */
	stale(10000, 2600);
	stage.config.speedup_threshold = 10;
	stage_expect(stage_decided(1024), 1, HY_REASON_EXPLORATION);
	stage_end();
	stale(10000, 2400);
	stage.config.speedup_threshold = 10;
	stage_expect(stage_decided(1024), 0, HY_REASON_COST);
	stage_end();

	/* the CPU's turn is weighed against the device that has it otherwise */
	stage_begin(1);
	ran(1024, 0, 20000, 40);
	ran(1024, 1, 10000, 340);
	stage.executor->spent_ns = 1e15;
	choice = stage_chosen(1024);
	CHECK_INT(choice.device, 0);
	CHECK_INT(choice.reason, HY_REASON_EXPLORATION);
	CHECK_INT(choice.candidate, 1);
	CHECK_NEAR(choice.device_ns, 10000, 100);
	CHECK_NEAR(choice.cpu_ns, 20000, 200);
	CHECK_NEAR(choice.instead_ns, 10000, 100);
	stage_end();

	/* nothing is foretold where the two are too far apart */
	stale(10000, 41000);
	CHECK_INT(stage_chosen(1024).tasks_until_trial, INT32_MAX);
	stage_end();
	/* and where one is only too dear for now, it is as many calls as pay for it */
	stale(10000, 20000);
	stage.executor->spent_ns = 0;
	stage.executor->regret_ns = 1e6;
	tasks_until_trial = stage_chosen(1024).tasks_until_trial;
	stage.executor->spent_ns = 10000.0 * 1.01 * tasks_until_trial;
	stage_expect(stage_decided(1024), 1, HY_REASON_EXPLORATION);
	stage.executor->spent_ns = 10000.0 * 0.99 * tasks_until_trial;
	stage_expect(stage_decided(1024), 0, HY_REASON_COST);
	stage_end();

	/* a trial would lose 10 us */
	stale(10000, 20000);
	stage.executor->spent_ns = 1.1e6;
	stage_expect(stage_decided(1024), 1, HY_REASON_EXPLORATION);
	stage.executor->spent_ns = 0.9e6;
	stage_expect(stage_decided(1024), 0, HY_REASON_COST);
	/* on top of what was lost before */
	stage.executor->spent_ns = 10e6;
	stage.executor->regret_ns = 89000;
	stage_expect(stage_decided(1024), 1, HY_REASON_EXPLORATION);
	stage.executor->regret_ns = 91000;
	stage_expect(stage_decided(1024), 0, HY_REASON_COST);
	stage_end();
}

/*
 * For a device that has run only smaller tasks, the predicted time is the geometric mean of two
 * estimates.
 */
static void
test_a_trial_beyond_what_was_seen(void)
{
	int dear;

	for (dear = 0; dear <= 1; dear++)
	{
		HyTask task;
		HyShape shape;
		HyForecast forecast;
		double middle;

		stage_begin(1);
		stage.executor->spent_ns = 1e15;
		ran(64, 1, 10000, 40);
		task = stage_task(2048);
		shape = hy_task_shape(&task);
		forecast = hy_tracker_forecast(stage.executor->tracker, &shape, 1);
		CHECK(forecast.samples == 0 && forecast.steps > forecast.span);
		CHECK(forecast.ns > 4 * forecast.largest_ns);
		middle = sqrt(forecast.ns * forecast.largest_ns);
		/* a trial may take four times as long as the CPU */
		ran(2048, 0, (uint64_t) (middle / 4 * (dear ? 0.9 : 1.1)), 300);
		if (dear)
			stage_expect(stage_decided(2048), 0, HY_REASON_COST);
		else
			stage_expect(stage_decided(2048), 1, HY_REASON_EXPLORATION);
		stage_end();
	}
}

/*
 * like: the CPU takes 100 ns per item, and the device, for another metric, this many times as much.
 */
static void
like(double times)
{
	int i;

	stage_begin(1);
	for (i = 0; i < 60; i++)
	{
		HyShape shape = {.op = HY_OP_DISTANCE,
		                 .metric = HY_METRIC_IP,
		                 .dims = STAGE_DIMS,
		                 .queries = 1,
		                 .targets = INT64_C(1000) << (i % 12)};
		double ns = 100 * (double) shape.targets;

		hy_tracker_record(stage.executor->tracker, &shape, 0, (uint64_t) ns);
		hy_tracker_record(stage.executor->tracker, &shape, 1, (uint64_t) (times * ns));
		shape.metric = HY_METRIC_L2;
		hy_tracker_record(stage.executor->tracker, &shape, 0, (uint64_t) ns);
	}
}

/*
 * A first trial may lose 20 ms, or 1% of the time spent if that is more, but must not take 16 times
 * as long.
 */
static void
test_what_a_first_try_may_cost(void)
{
	like(15);
	stage_expect(stage_decided(1000), 1, HY_REASON_EXPLORATION);
	stage_end();
	like(17);
	stage_expect(stage_decided(1000), 0, HY_REASON_COST);
	stage.executor->spent_ns = 1e15;
	stage_expect(stage_decided(1000), 0, HY_REASON_COST);
	stage_end();

	like(5);                                                      /* an item loses 400 ns */
	stage_expect(stage_decided(47500), 1, HY_REASON_EXPLORATION); /* 19 ms */
	stage_expect(stage_decided(52500), 0, HY_REASON_COST);        /* 21 ms */
	stage.executor->spent_ns = 2.2e9;
	stage_expect(stage_decided(52500), 1, HY_REASON_EXPLORATION);
	stage.executor->regret_ns = 2e6;
	stage_expect(stage_decided(52500), 0, HY_REASON_COST);
	stage_expect(stage_decided(47500), 1, HY_REASON_EXPLORATION); /* whatever was lost before */
	stage_end();
}

int
main(void)
{
	UNIT_RUN(test_first_steps_without_history);
	UNIT_RUN(test_exploration_is_cheap);
	UNIT_RUN(test_regret_is_bounded);
	UNIT_RUN(test_refusals_are_bounded_too);
	UNIT_RUN(test_no_exploration_beyond_four_times);
	UNIT_RUN(test_stale_side_is_tried_again);
	UNIT_RUN(test_cpu_is_tried_as_well);
	UNIT_RUN(test_larger_batches_get_their_chance);
	UNIT_RUN(test_each_device_is_tried);
	UNIT_RUN(test_no_device_is_tried_that_like_tasks_speak_against);
	UNIT_RUN(test_a_trial_is_foretold);
	UNIT_RUN(test_a_first_try_is_no_leap);
	UNIT_RUN(test_how_soon_a_trial_is_due);
	UNIT_RUN(test_what_a_trial_may_cost);
	UNIT_RUN(test_a_trial_beyond_what_was_seen);
	UNIT_RUN(test_what_a_first_try_may_cost);
	return unit_finish();
}
