/*
 * dispatcher_test.c
 *		hy_dispatch: what each failure of a device leads to, and what is counted.
 */
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dispatch_stage.h"

static const HyStatus failures[] = {HY_UNSUPPORTED,  HY_NOMEM,       HY_QUOTA,     HY_BUSY,
                                    HY_TRANSIENT,    HY_TIMEOUT,     HY_CANCELLED, HY_CONTEXT_LOST,
                                    HY_PROCESS_LOST, HY_DEVICE_GONE, HY_INVALID,   HY_BUG};

#define FAILURES ((int) (sizeof(failures) / sizeof(failures[0])))

static const HyCounters *
counters_of(int32_t device)
{
	return hy_executor_counters(stage.executor, device, HY_OP_DISTANCE);
}

static const HyBreaker *
breaker(void)
{
	return &stage.executor->member[1].breakers[HY_OP_DISTANCE];
}

/* adds_up: the counters agree with each other. */
static void
adds_up(void)
{
	const HyCounters *cpu = counters_of(0);
	int64_t fallbacks = 0;
	int64_t errors = 0;
	int32_t d;
	int i;

	for (d = 0; d < hy_executor_devices(stage.executor); d++)
	{
		const HyCounters *c = counters_of(d);
		int64_t sent = 0;
		int64_t failed = 0;
		int64_t timed = 0;

		for (i = 0; i < HY_REASON_COUNT; i++)
			sent += c->by_reason[i];
		for (i = 1; i < HY_STATUS_COUNT; i++)
			failed += c->by_status[i];
		for (i = 0; i < HY_MAX_LATENCIES; i++)
			timed += c->latency[i];
		CHECK_INT(c->failures, failed);
		CHECK_INT(c->calls, c->by_status[HY_OK]);
		CHECK_INT(c->calls, timed);
		if (d > 0)
		{
			fallbacks += c->fallbacks;
			errors = sent - c->calls - c->fallbacks;
			CHECK(errors >= 0);
		}
	}
	{
		int64_t sent = 0;

		for (i = 0; i < HY_REASON_COUNT; i++)
			sent += cpu->by_reason[i];
		CHECK_INT(cpu->calls + cpu->failures, sent + fallbacks);
		CHECK_INT(cpu->fallbacks, 0);
	}
}

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
					CHECK_INT(counters_of(0)->calls, 0);
				}
				else
				{
					CHECK_INT(st, HY_OK);
					CHECK(decision.fallback);
					CHECK_INT(decision.device, 1);
					CHECK_INT(decision.status, failures[f] == HY_CANCELLED ? HY_BUG : failures[f]);
					CHECK_INT(counters_of(1)->fallbacks, 1);
					CHECK_INT(counters_of(0)->calls, 1);
				}
				if (modes[m] != HY_EXECUTION_PREFER_CPU)
				{
					CHECK_STR(decision.failure.text, "as the script says");
					CHECK_INT(decision.failure.native_code, 77);
				}
				adds_up();
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
		CHECK_INT(breaker()->count, !counts ? 0 : failures[f] == HY_CONTEXT_LOST ? 2 : 1);
		/* a failure never trains the tracker; the CPU's rerun does */
		CHECK(counters_of(1)->calls == 0);
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
test_breaker_from_open_to_closed(void)
{
	HyDecision decision;
	int i;

	stage_begin(1);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.always_fail = true;
	stage.script[0] = HY_TRANSIENT;
	for (i = 0; i < 3; i++)
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(breaker()->state, HY_BREAKER_OPEN);
	CHECK_INT(stage_logged("left alone for 1000 ms"), 1);
	for (i = 0; i < 50; i++)
	{
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		CHECK_INT(decision.reason, HY_REASON_UNRELIABLE);
		CHECK_INT(decision.device, 0);
	}
	CHECK_INT(stage.submits, 3);
	stage.clock.time += HY_BREAKER_FIRST_NS;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK); /* one probe, which fails */
	CHECK(decision.fallback);
	CHECK_INT(stage.submits, 4);
	CHECK_INT(breaker()->state, HY_BREAKER_OPEN);
	CHECK_INT(stage_logged("left alone for 2000 ms"), 1);
	stage.clock.time += 2 * HY_BREAKER_FIRST_NS;
	stage.always_fail = false;
	stage.scripted = STAGE_SCRIPT;
	for (i = 0; i < 3; i++)
	{
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		CHECK(!decision.fallback);
	}
	CHECK_INT(breaker()->state, HY_BREAKER_CLOSED);
	CHECK_INT(stage_logged("is tried again for distance"), 2);
	CHECK_INT(stage_logged("is trusted again with distance"), 1);
	/* one line a transition, not one a call: opened, 2 x open, 2 x half-open, closed */
	CHECK_INT(stage.lines, 6);
	adds_up();
	stage_end();
}

