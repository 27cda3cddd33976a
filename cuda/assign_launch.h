/*
 * assign_launch.h
 *		The kernels of 'assign' as the host calls them.  The interface between C and CUDA C++.
 *
 * The result of a row is one number.  Its high bits are the bits of the canonical square, which is
 * never negative.  Its low bits are the number of the centroid.  So the smallest result belongs to
 * the nearest centroid.  If two centroids are equally near, the smallest result belongs to the
 * centroid with the lower number.  The result does not depend on the order in which centroids are
 * compared.
 */
#ifndef HY_CUDA_ASSIGN_LAUNCH_H
#define HY_CUDA_ASSIGN_LAUNCH_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#include "core/batch.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define HY_CUDA_ASSIGN_TILE 8          /* rows per block */
#define HY_CUDA_ASSIGN_NONE UINT64_MAX /* result of a row without a distance to any centroid */

	/*
	 * HyCudaAssignGroups: rows sorted by the groups with which they are compared.  All pointers are
	 * device addresses.
	 */
	typedef struct HyCudaAssignGroups
	{
		const float *centers; /* centers of the groups, packed */
		const int32_t *begin; /* groups + 1 entries: first centroid of each group, then the end */
		int32_t groups;       /* 0: no groups, every row is compared with all centroids */
		int32_t probes;       /* groups per row, less than groups */
		int32_t largest;      /* centroids of the largest group */
		HyNeighbor *met;      /* row_count * probes entries: the groups of each row */
		int32_t *members;     /* row_count * probes entries: the rows, sorted by group */
		int32_t *counts;      /* members of each group so far */
		int32_t *firsts;      /* groups + 1 entries: first member of each group */
		int32_t *tiles;       /* groups + 1 entries: first tile of each group */
		HyNeighbor *lists;    /* memory for the lists of the blocks: see HyCudaTopK */
		uint64_t list_bytes;
	} HyCudaAssignGroups;

	/* HyCudaAssign: some rows and the centroids with which they are compared. */
	typedef struct HyCudaAssign
	{
		const float *rows;
		int32_t row_stride;     /* elements from row to row, at least dims */
		const float *centroids; /* all centroids, packed */
		int32_t row_count;      /* >= 1; with groups at most HY_CUDA_MAX_QUERIES */
		int32_t dims;           /* 1 .. HY_MAX_DIMS */
		int32_t first;          /* without groups: centroids first .. end - 1 are compared */
		int32_t end;
		unsigned long long *found; /* results of row_count rows */
		HyCudaAssignGroups groups;
	} HyCudaAssign;

	/* hy_cuda_launch_assign: queue the kernels that fill in `found`. */
	extern cudaError_t
	hy_cuda_launch_assign(const HyCudaAssign *args, int multiprocessors, cudaStream_t stream);

	/*
	 * hy_cuda_launch_assign_rest: fill in `found` for rows chosen by another kernel.  The caller
	 * has initialized `found`. args->groups is one group with these rows as its members, at most
	 * row_count.
	 */
	extern cudaError_t
	hy_cuda_launch_assign_rest(const HyCudaAssign *args, int multiprocessors, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
