/*
 * bulk_sizes.c
 *		Chooses how many rows a lane takes at a time, so that all lanes end together (balance.h).
 *
 * The predicted time of a piece is start_ns + rows * row_ns.  At first, start_ns and row_ns come
 * from history, and then completed pieces correct them.  A device gets half of its remaining share
 * at a time, so that the correction still has effect.  Its pieces are short enough to limit the
 * cost of a failure and to give other clients their turn.  The CPU's pieces are short, because the
 * devices are not polled while one runs.
 */
#include "dispatch/run/bulk_state.h"

#include <math.h>

#include "dispatch/model/balance.h"
#include "dispatch/route/budget.h"
#include "dispatch/route/gauge.h"

#define PROBE_PARTS 16       /* a device of unknown speed first gets 1/16 of all rows */
#define CPU_PROBE_PARTS 1024 /* the CPU gets less, because devices are not polled meanwhile */
/* all lanes are used if together they take at most this share of the best lane's time */
#define WORTH 0.92
#define LONGEST_REST_NS 4e6    /* a final piece up to this long is not cut further */
#define LONGEST_PIECE_NS 1.5e6 /* longest piece of a device, so that a failure costs little */
#define LEAST_CPU_NS 5e4       /* limits for a piece of the CPU */
#define LONGEST_CPU_NS 2e6
#define STARTS_WORTH 24 /* a device piece shorter than this many start costs is not halved */
#define PIECE_STARTS 3  /* minimum length of a piece, in start costs, even if other clients wait */

static int64_t rows_that_fit(HyBulk *bulk, HyBulkLane *lane);
static uint64_t piece_bytes(const HyBulk *bulk, const HyBulkLane *lane, int64_t rows);
static double level_of(const HyBulk *bulk, double rows, uint64_t now, bool with_cpu, int *known);
static int64_t whole_rows(double rows, int64_t left);

void
hy_bulk_learn_speed(const HyBulk *bulk, HyBulkLane *lane)
{
	int64_t extent = bulk->slicing.extent;
	HyShape one = hy_shape_slice(&bulk->slicing.shape, 1);
	double whole_ns = hy_gauge_forecast(bulk->executor, &bulk->slicing.shape, lane->device).ns;
	double one_ns;

	if (whole_ns <= 0 || extent < 1)
		return;
	/*
	 * If the CPU takes part, measure the speed with a first piece rather than trust a cold start.
	 */
	if (bulk->plan.with_cpu &&
	    hy_gauge_forecast(bulk->executor, &bulk->slicing.shape, lane->device).cold)
		return;
	one_ns = hy_tracker_predict(bulk->executor->tracker, &one, lane->device);
	/* the CPU is assumed to have no start cost, even if its smallest tasks took some time */
	if (lane->device != 0 && one_ns > 0 && extent > 1)
		lane->start_ns = fmin(one_ns, whole_ns / 2);
	lane->row_ns = (whole_ns - lane->start_ns) / (double) extent;
}

void
hy_bulk_correct_speed(HyBulkLane *lane, int64_t rows, double ns)
{
	if (lane->row_ns > 0)
	{
		/* correct half of the prediction's error */
		double factor = 0.5 + 0.5 * fmin(fmax(ns / hy_bulk_lane_ns(lane, (double) rows), 0.2), 5);

		lane->start_ns *= factor;
		lane->row_ns *= factor;
		return;
	}
	if (lane->device != 0)
		lane->start_ns = fmin(ns / 2, HY_BULK_GUESSED_START_NS);
	lane->row_ns = (ns - lane->start_ns) / (double) rows;
}

void
hy_bulk_drop_slow_lanes(HyBulk *bulk)
{
	double rows = (double) bulk->slicing.extent;
	HyBulkLane *best = NULL;
	int known;
	double level = level_of(bulk, rows, 0, bulk->cpu.open, &known);
	int i;

	if (known < bulk->cpu.open + bulk->lanes || known < 2)
		return;
	for (i = -1; i < bulk->lanes; i++)
	{
		HyBulkLane *lane = i < 0 ? &bulk->cpu : &bulk->lane[i];

		if (lane->open &&
		    (best == NULL || hy_bulk_lane_ns(lane, rows) < hy_bulk_lane_ns(best, rows)))
			best = lane;
	}
	if (level <= WORTH * hy_bulk_lane_ns(best, rows))
		return;
	bulk->plan.rescue = bulk->plan.rescue || bulk->cpu.open;
	bulk->cpu.open = best == &bulk->cpu;
	for (i = 0; i < bulk->lanes; i++)
		bulk->lane[i].open = best == &bulk->lane[i];
}

void
hy_bulk_fit(HyBulk *bulk, HyBulkLane *lane)
{
	uint64_t contexts =
		hy_share_contexts(&bulk->executor->share, lane->device, &lane->member->place);
	int32_t i;

	if (lane->most_rows >= 0 && lane->contexts == contexts)
		return;
	if (lane->most_rows >= 0)
	{
		/*
		 * Query the free memory again.  The memory of the lane's own pieces in flight counts as
		 * free, because the lane will free it.
		 */
		lane->member->free_known = false;
		for (i = 0; i < bulk->pieces; i++)
		{
			if (bulk->piece[i].lane == lane)
				lane->member->held_bytes += bulk->piece[i].bytes;
		}
	}
	lane->most_rows = rows_that_fit(bulk, lane);
	lane->member->held_bytes = 0;
	lane->contexts = contexts;
}

