/*
 * bulk.c
 *		One large task in pieces, on several devices and the CPU at once: see bulk.h.
 *
 * Ranges of rows that nobody has are the pool (front .. back, of which the devices may take up to
 * the boundary) and what came back from lanes that failed.  A step first hears what has ended, then
 * lets every device take what it has room for, and last the CPU, which computes its piece at once;
 * so while the CPU works the devices have something to do.
 *
 * How long a CPU piece may be is a compromise: nobody listens to the devices meanwhile.
 */
#include "dispatch/bulk.h"

#include <math.h>
#include <string.h>

#include "dispatch/balance.h"
#include "dispatch/executor_state.h"
#include "dispatch/slice.h"

#define PROBE_PARTS 16       /* a first piece of a device of unknown speed, among several lanes */
#define CPU_PROBE_PARTS 1024 /* the same of the CPU, which is deaf meanwhile */
#define WORTH 0.92 /* several lanes where they need less than this of the best one's time */
#define LONGEST_REST_NS 4e6    /* not cut any more when it is the last */
#define LONGEST_PIECE_NS 1.5e6 /* of a device, where a failure shall cost little */
#define MOST_LOST_NS 3e6       /* a lane that lost more has no further try */
#define MOST_HALVINGS 6  /* who has no room for a small part of what it promised is not believed */
#define LEAST_CPU_NS 5e4 /* shortest and longest piece of the CPU */
#define LONGEST_CPU_NS 2e6
#define STARTS_WORTH 24      /* a device piece shorter than so many starts is not halved */
#define GUESSED_START_NS 1e4 /* of a device whose start is not known */
#define LATE 0.8             /* the CPU takes a piece back if it needs this much of what remains */
#define PIECE_STARTS 3       /* others or not, a piece lasts at least so many starts */

/* Range: rows that nobody works at. */
typedef struct Range
{
	int64_t first;
	int64_t count;
	bool failed; /* a device has failed at it */
} Range;

typedef struct Lane Lane;

/* Piece: a slice in flight, or the memory to have one. */
typedef struct Piece
{
	Lane *lane;
	bool used;
	int64_t first;
	int64_t count;
	double predicted_ns; /* < 0: not known */
	int32_t place;       /* in the device's queue */
	uint64_t bytes;      /* of device memory, as estimated */
	HyTask task;
	HyFlight flight;
	void *memory; /* of output, or NULL */
	HySliceOutput output;
} Piece;

struct Lane
{
	int32_t device;
	HyMember *member;
	bool open; /* takes more */
	int halvings;
	bool reopened; /* its context was lost once */
	bool asked;    /* for a place in the queue */
	int32_t place; /* that it was asked for */
	bool begun;    /* the breaker has let a piece through that is not launched yet */
	int32_t depth; /* most pieces in flight */
	int32_t flying;
	int64_t most_rows; /* of a piece, for memory; < 0: not known before it is open */
	uint64_t contexts; /* on the device, when that was found */
	double start_ns;   /* predicted: start_ns + rows * row_ns; row_ns <= 0: not known */
	double row_ns;
	uint64_t free_ns;     /* when what is in flight is expected to have ended */
	uint64_t last_end_ns; /* of the piece that ended last */
	int64_t rows;         /* done */
	int64_t pieces;
	double busy_ns;
	double lost_ns;   /* by pieces that failed */
	uint64_t largest; /* bytes of the largest piece that fitted */
	uint64_t bytes_up;
	uint64_t bytes_down;
};

struct HyBulk
{
	HyExecutor *executor;
	HyBulkPlan plan;
	HySlicing slicing;
	HyShape shape;
	HyBulkReport report;
	int lanes; /* devices; the CPU's own is apart */
	Lane lane[HY_MAX_DEVICES];
	Lane cpu;
	int64_t front;
	int64_t back;
	int64_t boundary; /* devices take below it, the CPU above; < 0: wherever they meet */
	bool over;
	HyDeviceRun ended; /* why the lane that was closed last was */
	int32_t ranges;
	int32_t most_ranges;
	Range *range;
	int32_t pieces;
	Piece *piece;
	void *cpu_memory;
	HyNeighbor *spare;
};

static HyStatus prepare(HyBulk *bulk);
static void keep_who_helps(HyBulk *bulk);
static void learn_speed(const HyBulk *bulk, Lane *lane);
static int64_t rows_that_fit(HyBulk *bulk, Lane *lane);
static void fit_lane(HyBulk *bulk, Lane *lane);
static bool hear(HyBulk *bulk);
static bool settle(HyBulk *bulk, Piece *piece);
static void piece_done(HyBulk *bulk, Piece *piece);
static void piece_failed(HyBulk *bulk, Piece *piece);
static void note_end(HyBulk *bulk, const HyDeviceRun *run);
static bool reopen(HyBulk *bulk, Lane *lane);
static void stop_lane(HyBulk *bulk, Lane *lane);
static void stop_all(HyBulk *bulk, HyStatus status);
static void drop_wishes(HyBulk *bulk, Lane *lane);
static void give_back(HyBulk *bulk, int64_t first, int64_t count, bool failed);
static bool feed_devices(HyBulk *bulk);
static bool launch(HyBulk *bulk, Lane *lane);
static bool its_turn(HyBulk *bulk, Lane *lane, int64_t rows);
static bool begin_lane(HyBulk *bulk, Lane *lane);
static Piece *free_piece(HyBulk *bulk);
static bool feed_cpu(HyBulk *bulk);
static bool run_cpu_piece(HyBulk *bulk, int64_t first, int64_t count);
static bool take_back(HyBulk *bulk);
static Range *range_for(HyBulk *bulk, bool cpu, int64_t *left);
static int64_t device_rows(HyBulk *bulk, Lane *lane, int64_t left, uint64_t now);
static int64_t cpu_rows(HyBulk *bulk, int64_t left, uint64_t now);
static double level_of(HyBulk *bulk, double rows, uint64_t now, bool with_cpu, int *known);
static double busy_for(const Lane *lane, uint64_t now);
static double lane_ns(const Lane *lane, double rows);
static bool any_room(const HyBulk *bulk);
static bool nothing_left(const HyBulk *bulk);
static bool any_open(const HyBulk *bulk);
static bool any_flying(const HyBulk *bulk);
static void finish(HyBulk *bulk);
static uint64_t now_ns(const HyBulk *bulk);

