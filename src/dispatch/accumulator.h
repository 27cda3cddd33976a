/*
 * accumulator.h
 *		Gathers single items (rows of a scan, seed sets) into batches worth dispatching.
 *
 * The caller keeps the items.  The accumulator says when the batch is full and remembers why.  A
 * batch ends for the first of these causes:
 *
 *		memory	another item would not fit the bytes the caller allows
 *		size	batch_max items, or if that is 0 the best size found (batch_size.h)
 *		time	it holds batch_min items and its oldest has waited for batch_wait
 *		end		the caller has no more items
 *
 * Time is checked when an item arrives.  So once batch_min items are there, an item waits at most
 * batch_wait and until the next arrival.  The wait is HY_BATCH_STARTS times the predicted time of a
 * batch of batch_min items if that is longer, so that the start costs of batches ended by time stay
 * a small share.  Reading the clock can cost as much as an item.  So if HY_BATCH_LOOK items arrived
 * within 1/HY_BATCH_LOOK of the wait, the next clock reading is HY_BATCH_LOOK items later.
 *
 * A batch uses the settings in force when it began.  The executor is passed in with each batch,
 * since its owner may have replaced it between two batches.  Adding an item uses nothing of the
 * executor but its clock, which outlives both.
 */
#ifndef HY_ACCUMULATOR_H
#define HY_ACCUMULATOR_H

#include "dispatch/dispatcher.h"

#define HY_BATCH_LOOK 4
#define HY_BATCH_STARTS 20

/* HyBatchAxis: the side of the shape that grows with the items. */
typedef enum HyBatchAxis
{
	HY_BATCH_TARGETS = 0,
	HY_BATCH_QUERIES /* or seed sets */
} HyBatchAxis;

typedef struct HyAccumulator
{
	HyShape shape; /* shape of a batch; its size along axis is ignored */
	HyBatchAxis axis;
	uint64_t memory;    /* bytes a batch may hold */
	int64_t size;       /* items at which this batch is full */
	int64_t count;      /* items in it */
	uint64_t bytes;     /* bytes of these items */
	uint64_t oldest_ns; /* arrival of the first item */
	const HyClock *clock;
	int64_t least;     /* a batch with fewer items does not end by time */
	uint64_t wait_ns;  /* 0: no batch ends by time */
	int64_t look_at;   /* number of items at which the clock is read next */
	int64_t paced;     /* number of items */
	uint64_t paced_ns; /* and time at the last measurement of the arrival rate */
} HyAccumulator;

/*
 * hy_accumulator_begin: begin batches of this shape (its size along axis is ignored).  Items take
 * item_bytes each (an estimate if they differ), and a batch at most memory bytes.
 */
extern void
hy_accumulator_begin(HyAccumulator *accumulator, HyExecutor *executor, const HyShape *shape,
                     HyBatchAxis axis, uint64_t item_bytes, uint64_t memory);

/*
 * hy_accumulator_full: whether the batch must be flushed before an item of this many bytes is added.
 * Returns HY_FLUSH_NONE or HY_FLUSH_MEMORY.  An empty batch accepts any item.
 */
extern HyFlush hy_accumulator_full(const HyAccumulator *accumulator, uint64_t bytes);

/*
 * hy_accumulator_add: add an item of this many bytes; returns why the batch must be flushed now, or
 * HY_FLUSH_NONE.
 */
extern HyFlush hy_accumulator_add(HyAccumulator *accumulator, uint64_t bytes);

/*
 * hy_accumulator_flushed: record that the batch was flushed for this cause and took ns, and begin
 * the next one.  Does nothing if the batch is empty.
 */
extern void hy_accumulator_flushed(HyAccumulator *accumulator, HyExecutor *executor, HyFlush cause,
                                   uint64_t ns);

#endif
