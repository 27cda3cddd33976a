/*
 * tracker.c
 *		Implements the view hybrid_tracker, which shows the cost model of each kind of batch on
 *		each device.
 *
 * The models of all sessions are in the shared table. For each device, its models and those of the
 * CPU are imported into a temporary tracker. So the same code shows the models of the cluster and
 * those of the session. Calibration results are not in the shared table, because every session
 * reads them itself. They are shown for kinds that no session has run yet.
 */
#include "postgres.h"

#include "dispatch/model/tracker_forecast.h"
#include "dispatch/run/flush.h"
#include "dispatch/tools/explain.h"
#include "fmgr.h"
#include "funcapi.h"
#include "server/memory.h"
#include "server/priors.h"
#include "server/report.h"
#include "telemetry/rows.h"

PG_FUNCTION_INFO_V1(hybrid_get_tracker);

/* Priors: all calibration results for this session's devices. */
typedef struct Priors
{
	HyPrior *prior;
	int count;
	int room;
} Priors;

static void keep_prior(void *arg, const HyPrior *prior);
static void table_history(FunctionCallInfo fcinfo, const HybridView *view, const Priors *priors,
                          int32 at, const HybridViewedDevice *device);
static void import_models(HyTracker *tracker, const HybridView *view, const Priors *priors,
                          int32 at, int32 device);
static int32 table_cpu(const HybridView *view);
static void store_breakers(FunctionCallInfo fcinfo, const HybridView *view, int32 at,
                           const HybridViewedDevice *device, uint32 told);
static void store_history(FunctionCallInfo fcinfo, const HybridView *view,
                          const HybridViewedDevice *device, const HyHistory *history);

Datum
hybrid_get_tracker(PG_FUNCTION_ARGS)
{
	HybridView view;
	Priors priors = {.prior = NULL};
	HyHistory history;
	int32 at;
	int32 i;

	hybrid_view_begin(fcinfo, &view);
	if (view.table != NULL)
		(void) hybrid_read_priors(view.executor, keep_prior, &priors);
	for (at = 0; at < view.devices; at++)
	{
		HybridViewedDevice device;
		uint32 told = 0; /* bit set of the operations that have a row already */

		hybrid_view_device(&view, at, &device);
		if (view.table != NULL)
		{
			table_history(fcinfo, &view, &priors, at, &device);
			continue;
		}
		for (i = 0; hy_executor_history(view.executor, i, &history); i++)
		{
			if (history.row.device != at)
				continue;
			told |= UINT32_C(1) << history.row.shape.op;
			store_history(fcinfo, &view, &device, &history);
		}
		store_breakers(fcinfo, &view, at, &device, told);
	}
	return (Datum) 0;
}

static void
keep_prior(void *arg, const HyPrior *prior)
{
	Priors *priors = (Priors *) arg;

	if (priors->count == priors->room)
	{
		priors->room = priors->room == 0 ? HY_CALIBRATION_PRIORS : 2 * priors->room;
		priors->prior = priors->prior == NULL
		                    ? palloc(priors->room * sizeof(HyPrior))
		                    : repalloc(priors->prior, priors->room * sizeof(HyPrior));
	}
	priors->prior[priors->count++] = *prior;
}

/* table_history: add the rows for device number `at` of the shared table. */
static void
table_history(FunctionCallInfo fcinfo, const HybridView *view, const Priors *priors, int32 at,
              const HybridViewedDevice *device)
{
	HyAllocator allocator = hybrid_allocator(CurrentMemoryContext);
	HyTracker *tracker = hy_tracker_create(&allocator, HY_TRACKER_MAX_WINDOW);
	int32 cpu = table_cpu(view);
	HyHistory history;
	uint32 told = 0;
	int32 i;

	if (tracker == NULL)
		hybrid_check(HY_NOMEM, "show what was learned");
	if (cpu >= 0)
		import_models(tracker, view, priors, cpu, 0);
	if (at != cpu)
		import_models(tracker, view, priors, at, 1);
	for (i = 0; hy_tracker_history(tracker, i, &history); i++)
	{
		const HyShape *shape = &history.row.shape;
		HyTableModel model;
		HyBreaker breaker;
		bool found;

		if (history.row.device != (at == cpu ? 0 : 1))
			continue;
		hy_lock(view->lock);
		found =
			hy_table_find_model(view->table, at, hy_shape_model(shape, history.row.device), &model);
		hy_table_breaker(view->table, at, shape->op, &breaker);
		hy_unlock(view->lock);
		/* a row without a model comes from a calibration, or its model was replaced just now */
		if (found)
		{
			history.row.observations = model.samples;
			history.row.samples = model.state.weight;
		}
		else if (!history.row.prior)
			continue;
		history.breaker = breaker.state;
		history.success_rate = hy_breaker_rate(&breaker);
		told |= UINT32_C(1) << shape->op;
		store_history(fcinfo, view, device, &history);
	}
	store_breakers(fcinfo, view, at, device, told);
	hy_tracker_destroy(tracker);
}

/*
 * import_models: import the models of device number `at` of the shared table into the tracker, as
 * models of its device `device`. Kinds without a model get their calibration results.
 */
