/*
 * assign_filter_launch.h
 *		The kernels that filter 'assign', as the host calls them: rounded products leave a few
 *		candidate centroids for each row, and canonical squares decide.  The interface between C and
 *		CUDA C++.
 *
 * The rows of 'assign' take the place of the queries in filter_launch.h, and centroids take the
 * place of its rows.  For L2 the middle is subtracted from all vectors.  Then the nearer x is to q,
 * the larger is the value <q, x> - |x|^2 / 2.  Let D be the matrix unit's product of the rounded
 * vectors.  The value lies between
 *
 *		f D - (|q| a + |q - q~| b) + v (1 + ...)		and		f D + (|q| a + |q - q~| b) + v
 *
 * In the lower bound, v is enlarged by the possible error of the squares.  Each row keeps the
 * greatest of its lower bounds.  A centroid whose upper bound is less than this is not the nearest.
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
	 * HyCudaAssignGroups.  They are compared with all centroids of the piece.  Only the device
	 * knows their number.
	 */
	typedef struct HyCudaAssignRest
	{
		int32_t begin[2];  /* first and end of the centroids */
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
		uint32_t *least;  /* greatest lower bound of each row, negated so that bits ascend */
		int32_t *count;   /* open centroids of each row; may exceed HY_CUDA_ASSIGN_LIST */
		HyCudaOpen *open; /* HY_CUDA_ASSIGN_LIST open centroids for each row */
		int32_t *left;    /* row_count entries: the rows of the rest */
		HyCudaAssignRest *rest;
	} HyCudaAssignFiltered;

	/*
	 * hy_cuda_launch_assign_filtered: queue the kernels that fill in found.  They leave out the
	 * rows of rest, which hy_cuda_launch_assign_rest processes.
	 */
	extern cudaError_t
	hy_cuda_launch_assign_filtered(const HyCudaAssignFiltered *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