static void
test_probe_reason_in_auto(void)
{
	HyDecision decision;
	int i;

	stage_begin(1);
	stage.always_fail = true;
	stage.script[0] = HY_TRANSIENT;
	for (i = 0; i < 3; i++)
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	stage.clock.time += HY_BREAKER_FIRST_NS;
	stage.always_fail = false;
	stage.scripted = STAGE_SCRIPT;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.reason, HY_REASON_PROBE);
	CHECK_INT(decision.device, 1);
	stage_end();
}

static void
test_out_of_memory_is_not_tried_again_at_once(void)
{
	HyDecision decision;
	int i;

	stage_begin(1);
	stage.always_fail = true;
	stage.script[0] = HY_NOMEM;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(decision.fallback);
	CHECK_INT(decision.status, HY_NOMEM);
	/* whole, then halves of it down to a 64th, then never more */
	CHECK_INT(stage.submits, 1 + 7);
	CHECK_INT(breaker()->count, 0);
	adds_up();
	stage.always_fail = false;
	stage.scripted = STAGE_SCRIPT;
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	CHECK(!decision.fallback && decision.pieces >= 64);
	CHECK(decision.bytes_available < 8192 / 64);
	CHECK_INT(stage.executor->member[1].cap_bytes, decision.bytes_available + 513);
	/* a little more every second, until it goes whole again */
	for (i = 0; i < 17; i++)
	{
		int32_t before = decision.pieces;

		stage.clock.time += 1000000000;
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		CHECK(decision.pieces <= before);
	}
	CHECK_INT(decision.pieces, 0);
	adds_up();
	stage_end();
}

/* a probe that says nothing of the device leaves the way open for the next */
static void
test_probe_that_runs_out_of_memory(void)
{
	HyDecision decision;
	int i;

	stage_begin(1);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.always_fail = true;
	stage.script[0] = HY_TRANSIENT;
	for (i = 0; i < 3; i++)
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	stage.clock.time += HY_BREAKER_FIRST_NS;
	stage.script[0] = HY_NOMEM;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(breaker()->state, HY_BREAKER_HALF_OPEN);
	stage.always_fail = false;
	stage.scripted = STAGE_SCRIPT;
	stage.clock.time += UINT64_C(20000000000); /* the cap has gone */
	CHECK_INT(stage_dispatch(512, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	CHECK_INT(breaker()->probes, 1);
	stage_end();
}

/* events are written in place, over what was there 257 calls ago */
static void
test_an_error_is_not_shown_again(void)
{
	HyDecision decision;
	int i;

	stage_begin(1);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.script[0] = HY_TRANSIENT;
	CHECK_INT(stage_dispatch(64, &decision), HY_OK);
	CHECK_STR(decision.failure.text, "as the script says");
	stage.config.force_cpu = true;
	for (i = 0; i < 2 * HY_EVENT_SLOTS; i++)
	{
		CHECK_INT(stage_dispatch(64, &decision), HY_OK);
		CHECK_STR(decision.failure.text, "");
		CHECK_INT(decision.failure.native_code, 0);
	}
	stage_end();
}

static void
test_lost_context_is_reopened_once(void)
{
	HyDecision decision;

	stage_begin(1);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.script[0] = HY_CONTEXT_LOST;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(!decision.fallback);
	CHECK_INT(decision.status, HY_CONTEXT_LOST); /* of the first attempt */
	CHECK_INT(stage.submits, 2);
	CHECK_INT(stage.opens, 2);
	CHECK_INT(stage.closes, 1);
	CHECK_INT(counters_of(1)->calls, 1);
	CHECK_INT(counters_of(1)->failures, 1);
	adds_up();

	stage.scripted = 0;
	stage.script[1] = HY_CONTEXT_LOST; /* twice: the CPU */
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(decision.fallback);
	CHECK_INT(stage.submits, 4);
	CHECK_INT(stage.opens, 3);
	adds_up();
	stage_end();
}

static void
test_process_lost_for_life(void)
{
	HyDecision decision;
	HyDeviceState state;
	int i;

	stage_begin(2);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	stage.scripted = 0;
	stage.script[0] = HY_PROCESS_LOST;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(decision.fallback);
	for (i = 0; i < 5; i++)
	{
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		CHECK_INT(decision.reason, HY_REASON_NO_DEVICE);
	}
	CHECK_INT(stage.submits, 2);
	CHECK_INT(stage_logged("not used again"), 1);
	for (i = 1; i <= 2; i++)
	{
		hy_executor_device(stage.executor, i, &state);
		CHECK(state.latched);
		CHECK_STR(state.why, "it lost this process its context");
	}
	CHECK_INT(stage.opens, stage.closes);
	hy_executor_reset(stage.executor); /* forgets history, not this */
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.reason, HY_REASON_NO_DEVICE);
	stage_end();
}

static void
test_one_device_gone(void)
{
	HyDecision decision;

	stage_begin(2);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.script[0] = HY_DEVICE_GONE;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(decision.fallback);
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.device, 2);
	CHECK_INT(stage_logged("not used again"), 1);
	adds_up();
	stage_end();
}