HyStatus
hy_bulk_begin(HyExecutor *executor, const HyTask *task, const HyBulkPlan *plan, HyBulk **bulk)
{
	HyBulk *b = hy_alloc_zero(executor->allocator, sizeof(HyBulk));
	HyStatus st;

	*bulk = NULL;
	if (b == NULL)
		return HY_NOMEM;
	b->executor = executor;
	b->plan = *plan;
	hy_slicing_init(&b->slicing, task);
	b->shape = hy_task_shape(task);
	b->report.started_ns = now_ns(b);
	st = prepare(b);
	if (st != HY_OK)
	{
		hy_bulk_end(b);
		return st;
	}
	hy_slicing_begin(&b->slicing);
	*bulk = b;
	return HY_OK;
}

bool
hy_bulk_step(HyBulk *bulk, uint64_t *wait_ns, bool *may_skip)
{
	const HyCancel *cancel = bulk->slicing.task->cancel;
	bool progress;
	int32_t i;

	*wait_ns = 0;
	*may_skip = false;
	if (bulk->over)
		return true;
	progress = hear(bulk);
	if (!bulk->over && hy_cancelled(cancel))
		stop_all(bulk, HY_CANCELLED);
	if (!bulk->over && feed_devices(bulk))
		progress = true;
	if (!bulk->over && feed_cpu(bulk))
		progress = true;
	if (!bulk->over && nothing_left(bulk) && !any_flying(bulk))
		finish(bulk);
	if (bulk->over)
		return true;
	if (progress)
		return false;

	/* Nobody can go on before the first of those in flight has ended. */
	*wait_ns = UINT64_MAX;
	for (i = 0; i < bulk->pieces; i++)
	{
		bool skips;
		uint64_t ns;

		if (!bulk->piece[i].used)
			continue;
		ns = hy_flight_patience(bulk->executor, &bulk->piece[i].flight, &skips);
		if (ns < *wait_ns || (ns == *wait_ns && !skips))
		{
			*wait_ns = ns;
			*may_skip = skips;
		}
	}
	if (*wait_ns == UINT64_MAX)
		*wait_ns = HY_QUEUE_LOOK_NS;
	return false;
}

const HyBulkReport *
hy_bulk_report(const HyBulk *bulk)
{
	return &bulk->report;
}

void
hy_bulk_end(HyBulk *bulk)
{
	const HyAllocator *allocator;
	int32_t i;

	if (bulk == NULL)
		return;
	allocator = bulk->executor->allocator;
	if (!bulk->over)
		stop_all(bulk, HY_CANCELLED);
	for (i = 0; i < bulk->pieces; i++)
		hy_free(allocator, bulk->piece[i].memory);
	hy_free(allocator, bulk->piece);
	hy_free(allocator, bulk->range);
	hy_free(allocator, bulk->cpu_memory);
	hy_free(allocator, bulk->spare);
	hy_free(allocator, bulk);
}

HyStatus
hy_bulk_run(HyExecutor *executor, const HyTask *task, const HyBulkPlan *plan, HyBulkReport *report)
{
	HyBulk *bulk;
	uint64_t wait_ns;
	bool may_skip;
	HyStatus st = hy_bulk_begin(executor, task, plan, &bulk);

	memset(report, 0, sizeof(*report));
	report->status = st;
	if (st != HY_OK)
		return st;
	while (!hy_bulk_step(bulk, &wait_ns, &may_skip))
	{
		if (wait_ns > 0)
			hy_wait(executor, wait_ns, may_skip);
	}
	*report = bulk->report;
	hy_bulk_end(bulk);
	return report->status;
}

