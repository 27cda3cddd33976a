/*
 * batch_size.h
 *		Chooses how many items to gather before a batch is dispatched, based on the times of earlier
 *		batches.
 *
 * Sizes are powers of two.  For each kind of batch and each size, the mean time per item is kept,
 * whichever side ran the batch.  The size with the smallest time per item is chosen.  A size
 * without measurements is rated by the dispatcher's forecast, if there is one.  Neighbors of the
 * best size are tried immediately.  Every other size is tried again now and then, so that a change
 * in speed is noticed.  Such a trial requires that the time spent since the last trial is at least
 * 32 times the time of a batch of that size.  It must also be at least 512 times the loss expected
 * from the trial, compared with the best size.
 */
#ifndef HY_BATCH_SIZE_H
#define HY_BATCH_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#define HY_BATCH_LEAST 64   /* smallest size chosen, unless fewer items fit */
#define HY_BATCH_SIZES 24   /* 2^0 .. 2^23 items */
#define HY_BATCH_START 1024 /* size before any measurement */

/* HyBatchSize: the measurements of one kind of batch. */
typedef struct HyBatchSize
{
	uint64_t kind;                   /* 0: unused */
	double spent_ns;                 /* total time of all batches so far */
	double item_ns[HY_BATCH_SIZES];  /* moving mean; valid when seen > 1 */
	double tried_ns[HY_BATCH_SIZES]; /* spent_ns when the size was last used */
	uint16_t seen[HY_BATCH_SIZES];   /* batches of that size; the first only warms up */
} HyBatchSize;

/* HyBatchForecast: predicts the time in ns of a batch of this many items; < 0: unknown. */
typedef double (*HyBatchForecast)(void *arg, int64_t items);

/* hy_batch_size_begin: initialize for a kind without measurements. */
extern void hy_batch_size_begin(HyBatchSize *size, uint64_t kind);

/*
 * hy_batch_size_choose: choose the size of the next batch: a power of two in [64, most], or 'most'
 * itself if that is at most 64.  The caller passes 'most' >= 1.  'forecast' may be NULL.
 */
extern int64_t
hy_batch_size_choose(const HyBatchSize *size, int64_t most, HyBatchForecast forecast, void *arg);

/*
 * hy_batch_size_learn: record that a batch of this many items took ns.  Only full batches of a
 * chosen size change the means.
 */
extern void hy_batch_size_learn(HyBatchSize *size, int64_t items, uint64_t ns);

#endif
