/*
 * share_test.c
 *		Executors that share a table: their counts add up, and what one learns the others know.
 */
#include "share_stage.h"

#include "dispatch/route/accumulator.h"

static int64_t
shared_flushes(HyOp op, HyFlush cause)
{
	HyCounters counters;

	hy_table_counters(table, 0, op, &counters);
	return counters.flushes[cause];
}

static void
test_counters_add_up(void)
{
	HyCounters sum;
	int i;

	begin();
	stage.config.force_cpu = true;
	for (i = 0; i < 30; i++)
	{
		turn(i % PARTIES);
		CHECK_INT(stage_dispatch(1 + i, NULL), HY_OK);
	}
	sum = shared_counters(0);
	CHECK_INT(sum.calls, 0);
	for (i = 0; i < PARTIES; i++)
		hy_executor_flush(parties[i].executor);
	/* again: nothing is told twice */
	for (i = 0; i < PARTIES; i++)
		hy_executor_flush(parties[i].executor);
	locks = 0;
	hy_executor_settle(parties[0].executor);
	CHECK_INT(locks, 0);
	sum = shared_counters(0);
	CHECK_INT(sum.calls, 30);
	CHECK_INT(sum.items, 30 * 31 / 2);
	CHECK_INT(sum.total_ns, 100 * 30 * 31 / 2);
	CHECK_INT(sum.by_reason[HY_REASON_USER], 30);
	/* and what was counted here is still there */
	CHECK_INT(hy_executor_counters(parties[1].executor, 0, HY_OP_DISTANCE)->calls, 10);
	end();
}

static void
test_when_it_flushes(void)
{
	int i;

	/* slow calls, a tenth of a millisecond each: after 64 */
	begin();
	stage.config.force_cpu = true;
	for (i = 0; i < 63; i++)
		stage_dispatch(1000, NULL);
	CHECK_INT(shared_counters(0).calls, 0);
	stage_dispatch(1000, NULL);
	CHECK_INT(shared_counters(0).calls, 64);
	end();

	/* very slow ones: after a tenth of a second */
	begin();
	stage.config.force_cpu = true;
	stage.cpu_item_ns = 30e6;
	for (i = 0; i < 3; i++)
		stage_dispatch(1, NULL);
	CHECK_INT(shared_counters(0).calls, 0);
	stage_dispatch(1, NULL);
	CHECK_INT(shared_counters(0).calls, 4);
	end();

	/* very fast ones: before an event would be lost, and in less than one call of a hundred */
	begin();
	stage.config.force_cpu = true;
	stage.cpu_item_ns = 100;
	locks = 0;
	for (i = 0; i < 960; i++)
		stage_dispatch(1, NULL);
	CHECK_INT(shared_counters(0).calls, 960);
	CHECK_INT(locks, 960 / HY_MEMO_CALLS);
	/* unless a millisecond has passed */
	stage.cpu_item_ns = 16000;
	for (i = 0; i < 128; i++)
		stage_dispatch(1, NULL);
	CHECK_INT(shared_counters(0).calls, 1088);
	/* put off, and then the session ends its transaction */
	stage.cpu_item_ns = 100;
	for (i = 0; i < HY_SHARE_CALLS; i++)
		stage_dispatch(1, NULL);
	CHECK_INT(shared_counters(0).calls, 1088);
	hy_executor_flush(stage.executor);
	CHECK_INT(shared_counters(0).calls, 1088 + HY_SHARE_CALLS);
	end();
}

/* A process that ends has reported everything. */
static void
test_destroy_flushes(void)
{
	begin();
	turn(1);
	stage_dispatch(10, NULL);
	hy_executor_destroy(parties[1].executor);
	CHECK_INT(shared_counters(0).calls, 1);
	turn(0);
	stage_dispatch(10, NULL);
	hy_executor_destroy(parties[2].executor);
	CHECK_INT(shared_counters(0).calls, 1);
	stage_end();
	CHECK_INT(shared_counters(0).calls, 2);
	free(table);
}

