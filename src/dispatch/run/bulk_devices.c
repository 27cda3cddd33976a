/*
 * bulk_devices.c
 *		Launches and polls the pieces of a bulk job on devices, and handles their failures.
 *
 * A failed piece closes its lane.  The CPU or another device redoes its rows (HyBulkPlan.rescue).
 * After an out-of-memory failure, the lane gets smaller or fewer pieces instead.  A lost context is
 * reopened once.
 */
#include "dispatch/run/bulk_state.h"

#include <stdio.h>

#include "dispatch/route/budget.h"
#include "dispatch/route/gauge.h"
#include "dispatch/run/attempt.h"
#include "dispatch/run/member.h"

#define MOST_LOST_NS 3e6 /* a lane whose failures cost more time gets no more pieces */
/* a piece's time is recorded if its end was noticed late by at most this share of the time */
#define LATE 0.1
/* a lane is closed if a piece still does not fit after this many halvings */
#define MOST_HALVINGS 6

static void settle(HyBulk *bulk, HyBulkPiece *piece);
static void piece_done(HyBulk *bulk, HyBulkLane *lane, HyBulkPiece *piece);
static void piece_failed(HyBulk *bulk, HyBulkLane *lane, HyBulkPiece *piece);
static void report_loss(HyBulk *bulk, HyBulkLane *lane, HyStatus st);
static bool smaller_will_do(HyBulk *bulk, HyBulkLane *lane, const HyBulkPiece *piece);
static bool reopen(HyBulk *bulk, HyBulkLane *lane);
static HyBulkLane *end_flight(HyBulk *bulk, HyBulkPiece *piece);
static void give_back(HyBulk *bulk, const HyBulkPiece *piece, bool failed);
static void note_failure(HyBulk *bulk, const HyDeviceRun *run);
static void note_end(HyBulk *bulk, const HyDeviceRun *run);
static bool launch(HyBulk *bulk, HyBulkLane *lane);
static bool begin_lane(HyBulk *bulk, HyBulkLane *lane);
static bool its_turn(HyBulk *bulk, HyBulkLane *lane, int64_t rows);
static void shut_out(HyBulk *bulk, HyBulkLane *lane);
static HyBulkPiece *free_piece(HyBulk *bulk, HyBulkLane *lane);

bool
hy_bulk_poll(HyBulk *bulk)
{
	bool heard = false;
	int32_t i;

	for (i = 0; i < bulk->pieces && !bulk->over; i++)
	{
		HyBulkPiece *piece = &bulk->piece[i];

		if (piece->lane == NULL)
			continue;
		if (!hy_flight_over(bulk->executor, &piece->flight))
		{
			piece->earliest_end_ns = hy_bulk_now(bulk) + piece->flight.run.timings.remaining_ns;
			continue;
		}
		settle(bulk, piece);
		heard = true;
	}
	return heard;
}

/* settle: process a piece whose task is over. */
static void
settle(HyBulk *bulk, HyBulkPiece *piece)
{
	HyStatus st = piece->flight.run.status;
	HyBulkLane *lane;

	piece->flight.run.shared = hy_device_shared(bulk->executor, piece->slot);
	lane = end_flight(bulk, piece);
	if (st == HY_OK)
	{
		piece_done(bulk, lane, piece);
		return;
	}
	if (st == HY_CANCELLED)
	{
		hy_attempt_report(bulk->executor, lane->member, bulk->slicing.shape.op, st);
		hy_bulk_stop(bulk, HY_CANCELLED);
		return;
	}
	hy_count_attempt(&lane->member->counters[bulk->slicing.shape.op], st);
	piece_failed(bulk, lane, piece);
}

