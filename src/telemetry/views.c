/*
 * views.c
 *		The functions behind hybrid_devices, hybrid_stats and hybrid_events.
 *
 * All show the calling backend's own executor.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "server/executor.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(hybrid_get_devices);
PG_FUNCTION_INFO_V1(hybrid_get_stats);
PG_FUNCTION_INFO_V1(hybrid_get_events);
PG_FUNCTION_INFO_V1(hybrid_reset_stats);

/* Row: the columns of one output row, filled from the left. */
typedef struct Row
{
	Datum values[32];
	bool nulls[32];
	int columns;
} Row;

static void put(Row *row, Datum value);
static void put_null(Row *row);
static void put_text(Row *row, const char *text);
static void put_us(Row *row, double ns);
static void store(FunctionCallInfo fcinfo, Row *row);
static const char *device_state(const HyDeviceState *state);

Datum
hybrid_get_devices(PG_FUNCTION_ARGS)
{
	HyExecutor *executor = hybrid_executor();
	int32 device;

	InitMaterializedSRF(fcinfo, 0);
	for (device = 0; device < hy_executor_devices(executor); device++)
	{
		HyDeviceState state;
		Row row = {.columns = 0};

		hy_executor_device(executor, device, &state);
		put(&row, Int32GetDatum(device));
		put_text(&row, state.backend);
		put_text(&row, state.info.name);
		put_text(&row, state.info.architecture);
		put(&row, Int32GetDatum(state.info.cores));
		put(&row, Int64GetDatum((int64) state.info.memory_total));
		/* nobody asks the machine what the CPU's share of its memory is */
		if (state.info.memory_free > 0)
			put(&row, Int64GetDatum((int64) state.info.memory_free));
		else
			put_null(&row);
		put(&row, Int64GetDatum((int64) state.memory_used));
		put_text(&row, device_state(&state));
		put_text(&row, state.why);
		put(&row, BoolGetDatum(state.info.virtual_time));
		store(fcinfo, &row);
	}
	return (Datum) 0;
}

Datum
hybrid_get_stats(PG_FUNCTION_ARGS)
{
	HyExecutor *executor = hybrid_executor();
	int32 device;
	int op;

	InitMaterializedSRF(fcinfo, 0);
	for (device = 0; device < hy_executor_devices(executor); device++)
	{
		HyDeviceState state;

		hy_executor_device(executor, device, &state);
		for (op = 0; op < HY_OP_COUNT; op++)
		{
			const HyCounters *counters = hy_executor_counters(executor, device, (HyOp) op);
			/* a cancel says nothing of whoever was cancelled */
			int64 failures = counters->failures - counters->by_status[HY_CANCELLED];
			int64 attempts = counters->calls + failures;
			Row row = {.columns = 0};

			if (attempts == 0)
				continue;
			put(&row, Int32GetDatum(device));
			put_text(&row, state.backend);
			put_text(&row, hy_op_name((HyOp) op));
			put(&row, Int64GetDatum(counters->calls));
			put(&row, Int64GetDatum(counters->items));
			put(&row, Int64GetDatum(failures));
			put(&row, Int64GetDatum(counters->fallbacks));
			put(&row, Float8GetDatum((double) counters->calls / (double) attempts));
			if (counters->calls > 0)
			{
				put_us(&row, (double) counters->total_ns / (double) counters->calls);
				put_us(&row, hy_counters_quantile(counters, 0.5));
				put_us(&row, hy_counters_quantile(counters, 0.99));
			}
			else
			{
				put_null(&row);
				put_null(&row);
				put_null(&row);
			}
			put(&row, Float8GetDatum((double) counters->total_ns / 1e6));
			put(&row, Int64GetDatum((int64) counters->bytes_up));
			put(&row, Int64GetDatum((int64) counters->bytes_down));
			put(&row, BoolGetDatum(state.info.virtual_time));
			store(fcinfo, &row);
		}
	}
	return (Datum) 0;
}

Datum
hybrid_get_events(PG_FUNCTION_ARGS)
{
	HyExecutor *executor = hybrid_executor();
	TimestampTz now = GetCurrentTimestamp();
	uint64 now_ns = hybrid_clock()->now(hybrid_clock()->arg);
	int32 i;

	InitMaterializedSRF(fcinfo, 0);
	for (i = 0; i < hy_executor_events(executor); i++)
	{
		const HyDecision *event = hy_executor_event(executor, i);
		HyDeviceState state;
		Row row = {.columns = 0};

		hy_executor_device(executor, event->device, &state);
		put(&row, TimestampTzGetDatum(now - (int64) (now_ns - event->time_ns) / 1000));
		put_text(&row, hy_op_name(event->shape.op));
		put_text(&row, event->shape.op == HY_OP_SPREAD ? NULL : hy_dtype_name(event->shape.dtype));
		put_text(&row,
		         event->shape.op == HY_OP_SPREAD ? NULL : hy_metric_name(event->shape.metric));
		put(&row, Int32GetDatum(event->shape.dims));
		put(&row, Int64GetDatum(event->shape.queries));
		put(&row, Int64GetDatum(event->shape.targets));
		put(&row, Int32GetDatum(event->shape.k));
		put(&row, Int64GetDatum(event->items));
		put_text(&row, hy_execution_name(event->execution));
		put(&row, Int32GetDatum(event->device));
		put_text(&row, state.backend);
		put_text(&row, hy_reason_name(event->reason));
		put(&row, BoolGetDatum(event->fallback));
		put_text(&row, hy_status_name(event->status));
		put(&row, Int32GetDatum(event->failure.native_code));
		put_text(&row, event->failure.text[0] != '\0' ? event->failure.text : NULL);
		put_us(&row, event->predicted_cpu_ns);
		put_us(&row, event->predicted_device_ns);
		put_us(&row, (double) event->actual_ns);
		put(&row, BoolGetDatum(event->virtual_time));
		put(&row, Int64GetDatum((int64) event->bytes_required));
		put(&row, Int64GetDatum((int64) event->bytes_available));
		store(fcinfo, &row);
	}
	return (Datum) 0;
}

Datum
hybrid_reset_stats(PG_FUNCTION_ARGS)
{
	(void) fcinfo;
	hy_executor_reset(hybrid_executor());
	PG_RETURN_VOID();
}

static void
put(Row *row, Datum value)
{
	row->values[row->columns] = value;
	row->nulls[row->columns++] = false;
}

static void
put_null(Row *row)
{
	row->values[row->columns] = (Datum) 0;
	row->nulls[row->columns++] = true;
}

static void
put_text(Row *row, const char *text)
{
	if (text == NULL)
		put_null(row);
	else
		put(row, CStringGetTextDatum(text));
}

/* A time in ns as microseconds; negative means not known. */
static void
put_us(Row *row, double ns)
{
	if (ns < 0)
		put_null(row);
	else
		put(row, Float8GetDatum(ns / 1e3));
}

static void
store(FunctionCallInfo fcinfo, Row *row)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	Assert(row->columns == rsinfo->setDesc->natts);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, row->values, row->nulls);
}

static const char *
device_state(const HyDeviceState *state)
{
	/* what was never there has no name */
	if (state->info.name[0] == '\0')
		return "unavailable";
	if (state->latched)
		return "given up";
	return state->open ? "open" : "closed";
}
