/*
 * filter.h
 *		The operation 'topk' for many queries: rounded products propose, canonical distances decide.
 */
#ifndef HY_CUDA_FILTER_H
#define HY_CUDA_FILTER_H

#include "cuda/filter_launch.h"
#include "cuda/pipeline.h"

/* How many times as fast as canonical sums products are, until it is known. */
#define HY_CUDA_FILTER_PACE 16

/* What 'topk' goes on with where hy_cuda_filter_start says so. */
extern const HyCudaOperation hy_cuda_topk_filter;

/*
 * hy_cuda_filter_start: whether the task that begins is filtered: where that pays, the device can,
 * and there is memory, which it then takes.  An error only where CUDA reports one.
 */
extern HyStatus hy_cuda_filter_start(HyDevice *device, bool *filtered);

/* hy_cuda_filter_estimate: bytes_up of a shape that would be filtered on this device now. */
extern void
hy_cuda_filter_estimate(const HyDevice *device, const HyShape *shape, HyEstimate *estimate);

/*
 * hy_cuda_filter_can: whether this device filters: its matrix unit knows bfloat16, and it is known how
 * exact it is.
 */
extern bool hy_cuda_filter_can(const HyDevice *device);

/* hy_cuda_filter_least: the least work that is filtered, or as a setting has it that tests make. */
extern uint64_t hy_cuda_filter_least(const HyHost *host);

#endif
