/*
 * bulk_state.h
 *		Defines the state of a bulk job, for the files bulk*.c only.
 *
 * bulk.c begins, steps and ends a job.  bulk_rows.c keeps the rows that no lane has taken, and
 * bulk_sizes.c chooses how many rows a lane takes at a time.  bulk_devices.c runs pieces on
 * devices, and bulk_cpu.c runs pieces on the CPU.
 */
#ifndef HY_BULK_STATE_H
#define HY_BULK_STATE_H

#include "dispatch/model/slice.h"
#include "dispatch/route/session.h"
#include "dispatch/run/bulk.h"
#include "dispatch/run/bulk_rows.h"
#include "dispatch/run/device_run.h"

/* assumed start cost of a device without history */
#define HY_BULK_GUESSED_START_NS 1e4

/* HyBulkLane: a device, or the CPU, that works for the job. */
typedef struct HyBulkLane
{
	int32_t device;
	HyMember *member;
	bool open;         /* the lane takes more pieces */
	bool reopened;     /* a lost context was reopened, which is done once */
	bool asked;        /* a request for a slot in the queue is pending */
	uint64_t asked_ns; /* time of the first request since the last launch; 0: none */
	bool hung;         /* a piece was considered hung */
	bool begun;        /* the breaker has allowed a piece that was not launched yet */
	int32_t slot;      /* the requested slot in the queue */
	int32_t depth;     /* maximum number of pieces in flight */
	int32_t in_flight;
	int32_t halvings;
	/* maximum rows of a piece, by memory; < 0: not known before the device is open */
	int64_t most_rows;
	uint64_t contexts; /* number of open contexts on the device when most_rows was found */
	/* predicted time of a piece: start_ns + rows * row_ns; row_ns <= 0: not known */
	double start_ns;
	double row_ns;
	uint64_t free_ns;     /* expected end of all pieces in flight */
	uint64_t last_end_ns; /* end of the latest piece that has ended */
	int64_t rows;         /* rows done */
	int64_t pieces;
	double busy_ns;
	double threads_ns;          /* CPU: sum over the pieces of time * threads */
	double main_thread_work_ns; /* CPU: time lost because the calling thread did other work */
	double lost_ns;             /* time lost by pieces that failed */
	uint64_t largest;           /* bytes of the largest piece that has succeeded */
	uint64_t bytes_up;
	uint64_t bytes_down;
} HyBulkLane;

/* HyBulkPiece: a slice in flight, or a free slot with its memory. */
typedef struct HyBulkPiece
{
	HyBulkLane *lane; /* NULL: free */
	HyRowRange rows;
	double predicted_ns; /* < 0: not known */
	int32_t slot;        /* slot in the device's queue */
	uint64_t bytes;      /* estimated bytes of device memory */
	HyTask task;
	HyFlight flight;
	uint64_t earliest_end_ns; /* earliest time at which the piece can have ended */
	void *memory;             /* memory for its output; NULL: none */
	HySliceOutput output;
} HyBulkPiece;

struct HyBulk
{
	HyExecutor *executor;
	HyBulkPlan plan;
	HySlicing slicing;
	HyBulkReport report;
	bool over;
	int lanes; /* number of devices; the CPU's lane is separate */
	HyBulkLane lane[HY_MAX_DEVICES];
	HyBulkLane cpu;
	HyRows rows;
	HyDeviceRun ended; /* reason why the last closed lane was closed */
	int32_t pieces;
	HyBulkPiece *piece;
	void *cpu_memory;
	HyNeighbor *spare;
};

/* HyBulkTally: counts of the lanes of devices. */
typedef struct HyBulkTally
{
	int open;
	int in_flight; /* lanes with pieces in flight */
	int room;      /* lanes that would take another piece now */
} HyBulkTally;

extern HyBulkTally hy_bulk_tally(const HyBulk *bulk);

/* hy_bulk_stop: end the job with this status. */
extern void hy_bulk_stop(HyBulk *bulk, HyStatus status);

static inline uint64_t
hy_bulk_now(const HyBulk *bulk)
{
	return hy_now(bulk->executor);
}

