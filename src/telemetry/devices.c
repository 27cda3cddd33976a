/*
 * devices.c
 *		Implements the views hybrid_devices and hybrid_capabilities.
 *
 * Both show the devices of this session, because sessions may load different plug-ins. A plug-in
 * without a usable device has a row in hybrid_devices only.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "core/distance.h"
#include "server/executor.h"
#include "server/shared.h"
#include "telemetry/rows.h"

PG_FUNCTION_INFO_V1(hybrid_get_devices);
PG_FUNCTION_INFO_V1(hybrid_get_capabilities);

static const char *device_state(const HyDeviceState *state);
static void
put_contexts(HybridRow *row, const HyExecutor *executor, int32 device, const HyDeviceState *state);
static void put_load(HybridRow *row, int32 device, const HyDeviceState *state);
static void put_resident(HybridRow *row, int32 device, const HyResidencyCounts *counts);
static void store_capability(FunctionCallInfo fcinfo, const HyExecutor *executor, int32 device,
                             const HyShape *shape);
static int32 largest_dims(const HyExecutor *executor, int32 device, HyShape shape);

Datum
hybrid_get_devices(PG_FUNCTION_ARGS)
{
	HyExecutor *executor = hybrid_viewed_executor();
	int32 device;

	InitMaterializedSRF(fcinfo, 0);
	for (device = 0; device < hy_executor_devices(executor); device++)
	{
		HyDeviceState state;
		HybridRow row = {.columns = 0};

		hy_executor_device(executor, device, &state);
		hybrid_row_put(&row, Int32GetDatum(device));
		hybrid_row_put_text(&row, state.backend);
		hybrid_row_put(&row, Int32GetDatum(state.number));
		hybrid_row_put_text(&row, state.info.name);
		hybrid_row_put_text(&row, state.info.architecture);
		hybrid_row_put(&row, Int32GetDatum(state.info.cores));
		hybrid_row_put(&row, Int64GetDatum((int64) state.info.memory_total));
		hybrid_row_put_if(&row, state.info.memory_free > 0,
		                  Int64GetDatum((int64) state.info.memory_free));
		hybrid_row_put(&row, Int64GetDatum((int64) state.memory_used));
		hybrid_row_put_text(&row, device_state(&state));
		hybrid_row_put_text(&row, state.why == NULL && state.left_out
		                              ? "hybrid.gpu_device does not name it"
		                              : state.why);
		hybrid_row_put(&row, BoolGetDatum(state.info.virtual_time));
		put_contexts(&row, executor, device, &state);
		put_load(&row, device, &state);
		put_resident(&row, device, &state.resident);
		hybrid_row_store(fcinfo, &row);
	}
	return (Datum) 0;
}

Datum
hybrid_get_capabilities(PG_FUNCTION_ARGS)
{
	HyExecutor *executor = hybrid_viewed_executor();
	int32 device;

	InitMaterializedSRF(fcinfo, 0);
	for (device = 0; device < hy_executor_devices(executor); device++)
	{
		HyShape shape = {.queries = 1, .targets = 1};
		HyDeviceState state;
		int op;
		int dtype;
		int metric;

		/*
		 * A device that was never available has no capabilities. hybrid_devices shows why it is
		 * unavailable.
		 */
		hy_executor_device(executor, device, &state);
		if (state.info.name[0] == '\0')
			continue;
		for (op = 0; op < HY_OP_SPREAD; op++)
		{
			shape.op = (HyOp) op;
			shape.k = hy_op_has_k(shape.op) ? 1 : 0;
			for (dtype = 0; dtype < HY_DTYPE_COUNT; dtype++)
			{
				shape.dtype = (HyDtype) dtype;
				for (metric = 0; metric < HY_METRIC_COUNT; metric++)
				{
					shape.metric = (HyMetric) metric;
					store_capability(fcinfo, executor, device, &shape);
				}
			}
		}
		shape = (HyShape){.op = HY_OP_SPREAD, .queries = 1, .targets = 1};
		store_capability(fcinfo, executor, device, &shape);
	}
	return (Datum) 0;
}

static const char *
device_state(const HyDeviceState *state)
{
	/* a device that was never available has no name */
	if (state->info.name[0] == '\0')
		return "unavailable";
	if (state->latched)
		return "given up";
	if (state->left_out)
		return "left out";
	return state->open ? "open" : "closed";
}

/*
 * put_contexts: add the number of open contexts, and whether hybrid.gpu_max_contexts is enforced
 * across sessions.
 */
