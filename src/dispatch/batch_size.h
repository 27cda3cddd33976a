/*
 * batch_size.h
 *		How many items to gather before a batch is sent off: learnt from what batches took.
 *
 * Sizes are powers of two.  For each kind of batch the time an item took is kept a size, whichever
 * side ran it, and the size with the cheapest item is taken; a size that was never seen is judged
 * by the dispatcher's forecast, where it has one.  Neighbours of the best size are tried at once.
 * Every other size is tried again now and then, so that a law that changes is noticed, but only
 * when the time spent since it last was outweighs the price of looking: 32 times what such a batch
 * takes, and 512 times what it is expected to lose against the best size.
 */
#ifndef HY_BATCH_SIZE_H
#define HY_BATCH_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#define HY_BATCH_LEAST 64   /* what is chosen is never smaller, unless fewer fit */
#define HY_BATCH_SIZES 24   /* 2^0 .. 2^23 items */
#define HY_BATCH_START 1024 /* with nothing to go by */

/* HyBatchSize: what is known of one kind of batch. */
typedef struct HyBatchSize
{
	uint64_t kind;                   /* 0: unused */
	double spent_ns;                 /* by all batches so far */
	double item_ns[HY_BATCH_SIZES];  /* moving mean; valid when seen > 1 */
	double tried_ns[HY_BATCH_SIZES]; /* spent_ns when it was last run */
	uint16_t seen[HY_BATCH_SIZES];   /* batches of that size, the first only a warm-up */
} HyBatchSize;

/* HyBatchForecast: expected ns of a batch of so many items, < 0: unknown. */
typedef double (*HyBatchForecast)(void *arg, int64_t items);

/* hy_batch_size_begin: nothing known of this kind. */
extern void hy_batch_size_begin(HyBatchSize *size, uint64_t kind);

/*
 * hy_batch_size_choose: the size of the next batch: a power of two in [64, most], or most itself
 * when that is smaller than 64.  most is at least 1.  forecast may be NULL.
 */
extern int64_t
hy_batch_size_choose(const HyBatchSize *size, int64_t most, HyBatchForecast forecast, void *arg);

/* hy_batch_size_learn: a batch of items took ns; only full ones, of a size that was chosen, teach. */
extern void hy_batch_size_learn(HyBatchSize *size, int64_t items, uint64_t ns);

#endif