/* rows_that_fit: return the most rows per piece with which all pieces in flight fit the device. */
static int64_t
rows_that_fit(HyBulk *bulk, HyBulkLane *lane)
{
	uint64_t budget = hy_member_budget(bulk->executor, lane->member, hy_bulk_now(bulk));
	int64_t low = 0;
	int64_t high = bulk->slicing.extent;

	/*
	 * The pieces in flight share the budget.  Only if a single row does not fit a share of the
	 * budget, one piece at a time gets all of it.
	 */
	if (piece_bytes(bulk, lane, 1) > budget / (uint64_t) lane->depth)
		lane->depth = 1;
	budget /= (uint64_t) lane->depth;
	if (piece_bytes(bulk, lane, high) <= budget)
		return high;
	while (high - low > 1)
	{
		int64_t middle = low + (high - low) / 2;

		if (piece_bytes(bulk, lane, middle) <= budget)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static uint64_t
piece_bytes(const HyBulk *bulk, const HyBulkLane *lane, int64_t rows)
{
	HyShape shape = hy_shape_slice(&bulk->slicing.shape, rows);

	return lane->member->backend->estimate(lane->member->device, &shape).device_bytes;
}

int64_t
hy_bulk_device_rows(const HyBulk *bulk, const HyBulkLane *lane, int64_t left, uint64_t now)
{
	bool cpu = bulk->cpu.open && bulk->rows.boundary < 0;
	double rows = (double) left;
	double longest = bulk->plan.rescue && !bulk->cpu.open ? LONGEST_PIECE_NS : HUGE_VAL;
	double quantum = hy_device_quantum(bulk->executor, lane->device);
	int lanes = cpu + hy_bulk_tally(bulk).open;
	int known;

	if (lane->row_ns <= 0)
	{
		/* One piece is enough to measure the speed.  The only lane of a job may take all rows. */
		if (lane->in_flight > 0)
			return 0;
		if (lanes > 1 || quantum > 0)
			rows = (double) bulk->slicing.extent / PROBE_PARTS;
		return whole_rows(rows, left);
	}
	rows =
		hy_balance_rows(&(HyBalanceLane){hy_bulk_busy_ns(lane, now), lane->start_ns, lane->row_ns},
	                    level_of(bulk, rows, now, cpu, &known));
	if (rows < 0.5)
		return 0;
	/* leave rows for the lanes of unknown speed */
	if (known < lanes)
		rows /= 4;
	/*
	 * Take half of the share now, and the rest when more is known.  A short share is taken at once.
	 */
	else if (known > 1 && hy_bulk_lane_ns(lane, rows) >
	                          STARTS_WORTH * fmax(lane->start_ns, HY_BULK_GUESSED_START_NS))
		rows /= 2;
	if (quantum > 0)
		longest = fmin(longest, quantum);
	else if (longest == LONGEST_PIECE_NS && lanes == 1 &&
	         hy_bulk_lane_ns(lane, rows) <= LONGEST_REST_NS)
		longest = LONGEST_REST_NS;
	longest = fmax(longest, PIECE_STARTS * lane->start_ns);
	if (hy_bulk_lane_ns(lane, rows) > longest)
	{
		double most = floor((longest - lane->start_ns) / lane->row_ns);

		/* cut the share into equal parts */
		rows = most > 1 ? ceil(rows / ceil(rows / most)) : 1;
	}
	return whole_rows(rows, left);
}

int64_t
hy_bulk_cpu_rows(const HyBulk *bulk, int64_t left, uint64_t now)
{
	HyBulkTally devices = hy_bulk_tally(bulk);
	double rows = (double) left;
	double longest = LONGEST_CPU_NS;
	int known;
	int i;

	if (bulk->cpu.row_ns <= 0)
		return whole_rows((double) bulk->slicing.extent / CPU_PROBE_PARTS, left);
	if (bulk->cpu.open && bulk->rows.boundary < 0 && devices.open > 0)
	{
		double level = level_of(bulk, rows, now, true, &known);

		if (known > 1)
			rows = hy_balance_rows(&(HyBalanceLane){0, 0, bulk->cpu.row_ns}, level);
		if (rows < 0.5 && devices.room > 0)
			return 0;
	}
	/* end the CPU's piece early enough to poll the devices before one becomes idle */
	for (i = 0; i < bulk->lanes; i++)
	{
		if (bulk->lane[i].in_flight > 0)
			longest = fmin(longest, hy_bulk_busy_ns(&bulk->lane[i], now) / 2);
	}
	return whole_rows(fmin(rows, fmax(longest, LEAST_CPU_NS) / bulk->cpu.row_ns), left);
}

/*
 * level_of: compute the time, from now, at which all lanes of known speed together would have
 * completed this many more rows.  *known is set to the number of these lanes.
 */
static double
level_of(const HyBulk *bulk, double rows, uint64_t now, bool with_cpu, int *known)
{
	HyBalanceLane lanes[HY_MAX_DEVICES + 1];
	int i;

	*known = 0;
	if (with_cpu && bulk->cpu.row_ns > 0)
		lanes[(*known)++] = (HyBalanceLane){0, 0, bulk->cpu.row_ns};
	for (i = 0; i < bulk->lanes; i++)
	{
		const HyBulkLane *lane = &bulk->lane[i];

		if (lane->open && lane->row_ns > 0)
			lanes[(*known)++] =
				(HyBalanceLane){hy_bulk_busy_ns(lane, now), lane->start_ns, lane->row_ns};
	}
	return *known > 0 ? hy_balance_level(lanes, *known, rows) : 0;
}

/* whole_rows: round up to an integer from 1 to left. */
static int64_t
whole_rows(double rows, int64_t left)
{
	rows = ceil(rows);
	return rows >= (double) left ? left : rows < 1 ? 1 : (int64_t) rows;
}
