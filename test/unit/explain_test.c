/*
 * explain_test.c
 *		Showing what would be decided, and what is known, changes nothing and is complete.
 */
#include "dispatch/tools/explain.h"

#include "dispatch_stage.h"

static const HyShape shape = {.op = HY_OP_DISTANCE,
                              .metric = HY_METRIC_L2,
                              .dims = STAGE_DIMS,
                              .queries = 1,
                              .targets = 1024};

static void
test_without_history(void)
{
	HySideCost costs[HY_MAX_DEVICES];
	HyDecision decision;
	int32_t count;

	stage_begin(1);
	CHECK_INT(hy_explain(stage.executor, &shape, &decision, costs, &count), HY_OK);
	CHECK_INT(count, 2);
	CHECK_INT(decision.device, 1);
	CHECK_INT(decision.reason, HY_REASON_EXPLORATION);
	CHECK_INT(decision.items, 1024);
	CHECK(costs[0].able && costs[0].open && costs[0].ns < 0);
	CHECK(costs[1].able && !costs[1].open && costs[1].ns < 0 && costs[1].hint_ns < 0);
	CHECK_INT(costs[1].needs.device_bytes, 8 * 1024);
	CHECK_INT(stage.opens + stage.submits, 0);
	stage_end();
}

/* A missing side is reported only if it was requested. */
static void
test_without_a_device(void)
{
	HySideCost costs[HY_MAX_DEVICES];
	HyDecision decision;
	int32_t count;

	stage_begin(0);
	hy_executor_add_missing(stage.executor, "hybrid_cuda", "hybrid_cuda.so is not installed", true);
	CHECK_INT(hy_explain(stage.executor, &shape, &decision, costs, &count), HY_OK);
	CHECK_INT(count, 1);
	CHECK_INT(decision.device, 0);
	CHECK_STR(decision.failure.text, "");
	stage.config.execution = HY_EXECUTION_GPU;
	hy_executor_configure(stage.executor, &stage.config);
	CHECK_INT(hy_explain(stage.executor, &shape, &decision, costs, &count), HY_UNSUPPORTED);
	CHECK_INT(count, 2);
	CHECK_INT(costs[1].device, decision.device);
	CHECK_STR(decision.failure.text, "hybrid_cuda.so is not installed");
	stage_end();
}

static void
test_is_what_happens_then(void)
{
	HySideCost costs[HY_MAX_DEVICES];
	HyDecision said;
	HyDecision done;
	int32_t count;
	int i;

	stage_begin(2);
	for (i = 0; i < 600; i++)
	{
		HyShape asked = shape;

		asked.targets = INT64_C(8) << (i % 9);
		hy_executor_configure(stage.executor, &stage.config);
		CHECK_INT(hy_explain(stage.executor, &asked, &said, costs, &count), HY_OK);
		CHECK_INT(hy_explain(stage.executor, &asked, &said, costs, &count), HY_OK);
		CHECK_INT(stage_dispatch(asked.targets, &done), HY_OK);
		CHECK_INT(said.device, done.device);
		CHECK_STR(hy_reason_name(said.reason), hy_reason_name(done.reason));
	}
	CHECK_INT(count, 3);
	CHECK(costs[0].ns > 0 && costs[1].ns > 0);
	CHECK(costs[1].weight > 0 && costs[1].open);
	CHECK(said.predicted_cpu_ns == costs[0].ns);
	stage_end();
}

/*
 * The basis of a prediction: tasks like this one, or the number of doublings to the nearest ones.
 */
static void
test_how_far_it_is_from_what_was_seen(void)
{
	static const int64_t targets[] = {256, 1024, 16384};
	static const int32_t steps[] = {-2, 0, 4};
	HySideCost costs[HY_MAX_DEVICES];
	HyDecision decision;
	int32_t count;
	int i;
	int d;

	stage_begin(1);
	stage_teach_one(1024, 100000, 30000);
	for (i = 0; i < 3; i++)
	{
		HyShape asked = shape;

		asked.targets = targets[i];
		CHECK_INT(hy_explain(stage.executor, &asked, &decision, costs, &count), HY_OK);
		for (d = 0; d < 2; d++)
		{
			CHECK_INT(costs[d].steps, steps[i]);
			CHECK_INT(costs[d].samples, steps[i] == 0 ? 19 : 0);
			CHECK(costs[d].weight > 15 && !costs[d].cold);
		}
	}
	stage_end();
}

