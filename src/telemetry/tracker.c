/*
 * tracker.c
 *		The function behind hybrid_tracker: what was learned of each kind of batch on each side.
 *
 * What all sessions learned lies in the shared table as models; they are read into a tracker that
 * lives as long as the call, one for each device with the CPU beside it, so that both views of the
 * matter are told by the same code.
 */
#include "postgres.h"

#include "dispatch/explain.h"
#include "fmgr.h"
#include "funcapi.h"
#include "server/executor.h"
#include "server/memory.h"
#include "server/report.h"
#include "server/shared.h"
#include "telemetry/rows.h"

PG_FUNCTION_INFO_V1(hybrid_get_tracker);

static void cluster_tracker(FunctionCallInfo fcinfo, const HyExecutor *executor);
static void import_models(HyTracker *tracker, int32 table_device, int32 device);
static int32 table_cpu(void);
static void backend_tracker(FunctionCallInfo fcinfo, HyExecutor *executor);
static void store_history(FunctionCallInfo fcinfo, int32 device, const HyTableDevice *key,
                          const HyHistory *history);

Datum
hybrid_get_tracker(PG_FUNCTION_ARGS)
{
	HyExecutor *executor = hybrid_viewed_executor();

	InitMaterializedSRF(fcinfo, 0);
	if (hybrid_sees_cluster())
		cluster_tracker(fcinfo, executor);
	else
		backend_tracker(fcinfo, executor);
	return (Datum) 0;
}

static void
cluster_tracker(FunctionCallInfo fcinfo, const HyExecutor *executor)
{
	const HySharedTable *table = hybrid_shared_table();
	const HyTableLock *lock = &hybrid_shared_host()->lock;
	HyAllocator allocator = hybrid_allocator(CurrentMemoryContext);
	int32 cpu = table_cpu();
	int32 at;

	for (at = 0; at < hy_table_devices(table); at++)
	{
		HyTracker *tracker = hy_tracker_create(&allocator, HY_TRACKER_MAX_WINDOW);
		HyTableDevice key;
		HyHistory history;
		int32 i;

		if (tracker == NULL)
			hybrid_check(HY_NOMEM, "show what was learned");
		hy_table_device(table, at, &key);
		if (cpu >= 0)
			import_models(tracker, cpu, 0);
		if (at != cpu)
			import_models(tracker, at, 1);
		for (i = 0; hy_tracker_history(tracker, i, &history); i++)
		{
			HyTableModel model;
			HyBreaker breaker;

			if (history.row.device != (at == cpu ? 0 : 1) ||
			    !hy_table_find_model(table, lock, at, hy_shape_kind(&history.row.shape), &model))
				continue;
			hy_table_breaker(table, lock, at, history.row.shape.op, &breaker);
			history.row.observations = model.samples;
			history.row.samples = model.state.weight;
			history.breaker = breaker.state;
			history.success_rate = hy_breaker_rate(&breaker);
			store_history(fcinfo, hybrid_own_device(executor, at), &key, &history);
		}
		hy_tracker_destroy(tracker);
	}
}

/* import_models: all that the table knows of one of its devices. */
static void
import_models(HyTracker *tracker, int32 table_device, int32 device)
{
	const HySharedTable *table = hybrid_shared_table();
	int32 i;

	for (i = 0; i < hy_table_models(table); i++)
	{
		HyTableModel model;

		if (hy_table_model(table, &hybrid_shared_host()->lock, i, &model) &&
		    model.device == table_device)
			(void) hy_tracker_import(tracker, &model.shape, device, &model.state);
	}
}

/* table_cpu: the CPU's number in the table, -1 before any session was there. */
static int32
table_cpu(void)
{
	const HySharedTable *table = hybrid_shared_table();
	int32 i;

	for (i = 0; i < hy_table_devices(table); i++)
	{
		HyTableDevice key;

		hy_table_device(table, i, &key);
		if (strcmp(key.backend, "cpu") == 0)
			return i;
	}
	return -1;
}

static void
backend_tracker(FunctionCallInfo fcinfo, HyExecutor *executor)
{
	HyHistory history;
	int32 i;

	for (i = 0; hy_executor_history(executor, i, &history); i++)
	{
		HyDeviceState state;
		HyTableDevice key = {.number = 0};

		hy_executor_device(executor, history.row.device, &state);
		strlcpy(key.backend, state.backend, sizeof(key.backend));
		strlcpy(key.name, state.info.name, sizeof(key.name));
		key.virtual_time = state.info.virtual_time;
		store_history(fcinfo, history.row.device, &key, &history);
	}
}

static void
store_history(FunctionCallInfo fcinfo, int32 device, const HyTableDevice *key,
              const HyHistory *history)
{
	const HyTrackerRow *kind = &history->row;
	const HyShape *shape = &kind->shape;
	bool typed = shape->op != HY_OP_SPREAD;
	HybridRow row = {.columns = 0};

	hybrid_row_put_text(&row, hybrid_scope());
	if (device >= 0)
		hybrid_row_put(&row, Int32GetDatum(device));
	else
		hybrid_row_put_null(&row);
	hybrid_row_put_text(&row, key->backend);
	hybrid_row_put_text(&row, key->name);
	hybrid_row_put_text(&row, hy_op_name(shape->op));
	hybrid_row_put_text(&row, typed ? hy_dtype_name(shape->dtype) : NULL);
	hybrid_row_put_text(&row, typed ? hy_metric_name(shape->metric) : NULL);
	hybrid_row_put(&row, Int32GetDatum(kind->dims_low));
	hybrid_row_put(&row, Int32GetDatum(kind->dims_high));
	hybrid_row_put(&row, BoolGetDatum(shape->resident));
	hybrid_row_put(&row, Int64GetDatum(kind->observations));
	hybrid_row_put(&row, Float8GetDatum(kind->samples));
	if (kind->known)
	{
		hybrid_row_put_us(&row, kind->fit.launch_ns);
		hybrid_row_put(&row, Float8GetDatum(kind->fit.work_ns));
		hybrid_row_put(&row, Float8GetDatum(kind->fit.byte_ns));
		hybrid_row_put(&row, Float8GetDatum(kind->fit.serial_ns));
	}
	else
	{
		hybrid_row_put_null(&row);
		hybrid_row_put_null(&row);
		hybrid_row_put_null(&row);
		hybrid_row_put_null(&row);
	}
	hybrid_row_put(&row, Int64GetDatum(shape->queries));
	hybrid_row_put(&row, Int64GetDatum(shape->targets));
	hybrid_row_put(&row, Int32GetDatum(shape->k));
	hybrid_row_put_us(&row, history->predicted_ns);
	if (history->speedup >= 0)
		hybrid_row_put(&row, Float8GetDatum(history->speedup));
	else
		hybrid_row_put_null(&row);
	if (history->break_even >= 0)
	{
		HyShape even = *shape;

		even.targets = history->break_even;
		hybrid_row_put(&row, Int64GetDatum(hy_shape_items(&even)));
	}
	else
		hybrid_row_put_null(&row);
	hybrid_row_put_text(&row, hy_breaker_state_name(history->breaker));
	hybrid_row_put(&row, Float8GetDatum(history->success_rate));
	hybrid_row_put(&row, BoolGetDatum(key->virtual_time != 0));
	hybrid_row_store(fcinfo, &row);
}
