/*
 * assign_filter_launch.h
 *		What the host side asks of the kernels that filter 'assign': rounded products leave a few
 *		centroids open for each row, canonical squares decide.  C on one side, CUDA C++ on the other.
 *
 * Rows are the queries of filter_launch.h, and centroids its rows.  For L2, all less the middle, the
 * larger the value <q, x> - |x|^2 / 2 is, the nearer to q is x; and with D, what the matrix unit
 * makes of rounded vectors, it lies between
 *
 *		f D - (|q| a + |q - q~| b) + v (1 + ...)		and		f D + (|q| a + |q - q~| b) + v
 *
 * where v is enlarged, below, by what squares may err by.  So a row keeps the greatest of its lower
 * bounds, and a centroid whose upper bound does not reach that is not the nearest.
 */
#ifndef HY_CUDA_ASSIGN_FILTER_LAUNCH_H
#define HY_CUDA_ASSIGN_FILTER_LAUNCH_H

#include "cuda/assign_launch.h"
#include "cuda/filter_launch.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define HY_CUDA_ASSIGN_LIST 128 /* centroids that may be open for a row */

	/* HyCudaOpen: a centroid that is open for a row. */
	typedef struct HyCudaOpen
	{
		float value; /* at most */
		int32_t centroid;
	} HyCudaOpen;

	/*
	 * HyCudaAssignRest: the rows of a piece that meet all of its centroids after all, as one group of
	 * HyCudaAssignGroups: what is not known before is how many there are.
	 */
	typedef struct HyCudaAssignRest
	{
		int32_t begin[2];  /* the centroids */
		int32_t firsts[2]; /* 0, and how many rows */
		int32_t tiles[2];  /* 0, and tiles of HY_CUDA_ASSIGN_TILE */
	} HyCudaAssignRest;

	/* HyCudaAssignFiltered: some rows, and the centroids that they meet; all pointers are the device's. */
	typedef struct HyCudaAssignFiltered
	{
		HyCudaAssign
			assign; /* as the canonical kernel has it, without groups; first is of a tile */
		int32_t padded;
		const float *middle;
		const uint16_t
			*centroids; /* all of them, rounded, whole tiles, with what belongs to them */
		const HyCudaReach *reach;
		uint16_t *rows; /* whole tiles; so is aim */
		HyCudaAim *aim;
		uint32_t *least;  /* of a row: the greatest lower bound, negated, so that bits ascend */
		int32_t *count;   /* of open centroids: more than a list holds, where they were more */
		HyCudaOpen *open; /* HY_CUDA_ASSIGN_LIST of each row */
		int32_t *left;    /* row_count: the rest's */
		HyCudaAssignRest *rest;
	} HyCudaAssignFiltered;

	/*
	 * hy_cuda_launch_assign_filtered: queues the kernels that fill in found, but for the rows of rest,
	 * which hy_cuda_launch_assign_rest settles.
	 */
	extern cudaError_t
	hy_cuda_launch_assign_filtered(const HyCudaAssignFiltered *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
