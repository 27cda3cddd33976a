/*
 * bulk_state.h
 *		What a bulk job is made of; shared by the files bulk*.c only.
 *
 * bulk.c owns its life, bulk_rows.c the rows that nobody works at, bulk_sizes.c says how many of
 * them a lane takes at a time, bulk_devices.c runs pieces on devices, bulk_cpu.c those of the CPU.
 */
#ifndef HY_BULK_STATE_H
#define HY_BULK_STATE_H

#include "dispatch/bulk_rows.h"
#include "dispatch/executor_state.h"
#include "dispatch/slice.h"

#define HY_BULK_GUESSED_START_NS 1e4 /* of a device whose start is not known */

/* HyBulkLane: a device, or the CPU, at work for the job. */
typedef struct HyBulkLane
{
	int32_t device;
	HyMember *member;
	bool open;         /* takes more */
	bool reopened;     /* its context was lost once */
	bool asked;        /* for a place in the queue */
	uint64_t asked_ns; /* when first, since it launched something */
	bool hung;         /* one of its pieces was taken for one that hangs */
	bool begun;        /* the breaker has let a piece through that is not launched yet */
	int32_t place;     /* that it was asked for */
	int32_t depth;     /* most pieces in flight */
	int32_t flying;
	int32_t halvings;
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
} HyBulkLane;

/* HyBulkPiece: a slice in flight, or the memory to have one. */
typedef struct HyBulkPiece
{
	HyBulkLane *lane; /* NULL: free */
	HyRowRange rows;
	double predicted_ns; /* < 0: not known */
	int32_t place;       /* in the device's queue */
	uint64_t bytes;      /* of device memory, as estimated */
	HyTask task;
	HyFlight flight;
	uint64_t aloft_ns; /* it was certainly not over before */
	void *memory;      /* of output, or NULL */
	HySliceOutput output;
} HyBulkPiece;

struct HyBulk
{
	HyExecutor *executor;
	HyBulkPlan plan;
	HySlicing slicing;
	HyShape shape;
	HyBulkReport report;
	bool over;
	int lanes; /* devices; the CPU's own is apart */
	HyBulkLane lane[HY_MAX_DEVICES];
	HyBulkLane cpu;
	HyRows rows;
	HyDeviceRun ended; /* why the lane that was closed last was */
	int32_t pieces;
	HyBulkPiece *piece;
	void *cpu_memory;
	HyNeighbor *spare;
};

/* HyBulkTally: the devices' lanes, counted. */
typedef struct HyBulkTally
{
	int open;
	int flying; /* with something in flight */
	int room;   /* would take another piece now */
} HyBulkTally;

extern HyBulkTally hy_bulk_tally(const HyBulk *bulk);

/* hy_bulk_stop: the job ends here, with this status. */
extern void hy_bulk_stop(HyBulk *bulk, HyStatus status);

static inline uint64_t
hy_bulk_now(const HyBulk *bulk)
{
	return hy_now(bulk->executor);
}

/* hy_bulk_learn_speed: what history says of the lane: a line through the whole and a single row. */
extern void hy_bulk_learn_speed(const HyBulk *bulk, HyBulkLane *lane);

/* hy_bulk_correct_speed: so many rows in one piece have taken the lane ns. */
extern void hy_bulk_correct_speed(HyBulkLane *lane, int64_t rows, double ns);

/* hy_bulk_keep_who_helps: where all together are not clearly faster, the best one works alone. */
extern void hy_bulk_keep_who_helps(HyBulk *bulk);

/*
 * hy_bulk_fit: how many rows a piece may have such that all in flight fit the open device; found once,
 * and again when the share of its memory has changed because another process has opened a context
 * there or closed one.
 */
extern void hy_bulk_fit(HyBulk *bulk, HyBulkLane *lane);

/*
 * hy_bulk_device_rows, hy_bulk_cpu_rows: how many of left rows the lane takes now; 0: none, others
 * will have done before.
 */
extern int64_t
hy_bulk_device_rows(const HyBulk *bulk, const HyBulkLane *lane, int64_t left, uint64_t now);
extern int64_t hy_bulk_cpu_rows(const HyBulk *bulk, int64_t left, uint64_t now);

/* hy_bulk_lane_ns: what the lane is predicted to need for a piece, where its speed is known. */
static inline double
hy_bulk_lane_ns(const HyBulkLane *lane, double rows)
{
	return lane->start_ns + lane->row_ns * rows;
}

/* hy_bulk_busy_ns: until what the lane has in flight is done; who is late is late as much again. */
static inline double
hy_bulk_busy_ns(const HyBulkLane *lane, uint64_t now)
{
	if (lane->flying == 0)
		return 0;
	return lane->free_ns > now ? (double) (lane->free_ns - now) : (double) (now - lane->free_ns);
}

/* hy_bulk_hear: what has ended on devices in the meantime; whether anything has. */
extern bool hy_bulk_hear(HyBulk *bulk);

/* hy_bulk_feed_devices: a piece for every device that has room; whether one was launched. */
extern bool hy_bulk_feed_devices(HyBulk *bulk);

/* hy_bulk_stop_piece, hy_bulk_stop_lane: what is in flight comes back. */
extern void hy_bulk_stop_piece(HyBulk *bulk, HyBulkPiece *piece);

/*
 * hy_bulk_overtake: the CPU is to have the rows of a piece that is late.  What the piece took up to
 * now, and says it will yet, is learned, since it would be predicted just so again.  But where not
 * one piece of the lane has come, and this one says nothing and is past what was expected, it counts
 * as a device that hangs: HY_TIMEOUT, once a job.
 */
extern void hy_bulk_overtake(HyBulk *bulk, HyBulkPiece *piece);
extern void hy_bulk_stop_lane(HyBulk *bulk, HyBulkLane *lane);

/* hy_bulk_drop_wishes: neither the breaker nor the queue need wait for the lane any longer. */
extern void hy_bulk_drop_wishes(HyBulk *bulk, HyBulkLane *lane);

/* hy_bulk_feed_cpu: a piece for the CPU, computed at once; whether there was one. */
extern bool hy_bulk_feed_cpu(HyBulk *bulk);

#endif