static void
piece_done(HyBulk *bulk, HyBulkLane *lane, HyBulkPiece *piece)
{
	const HyDeviceRun *run = &piece->flight.run;
	uint64_t from = run->started_ns > lane->last_end_ns ? run->started_ns : lane->last_end_ns;
	double ns = run->finished_ns > from ? (double) (run->finished_ns - from) : 1;
	HyShape shape = hy_shape_slice(&bulk->slicing.shape, piece->rows.count);
	uint64_t before;
	int32_t i;

	hy_attempt_report(bulk->executor, lane->member, bulk->slicing.shape.op, HY_OK);
	/*
	 * If the end of the piece was noticed late, or together with the end of the piece before it,
	 * its time is not known.
	 */
	if (!run->shared && (double) run->finished_ns - (double) piece->earliest_end_ns <= LATE * ns)
		hy_tracker_record(bulk->executor->tracker, &shape, lane->device, (uint64_t) ns);
	if (!run->shared || lane->row_ns <= 0)
		hy_bulk_correct_speed(lane, piece->rows.count, ns);
	if (piece->bytes > lane->largest)
		lane->largest = piece->bytes;
	lane->last_end_ns = run->finished_ns;
	lane->rows += piece->rows.count;
	lane->pieces++;
	lane->busy_ns += ns;
	lane->bytes_up += run->timings.bytes_up;
	lane->bytes_down += run->timings.bytes_down;
	lane->free_ns = hy_bulk_now(bulk);
	for (i = 0; i < bulk->pieces; i++)
	{
		if (bulk->piece[i].lane == lane)
			lane->free_ns += (uint64_t) hy_bulk_lane_ns(lane, (double) bulk->piece[i].rows.count);
	}
	bulk->report.rows[lane->device] = lane->rows;
	bulk->report.pieces++;
	before = hy_bulk_now(bulk);
	hy_slice_merge(&bulk->slicing, piece->rows.first, &piece->output, bulk->spare);
	bulk->report.join_ns += hy_bulk_now(bulk) - before;
}

/*
 * piece_failed: decide from the status whether the lane stays open, and which lane redoes the rows.
 */
static void
piece_failed(HyBulk *bulk, HyBulkLane *lane, HyBulkPiece *piece)
{
	HyStatus st = piece->flight.run.status;

	note_failure(bulk, &piece->flight.run);
	lane->lost_ns += (double) (hy_bulk_now(bulk) - piece->flight.run.started_ns);
	if (smaller_will_do(bulk, lane, piece))
	{
		hy_attempt_report(bulk->executor, lane->member, bulk->slicing.shape.op, st);
		give_back(bulk, piece, false);
		return;
	}
	report_loss(bulk, lane, st);
	lane->open = st == HY_CONTEXT_LOST && reopen(bulk, lane) && lane->lost_ns <= MOST_LOST_NS;
	if (!lane->open)
		note_end(bulk, &piece->flight.run);
	/* If the context was reopened, this lane may try the rows again. */
	give_back(bulk, piece, !lane->open);
}

/*
 * report_loss: report the status of a failed piece.  If it is a loss of the context, the device or
 * the process, first stop all pieces that the loss affects.
 */
static void
report_loss(HyBulk *bulk, HyBulkLane *lane, HyStatus st)
{
	int i;

	for (i = 0; i < bulk->lanes && st == HY_PROCESS_LOST; i++)
	{
		if (bulk->lane[i].member->backend == lane->member->backend)
			hy_bulk_stop_lane(bulk, &bulk->lane[i]);
	}
	if (st == HY_CONTEXT_LOST || st == HY_DEVICE_GONE)
		hy_bulk_stop_lane(bulk, lane);
	hy_attempt_report(bulk->executor, lane->member, bulk->slicing.shape.op, st);
	for (i = 0; i < bulk->lanes; i++)
	{
		if (bulk->lane[i].member->latched)
			bulk->lane[i].open = false;
	}
}

/*
 * smaller_will_do: return whether fewer or smaller pieces may succeed, after a failure for lack of
 * memory or because the device was busy.  If so, reduces the lane's depth or the size of its
 * pieces.
 */
