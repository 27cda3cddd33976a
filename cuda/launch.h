/*
 * launch.h
 *		The interface between C and CUDA C++ for the kernels over rows, and for loading all kernels.
 *
 * Only the .cu files of the plug-in need nvcc.  They implement these functions.  The tests compile
 * the same source for the CPU, and run each GPU thread as a fiber.
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

/* Largest dims for which a whole query fits into shared memory. */
#define HY_CUDA_OWN_NORM 1024

	/* HyCudaRows: the queries and rows of one kernel launch.  All pointers are device addresses. */
	typedef struct HyCudaRows
	{
		const void *targets; /* address of row 0, aligned to the element size */
		/*
		 * canonical sums of squares of the rows, read only for cosine with several queries.  If
		 * NULL, the kernel computes the sums.
		 */
		const float *target_norms;
		int64_t stride; /* bytes from row to row, a multiple of the element size */
		int64_t rows;   /* >= 1 */
		const float *queries;
		/* elements from query to query; 0: dims, because the queries are packed */
		int32_t query_stride;
		/*
		 * canonical sums of squares of the queries, read only for cosine.  May be NULL for a single
		 * query with dims <= HY_CUDA_OWN_NORM: then the kernel computes the sum.
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

/* Largest k of topk, and the row number of an empty entry. */
#define HY_CUDA_MAX_K 128
#define HY_CUDA_NO_ROW INT64_MAX

	/*
	 * HyCudaTopK: a search for the k rows nearest to each query, among some rows and the k best
	 * rows so far.
	 */
	typedef struct HyCudaTopK
	{
		HyCudaRows rows;
		int64_t first_row; /* number of the first row within the task */
		int32_t k;         /* 1 .. HY_CUDA_MAX_K */
		/*
		 * k best rows so far of each query: query_count * k entries, ascending.  Empty entries come
		 * last.  Their row is HY_CUDA_NO_ROW, and their distance is the query's limit.
		 */
		HyNeighbor *best;
		/*
		 * memory for the final k best, possibly pinned host memory.  If NULL, they are stored in
		 * `best`.
		 */
		HyNeighbor *answer;
		/* whether the lists in `best` are still empty: then `limits` is read instead */
		int32_t empty;
		/* largest allowed distance of each query, read only if `empty`; NULL: no limits */
		const double *limits;
		HyNeighbor *lists;   /* memory for the lists of the thread blocks */
		uint64_t list_bytes; /* bytes of `lists`, at least the bytes of `best` */
		/*
		 * For a single query: a counter of finished blocks, which is 0 before and after the launch.
		 * With it, the last block merges the lists, and no second kernel is needed.  No other
		 * launch may use the counter at the same time.  NULL: no counter, and a second kernel
		 * merges the lists.
		 */
		unsigned *arrived;
	} HyCudaTopK;

	/*
	 * hy_cuda_load_kernels: load all kernels of the plug-in into the current context.  The driver
	 * may start threads during this call.
	 */
	extern cudaError_t hy_cuda_load_kernels(void);

	/*
	 * hy_cuda_launch_distance: queue the kernel.  The number of multiprocessors determines the size
	 * of the grid.  Returns only errors of the launch.  Errors of the execution are reported later,
	 * on the stream.
	 */
	extern cudaError_t
	hy_cuda_launch_distance(HyMetric metric, HyDtype dtype, const HyCudaDistance *args,
	                        int multiprocessors, cudaStream_t stream);

	/* hy_cuda_launch_topk: queue the kernels that update args->best, or fill in args->answer. */
	extern cudaError_t hy_cuda_launch_topk(HyMetric metric, HyDtype dtype, const HyCudaTopK *args,
	                                       int multiprocessors, cudaStream_t stream);

	/*
	 * hy_cuda_launch_norms: queue the kernel that computes norms[q], the canonical sum of squares
	 * of query q. `count` is HyCudaRows.query_count.
	 */
	extern cudaError_t hy_cuda_launch_norms(const float *queries, int32_t count, int32_t dims,
	                                        float *norms, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
