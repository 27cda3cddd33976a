/*
 * filter.h
 *		The operation 'topk' for many queries: products of rounded vectors propose candidates, and
 *		canonical distances decide among them.
 */
#ifndef HY_CUDA_FILTER_H
#define HY_CUDA_FILTER_H

#include "cuda/filter_launch.h"
#include "cuda/pipeline.h"

/*
 * Initial work limit of filtered pieces, as a multiple of the initial limit of canonical pieces.
 * Products are assumed to be this many times faster than canonical distances.
 */
#define HY_CUDA_FILTER_PACE 16

/* The operation that replaces hy_cuda_topk if hy_cuda_filter_start sets *filtered. */
extern const HyCudaOperation hy_cuda_topk_filter;

/*
 * hy_cuda_filter_start: decide whether the starting task is filtered, and take the memory for it.
 * A task is filtered if filtering is expected to be faster, the device supports it, and there is
 * enough memory.  Returns an error only if CUDA reports an error or host memory runs out.
 */
extern HyStatus hy_cuda_filter_start(HyDevice *device, bool *filtered);

/*
 * hy_cuda_filter_estimate: set bytes_up, but only if `device` is open and would filter a task of
 * this shape now.
 */
extern void
hy_cuda_filter_estimate(const HyDevice *device, const HyShape *shape, HyEstimate *estimate);

/*
 * hy_cuda_filter_can: return whether this device can filter: its matrix unit must support bfloat16,
 * and the unit's accuracy must be known.
 */
extern bool hy_cuda_filter_can(const HyDevice *device);

/*
 * hy_cuda_filter_least: return the smallest work (queries x rows x dims) that is filtered.  Tests
 * can change this limit with the setting cuda_filter_least.
 */
extern uint64_t hy_cuda_filter_least(const HyHost *host);

#endif
