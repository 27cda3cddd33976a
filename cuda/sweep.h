/*
 * sweep.h
 *		Queries that pass over the rows of a matrix: what operations share that compare the two.
 *
 * Queries go up in groups; rows in the host's memory follow piece by piece, packed on the way into
 * pinned memory, while resident rows are read where they lie.
 */
#ifndef HY_CUDA_SWEEP_H
#define HY_CUDA_SWEEP_H

#include "cuda/launch.h"
#include "cuda/pipeline.h"

/* hy_cuda_sweep_caps: what shapes can be swept over; k is the operation's. */
extern HyCaps hy_cuda_sweep_caps(const HyShape *shape);

/* hy_cuda_sweep_work: of a shape whose results take so many bytes (HyCudaWork). */
extern HyCudaWork hy_cuda_sweep_work(const HyShape *shape, int32_t query_down, int32_t pair_down);

/* hy_cuda_sweep_up_bytes: bytes that queries and rows take on their way up. */
extern uint64_t hy_cuda_sweep_up_bytes(const HyCudaWork *work, const HyCudaScratch *scratch);

/* hy_cuda_sweep_check: resident rows lie in a buffer of this device, and aligned. */
extern HyStatus hy_cuda_sweep_check(HyDevice *device, const HyMatrix *targets);

/* hy_cuda_sweep_begin: fills in device->task.sweep. */
extern void hy_cuda_sweep_begin(HyDevice *device, HyMetric metric, const HyMatrix *queries,
                                const HyMatrix *targets, int32_t query_down, int32_t pair_down);

/*
 * hy_cuda_sweep_take_norms: norms of the rows that the task brings go up with them from now on, where
 * that saves more than it takes; before the first piece.
 */
extern void hy_cuda_sweep_take_norms(HyDevice *device);

/* hy_cuda_sweep_next, hy_cuda_sweep_up: what an operation's table needs (pipeline.h). */
extern HyCudaNext hy_cuda_sweep_next(HyDevice *device, HyCudaSlot *slot);
extern HyStatus hy_cuda_sweep_up(HyDevice *device, HyCudaSlot *slot);

/*
 * hy_cuda_sweep_behind: where behind a group's queries there is room for what goes up with them: in
 * bytes, from the first query on.  It is staged before hy_cuda_sweep_up, and sweep.behind is how much.
 */
extern uint64_t hy_cuda_sweep_behind(const HyDevice *device, const HyCudaSlot *slot);

/* hy_cuda_stage_rows: rows first .. first + count - 1 of the host's memory, packed. */
extern void hy_cuda_stage_rows(const HyMatrix *matrix, int64_t first, int64_t count, char *to);

/* hy_cuda_sweep_rows: the kernel's view of a piece that is up; norms are those that it needs. */
extern HyCudaRows hy_cuda_sweep_rows(const HyDevice *device, const HyCudaSlot *slot);

/* hy_cuda_sweep_starts_group: whether the slot's piece is the first of its group of queries. */
extern bool hy_cuda_sweep_starts_group(const HyDevice *device, const HyCudaSlot *slot);

/* hy_cuda_sweep_ends_group: whether it is the last. */
extern bool hy_cuda_sweep_ends_group(const HyDevice *device, const HyCudaSlot *slot);

#endif
