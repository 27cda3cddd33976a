/*
 * record_test.c
 *		The records of an executor: bounded, and right.
 */
#include "dispatch_stage.h"

static void
test_ring_of_events(void)
{
	int i;

	stage_begin(0);
	CHECK_INT(hy_executor_events(stage.executor), 0);
	CHECK(hy_executor_event(stage.executor, 0) == NULL);
	for (i = 1; i <= 3; i++)
		CHECK_INT(stage_dispatch(i, NULL), HY_OK);
	CHECK_INT(hy_executor_events(stage.executor), 3);
	CHECK_INT(hy_executor_event(stage.executor, 0)->items, 1);
	CHECK_INT(hy_executor_event(stage.executor, 2)->items, 3);
	CHECK(hy_executor_event(stage.executor, 3) == NULL);
	CHECK(hy_executor_event(stage.executor, -1) == NULL);
	for (i = 4; i <= 1000; i++)
		CHECK_INT(stage_dispatch(i, NULL), HY_OK);
	CHECK_INT(hy_executor_events(stage.executor), HY_EVENT_RING);
	CHECK_INT(hy_executor_event(stage.executor, 0)->items, 1000 - HY_EVENT_RING + 1);
	CHECK_INT(hy_executor_event(stage.executor, HY_EVENT_RING - 1)->items, 1000);
	stage_end();
}

static void
test_telemetry_off(void)
{
	HyDecision decision;

	stage_begin(0);
	stage.config.telemetry = false;
	CHECK_INT(stage_dispatch(10, &decision), HY_OK);
	CHECK_INT(hy_executor_events(stage.executor), 0);
	CHECK_INT(decision.items, 10);
	CHECK_INT(hy_executor_counters(stage.executor, 0, HY_OP_DISTANCE)->calls, 1);
	stage_end();
}

static void
test_decision_of_a_call(void)
{
	HyDecision decision;
	const HyDecision *event;

	stage_begin(0);
	CHECK_INT(stage_dispatch(1000, &decision), HY_OK);
	CHECK_INT(decision.time_ns, 1000000);
	CHECK_INT(decision.actual_ns, 100000);
	CHECK_INT(decision.shape.op, HY_OP_DISTANCE);
	CHECK_INT(decision.shape.dims, STAGE_DIMS);
	CHECK_INT(decision.shape.queries, 1);
	CHECK_INT(decision.shape.targets, 1000);
	CHECK_INT(decision.execution, HY_EXECUTION_AUTO);
	CHECK_INT(decision.status, HY_OK);
	CHECK(!decision.fallback && !decision.virtual_time);
	event = hy_executor_event(stage.executor, 0);
	CHECK(event->time_ns == decision.time_ns && event->actual_ns == decision.actual_ns);
	CHECK(sizeof(HyDecision) < 1024);
	stage_end();
}

static void
test_quantiles(void)
{
	HyCounters counters;
	int i;

	memset(&counters, 0, sizeof(counters));
	CHECK(hy_counters_quantile(&counters, 0.5) == 0);
	for (i = 0; i < 98; i++)
		hy_count_call(&counters, 1, 1000);
	hy_count_call(&counters, 1, 1000000);
	hy_count_call(&counters, 1, UINT64_MAX / 2);
	CHECK_INT(counters.calls, 100);
	CHECK_INT(counters.latency[9], 98); /* 512 .. 1,023 */
	CHECK_INT(counters.latency[19], 1);
	CHECK_INT(counters.latency[HY_MAX_LATENCIES - 1], 1);
	CHECK(hy_counters_quantile(&counters, 0.5) >= 512);
	CHECK(hy_counters_quantile(&counters, 0.5) <= 1024);
	CHECK(hy_counters_quantile(&counters, 0.99) >= 524288);
	CHECK(hy_counters_quantile(&counters, 0.99) <= 1048576);
	CHECK(hy_counters_quantile(&counters, 1) >= 0x1p39);
	CHECK(hy_counters_quantile(&counters, -1) >= 0);
	hy_count_call(&counters, 1, UINT64_C(1) << HY_MAX_LATENCIES); /* the first beyond the last */
	CHECK_INT(counters.latency[HY_MAX_LATENCIES - 1], 2);
	hy_count_call(&counters, INT64_MAX, 0);
	CHECK_INT(counters.items, INT64_MAX);
	CHECK_INT(counters.latency[0], 1);
}

static void
test_reset(void)
{
	stage_begin(1);
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	hy_executor_reset(stage.executor);
	CHECK_INT(hy_executor_events(stage.executor), 0);
	CHECK_INT(hy_executor_counters(stage.executor, 1, HY_OP_DISTANCE)->calls, 0);
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	CHECK_INT(hy_executor_events(stage.executor), 1);
	CHECK_INT(stage.opens, 1); /* contexts stay */
	stage_end();
}

static void
test_names(void)
{
	int i;
	int j;

	for (i = 0; i < HY_REASON_COUNT; i++)
	{
		for (j = 0; j < i; j++)
			CHECK(strcmp(hy_reason_name((HyReason) i), hy_reason_name((HyReason) j)) != 0);
	}
	CHECK_STR(hy_reason_name(HY_REASON_BELOW_MIN), "below minimum batch");
	CHECK_STR(hy_reason_name((HyReason) HY_REASON_COUNT), "unknown");
	CHECK_STR(hy_reason_name((HyReason) -1), "unknown");
	CHECK_STR(hy_flush_name(HY_FLUSH_TIME), "time");
	CHECK_STR(hy_flush_name((HyFlush) HY_FLUSH_COUNT), "unknown");
	CHECK_STR(hy_flush_name((HyFlush) -1), "unknown");
	CHECK_STR(hy_scan_limit_name(HY_SCAN_TUPLES), "max_scan_tuples");
	CHECK_STR(hy_scan_limit_name((HyScanLimit) HY_SCAN_LIMIT_COUNT), "unknown");
	CHECK_STR(hy_scan_limit_name((HyScanLimit) -1), "unknown");
}

static int cpu_calls;

static HyStatus
submit_that_fails_at_times(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	return ++cpu_calls % 10 == 0 ? HY_NOMEM : stage_cpu_submit(device, task, ticket);
}

/* A call that fails among calls by memo is counted with them, and none is lost. */
static void
test_a_failure_among_calls_of_a_memo(void)
{
	int64_t done = 0;
	int i;

	stage_begin(0);
	stage.cpu_item_ns = 1;
	stage_cpu.submit = submit_that_fails_at_times;
	cpu_calls = 0;
	for (i = 0; i < 100; i++)
		done += stage_dispatch(1024, NULL) == HY_OK;
	CHECK(stage.executor->uncounted > 0);
	CHECK_INT(done, 90);
	CHECK_INT(stage_counters(0)->calls, 90);
	CHECK_INT(stage_counters(0)->by_status[HY_NOMEM], 10);
	stage_adds_up();
	stage_end();
}

int
main(void)
{
	UNIT_RUN(test_ring_of_events);
	UNIT_RUN(test_telemetry_off);
	UNIT_RUN(test_decision_of_a_call);
	UNIT_RUN(test_quantiles);
	UNIT_RUN(test_reset);
	UNIT_RUN(test_names);
	UNIT_RUN(test_a_failure_among_calls_of_a_memo);
	return unit_finish();
}