static void
test_open_that_fails(void)
{
	HyDecision decision;
	int i;

	stage_begin(1);
	stage.open_status = HY_BUSY;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(decision.fallback);
	CHECK_INT(decision.status, HY_BUSY);
	CHECK_INT(decision.failure.native_code, 78);
	for (i = 0; i < 10; i++)
	{
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		CHECK_INT(decision.reason, HY_REASON_NOT_OPEN);
	}
	CHECK_INT(stage.opens, 1);
	/* the second wait is twice as long */
	stage.clock.time += 1000000000;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK(decision.fallback);
	stage.clock.time += 1900000000;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.reason, HY_REASON_NOT_OPEN);
	CHECK_INT(stage.opens, 2);
	/* preferring the device does not shorten it, nor is there a line in the log for each call */
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	for (i = 0; i < 10; i++)
	{
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		CHECK_INT(decision.reason, HY_REASON_NOT_OPEN);
	}
	CHECK_INT(stage.opens, 2);
	CHECK_INT(stage_logged("could not be opened"), 1);
	stage.config.execution = HY_EXECUTION_GPU; /* insisting does */
	CHECK_INT(stage_dispatch(1024, &decision), HY_BUSY);
	CHECK_INT(stage.opens, 3);
	stage.config.execution = HY_EXECUTION_AUTO;
	stage.clock.time += UINT64_C(10000000000);
	stage.open_status = HY_OK;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.device, 1);
	CHECK(!decision.fallback);
	adds_up();
	stage_end();
}

/* A device that others hold says so at every try; the log says it once, and again after it was open. */
static void
test_open_that_fails_is_logged_once(void)
{
	const uint64_t longest_wait = UINT64_C(300000000000);
	HyDecision decision;
	int i;

	stage_begin(1);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.open_status = HY_BUSY;
	for (i = 0; i < 20; i++)
	{
		stage.clock.time += longest_wait;
		CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
		CHECK(decision.fallback);
	}
	CHECK_INT(stage.opens, 20);
	CHECK_INT(stage_logged("could not be opened: busy"), 1);
	stage.open_status = HY_TRANSIENT; /* another reason is another line */
	stage.clock.time += longest_wait;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(stage_logged("could not be opened: transient"), 1);
	stage.open_status = HY_OK;
	stage.clock.time += longest_wait;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(stage_logged("opened"), 3);
	hy_executor_close_devices(stage.executor);
	stage.open_status = HY_BUSY;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(stage_logged("could not be opened: busy"), 2);
	stage_end();
}

