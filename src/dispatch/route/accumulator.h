/*
 * accumulator.h
 *		Gathers single items (rows of a scan) into batches.
 *
 * The caller stores the items.  The accumulator reports when the caller must flush the batch (run
 * it as a task and begin a new batch), and why.  A batch ends for the first of these causes:
 *
 *		memory	another item would exceed the bytes that the caller allows
 *		size	it holds batch_max items, or the best size if batch_max is 0
 *		time	it holds batch_min items and its oldest item has waited for batch_wait
 *		end		the caller has no more items
 *
 * Time is checked only when an item arrives.  So once the batch holds batch_min items, it ends at
 * the first arrival after the wait.  The wait is batch_wait, but at least HY_BATCH_STARTS times the
 * predicted time of a batch of batch_min items.  So the start cost of a batch that ends by time is
 * a small share of its total cost.  If batch_wait is 0, no batch ends by time.  Reading the clock
 * can cost as much as handling an item.  So if HY_BATCH_LOOK items arrived within 1/HY_BATCH_LOOK
 * of the wait, the clock is not read again for HY_BATCH_LOOK items.
 *
 * The best size is the one with the smallest predicted time per item.  Predictions are better for
 * sizes that have run, so other sizes are tried a few times, and again from time to time.  If the
 * user requested a device and the device refuses a size, that size is not tried.  A chosen size is
 * kept for a while.
 *
 * A batch uses the settings in force when it began.  The caller passes the executor with each
 * batch, because the executor may be replaced between two batches.  Adding an item uses only the
 * clock, which outlives the executor.
 */
#ifndef HY_ACCUMULATOR_H
#define HY_ACCUMULATOR_H

#include "dispatch/route/config.h"

#define HY_BATCH_LEAST 64   /* smallest size chosen, unless batch_max is set or fewer items fit */
#define HY_BATCH_START 1024 /* size before any history */
/*
 * a chosen size is kept until later calls have taken this many ns together, 100 times as long as
 * choosing a size takes
 */
#define HY_BATCH_KEPT_NS 3e6
#define HY_BATCH_LOOK 4
#define HY_BATCH_STARTS 20

typedef struct HyAccumulator
{
	HyShape shape;      /* shape of a batch; its number of targets is ignored */
	uint64_t memory;    /* bytes a batch may hold */
	int64_t size;       /* items at which this batch is full */
	double kept_ns;     /* HyExecutor.spent_ns when the size was chosen; < 0: choose again */
	int32_t trials;     /* trials of sizes next to the best size */
	int64_t count;      /* items in the batch */
	uint64_t bytes;     /* bytes of the items in the batch */
	uint64_t oldest_ns; /* arrival of the first item */
	const HyClock *clock;
	int64_t least;     /* minimum number of items for a flush by time */
	uint64_t wait_ns;  /* 0: no flush by time */
	int64_t look_at;   /* number of items at which the clock is read next */
	int64_t paced;     /* number of items at the last measurement of the arrival rate */
	uint64_t paced_ns; /* time of that measurement */
} HyAccumulator;

/*
 * hy_accumulator_begin: begin to gather items, which become the targets of tasks of this shape.
 * shape->targets is ignored.  An item takes item_bytes (an estimate if items differ), and a batch
 * takes at most `memory` bytes, unless a single item is larger.
 */
extern void hy_accumulator_begin(HyAccumulator *accumulator, HyExecutor *executor,
                                 const HyShape *shape, uint64_t item_bytes, uint64_t memory);

/*
 * hy_accumulator_full: return HY_FLUSH_MEMORY if the batch must be flushed before an item of this
 * many bytes is added, else HY_FLUSH_NONE.  An empty batch accepts any item.
 */
extern HyFlush hy_accumulator_full(const HyAccumulator *accumulator, uint64_t bytes);

/*
 * hy_accumulator_add: add an item of this many bytes.  Returns the cause for which the batch must
 * be flushed now, or HY_FLUSH_NONE.
 */
extern HyFlush hy_accumulator_add(HyAccumulator *accumulator, uint64_t bytes);

/*
 * hy_accumulator_flushed: record that the batch was flushed for this cause, and begin the next batch.
 * Does nothing if the batch is empty.
 */
extern void hy_accumulator_flushed(HyAccumulator *accumulator, HyExecutor *executor, HyFlush cause);

#endif
