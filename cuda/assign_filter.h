/*
 * assign_filter.h
 *		The filter of the operation 'assign', as assign.c calls it: its memory, its kernels, whether it
 *		pays.
 */
#ifndef HY_CUDA_ASSIGN_FILTER_H
#define HY_CUDA_ASSIGN_FILTER_H

#include "cuda/assign_filter_plan.h"
#include "cuda/device.h"

typedef struct HyCudaAssignFilter
{
	HyCudaAssignPlan plan;
	HyCudaBlock *block;
	char *memory;                /* the block's */
	bool filters[HY_CUDA_SLOTS]; /* what a slot does */
	bool proven;                 /* a piece came back of which it left little open */
	bool useless;                /* one came back of which it left too much */
	int64_t rounded;             /* centroids that are, or are about to be */
} HyCudaAssignFilter;

/*
 * hy_cuda_assign_filter_start: *filter, where the task that begins is filtered: where that pays, the
 * device can, and there is memory for pieces of so many rows, or of fewer; else NULL.  An error only
 * where CUDA reports one.
 */
extern HyStatus
hy_cuda_assign_filter_start(HyDevice *device, int64_t most_rows, HyCudaAssignFilter **filter);

/* hy_cuda_assign_filter_end: NULL is allowed. */
extern void hy_cuda_assign_filter_end(HyDevice *device, HyCudaAssignFilter *filter);

/* hy_cuda_assign_filter_round: queues rounding some more of the centroids, all of which are up. */
extern cudaError_t hy_cuda_assign_filter_round(HyCudaAssignFilter *filter, const float *centroids,
                                               cudaStream_t stream);

/* hy_cuda_assign_filter_on: whether the next piece should be filtered; NULL is allowed. */
extern bool hy_cuda_assign_filter_on(const HyCudaAssignFilter *filter);

/* hy_cuda_assign_filter_paced: work of a piece that is filtered. */
extern uint64_t
hy_cuda_assign_filter_paced(const HyDevice *device, const HyCudaAssignFilter *filter);

/* hy_cuda_assign_filter_launch: the kernels of a slot's piece; rest: behind what its rows find. */
extern cudaError_t hy_cuda_assign_filter_launch(const HyDevice *device, HyCudaAssignFilter *filter,
                                                const HyCudaSlot *slot, const HyCudaAssign *assign,
                                                HyCudaAssignRest *rest);

/* hy_cuda_assign_filter_learn: what came down with a piece of so many rows. */
extern void
hy_cuda_assign_filter_learn(HyCudaAssignFilter *filter, const HyCudaAssignRest *rest, int64_t rows);

#endif
