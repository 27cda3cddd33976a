/*
 * decide_test.c
 *		Each rule of the decision with its reason, and the rule that precedes it.
 */
#include "dispatch_stage.h"

static void
test_user_wants_the_cpu(void)
{
	stage_begin(1);
	stage_teach_one(1024, 1000000, 1000);
	stage.config.force_cpu = true;
	stage_expect(stage_decided(1024), 0, HY_REASON_USER);
	stage.config.execution = HY_EXECUTION_GPU; /* force_cpu goes first */
	stage_expect(stage_decided(1024), 0, HY_REASON_USER);
	stage.config.force_cpu = false;
	stage.config.execution = HY_EXECUTION_CPU;
	stage_expect(stage_decided(1024), 0, HY_REASON_USER);
	stage.config.execution = HY_EXECUTION_NAMED;
	strcpy(stage.config.backend_name, "cpu");
	stage_expect(stage_decided(1024), 0, HY_REASON_USER);
	stage.config.execution = HY_EXECUTION_PREFER_CPU;
	stage_expect(stage_decided(1024), 0, HY_REASON_USER);
	CHECK_INT(stage.opens, 0);
	stage_end();
}

static void
test_no_device(void)
{
	HyDecision decision;

	stage_begin(0);
	stage_expect(stage_decided(1024), 0, HY_REASON_NO_DEVICE);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage_expect(stage_decided(1024), 0, HY_REASON_NO_DEVICE);
	stage.config.execution = HY_EXECUTION_GPU;
	decision = stage_decided(1024);
	stage_expect(decision, 0, HY_REASON_NO_DEVICE);
	CHECK_INT(decision.status, HY_UNSUPPORTED);
	CHECK_INT(stage_dispatch(1024, &decision), HY_UNSUPPORTED);
	CHECK_STR(decision.failure.text, "there is none");

	hy_executor_add_missing(stage.executor, "hybrid_cuda", "hybrid_cuda.so is not installed", true);
	stage.config.execution = HY_EXECUTION_AUTO;
	stage_expect(stage_decided(1024), 0, HY_REASON_NO_DEVICE);
	stage.config.execution = HY_EXECUTION_NAMED;
	strcpy(stage.config.backend_name, "cuda");
	CHECK_INT(stage_dispatch(1024, &decision), HY_UNSUPPORTED);
	CHECK_INT(decision.reason, HY_REASON_NO_DEVICE);
	CHECK_INT(decision.device, HY_NOWHERE);
	CHECK_STR(decision.failure.text, "hybrid_cuda.so is not installed");
	strcpy(stage.config.backend_name, "other");
	CHECK_INT(stage_dispatch(1024, &decision), HY_UNSUPPORTED);
	CHECK_STR(decision.failure.text, "no backend is called \"other\"");
	stage_end();
}

static void
test_unsupported(void)
{
	HyDecision decision;

	stage_begin(1);
	stage_teach_one(1024, 1000000, 1000);
	stage.unsupported = true;
	stage_expect(stage_decided(1024), 0, HY_REASON_UNSUPPORTED);
	stage_expect(stage_decided(8), 0, HY_REASON_UNSUPPORTED); /* before the minimum */
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage_expect(stage_decided(1024), 0, HY_REASON_UNSUPPORTED);
	stage.config.execution = HY_EXECUTION_GPU;
	CHECK_INT(stage_dispatch(1024, &decision), HY_UNSUPPORTED);
	CHECK_INT(decision.reason, HY_REASON_UNSUPPORTED);
	CHECK_STR(decision.failure.text, "it was told not to");

	stage.unsupported = false;
	stage.config.execution = HY_EXECUTION_AUTO;
	stage.max_targets = 1024; /* tested with <= */
	stage_expect(stage_decided(1024), 1, HY_REASON_COST);
	stage_expect(stage_decided(1025), 0, HY_REASON_UNSUPPORTED);
	stage.max_targets = INT64_MAX;
	stage.numeric_class = HY_CLASS_FILTER; /* exact was asked for */
	stage_expect(stage_decided(1024), 0, HY_REASON_UNSUPPORTED);
	/* who insists is told why */
	stage.config.execution = HY_EXECUTION_GPU;
	CHECK_INT(stage_dispatch(1024, &decision), HY_UNSUPPORTED);
	CHECK_STR(decision.failure.text, "it cannot give exact results");
	stage.numeric_class = HY_CLASS_EXACT;
	stage.max_targets = 1023;
	CHECK_INT(stage_dispatch(1024, &decision), HY_UNSUPPORTED);
	CHECK_STR(decision.failure.text, "too many targets");
	stage_end();
}