/*
 * hy_bulk_learn_speed: set the lane's start_ns and row_ns from history.  On a device, start_ns is
 * the predicted time of a single row, but at most half of the time of the whole task.  On the CPU
 * it is 0. row_ns is the rest of the time of the whole task, divided by its rows.  Without history,
 * or with only a cold start in a job with the CPU, both stay unset.
 */
extern void hy_bulk_learn_speed(const HyBulk *bulk, HyBulkLane *lane);

/*
 * hy_bulk_correct_speed: correct start_ns and row_ns (or set them, if unknown) after a piece of
 * this many rows took ns.
 */
extern void hy_bulk_correct_speed(HyBulkLane *lane, int64_t rows, double ns);

/*
 * hy_bulk_drop_slow_lanes: close all lanes but the fastest if all together are not clearly faster.
 * Does nothing while the speed of any lane is unknown.
 */
extern void hy_bulk_drop_slow_lanes(HyBulk *bulk);

/*
 * hy_bulk_fit: set most_rows, the most rows per piece with which all pieces in flight fit the
 * memory of the open device.  Computed again when another process has opened or closed a context on
 * the device, because the lane's share of the memory has then changed.
 */
extern void hy_bulk_fit(HyBulk *bulk, HyBulkLane *lane);

/*
 * hy_bulk_device_rows, hy_bulk_cpu_rows: choose how many of the `left` rows the lane takes now.
 * Return 0 if the lane takes none now, usually because other lanes are expected to finish these
 * rows earlier.
 */
extern int64_t
hy_bulk_device_rows(const HyBulk *bulk, const HyBulkLane *lane, int64_t left, uint64_t now);
extern int64_t hy_bulk_cpu_rows(const HyBulk *bulk, int64_t left, uint64_t now);

/* hy_bulk_lane_ns: return the predicted time for a piece on a lane of known speed. */
static inline double
hy_bulk_lane_ns(const HyBulkLane *lane, double rows)
{
	return lane->start_ns + lane->row_ns * rows;
}

/*
 * hy_bulk_busy_ns: return the expected time until the lane's pieces in flight are done.  If the
 * lane is late, it is expected to need as much time again as it is late.
 */
static inline double
hy_bulk_busy_ns(const HyBulkLane *lane, uint64_t now)
{
	if (lane->in_flight == 0)
		return 0;
	return lane->free_ns > now ? (double) (lane->free_ns - now) : (double) (now - lane->free_ns);
}

/* hy_bulk_poll: poll the devices; return whether any piece has ended. */
extern bool hy_bulk_poll(HyBulk *bulk);

/*
 * hy_bulk_feed_devices: launch pieces on every device that can take more; return whether any was
 * launched.
 */
extern bool hy_bulk_feed_devices(HyBulk *bulk);

/* hy_bulk_stop_piece: stop a piece in flight, and give its rows back to the job. */
extern void hy_bulk_stop_piece(HyBulk *bulk, HyBulkPiece *piece);

/*
 * hy_bulk_overtake: stop a piece so that the CPU can take its rows, and close the lane.  The piece
 * is late if the device reports a remaining time, or if its predicted time has passed or is
 * unknown.  The elapsed time of a late piece, plus the remaining time that the device reports, is
 * added to the history, so that the next prediction is higher.  But the piece counts as hanging
 * instead (HY_TIMEOUT, once per lane) if no piece of the lane has ended yet, the device reports no
 * remaining time, and the predicted time has passed.  Neither is done if tasks of other clients
 * were in flight on the device.
 * hy_bulk_stop_lane: stop all pieces of a lane.
 */
extern void hy_bulk_overtake(HyBulk *bulk, HyBulkPiece *piece);
extern void hy_bulk_stop_lane(HyBulk *bulk, HyBulkLane *lane);

/*
 * hy_bulk_withdraw: give back the breaker's permission for a piece that was not launched, and
 * cancel the lane's request in the queue.
 */
extern void hy_bulk_withdraw(HyBulk *bulk, HyBulkLane *lane);

/* hy_bulk_feed_cpu: compute a piece on the CPU at once; return whether there was a piece. */
extern bool hy_bulk_feed_cpu(HyBulk *bulk);

#endif
