/*
 * seeds_test.c
 *		A test of the same name for each test in the documents this project started from.
 *
 * They describe one idea in other languages.  Where ours differs on purpose, the test says so.
 */
#include "dispatch_stage.h"

#include "dispatch/tools/words.h"

/*
 * 32 items stay on the CPU, and 1,024 go to the device if there is one.  Theirs assumes that the
 * GPU is ready.  Here a context has an open cost, so the second half holds once it is open (ski
 * rental opens it).  It also needs no history, which theirs, read to the letter, did.
 */
static void
test_dispatch_decision_logic(void)
{
	HyDecision decision;

	stage_begin(1);
	stage.config.min_batch[HY_OP_DISTANCE] = 64;
	stage.config.speedup_threshold = 1.5;
	CHECK_INT(stage_dispatch(32, &decision), HY_OK);
	CHECK_INT(decision.device, 0);
	CHECK_INT(decision.reason, HY_REASON_BELOW_MIN);
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	stage_end();

	stage_begin(1);
	stage.executor->member[1].info.open_cost_ns = 1000000000;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.device, 0);
	CHECK_INT(decision.reason, HY_REASON_NOT_OPEN);
	stage_end();

	stage_begin(0);
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.device, 0);
	stage_end();
}

/*
 * The device runs out of memory, the CPU returns all 1,000 answers, and the failure is counted.
 * Running out of memory is counted but does not affect the breaker, which is for devices that do
 * not work.
 */
static void
test_gpu_failure_fallback(void)
{
	HyDecision decision;
	const HyCounters *counters;

	stage_begin(1);
	stage.always_fail = true;
	stage.script[0] = HY_NOMEM;
	CHECK_INT(stage_dispatch(1000, &decision), HY_OK); /* compares every answer */
	CHECK(decision.fallback);
	CHECK_INT(decision.items, 1000);
	counters = hy_executor_counters(stage.executor, 1, HY_OP_DISTANCE);
	CHECK(counters->failures > 0);
	CHECK_INT(counters->by_status[HY_NOMEM], counters->failures); /* smaller pieces were tried */
	CHECK(hy_breaker_rate(&stage.executor->member[1].breakers[HY_OP_DISTANCE]) == 1.0);
	stage_end();
}

/*
 * 100 us against 20 us is a speedup of 5, and the success rate is 1 while nothing has failed.
 * Theirs keeps one mean per operation.  Here it is a regression per kind of task with means per
 * size, because a mean over all batch sizes compares nothing.
 */
static void
test_performance_tracking(void)
{
	HyTracker *tracker = hy_tracker_create(&hy_malloc_allocator, 100);
	HyShape shape = {.op = HY_OP_DISTANCE,
	                 .metric = HY_METRIC_COSINE,
	                 .dims = 768,
	                 .queries = 1,
	                 .targets = 1000};
	HyBreaker breaker;
	int i;

	hy_tracker_record(tracker, &shape, 0, 100000);
	hy_tracker_record(tracker, &shape, 1, 20000);
	CHECK_NEAR(hy_tracker_speedup(tracker, &shape, 1), 5.0, 1e-6);
	for (i = 0; i < 150; i++)
	{
		hy_tracker_record(tracker, &shape, 0, 100000);
		hy_tracker_record(tracker, &shape, 1, 20000);
	}
	CHECK_NEAR(hy_tracker_speedup(tracker, &shape, 1), 5.0, 0.01);
	CHECK_INT(hy_tracker_forecast(tracker, &shape, 1).samples, 100); /* the window */
	hy_tracker_destroy(tracker);
	hy_breaker_init(&breaker);
	CHECK_NEAR(hy_breaker_rate(&breaker), 1.0, 1e-12);
	hy_breaker_record(&breaker, 0, true, 0.95);
	CHECK_NEAR(hy_breaker_rate(&breaker), 1.0, 1e-12);
}

