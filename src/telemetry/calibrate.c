/*
 * calibrate.c
 *		Implements hybrid_run_calibration, which measures the CPU and the devices and returns the
 *		rows that hybrid_calibrate() stores.
 */
#include "postgres.h"

#include "dispatch/tools/calibration.h"
#include "fmgr.h"
#include "funcapi.h"
#include "server/executor.h"
#include "server/memory.h"
#include "server/priors.h"
#include "server/report.h"
#include "server/threads.h"
#include "telemetry/rows.h"

PG_FUNCTION_INFO_V1(hybrid_run_calibration);

static void store_prior(FunctionCallInfo fcinfo, const HyExecutor *executor, const HyPrior *prior);

Datum
hybrid_run_calibration(PG_FUNCTION_ARGS)
{
	HyExecutor *executor = hybrid_viewed_executor();
	HyAllocator allocator = hybrid_allocator(CurrentMemoryContext);
	HyCalibrationLimits limits = {.allocator = &allocator, .cancel = &hybrid_cancel};
	HyPrior *priors = (HyPrior *) palloc(HY_CALIBRATION_PRIORS * sizeof(HyPrior));
	uint32_t unfinished;
	HyStatus status;
	int32_t count;
	int32_t i;

	InitMaterializedSRF(fcinfo, 0);
	status = hy_calibrate(executor, &limits, priors, &count, &unfinished);
	hybrid_threads_check();
	hybrid_check(status, "calibrate the dispatcher");
	for (i = 0; i < hy_executor_devices(executor); i++)
	{
		HyDeviceState state;

		hy_executor_device(executor, i, &state);
		if (unfinished >> i & 1)
			ereport(
				NOTICE,
				(errmsg("device %d (%s) was not measured in full", (int) i, state.backend),
			     errdetail(
					 "Its batches exceeded the time limit of a calibration.  For batches that were "
					 "not measured, nothing changes.")));
	}
	for (i = 0; i < count; i++)
	{
		(void) hy_executor_import_prior(executor, &priors[i]);
		store_prior(fcinfo, executor, &priors[i]);
	}
	return (Datum) 0;
}

static void
store_prior(FunctionCallInfo fcinfo, const HyExecutor *executor, const HyPrior *prior)
{
	HyCoefficients fit;
	HyDeviceState state;
	HybridRow row = {.columns = 0};

	if (!hy_model_solve(&prior->model, prior->device == 0 ? HY_LAUNCH_NONE : HY_LAUNCH_UNKNOWN,
	                    &fit))
		return;
	hy_executor_device(executor, prior->device, &state);
	hybrid_row_put_text(&row, state.backend);
	hybrid_row_put(&row, Int32GetDatum(state.number));
	hybrid_row_put_text(&row, state.info.name);
	hybrid_row_put_text(&row, state.info.architecture);
	hybrid_row_put_text(&row, hy_op_name(prior->shape.op));
	hybrid_row_put_text(&row, hy_dtype_name(prior->shape.dtype));
	hybrid_row_put_text(&row, hy_metric_name(prior->shape.metric));
	hybrid_row_put(&row, Int32GetDatum(prior->shape.dims));
	hybrid_row_put(&row, Int32GetDatum(prior->shape.threads));
	hybrid_row_put(&row, Float8GetDatum(prior->model.weight));
	hybrid_row_put_us(&row, fit.launch_ns);
	hybrid_row_put(&row, Float8GetDatum(fit.work_ns));
	hybrid_row_put(&row, Float8GetDatum(fit.byte_ns));
	hybrid_row_put(&row, Float8GetDatum(fit.serial_ns));
	hybrid_row_put(&row, hybrid_prior_state(prior));
	hybrid_row_store(fcinfo, &row);
}