/* a task that would be split is explained as split, not as if it went to one side */
static void
test_what_is_split_is_explained_as_split(void)
{
	HySideCost costs[HY_MAX_DEVICES];
	HyDecision said;
	HyDecision done;
	int32_t count;
	int split = 0;
	int i;

	stage_begin(1);
	stage.device_item_ns = 70;
	stage.config.execution = HY_EXECUTION_SPLIT;
	for (i = 0; i < 100; i++)
	{
		HyShape asked = shape;

		/* what is small is not split once both sides are known */
		asked.targets = i % 5 == 4 ? 400 : 40000;
		hy_executor_configure(stage.executor, &stage.config);
		CHECK_INT(hy_explain(stage.executor, &asked, &said, costs, &count), HY_OK);
		CHECK_INT(stage_dispatch(asked.targets, &done), HY_OK);
		CHECK_INT(said.device, done.device);
		CHECK_STR(hy_reason_name(said.reason), hy_reason_name(done.reason));
		CHECK_INT(said.split_share >= 0, done.reason == HY_REASON_SPLIT);
		if (i == 0) /* when nothing is known, half */
			CHECK_NEAR(said.split_share, 0.5, 1e-9);
		split += done.reason == HY_REASON_SPLIT;
	}
	CHECK_MSG(split >= 80 && split < 90, "%d times", split);
	stage_end();
}

static void
test_refusals_and_nonsense(void)
{
	HySideCost costs[HY_MAX_DEVICES];
	HyDecision decision;
	HyShape odd = shape;
	int32_t count;
	int i;

	stage_begin(1);
	stage.unsupported = true;
	stage.config.execution = HY_EXECUTION_GPU;
	hy_executor_configure(stage.executor, &stage.config);
	CHECK_INT(hy_explain(stage.executor, &shape, &decision, costs, &count), HY_UNSUPPORTED);
	CHECK_INT(decision.reason, HY_REASON_UNSUPPORTED);
	CHECK(!costs[1].able);
	odd.dims = 0;
	CHECK_INT(hy_explain(stage.executor, &odd, &decision, costs, &count), HY_INVALID);
	CHECK_INT(count, 0);
	odd = shape;
	odd.targets = -1;
	CHECK_INT(hy_explain(stage.executor, &odd, &decision, costs, &count), HY_INVALID);
	odd = shape;
	odd.op = HY_OP_TOPK; /* without k */
	CHECK_INT(hy_explain(stage.executor, &odd, &decision, costs, &count), HY_INVALID);
	odd = shape;
	odd.k = 5; /* distances have none */
	CHECK_INT(hy_explain(stage.executor, &odd, &decision, costs, &count), HY_INVALID);
	odd = shape;
	odd.queries = -1;
	CHECK_INT(hy_explain(stage.executor, &odd, &decision, costs, &count), HY_INVALID);
	odd = shape;
	odd.resident = true;
	CHECK_INT(hy_explain(stage.executor, &odd, &decision, costs, &count), HY_INVALID);
	odd = shape;
	odd.dims = HY_MAX_DIMS + 1;
	CHECK_INT(hy_explain(stage.executor, &odd, &decision, costs, &count), HY_INVALID);
	for (i = 0; i < 2; i++)
	{
		odd = shape;
		odd.op = (HyOp) (i == 0 ? -1 : HY_OP_COUNT);
		CHECK_INT(hy_explain(stage.executor, &odd, &decision, costs, &count), HY_INVALID);
		odd = shape;
		odd.dtype = (HyDtype) (i == 0 ? -1 : HY_DTYPE_COUNT);
		CHECK_INT(hy_explain(stage.executor, &odd, &decision, costs, &count), HY_INVALID);
		odd = shape;
		odd.metric = (HyMetric) (i == 0 ? -1 : HY_METRIC_COUNT);
		CHECK_INT(hy_explain(stage.executor, &odd, &decision, costs, &count), HY_INVALID);
	}
	CHECK_INT(stage.submits, 0);
	stage_end();
}