/*
 * 1,000 cosine distances in 768 dims through the dispatcher equal those of the direct call: not
 * within 1e-6 as in theirs, but with the same bits, on either side.
 */
static void
test_api_compatibility(void)
{
	static float vectors[1001 * 768];
	static double direct[1000];
	static double hybrid[1000];
	UnitRandom random = {1};
	HyTask task = {.op = HY_OP_DISTANCE};
	int i;

	stage_begin(1);
	task.allocator = &stage.memory.allocator;
	for (i = 0; i < 1001 * 768; i++)
		vectors[i] = unit_random_float(&random);
	task.u.distance.metric = HY_METRIC_COSINE;
	task.u.distance.queries =
		(HyMatrix){.dims = 768, .rows = 1, .stride = 768 * 4, .data = vectors};
	task.u.distance.targets =
		(HyMatrix){.dims = 768, .rows = 1000, .stride = 768 * 4, .data = vectors + 768};
	task.u.distance.out = hybrid;
	hy_distance_matrix(HY_METRIC_COSINE, &task.u.distance.queries, &task.u.distance.targets, direct,
	                   NULL);
	for (i = 0; i < 8; i++)
	{
		memset(hybrid, 0, sizeof(hybrid));
		CHECK_INT(hy_dispatch(stage.executor, &task, NULL), HY_OK);
		CHECK_INT(memcmp(hybrid, direct, sizeof(direct)), 0);
	}
	CHECK(hy_executor_counters(stage.executor, 0, HY_OP_DISTANCE)->calls > 0);
	CHECK(hy_executor_counters(stage.executor, 1, HY_OP_DISTANCE)->calls > 0);
	stage_end();
}

/* The hardware: cores, instruction set, and whether there is a device. */
static void
test_hardware_detection(void)
{
	HyDeviceState state;

	stage_begin(1);
	CHECK_INT(hy_executor_devices(stage.executor), 2);
	hy_executor_device(stage.executor, 0, &state);
	CHECK_STR(state.backend, "cpu");
	CHECK(state.info.cores > 0);
	CHECK(state.info.memory_total > 0);
	CHECK_STR(state.info.architecture, hy_simd_name(hy_simd_best()));
	hy_executor_device(stage.executor, 1, &state);
	CHECK_STR(state.info.name, "scripted device");
	CHECK(state.info.memory_total > 0 && !state.open && state.why == NULL);
	stage_end();
}

/* A workload is known from its task: items and bytes follow from it, and need not be estimated. */
static void
test_workload_profile(void)
{
	HyTask task;
	HyShape shape;
	HyDecision decision;

	stage_begin(1);
	task = stage_task(1000);
	shape = hy_task_shape(&task);
	CHECK_INT(hy_shape_items(&shape), 1000);
	decision = stage_explain(&task);
	CHECK_INT(decision.items, 1000);
	CHECK_INT(decision.bytes_required, 8000);
	stage_end();
}

static void
test_cpu_only_execution(void)
{
	HyDecision decision;
	int i;

	stage_begin(1);
	stage.config.execution = HY_EXECUTION_CPU;
	for (i = 0; i < 10; i++)
	{
		CHECK_INT(stage_dispatch(5, &decision), HY_OK);
		CHECK_INT(decision.device, 0);
		CHECK(!decision.fallback);
	}
	CHECK_INT(stage.opens, 0);
	stage_end();
}

/*
 * The device fails and the CPU answers.  With execution = gpu theirs falls back as well.  Here a
 * user who forces a device is told that it failed (prefer_gpu is the mode that falls back).
 */
static void
test_gpu_fallback_to_cpu(void)
{
	HyDecision decision;

	stage_begin(1);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.always_fail = true;
	stage.script[0] = HY_TRANSIENT;
	CHECK_INT(stage_dispatch(5, &decision), HY_OK);
	CHECK(decision.fallback);
	CHECK_INT(decision.status, HY_TRANSIENT);
	stage.config.execution = HY_EXECUTION_GPU;
	CHECK_INT(stage_dispatch(5, &decision), HY_TRANSIENT);
	CHECK(!decision.fallback);
	stage_end();
}

