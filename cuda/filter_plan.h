/*
 * filter_plan.h
 *		When many queries are filtered (filter_launch.h), in groups and pieces of what size, in how
 *		much memory: pure arithmetic, no call of CUDA.
 */
#ifndef HY_CUDA_FILTER_PLAN_H
#define HY_CUDA_FILTER_PLAN_H

#include "cuda/filter_launch.h"
#include "cuda/plan.h"

/* Less work than this is done before the filter's kernels have started. */
#define HY_CUDA_FILTER_LEAST ((uint64_t) 1 << 31)

/* At the end of a slot's room for results: what a piece says beside them. */
#define HY_CUDA_FILTER_WORD 256

/* HyCudaFilterPart: what lies in the filter's memory. */
typedef enum HyCudaFilterPart
{
	HY_CUDA_PART_QUERIES = 0, /* as they are given */
	HY_CUDA_PART_ROUNDED_QUERIES,
	HY_CUDA_PART_AIM,
	HY_CUDA_PART_COUNT,
	HY_CUDA_PART_FOUND,
	HY_CUDA_PART_ROUNDED_ROWS,
	HY_CUDA_PART_REACH,
	HY_CUDA_PART_MIDDLE,
	HY_CUDA_PART_OVERFLOW,
	HY_CUDA_PARTS
} HyCudaFilterPart;

typedef struct HyCudaFilterPlan
{
	HyCudaWork work;
	int32_t k;
	int32_t padded;    /* dims, to a whole step */
	int32_t list_room; /* of a query's candidates */
	int32_t group;     /* queries of a group, at most */
	int64_t room;      /* rows of a piece that are rounded, whole tiles */
	int64_t first;     /* so many rows are canonical, until k distances are known */
	uint64_t offset[HY_CUDA_PARTS];
	uint64_t bytes;
} HyCudaFilterPlan;

typedef enum HyCudaFilterStage
{
	HY_CUDA_QUERIES_UP = 0, /* some queries of the group go up */
	HY_CUDA_CANONICAL,      /* rows pass before the canonical kernels */
	HY_CUDA_FILTERED
} HyCudaFilterStage;

/* HyCudaFilterPiece: no group yet where the chunk has no queries. */
typedef struct HyCudaFilterPiece
{
	HyCudaFilterStage stage;
	HyCudaChunk chunk; /* the group, and rows */
	int32_t up_first;  /* queries of the group that go up */
	int32_t up_count;
} HyCudaFilterPiece;

/* hy_cuda_filter_suits: whether it is the faster way, of work of so much at least. */
extern bool
hy_cuda_filter_suits(HyMetric metric, const HyCudaWork *work, int32_t k, uint64_t least);

/* hy_cuda_filter_plan: sizes for which at most half of free_bytes is taken; false: none do. */
extern bool hy_cuda_filter_plan(const HyCudaWork *work, int32_t k, const HyCudaScratch *scratch,
                                uint64_t free_bytes, HyCudaFilterPlan *plan);

/* hy_cuda_filter_up_bytes: of the whole task. */
extern uint64_t hy_cuda_filter_up_bytes(const HyCudaFilterPlan *plan);

/*
 * hy_cuda_filter_next: the piece after *piece; false when there is none left.  useless: the filter
 * proposes too much of this group.
 */
extern bool hy_cuda_filter_next(const HyCudaFilterPlan *plan, const HyCudaScratch *scratch,
                                const HyCudaPace *canonical, const HyCudaPace *filtered,
                                bool useless, HyCudaFilterPiece *piece);

#endif
