/*
 * plan.h
 *		Cuts a task into pieces that fit.  Arithmetic only; CUDA is never called.
 *
 * A piece compares some queries with some rows.  Two limits bound it: the scratch memory, and the
 * pace, which is the work that this device does in about 2 ms.  The pace keeps the wait of a cancel
 * short.
 */
#ifndef HY_CUDA_PLAN_H
#define HY_CUDA_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "dispatch/backend.h"

#define HY_CUDA_SLOTS 2 /* pieces in flight: one is copied while the other computes */

/* Queries per kernel: the second dimension of a grid is at most 65,535. */
#define HY_CUDA_MAX_QUERIES 32768

/* Longest time a kernel should run: a cancel waits for the kernels in flight. */
#define HY_CUDA_KERNEL_US 5000

/*
 * HyCudaScratch: sizes in bytes of the working memory on the device.  All but best exist in pinned
 * memory, too.
 */
typedef struct HyCudaScratch
{
	uint64_t up;      /* rows of one slot on their way up */
	uint64_t down;    /* results of one slot on their way down */
	uint64_t best;    /* the k best so far of one group */
	uint64_t queries; /* one group of queries */
} HyCudaScratch;

/* HyCudaWork: a task of queries and rows, as the plan sees it. */
typedef struct HyCudaWork
{
	int64_t queries;
	int64_t rows;
	int32_t dims;
	int32_t element;    /* bytes of one element of a row */
	bool resident;      /* the rows are on the device and need no scratch */
	int32_t query_up;   /* bytes that go up with a query in addition to its elements */
	int32_t row_up;     /* the same with a row, unless it is resident */
	int32_t query_down; /* bytes of results per query, for any number of rows */
	int32_t pair_down;  /* bytes of results per pair of a query and a row */
} HyCudaWork;

typedef struct HyCudaChunk
{
	int64_t first_query;
	int32_t query_count;
	int64_t first_row;
	int64_t row_count;
} HyCudaChunk;

typedef struct HyCudaPace
{
	uint64_t work; /* most work of a kernel, in units of hy_cuda_work */
} HyCudaPace;

/*
 * hy_cuda_scratch_plan: choose sizes that leave at least half of the budget to resident buffers if
 * possible.  Returns false if not even the smallest sizes fit.
 */
extern bool hy_cuda_scratch_plan(uint64_t budget, HyCudaScratch *scratch);

/*
 * hy_cuda_scratch_bytes, hy_cuda_pinned_bytes: return the bytes of device memory and of pinned
 * memory that the scratch takes.
 */
extern uint64_t hy_cuda_scratch_bytes(const HyCudaScratch *scratch);
extern uint64_t hy_cuda_pinned_bytes(const HyCudaScratch *scratch);

/* hy_cuda_query_group: return the number of queries in a group, at least 1. */
extern int32_t hy_cuda_query_group(const HyCudaWork *work, const HyCudaScratch *scratch);

/*
 * hy_cuda_next_chunk: advance *chunk to the next piece, in the order of (query group, row).  The
 * first piece follows query_count = 0.  Returns false if no piece is left.
 */
extern bool hy_cuda_next_chunk(const HyCudaWork *work, const HyCudaScratch *scratch,
                               const HyCudaPace *pace, HyCudaChunk *chunk);

/*
 * hy_cuda_work: return the work of comparing this many queries and rows, in pairs of elements.  A
 * row counts as at least 64 elements, because folding, finishing and keeping its sum costs the same
 * for a short row.
 */
extern uint64_t hy_cuda_work(int32_t dims, int64_t queries, int64_t rows);

extern void hy_cuda_pace_init(HyCudaPace *pace);

/* hy_cuda_pace_learn: adjust the pace after a kernel with this much work took this long. */
extern void hy_cuda_pace_learn(HyCudaPace *pace, uint64_t work, double microseconds);

#endif
