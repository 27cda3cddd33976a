/*
 * rows.h
 *		Declares what the functions behind the views share: output rows, and the scope of a view.
 */
#ifndef HYBRID_TELEMETRY_ROWS_H
#define HYBRID_TELEMETRY_ROWS_H

#include "postgres.h"

#include "dispatch/run/executor.h"
#include "dispatch/share/shared_table.h"
#include "fmgr.h"

#define HYBRID_ROW_COLUMNS 40

/* HybridRow: the columns of one row, filled from left to right. */
typedef struct HybridRow
{
	Datum values[HYBRID_ROW_COLUMNS];
	bool nulls[HYBRID_ROW_COLUMNS];
	int columns;
} HybridRow;

extern void hybrid_row_put(HybridRow *row, Datum value);
extern void hybrid_row_put_null(HybridRow *row);

/* hybrid_row_put_if: add the value if `known` is set, else an SQL NULL. */
extern void hybrid_row_put_if(HybridRow *row, bool known, Datum value);

/* hybrid_row_put_text: add a text, or an SQL NULL if it is NULL. */
extern void hybrid_row_put_text(HybridRow *row, const char *text);

/*
 * hybrid_row_put_us: add a time that is given in nanoseconds, converted to microseconds. A negative
 * time is unknown and becomes an SQL NULL.
 */
extern void hybrid_row_put_us(HybridRow *row, double ns);

/*
 * hybrid_row_put_counts: add a jsonb object with the nonzero counts; the function `name` gives the
 * key of count i.
 */
extern void
hybrid_row_put_counts(HybridRow *row, const int64_t *counts, int count, const char *(*name)(int i));

/* hybrid_row_store: add the row to the result of a function that called InitMaterializedSRF. */
extern void hybrid_row_store(FunctionCallInfo fcinfo, HybridRow *row);

/*
 * hybrid_viewed_executor: flush the session's counters, events and models to the shared table, and
 * return the session's executor.
 */
extern HyExecutor *hybrid_viewed_executor(void);

/*
 * HybridView: the scope of a view. If there is a shared table and the current user is a superuser
 * or has the privileges of pg_monitor, the view shows all sessions and the devices of the table.
 * Otherwise the view shows this session and its devices.
 */
typedef struct HybridView
{
	HyExecutor *executor;
	const HySharedTable *table; /* NULL if the view shows only this session */
	const HyLock *lock;         /* guards the table */
	int32 devices;
} HybridView;

/* HybridViewedDevice: one device of a view. */
typedef struct HybridViewedDevice
{
	int32 own; /* this session's number for the device, or -1 if the session does not have it */
	HyTableDevice key;
} HybridViewedDevice;

/* hybrid_view_begin: initialize the view and the result set of the called function. */
extern void hybrid_view_begin(FunctionCallInfo fcinfo, HybridView *view);

/* hybrid_view_scope: return 'cluster' or 'backend'. */
extern const char *hybrid_view_scope(const HybridView *view);

/* hybrid_view_device: describe device i of the view, counted from 0. */
extern void hybrid_view_device(const HybridView *view, int32 i, HybridViewedDevice *device);

/*
 * hybrid_view_own: return this session's number for a device of the shared table, or -1 if the
 * session does not have the device.
 */
extern int32 hybrid_view_own(const HybridView *view, int32 table_device);

/* hybrid_view_put: add the columns scope, device, backend, number and name. */
extern void
hybrid_view_put(const HybridView *view, const HybridViewedDevice *device, HybridRow *row);

#endif
