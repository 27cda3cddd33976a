/*
 * gauge_test.c
 *		The load is part of the estimate: tasks of others on a device, the memory that they
 *		leave, and the number of processes that want the CPU.
 *
 * Others are clients of the same queue, as other processes are in a server.
 */
#include "dispatch_stage.h"

static HyQueue queue;
static const HyQueueClient mine = {.queue = &queue, .id = 1, .role = 1};
static const HyQueueClient other = {.queue = &queue, .id = 2, .role = 2};

/* begin: set up this many devices behind a queue, all open. */
static void
begin(int32_t devices)
{
	int32_t d;

	stage_begin(devices);
	hy_queue_init(&queue);
	hy_executor_use_queue(stage.executor, &mine);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	for (d = 0; d < devices; d++)
	{
		stage.config.devices = UINT64_C(1) << d;
		CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	}
	stage.config.devices = 0;
	CHECK_INT(stage.opens, devices);
	hy_executor_reset(stage.executor);
	stage.config.execution = HY_EXECUTION_AUTO;
}

/* ask: another client has a task of this many ns on the device. */
static int32_t
ask(int32_t device, double ns)
{
	int32_t slot = hy_queue_ask(&other, device, ns, false, stage.clock.time);

	CHECK(slot >= 0);
	return slot;
}

static HyDeviceState
state_of(int32_t device)
{
	HyDeviceState state;

	hy_executor_device(stage.executor, device, &state);
	return state;
}

/*
 * 1,024 items take the CPU 100 us and the device 30: waiting 60 is worthwhile, waiting 80 is not.
 */
static void
test_deeper_queue_moves_a_task_to_the_cpu(void)
{
	int32_t slot[4];
	HyDecision decision;
	int i;

	begin(1);
	stage_teach_one(1024, 100000, 30000);
	for (i = 0; i < 4; i++)
	{
		stage_expect(stage_decided(1024), 1, HY_REASON_COST);
		slot[i] = ask(1, 20000);
	}
	/* the fourth is one too many: 80 us of others and 30 of its own */
	stage_expect(stage_decided(1024), 0, HY_REASON_COST);
	CHECK_INT(state_of(1).queue, 4);
	CHECK_NEAR(state_of(1).queue_ns, 80000, 1);
	CHECK_NEAR(state_of(1).load, 2, 1e-9); /* two slots */
	CHECK_INT(state_of(0).queue, 0);
	/* what is run says what it saw */
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.device, 0);
	CHECK_INT(decision.queue, 4);
	for (i = 0; i < 4; i++)
		hy_queue_leave(&other, slot[i]);
	CHECK_INT(state_of(1).queue, 0);
	CHECK_NEAR(state_of(1).load, 0, 1e-9);
	/* what was decided for the same shape holds for a moment */
	stage_expect(stage_decided(1024), 0, HY_REASON_COST);
	stage.clock.time += HY_MEMO_NS;
	stage_expect(stage_decided(1024), 1, HY_REASON_COST);
	stage_end();
}

/* The length of the queue counts if the times of other tasks are unknown. */
static void
test_unknown_tasks_count_as_long_as_ones_own(void)
{
	int i;

	begin(1);
	stage_teach_one(1024, 100000, 30000);
	for (i = 1; i <= 3; i++)
	{
		ask(1, 0);
		stage_expect(stage_decided(1024), i < 3 ? 1 : 0, HY_REASON_COST);
	}
	CHECK_INT(state_of(1).queue, 3);
	CHECK_NEAR(state_of(1).queue_ns, 0, 1e-9);
	hy_queue_forget(&other, 2);
	CHECK_INT(state_of(1).queue, 0);
	stage_expect(stage_decided(1024), 1, HY_REASON_COST);
	stage_end();
}

static void
test_least_in_flight(void)
{
	int32_t slot[4];
	int32_t d;

	begin(3);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage_expect(stage_decided(1024), 1, HY_REASON_USER);
	slot[1] = ask(1, 100);
	slot[3] = ask(3, 50);
	stage_expect(stage_decided(1024), 2, HY_REASON_USER);
	slot[2] = ask(2, 70);
	stage_expect(stage_decided(1024), 3, HY_REASON_USER);
	/* what takes nobody knows how long may take long */
	hy_queue_leave(&other, slot[3]);
	slot[3] = ask(3, 0);
	stage_expect(stage_decided(1024), 2, HY_REASON_USER);
	hy_queue_forget(&other, 2);

	/* in auto what is waited for is part of the cost */
	stage.config.execution = HY_EXECUTION_AUTO;
	for (d = 0; d <= 3; d++)
	{
		HyTask task = stage_task(1024);
		HyShape shape = hy_task_shape(&task);
		int i;

		for (i = 0; i < 20; i++)
			hy_tracker_record(stage.executor->tracker, &shape, d, d == 0 ? 100000 : 10000);
	}
	stage_expect(stage_decided(1024), 1, HY_REASON_COST);
	ask(1, 5000);
	stage_expect(stage_decided(1024), 2, HY_REASON_COST);
	ask(2, 6000);
	ask(3, 7000);
	stage_expect(stage_decided(1024), 1, HY_REASON_COST);
	for (d = 1; d <= 3; d++)
		ask(d, 200000);
	stage_expect(stage_decided(1024), 0, HY_REASON_COST);
	stage_end();
}