/*
 * Small tasks to the CPU, large ones to the device: by history, once each side has been observed.
 */
static void
test_strategy_auto_selection(void)
{
	HyDecision decision;
	int i;

	stage_begin(1);
	for (i = 0; i < 30; i++)
		CHECK_INT(stage_dispatch(i % 2 ? 5 : 10000, &decision), HY_OK);
	CHECK_INT(stage_dispatch(5, &decision), HY_OK);
	CHECK_INT(decision.device, 0);
	CHECK_INT(decision.reason, HY_REASON_BELOW_MIN);
	CHECK_INT(stage_dispatch(10000, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	CHECK_INT(decision.reason, HY_REASON_COST);
	stage_end();
}

/*
 * GpuPreferred, CpuPreferred, Automatic, BackendOnly('cpu'): here they are not only constructed but
 * have an effect.
 */
static void
test_execution_strategy_variants(void)
{
	static const struct
	{
		HyExecution execution;
		const char *backend;
		const char *name;
		int32_t device;
	} variants[] = {{HY_EXECUTION_PREFER_GPU, "", "prefer_gpu", 1},
	                {HY_EXECUTION_PREFER_CPU, "", "prefer_cpu", 0},
	                {HY_EXECUTION_AUTO, "", "auto", 1},
	                {HY_EXECUTION_NAMED, "cpu", "named", 0},
	                {HY_EXECUTION_NAMED, "scripted", "named", 1}};
	size_t i;

	for (i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
	{
		HyDecision decision;

		stage_begin(1);
		stage.config.execution = variants[i].execution;
		strcpy(stage.config.backend_name, variants[i].backend);
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		CHECK_INT(decision.device, variants[i].device);
		CHECK_STR(hy_execution_name(decision.execution), variants[i].name);
		stage_end();
	}
}

static void
test_scheduler_creation(void)
{
	int32_t device;
	int op;

	stage_begin(1);
	for (device = 0; device < hy_executor_devices(stage.executor); device++)
	{
		for (op = 0; op < HY_OP_COUNT; op++)
		{
			const HyCounters *c = hy_executor_counters(stage.executor, device, (HyOp) op);

			CHECK(c->calls == 0 && c->items == 0 && c->failures == 0 && c->fallbacks == 0);
		}
	}
	CHECK_INT(hy_executor_events(stage.executor), 0);
	stage_end();
}

/* One event per execution; theirs grows without bound, ours is a ring. */
static void
test_telemetry_tracking(void)
{
	const HyDecision *event;

	stage_begin(1);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.always_fail = true;
	stage.script[0] = HY_BUSY;
	CHECK_INT(stage_dispatch(1000, NULL), HY_OK);
	CHECK_INT(hy_executor_events(stage.executor), 1);
	event = hy_executor_event(stage.executor, 0);
	CHECK(event->fallback);
	CHECK_INT(event->shape.op, HY_OP_DISTANCE);
	CHECK_INT(event->actual_ns, 100000); /* 100 us */
	stage_end();
}

int
main(void)
{
	UNIT_RUN(test_dispatch_decision_logic);
	UNIT_RUN(test_gpu_failure_fallback);
	UNIT_RUN(test_performance_tracking);
	UNIT_RUN(test_api_compatibility);
	UNIT_RUN(test_hardware_detection);
	UNIT_RUN(test_workload_profile);
	UNIT_RUN(test_cpu_only_execution);
	UNIT_RUN(test_gpu_fallback_to_cpu);
	UNIT_RUN(test_strategy_auto_selection);
	UNIT_RUN(test_execution_strategy_variants);
	UNIT_RUN(test_scheduler_creation);
	UNIT_RUN(test_telemetry_tracking);
	return unit_finish();
}
