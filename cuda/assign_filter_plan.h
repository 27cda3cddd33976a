/*
 * assign_filter_plan.h
 *		Decides when 'assign' is filtered (assign_filter_launch.h), and plans the sizes of pieces
 *		and memory.  Arithmetic only; never calls CUDA.
 */
#ifndef HY_CUDA_ASSIGN_FILTER_PLAN_H
#define HY_CUDA_ASSIGN_FILTER_PLAN_H

#include "cuda/assign_filter_launch.h"
#include "cuda/plan.h"

/*
 * HyCudaAssignPart: the arrays in the filter's memory.  HY_CUDA_ASSIGN_ROWS and all later arrays
 * exist once per slot.
 */
typedef enum HyCudaAssignPart
{
	HY_CUDA_ASSIGN_CENTROIDS = 0, /* rounded centroids */
	HY_CUDA_ASSIGN_REACH,
	HY_CUDA_ASSIGN_MIDDLE,
	HY_CUDA_ASSIGN_ROWS, /* rounded rows */
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
	int32_t padded; /* dims, rounded up to a multiple of HY_CUDA_TILE_DIMS */
	int64_t rows;   /* most rows of a piece */
	int64_t round;  /* most centroids rounded by one piece; whole tiles */
	uint64_t offset[HY_CUDA_ASSIGN_PARTS];
	uint64_t slot_bytes; /* bytes from an array of one slot to the same array of the next slot */
	uint64_t bytes;
} HyCudaAssignPlan;

/*
 * hy_cuda_assign_filter_suits: return whether filtering is expected to be faster.  Returns false if
 * rows x centroids x dims is less than `least`.
 */
extern bool
hy_cuda_assign_filter_suits(int64_t rows, int64_t centroids, int32_t dims, uint64_t least);

/*
 * hy_cuda_assign_filter_plan: choose sizes so that the filter takes at most half of free_bytes.  A
 * piece has `rows` rows, or fewer if necessary.  Returns false if no sizes fit.
 */
extern bool hy_cuda_assign_filter_plan(int64_t rows, int64_t centroids, int32_t dims,
                                       uint64_t free_bytes, HyCudaAssignPlan *plan);

/* hy_cuda_assign_whole: round a number of rows or centroids up to whole tiles. */
static inline int64_t
hy_cuda_assign_whole(int64_t count)
{
	return (count + HY_CUDA_TILE - 1) / HY_CUDA_TILE * HY_CUDA_TILE;
}

/*
 * hy_cuda_assign_offset: return the offset of a part in the filter's memory. `slot` matters only
 * for the parts that exist once per slot.
 */
static inline uint64_t
hy_cuda_assign_offset(const HyCudaAssignPlan *plan, HyCudaAssignPart part, int slot)
{
	return plan->offset[part] +
	       (part >= HY_CUDA_ASSIGN_ROWS ? (uint64_t) slot * plan->slot_bytes : 0);
}

#endif
