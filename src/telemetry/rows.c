/*
 * rows.c
 *		Implements what the functions behind the views share: output rows, and the scope of a
 *		view.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "server/executor.h"
#include "server/shared.h"
#include "telemetry/rows.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

void
hybrid_row_put(HybridRow *row, Datum value)
{
	Assert(row->columns < HYBRID_ROW_COLUMNS);
	row->values[row->columns] = value;
	row->nulls[row->columns++] = false;
}

void
hybrid_row_put_null(HybridRow *row)
{
	Assert(row->columns < HYBRID_ROW_COLUMNS);
	row->values[row->columns] = (Datum) 0;
	row->nulls[row->columns++] = true;
}

void
hybrid_row_put_if(HybridRow *row, bool known, Datum value)
{
	if (known)
		hybrid_row_put(row, value);
	else
		hybrid_row_put_null(row);
}

void
hybrid_row_put_text(HybridRow *row, const char *text)
{
	if (text == NULL)
		hybrid_row_put_null(row);
	else
		hybrid_row_put(row, CStringGetTextDatum(text));
}

void
hybrid_row_put_us(HybridRow *row, double ns)
{
	if (ns < 0)
		hybrid_row_put_null(row);
	else
		hybrid_row_put(row, Float8GetDatum(ns / 1e3));
}

void
hybrid_row_put_counts(HybridRow *row, const int64_t *counts, int count, const char *(*name)(int i))
{
	StringInfoData json;
	int i;

	initStringInfo(&json);
	appendStringInfoChar(&json, '{');
	for (i = 0; i < count; i++)
	{
		/* the names come from hybrid's own code and need no escaping */
		if (counts[i] != 0)
			appendStringInfo(&json, "%s\"%s\": " INT64_FORMAT, json.len > 1 ? ", " : "", name(i),
			                 (int64) counts[i]);
	}
	appendStringInfoChar(&json, '}');
	hybrid_row_put(row, DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data)));
}

void
hybrid_row_store(FunctionCallInfo fcinfo, HybridRow *row)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	if (row->columns != rsinfo->setDesc->natts)
		elog(ERROR, "a row of %d columns for a result of %d", row->columns, rsinfo->setDesc->natts);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, row->values, row->nulls);
}

HyExecutor *
hybrid_viewed_executor(void)
{
	HyExecutor *executor = hybrid_executor();

	hy_executor_flush(executor);
	return executor;
}

void
hybrid_view_begin(FunctionCallInfo fcinfo, HybridView *view)
{
	memset(view, 0, sizeof(*view));
	view->executor = hybrid_viewed_executor();
	view->devices = hy_executor_devices(view->executor);
	if (hybrid_shared_table() != NULL && has_privs_of_role(GetUserId(), ROLE_PG_MONITOR))
	{
		view->table = hybrid_shared_table();
		view->lock = &hybrid_shared_host()->lock;
		view->devices = hy_table_devices(view->table);
	}
	InitMaterializedSRF(fcinfo, 0);
}

const char *
hybrid_view_scope(const HybridView *view)
{
	return view->table != NULL ? "cluster" : "backend";
}

void
hybrid_view_device(const HybridView *view, int32 i, HybridViewedDevice *device)
{
	HyDeviceState state;

	memset(device, 0, sizeof(*device));
	if (view->table != NULL)
	{
		device->own = hybrid_view_own(view, i);
		hy_table_device(view->table, i, &device->key);
		return;
	}
	hy_executor_device(view->executor, i, &state);
	device->own = i;
	strlcpy(device->key.backend, state.backend, sizeof(device->key.backend));
	strlcpy(device->key.name, state.info.name, sizeof(device->key.name));
	strlcpy(device->key.architecture, state.info.architecture, sizeof(device->key.architecture));
	device->key.number = state.number;
	device->key.virtual_time = state.info.virtual_time;
}

int32
hybrid_view_own(const HybridView *view, int32 table_device)
{
	int32 device;

	if (table_device == HY_TABLE_NO_DEVICE)
		return -1;
	for (device = 0; device < hy_executor_devices(view->executor); device++)
	{
		if (hy_executor_table_device(view->executor, device) == table_device)
			return device;
	}
	return -1;
}

void
hybrid_view_put(const HybridView *view, const HybridViewedDevice *device, HybridRow *row)
{
	hybrid_row_put_text(row, hybrid_view_scope(view));
	hybrid_row_put_if(row, device->own >= 0, Int32GetDatum(device->own));
	hybrid_row_put_text(row, device->key.backend);
	hybrid_row_put(row, Int32GetDatum(device->key.number));
	hybrid_row_put_text(row, device->key.name);
}
