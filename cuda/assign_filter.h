/*
 * assign_filter.h
 *		The filter of the operation 'assign', as assign.c calls it: its memory, its kernels, and
 *		the decision whether to use it.
 */
#ifndef HY_CUDA_ASSIGN_FILTER_H
#define HY_CUDA_ASSIGN_FILTER_H

#include "cuda/assign_filter_plan.h"
#include "cuda/device.h"

typedef struct HyCudaAssignFilter
{
	HyCudaAssignPlan plan;
	HyCudaBlock *block;
	char *memory;                /* memory of the block */
	bool filters[HY_CUDA_SLOTS]; /* whether a slot's piece is filtered */
	bool proven;                 /* the filter left few rows of a finished piece undecided */
	bool useless;                /* the filter left too many rows of a finished piece undecided */
	int64_t rounded;             /* number of centroids rounded or queued for rounding */
} HyCudaAssignFilter;

/*
 * hy_cuda_assign_filter_start: create the filter in *filter, or set *filter to NULL if the starting
 * task is not filtered.  A task is filtered if filtering is expected to be faster, the device
 * supports it, and there is memory for pieces of most_rows rows or fewer.  Returns an error only if
 * CUDA reports an error or host memory runs out.
 */
extern HyStatus
hy_cuda_assign_filter_start(HyDevice *device, int64_t most_rows, HyCudaAssignFilter **filter);

/* hy_cuda_assign_filter_end: free the filter, which may be NULL. */
extern void hy_cuda_assign_filter_end(HyDevice *device, HyCudaAssignFilter *filter);

/*
 * hy_cuda_assign_filter_round: queue the rounding of the next centroids, at most plan.round of
 * them.  The caller has uploaded all centroids.
 */
extern cudaError_t hy_cuda_assign_filter_round(HyCudaAssignFilter *filter, const float *centroids,
                                               cudaStream_t stream);

/*
 * hy_cuda_assign_filter_on: return whether the next piece should be filtered. `filter` may be NULL.
 */
extern bool hy_cuda_assign_filter_on(const HyCudaAssignFilter *filter);

/*
 * hy_cuda_assign_filter_paced: return the work limit of a filtered piece.  Until the filter has
 * proven effective, the limit is at most that of an unfiltered piece.
 */
extern uint64_t
hy_cuda_assign_filter_paced(const HyDevice *device, const HyCudaAssignFilter *filter);

/*
 * hy_cuda_assign_filter_launch: queue the kernels of a slot's piece. `rest` is the device address
 * that follows the results of the piece's rows.
 */
extern cudaError_t hy_cuda_assign_filter_launch(const HyDevice *device, HyCudaAssignFilter *filter,
                                                const HyCudaSlot *slot, const HyCudaAssign *assign,
                                                HyCudaAssignRest *rest);

/*
 * hy_cuda_assign_filter_record: record whether the filter was effective in a finished piece of
 * `rows` rows. *rest was copied to the host with the results of the piece.
 */
extern void hy_cuda_assign_filter_record(HyCudaAssignFilter *filter, const HyCudaAssignRest *rest,
                                         int64_t rows);

#endif
