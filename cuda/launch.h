/*
 * launch.h
 *		The kernels as the host calls them.  The interface between C and CUDA C++.
 *
 * Only the .cu files of the plug-in need nvcc.  They implement these functions.  The tests have a
 * second implementation, which runs the threads as fibers.
 */
#ifndef HY_CUDA_LAUNCH_H
#define HY_CUDA_LAUNCH_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#include "core/batch.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Largest dims at which a whole query fits into shared memory. */
#define HY_CUDA_OWN_NORM 1024

	/* HyCudaRows: the queries and rows of one kernel launch.  All pointers are device addresses. */
	typedef struct HyCudaRows
	{
		const void *targets; /* address of row 0, aligned to the element size */
		/*
		 * canonical sums of squares of the rows, read only for cosine with several queries.  If
		 * NULL, the kernel computes them.
		 */
		const float *target_norms;
		int64_t stride; /* bytes from row to row, a multiple of the element size */
		int64_t rows;   /* >= 1 */
		const float *queries;
		int32_t query_stride; /* elements from query to query; 0: packed, so dims */
		/*
		 * canonical sums of squares of the queries, for cosine.  May be NULL for one query with
		 * dims <= HY_CUDA_OWN_NORM.
		 */
		const float *query_norms;
		int32_t query_count; /* number of queries, 1 .. HY_CUDA_MAX_QUERIES */
		int32_t dims;        /* 1 .. HY_MAX_DIMS */
	} HyCudaRows;

	typedef struct HyCudaDistance
	{
		HyCudaRows rows;
		double *out; /* distance of query q and row t at out[q * out_stride + t] */
		int64_t out_stride;
	} HyCudaDistance;

/* Largest k of topk, and the row number in an empty entry. */
#define HY_CUDA_MAX_K 128
#define HY_CUDA_NO_ROW INT64_MAX

	/* HyCudaTopK: rows that are compared with the k nearest so far. */
	typedef struct HyCudaTopK
	{
		HyCudaRows rows;
		int64_t first_row; /* number of row 0 */
		int32_t k;         /* 1 .. HY_CUDA_MAX_K */
		/*
		 * query_count * k entries, ascending.  Empty entries come last.  Their row is
		 * HY_CUDA_NO_ROW, and their distance is the query's limit.
		 */
		HyNeighbor *best;
		/*
		 * memory for the results, possibly pinned host memory.  If NULL, they are stored in best.
		 */
		HyNeighbor *answer;
		/* whether no row was found yet; best is then not read, and limits is used instead */
		int32_t empty;
		/* largest allowed distance of each query's rows; NULL: no limit */
		const double *limits;
		HyNeighbor *lists;   /* memory for the lists of the blocks */
		uint64_t list_bytes; /* size of lists in bytes, at least the size of best */
		/*
		 * For a single query: a counter that is 0 before and after the launch.  The counter allows
		 * the kernel to merge its lists without a second kernel.  No other launch may use the
		 * counter at the same time.  NULL if there is no counter.
		 */
		unsigned *arrived;
	} HyCudaTopK;

	/*
	 * hy_cuda_load_kernels: load all kernels of the plug-in into the current context.  The driver
	 * may start threads during this call.
	 */
	extern cudaError_t hy_cuda_load_kernels(void);

	/*
	 * hy_cuda_launch_distance: queue the kernel. multiprocessors determines the size of the grid.
	 * Returns errors of the launch; errors of the execution are reported on the stream.
	 */
	extern cudaError_t
	hy_cuda_launch_distance(HyMetric metric, HyDtype dtype, const HyCudaDistance *args,
	                        int multiprocessors, cudaStream_t stream);

	/* hy_cuda_launch_topk: queue the kernels that update args->best. */
	extern cudaError_t hy_cuda_launch_topk(HyMetric metric, HyDtype dtype, const HyCudaTopK *args,
	                                       int multiprocessors, cudaStream_t stream);

	/*
	 * hy_cuda_launch_norms: compute norms[q], the canonical sum of squares of query q. count and
	 * dims have the values of query_count and dims in HyCudaRows.
	 */
	extern cudaError_t hy_cuda_launch_norms(const float *queries, int32_t count, int32_t dims,
	                                        float *norms, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
