/*
 * filter_plan.h
 *		Decides when 'topk' is filtered (filter_launch.h), and plans the sizes of groups, pieces and
 *		memory.  Arithmetic only; never calls CUDA.
 */
#ifndef HY_CUDA_FILTER_PLAN_H
#define HY_CUDA_FILTER_PLAN_H

#include "cuda/filter_launch.h"
#include "cuda/plan.h"

/*
 * Smallest work (queries x rows x dims) that is filtered.  For less work, the canonical kernels
 * finish before the filter's kernels would have started.
 */
#define HY_CUDA_FILTER_LEAST ((uint64_t) 1 << 31)

/* Bytes at the end of a slot's result memory that are reserved for the overflow count. */
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
	int32_t padded;    /* dims, rounded up to a multiple of HY_CUDA_TILE_DIMS */
	int32_t list_room; /* capacity of a query's list of candidates */
	int32_t group;     /* largest number of queries in a group */
	bool keeps;        /* the first group uploads the rows, and they are kept for later groups */
	int64_t room;      /* largest number of rows that one piece rounds; whole tiles */
	int64_t first;     /* number of rows that are compared canonically first, to get k distances */
	uint64_t offset[HY_CUDA_PARTS];
	uint64_t bytes;
} HyCudaFilterPlan;

typedef enum HyCudaFilterStage
{
	HY_CUDA_QUERIES_UP = 0, /* uploads some queries of the group */
	HY_CUDA_CANONICAL,      /* compares rows by the canonical kernels */
	HY_CUDA_FILTERED
} HyCudaFilterStage;

/* HyCudaFilterPiece: a piece of a filtered task. chunk.query_count is 0 before the first group. */
typedef struct HyCudaFilterPiece
{
	HyCudaFilterStage stage;
	HyCudaChunk chunk; /* the group's queries and the piece's rows */
	int32_t up_first;  /* first query to upload, counted from the group's first */
	int32_t up_count;
} HyCudaFilterPiece;

/*
 * hy_cuda_filter_suits: return whether filtering is expected to be faster.  Returns false if
 * queries x rows x dims is less than `least`.
 */
extern bool
hy_cuda_filter_suits(HyMetric metric, const HyCudaWork *work, int32_t k, uint64_t least);

/*
 * hy_cuda_filter_plan: choose sizes so that the filter takes at most half of free_bytes.  If
 * may_keep is true, rows may stay on the device for later groups.  Returns false if no sizes fit.
 */
extern bool hy_cuda_filter_plan(const HyCudaWork *work, int32_t k, const HyCudaScratch *scratch,
                                uint64_t free_bytes, bool may_keep, HyCudaFilterPlan *plan);

/* hy_cuda_filter_up_bytes: return the bytes that the whole task uploads. */
extern uint64_t hy_cuda_filter_up_bytes(const HyCudaFilterPlan *plan);

/* hy_cuda_filter_uploads: return whether the pieces of the chunk's group upload their rows. */
extern bool hy_cuda_filter_uploads(const HyCudaFilterPlan *plan, const HyCudaChunk *chunk);

/*
 * hy_cuda_filter_next: advance *piece to the next piece.  Returns false if no piece is left.
 * `useless` tells whether the filter has proposed too many candidates in this group.
 */
extern bool hy_cuda_filter_next(const HyCudaFilterPlan *plan, const HyCudaScratch *scratch,
                                const HyCudaPace *canonical, const HyCudaPace *filtered,
                                bool useless, HyCudaFilterPiece *piece);

#endif
