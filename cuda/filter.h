/*
 * filter.h
 *		The operation 'topk' for many queries: rounded products propose candidates and canonical
 *		distances decide.
 */
#ifndef HY_CUDA_FILTER_H
#define HY_CUDA_FILTER_H

#include "cuda/filter_launch.h"
#include "cuda/pipeline.h"

/* Initial estimate of how many times faster products are than canonical sums. */
#define HY_CUDA_FILTER_PACE 16

/* Operation that replaces 'topk' if hy_cuda_filter_start sets filtered. */
extern const HyCudaOperation hy_cuda_topk_filter;

/*
 * hy_cuda_filter_start: decide whether the starting task is filtered, and take the memory for it.
 * A task is filtered if that is faster, the device can do it, and there is memory.  Returns an
 * error only if CUDA reports one or host memory runs out.
 */
extern HyStatus hy_cuda_filter_start(HyDevice *device, bool *filtered);

/* hy_cuda_filter_estimate: set bytes_up for a shape that this device would filter now. */
extern void
hy_cuda_filter_estimate(const HyDevice *device, const HyShape *shape, HyEstimate *estimate);

/*
 * hy_cuda_filter_can: return whether this device can filter: its matrix unit supports bfloat16, and
 * the unit's accuracy is known.
 */
extern bool hy_cuda_filter_can(const HyDevice *device);

/*
 * hy_cuda_filter_least: return the least work that is filtered.  Tests can change it by a setting.
 */
extern uint64_t hy_cuda_filter_least(const HyHost *host);

#endif