/* prepare: lanes, memory, the rows to be done. */
static HyStatus
prepare(HyBulk *bulk)
{
	HyExecutor *executor = bulk->executor;
	const HyAllocator *allocator = executor->allocator;
	int64_t extent = bulk->slicing.extent;
	int32_t depth = executor->config.queue_depth;
	int32_t d;

	depth = depth < 1 ? 1 : depth > HY_MAX_FLIGHTS ? HY_MAX_FLIGHTS : depth;
	bulk->back = extent;
	bulk->boundary = -1;
	bulk->cpu.member = &executor->member[0];
	bulk->cpu.open = bulk->plan.with_cpu;
	bulk->cpu.most_rows = INT64_MAX;
	learn_speed(bulk, &bulk->cpu);
	for (d = 1; d < executor->members; d++)
	{
		Lane *lane = &bulk->lane[bulk->lanes];

		if (!(bulk->plan.devices >> d & 1) || executor->member[d].backend == NULL ||
		    executor->member[d].latched)
			continue;
		lane->device = d;
		lane->member = &executor->member[d];
		lane->open = true;
		lane->depth = depth;
		/* A breaker that is not closed lets one through at a time. */
		if (lane->member->breakers[bulk->shape.op].state != HY_BREAKER_CLOSED)
			lane->depth = 1;
		lane->most_rows = -1;
		learn_speed(bulk, lane);
		bulk->lanes++;
	}
	if (bulk->lanes == 0 && !bulk->plan.with_cpu)
		return HY_UNSUPPORTED;
	if (bulk->plan.percent < 0)
		keep_who_helps(bulk);
	else if (bulk->plan.with_cpu)
		bulk->boundary = (int64_t) ((double) extent * bulk->plan.percent / 100 + 0.5);
	bulk->pieces = bulk->lanes * depth;
	bulk->most_ranges = bulk->pieces + HY_MAX_DEVICES + 8;
	bulk->range = hy_alloc_array(allocator, (size_t) bulk->most_ranges, sizeof(Range));
	if (bulk->pieces > 0)
		bulk->piece = hy_alloc_zero(allocator, (size_t) bulk->pieces * sizeof(Piece));
	if (bulk->piece == NULL && bulk->pieces > 0)
	{
		bulk->pieces = 0;
		return HY_NOMEM;
	}
	if (bulk->slicing.merges)
	{
		bulk->spare = hy_alloc_array(allocator, (size_t) bulk->shape.k, sizeof(HyNeighbor));
		bulk->cpu_memory = hy_alloc(allocator, (size_t) hy_slice_output_bytes(&bulk->slicing));
		if (bulk->spare == NULL || (bulk->cpu_memory == NULL && bulk->shape.queries > 0))
			return HY_NOMEM;
	}
	return bulk->range != NULL ? HY_OK : HY_NOMEM;
}

/* keep_who_helps: where all together are not clearly faster than the best one, it works alone. */
static void
keep_who_helps(HyBulk *bulk)
{
	double rows = (double) bulk->slicing.extent;
	Lane *best = NULL;
	int known;
	int open = bulk->cpu.open + bulk->lanes;
	double level = level_of(bulk, rows, 0, bulk->cpu.open, &known);
	int i;

	if (known < open || known < 2)
		return;
	for (i = -1; i < bulk->lanes; i++)
	{
		Lane *lane = i < 0 ? &bulk->cpu : &bulk->lane[i];

		if (lane->open && (best == NULL || lane_ns(lane, rows) < lane_ns(best, rows)))
			best = lane;
	}
	if (level <= WORTH * lane_ns(best, rows))
		return;
	bulk->plan.rescue = bulk->plan.rescue || bulk->cpu.open;
	bulk->cpu.open = best == &bulk->cpu;
	for (i = 0; i < bulk->lanes; i++)
		bulk->lane[i].open = best == &bulk->lane[i];
}

/* learn_speed: what history says of the lane: a line through the whole and a single row. */
static void
learn_speed(const HyBulk *bulk, Lane *lane)
{
	int64_t extent = bulk->slicing.extent;
	HyShape one = hy_shape_slice(&bulk->shape, 1);
	double whole_ns = hy_tracker_predict(bulk->executor->tracker, &bulk->shape, lane->device);
	double one_ns;

	if (whole_ns <= 0 || extent < 1)
		return;
	one_ns = hy_tracker_predict(bulk->executor->tracker, &one, lane->device);
	/* the CPU starts for nothing, whatever the smallest tasks that were seen took */
	if (lane->device != 0 && one_ns > 0 && extent > 1)
		lane->start_ns = one_ns < whole_ns / 2 ? one_ns : whole_ns / 2;
	lane->row_ns = (whole_ns - lane->start_ns) / (double) extent;
}

