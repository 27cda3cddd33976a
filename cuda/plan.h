/*
 * plan.h
 *		Divides a task into pieces that fit.  Arithmetic only; CUDA is never called.
 *
 * A piece compares some queries with some rows.  Its size has two limits: the scratch memory and
 * the work limit (HyCudaPace).  The work limit is the work that this device does in about 2 ms.  It
 * keeps the wait of a cancel short.
 */
#ifndef HY_CUDA_PLAN_H
#define HY_CUDA_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "dispatch/backend.h"

#define HY_CUDA_SLOTS 2 /* pieces in flight: one is copied while the other computes */

/* Largest number of queries per kernel: the second dimension of a grid is at most 65,535. */
#define HY_CUDA_MAX_QUERIES 32768

/* Longest time that a kernel should take, because a cancel waits for the kernels in flight. */
#define HY_CUDA_KERNEL_US 5000

/*
 * HyCudaScratch: sizes in bytes of the working memory on the device.  All parts except best also
 * exist in pinned memory.
 */
typedef struct HyCudaScratch
{
	uint64_t up;      /* rows uploaded by one slot */
	uint64_t down;    /* results copied to the host by one slot */
	uint64_t best;    /* current k best of one group */
	uint64_t queries; /* one group of queries */
} HyCudaScratch;

/* HyCudaWork: the sizes of a task of queries and rows, as needed for planning. */
typedef struct HyCudaWork
{
	int64_t queries;
	int64_t rows;
	int32_t dims;
	int32_t element;    /* bytes of one element of a row */
	bool resident;      /* the rows are on the device and need no scratch */
	int32_t query_up;   /* bytes uploaded with a query in addition to its elements */
	int32_t row_up;     /* bytes uploaded with a row in addition, unless it is resident */
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
	uint64_t work; /* largest work of a kernel, in units of hy_cuda_work */
} HyCudaPace;

/*
 * hy_cuda_scratch_plan: choose sizes that, if possible, leave at least half of the budget to
 * resident buffers.  Returns false if even the smallest sizes do not fit.
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
 * hy_cuda_next_chunk: advance *chunk to the next piece, in the order of (query group, row).  For
 * the first piece, the caller passes a chunk with query_count 0.  Returns false if no piece is
 * left.
 */
extern bool hy_cuda_next_chunk(const HyCudaWork *work, const HyCudaScratch *scratch,
                               const HyCudaPace *pace, HyCudaChunk *chunk);

/*
 * hy_cuda_work: return the work of comparing this many queries and rows, in pairs of elements.  A
 * row counts as at least 64 elements, because folding, finishing and keeping a sum costs the same
 * for a shorter row.
 */
extern uint64_t hy_cuda_work(int32_t dims, int64_t queries, int64_t rows);

extern void hy_cuda_pace_init(HyCudaPace *pace);

/*
 * hy_cuda_pace_adjust: adjust the work limit after a kernel with this much work took this many
 * microseconds.
 */
extern void hy_cuda_pace_adjust(HyCudaPace *pace, uint64_t work, double microseconds);

#endif
