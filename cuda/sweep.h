/*
 * sweep.h
 *		Code shared by the operations that compare queries with the rows of a matrix.
 *
 * Queries are uploaded in groups.  For each group, rows in host memory are packed into pinned
 * memory and uploaded, piece by piece.  If the device keeps them (HyCudaSweep.kept), only the first
 * group uploads them.  Resident rows are read in place.
 */
#ifndef HY_CUDA_SWEEP_H
#define HY_CUDA_SWEEP_H

#include "cuda/copy.h"
#include "cuda/launch.h"
#include "cuda/pipeline.h"

/*
 * hy_cuda_sweep_caps: return the capabilities for a shape, without max_k, which the operation sets.
 */
extern HyCaps hy_cuda_sweep_caps(const HyShape *shape);

/*
 * hy_cuda_sweep_work: return the sizes of a task of this shape. query_down and pair_down are the
 * bytes of results, as in HyCudaWork.
 */
extern HyCudaWork hy_cuda_sweep_work(const HyShape *shape, int32_t query_down, int32_t pair_down);

/*
 * hy_cuda_sweep_up_bytes: return the bytes of queries and rows that the task uploads, without row
 * norms and distance limits.
 */
extern uint64_t hy_cuda_sweep_up_bytes(const HyCudaWork *work, const HyCudaScratch *scratch);

/* hy_cuda_sweep_check: check that resident rows lie in a buffer of this device and are aligned. */
extern HyStatus hy_cuda_sweep_check(HyDevice *device, const HyMatrix *targets);

/* hy_cuda_sweep_begin: fill in device->task.sweep. */
extern void hy_cuda_sweep_begin(HyDevice *device, HyMetric metric, const HyMatrix *queries,
                                const HyMatrix *targets, int32_t query_down, int32_t pair_down);

/*
 * hy_cuda_sweep_take_norms: decide whether the task's row norms are uploaded with the rows.  For
 * cosine, norms of rows in host memory are uploaded if that saves time.  Call this before the first
 * piece.
 */
extern void hy_cuda_sweep_take_norms(HyDevice *device);

/*
 * hy_cuda_sweep_next, hy_cuda_sweep_up: implement `next` and `up` of HyCudaOperation (pipeline.h).
 */
extern HyCudaNext hy_cuda_sweep_next(HyDevice *device, HyCudaSlot *slot);
extern HyStatus hy_cuda_sweep_up(HyDevice *device, HyCudaSlot *slot);

/*
 * hy_cuda_sweep_behind: return the byte offset, from the group's first query, of additional data
 * that is uploaded after the queries.  The caller stages this data in pinned_queries and sets
 * sweep.behind to its size, before it calls hy_cuda_sweep_up.
 */
extern uint64_t hy_cuda_sweep_behind(const HyDevice *device, const HyCudaSlot *slot);

/*
 * hy_cuda_rows_copy: describe the copy of rows first .. first + count - 1 from host memory to a
 * packed array.
 *
 * hy_cuda_stage_rows: perform this copy, for the task in flight.
 */
extern HyCudaCopy hy_cuda_rows_copy(const HyMatrix *matrix, int64_t first, int64_t count, char *to);
extern void hy_cuda_stage_rows(const HyDevice *device, const HyMatrix *matrix, int64_t first,
                               int64_t count, char *to);

/*
 * hy_cuda_sweep_rows: return the kernel's arguments for the rows of a piece and the queries of its
 * group, with the norms that the kernel needs.
 */
extern HyCudaRows hy_cuda_sweep_rows(const HyDevice *device, const HyCudaSlot *slot);

/*
 * hy_cuda_sweep_starts_group: return whether the queries of the slot's piece still have to be
 * uploaded.  This is so for the first piece of a group, until hy_cuda_sweep_up has run.
 */
extern bool hy_cuda_sweep_starts_group(const HyDevice *device, const HyCudaSlot *slot);

/* hy_cuda_sweep_ends_group: return whether the slot's piece is the last of its group of queries. */
extern bool hy_cuda_sweep_ends_group(const HyDevice *device, const HyCudaSlot *slot);

#endif
