/*
 * distance_blocks.h
 *		All pairs of two matrices, in an order that keeps targets in the cache.
 */
#ifndef HY_DISTANCE_BLOCKS_H
#define HY_DISTANCE_BLOCKS_H

#include "core/distance.h"

/* maximum number of rows in a block */
#define HY_BLOCK_ROWS 256

/*
 * HyBlockSink: receives the distances from one query to target rows first .. first + n - 1.  If
 * hy_threads_allowed is greater than 1, several threads may call the sink at the same time, also
 * for the same query.
 */
typedef void (*HyBlockSink)(void *arg, int64_t query, int64_t first, int n,
                            const double *distances);

/*
 * hy_distance_blocks: pass the distance of every pair to sink exactly once, in any order.  The
 * rules for shapes, cancel and status are the same as for hy_distance_matrix.
 */
extern HyStatus
hy_distance_blocks(HyMetric metric, const HyMatrix *queries, const HyMatrix *targets,
                   HyBlockSink sink, void *arg, const HyCancel *cancel);

/* hy_shapes_agree: test whether the metric, queries and targets are consistent and readable. */
extern bool hy_shapes_agree(HyMetric metric, const HyMatrix *queries, const HyMatrix *targets);

#endif
