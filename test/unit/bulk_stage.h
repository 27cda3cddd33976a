/*
 * bulk_stage.h
 *		A task in pieces on the dispatcher's stage, for the tests of bulk*.c.
 */
#ifndef BULK_STAGE_H
#define BULK_STAGE_H

#include "dispatch/run/bulk.h"
#include "dispatch_stage.h"

static HyBulkReport report;

/* bulk: a task of so many rows by this plan; what it took. */
static double
bulk(int64_t rows, HyBulkPlan plan)
{
	HyTask task = stage_task(rows);
	uint64_t before = stage.clock.time;
	HyStatus st;

	hy_executor_configure(stage.executor, &stage.config);
	st = hy_bulk_run(stage.executor, &task, &plan, &report);
	CHECK_INT(report.status, st);
	if (st == HY_OK)
	{
		int64_t done = 0;
		int d;

		CHECK(stage_right(&task));
		for (d = 0; d < HY_MAX_DEVICES; d++)
			done += report.rows[d];
		CHECK_INT(done, rows);
		CHECK_INT(report.finished_ns - report.started_ns, stage.clock.time - before);
	}
	return (double) (stage.clock.time - before);
}

#endif
