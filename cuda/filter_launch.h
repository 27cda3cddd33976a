/*
 * filter_launch.h
 *		The interface between C and CUDA C++ for the kernels of the filter.  Products of rounded
 *		vectors propose candidates, and canonical distances decide among them.
 *
 * The inequality comes from core/prefilter.h.  A row x can be nearer to the query q than the
 * distance d only if
 *
 *		f D + |q| a + |q - q~| b + v >= t		D: the matrix unit's product of q~ and x~
 *
 * where q~ and x~ are q and x rounded to bfloat16.  For each row,
 *
 *		a = |x - x~| + slack (|x| + |x - x~|)		b = (1 + slack) (|x| + |x - x~|)
 *
 *		inner product	f = 1			v = 0				t = -d
 *		cosine			f = 1 / |x|		v = 0; a, b divided by |x|	t = (1 - d) |q|
 *		L2				f = 1			v = -|x|^2 / 2		t = (|q|^2 - d^2) / 2
 *
 * For L2, the vector `middle`, the mean of some rows, is first subtracted from x and q.
 */
#ifndef HY_CUDA_FILTER_LAUNCH_H
#define HY_CUDA_FILTER_LAUNCH_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#include "cuda/launch.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* queries per tile; the numbers of queries and rows are padded to whole tiles */
#define HY_CUDA_TILE 128
#define HY_CUDA_TILE_DIMS 32 /* dims per step in shared memory; vectors are padded to whole steps */

/* Most rows that the mean `middle` is computed from. */
#define HY_CUDA_MIDDLE_ROWS 256

/*
 * Allowed error of the matrix unit per dim, relative to |q~| |x~|.  The unit multiplies exactly,
 * and adds 16 products at a time to the sum so far.  Before that, it shifts these 17 numbers to the
 * exponent of the largest of them, and truncates each after 24 binary places.  The error is up to
 * 18 * 2^-23 per 16 dims.  The slack is twice that.
 */
#define HY_CUDA_UNIT_SLACK (2 * 18.0 / 16 / 8388608)

	/*
	 * HyCudaReach: f, a, b and v of a row, in this order.  If the row has no bound, v is infinity,
	 * so that the row is a candidate of every query.  If the row is a zero vector and the metric is
	 * cosine, v is -infinity, and the row is never a candidate. a and b are always finite.  The
	 * struct is aligned so that one read loads all four values.
	 */
	typedef struct __attribute__((aligned(16))) HyCudaReach
	{
		float factor;
		float reach;
		float rough;
		float shift;
	} HyCudaReach;

	typedef enum HyCudaAimKind
	{
		HY_CUDA_BOUNDED = 0,
		/* |q| lies outside the range that fp32 can bound: every row is a candidate */
		HY_CUDA_UNBOUNDED,
		HY_CUDA_NEVER /* the query is a zero vector and has no angle: no row is a candidate */
	} HyCudaAimKind;

	/* HyCudaAim: the bounds of a query. */
	typedef struct HyCudaAim
	{
		double size;     /* |q|, not rounded up or down */
		float length;    /* |q|, rounded up */
		float rest;      /* |q - q~|, rounded up */
		float threshold; /* t, rounded down */
		int32_t kind;
	} HyCudaAim;

	/* HyCudaRound: rows or queries to be rounded.  All pointers are device addresses. */
	typedef struct HyCudaRound
	{
		const void *rows;
		int64_t stride; /* bytes from vector to vector */
		int64_t count;
		int64_t room; /* count, rounded up to whole tiles; vectors beyond count are written as 0 */
		int32_t dims;
		int32_t padded;      /* dims, rounded up to a multiple of HY_CUDA_TILE_DIMS */
		const float *middle; /* for L2, the vector to subtract; else NULL */
		uint16_t *rounded;   /* output, room x padded elements; aligned to 16 bytes */
		HyCudaReach *reach;  /* output, room entries; NULL for queries */
		HyCudaAim *aim;      /* output for queries, room entries */
	} HyCudaRound;

	/* HyCudaFiltered: a piece of rows, to be compared with the queries of a group. */
	typedef struct HyCudaFiltered
	{
		HyCudaRows rows; /* the original rows, which the settle kernel reads */
		int64_t first_row;
		int32_t k;
		int32_t padded;
		const uint16_t *queries; /* rounded queries */
		HyCudaAim *aim;
		const uint16_t *targets;
		const HyCudaReach *reach;
		int32_t *found; /* candidates of each query: up to list_room row numbers within the piece */
		/* number of candidates of each query; may exceed list_room */
		int32_t *count;
		int32_t list_room; /* capacity of a list, a multiple of k */
		HyNeighbor *best;  /* the k best of each query, as in HyCudaTopK */
		int32_t *overflow; /* number of lists that have overflowed so far, in all pieces */
		/*
		 * if not NULL, no candidates are sought; products are stored at [query * product_stride +
		 * row]
		 */
		float *products;
		int64_t product_stride;
	} HyCudaFiltered;

	/*
	 * hy_cuda_launch_middle: compute the mean of at most HY_CUDA_MIDDLE_ROWS of the rows, at even
	 * intervals.
	 */
	extern cudaError_t hy_cuda_launch_middle(HyDtype dtype, const HyCudaRows *rows, float *middle,
	                                         cudaStream_t stream);

	/* hy_cuda_launch_round: round rows or queries.  Queries have the type HY_F32. */
	extern cudaError_t hy_cuda_launch_round(HyMetric metric, HyDtype dtype, const HyCudaRound *args,
	                                        cudaStream_t stream);

	/*
	 * hy_cuda_launch_propose: compute each query's threshold from its k best so far, then append
	 * candidates to the lists.
	 */
	extern cudaError_t
	hy_cuda_launch_propose(HyMetric metric, const HyCudaFiltered *args, cudaStream_t stream);

	/*
	 * hy_cuda_launch_settle: compute the canonical distances of the candidates, and update `best`.
	 */
	extern cudaError_t hy_cuda_launch_settle(HyMetric metric, HyDtype dtype,
	                                         const HyCudaFiltered *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
