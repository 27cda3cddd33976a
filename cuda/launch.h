/*
 * launch.h
 *		What the host side asks the kernels to do.  C on one side, CUDA C++ on the other.
 *
 * Only the .cu files of the plug-in need nvcc; they implement these, and the tests implement them a
 * second time over fibers.
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

/* Dims of a query that lies in shared memory as a whole. */
#define HY_CUDA_OWN_NORM 1024

	/* HyCudaRows: a kernel's worth of queries against rows; every pointer is the device's. */
	typedef struct HyCudaRows
	{
		const void *targets; /* row 0; aligned to its element */
		/*
	     * canonical sums of squares of the rows; read for cosine and several queries only.  NULL: the
	     * kernel finds them
	     */
		const float *target_norms;
		int64_t stride; /* bytes from row to row, a multiple of the element's size */
		int64_t rows;   /* >= 1 */
		const float *queries;
		int32_t query_stride;     /* elements from query to query; 0: packed, dims apart */
		const float *query_norms; /* canonical sums of squares; read for cosine only.  NULL: the
		                           * kernel finds it, of one query, up to HY_CUDA_OWN_NORM dims */
		int32_t query_count;      /* 1 .. HY_CUDA_MAX_QUERIES */
		int32_t dims;             /* 1 .. HY_MAX_DIMS */
	} HyCudaRows;

	typedef struct HyCudaDistance
	{
		HyCudaRows rows;
		double *out; /* out[q * out_stride + t] */
		int64_t out_stride;
	} HyCudaDistance;

/* The most of the k nearest that topk keeps, and the row of an entry that holds none. */
#define HY_CUDA_MAX_K 128
#define HY_CUDA_NO_ROW INT64_MAX

	/* HyCudaTopK: rows that are offered to the k nearest so far. */
	typedef struct HyCudaTopK
	{
		HyCudaRows rows;
		int64_t first_row; /* number of row 0 */
		int32_t k;         /* 1 .. HY_CUDA_MAX_K */
		/*
	     * query_count * k, ascending; those that hold none come last, with row HY_CUDA_NO_ROW and the
	     * distance that a row must not pass
	     */
		HyNeighbor *best;
		HyNeighbor *answer;   /* where they go, pinned memory, too; NULL: to best */
		int32_t empty;        /* nothing was found yet: best is not read, but */
		const double *limits; /* what a query's rows must not pass; NULL: anything */
		HyNeighbor *lists;    /* room for what blocks find */
		uint64_t list_bytes;  /* at least that of best */
		/*
	     * Of one query: 0, and 0 again afterwards; the kernel then needs no second one.  No other
	     * launch that uses it may run at the same time.  NULL: there is none.
	     */
		unsigned *arrived;
	} HyCudaTopK;

	/*
 * hy_cuda_load_kernels: loads all kernels of the plug-in into the current context; the driver may start
 * threads.
 */
	extern cudaError_t hy_cuda_load_kernels(void);

	/*
 * hy_cuda_launch_distance: queues the kernel; multiprocessors sizes the grid.  Returns what the
 * launch itself said; errors of the run appear on the stream.
 */
	extern cudaError_t
	hy_cuda_launch_distance(HyMetric metric, HyDtype dtype, const HyCudaDistance *args,
	                        int multiprocessors, cudaStream_t stream);

	/* hy_cuda_launch_topk: queues the kernels that bring args->best up to date. */
	extern cudaError_t hy_cuda_launch_topk(HyMetric metric, HyDtype dtype, const HyCudaTopK *args,
	                                       int multiprocessors, cudaStream_t stream);

	/* hy_cuda_launch_norms: norms[q] = canonical sum of squares of query q (count, dims as above). */
	extern cudaError_t hy_cuda_launch_norms(const float *queries, int32_t count, int32_t dims,
	                                        float *norms, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