/* reset_elsewhere: another process resets the table when a flush takes the lock a second time. */
static void
reset_elsewhere(void)
{
	if (locks != 1)
		return;
	before_lock = NULL;
	hy_executor_reset(parties[2].executor);
}

/* What was observed before a reset is not flushed after it. */
static void
test_a_reset_during_a_flush_keeps_no_model(void)
{
	HyTableModel model;
	int32_t i;

	begin();
	turn(0);
	stage.config.force_cpu = true;
	for (i = 0; i < 5; i++)
		stage_dispatch(10, NULL);
	locks = 0;
	before_lock = reset_elsewhere;
	hy_executor_flush(stage.executor);
	CHECK(before_lock == NULL);
	for (i = 0; i < hy_table_models(table); i++)
		CHECK(!hy_table_model(table, i, &model));
	hy_executor_follow(stage.executor);
	CHECK_INT(hy_executor_events(stage.executor), 0);
	end();
}

/*
 * The call that ran a gathered batch was due to report to the table; the cause that ended the batch
 * is reported as well.
 */
static void
test_flush_causes_after_a_flush(void)
{
	HyShape shape = {.op = HY_OP_TOPK, .dtype = HY_F32, .dims = 4, .queries = 1, .k = 3};
	HyAccumulator gathered;

	begin();
	turn(1);
	hy_accumulator_begin(&gathered, stage.executor, &shape, 16, 1 << 20);
	(void) hy_accumulator_add(&gathered, 16);
	stage.clock.time += HY_SHARE_NS;
	stage_dispatch(10, NULL);
	CHECK_INT(shared_counters(0).calls, 1);
	hy_accumulator_flushed(&gathered, stage.executor, HY_FLUSH_END);
	hy_executor_settle(stage.executor);
	CHECK_INT(shared_flushes(HY_OP_TOPK, HY_FLUSH_END), 1);
	end();
}

static void
test_events_of_others(void)
{
	HyTableEvent events[512];
	int n;

	begin();
	turn(1);
	stage_dispatch(10, NULL);
	turn(2);
	stage.clock.time += 5000000;
	stage_dispatch(20, NULL);
	hy_executor_flush(parties[1].executor);
	hy_executor_flush(parties[2].executor);
	n = hy_table_events(table, events, 512);
	CHECK_INT(n, 2);
	CHECK_INT(events[0].origin.pid, 101);
	CHECK_INT(events[0].decision.items, 10);
	CHECK_INT(events[1].origin.pid, 102);
	CHECK(events[0].origin.session != events[1].origin.session);
	CHECK_STR(events[0].backend, "cpu");
	CHECK_INT(events[0].wall_us, 1000000000 + 1000);
	CHECK_INT(events[1].wall_us, 1000000000 + 6001);
	/* without telemetry there are none, and counters all the same */
	stage.config.telemetry = false;
	stage_dispatch(30, NULL);
	hy_executor_flush(stage.executor);
	CHECK_INT(hy_table_events(table, events, 512), 2);
	CHECK_INT(shared_counters(0).calls, 3);
	/* of a burst only the newest, and those that failed */
	stage.config.telemetry = true;
	stage.executor->flush_at_ns = UINT64_MAX;
	stage.executor->until_flush = INT32_MAX;
	stage.config.execution = HY_EXECUTION_GPU;
	stage.scripted = 0;
	stage.script[0] = HY_TRANSIENT;
	CHECK_INT(stage_dispatch(7, NULL), HY_TRANSIENT);
	stage.config.execution = HY_EXECUTION_CPU;
	for (n = 0; n < 200; n++)
		stage_dispatch(1 + n, NULL);
	hy_executor_flush(stage.executor);
	n = hy_table_events(table, events, 512);
	CHECK_INT(n, 2 + 1 + HY_SHARE_CALLS);
	CHECK_INT(events[2].decision.status, HY_TRANSIENT);
	CHECK_INT(events[3].decision.items, 200 - HY_SHARE_CALLS + 1);
	CHECK_INT(events[n - 1].decision.items, 200);
	CHECK_INT(shared_counters(0).calls, 203);
	end();
}

