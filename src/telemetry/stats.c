/*
 * stats.c
 *		Implements the view hybrid_stats, and the function that resets the counters.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "server/executor.h"
#include "telemetry/rows.h"

PG_FUNCTION_INFO_V1(hybrid_get_stats);
PG_FUNCTION_INFO_V1(hybrid_reset_stats);

static void store_counters(FunctionCallInfo fcinfo, const HybridView *view,
                           const HybridViewedDevice *device, HyOp op, const HyCounters *counters);
static const char *status_name(int i);
static const char *reason_name(int i);
static const char *flush_name(int i);
static const char *scan_limit_name(int i);

Datum
hybrid_get_stats(PG_FUNCTION_ARGS)
{
	HybridView view;
	int32 i;
	int op;

	hybrid_view_begin(fcinfo, &view);
	for (i = 0; i < view.devices; i++)
	{
		HybridViewedDevice device;
		HyCounters counters;

		hybrid_view_device(&view, i, &device);
		for (op = 0; op < HY_OP_COUNT; op++)
		{
			if (view.table != NULL)
			{
				hy_lock(view.lock);
				hy_table_counters(view.table, i, (HyOp) op, &counters);
				hy_unlock(view.lock);
			}
			else
				counters = *hy_executor_counters(view.executor, i, (HyOp) op);
			store_counters(fcinfo, &view, &device, (HyOp) op, &counters);
		}
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

/* store_counters: add a row, unless all counters are 0. */
static void
store_counters(FunctionCallInfo fcinfo, const HybridView *view, const HybridViewedDevice *device,
               HyOp op, const HyCounters *counters)
{
	/* a cancellation is not a failure of the device */
	int64 failures = counters->failures - counters->by_status[HY_CANCELLED];
	int64 attempts = counters->calls + failures;
	bool any = counters->calls > 0;
	static const HyCounters nothing;
	HybridRow row = {.columns = 0};

	/*
	 * Even without calls, other counts may be nonzero, such as pieces, flushed batches (which are
	 * counted for the CPU wherever they ran), or index scans that a limit ended.
	 */
	if (memcmp(counters, &nothing, sizeof(nothing)) == 0)
		return;
	hybrid_row_put_text(&row, hybrid_view_scope(view));
	hybrid_row_put_if(&row, device->own >= 0, Int32GetDatum(device->own));
	hybrid_row_put_text(&row, device->key.backend);
	hybrid_row_put(&row, Int32GetDatum(device->key.number));
	hybrid_row_put_text(&row, device->key.name);
	hybrid_row_put_text(&row, device->key.architecture);
	hybrid_row_put_text(&row, hy_op_name(op));
	hybrid_row_put(&row, Int64GetDatum(counters->calls));
	hybrid_row_put(&row, Int64GetDatum(counters->pieces));
	hybrid_row_put(&row, Int64GetDatum(counters->items));
	hybrid_row_put(&row, Int64GetDatum(failures));
	hybrid_row_put(&row, Int64GetDatum(counters->fallbacks));
	hybrid_row_put_if(&row, attempts > 0,
	                  Float8GetDatum((double) counters->calls / (double) attempts));
	hybrid_row_put_us(&row, any ? (double) counters->total_ns / (double) counters->calls : -1);
	hybrid_row_put_us(&row, any ? hy_counters_quantile(counters, 0.5) : -1);
	hybrid_row_put_us(&row, any ? hy_counters_quantile(counters, 0.99) : -1);
	hybrid_row_put(&row, Float8GetDatum((double) counters->total_ns / 1e6));
	hybrid_row_put(&row, Int64GetDatum((int64) counters->bytes_up));
	hybrid_row_put(&row, Int64GetDatum((int64) counters->bytes_down));
	hybrid_row_put(&row, BoolGetDatum(device->key.virtual_time != 0));
	hybrid_row_put_counts(&row, counters->by_reason, HY_REASON_COUNT, reason_name);
	hybrid_row_put_counts(&row, counters->by_status, HY_STATUS_COUNT, status_name);
	hybrid_row_put_counts(&row, counters->by_cause, HY_STATUS_COUNT, status_name);
	hybrid_row_put_counts(&row, counters->flushes, HY_FLUSH_COUNT, flush_name);
	hybrid_row_put_counts(&row, counters->scan_limits, HY_SCAN_LIMIT_COUNT, scan_limit_name);
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

static const char *
scan_limit_name(int i)
{
	return hy_scan_limit_name((HyScanLimit) i);
}
