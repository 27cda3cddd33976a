/*
 * launch.h
 *		The kernels as the host calls them.  The interface between C and CUDA C++.
 *
 * Only the .cu files of the plug-in need nvcc.  They implement these functions; the tests have a
 * second implementation on fibers.
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

/* Largest dims at which a query fits into shared memory as a whole. */
#define HY_CUDA_OWN_NORM 1024

	/* HyCudaRows: the queries and rows of one kernel.  All pointers are device addresses. */
	typedef struct HyCudaRows
	{
		const void *targets; /* row 0, aligned to the element size */
		/*
		 * canonical sums of squares of the rows; read only for cosine with several queries.  NULL:
		 * the kernel computes them
		 */
		const float *target_norms;
		int64_t stride; /* bytes from row to row, a multiple of the element size */
		int64_t rows;   /* >= 1 */
		const float *queries;
		int32_t query_stride; /* elements from query to query; 0: packed, dims apart */
		/* canonical sums of squares for cosine; NULL if one query, dims <= HY_CUDA_OWN_NORM */
		const float *query_norms;
		int32_t query_count; /* 1 .. HY_CUDA_MAX_QUERIES */
		int32_t dims;        /* 1 .. HY_MAX_DIMS */
	} HyCudaRows;

	typedef struct HyCudaDistance
	{
		HyCudaRows rows;
		double *out; /* out[q * out_stride + t] */
		int64_t out_stride;
	} HyCudaDistance;

/* Largest k of topk, and the row number of an empty entry. */
#define HY_CUDA_MAX_K 128
#define HY_CUDA_NO_ROW INT64_MAX

	/* HyCudaTopK: rows that are offered to the k nearest so far. */
	typedef struct HyCudaTopK
	{
		HyCudaRows rows;
		int64_t first_row; /* number of row 0 */
		int32_t k;         /* 1 .. HY_CUDA_MAX_K */
		/*
		 * query_count * k entries, ascending.  Empty entries come last, with row HY_CUDA_NO_ROW and
		 * the query's limit as their distance.
		 */
		HyNeighbor *best;
		/* output, which may be pinned memory; NULL: best */
		HyNeighbor *answer;
		/* no row was found yet, so best is not read and limits is used */
		int32_t empty;
		/* largest distance of each query's rows; NULL: no limit */
		const double *limits;
		HyNeighbor *lists;   /* room for the lists of the blocks */
		uint64_t list_bytes; /* at least the size of best */
		/*
		 * For a single query: a counter that is 0, and is 0 again afterwards; the kernel then needs
		 * no second one to merge.  No other launch may use it at the same time.  NULL: none.
		 */
		unsigned *arrived;
	} HyCudaTopK;

	/*
	 * hy_cuda_load_kernels: load all kernels of the plug-in into the current context.  The driver
	 * may start threads.
	 */
	extern cudaError_t hy_cuda_load_kernels(void);

	/*
	 * hy_cuda_launch_distance: queue the kernel. multiprocessors determines the size of the grid.
	 * Returns errors of the launch itself; errors of the run appear on the stream.
	 */
	extern cudaError_t
	hy_cuda_launch_distance(HyMetric metric, HyDtype dtype, const HyCudaDistance *args,
	                        int multiprocessors, cudaStream_t stream);

	/* hy_cuda_launch_topk: queue the kernels that update args->best. */
	extern cudaError_t hy_cuda_launch_topk(HyMetric metric, HyDtype dtype, const HyCudaTopK *args,
	                                       int multiprocessors, cudaStream_t stream);

	/*
	 * hy_cuda_launch_norms: compute norms[q], the canonical sum of squares of query q (count, dims
	 * as above).
	 */
	extern cudaError_t hy_cuda_launch_norms(const float *queries, int32_t count, int32_t dims,
	                                        float *norms, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
