/*
 * topk.h
 *		Code shared by both implementations of the operation 'topk' (topk.c and filter.c).  It
 *		handles the k best rows of each query, which stay on the device until the end of the group.
 */
#ifndef HY_CUDA_TOPK_H
#define HY_CUDA_TOPK_H

#include "cuda/pipeline.h"

/*
 * hy_cuda_topk_stage_none: write empty lists for `count` queries, beginning with query `first`, to
 * `staged`.  An empty entry has no row, and its distance is the query's limit.
 */
extern void
hy_cuda_topk_stage_none(const HyTopKTask *task, int64_t first, int32_t count, HyNeighbor *staged);

/* hy_cuda_topk_order: make the slot's kernels wait for the kernels of earlier pieces. */
extern HyStatus hy_cuda_topk_order(HyDevice *device, HyCudaSlot *slot);

/*
 * hy_cuda_topk_down: after the last piece of a group, queue the copy of the k best rows to pinned
 * memory.
 *
 * hy_cuda_topk_collect: deliver the copied rows to the task.
 */
extern HyStatus hy_cuda_topk_down(HyDevice *device, HyCudaSlot *slot);
extern void hy_cuda_topk_collect(HyDevice *device, const HyCudaSlot *slot);

#endif
