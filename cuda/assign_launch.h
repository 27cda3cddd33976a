/*
 * assign_launch.h
 *		The interface between C and CUDA C++ for the kernels of 'assign'.
 *
 * The result of a row is one number.  Its high bits are the bits of the canonical squared distance,
 * which is never negative.  Its low bits are the number of the centroid.  So the smallest result
 * belongs to the nearest centroid, and among equally near centroids to the one with the lowest
 * number.  The result does not depend on the order in which centroids are compared.
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
#define HY_CUDA_ASSIGN_NONE UINT64_MAX /* result of a row whose distances are all NaN */

	/*
	 * HyCudaAssignGroups: the groups of centroids, and the rows sorted by the groups that they are
	 * compared with.  All pointers are device addresses.
	 */
	typedef struct HyCudaAssignGroups
	{
		const float *centers; /* centers of the groups, packed */
		const int32_t *begin; /* groups + 1 entries: first centroid of each group, then the end */
		int32_t groups;       /* 0: no groups, every row is compared with all centroids */
		int32_t probes;       /* number of groups per row, less than `groups` */
		int32_t largest;      /* number of centroids in the largest group */
		/* row_count * probes entries: the groups that each row is compared with */
		HyNeighbor *met;
		int32_t *members;  /* row_count * probes entries: the rows, sorted by group */
		int32_t *counts;   /* number of members of each group so far */
		int32_t *firsts;   /* groups + 1 entries: first member of each group */
		int32_t *tiles;    /* groups + 1 entries: first tile of each group's members */
		HyNeighbor *lists; /* memory for the lists of the thread blocks: see HyCudaTopK */
		uint64_t list_bytes;
	} HyCudaAssignGroups;

	/* HyCudaAssign: some rows, and the centroids that they are compared with. */
	typedef struct HyCudaAssign
	{
		const float *rows;
		int32_t row_stride;     /* elements from row to row, at least dims */
		const float *centroids; /* all centroids, packed */
		int32_t row_count;      /* >= 1; with groups at most HY_CUDA_MAX_QUERIES */
		int32_t dims;           /* 1 .. HY_MAX_DIMS */
		int32_t first;          /* without groups: centroids first .. end - 1 are compared */
		int32_t end;
		unsigned long long *found; /* results of the row_count rows */
		HyCudaAssignGroups groups;
	} HyCudaAssign;

	/* hy_cuda_launch_assign: queue the kernels that fill in `found`. */
	extern cudaError_t
	hy_cuda_launch_assign(const HyCudaAssign *args, int multiprocessors, cudaStream_t stream);

	/*
	 * hy_cuda_launch_assign_rest: queue the kernel that updates `found` for rows that another
	 * kernel has chosen.  These rows, at most row_count, are the members of the only group in
	 * args->groups.  The caller has initialized `found`.
	 */
	extern cudaError_t
	hy_cuda_launch_assign_rest(const HyCudaAssign *args, int multiprocessors, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
