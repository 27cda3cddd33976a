/*
 * bulk_cpu.c
 *		Computes the CPU's pieces of a bulk job.
 *
 * If the CPU takes part (HyBulkPlan.with_cpu), it also takes back pieces from a device that is
 * late.  Otherwise it works only if the plan allows that (HyBulkPlan.rescue): it redoes pieces that
 * failed on a device, and computes all remaining rows once no device is left.
 */
#include "dispatch/run/bulk_state.h"

/* the CPU takes a piece back if it needs less than this share of the piece's remaining time */
#define LATE 0.8

static bool give_up(HyBulk *bulk, bool devices_left);
static bool run_piece(HyBulk *bulk, const HyRowRange *rows);
static bool take_back(HyBulk *bulk);

bool
hy_bulk_feed_cpu(HyBulk *bulk)
{
	HyBulkTally devices = hy_bulk_tally(bulk);
	bool alone = devices.open + devices.in_flight == 0;
	HyRowsFor mine = {
		.cpu = true, .fresh = bulk->cpu.open || alone, .failed = true, .beyond = alone};
	int64_t left;
	HyRowRange rows;

	if (!bulk->cpu.open && !bulk->plan.rescue)
		return give_up(bulk, !alone);
	left = hy_rows_left(&bulk->rows, &mine);
	if (left == 0)
		return bulk->cpu.open && bulk->rows.boundary < 0 && take_back(bulk);
	left = hy_bulk_cpu_rows(bulk, left, hy_bulk_now(bulk));
	if (left == 0)
		return false;
	rows = hy_rows_take(&bulk->rows, &mine, left);
	if (rows.failed || !bulk->cpu.open || rows.first + rows.count <= bulk->rows.boundary)
		bulk->report.fallback = true;
	return run_piece(bulk, &rows);
}

/*
 * give_up: if no device is left for the remaining rows and the CPU may not do them, end the job
 * with the status of the lane that was closed last.
 */
static bool
give_up(HyBulk *bulk, bool devices_left)
{
	if (devices_left || hy_rows_none(&bulk->rows))
		return false;
	bulk->report.failure = bulk->ended.failure;
	hy_bulk_stop(bulk, bulk->ended.status != HY_OK ? bulk->ended.status : HY_NOMEM);
	return false;
}

static bool
run_piece(HyBulk *bulk, const HyRowRange *rows)
{
	HyBulkLane *lane = &bulk->cpu;
	HyMember *member = lane->member;
	HySliceOutput output = hy_slice_output_at(&bulk->slicing, bulk->cpu_memory);
	HyTask task = hy_slice(&bulk->slicing, rows->first, rows->count, &output);
	uint64_t from = hy_bulk_now(bulk);
	uint64_t until;
	HyTicket ticket;
	HyTimings timings;
	bool done;
	double ns;
	HyStatus st = member->backend->submit(member->device, &task, &ticket);

	if (st == HY_OK)
		st = member->backend->poll(member->device, ticket, &done, &timings);
	until = hy_bulk_now(bulk);
	if (st != HY_OK)
	{
		if (st != HY_CANCELLED)
			hy_count_attempt(&member->counters[bulk->slicing.shape.op], st);
		hy_bulk_stop(bulk, st);
		return true;
	}
	ns = until > from ? (double) (until - from) : 1;
	lane->rows += rows->count;
	lane->pieces++;
	lane->busy_ns += ns;
	lane->threads_ns += ns * (timings.threads > 1 ? timings.threads : 1);
	if (timings.threads > 1)
		lane->main_thread_work_ns += (double) timings.main_thread_work_ns / timings.threads;
	lane->row_ns = lane->row_ns > 0 ? 0.5 * lane->row_ns + 0.5 * ns / (double) rows->count
	                                : ns / (double) rows->count;
	bulk->report.rows[0] = lane->rows;
	bulk->report.cpu_ns = (uint64_t) lane->busy_ns;
	bulk->report.pieces++;
	until = hy_bulk_now(bulk);
	hy_slice_merge(&bulk->slicing, rows->first, &output, bulk->spare);
	bulk->report.join_ns += hy_bulk_now(bulk) - until;
	return true;
}

/*
 * take_back: take a piece back from a device if the CPU would finish that piece earlier.  Used when
 * the CPU has no other rows left.  This limits the cost of a wrong prediction or a hanging device.
 */
static bool
take_back(HyBulk *bulk)
{
	uint64_t now = hy_bulk_now(bulk);
	HyBulkPiece *latest = NULL;
	double longest = 0;
	int32_t i;

	if (bulk->cpu.row_ns <= 0)
		return false;
	for (i = 0; i < bulk->pieces; i++)
	{
		HyBulkPiece *piece = &bulk->piece[i];
		double remaining;

		if (piece->lane == NULL)
			continue;
		remaining = (double) piece->flight.run.timings.remaining_ns;
		/*
		 * If the device reports no remaining time, use the expected end of the lane's pieces.
		 * Without a prediction, assume that the piece will take as long again as it has taken so
		 * far.
		 */
		if (remaining <= 0 && piece->predicted_ns > 0)
			remaining = hy_bulk_busy_ns(piece->lane, now);
		if (remaining <= 0)
			remaining = (double) (now - piece->flight.run.started_ns);
		if (hy_bulk_lane_ns(&bulk->cpu, (double) piece->rows.count) < LATE * remaining &&
		    remaining > longest)
		{
			latest = piece;
			longest = remaining;
		}
	}
	if (latest == NULL)
		return false;
	hy_bulk_overtake(bulk, latest);
	return true;
}
