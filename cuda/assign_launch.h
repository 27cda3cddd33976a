/*
 * assign_launch.h
 *		The kernels of 'assign' as the host calls them.  The interface between C and CUDA C++.
 *
 * The result of a row is one number.  Its high bits are the bits of the canonical square, which is
 * never negative, and its low bits are the number of the centroid.  So the least number is the
 * nearest centroid or, of two that are equally near, the lower one, whatever the order in which
 * they are found.
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
#define HY_CUDA_ASSIGN_NONE UINT64_MAX /* result of a row that has a distance to no centroid */

	/* HyCudaAssignGroups: rows by the groups that they probe.  All pointers are device addresses. */
	typedef struct HyCudaAssignGroups
	{
		const float *centers; /* packed */
		const int32_t *begin; /* groups + 1; group g has centroids begin[g] .. begin[g + 1] - 1 */
		int32_t groups;       /* 0: no groups, every row is compared with all centroids */
		int32_t probes;       /* groups that a row probes, less than groups */
		int32_t largest;      /* centroids of the largest group */
		HyNeighbor *met;      /* row_count * probes: the groups of each row */
		int32_t *members;     /* as many: the rows of group 0, then those of group 1, and so on */
		int32_t *counts;      /* per group: members so far */
		int32_t *firsts;      /* groups + 1: first member of each group */
		int32_t *tiles;       /* groups + 1: first tile of each group */
		HyNeighbor *lists;    /* room for the lists of the blocks: HyCudaTopK */
		uint64_t list_bytes;
	} HyCudaAssignGroups;

	/* HyCudaAssign: some rows and the centroids to compare them with. */
	typedef struct HyCudaAssign
	{
		const float *rows;
		int32_t row_stride;     /* elements from row to row, at least dims */
		const float *centroids; /* all of them, packed */
		int32_t row_count;      /* >= 1; with groups at most HY_CUDA_MAX_QUERIES */
		int32_t dims;           /* 1 .. HY_MAX_DIMS */
		int32_t first; /* without groups, rows are compared with centroids first .. end - 1 */
		int32_t end;
		unsigned long long *found; /* row_count */
		HyCudaAssignGroups groups;
	} HyCudaAssign;

	/* hy_cuda_launch_assign: queue the kernels that fill in `found`. */
	extern cudaError_t
	hy_cuda_launch_assign(const HyCudaAssign *args, int multiprocessors, cudaStream_t stream);

	/*
	 * hy_cuda_launch_assign_rest: the same, for a caller that has initialized `found`. args->groups
	 * is one group whose members, at most row_count, were chosen by another kernel.
	 */
	extern cudaError_t
	hy_cuda_launch_assign_rest(const HyCudaAssign *args, int multiprocessors, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