static void
test_largest_k(void)
{
	HyTask task;
	HyTask distance;
	HyDecision decision;
	HyNeighbor out[8];
	int32_t counts[1];

	stage_begin(1);
	stage.max_k = 4;
	distance = stage_task(1024);
	task = distance;
	task.op = HY_OP_TOPK;
	task.u.topk = (HyTopKTask){.metric = HY_METRIC_L2,
	                           .queries = distance.u.distance.queries,
	                           .targets = distance.u.distance.targets,
	                           .k = 4,
	                           .out = out,
	                           .counts = counts};
	decision = stage_explain(&task);
	CHECK_INT(decision.device, 1);
	task.u.topk.k = 5;
	decision = stage_explain(&task);
	stage_expect(decision, 0, HY_REASON_UNSUPPORTED);
	stage.config.execution = HY_EXECUTION_GPU;
	hy_executor_configure(stage.executor, &stage.config);
	CHECK_INT(hy_dispatch(stage.executor, &task, &decision), HY_UNSUPPORTED);
	CHECK_STR(decision.failure.text, "k is too large");
	stage_end();
}

static void
test_below_minimum(void)
{
	stage_begin(1);
	stage_teach_one(32, 1000000, 1000);
	stage_expect(stage_decided(63), 0, HY_REASON_BELOW_MIN);
	CHECK_INT(stage_decided(64).device, 1);
	stage.config.min_batch[HY_OP_DISTANCE] = 128;
	stage_expect(stage_decided(127), 0, HY_REASON_BELOW_MIN);
	CHECK_INT(stage_decided(128).device, 1);
	stage.config.min_batch[HY_OP_DISTANCE] = 0; /* leaves it to the model */
	CHECK_INT(stage_decided(1).device, 1);
	stage.config.min_batch[HY_OP_DISTANCE] = 64;
	stage.config.execution = HY_EXECUTION_PREFER_GPU; /* skips the minimum */
	stage_expect(stage_decided(8), 1, HY_REASON_USER);
	stage.config.execution = HY_EXECUTION_GPU;
	stage_expect(stage_decided(8), 1, HY_REASON_USER);
	stage_end();
}

static void
test_breaker_open(void)
{
	HyDecision decision;
	HyBreaker *breaker;
	int i;

	stage_begin(1);
	stage_teach_one(1024, 1000000, 1000);
	breaker = &stage.executor->member[1].breakers[HY_OP_DISTANCE];
	for (i = 0; i < 3; i++)
		hy_breaker_record(breaker, stage.clock.time, false, 0.95);
	stage_expect(stage_decided(1024), 0, HY_REASON_UNRELIABLE);
	stage_expect(stage_decided(8), 0, HY_REASON_BELOW_MIN); /* which goes first */
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage_expect(stage_decided(1024), 0, HY_REASON_UNRELIABLE);
	stage.config.execution = HY_EXECUTION_NAMED;
	strcpy(stage.config.backend_name, "scripted");
	CHECK_INT(stage_dispatch(1024, &decision), HY_BUSY);
	CHECK_INT(decision.reason, HY_REASON_UNRELIABLE);
	CHECK_INT(decision.device, HY_NOWHERE);
	stage.config.execution = HY_EXECUTION_AUTO;
	stage.clock.time += HY_BREAKER_FIRST_NS;
	stage_expect(stage_decided(1024), 1, HY_REASON_PROBE);
	/* who asks for the device gets the same probe, and is told so */
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage_expect(stage_decided(1024), 1, HY_REASON_PROBE);
	stage.config.execution = HY_EXECUTION_GPU;
	stage_expect(stage_decided(1024), 1, HY_REASON_PROBE);
	stage.config.execution = HY_EXECUTION_NAMED;
	stage_expect(stage_decided(1024), 1, HY_REASON_PROBE);
	CHECK_INT(breaker->state, HY_BREAKER_OPEN); /* a look changes nothing */
	stage_end();
}

