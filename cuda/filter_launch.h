/*
 * filter_launch.h
 *		What the host side asks of the kernels that filter: rounded products propose, canonical
 *		distances decide.  C on one side, CUDA C++ on the other.
 *
 * The inequality is that of core/prefilter.h.  A row x may be nearer to q than d only if
 *
 *		f D + |q| a + |q - q~| b + v >= t		D: what the matrix unit makes of q~ and x~
 *
 * with q~ and x~ for q and x rounded to bfloat16, and for each row
 *
 *		a = |x - x~| + slack (|x| + |x - x~|)		b = (1 + slack) (|x| + |x - x~|)
 *
 *		inner product	f = 1			v = 0				t = -d
 *		cosine			f = 1 / |x|		v = 0, a, b by |x|	t = (1 - d) |q|
 *		L2				f = 1			v = -|x|^2 / 2		t = (|q|^2 - d^2) / 2, all less the middle
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

#define HY_CUDA_TILE 128     /* queries, and rows, of a block of products */
#define HY_CUDA_TILE_DIMS 32 /* of a step through shared memory; rounded rows are whole steps */

/* Rows of which the middle is the mean. */
#define HY_CUDA_MIDDLE_ROWS 256

/*
 * What the matrix unit may err by, for each dim, as part of |q~| |x~|.  It multiplies exactly and
 * adds 16 products to the sum so far by cutting each of them off at the last of 24 places of the
 * largest, and the sum again: 18 units in 2^23 for 16 dims; this is twice that.
 */
#define HY_CUDA_UNIT_SLACK (2 * 18.0 / 16 / 8388608)

	/*
     * HyCudaReach: f, a, b and v of a row; v is infinite where its bound says nothing.  a and b are
     * always finite.  Aligned, so that one read brings all four.
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
		HY_CUDA_UNBOUNDED, /* beyond what fp32 arithmetic can bound: every row may be near */
		HY_CUDA_NEVER      /* no row is near: it has no angle */
	} HyCudaAimKind;

	/* HyCudaAim: of a query. */
	typedef struct HyCudaAim
	{
		double size;     /* |q|, as near as can be */
		float length;    /* |q|, rounded up */
		float rest;      /* |q - q~|, rounded up */
		float threshold; /* t, rounded down */
		int32_t kind;
	} HyCudaAim;

	/* HyCudaRound: rows, or queries, that are to be rounded; every pointer is the device's. */
	typedef struct HyCudaRound
	{
		const void *rows;
		int64_t stride; /* bytes */
		int64_t count;
		int64_t room; /* count, to a whole tile: what is missing is 0 */
		int32_t dims;
		int32_t padded;      /* dims, to a whole step */
		const float *middle; /* for L2, else NULL */
		uint16_t *rounded;   /* room x padded; aligned to 16 bytes */
		HyCudaReach *reach;  /* room; NULL: they are queries */
		HyCudaAim *aim;      /* room */
	} HyCudaRound;

	/* HyCudaFiltered: rows of a piece that pass before a group's queries. */
	typedef struct HyCudaFiltered
	{
		HyCudaRows rows; /* as they are given: what settles reads */
		int64_t first_row;
		int32_t k;
		int32_t padded;
		const uint16_t *queries; /* rounded, with what belongs to them */
		HyCudaAim *aim;
		const uint16_t *targets;
		const HyCudaReach *reach;
		int32_t *found; /* list_room rows of the piece for each query */
		int32_t *count; /* of candidates of each query: more than list_room, where they were more */
		int32_t list_room; /* a multiple of k */
		HyNeighbor *best;  /* as HyCudaTopK has it */
		int32_t *overflow; /* queries whose list was too short, so far */
		/* where not NULL: the products go here, [query * product_stride + row], and nowhere else */
		float *products;
		int64_t product_stride;
	} HyCudaFiltered;

	/* hy_cuda_launch_middle: the mean of at most HY_CUDA_MIDDLE_ROWS of the rows, evenly spread. */
	extern cudaError_t hy_cuda_launch_middle(HyDtype dtype, const HyCudaRows *rows, float *middle,
	                                         cudaStream_t stream);

	/* hy_cuda_launch_round: queries are of HY_F32. */
	extern cudaError_t hy_cuda_launch_round(HyMetric metric, HyDtype dtype, const HyCudaRound *args,
	                                        cudaStream_t stream);

	/* hy_cuda_launch_propose: thresholds by what best says now, then candidates onto the lists. */
	extern cudaError_t
	hy_cuda_launch_propose(HyMetric metric, const HyCudaFiltered *args, cudaStream_t stream);

	/* hy_cuda_launch_settle: canonical distances of candidates, by which best is brought up to date. */
	extern cudaError_t hy_cuda_launch_settle(HyMetric metric, HyDtype dtype,
	                                         const HyCudaFiltered *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
