/*
 * accumulator.h
 *		Gathers what comes item by item (rows of a scan, seed sets) into batches worth dispatching.
 *
 * The caller keeps the items; the accumulator says when the batch is full and remembers why.  A
 * batch ends, in this order of causes,
 *
 *		memory	when another item would not fit the bytes the caller allows
 *		size	at batch_max items, or where that is 0 at the size found best (batch_size.h)
 *		time	once it holds batch_min items and its oldest has waited for batch_wait
 *		end		when the caller has no more
 *
 * so an item waits at most batch_wait beyond the arrival of the next one, once batch_min are there
 * (or HY_BATCH_STARTS times what a batch of batch_min is predicted to take, where that is longer:
 * batches that go for time shall not cost a share of it in starts that matters);
 * where the last ones came fast, of the HY_BATCH_LOOKth next, since asking for the time can cost as
 * much as an item: while so many of them come within a part of batch_wait as small as that, only
 * every so manyth looks at the clock.
 *
 * Settings are those in force when a batch began.  The executor is passed in with each batch: between
 * two of them its owner may have replaced it, and an item touches nothing of it but its clock, which
 * outlives both.
 */
#ifndef HY_ACCUMULATOR_H
#define HY_ACCUMULATOR_H

#include "dispatch/dispatcher.h"

#define HY_BATCH_LOOK 4
#define HY_BATCH_STARTS 20

/* HyBatchAxis: which side of the shape the items make longer. */
typedef enum HyBatchAxis
{
	HY_BATCH_TARGETS = 0,
	HY_BATCH_QUERIES /* or seed sets */
} HyBatchAxis;

typedef struct HyAccumulator
{
	HyShape shape; /* of a batch, the growing side aside */
	HyBatchAxis axis;
	uint64_t memory;    /* bytes a batch may hold */
	int64_t size;       /* items this batch is to have */
	int64_t count;      /* items it has */
	uint64_t bytes;     /* that they take */
	uint64_t oldest_ns; /* when the first of them came */
	const HyClock *clock;
	int64_t least;     /* items below which waiting ends no batch */
	uint64_t wait_ns;  /* 0: time ends no batch */
	int64_t look_at;   /* so many items are there when the clock is looked at next */
	int64_t paced;     /* when so many were, */
	uint64_t paced_ns; /* at this time, it was last asked how fast they come */
} HyAccumulator;

/*
 * hy_accumulator_begin: batches of this shape (the side of axis is not looked at), of items that
 * take item_bytes each (a guess, where they differ) and memory bytes at most.
 */
extern void
hy_accumulator_begin(HyAccumulator *accumulator, HyExecutor *executor, const HyShape *shape,
                     HyBatchAxis axis, uint64_t item_bytes, uint64_t memory);

/*
 * hy_accumulator_full: whether the batch has to go before an item of so many bytes is added;
 * HY_FLUSH_NONE or HY_FLUSH_MEMORY.  An empty batch takes any item.
 */
extern HyFlush hy_accumulator_full(const HyAccumulator *accumulator, uint64_t bytes);

/* hy_accumulator_add: an item of so many bytes came; why the batch has to go now, or not. */
extern HyFlush hy_accumulator_add(HyAccumulator *accumulator, uint64_t bytes);

/*
 * hy_accumulator_flushed: the batch went for this cause and took ns; the next one begins.  The
 * cause is counted unless the batch was empty.
 */
extern void hy_accumulator_flushed(HyAccumulator *accumulator, HyExecutor *executor, HyFlush cause,
                                   uint64_t ns);

#endif
