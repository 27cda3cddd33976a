/*
 * dispatcher_test.c
 *		hy_dispatch: the consequence of each failure of a device, and what is counted.
 */
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dispatch_stage.h"

static const HyStatus failures[] = {HY_UNSUPPORTED,  HY_NOMEM,       HY_QUOTA,     HY_BUSY,
                                    HY_TRANSIENT,    HY_TIMEOUT,     HY_CANCELLED, HY_CONTEXT_LOST,
                                    HY_PROCESS_LOST, HY_DEVICE_GONE, HY_INVALID,   HY_BUG};

#define FAILURES ((int) (sizeof(failures) / sizeof(failures[0])))

static void
test_each_failure_in_each_mode(void)
{
	static const HyExecution modes[] = {HY_EXECUTION_AUTO, HY_EXECUTION_PREFER_CPU,
	                                    HY_EXECUTION_PREFER_GPU, HY_EXECUTION_GPU,
	                                    HY_EXECUTION_NAMED};
	int f;
	int m;
	int in_poll;

	for (f = 0; f < FAILURES; f++)
	{
		for (m = 0; m < 5; m++)
		{
			for (in_poll = 0; in_poll <= 1; in_poll++)
			{
				bool forced = modes[m] == HY_EXECUTION_GPU || modes[m] == HY_EXECUTION_NAMED;
				HyDecision decision;
				HyStatus st;

				stage_begin(1);
				stage.config.execution = modes[m];
				strcpy(stage.config.backend_name, "scripted");
				stage.always_fail = true;
				stage.fail_in_poll = in_poll != 0;
				stage.script[0] = failures[f];
				st = stage_dispatch(1024, &decision);
				if (modes[m] == HY_EXECUTION_PREFER_CPU)
				{
					CHECK_INT(st, HY_OK);
					CHECK_INT(stage.submits, 0);
				}
				else if (forced)
				{
					/* a cancel that nobody asked for is the backend's mistake */
					CHECK_INT(st, failures[f] == HY_CANCELLED ? HY_BUG : failures[f]);
					CHECK(!decision.fallback);
					CHECK_INT(stage_counters(0)->calls, 0);
				}
				else
				{
					CHECK_INT(st, HY_OK);
					CHECK(decision.fallback);
					CHECK_INT(decision.device, 1);
					CHECK_INT(decision.status, failures[f] == HY_CANCELLED ? HY_BUG : failures[f]);
					CHECK_INT(stage_counters(1)->fallbacks, 1);
					CHECK_INT(stage_counters(0)->calls, 1);
				}
				if (modes[m] != HY_EXECUTION_PREFER_CPU)
				{
					CHECK_STR(decision.failure.text, "as the script says");
					CHECK_INT(decision.failure.native_code, 77);
				}
				stage_adds_up();
				stage_end();
				CHECK_INT(stage.opens, stage.closes);
			}
		}
	}
}

static void
test_what_counts_against_a_device(void)
{
	int f;

	for (f = 0; f < FAILURES; f++)
	{
		bool counts = failures[f] == HY_TRANSIENT || failures[f] == HY_TIMEOUT ||
		              failures[f] == HY_CANCELLED || failures[f] == HY_CONTEXT_LOST ||
		              failures[f] == HY_INVALID || failures[f] == HY_BUG;

		stage_begin(1);
		stage.always_fail = true;
		stage.script[0] = failures[f];
		CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
		CHECK_INT(stage_breaker()->count, !counts ? 0 : failures[f] == HY_CONTEXT_LOST ? 2 : 1);
		/* a failure never trains the tracker; the CPU's rerun does */
		CHECK(stage_counters(1)->calls == 0);
		{
			HyTask task = stage_task(1024);
			HyShape shape = hy_task_shape(&task);

			CHECK(hy_tracker_predict(hy_executor_tracker(stage.executor), &shape, 1) < 0);
			CHECK_NEAR(hy_tracker_predict(hy_executor_tracker(stage.executor), &shape, 0), 102400,
			           1);
		}
		stage_end();
	}
}

