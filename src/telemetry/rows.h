/*
 * rows.h
 *		Filling the output rows of a view's function, and what the views have in common.
 */
#ifndef HYBRID_ROWS_H
#define HYBRID_ROWS_H

#include "postgres.h"

#include "dispatch/dispatcher.h"
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
 * hybrid_sees_cluster: the current user is shown what all sessions did: there is a shared table,
 * and he is a member of pg_monitor or a superuser.  hybrid_scope: 'cluster' or 'backend'.
 */
extern bool hybrid_sees_cluster(void);
extern const char *hybrid_scope(void);

/* hybrid_own_device: the session's number of a device of the shared table, -1 when it has none. */
extern int32 hybrid_own_device(const HyExecutor *executor, int32 table_device);

#endif