/* batches that cannot exist are refused; merely large ones are estimated like any other */
static void
test_batches_that_nobody_can_hold(void)
{
	static const HyShape impossible[] = {
		{.op = HY_OP_TOPK, .dims = 16000, .queries = INT64_MAX, .targets = INT64_MAX, .k = 10},
		{.op = HY_OP_TOPK, .dims = 16000, .queries = 1, .targets = INT64_MAX, .k = 10},
		{.op = HY_OP_TOPK, .dims = 1, .queries = INT64_C(1) << 40, .targets = 1, .k = 1 << 30},
		{.op = HY_OP_DISTANCE, .dims = 1, .queries = INT64_C(1) << 40, .targets = INT64_C(1) << 40},
		{.op = HY_OP_SPREAD, .queries = 1, .targets = INT64_MAX},
		{.op = HY_OP_SPREAD, .queries = INT64_MAX, .targets = 1},
	};
	HySideCost costs[HY_MAX_DEVICES];
	HyDecision decision;
	HyShape large = shape;
	int32_t count;
	size_t i;

	stage_begin(1);
	for (i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++)
	{
		CHECK_INT(hy_explain(stage.executor, &impossible[i], &decision, costs, &count), HY_INVALID);
		CHECK_INT(count, 0);
	}
	large.targets = INT64_C(1000000000);
	CHECK_INT(hy_explain(stage.executor, &large, &decision, costs, &count), HY_OK);
	CHECK_INT(count, 2);
	/* a graph has no dims */
	large = (HyShape){.op = HY_OP_SPREAD, .queries = 2, .targets = 1000};
	CHECK_INT(hy_explain(stage.executor, &large, &decision, costs, &count), HY_OK);
	large.dims = 4;
	CHECK_INT(hy_explain(stage.executor, &large, &decision, costs, &count), HY_INVALID);
	large = shape;
	/* no batch at all is one that can be held; 2^47 bytes are what a process can address */
	large.queries = large.targets = 0;
	CHECK_INT(hy_explain(stage.executor, &large, &decision, costs, &count), HY_OK);
	large.queries = 1;
	large.targets = (INT64_C(1) << 47) / (STAGE_DIMS * 4);
	CHECK_INT(hy_explain(stage.executor, &large, &decision, costs, &count), HY_OK);
	large.targets++;
	CHECK_INT(hy_explain(stage.executor, &large, &decision, costs, &count), HY_INVALID);
	stage_end();
}

static void
test_history_rows(void)
{
	HyHistory history;
	int i;

	stage_begin(1);
	CHECK(!hy_executor_history(stage.executor, 0, &history));
	for (i = 0; i < 400; i++)
		CHECK_INT(stage_dispatch(INT64_C(64) << (i % 7), NULL), HY_OK);
	CHECK(hy_executor_history(stage.executor, 0, &history));
	CHECK_INT(history.row.device, 0);
	CHECK_NEAR(history.speedup, 1, 1e-9);
	CHECK_INT(history.break_even, -1);
	CHECK_NEAR(history.row.fit.work_ns * STAGE_DIMS +
	               history.row.fit.byte_ns * (4 * STAGE_DIMS + 8),
	           100, 5);
	CHECK(hy_executor_history(stage.executor, 1, &history));
	CHECK_INT(history.row.device, 1);
	/* 20 us and 1 ns an item against 100 ns an item: 202 */
	CHECK_MSG(history.break_even > 190 && history.break_even < 215, "the break-even is %lld",
	          (long long) history.break_even);
	CHECK_INT(history.breaker, HY_BREAKER_CLOSED);
	CHECK(history.success_rate == 1);
	CHECK(history.speedup > 0.2 && history.predicted_ns > 20000);
	CHECK(!hy_executor_history(stage.executor, 2, &history));
	stage_end();
}

int
main(void)
{
	UNIT_RUN(test_without_history);
	UNIT_RUN(test_without_a_device);
	UNIT_RUN(test_is_what_happens_then);
	UNIT_RUN(test_how_far_it_is_from_what_was_seen);
	UNIT_RUN(test_what_is_split_is_explained_as_split);
	UNIT_RUN(test_refusals_and_nonsense);
	UNIT_RUN(test_batches_that_nobody_can_hold);
	UNIT_RUN(test_history_rows);
	return unit_finish();
}