static bool
smaller_will_do(HyBulk *bulk, HyBulkLane *lane, const HyBulkPiece *piece)
{
	HyStatus st = piece->flight.run.status;
	/* if the context could not be opened, the size of the piece is not the cause */
	bool memory = (st == HY_NOMEM || st == HY_QUOTA) && lane->member->device != NULL;
	bool patient = lane->lost_ns <= MOST_LOST_NS;

	/* Other pieces of this lane are in flight and will free memory when they end. */
	if ((memory || st == HY_BUSY) && lane->in_flight > 0 && patient)
	{
		lane->depth = lane->in_flight;
		return true;
	}
	if (memory)
		hy_member_refused(lane->member, piece->bytes, hy_bulk_now(bulk));
	if (!memory || piece->rows.count < 2 || !patient || lane->halvings == MOST_HALVINGS)
		return false;
	lane->halvings++;
	lane->depth = 1;
	lane->most_rows = piece->rows.count / 2;
	return true;
}

/*
 * reopen: close a lost context, and return whether the lane may open it again: only once, and only
 * if the breaker allows it.
 */
static bool
reopen(HyBulk *bulk, HyBulkLane *lane)
{
	HyBreaker *breaker = &lane->member->breakers[bulk->slicing.shape.op];

	if (lane->member->latched)
		return false;
	hy_member_close(bulk->executor, lane->member);
	if (lane->reopened || !hy_breaker_would_allow(breaker, hy_bulk_now(bulk)))
		return false;
	lane->reopened = true;
	return true;
}

/* end_flight: end the flight of a piece, and return its lane. */
static HyBulkLane *
end_flight(HyBulk *bulk, HyBulkPiece *piece)
{
	HyBulkLane *lane = piece->lane;

	hy_device_leave(bulk->executor, piece->slot);
	piece->lane = NULL;
	lane->in_flight--;
	return lane;
}

static void
give_back(HyBulk *bulk, const HyBulkPiece *piece, bool failed)
{
	HyRowRange rows = piece->rows;

	rows.failed = failed;
	/*
	 * The array of ranges cannot be full, because each range was a piece before.  If it were full,
	 * the job would fail, and the caller would compute the whole task again.
	 */
	if (!hy_rows_give_back(&bulk->rows, rows))
		hy_bulk_stop(bulk, HY_BUG);
}

/*
 * note_failure: record a failure in the report if it is the first of the job.
 * note_end: record why a lane was closed.
 */
static void
note_failure(HyBulk *bulk, const HyDeviceRun *run)
{
	if (bulk->report.first != HY_OK)
		return;
	bulk->report.first = run->status;
	bulk->report.failure = run->failure;
}

static void
note_end(HyBulk *bulk, const HyDeviceRun *run)
{
	bulk->ended.status = run->status;
	bulk->ended.failure = run->failure;
}

void
hy_bulk_stop_piece(HyBulk *bulk, HyBulkPiece *piece)
{
	hy_flight_stop(bulk->executor, &piece->flight);
	end_flight(bulk, piece);
	give_back(bulk, piece, false);
}

void
hy_bulk_overtake(HyBulk *bulk, HyBulkPiece *piece)
{
	HyBulkLane *lane = piece->lane;
	HyExecutor *executor = bulk->executor;
	HyDeviceRun run = piece->flight.run;
	uint64_t from = run.started_ns > lane->last_end_ns ? run.started_ns : lane->last_end_ns;
	uint64_t now = hy_bulk_now(bulk);
	double ns = now > from ? (double) (now - from) : 1;
	double expected = piece->predicted_ns;
	double remaining = (double) run.timings.remaining_ns;
	bool late = remaining > 0 || expected <= 0 || ns > expected;
	bool shared = hy_device_shared(executor, piece->slot);
	bool hangs = late && remaining <= 0 && expected > 0 && lane->pieces == 0 && !shared;
	HyShape shape = hy_shape_slice(&bulk->slicing.shape, piece->rows.count);

	hy_bulk_stop_piece(bulk, piece);
	lane->open = false; /* otherwise the lane would take the same rows again */
	bulk->report.stolen++;
	if (!hangs || lane->hung)
	{
		if (late && !hangs && !shared)
			hy_tracker_record(executor->tracker, &shape, lane->device, (uint64_t) (ns + remaining));
		hy_attempt_report(executor, lane->member, bulk->slicing.shape.op, HY_CANCELLED);
		return;
	}
	lane->hung = true;
	run.status = HY_TIMEOUT;
	snprintf(run.failure.text, sizeof(run.failure.text),
	         "no answer in %.1f ms where %.1f ms were expected", ns / 1e6, expected / 1e6);
	note_failure(bulk, &run);
	bulk->report.fallback = true;
	hy_count_attempt(&lane->member->counters[bulk->slicing.shape.op], HY_TIMEOUT);
	hy_attempt_report(executor, lane->member, bulk->slicing.shape.op, HY_TIMEOUT);
}

