/*
 * calibrate.c
 *		hybrid_run_calibration: measures, and hands out what hybrid_calibrate() keeps.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "dispatch/calibration.h"
#include "dispatch/share.h"
#include "fmgr.h"
#include "funcapi.h"
#include "server/executor.h"
#include "server/memory.h"
#include "server/priors.h"
#include "server/report.h"
#include "telemetry/rows.h"
#include "utils/array.h"

PG_FUNCTION_INFO_V1(hybrid_run_calibration);

static void
store_prior(FunctionCallInfo fcinfo, const HyExecutor *executor, const HyTrackerRow *kind);

Datum
hybrid_run_calibration(PG_FUNCTION_ARGS)
{
	HyExecutor *executor = hybrid_viewed_executor();
	HyAllocator allocator = hybrid_allocator(CurrentMemoryContext);
	HyCalibrationLimits limits = {.allocator = &allocator, .cancel = &hybrid_cancel};
	HyTrackerRow kind;
	int64_t runs;
	int32 i;

	InitMaterializedSRF(fcinfo, 0);
	hybrid_check(hy_calibrate(executor, &limits, &runs), "calibrate the dispatcher");
	/* the other sessions learn of it at once */
	hy_executor_flush(executor);
	for (i = 0; hy_tracker_row(hy_executor_tracker(executor), i, &kind); i++)
	{
		if (kind.known && !kind.cold && !kind.shape.resident)
			store_prior(fcinfo, executor, &kind);
	}
	return (Datum) 0;
}

static void
store_prior(FunctionCallInfo fcinfo, const HyExecutor *executor, const HyTrackerRow *kind)
{
	Datum numbers[HY_MODEL_NUMBERS];
	double values[HY_MODEL_NUMBERS];
	HyDeviceState state;
	HybridRow row = {.columns = 0};
	size_t i;

	memcpy(values, &kind->model, sizeof(values));
	for (i = 0; i < HY_MODEL_NUMBERS; i++)
		numbers[i] = Float8GetDatum(values[i]);
	hy_executor_device(executor, kind->device, &state);
	hybrid_row_put_text(&row, state.backend);
	hybrid_row_put(&row, Int32GetDatum(state.number));
	hybrid_row_put_text(&row, state.info.name);
	hybrid_row_put_text(&row, state.info.architecture);
	hybrid_row_put_text(&row, hy_op_name(kind->shape.op));
	hybrid_row_put_text(&row, hy_dtype_name(kind->shape.dtype));
	hybrid_row_put_text(&row, hy_metric_name(kind->shape.metric));
	hybrid_row_put(&row, Int32GetDatum(kind->dims_low));
	hybrid_row_put(&row, Float8GetDatum(kind->samples));
	hybrid_row_put_us(&row, kind->fit.launch_ns);
	hybrid_row_put(&row, Float8GetDatum(kind->fit.work_ns));
	hybrid_row_put(&row, Float8GetDatum(kind->fit.byte_ns));
	hybrid_row_put(
		&row, PointerGetDatum(construct_array(numbers, (int) HY_MODEL_NUMBERS, FLOAT8OID,
	                                          sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE)));
	hybrid_row_store(fcinfo, &row);
}
