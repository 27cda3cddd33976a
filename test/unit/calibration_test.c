/*
 * calibration_test.c
 *		After a calibration both sides are known, and nothing else has changed.
 */
#include "dispatch/calibration.h"

#include "dispatch_stage.h"

static HyCalibrationLimits
limits(void)
{
	HyCalibrationLimits l = {.allocator = &stage.memory.allocator,
	                         .cancel = &stage.cancel.cancel,
	                         .memory = 1 << 20,
	                         .longest_ns = 2000000};

	return l;
}

static HyShape
shape_of(int32_t dims, int64_t targets)
{
	HyShape shape = {.op = HY_OP_DISTANCE, .dims = dims, .queries = 1, .targets = targets};

	return shape;
}

static void
test_both_sides_are_known(void)
{
	HyCalibrationLimits l;
	HyShape shape;
	HyChoice choice;
	int64_t runs;
	int64_t even;

	stage_begin(1);
	l = limits();
	/* not sizes that it runs itself */
	shape = shape_of(768, 3000);
	CHECK(hy_tracker_predict(stage.executor->tracker, &shape, 0) < 0);
	CHECK_INT(hy_calibrate(stage.executor, &l, &runs), HY_OK);
	CHECK(runs > 500);
	CHECK_NEAR(hy_tracker_predict(stage.executor->tracker, &shape, 0), 300000, 30000);
	CHECK_NEAR(hy_tracker_predict(stage.executor->tracker, &shape, 1), 23000, 2300);
	/* 100 n = 20,000 + n */
	even = hy_tracker_break_even(stage.executor->tracker, &shape, 1, 1000000);
	CHECK(even >= 202 * 0.8 && even <= 202 * 1.2);
	/* the first call is routed by it */
	hy_decide(stage.executor, NULL, &shape, stage.clock.time, &choice);
	CHECK_INT(choice.device, 1);
	CHECK_INT(choice.reason, HY_REASON_COST);
	shape = shape_of(768, 100);
	hy_decide(stage.executor, NULL, &shape, stage.clock.time, &choice);
	CHECK_INT(choice.device, 0);
	CHECK_INT(choice.reason, HY_REASON_COST);
	stage_end();
}

static void
test_nothing_else_changes(void)
{
	HyCalibrationLimits l;
	int64_t runs;
	int op;

	stage_begin(1);
	l = limits();
	CHECK_INT(hy_calibrate(stage.executor, &l, &runs), HY_OK);
	for (op = 0; op < HY_OP_COUNT; op++)
	{
		CHECK_INT(hy_executor_counters(stage.executor, 0, (HyOp) op)->calls, 0);
		CHECK_INT(hy_executor_counters(stage.executor, 1, (HyOp) op)->calls, 0);
		CHECK_INT(hy_executor_breaker(stage.executor, 1, (HyOp) op)->count, 0);
	}
	CHECK_INT(hy_executor_events(stage.executor), 0);
	stage_end();
}

/* A device that fails is left out from then on; the CPU is measured all the same. */
static void
test_failing_device(void)
{
	HyCalibrationLimits l;
	HyShape shape = shape_of(768, 3000);
	int64_t runs;

	stage_begin(1);
	l = limits();
	stage.script[0] = HY_TRANSIENT;
	stage.always_fail = true;
	CHECK_INT(hy_calibrate(stage.executor, &l, &runs), HY_OK);
	CHECK_INT(stage.submits, 1);
	CHECK(hy_tracker_predict(stage.executor->tracker, &shape, 0) > 0);
	CHECK(hy_tracker_predict(stage.executor->tracker, &shape, 1) < 0);
	stage_end();

	stage_begin(1);
	l = limits();
	stage.open_status = HY_DEVICE_GONE;
	CHECK_INT(hy_calibrate(stage.executor, &l, &runs), HY_OK);
	CHECK_INT(stage.submits, 0);
	CHECK(runs > 200);
	stage_end();
}

/* What was kept of it teaches another executor, unless that has seen for itself. */
static void
test_kept_and_loaded(void)
{
	HyCalibrationLimits l;
	HyShape shape = shape_of(768, 3000);
	HyTrackerRow row;
	HyModelState model = {.weight = 0};
	int64_t runs;
	int32_t i;
	uint64_t epoch;

	stage_begin(1);
	l = limits();
	CHECK_INT(hy_calibrate(stage.executor, &l, &runs), HY_OK);
	for (i = 0; hy_tracker_row(stage.executor->tracker, i, &row); i++)
	{
		if (row.device == 0 && hy_shape_kind(&row.shape) == hy_shape_kind(&shape))
			model = row.model;
	}
	CHECK(model.weight > 0);
	CHECK(!hy_executor_import(stage.executor, &shape, 0, &model));
	epoch = hy_executor_epoch(stage.executor);
	CHECK(epoch > 0);
	hy_executor_reset(stage.executor);
	CHECK(hy_executor_epoch(stage.executor) > epoch);
	CHECK(hy_tracker_predict(stage.executor->tracker, &shape, 0) < 0);
	CHECK(hy_executor_import(stage.executor, &shape, 0, &model));
	CHECK_NEAR(hy_tracker_predict(stage.executor->tracker, &shape, 0), 300000, 60000);
	CHECK(!hy_executor_import(stage.executor, &shape, 0, &model));
	/* nonsense is not taken */
	model.response[0] = NAN;
	CHECK(!hy_executor_import(stage.executor, &shape, 1, &model));
	CHECK(hy_tracker_predict(stage.executor->tracker, &shape, 1) < 0);
	stage_end();
}

static void
test_cancel(void)
{
	HyCalibrationLimits l;
	int64_t runs;

	stage_begin(1);
	l = limits();
	stage.cancel.cancel_at = 50;
	CHECK_INT(hy_calibrate(stage.executor, &l, &runs), HY_CANCELLED);
	CHECK(runs < 50);
	stage_end();
}

static void
test_no_memory(void)
{
	HyCalibrationLimits l;
	int64_t runs;

	stage_begin(1);
	l = limits();
	stage.memory.fail_at = stage.memory.calls + 1;
	CHECK_INT(hy_calibrate(stage.executor, &l, &runs), HY_NOMEM);
	CHECK_INT(runs, 0);
	stage_end();
}

int
main(void)
{
	UNIT_RUN(test_both_sides_are_known);
	UNIT_RUN(test_nothing_else_changes);
	UNIT_RUN(test_failing_device);
	UNIT_RUN(test_kept_and_loaded);
	UNIT_RUN(test_cancel);
	UNIT_RUN(test_no_memory);
	return unit_finish();
}