/* rows_that_fit: the most rows of a piece such that all in flight fit the device's memory. */
static int64_t
rows_that_fit(HyBulk *bulk, Lane *lane)
{
	const HyBackend *backend = lane->member->backend;
	HyDevice *device = lane->member->device;
	uint64_t budget = hy_member_budget(bulk->executor, lane->member, now_ns(bulk));
	int64_t low = 0;
	int64_t high = bulk->slicing.extent;
	HyShape piece = hy_shape_slice(&bulk->shape, high);

	if (backend->estimate(device, &piece).device_bytes <= budget / (uint64_t) lane->depth)
		return high;
	/* Larger pieces one at a time are no better than smaller ones that follow each other. */
	piece = hy_shape_slice(&bulk->shape, 1);
	if (backend->estimate(device, &piece).device_bytes > budget / (uint64_t) lane->depth)
		lane->depth = 1;
	budget /= (uint64_t) lane->depth;
	while (high - low > 1)
	{
		int64_t middle = low + (high - low) / 2;

		piece = hy_shape_slice(&bulk->shape, middle);
		if (backend->estimate(device, &piece).device_bytes <= budget)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * fit_lane: how large a piece may be, found once, and again when the share of the device's memory
 * has changed because another process has opened a context there or closed one.
 */
static void
fit_lane(HyBulk *bulk, Lane *lane)
{
	uint64_t contexts = hy_share_contexts(bulk->executor, lane->member);
	int32_t i;

	if (lane->most_rows >= 0 && lane->contexts == contexts)
		return;
	if (lane->most_rows >= 0)
	{
		/* ask anew, and count what this lane has in flight as if it were free: it makes room itself */
		lane->member->free_known = false;
		for (i = 0; i < bulk->pieces; i++)
		{
			if (bulk->piece[i].used && bulk->piece[i].lane == lane)
				lane->member->held_bytes += bulk->piece[i].bytes;
		}
	}
	lane->most_rows = rows_that_fit(bulk, lane);
	lane->member->held_bytes = 0;
	lane->contexts = contexts;
}

/* hear: what has ended in the meantime; whether anything has. */
static bool
hear(HyBulk *bulk)
{
	bool heard = false;
	int32_t i;

	for (i = 0; i < bulk->pieces && !bulk->over; i++)
	{
		Piece *piece = &bulk->piece[i];

		if (piece->used && hy_flight_over(bulk->executor, &piece->flight))
			heard = settle(bulk, piece);
	}
	return heard;
}

/* settle: a flight is over; true. */
static bool
settle(HyBulk *bulk, Piece *piece)
{
	Lane *lane = piece->lane;
	HyStatus st = piece->flight.run.status;

	piece->used = false;
	lane->flying--;
	piece->flight.run.shared = hy_device_shared(bulk->executor, piece->place);
	hy_device_leave(bulk->executor, piece->place);
	if (st != HY_OK)
		hy_count_attempt(&lane->member->counters[bulk->shape.op], st);
	if (st == HY_OK)
		piece_done(bulk, piece);
	else if (st == HY_CANCELLED)
	{
		hy_attempt_judge(bulk->executor, lane->member, bulk->shape.op, st);
		stop_all(bulk, HY_CANCELLED);
	}
	else
		piece_failed(bulk, piece);
	return true;
}

static void
piece_done(HyBulk *bulk, Piece *piece)
{
	Lane *lane = piece->lane;
	const HyDeviceRun *run = &piece->flight.run;
	uint64_t from = run->started_ns > lane->last_end_ns ? run->started_ns : lane->last_end_ns;
	double ns = run->finished_ns > from ? (double) (run->finished_ns - from) : 1;
	HyShape shape = hy_shape_slice(&bulk->shape, piece->count);
	uint64_t before = now_ns(bulk);
	int32_t i;

	hy_attempt_judge(bulk->executor, lane->member, bulk->shape.op, HY_OK);
	if (!run->shared)
		hy_tracker_record(bulk->executor->tracker, &shape, lane->device, (uint64_t) ns);
	if (piece->bytes > lane->largest)
		lane->largest = piece->bytes;
	lane->last_end_ns = run->finished_ns;
	lane->rows += piece->count;
	lane->pieces++;
	bulk->report.rows[lane->device] = lane->rows;
	lane->busy_ns += ns;
	lane->bytes_up += run->timings.bytes_up;
	lane->bytes_down += run->timings.bytes_down;
	bulk->report.pieces++;
	if (lane->row_ns > 0 && !run->shared)
	{
		/* half of what was wrong with the prediction is believed at once */
		double factor = ns / lane_ns(lane, (double) piece->count);

		factor = 0.5 + 0.5 * (factor < 0.2 ? 0.2 : factor > 5 ? 5 : factor);
		lane->start_ns *= factor;
		lane->row_ns *= factor;
	}
	else if (lane->row_ns <= 0)
	{
		lane->start_ns = ns / 2 < GUESSED_START_NS ? ns / 2 : GUESSED_START_NS;
		lane->row_ns = (ns - lane->start_ns) / (double) piece->count;
	}
	lane->free_ns = now_ns(bulk);
	for (i = 0; i < bulk->pieces; i++)
	{
		if (bulk->piece[i].used && bulk->piece[i].lane == lane)
			lane->free_ns += (uint64_t) lane_ns(lane, (double) bulk->piece[i].count);
	}
	hy_slice_merge(&bulk->slicing, piece->first, &piece->output, bulk->spare);
	bulk->report.join_ns += now_ns(bulk) - before;
}

/* piece_failed: what its status says of the lane, and who is to do these rows. */
static void
piece_failed(HyBulk *bulk, Piece *piece)
{
	Lane *lane = piece->lane;
	HyStatus st = piece->flight.run.status;
	bool memory = st == HY_NOMEM || st == HY_QUOTA;
	bool patient;
	int i;

	if (bulk->report.first == HY_OK)
	{
		bulk->report.first = st;
		bulk->report.failure = piece->flight.run.failure;
	}
	lane->lost_ns += (double) (now_ns(bulk) - piece->flight.run.started_ns);
	patient = lane->lost_ns <= MOST_LOST_NS;
	/* Others of this lane are in its way: their end will make room. */
	if ((memory || st == HY_BUSY) && lane->flying > 0 && patient)
	{
		hy_attempt_judge(bulk->executor, lane->member, bulk->shape.op, st);
		lane->depth = lane->flying;
		give_back(bulk, piece->first, piece->count, false);
		return;
	}
	if (memory)
		hy_member_refused(lane->member, piece->bytes, now_ns(bulk));
	if (memory && piece->count > 1 && patient && lane->halvings < MOST_HALVINGS)
	{
		lane->halvings++;
		hy_attempt_judge(bulk->executor, lane->member, bulk->shape.op, st);
		lane->depth = 1;
		lane->most_rows = piece->count / 2;
		give_back(bulk, piece->first, piece->count, false);
		return;
	}
	/* What the loss of a device or of a process takes along must not be in flight then. */
	if (st == HY_PROCESS_LOST)
	{
		for (i = 0; i < bulk->lanes; i++)
		{
			if (bulk->lane[i].member->backend == lane->member->backend)
				stop_lane(bulk, &bulk->lane[i]);
		}
	}
	else if (st == HY_CONTEXT_LOST || st == HY_DEVICE_GONE)
		stop_lane(bulk, lane);
	hy_attempt_judge(bulk->executor, lane->member, bulk->shape.op, st);
	lane->open = st == HY_CONTEXT_LOST && reopen(bulk, lane) && patient;
	if (!lane->open)
		note_end(bulk, &piece->flight.run);
	/* A context opened again has another try at it. */
	give_back(bulk, piece->first, piece->count, !lane->open);
	for (i = 0; i < bulk->lanes; i++)
	{
		if (bulk->lane[i].member->latched)
			bulk->lane[i].open = false;
	}
}

/* note_end: a lane is closed for this. */
static void
note_end(HyBulk *bulk, const HyDeviceRun *run)
{
	bulk->ended.status = run->status;
	bulk->ended.failure = run->failure;
}

/* reopen: the context is lost: another one, once, where the breaker still trusts the device. */
static bool
reopen(HyBulk *bulk, Lane *lane)
{
	HyMember *member = lane->member;

	if (member->latched)
		return false;
	hy_member_close(bulk->executor, member);
	if (lane->reopened || !hy_breaker_would_allow(&member->breakers[bulk->shape.op], now_ns(bulk)))
		return false;
	lane->reopened = true;
	return true;
}

/* stop_lane: what it has in flight comes back. */
static void
stop_lane(HyBulk *bulk, Lane *lane)
{
	int32_t i;

	for (i = 0; i < bulk->pieces; i++)
	{
		Piece *piece = &bulk->piece[i];

		if (!piece->used || piece->lane != lane)
			continue;
		hy_flight_stop(bulk->executor, &piece->flight);
		hy_device_leave(bulk->executor, piece->place);
		piece->used = false;
		lane->flying--;
		give_back(bulk, piece->first, piece->count, false);
	}
}

/* stop_all: the job ends here, with this status. */
static void
stop_all(HyBulk *bulk, HyStatus status)
{
	int i;

	for (i = 0; i < bulk->lanes; i++)
	{
		Lane *lane = &bulk->lane[i];

		if (lane->flying > 0)
			hy_attempt_judge(bulk->executor, lane->member, bulk->shape.op, HY_CANCELLED);
		stop_lane(bulk, lane);
		drop_wishes(bulk, lane);
	}
	bulk->report.status = status;
	bulk->report.finished_ns = now_ns(bulk);
	bulk->over = true;
}

/* drop_wishes: neither the breaker nor the queue need wait for the lane any longer. */
static void
drop_wishes(HyBulk *bulk, Lane *lane)
{
	if (lane->begun)
		hy_attempt_judge(bulk->executor, lane->member, bulk->shape.op, HY_CANCELLED);
	lane->begun = false;
	if (lane->asked)
		hy_device_leave(bulk->executor, lane->place);
	lane->asked = false;
}

/* give_back: rows that somebody has to do again; next to others of their kind they become one. */
static void
give_back(HyBulk *bulk, int64_t first, int64_t count, bool failed)
{
	int32_t i;

	if (!failed && first + count == bulk->front)
	{
		bulk->front = first;
		return;
	}
	for (i = 0; i < bulk->ranges; i++)
	{
		Range *range = &bulk->range[i];

		if (range->failed != failed)
			continue;
		if (range->first + range->count == first)
		{
			range->count += count;
			return;
		}
		if (first + count == range->first)
		{
			range->first = first;
			range->count += count;
			return;
		}
	}
	if (bulk->ranges == bulk->most_ranges)
	{
		/* Cannot be: each lies where a piece in flight was.  The caller computes all again. */
		stop_all(bulk, HY_BUG);
		return;
	}
	bulk->range[bulk->ranges++] = (Range){first, count, failed};
}

/* feed_devices: a piece for every device that has room; whether one was launched. */
static bool
feed_devices(HyBulk *bulk)
{
	bool launched = false;
	bool again;
	int i;

	/* round by round, so that the first device does not take it all */
	do
	{
		again = false;
		for (i = 0; i < bulk->lanes && !bulk->over; i++)
		{
			Lane *lane = &bulk->lane[i];

			if (lane->open && lane->flying < lane->depth && launch(bulk, lane))
				again = launched = true;
		}
	} while (again && !bulk->over);
	return launched;
}

/* launch: takes rows and submits them; false when there are none for this lane now. */
static bool
launch(HyBulk *bulk, Lane *lane)
{
	HyExecutor *executor = bulk->executor;
	uint64_t now = now_ns(bulk);
	int64_t left;
	Range *range = range_for(bulk, false, &left);
	Piece *piece;
	HyShape shape;
	int64_t rows;

	if (left == 0)
		return false;
	rows = device_rows(bulk, lane, left, now);
	if (rows <= 0)
		return false;
	if (!lane->begun && !begin_lane(bulk, lane))
		return false;
	now = now_ns(bulk); /* opening takes its time */
	if (rows > lane->most_rows)
		rows = lane->most_rows;
	if (!its_turn(bulk, lane, rows))
		return false;
	piece = free_piece(bulk);
	if (piece == NULL)
		return false;
	if (bulk->slicing.merges && piece->memory == NULL)
	{
		piece->memory =
			hy_alloc(executor->allocator, (size_t) hy_slice_output_bytes(&bulk->slicing));
		if (piece->memory == NULL)
		{
			/* fewer at once will do; none is the host's want of memory */
			lane->depth = lane->flying;
			lane->open = lane->flying > 0;
			if (bulk->report.first == HY_OK)
				bulk->report.first = HY_NOMEM;
			return false;
		}
	}
	if (range != NULL)
	{
		piece->first = range->first;
		range->first += rows;
		range->count -= rows;
		if (range->count == 0)
			*range = bulk->range[--bulk->ranges];
	}
	else
	{
		piece->first = bulk->front;
		bulk->front += rows;
	}
	piece->lane = lane;
	piece->count = rows;
	piece->used = true;
	piece->predicted_ns = lane->row_ns > 0 ? lane_ns(lane, (double) rows) : -1;
	piece->output = hy_slice_output_at(&bulk->slicing, piece->memory);
	piece->task = hy_slice(&bulk->slicing, piece->first, rows, &piece->output);
	shape = hy_shape_slice(&bulk->shape, rows);
	piece->bytes = lane->member->backend->estimate(lane->member->device, &shape).device_bytes;
	lane->flying++;
	piece->place = lane->place;
	lane->begun = false;
	lane->asked = false;
	if (lane->free_ns < now)
		lane->free_ns = now;
	if (piece->predicted_ns > 0)
		lane->free_ns += (uint64_t) piece->predicted_ns;
	hy_flight_start(executor, lane->member, &piece->task, &piece->flight);
	if (!piece->flight.flying)
		settle(bulk, piece);
	return true;
}

/* begin_lane: the breaker, an open context, what fits it; false: the lane is closed. */
static bool
begin_lane(HyBulk *bulk, Lane *lane)
{
	HyDeviceRun run;

	if (hy_attempt_begin(bulk->executor, lane->member, bulk->shape.op, &run))
	{
		lane->begun = true;
		if (lane->member->info.virtual_time)
			bulk->report.virtual_time = true;
		fit_lane(bulk, lane);
		if (lane->most_rows > 0)
			return true;
		run.status = HY_NOMEM;
	}
	if (bulk->report.first == HY_OK)
	{
		bulk->report.first = run.status;
		bulk->report.failure = run.failure;
	}
	note_end(bulk, &run);
	lane->open = false;
	return false;
}

/* its_turn: whether the queue of the device lets the lane submit a piece of so many rows. */
static bool
its_turn(HyBulk *bulk, Lane *lane, int64_t rows)
{
	double ns = lane->row_ns > 0 ? lane_ns(lane, (double) rows) : 0;

	if (!lane->asked)
	{
		lane->place = hy_device_ask(bulk->executor, lane->member, ns, rows == bulk->slicing.extent);
		lane->asked = lane->place != -1;
	}
	return lane->asked && hy_device_granted(bulk->executor, lane->place);
}

static Piece *
free_piece(HyBulk *bulk)
{
	int32_t i;

	for (i = 0; i < bulk->pieces; i++)
	{
		if (!bulk->piece[i].used)
			return &bulk->piece[i];
	}
	return NULL;
}

/* feed_cpu: a piece for the CPU, computed at once; whether there was one. */
static bool
feed_cpu(HyBulk *bulk)
{
	int64_t left;
	int64_t rows;
	int64_t first;
	Range *range;

	/* What a device has failed at is the CPU's; and all the rest when no device is left. */
	if (!bulk->cpu.open && !bulk->plan.rescue)
	{
		if (!any_open(bulk) && !any_flying(bulk) && !nothing_left(bulk))
		{
			/* what ended the last of them is the answer */
			bulk->report.failure = bulk->ended.failure;
			stop_all(bulk, bulk->ended.status != HY_OK ? bulk->ended.status : HY_NOMEM);
		}
		return false;
	}
	range = range_for(bulk, true, &left);
	if (left == 0)
		return bulk->cpu.open && bulk->boundary < 0 && take_back(bulk);
	rows = cpu_rows(bulk, left, now_ns(bulk));
	if (rows <= 0)
		return false;
	if (range != NULL)
	{
		range->count -= rows;
		first = range->first + range->count;
		bulk->report.fallback = bulk->report.fallback || range->failed;
		if (range->count == 0)
			*range = bulk->range[--bulk->ranges];
	}
	else
	{
		if (!bulk->cpu.open || (bulk->boundary >= 0 && bulk->back <= bulk->boundary))
			bulk->report.fallback = true;
		bulk->back -= rows;
		first = bulk->back;
	}
	return run_cpu_piece(bulk, first, rows);
}

static bool
run_cpu_piece(HyBulk *bulk, int64_t first, int64_t count)
{
	HyMember *member = bulk->cpu.member;
	HySliceOutput output = hy_slice_output_at(&bulk->slicing, bulk->cpu_memory);
	HyTask task = hy_slice(&bulk->slicing, first, count, &output);
	uint64_t from = now_ns(bulk);
	uint64_t until;
	HyTicket ticket;
	HyTimings timings;
	bool done;
	double ns;
	HyStatus st = member->backend->submit(member->device, &task, &ticket);

	if (st == HY_OK)
		st = member->backend->poll(member->device, ticket, &done, &timings);
	until = now_ns(bulk);
	if (st != HY_OK)
	{
		hy_count_attempt(&member->counters[bulk->shape.op], st);
		stop_all(bulk, st);
		return true;
	}
	ns = until > from ? (double) (until - from) : 1;
	bulk->cpu.rows += count;
	bulk->cpu.pieces++;
	bulk->report.rows[0] = bulk->cpu.rows;
	bulk->cpu.busy_ns += ns;
	bulk->report.cpu_ns = (uint64_t) bulk->cpu.busy_ns;
	bulk->cpu.row_ns = bulk->cpu.row_ns > 0 ? 0.5 * bulk->cpu.row_ns + 0.5 * ns / (double) count
	                                        : ns / (double) count;
	bulk->cpu.start_ns = 0;
	bulk->report.pieces++;
	hy_slice_merge(&bulk->slicing, first, &output, bulk->spare);
	bulk->report.join_ns += now_ns(bulk) - until;
	return true;
}

/*
 * take_back: the CPU has nothing to do while a device has a piece that the CPU would have done
 * before it.  A wrong prediction, or a device that hangs, costs no more than that.
 */
static bool
take_back(HyBulk *bulk)
{
	uint64_t now = now_ns(bulk);
	Piece *latest = NULL;
	double longest = 0;
	int32_t i;

	if (bulk->cpu.row_ns <= 0)
		return false;
	for (i = 0; i < bulk->pieces; i++)
	{
		Piece *piece = &bulk->piece[i];
		double remaining;

		if (!piece->used)
			continue;
		remaining = (double) piece->flight.run.timings.remaining_ns;
		/* where neither the device nor history says anything, it has had as long as it will need */
		if (remaining <= 0 && piece->predicted_ns > 0)
			remaining = busy_for(piece->lane, now);
		if (remaining <= 0)
			remaining = (double) (now - piece->flight.run.started_ns);
		if (lane_ns(&bulk->cpu, (double) piece->count) < LATE * remaining && remaining > longest)
		{
			latest = piece;
			longest = remaining;
		}
	}
	if (latest == NULL)
		return false;
	hy_flight_stop(bulk->executor, &latest->flight);
	hy_device_leave(bulk->executor, latest->place);
	hy_attempt_judge(bulk->executor, latest->lane->member, bulk->shape.op, HY_CANCELLED);
	latest->used = false;
	latest->lane->flying--;
	latest->lane->open = false; /* it would only take the rows again */
	bulk->report.stolen++;
	give_back(bulk, latest->first, latest->count, false);
	return true;
}

/*
 * range_for: where the next piece of a device, or of the CPU, comes from: a range that was given
 * back, or NULL for the pool; *left rows are there, 0 for none.
 */
static Range *
range_for(HyBulk *bulk, bool cpu, int64_t *left)
{
	bool alone = !any_open(bulk) && !any_flying(bulk);
	int64_t from = bulk->front;
	int64_t to = bulk->back;
	int pass;
	int32_t i;

	/* What has failed goes to the CPU, unless it takes no part: then to any other device. */
	for (pass = 0; pass < 2; pass++)
	{
		for (i = 0; i < bulk->ranges; i++)
		{
			Range *range = &bulk->range[i];
			bool mine = cpu ? range->failed || bulk->cpu.open || alone
			                : !range->failed || !bulk->plan.rescue;

			if (mine && range->failed == (cpu == (pass == 0)))
			{
				*left = range->count;
				return range;
			}
		}
	}
	*left = 0;
	if (cpu && !bulk->cpu.open && !alone)
		return NULL;
	if (bulk->boundary >= 0)
	{
		if (!cpu && to > bulk->boundary)
			to = bulk->boundary;
		/* the devices' part is theirs for as long as one is left */
		if (cpu && !alone && from < bulk->boundary)
			from = bulk->boundary;
	}
	*left = to > from ? to - from : 0;
	return NULL;
}

/* device_rows: how many of left rows the lane takes now; 0: none, others will have done before. */
static int64_t
device_rows(HyBulk *bulk, Lane *lane, int64_t left, uint64_t now)
{
	bool cpu = bulk->cpu.open && bulk->boundary < 0;
	double rows = (double) left;
	double longest = bulk->plan.rescue && !bulk->cpu.open ? LONGEST_PIECE_NS : HUGE_VAL;
	double quantum = 0;
	int lanes = cpu;
	int known;
	int i;

	if (bulk->executor->queued)
		quantum = hy_queue_quantum(&bulk->executor->seat, lane->device, now);
	for (i = 0; i < bulk->lanes; i++)
		lanes += bulk->lane[i].open;
	if (lane->row_ns <= 0)
	{
		/* One piece says how fast it is; alone, it may as well have all. */
		if (lane->flying > 0)
			return 0;
		if (lanes > 1 || quantum > 0)
			rows = ceil((double) bulk->slicing.extent / PROBE_PARTS);
	}
	else
	{
		double free_ns = busy_for(lane, now);
		double level = level_of(bulk, rows, now, cpu, &known);

		rows = hy_balance_rows(&(HyBalanceLane){free_ns, lane->start_ns, lane->row_ns}, level);
		if (rows < 0.5)
			return 0;
		/* who is not known yet needs something to show what it can */
		if (known < lanes)
			rows /= 4;
		else if (known > 1)
		{
			double least = lane->start_ns > GUESSED_START_NS ? lane->start_ns : GUESSED_START_NS;

			/* Half of it now, the other half when more is known; short ones at once. */
			if (lane_ns(lane, rows) > STARTS_WORTH * least)
				rows /= 2;
		}
		if (quantum > 0 && quantum < longest)
			longest = quantum;
		else if (longest == LONGEST_PIECE_NS && lanes == 1 &&
		         lane_ns(lane, rows) <= LONGEST_REST_NS)
			longest = LONGEST_REST_NS;
		if (longest < PIECE_STARTS * lane->start_ns)
			longest = PIECE_STARTS * lane->start_ns;
		if (lane_ns(lane, rows) > longest)
		{
			double most = floor((longest - lane->start_ns) / lane->row_ns);

			/* in equal parts */
			rows = most > 1 ? ceil(rows / ceil(rows / most)) : 1;
		}
	}
	rows = ceil(rows);
	if (rows > (double) left)
		rows = (double) left;
	return (int64_t) rows;
}

/* cpu_rows: the same for the CPU. */
static int64_t
cpu_rows(HyBulk *bulk, int64_t left, uint64_t now)
{
	double rows = (double) left;
	double longest = LONGEST_CPU_NS;
	int known;
	int i;

	if (bulk->cpu.row_ns <= 0)
		rows = ceil((double) bulk->slicing.extent / CPU_PROBE_PARTS);
	else
	{
		if (bulk->cpu.open && bulk->boundary < 0 && any_open(bulk))
		{
			double level = level_of(bulk, rows, now, true, &known);

			if (known > 1)
				rows = hy_balance_rows(&(HyBalanceLane){0, 0, bulk->cpu.row_ns}, level);
			if (rows < 0.5 && any_room(bulk))
				return 0;
		}
		/* a device that runs dry while the CPU is deaf loses time */
		for (i = 0; i < bulk->lanes; i++)
		{
			const Lane *lane = &bulk->lane[i];
			double dry = busy_for(lane, now);

			if (lane->flying > 0 && dry / 2 < longest)
				longest = dry / 2;
		}
		if (longest < LEAST_CPU_NS)
			longest = LEAST_CPU_NS;
		if (lane_ns(&bulk->cpu, rows) > longest)
			rows = longest / bulk->cpu.row_ns;
	}
	rows = ceil(rows);
	if (rows > (double) left)
		rows = (double) left;
	return rows < 1 ? 1 : (int64_t) rows;
}

/* level_of: when all lanes of known speed would be done with rows more; *known of them. */
static double
level_of(HyBulk *bulk, double rows, uint64_t now, bool with_cpu, int *known)
{
	HyBalanceLane lanes[HY_MAX_DEVICES + 1];
	int i;

	*known = 0;
	if (with_cpu && bulk->cpu.row_ns > 0)
		lanes[(*known)++] = (HyBalanceLane){0, 0, bulk->cpu.row_ns};
	for (i = 0; i < bulk->lanes; i++)
	{
		const Lane *lane = &bulk->lane[i];

		if (lane->open && lane->row_ns > 0)
			lanes[(*known)++] = (HyBalanceLane){busy_for(lane, now), lane->start_ns, lane->row_ns};
	}
	return *known > 0 ? hy_balance_level(lanes, *known, rows) : 0;
}

/* busy_for: ns until what the lane has in flight is done; who is late is late by as much again. */
static double
busy_for(const Lane *lane, uint64_t now)
{
	if (lane->flying == 0)
		return 0;
	return lane->free_ns > now ? (double) (lane->free_ns - now) : (double) (now - lane->free_ns);
}

static double
lane_ns(const Lane *lane, double rows)
{
	return lane->start_ns + lane->row_ns * rows;
}

static bool
nothing_left(const HyBulk *bulk)
{
	return bulk->ranges == 0 && bulk->front >= bulk->back;
}

/* any_room: whether a device would take another piece now. */
static bool
any_room(const HyBulk *bulk)
{
	int i;

	for (i = 0; i < bulk->lanes; i++)
	{
		if (bulk->lane[i].open && bulk->lane[i].flying < bulk->lane[i].depth)
			return true;
	}
	return false;
}

static bool
any_open(const HyBulk *bulk)
{
	int i;

	for (i = 0; i < bulk->lanes; i++)
	{
		if (bulk->lane[i].open)
			return true;
	}
	return false;
}

static bool
any_flying(const HyBulk *bulk)
{
	int i;

	for (i = 0; i < bulk->lanes; i++)
	{
		if (bulk->lane[i].flying > 0)
			return true;
	}
	return false;
}

/* finish: all is done.  What a lane did counts for its side; whose call it was the caller knows. */
static void
finish(HyBulk *bulk)
{
	int i;

	bulk->report.status = HY_OK;
	for (i = -1; i < bulk->lanes; i++)
	{
		Lane *lane = i < 0 ? &bulk->cpu : &bulk->lane[i];
		HyCounters *counters = &lane->member->counters[bulk->shape.op];
		HyShape shape = hy_shape_slice(&bulk->shape, lane->rows);

		if (i >= 0)
			drop_wishes(bulk, lane);
		if (lane->rows == 0)
			continue;
		if (i >= 0)
			hy_member_fitted(lane->member, lane->largest * (uint64_t) lane->depth);
		if (__builtin_add_overflow(counters->items, hy_shape_items(&shape), &counters->items))
			counters->items = INT64_MAX;
		counters->pieces += lane->pieces;
		counters->bytes_up += lane->bytes_up;
		counters->bytes_down += lane->bytes_down;
		if (i < 0)
			hy_tracker_record(bulk->executor->tracker, &shape, 0, (uint64_t) lane->busy_ns);
	}
	bulk->report.finished_ns = now_ns(bulk);
	bulk->over = true;
}

static uint64_t
now_ns(const HyBulk *bulk)
{
	return bulk->executor->clock->now(bulk->executor->clock->arg);
}
