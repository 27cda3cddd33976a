/*
 * filter_plan.h
 *		Decides when many queries are filtered (filter_launch.h), and plans the sizes of groups,
 *		pieces and memory.  Arithmetic only; CUDA is never called.
 */
#ifndef HY_CUDA_FILTER_PLAN_H
#define HY_CUDA_FILTER_PLAN_H

#include "cuda/filter_launch.h"
#include "cuda/plan.h"

/*
 * Smallest work that is filtered.  With less work, the canonical kernels are done before the
 * filter's kernels would have started.
 */
#define HY_CUDA_FILTER_LEAST ((uint64_t) 1 << 31)

/* Bytes at the end of a slot's result memory that are reserved for other output of a piece. */
#define HY_CUDA_FILTER_WORD 256

/* HyCudaFilterPart: the arrays in the filter's memory. */
typedef enum HyCudaFilterPart
{
	HY_CUDA_PART_QUERIES = 0, /* original queries */
	HY_CUDA_PART_ROUNDED_QUERIES,
	HY_CUDA_PART_AIM,
	HY_CUDA_PART_COUNT,
	HY_CUDA_PART_FOUND,
	HY_CUDA_PART_ROUNDED_ROWS,
	HY_CUDA_PART_REACH,
	HY_CUDA_PART_MIDDLE,
	HY_CUDA_PART_OVERFLOW,
	HY_CUDA_PART_KEPT, /* all rows, if they are kept for later groups */
	HY_CUDA_PARTS
} HyCudaFilterPart;

typedef struct HyCudaFilterPlan
{
	HyCudaWork work;
	int32_t k;
	int32_t padded;    /* dims, rounded up to whole steps */
	int32_t list_room; /* capacity of a query's list of candidates */
	int32_t group;     /* largest number of queries in a group */
	bool keeps;        /* rows are uploaded once and kept for later groups */
	int64_t room;      /* largest number of rows rounded in a piece; whole tiles */
	int64_t first;     /* rows that are compared canonically at first, to get k distances */
	uint64_t offset[HY_CUDA_PARTS];
	uint64_t bytes;
} HyCudaFilterPlan;

typedef enum HyCudaFilterStage
{
	HY_CUDA_QUERIES_UP = 0, /* upload of some queries of the group */
	HY_CUDA_CANONICAL,      /* rows processed by the canonical kernels */
	HY_CUDA_FILTERED
} HyCudaFilterStage;

/*
 * HyCudaFilterPiece: a piece of a filtered task.  If its chunk has no queries, no group has started
 * yet.
 */
typedef struct HyCudaFilterPiece
{
	HyCudaFilterStage stage;
	HyCudaChunk chunk; /* the group and its rows */
	int32_t up_first;  /* first query to be uploaded, counted within the group */
	int32_t up_count;
} HyCudaFilterPiece;

/*
 * hy_cuda_filter_suits: return whether filtering is faster.  Returns false if the work is less than
 * 'least'.
 */
extern bool
hy_cuda_filter_suits(HyMetric metric, const HyCudaWork *work, int32_t k, uint64_t least);

/*
 * hy_cuda_filter_plan: choose sizes that take at most half of free_bytes.  may_keep: rows may stay on
 * the device for later groups.  Returns false if no sizes fit.
 */
extern bool hy_cuda_filter_plan(const HyCudaWork *work, int32_t k, const HyCudaScratch *scratch,
                                uint64_t free_bytes, bool may_keep, HyCudaFilterPlan *plan);

/* hy_cuda_filter_up_bytes: return the bytes that the whole task uploads. */
extern uint64_t hy_cuda_filter_up_bytes(const HyCudaFilterPlan *plan);

/* hy_cuda_filter_uploads: return whether the pieces of the chunk's group upload their rows. */
extern bool hy_cuda_filter_uploads(const HyCudaFilterPlan *plan, const HyCudaChunk *chunk);

/*
 * hy_cuda_filter_next: advance *piece to the next piece.  Returns false if no piece is left.
 * 'useless' means that the filter proposes too many candidates for this group.
 */
extern bool hy_cuda_filter_next(const HyCudaFilterPlan *plan, const HyCudaScratch *scratch,
                                const HyCudaPace *canonical, const HyCudaPace *filtered,
                                bool useless, HyCudaFilterPiece *piece);

#endif
