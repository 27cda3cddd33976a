/*
 * events.c
 *		Implements the view hybrid_events.
 *
 * The session's own decisions come from its own ring buffer, which holds the last 256 of them. The
 * decisions of other sessions come from the shared ring buffer, if the user may see them. That
 * buffer may have gaps, because a session with many new decisions copies only its failures and its
 * newest decisions there.
 */
#include "postgres.h"

#include "dispatch/run/record.h"
#include "dispatch/tools/words.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "server/executor.h"
#include "server/shared.h"
#include "telemetry/rows.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(hybrid_get_events);

static int32 collect_others(const HybridView *view, HyTableEvent *events, int32 room);
static int32 collect_own(const HyExecutor *executor, HyTableEvent *events);
static int by_time(const void *left, const void *right);
static void store_event(FunctionCallInfo fcinfo, const HybridView *view, const HyTableEvent *event);

Datum
hybrid_get_events(PG_FUNCTION_ARGS)
{
	HyTableEvent *events;
	HybridView view;
	int32 room;
	int32 count = 0;
	int32 i;

	hybrid_view_begin(fcinfo, &view);
	room = view.table != NULL ? hy_table_event_room(view.table) : 0;
	events = (HyTableEvent *) palloc(((Size) room + HY_EVENT_RING) * sizeof(HyTableEvent));
	if (room > 0)
		count = collect_others(&view, events, room);
	count += collect_own(view.executor, events + count);
	qsort(events, (size_t) count, sizeof(HyTableEvent), by_time);
	for (i = 0; i < count; i++)
		store_event(fcinfo, &view, &events[i]);
	pfree(events);
	return (Datum) 0;
}

/*
 * collect_others: copy the events of other sessions from the shared ring buffer. Returns the number
 * of copied events.
 */
static int32
collect_others(const HybridView *view, HyTableEvent *events, int32 room)
{
	int32 kept = 0;
	int32 count;
	int32 i;

	hy_lock(view->lock);
	count = hy_table_events(view->table, events, room);
	hy_unlock(view->lock);
	for (i = 0; i < count; i++)
	{
		if (events[i].origin.session != hybrid_shared_session())
			events[kept++] = events[i];
	}
	return kept;
}

static int32
collect_own(const HyExecutor *executor, HyTableEvent *events)
{
	TimestampTz now = GetCurrentTimestamp();
	uint64 now_ns = hybrid_clock()->now(hybrid_clock()->arg);
	int32 count = hy_executor_events(executor);
	int32 i;

	for (i = 0; i < count; i++)
	{
		HyTableEvent *event = &events[i];
		HyDeviceState state;

		memset(event, 0, sizeof(*event));
		event->decision = *hy_executor_event(executor, i);
		if (event->decision.device != HY_NOWHERE)
		{
			hy_executor_device(executor, event->decision.device, &state);
			strlcpy(event->backend, state.backend, sizeof(event->backend));
		}
		event->device = HY_TABLE_NO_DEVICE;
		event->wall_us = now - (int64) (now_ns - event->decision.time_ns) / 1000;
		event->origin.session = hybrid_shared_session();
		event->origin.pid = MyProcPid;
		event->origin.role = GetSessionUserId();
	}
	return count;
}

/* by_time: order events by time. Events of one session in the same microsecond keep their order. */
static int
by_time(const void *left, const void *right)
{
	const HyTableEvent *a = (const HyTableEvent *) left;
	const HyTableEvent *b = (const HyTableEvent *) right;

	if (a->wall_us != b->wall_us)
		return a->wall_us < b->wall_us ? -1 : 1;
	if (a->origin.session != b->origin.session)
		return a->origin.session < b->origin.session ? -1 : 1;
	if (a->decision.time_ns != b->decision.time_ns)
		return a->decision.time_ns < b->decision.time_ns ? -1 : 1;
	return 0;
}

static void
store_event(FunctionCallInfo fcinfo, const HybridView *view, const HyTableEvent *event)
{
	const HyDecision *decision = &event->decision;
	bool typed = decision->shape.op != HY_OP_SPREAD;
	bool own = event->origin.session == hybrid_shared_session();
	int32 device = own ? decision->device : hybrid_view_own(view, event->device);
	char *role = GetUserNameFromId(event->origin.role, true);
	HybridRow row = {.columns = 0};

	hybrid_row_put_text(&row, hybrid_view_scope(view));
	hybrid_row_put(&row, TimestampTzGetDatum(event->wall_us));
	hybrid_row_put(&row, Int32GetDatum(event->origin.pid));
	if (role != NULL)
		hybrid_row_put(&row, DirectFunctionCall1(namein, CStringGetDatum(role)));
	else
		hybrid_row_put_null(&row);
	hybrid_row_put_text(&row, hy_op_name(decision->shape.op));
	hybrid_row_put_text(&row, typed ? hy_dtype_name(decision->shape.dtype) : NULL);
	hybrid_row_put_text(&row, typed ? hy_metric_name(decision->shape.metric) : NULL);
	hybrid_row_put(&row, Int32GetDatum(decision->shape.dims));
	hybrid_row_put(&row, Int64GetDatum(decision->shape.queries));
	hybrid_row_put(&row, Int64GetDatum(decision->shape.targets));
	hybrid_row_put(&row, Int32GetDatum(decision->shape.k));
	hybrid_row_put(&row, Int64GetDatum(decision->items));
	hybrid_row_put_text(&row, decision->execution == HY_EXECUTION_NAMED
	                              ? decision->named
	                              : hy_execution_name(decision->execution));
	hybrid_row_put_if(&row, device >= 0, Int32GetDatum(device));
	hybrid_row_put_text(&row, event->backend[0] != '\0' ? event->backend : NULL);
	hybrid_row_put_text(&row, hy_reason_name(decision->reason));
	hybrid_row_put(&row, BoolGetDatum(decision->fallback));
	hybrid_row_put_text(&row, hy_status_name(decision->status));
	hybrid_row_put(&row, Int32GetDatum(decision->failure.native_code));
	hybrid_row_put_text(&row, decision->failure.text[0] != '\0' ? decision->failure.text : NULL);
	hybrid_row_put_us(&row, decision->predicted_cpu_ns);
	hybrid_row_put_us(&row, decision->predicted_device_ns);
	hybrid_row_put_us(&row, (double) decision->actual_ns);
	hybrid_row_put(&row, BoolGetDatum(decision->virtual_time));
	hybrid_row_put(&row, Int64GetDatum((int64) decision->bytes_required));
	hybrid_row_put(&row, Int64GetDatum((int64) decision->bytes_available));
	hybrid_row_put(&row, Int32GetDatum(decision->pieces));
	hybrid_row_put_if(&row, decision->split_share >= 0, Float8GetDatum(decision->split_share));
	hybrid_row_put_if(&row, decision->load > 0, Float8GetDatum(decision->load));
	hybrid_row_put_if(&row, decision->queue >= 0, Int32GetDatum(decision->queue));
	hybrid_row_store(fcinfo, &row);
}