/* Without others a process still counts tasks that it gave up and that have not ended. */
static void
test_queue_of_one_process(void)
{
	HyDecision decision;

	stage_begin(1);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.config.timeout_ns = 1000000;
	stage.hang = stage.deaf = true;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.status, HY_TIMEOUT);
	CHECK_INT(decision.queue, 0);
	CHECK_INT(state_of(1).queue, 1);
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.status, HY_BUSY);
	CHECK_INT(decision.queue, 1);
	stage.hang = stage.deaf = false;
	CHECK_INT(stage_dispatch(1024, &decision), HY_OK);
	CHECK_INT(decision.status, HY_OK);
	CHECK_INT(state_of(1).queue, 0);
	stage_end();
}

/*
 * The less memory there is, the more pieces a task is cut into, and each must be started. 10,000
 * items take the CPU 1,000 us, and the device 20 for the start and 10 for the work.
 */
static void
test_memory_in_use_moves_a_task_to_the_cpu(void)
{
	HyDecision decision;

	begin(1);
	stage_teach(stage.executor, 1);
	decision = stage_decided(10000);
	stage_expect(decision, 1, HY_REASON_COST);
	CHECK_NEAR(hy_side_ns(stage.executor, &decision.shape, 1), 30000, 3000);
	stage.config.memory_limit = 40000; /* half of it: with two in flight in four pieces */
	stage_expect(stage_decided(10000), 1, HY_REASON_COST);
	CHECK_NEAR(hy_side_ns(stage.executor, &decision.shape, 1), 90000, 10000);
	stage.config.memory_limit = 4000; /* forty pieces: 810 us */
	stage_expect(stage_decided(10000), 1, HY_REASON_COST);
	stage.config.memory_limit = 2000; /* eighty: 1,610 us */
	decision = stage_decided(10000);
	stage_expect(decision, 0, HY_REASON_COST);
	CHECK_INT(decision.bytes_available, 2000);
	CHECK(hy_side_ns(stage.executor, &decision.shape, 1) > 1300000);
	stage.config.memory_limit = 0;
	stage_expect(stage_decided(10000), 1, HY_REASON_COST);
	stage_end();
}

static void
test_load(void)
{
	HyLoad busy = {.runnable = 3};
	HyLoad idle = {.runnable = 0.5};
	int i;

	stage_begin(1);
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK); /* opens it */
	hy_executor_reset(stage.executor);
	stage_teach_one(1024, 10000, 20000);
	stage_expect(stage_decided(1024), 0, HY_REASON_COST);
	hy_executor_set_load(stage.executor, &busy);
	stage_expect(stage_decided(1024), 1, HY_REASON_COST); /* 30 us against 20 */
	CHECK(stage_decided(1024).load == 3);
	hy_executor_set_load(stage.executor, &idle);
	stage_expect(stage_decided(1024), 0, HY_REASON_COST);
	CHECK_INT(stage_dispatch(8, NULL), HY_OK);
	CHECK_NEAR(stage.executor->load_seen, 0.5, 1e-9);
	/* history that was made under that load knows it already */
	hy_executor_set_load(stage.executor, &busy);
	stage.config.execution = HY_EXECUTION_CPU;
	for (i = 0; i < 1000; i++)
		CHECK_INT(stage_dispatch(8, NULL), HY_OK);
	hy_memo_fold(stage.executor, true);
	stage.config.execution = HY_EXECUTION_AUTO;
	CHECK_NEAR(stage.executor->load_seen, 3, 0.3);
	stage_expect(stage_decided(1024), 0, HY_REASON_COST);
	/* so does what came from others, before this process had looked */
	hy_executor_reset(stage.executor);
	stage.executor->load = (HyLoad){.runnable = 0};
	hy_executor_set_load(stage.executor, &busy);
	CHECK_NEAR(stage.executor->load_seen, 3, 1e-9);
	stage_end();
}

/* taken: a device whose slots others hold, in a session that queues. */
static int32_t held[2];

