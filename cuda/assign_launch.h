/*
 * assign_launch.h
 *		What the host side asks the kernels of 'assign' to do.  C on one side, CUDA C++ on the other.
 *
 * What a row has found is one number: the bits of the canonical square, which is never negative,
 * above the number of the centroid.  The least of several is the nearest, the lower of two that are
 * equally near, whoever finds it first.
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

#define HY_CUDA_ASSIGN_TILE 8          /* rows of a block */
#define HY_CUDA_ASSIGN_NONE UINT64_MAX /* found by a row that has a distance to no centroid */

	/* HyCudaAssignGroups: rows by the groups they meet; every pointer is the device's. */
	typedef struct HyCudaAssignGroups
	{
		const float *centers; /* packed */
		const int32_t *begin; /* groups + 1: centroids begin[g] .. begin[g + 1] - 1 are group g */
		int32_t groups;       /* 0: none, every row meets all centroids */
		int32_t probes;       /* that a row meets, less than groups */
		int32_t largest;      /* centroids of the largest */
		HyNeighbor *met;      /* row_count * probes: the groups of a row */
		int32_t *members;     /* as many: the rows of group 0, then those of group 1, and so on */
		int32_t *counts;      /* groups: members so far */
		int32_t *firsts;      /* groups + 1: where members begin */
		int32_t *tiles;       /* groups + 1: which tile begins a group */
		HyNeighbor *lists;    /* room for what blocks find: HyCudaTopK */
		uint64_t list_bytes;
	} HyCudaAssignGroups;

	/* HyCudaAssign: some rows, and the centroids that they meet. */
	typedef struct HyCudaAssign
	{
		const float *rows;
		int32_t row_stride;     /* elements from row to row, dims at least */
		const float *centroids; /* all of them, packed */
		int32_t row_count;      /* >= 1; with groups HY_CUDA_MAX_QUERIES at most */
		int32_t dims;           /* 1 .. HY_MAX_DIMS */
		int32_t first;          /* of the centroids that are met, where there are no groups */
		int32_t end;
		unsigned long long *found; /* row_count */
		HyCudaAssignGroups groups;
	} HyCudaAssign;

	/* hy_cuda_launch_assign: queues the kernels that fill in found. */
	extern cudaError_t
	hy_cuda_launch_assign(const HyCudaAssign *args, int multiprocessors, cudaStream_t stream);

	/*
	 * hy_cuda_launch_assign_rest: the same where found is begun, and args->groups is one group whose
	 * members another kernel has picked: row_count of them at most.
	 */
	extern cudaError_t
	hy_cuda_launch_assign_rest(const HyCudaAssign *args, int multiprocessors, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