static void
test_new_memory_limit_reopens(void)
{
	stage_begin(1);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	stage.config.memory_limit = 1 << 20;
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	CHECK_INT(stage.opens, 2);
	CHECK_INT(stage.closes, 1);
	hy_executor_close_devices(stage.executor);
	CHECK_INT(stage.closes, 2);
	stage_end();
	CHECK_INT(stage.closes, 2);
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
	adds_up();
	stage_end();
}

static void
test_tasks_that_contradict_themselves(void)
{
	HyTask task;
	HyDecision decision;

	stage_begin(1);
	task = stage_task(100);
	task.u.distance.targets.dims = 8;
	CHECK_INT(hy_dispatch(stage.executor, &task, &decision), HY_INVALID);
	CHECK_INT(decision.status, HY_INVALID);
	task = stage_task(100);
	task.u.distance.targets.data = NULL;
	CHECK_INT(hy_dispatch(stage.executor, &task, &decision), HY_INVALID);
	task.u.distance.targets.buffer = (HyBuffer *) &stage; /* whose it is cannot be known */
	CHECK_INT(hy_dispatch(stage.executor, &task, &decision), HY_INVALID);
	task = stage_task(100);
	task.op = HY_OP_ASSIGN; /* no device, no CPU has it yet */
	stage.unsupported = true;
	CHECK_INT(hy_dispatch(stage.executor, &task, &decision), HY_UNSUPPORTED);
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
	CHECK_INT(counters_of(1)->total_ns, 21024);
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
test_too_many_devices(void)
{
	HyDeviceState state;

	stage_begin(5);
	CHECK_INT(hy_executor_add_backend(stage.executor, &stage_backend), HY_QUOTA);
	CHECK_INT(stage_logged("3 of 5 devices from scripted are left out"), 1);
	CHECK_INT(hy_executor_devices(stage.executor), HY_MAX_DEVICES);
	hy_executor_add_missing(stage.executor, "one more", "no room");
	CHECK_INT(hy_executor_devices(stage.executor), HY_MAX_DEVICES);
	hy_executor_device(stage.executor, 7, &state);
	CHECK_STR(state.backend, "scripted");
	CHECK_INT(state.number, 1);
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
	adds_up();
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
		CHECK_INT(breaker()->count, 1);
		adds_up();
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
	adds_up();
	CHECK(counters_of(1)->calls > 100);
	CHECK(counters_of(1)->fallbacks > 100);
	stage_end();
}

int
main(void)
{
	UNIT_RUN(test_each_failure_in_each_mode);
	UNIT_RUN(test_what_counts_against_a_device);
	UNIT_RUN(test_breaker_from_open_to_closed);
	UNIT_RUN(test_probe_reason_in_auto);
	UNIT_RUN(test_out_of_memory_is_not_tried_again_at_once);
	UNIT_RUN(test_probe_that_runs_out_of_memory);
	UNIT_RUN(test_an_error_is_not_shown_again);
	UNIT_RUN(test_lost_context_is_reopened_once);
	UNIT_RUN(test_process_lost_for_life);
	UNIT_RUN(test_one_device_gone);
	UNIT_RUN(test_open_that_fails);
	UNIT_RUN(test_open_that_fails_is_logged_once);
	UNIT_RUN(test_new_memory_limit_reopens);
	UNIT_RUN(test_cancelled_on_the_cpu);
	UNIT_RUN(test_tasks_that_contradict_themselves);
	UNIT_RUN(test_virtual_time);
	UNIT_RUN(test_fork_is_refused);
	UNIT_RUN(test_short_of_memory_at_every_step);
	UNIT_RUN(test_nothing_is_allocated_in_a_call);
	UNIT_RUN(test_too_many_devices);
	UNIT_RUN(test_backends_that_do_not_fit);
	UNIT_RUN(test_backends_that_talk_nonsense);
	UNIT_RUN(test_random_failures_never_cost_an_answer);
	return unit_finish();
}
