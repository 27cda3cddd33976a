/*
 * filter_launch.h
 *		The kernels that filter, as the host calls them: rounded products propose candidates,
 *		and canonical distances decide.  The interface between C and CUDA C++.
 *
 * The inequality comes from core/prefilter.h.  A row x can be nearer to q than the distance d only
 * if
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
 * For L2 the middle, which is the mean of some rows, is first subtracted from x and q.
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

#define HY_CUDA_TILE 128 /* queries of a tile; the numbers of queries and rows are padded to it */
#define HY_CUDA_TILE_DIMS 32 /* dims per step in shared memory; vectors are padded to whole steps */

/* Largest number of rows from which the middle is computed. */
#define HY_CUDA_MIDDLE_ROWS 256

/*
 * Allowed error of the matrix unit per dim, relative to |q~| |x~|.  The unit multiplies exactly.
 * It adds 16 products to the sum so far.  Before the addition, it truncates each product and the
 * sum at the last of the 24 binary places of the largest of them.  This gives an error of up to 18
 * units in 2^23 per 16 dims.  The slack is twice that.
 */
#define HY_CUDA_UNIT_SLACK (2 * 18.0 / 16 / 8388608)

	/*
	 * HyCudaReach: f, a, b and v of a row, in this order. v is infinite if the row has no bound. a
	 * and b are always finite.  The struct is aligned, so that one read loads all four values.
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
		HY_CUDA_UNBOUNDED, /* not in the range that fp32 can bound: every row may be near */
		HY_CUDA_NEVER      /* the query has no angle: no row is near */
	} HyCudaAimKind;

	/* HyCudaAim: the bounds of a query. */
	typedef struct HyCudaAim
	{
		double size;     /* |q|, as exactly as possible */
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
		int64_t room; /* count, rounded up to whole tiles; vectors beyond count are 0 */
		int32_t dims;
		int32_t padded;      /* dims, rounded up to whole steps */
		const float *middle; /* vector that is subtracted for L2, else NULL */
		uint16_t *rounded;   /* output, room x padded elements; aligned to 16 bytes */
		HyCudaReach *reach;  /* output, room entries; NULL for queries */
		HyCudaAim *aim;      /* output for queries, room entries */
	} HyCudaRound;

	/* HyCudaFiltered: a piece of rows to be compared with a group's queries. */
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
		int32_t *found; /* candidates of each query: list_room rows of the piece */
		/* number of candidates per query; may exceed list_room */
		int32_t *count;
		int32_t list_room; /* capacity of a list, a multiple of k */
		HyNeighbor *best;  /* the k best of each query, as in HyCudaTopK */
		int32_t *overflow; /* number of lists that have overflowed so far */
		/* unless NULL, the kernel only stores the products, at [query * product_stride + row] */
		float *products;
		int64_t product_stride;
	} HyCudaFiltered;

	/*
	 * hy_cuda_launch_middle: compute the mean of at most HY_CUDA_MIDDLE_ROWS rows, evenly spread
	 * over the rows.
	 */
	extern cudaError_t hy_cuda_launch_middle(HyDtype dtype, const HyCudaRows *rows, float *middle,
	                                         cudaStream_t stream);

	/* hy_cuda_launch_round: round rows or queries.  Queries have the type HY_F32. */
	extern cudaError_t hy_cuda_launch_round(HyMetric metric, HyDtype dtype, const HyCudaRound *args,
	                                        cudaStream_t stream);

	/*
	 * hy_cuda_launch_propose: compute thresholds from the current best, then append candidates to
	 * the lists.
	 */
	extern cudaError_t
	hy_cuda_launch_propose(HyMetric metric, const HyCudaFiltered *args, cudaStream_t stream);

	/* hy_cuda_launch_settle: compute canonical distances of the candidates and update best. */
	extern cudaError_t hy_cuda_launch_settle(HyMetric metric, HyDtype dtype,
	                                         const HyCudaFiltered *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