static void
test_cancelled_on_the_cpu(void)
{
	HyDecision decision;

	stage_begin(0);
	unit_cancel_init(&stage.cancel, 1);
	CHECK_INT(stage_dispatch(200000, &decision), HY_CANCELLED);
	CHECK_INT(decision.status, HY_CANCELLED);
	CHECK(!decision.fallback);
	stage_adds_up();
	stage_end();
}

static void
test_tasks_that_contradict_themselves(void)
{
	HyTask task;
	HyDecision decision;
	int32_t devices;

	for (devices = 0; devices < 2; devices++)
	{
		stage_begin(devices);
		task = stage_task(100);
		task.u.distance.targets.dims = 8;
		CHECK_INT(hy_dispatch(stage.executor, &task, &decision), HY_INVALID);
		CHECK_INT(decision.status, HY_INVALID);
		/* no side was asked, so no side has failed */
		CHECK_INT(decision.device, HY_NOWHERE);
		CHECK_INT(stage_counters(0)->failures, 0);
		stage_adds_up();
		stage_end();
	}

	stage_begin(1);
	task = stage_task(100);
	task.u.distance.targets.data = NULL;
	CHECK_INT(hy_dispatch(stage.executor, &task, &decision), HY_INVALID);
	task.u.distance.targets.buffer = (HyBuffer *) &stage; /* whose it is cannot be known */
	CHECK_INT(hy_dispatch(stage.executor, &task, &decision), HY_INVALID);
	task = stage_task(100);
	memset(&task.u, 0, sizeof(task.u));
	task.op = HY_OP_SCORE_CODES; /* without a list, without a query, for none of the best */
	CHECK_INT(hy_dispatch(stage.executor, &task, &decision), HY_INVALID);
	CHECK_INT(stage.submits, 0);
	stage_end();
}

static void
test_virtual_time(void)
{
	HyDecision decision;
	uint64_t before;

	stage_begin(0);
	stage.virtual_time = true;
	stage.devices = 1;
	CHECK_INT(hy_executor_add_backend(stage.executor, &stage_backend), HY_OK);
	before = stage.clock.time;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(stage.clock.time, before + 21024);
	CHECK_INT(stage.clock.waits, 0); /* skipped */
	CHECK(decision.virtual_time);
	CHECK_INT(decision.actual_ns, 21024);
	CHECK_INT(stage_counters(1)->total_ns, 21024);
	stage.scripted = 0;
	stage.script[0] = HY_TRANSIENT; /* what the CPU took is real time, and marked all the same */
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(decision.virtual_time);
	CHECK_INT(decision.actual_ns, 102400);
	stage.config.execution = HY_EXECUTION_CPU;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(!decision.virtual_time);
	stage_end();
}

