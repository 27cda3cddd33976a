/*
 * assign_filter_launch.h
 *		The interface between C and CUDA C++ for the kernels that filter 'assign'.  Products of
 *		rounded vectors leave a few candidate centroids for each row.  Canonical squared distances
 *		decide among the candidates.
 *
 * The bounds are derived as in filter_launch.h, which defines f, a, b and v.  A row of 'assign' is
 * the query q there, and a centroid is the row x.  The mean of some centroids (`middle`) is
 * subtracted from all vectors.  The centroid nearest to q has the largest value <q, x> - |x|^2 / 2.
 * Let D be the matrix unit's product of the rounded vectors.  Then the value lies between
 *
 *		f D - (|q| a + |q - q~| b) + v (1 + ...)		and		f D + (|q| a + |q - q~| b) + v
 *
 * The factor of v in the lower bound allows for rounding errors of the squares.  Each row keeps the
 * greatest of its lower bounds.  A centroid whose upper bound is below this bound cannot be the
 * nearest.
 */
#ifndef HY_CUDA_ASSIGN_FILTER_LAUNCH_H
#define HY_CUDA_ASSIGN_FILTER_LAUNCH_H

#include "cuda/assign_launch.h"
#include "cuda/filter_launch.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define HY_CUDA_ASSIGN_LIST 128 /* most candidate centroids of a row */

	/* HyCudaOpen: a candidate: a centroid that may be the nearest to a row. */
	typedef struct HyCudaOpen
	{
		float value; /* upper bound of <q, x> - |x|^2 / 2 */
		int32_t centroid;
	} HyCudaOpen;

	/*
	 * HyCudaAssignRest: the rows of a piece that the filter could not decide, in the form of one
	 * group of HyCudaAssignGroups.  These rows are compared with all centroids of the piece.  Only
	 * the device knows the number of rows.
	 */
	typedef struct HyCudaAssignRest
	{
		int32_t begin[2];  /* first centroid, and the centroid after the last */
		int32_t firsts[2]; /* 0 and the number of rows */
		int32_t tiles[2];  /* 0 and the number of tiles of HY_CUDA_ASSIGN_TILE rows */
	} HyCudaAssignRest;

	/*
	 * HyCudaAssignFiltered: some rows, and the centroids that they are compared with.  All pointers
	 * are device addresses.
	 */
	typedef struct HyCudaAssignFiltered
	{
		/*
		 * arguments of the canonical kernel, without groups; assign.first is a multiple of
		 * HY_CUDA_TILE
		 */
		HyCudaAssign assign;
		int32_t padded;
		const float *middle;
		/* all centroids, rounded and padded to whole tiles */
		const uint16_t *centroids;
		const HyCudaReach *reach;
		uint16_t *rows; /* rows, rounded and padded to whole tiles; `aim` has as many entries */
		HyCudaAim *aim;
		/* negated greatest lower bound of each row, as an integer that sorts like the number */
		uint32_t *least;
		int32_t *count;   /* number of candidates of each row; may exceed HY_CUDA_ASSIGN_LIST */
		HyCudaOpen *open; /* HY_CUDA_ASSIGN_LIST candidates for each row */
		int32_t *left;    /* row_count entries: the undecided rows, as counted in `rest` */
		HyCudaAssignRest *rest;
	} HyCudaAssignFiltered;

	/*
	 * hy_cuda_launch_assign_filtered: queue the kernels that fill in assign.found.  The kernels
	 * skip the undecided rows and list them in `left` and `rest`. hy_cuda_launch_assign_rest
	 * processes the listed rows.
	 */
	extern cudaError_t
	hy_cuda_launch_assign_filtered(const HyCudaAssignFiltered *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
