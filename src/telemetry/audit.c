/*
 * audit.c
 *		Implements hybrid_audit and hybrid_audit_shapes, which measure how well the dispatcher
 *		routes batches.
 */
#include "postgres.h"

#include "dispatch/tools/audit.h"
#include "fmgr.h"
#include "funcapi.h"
#include "server/executor.h"
#include "server/memory.h"
#include "server/report.h"
#include "server/threads.h"
#include "telemetry/rows.h"

PG_FUNCTION_INFO_V1(hybrid_audit);
PG_FUNCTION_INFO_V1(hybrid_audit_shapes);

static HyAuditRow *run_audit(HyAudit *audit);
static void put_device(HybridRow *row, int32 device);
static bool any_virtual(void);

Datum
hybrid_audit(PG_FUNCTION_ARGS)
{
	HyAudit audit;
	HybridRow row = {.columns = 0};

	InitMaterializedSRF(fcinfo, 0);
	(void) run_audit(&audit);
	hybrid_row_put(&row, Int32GetDatum(audit.shapes));
	hybrid_row_put(&row, Int32GetDatum(audit.compared));
	hybrid_row_put(&row, Int32GetDatum(audit.untrusted));
	hybrid_row_put(&row, Int32GetDatum(audit.right));
	if (audit.compared > 0)
	{
		hybrid_row_put(&row, Float8GetDatum((double) audit.right / audit.compared));
		hybrid_row_put(&row, Float8GetDatum(audit.best_ns / 1e6));
		hybrid_row_put(&row, Float8GetDatum(audit.lost_ns / 1e6));
		hybrid_row_put(&row, Float8GetDatum(audit.best_ns > 0 ? audit.lost_ns / audit.best_ns : 0));
	}
	else
	{
		hybrid_row_put_null(&row);
		hybrid_row_put_null(&row);
		hybrid_row_put_null(&row);
		hybrid_row_put_null(&row);
	}
	hybrid_row_put(&row, BoolGetDatum(any_virtual()));
	hybrid_row_put_text(&row, audit.why);
	hybrid_row_store(fcinfo, &row);
	return (Datum) 0;
}

Datum
hybrid_audit_shapes(PG_FUNCTION_ARGS)
{
	HyAudit audit;
	HyAuditRow *rows;
	int32 i;

	InitMaterializedSRF(fcinfo, 0);
	rows = run_audit(&audit);
	for (i = 0; i < audit.compared; i++)
	{
		const HyAuditRow *tried = &rows[i];
		HybridRow row = {.columns = 0};

		hybrid_row_put_text(&row, hy_op_name(tried->shape.op));
		hybrid_row_put(&row, Int32GetDatum(tried->shape.dims));
		hybrid_row_put(&row, Int64GetDatum(tried->shape.queries));
		hybrid_row_put(&row, Int64GetDatum(tried->shape.targets));
		hybrid_row_put(&row, Int32GetDatum(tried->shape.k));
		put_device(&row, tried->taken);
		hybrid_row_put_text(&row, hy_reason_name(tried->reason));
		put_device(&row, tried->best);
		hybrid_row_put(&row, BoolGetDatum(tried->right));
		hybrid_row_put_us(&row, tried->cpu_ns);
		hybrid_row_put_us(&row, tried->device_ns);
		hybrid_row_put_us(&row, tried->predicted_cpu_ns);
		hybrid_row_put_us(&row, tried->predicted_device_ns);
		hybrid_row_put_us(&row, tried->lost_ns);
		hybrid_row_put(&row, BoolGetDatum(tried->scaled));
		hybrid_row_store(fcinfo, &row);
	}
	return (Datum) 0;
}

static HyAuditRow *
run_audit(HyAudit *audit)
{
	HyExecutor *executor = hybrid_viewed_executor();
	HyAllocator allocator = hybrid_allocator(CurrentMemoryContext);
	HyAuditLimits limits = {.allocator = &allocator, .cancel = &hybrid_cancel};
	HyAuditRow *rows = (HyAuditRow *) palloc(HY_AUDIT_SHAPES * sizeof(HyAuditRow));
	HyStatus status;

	status = hy_audit(executor, &limits, rows, audit);
	hybrid_threads_check();
	hybrid_check(status, "audit the dispatcher");
	return rows;
}

static void
put_device(HybridRow *row, int32 device)
{
	HyDeviceState state;

	hy_executor_device(hybrid_executor(), device, &state);
	hybrid_row_put(row, Int32GetDatum(device));
	hybrid_row_put_text(row, state.backend);
}

static bool
any_virtual(void)
{
	HyExecutor *executor = hybrid_executor();
	int32 device;

	for (device = 1; device < hy_executor_devices(executor); device++)
	{
		HyDeviceState state;

		hy_executor_device(executor, device, &state);
		if (state.info.virtual_time)
			return true;
	}
	return false;
}