static void
test_memory(void)
{
	HyDecision decision;

	stage_begin(1);
	stage_teach_one(1024, 1000000, 1000);
	stage.item_bytes = 10;
	stage.executor->cuts = false;                       /* all or nothing */
	stage.executor->member[1].info.memory_free = 12800; /* 80%: 10,240 */
	decision = stage_decided(1024);
	CHECK_INT(decision.device, 1);
	CHECK_INT(decision.bytes_required, 10240);
	CHECK_INT(decision.bytes_available, 10240);
	decision = stage_decided(1025);
	stage_expect(decision, 0, HY_REASON_MEMORY);
	CHECK_INT(decision.bytes_required, 10250);
	CHECK_INT(decision.bytes_available, 10240);
	stage.config.memory_limit = 5000;
	stage_expect(stage_decided(501), 0, HY_REASON_MEMORY);
	CHECK_INT(stage_decided(500).device, 1);
	stage.config.execution = HY_EXECUTION_GPU;
	CHECK_INT(stage_dispatch(501, &decision), HY_NOMEM);
	CHECK_INT(decision.reason, HY_REASON_MEMORY);
	CHECK_INT(decision.status, HY_NOMEM);
	stage_end();
}

static void
test_free_memory_of_an_open_device(void)
{
	stage_begin(1);
	stage.item_bytes = 10;
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	CHECK_INT(stage.opens, 1);
	stage.executor->cuts = false; /* all or nothing */
	stage.free_bytes = 100;
	CHECK_INT(stage_decided(1024).reason, HY_REASON_MEMORY); /* never asked since it was opened */
	stage.free_bytes = 1000000;
	CHECK_INT(stage_decided(1024).reason, HY_REASON_MEMORY); /* asked at most every 100 ms */
	stage.clock.time += 100000000;
	CHECK(stage_decided(1024).reason != HY_REASON_MEMORY);
	stage.free_bytes = 12800; /* 80%: 10,240 */
	stage.clock.time += 100000000;
	CHECK(stage_decided(1024).reason != HY_REASON_MEMORY);
	CHECK_INT(stage_decided(1025).reason, HY_REASON_MEMORY);
	stage_end();
}

static void
test_ski_rental(void)
{
	HyDecision decision;
	int i;

	stage_begin(1);
	stage.executor->member[1].info.open_cost_ns = 1000000;
	stage.cpu_item_ns = 100; /* 1,024 items: 102.4 us; the tenth call passes 1 ms */
	for (i = 0; i < 10; i++)
	{
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		stage_expect(decision, 0, HY_REASON_NOT_OPEN);
	}
	CHECK_INT(stage_dispatch(8, &decision), HY_OK); /* pays no rent: could not have gone there */
	CHECK_INT(stage.opens, 0);
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	stage_expect(decision, 1, HY_REASON_EXPLORATION);
	CHECK_INT(stage.opens, 1);
	CHECK_INT(stage_logged("opened"), 1);
	stage_end();
}

static void
test_rent_is_what_would_have_been_saved(void)
{
	HyDecision decision;

	stage_begin(1);
	stage.executor->member[1].info.open_cost_ns = 1000000;
	stage_teach_one(1024, 102400, 92400); /* 10 us a call: a hundred calls, not ten */
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	stage_expect(decision, 0, HY_REASON_NOT_OPEN);
	CHECK_NEAR(stage.executor->member[1].open_credit_ns, 10000, 10);
	stage_end();
}

/*
 * Of several closed devices the open cost is saved up for the one that is best, as far as is known.
 */
