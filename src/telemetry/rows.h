/*
 * rows.h
 *		Filling the output rows of a view's function, and what the views have in common.
 */
#ifndef HYBRID_ROWS_H
#define HYBRID_ROWS_H

#include "postgres.h"

#include "dispatch/shared_table.h"
#include "fmgr.h"

#define HYBRID_ROW_COLUMNS 40

/* HybridRow: the columns of one row, filled from the left. */
typedef struct HybridRow
{
	Datum values[HYBRID_ROW_COLUMNS];
	bool nulls[HYBRID_ROW_COLUMNS];
	int columns;
} HybridRow;

extern void hybrid_row_put(HybridRow *row, Datum value);
extern void hybrid_row_put_null(HybridRow *row);

/* hybrid_row_put_if: the value (which is computed either way) where it is known, else an SQL NULL. */
extern void hybrid_row_put_if(HybridRow *row, bool known, Datum value);

/* hybrid_row_put_text: NULL gives an SQL NULL. */
extern void hybrid_row_put_text(HybridRow *row, const char *text);

/* hybrid_row_put_us: ns as microseconds; a negative time is one that is not known. */
extern void hybrid_row_put_us(HybridRow *row, double ns);

/* hybrid_row_put_counts: a jsonb object of the counts that are not 0, by name. */
extern void
hybrid_row_put_counts(HybridRow *row, const int64_t *counts, int count, const char *(*name)(int i));

/* hybrid_row_store: the row goes to the result of a function that called InitMaterializedSRF. */
extern void hybrid_row_store(FunctionCallInfo fcinfo, HybridRow *row);

/* hybrid_viewed_executor: the session's executor, with all that it did told to the shared table. */
extern HyExecutor *hybrid_viewed_executor(void);

/*
 * HybridView: whose doings a view shows.  Those of all sessions where there is a shared table and
 * the current user is a member of pg_monitor or a superuser: its devices are the table's; else those
 * of the session: they are its own.
 */
typedef struct HybridView
{
	HyExecutor *executor;
	const HySharedTable *table; /* NULL: the session's view */
	const HyTableLock *lock;
	int32 devices;
} HybridView;

/* HybridViewedDevice: one of them. */
typedef struct HybridViewedDevice
{
	int32 own; /* the session's number of it, -1 when it has none */
	HyTableDevice key;
} HybridViewedDevice;

/* hybrid_view_begin: of the function called, whose result is empty so far. */
extern void hybrid_view_begin(FunctionCallInfo fcinfo, HybridView *view);

/* hybrid_view_scope: 'cluster' or 'backend'. */
extern const char *hybrid_view_scope(const HybridView *view);

/* hybrid_view_device: number i of the view's devices, from 0. */
extern void hybrid_view_device(const HybridView *view, int32 i, HybridViewedDevice *device);

/* hybrid_view_own: the session's number of a device of the shared table, -1 when it has none. */
extern int32 hybrid_view_own(const HybridView *view, int32 table_device);

/* hybrid_view_put: scope, device, backend and name. */
extern void
hybrid_view_put(const HybridView *view, const HybridViewedDevice *device, HybridRow *row);

#endif
