/*
 * assign_filter_launch.h
 *		The kernels that filter 'assign', as the host calls them: rounded products leave a few
 *		candidate centroids for each row, and canonical squares decide.  The interface between C and
 *		CUDA C++.
 *
 * Rows are the queries of filter_launch.h, and centroids are its rows.  For L2 the middle is
 * subtracted from all vectors.  Then x is the nearer to q, the larger <q, x> - |x|^2 / 2 is.  With
 * D, the matrix unit's product of rounded vectors, that value lies between
 *
 *		f D - (|q| a + |q - q~| b) + v (1 + ...)		and		f D + (|q| a + |q - q~| b) + v
 *
 * In the lower bound v is enlarged by the possible error of the squares.  Each row keeps its
 * greatest lower bound.  A centroid whose upper bound is below that is not the nearest.
 */
#ifndef HY_CUDA_ASSIGN_FILTER_LAUNCH_H
#define HY_CUDA_ASSIGN_FILTER_LAUNCH_H

#include "cuda/assign_launch.h"
#include "cuda/filter_launch.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define HY_CUDA_ASSIGN_LIST 128 /* most open centroids of a row */

	/* HyCudaOpen: a centroid that is open for a row. */
	typedef struct HyCudaOpen
	{
		float value; /* upper bound of its value */
		int32_t centroid;
	} HyCudaOpen;

	/*
	 * HyCudaAssignRest: the rows of a piece that are compared with all its centroids, as one group
	 * of HyCudaAssignGroups.  Their number is known only on the device.
	 */
	typedef struct HyCudaAssignRest
	{
		int32_t begin[2];  /* range of the centroids */
		int32_t firsts[2]; /* 0 and the number of rows */
		int32_t tiles[2];  /* 0 and the number of tiles of HY_CUDA_ASSIGN_TILE rows */
	} HyCudaAssignRest;

	/*
	 * HyCudaAssignFiltered: some rows and the centroids to compare them with.  All pointers are device
	 * addresses.
	 */
	typedef struct HyCudaAssignFiltered
	{
		/* as for the canonical kernel, without groups; first is the first of a tile */
		HyCudaAssign assign;
		int32_t padded;
		const float *middle;
		/* all centroids, rounded, in whole tiles */
		const uint16_t *centroids;
		const HyCudaReach *reach;
		uint16_t *rows; /* rounded, in whole tiles; aim has as many entries */
		HyCudaAim *aim;
		uint32_t *least;  /* per row: hy_ascending of its negated greatest lower bound */
		int32_t *count;   /* open centroids of each row; may exceed HY_CUDA_ASSIGN_LIST */
		HyCudaOpen *open; /* HY_CUDA_ASSIGN_LIST entries per row */
		int32_t *left;    /* row_count: the rows of the rest */
		HyCudaAssignRest *rest;
	} HyCudaAssignFiltered;

	/*
	 * hy_cuda_launch_assign_filtered: queue the kernels that fill in found, except for the rows of
	 * rest, which hy_cuda_launch_assign_rest completes.
	 */
	extern cudaError_t
	hy_cuda_launch_assign_filtered(const HyCudaAssignFiltered *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