static void
test_rent_goes_to_the_best(void)
{
	HyDecision decision;
	HyTask task;
	HyShape shape;
	int i;

	stage_begin(2);
	stage.executor->member[1].info.open_cost_ns = 1000000000;
	stage.executor->member[2].info.open_cost_ns = 1000000000;
	task = stage_task(1024);
	shape = hy_task_shape(&task);
	for (i = 0; i < 20; i++)
	{
		hy_tracker_record(stage.executor->tracker, &shape, 0, 102400);
		hy_tracker_record(stage.executor->tracker, &shape, 2, 42400);
	}
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	stage_expect(decision, 0, HY_REASON_NOT_OPEN);
	CHECK_NEAR(decision.predicted_device_ns, 42400, 100);
	CHECK_NEAR(stage.executor->member[2].open_credit_ns, 60000, 100);
	CHECK(stage.executor->member[1].open_credit_ns == 0);
	for (i = 0; i < 20; i++)
		hy_tracker_record(stage.executor->tracker, &shape, 1, 22400);
	hy_generation_check(stage.executor);
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_NEAR(decision.predicted_device_ns, 22400, 100);
	CHECK_NEAR(stage.executor->member[1].open_credit_ns, 80000, 100);
	CHECK_NEAR(stage.executor->member[2].open_credit_ns, 60000, 100);
	stage_end();
}

static void
test_asking_for_it_opens_at_once(void)
{
	static const HyExecution wishes[] = {HY_EXECUTION_GPU, HY_EXECUTION_NAMED,
	                                     HY_EXECUTION_PREFER_GPU};
	HyDecision decision;
	size_t i;

	for (i = 0; i < 3; i++)
	{
		stage_begin(1);
		stage.executor->member[1].info.open_cost_ns = 1000000000;
		stage.config.execution = wishes[i];
		strcpy(stage.config.backend_name, "scripted");
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		stage_expect(decision, 1, HY_REASON_USER);
		CHECK_INT(stage.opens, 1);
		stage_end();
	}
}

static void
test_cost_with_hysteresis(void)
{
	HyTask task;
	HyShape shape;

	stage_begin(1);
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK); /* opens it */
	hy_executor_reset(stage.executor);
	task = stage_task(1024);
	shape = hy_task_shape(&task);
	stage.config.speedup_threshold = 1.5;

	stage_teach_one(1024, 14900, 10000);
	stage_expect(stage_decided(1024), 0, HY_REASON_COST); /* 1.49 does not enter */
	hy_route_note(stage.executor, hy_shape_class(&shape), 1, HY_REASON_COST, true);
	stage_expect(stage_decided(1024), 0, HY_REASON_COST); /* nor does a try that ended on the CPU */
	hy_tracker_reset(stage.executor->tracker);
	stage_teach_one(1024, 15010, 10000);
	stage_expect(stage_decided(1024), 1, HY_REASON_COST); /* 1.501 does */
	hy_route_note(stage.executor, hy_shape_class(&shape), 1, HY_REASON_COST, false);
	hy_tracker_reset(stage.executor->tracker);
	stage_teach_one(1024, 10010, 10000);
	stage_expect(stage_decided(1024), 1, HY_REASON_COST); /* 1.001 does not leave */
	hy_tracker_reset(stage.executor->tracker);
	stage_teach_one(1024, 9990, 10000);
	stage_expect(stage_decided(1024), 0, HY_REASON_COST); /* below 1 does */
	hy_route_note(stage.executor, hy_shape_class(&shape), 0, HY_REASON_COST, false);
	hy_tracker_reset(stage.executor->tracker);
	stage_teach_one(1024, 14900, 10000);
	stage_expect(stage_decided(1024), 0, HY_REASON_COST); /* and 1.49 does not come back */
	stage_end();
}

static void
test_first_able_device(void)
{
	HyDecision decision;

	stage_begin(2);
	CHECK_INT(hy_executor_devices(stage.executor), 3);
	CHECK_INT(stage_decided(1024).device, 1);
	stage.executor->member[1].latched = true;
	CHECK_INT(stage_decided(1024).device, 2);
	stage.executor->member[2].latched = true;
	stage_expect(stage_decided(1024), 0, HY_REASON_NO_DEVICE);
	/* the reason is that of the device that came furthest */
	stage.executor->member[1].latched = false;
	decision = stage_decided(8);
	stage_expect(decision, 0, HY_REASON_BELOW_MIN);
	stage_end();
}

static void
test_looking_changes_nothing(void)
{
	HyDecision a;
	HyDecision b;
	int i;

	stage_begin(1);
	for (i = 0; i < 100; i++)
	{
		a = stage_decided(1024);
		b = stage_decided(1024);
		CHECK(a.device == b.device && a.reason == b.reason);
	}
	CHECK_INT(stage.opens + stage.submits, 0);
	CHECK_INT(hy_executor_events(stage.executor), 0);
	CHECK_INT(hy_executor_counters(stage.executor, 0, HY_OP_DISTANCE)->calls, 0);
	CHECK_INT(stage.executor->routes[0].number, 0);
	CHECK(stage.executor->spent_ns == 0);
	stage_end();
}