static void
put_contexts(HybridRow *row, const HyExecutor *executor, int32 device, const HyDeviceState *state)
{
	int32 shared = hy_executor_table_device(executor, device);

	if (device == 0 || state->info.name[0] == '\0')
	{
		hybrid_row_put_null(row);
		hybrid_row_put_null(row);
	}
	else if (shared != HY_TABLE_NO_DEVICE)
	{
		hybrid_row_put(row, Int32GetDatum(hy_table_contexts(hybrid_shared_table(), shared)));
		hybrid_row_put_text(row, "enforced");
	}
	else
	{
		hybrid_row_put(row, Int32GetDatum(state->open ? 1 : 0));
		hybrid_row_put_text(row, "not enforced");
	}
}

/* put_load: add the load, the number of tasks that wait or run, and their predicted time. */
static void
put_load(HybridRow *row, int32 device, const HyDeviceState *state)
{
	bool there = state->info.name[0] != '\0';
	bool queues = there && device != 0;

	/*
	 * The CPU's load is known after its first measurement. A device's load is known if the device
	 * exists.
	 */
	hybrid_row_put_if(row, device == 0 ? state->load > 0 : there, Float8GetDatum(state->load));
	hybrid_row_put_if(row, queues, Int32GetDatum(state->queue));
	hybrid_row_put_us(row, queues ? state->queue_ns : -1);
}

/*
 * put_resident: add the counts of the data that this session keeps on the device; for the CPU,
 * NULLs.
 */
static void
put_resident(HybridRow *row, int32 device, const HyResidencyCounts *counts)
{
	bool there = device != 0;

	hybrid_row_put_if(row, there, Int64GetDatum((int64) counts->bytes));
	hybrid_row_put_if(row, there, Int64GetDatum(counts->units));
	hybrid_row_put_if(row, there, Int64GetDatum(counts->hits));
	hybrid_row_put_if(row, there, Int64GetDatum(counts->misses));
	hybrid_row_put_if(row, there, Int64GetDatum(counts->evictions));
}

static void
store_capability(FunctionCallInfo fcinfo, const HyExecutor *executor, int32 device,
                 const HyShape *shape)
{
	bool typed = shape->op != HY_OP_SPREAD;
	int32 dims = typed ? largest_dims(executor, device, *shape) : 0;
	HyShape asked = *shape;
	HyDeviceState state;
	HyCaps caps;
	HybridRow row = {.columns = 0};

	asked.dims = typed ? Max(dims, 1) : 0;
	caps = hy_executor_caps(executor, device, &asked);
	hy_executor_device(executor, device, &state);
	hybrid_row_put(&row, Int32GetDatum(device));
	hybrid_row_put_text(&row, state.backend);
	hybrid_row_put_text(&row, hy_op_name(shape->op));
	hybrid_row_put_text(&row, typed ? hy_dtype_name(shape->dtype) : NULL);
	hybrid_row_put_text(&row, typed ? hy_metric_name(shape->metric) : NULL);
	hybrid_row_put(&row, BoolGetDatum(caps.ok));
	hybrid_row_put_if(&row, caps.ok && typed, Int32GetDatum(dims));
	/* max_targets is NULL if only memory limits the number of targets */
	hybrid_row_put_if(&row, caps.ok && caps.max_targets < INT64_MAX,
	                  Int64GetDatum(caps.max_targets));
	hybrid_row_put_if(&row, caps.ok && hy_op_has_k(shape->op) && caps.max_k < INT32_MAX,
	                  Int32GetDatum(caps.max_k));
	hybrid_row_put_if(&row, caps.ok, BoolGetDatum(caps.numeric_class == HY_CLASS_EXACT));
	hybrid_row_put_text(&row, caps.ok ? NULL : caps.reason);
	hybrid_row_store(fcinfo, &row);
}

/*
 * largest_dims: return the largest number of dimensions that the device accepts, or 0 if it accepts
 * none. Assumes that the device then accepts every smaller number, too.
 */
static int32
largest_dims(const HyExecutor *executor, int32 device, HyShape shape)
{
	int32 able = 0;
	int32 unable = HY_MAX_DIMS + 1;

	while (unable - able > 1)
	{
		/* try HY_MAX_DIMS first, because it is almost always accepted */
		shape.dims = able == 0 && unable > HY_MAX_DIMS ? HY_MAX_DIMS : able + (unable - able) / 2;
		if (hy_executor_caps(executor, device, &shape).ok)
			able = shape.dims;
		else
			unable = shape.dims;
	}
	return able;
}
