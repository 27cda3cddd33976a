/*
 * plan.h
 *		Divides a task into pieces that fit a slot.  Arithmetic only; never calls CUDA.
 *
 * A piece compares some queries with some rows.  Two limits bound its size: the scratch memory and
 * the work limit (HyCudaPace).  The work limit is the work that this device does in about 2 ms.
 * The limit keeps the wait short after a cancel, which takes effect when the pieces in flight are
 * done.
 */
#ifndef HY_CUDA_PLAN_H
#define HY_CUDA_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "dispatch/backend.h"

#define HY_CUDA_SLOTS 2 /* pieces in flight: one copies while the other computes */

/* Most queries per kernel.  They are the second dimension of a grid, whose limit is 65,535. */
#define HY_CUDA_MAX_QUERIES 32768

/*
 * Longest time that the kernels of a piece should take, in microseconds.  A cancel waits for them.
 */
#define HY_CUDA_KERNEL_US 5000

/*
 * HyCudaScratch: the scratch memory of a device: sizes of its parts in bytes.  Each part except
 * `best` also exists in pinned host memory.
 */
typedef struct HyCudaScratch
{
	uint64_t up;      /* rows uploaded by one slot */
	uint64_t down;    /* results copied to the host by one slot */
	uint64_t best;    /* k best rows so far, for one group of queries */
	uint64_t queries; /* one group of queries, with the data that is uploaded after them */
} HyCudaScratch;

/* HyCudaWork: the sizes of a task that compares queries with rows, as needed for planning. */
typedef struct HyCudaWork
{
	int64_t queries;
	int64_t rows;
	int32_t dims;
	int32_t element;  /* bytes of one element of a row */
	bool resident;    /* the rows are on the device already and take no scratch memory */
	int32_t query_up; /* bytes uploaded per query in addition to its elements */
	/* bytes uploaded per row in addition to its elements; 0 for resident rows */
	int32_t row_up;
	int32_t query_down; /* bytes of results per query, independent of the rows */
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
	uint64_t work; /* largest work of a piece, in units of hy_cuda_work */
} HyCudaPace;

/*
 * hy_cuda_scratch_plan: choose the sizes of the scratch.  Leaves at least half of the budget to
 * other memory, if possible.  Returns false if even the smallest sizes exceed the budget.
 */
extern bool hy_cuda_scratch_plan(uint64_t budget, HyCudaScratch *scratch);

/*
 * hy_cuda_scratch_bytes, hy_cuda_pinned_bytes: return the bytes of device memory and of pinned host
 * memory that the scratch takes.
 */
extern uint64_t hy_cuda_scratch_bytes(const HyCudaScratch *scratch);
extern uint64_t hy_cuda_pinned_bytes(const HyCudaScratch *scratch);

/*
 * hy_cuda_query_group: return the number of queries in a full group, at least 1 if there are
 * queries.
 */
extern int32_t hy_cuda_query_group(const HyCudaWork *work, const HyCudaScratch *scratch);

/*
 * hy_cuda_next_chunk: advance *chunk to the next piece: the rows in order for the first group of
 * queries, then for the second, and so on.  For the first piece, the caller passes a chunk with
 * query_count 0.  Returns false if no piece is left.
 */
extern bool hy_cuda_next_chunk(const HyCudaWork *work, const HyCudaScratch *scratch,
                               const HyCudaPace *pace, HyCudaChunk *chunk);

/*
 * hy_cuda_work: return the work of comparing this many queries and rows, as a number of pairs of
 * elements.  A row counts as at least 64 elements, because adding up the 64 partial sums and
 * storing the result take as long for a shorter row.
 */
extern uint64_t hy_cuda_work(int32_t dims, int64_t queries, int64_t rows);

extern void hy_cuda_pace_init(HyCudaPace *pace);

/*
 * hy_cuda_pace_adjust: adjust the work limit to a piece whose kernels did this work in this time.
 */
extern void hy_cuda_pace_adjust(HyCudaPace *pace, uint64_t work, double microseconds);

#endif
