/*
 * filter.h
 *		The operation 'topk' for many queries: rounded products propose candidates, and
 *		canonical distances decide.
 */
#ifndef HY_CUDA_FILTER_H
#define HY_CUDA_FILTER_H

#include "cuda/filter_launch.h"
#include "cuda/pipeline.h"

/*
 * The filter's work limit starts at this many times the work limit of canonical distances, because
 * products are assumed to be this many times faster.
 */
#define HY_CUDA_FILTER_PACE 16

/* Operation that replaces 'topk' if hy_cuda_filter_start sets *filtered. */
extern const HyCudaOperation hy_cuda_topk_filter;

/*
 * hy_cuda_filter_start: decide whether the starting task is filtered, and take the memory for
 * filtering.  A task is filtered if filtering is faster, the device supports it, and there is
 * memory.  Returns an error only if CUDA reports an error or host memory runs out.
 */
extern HyStatus hy_cuda_filter_start(HyDevice *device, bool *filtered);

/* hy_cuda_filter_estimate: set bytes_up if this device would now filter a task of this shape. */
extern void
hy_cuda_filter_estimate(const HyDevice *device, const HyShape *shape, HyEstimate *estimate);

/*
 * hy_cuda_filter_can: return whether this device can filter.  Its matrix unit must support
 * bfloat16, and the unit's accuracy must be known.
 */
extern bool hy_cuda_filter_can(const HyDevice *device);

/*
 * hy_cuda_filter_least: return the smallest work that is filtered.  Tests can change it by a
 * setting.
 */
extern uint64_t hy_cuda_filter_least(const HyHost *host);

#endif