static void
import_models(HyTracker *tracker, const HybridView *view, const Priors *priors, int32 at,
              int32 device)
{
	HyTableModel model;
	int32 i;

	for (i = 0; i < hy_table_models(view->table); i++)
	{
		bool found;

		hy_lock(view->lock);
		found = hy_table_model(view->table, i, &model);
		hy_unlock(view->lock);
		if (found && model.device == at)
			(void) hy_tracker_import(tracker, &model.shape, device, &model.state);
	}
	for (i = 0; i < priors->count; i++)
	{
		const HyPrior *prior = &priors->prior[i];

		if (hy_executor_table_device(view->executor, prior->device) == at &&
		    !hy_tracker_knows(tracker, &prior->shape, device))
			(void) hy_tracker_import_prior(tracker, &prior->shape, device, &prior->model);
	}
}

/*
 * table_cpu: return the CPU's number in the shared table, -1 if no session has registered the CPU
 * yet.
 */
static int32
table_cpu(const HybridView *view)
{
	HyTableDevice key;
	int32 i;

	for (i = 0; i < view->devices; i++)
	{
		hy_table_device(view->table, i, &key);
		if (strcmp(key.backend, "cpu") == 0)
			return i;
	}
	return -1;
}

static void
store_history(FunctionCallInfo fcinfo, const HybridView *view, const HybridViewedDevice *device,
              const HyHistory *history)
{
	const HyTrackerRow *kind = &history->row;
	const HyShape *shape = &kind->shape;
	HyShape even = *shape;
	bool typed = shape->op != HY_OP_SPREAD;
	HybridRow row = {.columns = 0};

	hybrid_view_put(view, device, &row);
	hybrid_row_put_text(&row, hy_op_name(shape->op));
	hybrid_row_put_text(&row, typed ? hy_dtype_name(shape->dtype) : NULL);
	hybrid_row_put_text(&row, typed ? hy_metric_name(shape->metric) : NULL);
	hybrid_row_put(&row, Int32GetDatum(kind->dims_low));
	hybrid_row_put(&row, Int32GetDatum(kind->dims_high));
	hybrid_row_put(&row, BoolGetDatum(shape->resident));
	hybrid_row_put_if(&row, kind->device == 0, Int32GetDatum(shape->threads));
	hybrid_row_put(&row, Int64GetDatum(kind->observations));
	hybrid_row_put(&row, Float8GetDatum(kind->samples));
	hybrid_row_put(&row, BoolGetDatum(kind->prior));
	hybrid_row_put_us(&row, kind->known ? kind->fit.launch_ns : -1);
	hybrid_row_put_if(&row, kind->known, Float8GetDatum(kind->fit.work_ns));
	hybrid_row_put_if(&row, kind->known, Float8GetDatum(kind->fit.byte_ns));
	hybrid_row_put_if(&row, kind->known, Float8GetDatum(kind->fit.serial_ns));
	hybrid_row_put(&row, Int64GetDatum(shape->queries));
	hybrid_row_put(&row, Int64GetDatum(shape->targets));
	hybrid_row_put(&row, Int32GetDatum(shape->k));
	hybrid_row_put_us(&row, history->predicted_ns);
	hybrid_row_put_if(&row, history->speedup >= 0, Float8GetDatum(history->speedup));
	even.targets = history->break_even;
	hybrid_row_put_if(&row, history->break_even >= 0, Int64GetDatum(hy_shape_items(&even)));
	hybrid_row_put_text(&row, hy_breaker_state_name(history->breaker));
	hybrid_row_put(&row, Float8GetDatum(history->success_rate));
	hybrid_row_put(&row, BoolGetDatum(device->key.virtual_time != 0));
	hybrid_row_store(fcinfo, &row);
}

/*
 * store_breakers: add a row for each operation that the device has tried and that has no row yet
 * (`told`).
 */
static void
store_breakers(FunctionCallInfo fcinfo, const HybridView *view, int32 at,
               const HybridViewedDevice *device, uint32 told)
{
	int op;

	for (op = 0; op < HY_OP_COUNT; op++)
	{
		HybridRow row = {.columns = 0};
		HyBreaker breaker;
		int i;

		if (told >> op & 1)
			continue;
		if (view->table != NULL)
		{
			hy_lock(view->lock);
			hy_table_breaker(view->table, at, (HyOp) op, &breaker);
			hy_unlock(view->lock);
		}
		else
			breaker = *hy_executor_breaker(view->executor, at, (HyOp) op);
		if (breaker.state == HY_BREAKER_CLOSED && breaker.count == 0)
			continue;
		hybrid_view_put(view, device, &row);
		hybrid_row_put_text(&row, hy_op_name((HyOp) op));
		for (i = 0; i < 6; i++) /* columns dtype .. threads */
			hybrid_row_put_null(&row);
		hybrid_row_put(&row, Int64GetDatum(0));
		hybrid_row_put(&row, Float8GetDatum(0));
		hybrid_row_put(&row, BoolGetDatum(false));
		for (i = 0; i < 10; i++) /* columns launch_us .. break_even */
			hybrid_row_put_null(&row);
		hybrid_row_put_text(&row, hy_breaker_state_name(breaker.state));
		hybrid_row_put(&row, Float8GetDatum(hy_breaker_rate(&breaker)));
		hybrid_row_put(&row, BoolGetDatum(device->key.virtual_time != 0));
		hybrid_row_store(fcinfo, &row);
	}
}