/* A newcomer starts from the table's contents, by its own clock. */
static void
test_newcomer(void)
{
	static const HyLog log = {stage_log, NULL};
	Party late;
	HyClock clock = {.now = later_now};
	HyDecision decision;
	int i;

	begin();
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.script[0] = HY_TRANSIENT;
	stage.always_fail = true;
	for (i = 0; i < 3; i++)
		stage_dispatch(100, NULL);
	CHECK_INT(hy_executor_create(&stage.memory.allocator, &clock, &log, &late.executor), HY_OK);
	late.executor->member[0].backend = &stage_cpu;
	hy_executor_add_backend(late.executor, &stage_backend);
	share(&late, 7);
	stage.executor = late.executor;
	stage_dispatch(100, &decision);
	CHECK_INT(decision.reason, HY_REASON_UNRELIABLE);
	CHECK_INT(late.executor->member[1].breakers[HY_OP_DISTANCE].open_until_ns,
	          parties[0].executor->member[1].breakers[HY_OP_DISTANCE].open_until_ns +
	              UINT64_C(5000000000000));
	/* when its time comes it tries, and what it finds has the others' time */
	stage.clock.time += 1100000000;
	stage_dispatch(100, &decision);
	CHECK_INT(decision.device, 1);
	hy_executor_flush(parties[0].executor);
	CHECK_INT(parties[0].executor->member[1].breakers[HY_OP_DISTANCE].state, HY_BREAKER_OPEN);
	CHECK_INT(parties[0].executor->member[1].breakers[HY_OP_DISTANCE].open_until_ns / 1000000,
	          (stage.clock.time + 2000000000) / 1000000);
	hy_executor_destroy(late.executor);
	end();
}

/*
 * The observations of two executors for the same kind of task are summed, and a newcomer predicts
 * from the sum.
 */
static void
test_models_add_up(void)
{
	static const HyLog log = {stage_log, NULL};
	Party late;
	HyTableModel model;
	HyShape shape;
	HyCoefficients fit;
	HyTask task;
	int i;

	begin();
	stage.config.force_cpu = true;
	for (i = 1; i <= 20; i++)
	{
		turn(i % 2);
		stage_dispatch(i * 100, NULL);
	}
	task = stage_task(5000);
	shape = hy_task_shape(&task);
	CHECK(!hy_table_find_model(table, 0, hy_shape_kind(&shape), &model));
	hy_executor_settle(parties[0].executor);
	CHECK(!hy_table_find_model(table, 0, hy_shape_kind(&shape), &model));
	hy_executor_flush(parties[0].executor);
	CHECK(hy_table_find_model(table, 0, hy_shape_kind(&shape), &model));
	/* each sets its first one aside */
	CHECK_INT(model.samples, 9);
	hy_executor_flush(parties[1].executor);
	hy_executor_flush(parties[1].executor);
	CHECK(hy_table_find_model(table, 0, hy_shape_kind(&shape), &model));
	CHECK_INT(model.samples, 18);
	CHECK_NEAR(model.state.weight, 18, 1e-9);
	CHECK(hy_model_solve(&model.state, HY_LAUNCH_NONE, &fit));
	CHECK_NEAR(hy_cost_predict(&fit, hy_cost_terms(&shape, true)), 500000, 5000);

	CHECK_INT(hy_executor_create(&stage.memory.allocator, &stage.clock.clock, &log, &late.executor),
	          HY_OK);
	late.executor->member[0].backend = &stage_cpu;
	CHECK(hy_tracker_predict(hy_executor_tracker(late.executor), &shape, 0) < 0);
	share(&late, 7);
	CHECK_NEAR(hy_tracker_predict(hy_executor_tracker(late.executor), &shape, 0), 500000, 5000);
	/* what it was told it does not tell again */
	hy_executor_flush(late.executor);
	CHECK(hy_table_find_model(table, 0, hy_shape_kind(&shape), &model));
	CHECK_INT(model.samples, 18);
	hy_executor_destroy(late.executor);

	/* it follows what changes: the window's worth is kept; the calls tell when it is time */
	stage.cpu_item_ns = 200;
	turn(2);
	for (i = 0; i < 600; i++)
		stage_dispatch(1000 + i, NULL);
	CHECK(hy_table_find_model(table, 0, hy_shape_kind(&shape), &model));
	CHECK(model.samples > 300 && model.samples < 18 + 599);
	hy_executor_flush(stage.executor);
	CHECK(hy_table_find_model(table, 0, hy_shape_kind(&shape), &model));
	CHECK_INT(model.samples, 18 + 599);
	CHECK_NEAR(model.state.weight, stage.config.window, 1e-6);
	CHECK(hy_model_solve(&model.state, HY_LAUNCH_NONE, &fit));
	CHECK_NEAR(hy_cost_predict(&fit, hy_cost_terms(&shape, true)), 1000000, 50000);
	end();
}