void
hy_bulk_stop_lane(HyBulk *bulk, HyBulkLane *lane)
{
	int32_t i;

	for (i = 0; i < bulk->pieces; i++)
	{
		if (bulk->piece[i].lane == lane)
			hy_bulk_stop_piece(bulk, &bulk->piece[i]);
	}
}

void
hy_bulk_withdraw(HyBulk *bulk, HyBulkLane *lane)
{
	if (lane->begun)
		hy_attempt_report(bulk->executor, lane->member, bulk->slicing.shape.op, HY_CANCELLED);
	lane->begun = false;
	if (lane->asked)
		hy_device_leave(bulk->executor, lane->slot);
	lane->asked = false;
}

bool
hy_bulk_feed_devices(HyBulk *bulk)
{
	bool launched = false;
	bool again;
	int i;

	/* launch one piece per device in turn, so that the first device does not take all rows */
	do
	{
		again = false;
		for (i = 0; i < bulk->lanes && !bulk->over; i++)
		{
			HyBulkLane *lane = &bulk->lane[i];

			if (lane->open && lane->in_flight < lane->depth && launch(bulk, lane))
				again = launched = true;
			/* a granted slot that stays unused blocks other clients */
			else if (!lane->open || lane->in_flight >= lane->depth)
				hy_bulk_withdraw(bulk, lane);
		}
	} while (again && !bulk->over);
	return launched;
}

/* launch: take rows and submit them as a piece.  Returns false if no piece was launched. */
static bool
launch(HyBulk *bulk, HyBulkLane *lane)
{
	HyRowsFor mine = {.fresh = true, .failed = !bulk->plan.rescue};
	uint64_t now = hy_bulk_now(bulk);
	int64_t rows = hy_rows_left(&bulk->rows, &mine);
	HyBulkPiece *piece;
	HyShape shape;

	if (rows > 0)
		rows = hy_bulk_device_rows(bulk, lane, rows, now);
	if (rows == 0)
		hy_bulk_withdraw(bulk, lane);
	if (rows == 0 || (!lane->begun && !begin_lane(bulk, lane)))
		return false;
	if (rows > lane->most_rows)
		rows = lane->most_rows;
	if (!its_turn(bulk, lane, rows))
		return false;
	piece = free_piece(bulk, lane);
	if (piece == NULL)
		return false;
	piece->lane = lane;
	piece->rows = hy_rows_take(&bulk->rows, &mine, rows);
	piece->predicted_ns = lane->row_ns > 0 ? hy_bulk_lane_ns(lane, (double) rows) : -1;
	piece->output = hy_slice_output_at(&bulk->slicing, piece->memory);
	piece->task = hy_slice(&bulk->slicing, piece->rows.first, rows, &piece->output);
	shape = hy_shape_slice(&bulk->slicing.shape, rows);
	piece->bytes = lane->member->backend->estimate(lane->member->device, &shape).device_bytes;
	piece->slot = lane->slot;
	lane->in_flight++;
	lane->begun = false;
	lane->asked = false;
	lane->asked_ns = 0;
	now = hy_bulk_now(bulk); /* opening the context takes time */
	if (lane->free_ns < now)
		lane->free_ns = now;
	if (piece->predicted_ns > 0)
		lane->free_ns += (uint64_t) piece->predicted_ns;
	hy_flight_start(bulk->executor, lane->member, &piece->task, false, &piece->flight);
	piece->earliest_end_ns = hy_bulk_now(bulk);
	if (!piece->flight.in_flight)
		settle(bulk, piece);
	return true;
}

