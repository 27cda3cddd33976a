/*
 * plan.h
 *		Cutting a task into pieces that fit: pure arithmetic, no call of CUDA.
 *
 * A piece is one kernel: some queries against some rows.  It is bounded by the scratch memory, and
 * by a pace, the work that this device does in about 2 ms, so that a cancel never waits long.
 */
#ifndef HY_CUDA_PLAN_H
#define HY_CUDA_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "dispatch/backend.h"

#define HY_CUDA_SLOTS 2 /* pieces in flight: one is copied while the other computes */

/* Queries of one kernel: the grid's second dimension ends at 65,535. */
#define HY_CUDA_MAX_QUERIES 32768

/* The longest a kernel should run: a cancel waits for the kernels in flight. */
#define HY_CUDA_KERNEL_US 5000

/* HyCudaScratch: bytes of working memory, on the device and, but for best, pinned on the host. */
typedef struct HyCudaScratch
{
	uint64_t up;      /* a slot's rows on their way up */
	uint64_t down;    /* a slot's results on their way down */
	uint64_t best;    /* the k best so far of one group */
	uint64_t queries; /* one group of queries */
} HyCudaScratch;

/* HyCudaWork: queries against rows, as the plan sees them. */
typedef struct HyCudaWork
{
	int64_t queries;
	int64_t rows;
	int32_t dims;
	int32_t element;    /* bytes of one element of a row */
	bool resident;      /* the rows are on the device: they need no scratch */
	int32_t query_up;   /* bytes that go up with a query's elements */
	int32_t row_up;     /* bytes that go up with a row's elements, where it is not resident */
	int32_t query_down; /* bytes of results of a query, however many rows */
	int32_t pair_down;  /* bytes of results of a query and a row */
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
	uint64_t work; /* that a kernel may take: hy_cuda_work */
} HyCudaPace;

/*
 * hy_cuda_scratch_plan: sizes that leave at least half of the budget to resident buffers where
 * they can; false when not even the smallest fit.
 */
extern bool hy_cuda_scratch_plan(uint64_t budget, HyCudaScratch *scratch);

/* hy_cuda_scratch_bytes, hy_cuda_pinned_bytes: what it takes of the device's and of pinned memory. */
extern uint64_t hy_cuda_scratch_bytes(const HyCudaScratch *scratch);
extern uint64_t hy_cuda_pinned_bytes(const HyCudaScratch *scratch);

/* hy_cuda_query_group: how many queries a group holds; >= 1. */
extern int32_t hy_cuda_query_group(const HyCudaWork *work, const HyCudaScratch *scratch);

/*
 * hy_cuda_next_chunk: the piece after *chunk, in order of (query group, row); the first when
 * chunk->query_count is 0.  False when there is none left.
 */
extern bool hy_cuda_next_chunk(const HyCudaWork *work, const HyCudaScratch *scratch,
                               const HyCudaPace *pace, HyCudaChunk *chunk);

/*
 * hy_cuda_work: what so many queries and rows are: elements that meet, a row counting as 64 at least,
 * since its sum is folded, finished and kept or not however short it is.
 */
extern uint64_t hy_cuda_work(int32_t dims, int64_t queries, int64_t rows);

extern void hy_cuda_pace_init(HyCudaPace *pace);

/* hy_cuda_pace_learn: a kernel with this much work took so long. */
extern void hy_cuda_pace_learn(HyCudaPace *pace, uint64_t work, double microseconds);

#endif