static void
test_a_hung_context_keeps_its_place(void)
{
	HyMember *member;

	begin();
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.config.max_contexts = 2;
	turn(0);
	CHECK_INT(stage_dispatch(100, NULL), HY_OK);
	member = &stage.executor->member[1];
	stage.hang = stage.deaf = true;
	unit_cancel_init(&stage.cancel, 1);
	CHECK_INT(stage_dispatch(100, NULL), HY_CANCELLED);
	unit_cancel_init(&stage.cancel, 0);
	CHECK_INT(member->leftovers, 1);
	/* it is left as it is, and the device does not open twice */
	hy_member_close(stage.executor, member);
	CHECK_INT(hy_table_contexts(table, 1), 1);
	stage.open_status = HY_BUSY;
	CHECK_INT(stage_dispatch(100, NULL), HY_OK);
	CHECK_INT(hy_table_contexts(table, 1), 1);
	stage.open_status = HY_OK;
	stage.hang = stage.deaf = false;
	end();
}

static void
test_contexts_are_counted(void)
{
	HyDecision decision;
	int opens;

	begin();
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.config.max_contexts = 2;
	turn(0);
	stage_dispatch(100, NULL);
	turn(1);
	stage_dispatch(100, NULL);
	CHECK_INT(hy_table_contexts(table, 1), 2);
	turn(2);
	opens = stage.opens;
	stage_dispatch(100, &decision);
	CHECK(decision.fallback && decision.status == HY_QUOTA);
	CHECK(strstr(decision.failure.text, "2 contexts") != NULL);
	CHECK_INT(stage.opens, opens);
	/* it says so once */
	stage.clock.time += 1100000000;
	stage_dispatch(100, NULL);
	CHECK_INT(stage_logged("could not be opened"), 1);
	stage.config.execution = HY_EXECUTION_GPU;
	CHECK_INT(stage_dispatch(100, NULL), HY_QUOTA);

	/* one gives way */
	hy_executor_close_devices(parties[0].executor);
	CHECK_INT(hy_table_contexts(table, 1), 1);
	CHECK_INT(stage_dispatch(100, NULL), HY_OK);
	CHECK_INT(hy_table_contexts(table, 1), 2);
	/* an open that fails takes none */
	hy_executor_close_devices(parties[1].executor);
	stage.open_status = HY_TRANSIENT;
	turn(1);
	CHECK_INT(stage_dispatch(100, NULL), HY_TRANSIENT);
	CHECK_INT(hy_table_contexts(table, 1), 1);
	stage.open_status = HY_OK;

	/* an abandoned one is still there until its process ends */
	turn(2);
	hy_member_latch(stage.executor, &stage.executor->member[1], false, true, "does not answer");
	CHECK_INT(hy_table_contexts(table, 1), 1);
	hy_executor_close_devices(stage.executor);
	CHECK_INT(hy_table_contexts(table, 1), 0);
	end();
}

