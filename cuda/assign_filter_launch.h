/*
 * assign_filter_launch.h
 *		The kernels that filter 'assign', as the host calls them: rounded products leave a few
 *		candidate centroids for each row, and canonical squares decide.  The interface between C and
 *		CUDA C++.
 *
 * The bounds are derived as in filter_launch.h.  A row of 'assign' is the query q there, and a
 * centroid is the row x.  The middle, which is the mean of some centroids, is subtracted from all
 * vectors.  Among the centroids, the nearest to q has the largest value <q, x> - |x|^2 / 2.  Let D
 * be the matrix unit's product of the rounded vectors.  The value lies between
 *
 *		f D - (|q| a + |q - q~| b) + v (1 + ...)		and		f D + (|q| a + |q - q~| b) + v
 *
 * In the lower bound, the factor of v allows for rounding errors of the squares.  Each row keeps
 * the greatest of its lower bounds.  A centroid whose upper bound is below that value cannot be the
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

#define HY_CUDA_ASSIGN_LIST 128 /* largest number of open centroids of a row */

	/* HyCudaOpen: a centroid that may be the nearest to a row. */
	typedef struct HyCudaOpen
	{
		float value; /* upper bound of the centroid's value */
		int32_t centroid;
	} HyCudaOpen;

	/*
	 * HyCudaAssignRest: the rows of a piece that the filter could not decide, as one group of
	 * HyCudaAssignGroups.  These rows are compared with all centroids of the piece.  The number of
	 * rows is known only on the device.
	 */
	typedef struct HyCudaAssignRest
	{
		int32_t begin[2];  /* first centroid, and the end of the centroids */
		int32_t firsts[2]; /* 0 and the number of rows */
		int32_t tiles[2];  /* 0 and the number of tiles of HY_CUDA_ASSIGN_TILE rows */
	} HyCudaAssignRest;

	/*
	 * HyCudaAssignFiltered: some rows and the centroids with which they are compared.  All pointers
	 * are device addresses.
	 */
	typedef struct HyCudaAssignFiltered
	{
		/* arguments of the canonical kernel, without groups; first is a tile boundary */
		HyCudaAssign assign;
		int32_t padded;
		const float *middle;
		/* all centroids, rounded and padded to whole tiles */
		const uint16_t *centroids;
		const HyCudaReach *reach;
		uint16_t *rows; /* rows, rounded and padded to whole tiles; aim has as many entries */
		HyCudaAim *aim;
		uint32_t *least;  /* greatest lower bound of each row, negated, as bits that ascend */
		int32_t *count;   /* open centroids of each row; may exceed HY_CUDA_ASSIGN_LIST */
		HyCudaOpen *open; /* HY_CUDA_ASSIGN_LIST open centroids for each row */
		int32_t *left;    /* row_count entries: the rows of the rest */
		HyCudaAssignRest *rest;
	} HyCudaAssignFiltered;

	/*
	 * hy_cuda_launch_assign_filtered: queue the kernels that fill in found.  The kernels skip the
	 * rows of rest, which hy_cuda_launch_assign_rest processes.
	 */
	extern cudaError_t
	hy_cuda_launch_assign_filtered(const HyCudaAssignFiltered *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
