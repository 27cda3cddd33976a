/*
 * assign_filter_plan.h
 *		When 'assign' is filtered (assign_filter_launch.h), in pieces of what size, in how much memory:
 *		pure arithmetic, no call of CUDA.
 */
#ifndef HY_CUDA_ASSIGN_FILTER_PLAN_H
#define HY_CUDA_ASSIGN_FILTER_PLAN_H

#include "cuda/assign_filter_launch.h"
#include "cuda/plan.h"

/* HyCudaAssignPart: what lies in the filter's memory; from rows on, once for each slot. */
typedef enum HyCudaAssignPart
{
	HY_CUDA_ASSIGN_CENTROIDS = 0, /* rounded */
	HY_CUDA_ASSIGN_REACH,
	HY_CUDA_ASSIGN_MIDDLE,
	HY_CUDA_ASSIGN_ROWS, /* rounded */
	HY_CUDA_ASSIGN_AIM,
	HY_CUDA_ASSIGN_LEAST,
	HY_CUDA_ASSIGN_COUNT,
	HY_CUDA_ASSIGN_OPEN,
	HY_CUDA_ASSIGN_LEFT,
	HY_CUDA_ASSIGN_PARTS
} HyCudaAssignPart;

typedef struct HyCudaAssignPlan
{
	int64_t centroids;
	int32_t dims;
	int32_t padded; /* dims, to a whole step */
	int64_t rows;   /* of a piece, at most */
	int64_t round;  /* centroids that are rounded at a time, whole tiles */
	uint64_t offset[HY_CUDA_ASSIGN_PARTS];
	uint64_t slot_bytes; /* from a part of a slot to that of the next one */
	uint64_t bytes;
} HyCudaAssignPlan;

/* hy_cuda_assign_filter_suits: whether it is the faster way, of work of so much at least. */
extern bool
hy_cuda_assign_filter_suits(int64_t rows, int64_t centroids, int32_t dims, uint64_t least);

/*
 * hy_cuda_assign_filter_plan: pieces of `rows` at most, of less if need be, so that at most half of
 * free_bytes is taken; false: none do.
 */
extern bool hy_cuda_assign_filter_plan(int64_t rows, int64_t centroids, int32_t dims,
                                       uint64_t free_bytes, HyCudaAssignPlan *plan);

/* hy_cuda_assign_whole: rows, or centroids, to a whole tile. */
static inline int64_t
hy_cuda_assign_whole(int64_t count)
{
	return (count + HY_CUDA_TILE - 1) / HY_CUDA_TILE * HY_CUDA_TILE;
}

/* hy_cuda_assign_offset: where a part lies; slot: where there is one for each. */
static inline uint64_t
hy_cuda_assign_offset(const HyCudaAssignPlan *plan, HyCudaAssignPart part, int slot)
{
	return plan->offset[part] +
	       (part >= HY_CUDA_ASSIGN_ROWS ? (uint64_t) slot * plan->slot_bytes : 0);
}

#endif