static void
test_reset_is_followed(void)
{
	HyBreaker breaker;
	HyTableEvent events[8];
	int i;

	begin();
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.script[0] = HY_TRANSIENT;
	stage.always_fail = true;
	for (i = 0; i < 3; i++)
		stage_dispatch(100, NULL);
	turn(1);
	stage_dispatch(10, NULL);
	hy_executor_flush(parties[0].executor);
	hy_executor_flush(parties[1].executor);
	turn(2);
	hy_executor_reset(stage.executor);
	CHECK_INT(shared_counters(0).calls, 0);
	CHECK_INT(shared_counters(1).fallbacks, 0);
	hy_table_breaker(table, 1, HY_OP_DISTANCE, &breaker);
	CHECK_INT(breaker.state, HY_BREAKER_CLOSED);
	CHECK_INT(hy_table_events(table, events, 8), 0);
	turn(0);
	CHECK_INT(hy_executor_events(stage.executor), 3);
	hy_executor_follow(stage.executor);
	CHECK_INT(hy_executor_events(stage.executor), 0);
	CHECK_INT(hy_executor_counters(stage.executor, 1, HY_OP_DISTANCE)->fallbacks, 0);
	CHECK_INT(stage.executor->member[1].breakers[HY_OP_DISTANCE].state, HY_BREAKER_CLOSED);
	/* and counting begins anew, for all */
	stage_dispatch(100, NULL);
	hy_executor_flush(stage.executor);
	CHECK_INT(shared_counters(1).fallbacks, 1);
	CHECK_INT(shared_counters(0).calls, 1);
	CHECK_INT(hy_table_events(table, events, 8), 1);
	end();
}

/* Devices that have no place in the table work as if nothing were shared. */
static void
test_full_table(void)
{
	static const HyTableLimits tiny = {.devices = 1};
	HyDecision decision;

	stage_begin(1);
	table = malloc(hy_table_size(&tiny));
	hy_table_init(table, &tiny);
	parties[0].executor = stage.executor;
	share(&parties[0], 0);
	CHECK_INT(hy_executor_table_device(stage.executor, 0), 0);
	CHECK_INT(hy_executor_table_device(stage.executor, 1), HY_TABLE_NO_DEVICE);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	stage.config.max_contexts = 1;
	stage_dispatch(100, &decision);
	CHECK_INT(decision.device, 1);
	stage.scripted = 0;
	stage.script[0] = HY_TRANSIENT;
	stage_dispatch(100, NULL);
	hy_executor_flush(stage.executor);
	CHECK_INT(shared_counters(0).calls, 1);
	CHECK_INT(hy_executor_counters(stage.executor, 1, HY_OP_DISTANCE)->failures, 1);
	stage_end();
	free(table);
}

/* Unshared: a flush has no effect, and calls do not look for a table. */
static void
test_alone(void)
{
	stage_begin(0);
	hy_executor_flush(stage.executor);
	stage_dispatch(10, NULL);
	CHECK(stage.executor->until_flush > 1000000);
	CHECK_INT(hy_executor_table_device(stage.executor, 0), HY_TABLE_NO_DEVICE);
	hy_executor_reset(stage.executor);
	CHECK_INT(hy_executor_counters(stage.executor, 0, HY_OP_DISTANCE)->calls, 0);
	stage_end();
}

int
main(void)
{
	UNIT_RUN(test_counters_add_up);
	UNIT_RUN(test_when_it_flushes);
	UNIT_RUN(test_destroy_flushes);
	UNIT_RUN(test_a_reset_during_a_flush_keeps_no_model);
	UNIT_RUN(test_flush_causes_after_a_flush);
	UNIT_RUN(test_events_of_others);
	UNIT_RUN(test_newcomer);
	UNIT_RUN(test_models_add_up);
	UNIT_RUN(test_contexts_are_counted);
	UNIT_RUN(test_a_hung_context_keeps_its_place);
	UNIT_RUN(test_reset_is_followed);
	UNIT_RUN(test_full_table);
	UNIT_RUN(test_alone);
	return unit_finish();
}