static void
test_pieces(void)
{
	HyChoice choice;
	HyTask task;
	HyShape shape;

	stage_begin(1);
	stage.item_bytes = 10;
	stage.executor->member[1].info.memory_free = 12800; /* 80%: 10,240 */
	task = stage_task(5000);
	shape = hy_task_shape(&task);
	stage.executor->cuts = false;
	hy_decide(stage.executor, &shape, task.numeric_class, stage.clock.time, &choice);
	CHECK_INT(choice.reason, HY_REASON_MEMORY);
	stage.executor->cuts = true;
	hy_decide(stage.executor, &shape, task.numeric_class, stage.clock.time, &choice);
	CHECK_INT(choice.device, 1);
	CHECK(choice.chunked);
	CHECK_INT(choice.bytes_required, 50000);
	CHECK_INT(choice.bytes_available, 10240);
	task = stage_task(1000);
	shape = hy_task_shape(&task);
	hy_decide(stage.executor, &shape, task.numeric_class, stage.clock.time, &choice);
	CHECK_INT(choice.device, 1);
	CHECK(!choice.chunked);
	/* not even the smallest fits */
	stage.executor->member[1].info.memory_free = 10;
	hy_decide(stage.executor, &shape, task.numeric_class, stage.clock.time, &choice);
	CHECK_INT(choice.reason, HY_REASON_MEMORY);
	CHECK_INT(choice.device, 0);
	stage_end();
}

static void
test_split(void)
{
	HyChoice choice;
	HyTask task;
	HyShape shape;
	int i;

	stage_begin(1);
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK); /* opens it */
	hy_executor_reset(stage.executor);
	stage.executor->cuts = true;
	/* both take 100 ns an item, the device after 20 us */
	for (i = 0; i < 60; i++)
	{
		task = stage_task(INT64_C(64) << (i % 12));
		shape = hy_task_shape(&task);
		hy_tracker_record(stage.executor->tracker, &shape, 0, (uint64_t) (100 * shape.targets));
		hy_tracker_record(stage.executor->tracker, &shape, 1,
		                  (uint64_t) (20000 + 100 * shape.targets));
	}
	task = stage_task(100000);
	shape = hy_task_shape(&task);
	hy_executor_configure(stage.executor, &stage.config);
	hy_decide(stage.executor, &shape, task.numeric_class, stage.clock.time, &choice);
	CHECK(choice.split);
	CHECK_NEAR(choice.share, 0.5, 0.03);
	CHECK_NEAR(choice.split_ns / 5e6, 1, 0.05);
	/* a device ten times as fast leaves too little to win */
	for (i = 0; i < 400; i++)
		hy_tracker_record(stage.executor->tracker, &shape, 1, 500000);
	hy_decide(stage.executor, &shape, task.numeric_class, stage.clock.time, &choice);
	CHECK(!choice.split);
	/* even where it is asked for, unless the user knows by how much */
	stage.config.execution = HY_EXECUTION_SPLIT;
	hy_executor_configure(stage.executor, &stage.config);
	hy_decide(stage.executor, &shape, task.numeric_class, stage.clock.time, &choice);
	CHECK(!choice.split);
	CHECK_INT(choice.device, 1);
	CHECK_INT(choice.reason, HY_REASON_COST);
	stage.config.split_percent = 25;
	hy_executor_configure(stage.executor, &stage.config);
	hy_decide(stage.executor, &shape, task.numeric_class, stage.clock.time, &choice);
	CHECK(choice.split);
	CHECK_NEAR(choice.share, 0.25, 1e-9);
	/* asked for, what it wins may be less than automatic wants, but not next to nothing */
	for (i = 0; i < 400; i++)
		hy_tracker_record(stage.executor->tracker, &shape, 1, 900000);
	stage.config.split_percent = -1;
	hy_executor_configure(stage.executor, &stage.config);
	hy_decide(stage.executor, &shape, task.numeric_class, stage.clock.time, &choice);
	CHECK(choice.split_ns < choice.device_ns && choice.split_ns > 0.95 * choice.device_ns);
	CHECK(!choice.split);
	for (i = 0; i < 400; i++)
		hy_tracker_record(stage.executor->tracker, &shape, 1, 1400000);
	hy_decide(stage.executor, &shape, task.numeric_class, stage.clock.time, &choice);
	CHECK(choice.split);
	CHECK(choice.split_ns < choice.device_ns && choice.split_ns > 0.9 * choice.device_ns);
	CHECK(choice.share > 0.7);
	stage.config.execution = HY_EXECUTION_AUTO;
	hy_executor_configure(stage.executor, &stage.config);
	hy_decide(stage.executor, &shape, task.numeric_class, stage.clock.time, &choice);
	CHECK(!choice.split);
	/* what is small is not worth it */
	task = stage_task(1024);
	shape = hy_task_shape(&task);
	hy_decide(stage.executor, &shape, task.numeric_class, stage.clock.time, &choice);
	CHECK(!choice.split);
	/* and where nobody can cut, nothing is split */
	stage.config.execution = HY_EXECUTION_SPLIT;
	hy_executor_configure(stage.executor, &stage.config);
	stage.executor->cuts = false;
	hy_decide(stage.executor, &shape, task.numeric_class, stage.clock.time, &choice);
	CHECK(!choice.split);
	stage_end();
}