static void
test_fork_is_refused(void)
{
	HyDecision decision;
	pid_t child;
	int status = -1;

	stage_begin(1);
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	child = fork();
	if (child == 0)
	{
		bool good = stage_dispatch(1024, &decision) == HY_OK && decision.device == 0 &&
		            decision.reason == HY_REASON_NO_DEVICE && stage.submits == 1 &&
		            stage_logged("forked") == 1;

		good = good && stage_dispatch(1024, &decision) == HY_OK && stage_logged("forked") == 1;
		stage.config.execution = HY_EXECUTION_GPU;
		good = good && stage_dispatch(1024, &decision) == HY_UNSUPPORTED &&
		       decision.reason == HY_REASON_NO_DEVICE;
		hy_executor_destroy(stage.executor);
		good = good && stage.closes == 0 && stage.memory.outstanding == 0;
		_exit(good && unit_failed_checks == 0 ? 0 : 1);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_INT(status, 0);
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(stage.closes, 0);
	stage_end();
	CHECK_INT(stage.closes, 1);
}

static void
test_short_of_memory_at_every_step(void)
{
	int64_t fail_at;

	for (fail_at = 1; fail_at <= 12; fail_at++)
	{
		HyStatus st;
		int i;

		memset(&stage, 0, sizeof(stage));
		stage_begin(1);
		hy_executor_destroy(stage.executor);
		CHECK_INT(stage.memory.outstanding, 0);
		unit_memory_init(&stage.memory, fail_at);
		stage.memory.keep_failing = true;
		st = hy_executor_create(&stage.memory.allocator, &stage.clock.clock, NULL, &stage.executor);
		CHECK_INT(st, fail_at <= 2 ? HY_NOMEM : HY_OK);
		if (st == HY_OK)
		{
			stage.executor->member[0].backend = &stage_cpu;
			CHECK_INT(hy_executor_add_backend(stage.executor, &stage_backend), HY_OK);
			for (i = 0; i < 40; i++)
			{
				stage.config.window = i < 20 ? 10 : 30;
				CHECK_INT(stage_dispatch(i % 2 ? 1024 : 4096, NULL), HY_OK);
			}
		}
		else
			CHECK(stage.executor == NULL);
		stage_end();
	}
}

/* A job in pieces for which host memory runs out, for a user who insists on the device. */
static void
test_no_memory_for_pieces_that_must_be(void)
{
	HyDecision decision;
	HyTask task;

	stage_begin(1);
	stage_teach(stage.executor, 1);
	stage.config.execution = HY_EXECUTION_GPU;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	stage.free_bytes = 800000;
	stage.clock.time += 1000000000;
	stage.memory.fail_at = stage.memory.calls + 1;
	stage.memory.keep_failing = true;
	task = stage_task(409600);
	CHECK_INT(hy_dispatch(stage.executor, &task, &decision), HY_NOMEM);
	CHECK_INT(decision.status, HY_NOMEM);
	CHECK_INT(decision.device, 1);
	CHECK(decision.actual_ns < 1000000);
	CHECK(stage.executor->spent_ns < 1e9);
	CHECK_INT(stage_counters(1)->by_status[HY_NOMEM], 1);
	CHECK_INT(stage_counters(1)->fallbacks, 0);
	stage_adds_up();
	stage_end();
}

static int cpu_refusals;

static HyStatus
refusing_submit(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	if (cpu_refusals > 0)
	{
		cpu_refusals--;
		return HY_NOMEM;
	}
	return stage_cpu_submit(device, task, ticket);
}

/*
 * The device fails at one piece, then the CPU at another: this is one call that fell back and
 * failed.
 */
static void
test_a_job_falls_back_once(void)
{
	HyDecision decision;

	stage_begin(1);
	stage_teach(stage.executor, 1);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	stage_cpu.submit = refusing_submit;
	stage.free_bytes = 800000;
	stage.clock.time += 1000000000;
	stage.script[stage.scripted = 0] = HY_TRANSIENT;
	cpu_refusals = 1;
	CHECK_INT(stage_dispatch(409600, &decision), HY_NOMEM);
	CHECK(decision.fallback);
	CHECK_INT(cpu_refusals, 0);
	CHECK_INT(stage_counters(1)->fallbacks, 1);
	stage_adds_up();
	stage_end();
}

static void
test_nothing_is_allocated_in_a_call(void)
{
	int64_t calls;
	int i;

	stage_begin(1);
	for (i = 0; i < 20; i++)
		CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	calls = stage.memory.calls;
	for (i = 0; i < 500; i++)
		CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	CHECK_INT(stage.memory.calls, calls);
	stage_end();
}

static void
says_nothing(const HyDevice *device, HyFailure *failure)
{
	(void) device;
	memset(failure, 0, sizeof(*failure));
}

static void
test_backends_that_do_not_fit(void)
{
	HyBackend wrong = stage_backend;
	HyDeviceState state;

	stage_begin(0);
	wrong.abi = HY_BACKEND_ABI + 1;
	CHECK_INT(hy_executor_add_backend(stage.executor, &wrong), HY_INVALID);
	wrong = stage_backend;
	wrong.size -= 8;
	CHECK_INT(hy_executor_add_backend(stage.executor, &wrong), HY_INVALID);
	CHECK_INT(hy_executor_devices(stage.executor), 1);
	CHECK_INT(hy_executor_add_backend(stage.executor, &stage_backend), HY_OK); /* of no devices */
	CHECK_INT(hy_executor_devices(stage.executor), 2);
	hy_executor_device(stage.executor, 1, &state);
	CHECK(state.latched);
	CHECK_STR(state.why, "as the script says");
	wrong = stage_backend;
	wrong.last_error = says_nothing;
	CHECK_INT(hy_executor_add_backend(stage.executor, &wrong), HY_OK);
	hy_executor_device(stage.executor, 2, &state);
	CHECK_STR(state.why, "it finds no device");
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	stage_end();
}

static HyStatus
absurd_probe(int32_t device, HyDeviceInfo *info)
{
	(void) device;
	memset(info, 0xff, sizeof(*info));
	info->virtual_time = true;                   /* any other bits would be no bool */
	memset(info->name, 'n', sizeof(info->name)); /* and no end of it */
	memset(info->architecture, '\t', sizeof(info->architecture) - 1);
	info->architecture[3] = '\0';
	return HY_OK;
}

static HyStatus
absurd_mem_info(HyDevice *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
	(void) device;
	*free_bytes = UINT64_MAX;
	*total_bytes = 1000000;
	return HY_OK;
}

static HyStatus
open_nothing(int32_t device, const HyLimits *limits, HyDevice **opened)
{
	(void) device;
	(void) limits;
	*opened = NULL;
	return HY_OK;
}

static HyStatus
open_out_of_range(int32_t device, const HyLimits *limits, HyDevice **opened)
{
	(void) device;
	(void) limits;
	*opened = NULL;
	return (HyStatus) 999;
}

static void
says_foreign_words(const HyDevice *device, HyFailure *failure)
{
	(void) device;
	memset(failure, 0xe9, sizeof(*failure));
}

static void
test_backends_that_talk_nonsense(void)
{
	HyBackend wrong = stage_backend;
	HyDeviceState state;
	HyDecision decision;
	int i;

	stage_begin(0);
	stage.devices = 1;
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	wrong.probe = absurd_probe;
	wrong.mem_info = absurd_mem_info;
	wrong.last_error = says_foreign_words;
	CHECK_INT(hy_executor_add_backend(stage.executor, &wrong), HY_OK);
	hy_executor_device(stage.executor, 1, &state);
	CHECK_INT(strlen(state.info.name), HY_NAME_LENGTH - 1);
	CHECK_STR(state.info.architecture, "???");
	CHECK_INT(state.info.cores, 0);
	CHECK_INT(state.info.memory_total, 0);
	CHECK_INT(state.info.memory_free, 0);
	stage.script[0] = HY_TRANSIENT;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(decision.fallback);
	CHECK_INT(strlen(decision.failure.text), HY_TEXT_LENGTH - 1);
	CHECK_INT(strspn(decision.failure.text, "?"), HY_TEXT_LENGTH - 1);
	hy_executor_device(stage.executor, 1, &state);
	CHECK(state.open);
	CHECK_INT(state.info.memory_total, 1000000);
	CHECK_INT(state.info.memory_free, 1000000);
	CHECK_INT(state.memory_used, 0);
	stage_adds_up();
	stage_end();

	for (i = 0; i <= 1; i++)
	{
		stage_begin(0);
		stage.devices = 1;
		stage.config.execution = HY_EXECUTION_PREFER_GPU;
		wrong = stage_backend;
		wrong.open = i == 0 ? open_nothing : open_out_of_range;
		CHECK_INT(hy_executor_add_backend(stage.executor, &wrong), HY_OK);
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		CHECK(decision.fallback);
		CHECK_INT(decision.status, HY_BUG);
		CHECK_INT(stage.submits, 0);
		CHECK_INT(stage_breaker()->count, 1);
		stage_adds_up();
		stage_end();
		CHECK_INT(stage.closes, 0);
	}
}

static void
test_random_failures_never_cost_an_answer(void)
{
	UnitRandom random = {4711};
	int i;

	stage_begin(1);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.config.success_threshold = 0; /* or the breaker would leave little to see */
	for (i = 0; i < 3000; i++)
	{
		HyDecision decision;
		static const HyStatus usual[] = {HY_OK,    HY_OK,        HY_OK,      HY_OK,
		                                 HY_NOMEM, HY_TRANSIENT, HY_TIMEOUT, HY_BUSY,
		                                 HY_OK,    HY_OK,        HY_OK,      HY_CONTEXT_LOST};

		stage.scripted = 0;
		stage.script[0] = usual[unit_random_below(&random, 12)];
		stage.script[1] = usual[unit_random_below(&random, 12)];
		stage.fail_in_poll = unit_random_below(&random, 2) != 0;
		stage.clock.time += unit_random_below(&random, 2000000000);
		CHECK_INT(stage_dispatch((int64_t) (64 << unit_random_below(&random, 6)), &decision),
		          HY_OK);
	}
	stage_adds_up();
	CHECK(stage_counters(1)->calls > 100);
	CHECK(stage_counters(1)->fallbacks > 100);
	stage_end();
}

/* known: both sides of a kind are known, but the device was not observed for this many calls. */
static void
known(int64_t rows, uint64_t cpu_ns, uint64_t device_ns, int unseen)
{
	HyTask task = stage_task(rows);
	HyShape shape = hy_task_shape(&task);

	stage_teach_one(rows, cpu_ns, device_ns);
	while (unseen-- > 0)
		hy_tracker_record(stage.executor->tracker, &shape, 0, cpu_ns);
}

/*
 * A trial that was faster has lost nothing, but does not compensate for another: earlier losses
 * remain.
 */
static void
test_a_trial_that_won_gives_no_credit(void)
{
	HyDecision decision;

	stage_begin(1);
	known(1024, 10000, 20000, 300);
	stage.device_launch_ns = 2000;
	stage.device_item_ns = 0;
	stage.executor->spent_ns = 1e15;
	stage.executor->regret_ns = 5000;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	stage_expect(decision, 1, HY_REASON_EXPLORATION);
	CHECK_INT(decision.actual_ns, 2000);
	CHECK(stage.executor->regret_ns == 5000);
	/* one that lost has */
	known(1024, 10000, 20000, 600);
	stage.device_launch_ns = 30000;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	stage_expect(decision, 1, HY_REASON_EXPLORATION);
	CHECK_NEAR(stage.executor->regret_ns, 25000, 1000);
	stage_end();
}

/* A canceled call ran nowhere, so the next one has no route to stay on. */
static void
test_a_call_that_failed_is_no_route(void)
{
	HyDecision decision;

	stage_begin(1);
	stage.config.speedup_threshold = 1.5;
	known(1024, 16000, 10000, 0);
	unit_cancel_init(&stage.cancel, 1);
	CHECK_INT(stage_dispatch(1024, &decision), HY_CANCELLED);
	stage_expect(decision, 1, HY_REASON_COST);
	unit_cancel_init(&stage.cancel, 0);
	hy_tracker_reset(stage.executor->tracker);
	known(1024, 14000, 10000, 0);
	stage_expect(stage_decided(1024), 0, HY_REASON_COST);
	stage_end();
}

/*
 * The time that a task waits for its turn depends on that task; the next task has the full time
 * again.
 */
static void
test_patience_ends_with_the_call(void)
{
	HyDecision decision;

	stage_begin(1);
	known(1024, 1000000, 10000, 0);
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	CHECK(stage.config.timeout_ns > 1000000);
	CHECK_INT(hy_turn_limit(stage.executor), stage.config.timeout_ns);
	stage_end();
}

int
main(void)
{
	UNIT_RUN(test_each_failure_in_each_mode);
	UNIT_RUN(test_what_counts_against_a_device);
	UNIT_RUN(test_cancelled_on_the_cpu);
	UNIT_RUN(test_tasks_that_contradict_themselves);
	UNIT_RUN(test_virtual_time);
	UNIT_RUN(test_fork_is_refused);
	UNIT_RUN(test_short_of_memory_at_every_step);
	UNIT_RUN(test_no_memory_for_pieces_that_must_be);
	UNIT_RUN(test_a_job_falls_back_once);
	UNIT_RUN(test_nothing_is_allocated_in_a_call);
	UNIT_RUN(test_backends_that_do_not_fit);
	UNIT_RUN(test_backends_that_talk_nonsense);
	UNIT_RUN(test_random_failures_never_cost_an_answer);
	UNIT_RUN(test_a_trial_that_won_gives_no_credit);
	UNIT_RUN(test_a_call_that_failed_is_no_route);
	UNIT_RUN(test_patience_ends_with_the_call);
	return unit_finish();
}