static void
taken_begin(HyExecution execution)
{
	int i;

	stage_begin(1);
	hy_queue_init(&queue);
	hy_executor_use_queue(stage.executor, &mine);
	stage.config.execution = execution;
	stage.config.timeout_ns = 2000000000;
	stage.config.queue_depth = 2;
	for (i = 0; i < 2; i++)
	{
		held[i] = hy_queue_ask(&other, 1, 0, true, stage.clock.time);
		CHECK(hy_queue_granted(&other, held[i], 2, stage.clock.time));
	}
}

static void
taken_end(void)
{
	hy_queue_leave(&other, held[0]);
	hy_queue_leave(&other, held[1]);
}

/* Others block the device: a session that only prefers it loses little, and not every time. */
static void
test_a_taken_device_costs_auto_little(void)
{
	HyDecision decision;
	uint64_t before;
	uint64_t took;
	int known;
	int i;

	for (known = 0; known <= 1; known++)
	{
		int busy = 0;

		taken_begin(HY_EXECUTION_AUTO);
		if (known)
			stage_teach_one(10000, 1000000, 100000);
		before = stage.clock.time;
		for (i = 0; i < 500; i++)
		{
			CHECK_INT(stage_dispatch(10000, &decision), HY_OK);
			CHECK(decision.device == 0 || decision.fallback);
			busy += decision.status == HY_BUSY;
		}
		took = stage.clock.time - before;
		/* the CPU takes 1 ms each */
		CHECK_MSG(took < 500 * UINT64_C(1000000) * 3 / 2, "%d: %.1f ms", known,
		          (double) took / 1e6);
		CHECK_MSG(busy > 0 && busy < 20, "%d: %d times", known, busy);

		/* and when they have gone it is used again */
		taken_end();
		for (i = 0; i < 2000 && (decision.device == 0 || decision.fallback); i++)
		{
			stage.clock.time += 10000000;
			CHECK_INT(stage_dispatch(10000, &decision), HY_OK);
		}
		CHECK_INT(decision.device, 1);
		CHECK_INT(decision.status, HY_OK);
		CHECK(stage.executor->member[1].missed_turn_ns == 0);
		stage_end();
	}
}

static void
test_a_taken_device_is_not_preferred_again_at_once(void)
{
	HyDecision decision;
	uint64_t before;

	taken_begin(HY_EXECUTION_PREFER_GPU);
	before = stage.clock.time;
	CHECK_INT(stage_dispatch(10000, &decision), HY_OK);
	CHECK_INT(decision.status, HY_BUSY);
	CHECK(stage.clock.time - before >= stage.config.timeout_ns);
	before = stage.clock.time;
	CHECK_INT(stage_dispatch(10000, &decision), HY_OK);
	stage_expect(decision, 0, HY_REASON_COST);
	CHECK(stage.clock.time - before < 2000000);
	stage.clock.time += stage.config.timeout_ns;
	taken_end();
	CHECK_INT(stage_dispatch(10000, &decision), HY_OK);
	stage_expect(decision, 1, HY_REASON_USER);
	CHECK_INT(decision.status, HY_OK);
	stage_end();
}

/*
 * A task that was given up and has not ended may take arbitrarily long: another device is better.
 */
static void
test_what_was_given_up_is_of_unknown_length(void)
{
	HyMember *member;
	HyQueueLoad load;

	begin(2);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	member = &stage.executor->member[1];
	CHECK_INT(hy_member_open(stage.executor, member, stage.clock.time), HY_OK);
	stage_expect(stage_decided(1024), 1, HY_REASON_USER);
	stage.deaf = true;
	stage.config.timeout_ns = 1000000;
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	CHECK_INT(member->leftovers, 1);
	load = hy_gauge_queue(stage.executor, 1);
	CHECK_INT(load.tasks, 1);
	CHECK_INT(load.unknown, 1);
	stage_expect(stage_decided(1024), 2, HY_REASON_USER);
	stage_end();
}

int
main(void)
{
	UNIT_RUN(test_deeper_queue_moves_a_task_to_the_cpu);
	UNIT_RUN(test_unknown_tasks_count_as_long_as_ones_own);
	UNIT_RUN(test_least_in_flight);
	UNIT_RUN(test_queue_of_one_process);
	UNIT_RUN(test_memory_in_use_moves_a_task_to_the_cpu);
	UNIT_RUN(test_load);
	UNIT_RUN(test_a_taken_device_costs_auto_little);
	UNIT_RUN(test_a_taken_device_is_not_preferred_again_at_once);
	UNIT_RUN(test_what_was_given_up_is_of_unknown_length);
	return unit_finish();
}