/*
 * begin_lane: ask the breaker, open the context, and find how many rows fit.  On failure, closes
 * the lane and returns false.
 */
static bool
begin_lane(HyBulk *bulk, HyBulkLane *lane)
{
	HyDeviceRun run;

	if (hy_attempt_begin(bulk->executor, lane->member, bulk->slicing.shape.op, &run))
	{
		lane->begun = true;
		if (lane->member->info.virtual_time)
			bulk->report.virtual_time = true;
		hy_bulk_fit(bulk, lane);
		if (lane->most_rows > 0)
			return true;
		run.status = HY_NOMEM;
	}
	else if (run.status == HY_PROCESS_LOST)
		report_loss(bulk, lane, run.status);
	note_failure(bulk, &run);
	note_end(bulk, &run);
	lane->open = false;
	return false;
}

/*
 * its_turn: request a slot in the device's queue if there is no request yet, and return whether the
 * lane may submit a piece of this many rows now.  Closes the lane if its wait timed out.
 */
static bool
its_turn(HyBulk *bulk, HyBulkLane *lane, int64_t rows)
{
	double ns = lane->row_ns > 0 ? hy_bulk_lane_ns(lane, (double) rows) : 0;
	uint64_t now = hy_bulk_now(bulk);

	if (lane->asked_ns == 0)
		lane->asked_ns = now;
	if (!lane->asked)
	{
		lane->slot = hy_device_ask(bulk->executor, lane->member, ns, rows == bulk->slicing.extent);
		lane->asked = lane->slot != -1;
	}
	if (lane->asked && hy_device_granted(bulk->executor, lane->slot))
	{
		hy_turn_came(lane->member);
		return true;
	}
	if (lane->in_flight == 0 && now - lane->asked_ns >= hy_turn_limit(bulk->executor))
		shut_out(bulk, lane);
	return false;
}

/* shut_out: close a lane whose wait for a turn timed out. */
static void
shut_out(HyBulk *bulk, HyBulkLane *lane)
{
	HyDeviceRun run = {.status = HY_BUSY};

	snprintf(run.failure.text, sizeof(run.failure.text), "%s",
	         lane->asked ? "others had it all the time" : "too many wait for it");
	hy_count_attempt(&lane->member->counters[bulk->slicing.shape.op], HY_BUSY);
	hy_turn_missed(bulk->executor, lane->member, hy_bulk_now(bulk) - lane->asked_ns);
	hy_bulk_withdraw(bulk, lane);
	note_failure(bulk, &run);
	note_end(bulk, &run);
	lane->open = false;
}

/*
 * free_piece: return a free piece with memory for its answers.  If there is no memory, limits the
 * lane to the pieces that it has in flight now, and returns NULL.
 */
static HyBulkPiece *
free_piece(HyBulk *bulk, HyBulkLane *lane)
{
	size_t bytes = (size_t) hy_slice_output_bytes(&bulk->slicing);
	HyBulkPiece *piece = bulk->piece;

	/* A free piece exists, because there are as many as all lanes together may have in flight. */
	while (piece->lane != NULL)
		piece++;
	if (!bulk->slicing.merges || piece->memory != NULL)
		return piece;
	piece->memory = hy_alloc(bulk->executor->allocator, bytes);
	if (piece->memory != NULL)
		return piece;
	lane->depth = lane->in_flight;
	lane->open = lane->in_flight > 0;
	if (bulk->report.first == HY_OK)
		bulk->report.first = HY_NOMEM;
	return NULL;
}
