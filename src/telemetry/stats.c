/*
 * stats.c
 *		The function behind hybrid_stats, and the one that forgets it all.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "server/executor.h"
#include "server/shared.h"
#include "telemetry/rows.h"

PG_FUNCTION_INFO_V1(hybrid_get_stats);
PG_FUNCTION_INFO_V1(hybrid_reset_stats);

static void cluster_stats(FunctionCallInfo fcinfo, const HyExecutor *executor);
static void backend_stats(FunctionCallInfo fcinfo, const HyExecutor *executor);
static void store_counters(FunctionCallInfo fcinfo, int32 device, const HyTableDevice *key, HyOp op,
                           const HyCounters *counters);
static const char *status_name(int i);
static const char *reason_name(int i);
static const char *flush_name(int i);

Datum
hybrid_get_stats(PG_FUNCTION_ARGS)
{
	HyExecutor *executor = hybrid_viewed_executor();

	InitMaterializedSRF(fcinfo, 0);
	if (hybrid_sees_cluster())
		cluster_stats(fcinfo, executor);
	else
		backend_stats(fcinfo, executor);
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
cluster_stats(FunctionCallInfo fcinfo, const HyExecutor *executor)
{
	const HySharedTable *table = hybrid_shared_table();
	int32 i;
	int op;

	for (i = 0; i < hy_table_devices(table); i++)
	{
		HyTableDevice key;

		hy_table_device(table, i, &key);
		for (op = 0; op < HY_OP_COUNT; op++)
		{
			HyCounters counters;

			hy_table_counters(table, &hybrid_shared_host()->lock, i, (HyOp) op, &counters);
			store_counters(fcinfo, hybrid_own_device(executor, i), &key, (HyOp) op, &counters);
		}
	}
}

static void
backend_stats(FunctionCallInfo fcinfo, const HyExecutor *executor)
{
	int32 device;
	int op;

	for (device = 0; device < hy_executor_devices(executor); device++)
	{
		HyDeviceState state;
		HyTableDevice key = {.number = 0};

		hy_executor_device(executor, device, &state);
		strlcpy(key.backend, state.backend, sizeof(key.backend));
		strlcpy(key.name, state.info.name, sizeof(key.name));
		key.virtual_time = state.info.virtual_time;
		for (op = 0; op < HY_OP_COUNT; op++)
			store_counters(fcinfo, device, &key, (HyOp) op,
			               hy_executor_counters(executor, device, (HyOp) op));
	}
}

/* store_counters: a row, unless nothing was ever tried there. */
static void
store_counters(FunctionCallInfo fcinfo, int32 device, const HyTableDevice *key, HyOp op,
               const HyCounters *counters)
{
	/* a cancel says nothing of whoever was cancelled */
	int64 failures = counters->failures - counters->by_status[HY_CANCELLED];
	int64 attempts = counters->calls + failures;
	HybridRow row = {.columns = 0};

	if (attempts == 0 && counters->fallbacks == 0)
		return;
	hybrid_row_put_text(&row, hybrid_scope());
	if (device >= 0)
		hybrid_row_put(&row, Int32GetDatum(device));
	else
		hybrid_row_put_null(&row);
	hybrid_row_put_text(&row, key->backend);
	hybrid_row_put_text(&row, key->name);
	hybrid_row_put_text(&row, hy_op_name(op));
	hybrid_row_put(&row, Int64GetDatum(counters->calls));
	hybrid_row_put(&row, Int64GetDatum(counters->pieces));
	hybrid_row_put(&row, Int64GetDatum(counters->items));
	hybrid_row_put(&row, Int64GetDatum(failures));
	hybrid_row_put(&row, Int64GetDatum(counters->fallbacks));
	if (attempts > 0)
		hybrid_row_put(&row, Float8GetDatum((double) counters->calls / (double) attempts));
	else
		hybrid_row_put_null(&row);
	if (counters->calls > 0)
	{
		hybrid_row_put_us(&row, (double) counters->total_ns / (double) counters->calls);
		hybrid_row_put_us(&row, hy_counters_quantile(counters, 0.5));
		hybrid_row_put_us(&row, hy_counters_quantile(counters, 0.99));
	}
	else
	{
		hybrid_row_put_null(&row);
		hybrid_row_put_null(&row);
		hybrid_row_put_null(&row);
	}
	hybrid_row_put(&row, Float8GetDatum((double) counters->total_ns / 1e6));
	hybrid_row_put(&row, Int64GetDatum((int64) counters->bytes_up));
	hybrid_row_put(&row, Int64GetDatum((int64) counters->bytes_down));
	hybrid_row_put(&row, BoolGetDatum(key->virtual_time != 0));
	hybrid_row_put_counts(&row, counters->by_reason, HY_REASON_COUNT, reason_name);
	hybrid_row_put_counts(&row, counters->by_status, HY_STATUS_COUNT, status_name);
	hybrid_row_put_counts(&row, counters->by_cause, HY_STATUS_COUNT, status_name);
	hybrid_row_put_counts(&row, counters->flushes, HY_FLUSH_COUNT, flush_name);
	hybrid_row_store(fcinfo, &row);
}

static const char *
status_name(int i)
{
	return hy_status_name((HyStatus) i);
}

static const char *
reason_name(int i)
{
	return hy_reason_name((HyReason) i);
}

static const char *
flush_name(int i)
{
	return hy_flush_name((HyFlush) i);
}