static HyCaps
caps_of_nothing(const HyDevice *device, const HyShape *shape)
{
	(void) device;
	(void) shape;
	return (HyCaps){.ok = false};
}

/*
 * After a missed turn a user who prefers the device is sent to the CPU, but only if the CPU can run
 * the task.
 */
static void
test_a_missed_turn_needs_a_cpu_to_go_to(void)
{
	stage_begin(1);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	hy_executor_configure(stage.executor, &stage.config);
	stage_expect(stage_decided(1024), 1, HY_REASON_USER);
	hy_turn_missed(stage.executor, &stage.executor->member[1], 50000000);
	stage_expect(stage_decided(1024), 0, HY_REASON_COST);
	stage_cpu.caps = caps_of_nothing;
	stage_expect(stage_decided(1024), 1, HY_REASON_USER);
	stage_end();
}

/* A split does not open a device whose open cost has not been paid. */
static void
test_a_split_opens_nothing(void)
{
	HyChoice choice;

	stage_begin(1);
	stage.executor->cuts = true;
	stage.executor->member[1].info.open_cost_ns = 1000000000;
	stage.device_item_ns = 100;
	stage_teach(stage.executor, 1);
	choice = stage_chosen(100000);
	CHECK_INT(choice.reason, HY_REASON_NOT_OPEN);
	CHECK_INT(choice.candidate, 1);
	CHECK(!choice.split);
	stage.executor->member[1].open_credit_ns = 1e9;
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	stage.config.execution = HY_EXECUTION_GPU;
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	CHECK_INT(stage.opens, 1);
	stage.config.execution = HY_EXECUTION_AUTO;
	CHECK(stage_chosen(100000).split);
	stage_end();
}

int
main(void)
{
	UNIT_RUN(test_user_wants_the_cpu);
	UNIT_RUN(test_no_device);
	UNIT_RUN(test_unsupported);
	UNIT_RUN(test_largest_k);
	UNIT_RUN(test_below_minimum);
	UNIT_RUN(test_breaker_open);
	UNIT_RUN(test_memory);
	UNIT_RUN(test_free_memory_of_an_open_device);
	UNIT_RUN(test_ski_rental);
	UNIT_RUN(test_rent_is_what_would_have_been_saved);
	UNIT_RUN(test_rent_goes_to_the_best);
	UNIT_RUN(test_asking_for_it_opens_at_once);
	UNIT_RUN(test_cost_with_hysteresis);
	UNIT_RUN(test_first_able_device);
	UNIT_RUN(test_looking_changes_nothing);
	UNIT_RUN(test_pieces);
	UNIT_RUN(test_split);
	UNIT_RUN(test_a_missed_turn_needs_a_cpu_to_go_to);
	UNIT_RUN(test_a_split_opens_nothing);
	return unit_finish();
}
