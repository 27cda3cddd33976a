/*
 * row_sums.cuh
 *		The canonical sums of some rows and some queries, which are the core of every kernel over
 *		rows.
 *
 * Numbers are added in the order of core/distance.h, so the sums have the same bits as on the CPU.
 * There are 64 canonical lanes (partial sums).  After each segment of 1,024 elements the lanes are
 * flushed to their fp64 twins.  The block keeps one segment of its queries in shared memory.
 *
 * This file computes the sums for several queries: one read of a row serves all of them (HyKind).
 * Thread t of a warp keeps the lanes t and t + 32.  A warp reads 32 neighboring elements of several
 * rows at a time.  The first level of the fold (h = 32) needs no other thread.  Each further level
 * (h = 16 .. 1) takes one shuffle.  The pairs of a row and a query are folded together: after each
 * level, a thread continues with half of its pairs.  In the end, each pair has 32 / pairs threads,
 * which compute its distance.  Only hy_widen differs between float32 and float16 rows.
 *
 * For a single query, single_sums.cuh computes the sums, with reads of 16 bytes.
 *
 * The files of the kernels are compiled twice. nvcc compiles them for the device.  The host's C++
 * compiler compiles them with test/cuda/simt.h, which runs the threads of a block as fibers.  So
 * the files use only those features of CUDA that simt.h provides, and every rounding is explicit.
 */
#ifndef HY_CUDA_ROW_SUMS_CUH
#define HY_CUDA_ROW_SUMS_CUH

#include <float.h>
#include <stdint.h>

#include "core/distance.h"
#include "cuda/launch.h"

#define HY_CUDA_WARP 32
#define HY_CUDA_WARPS 8 /* warps per block */
#define HY_CUDA_THREADS (HY_CUDA_WARP * HY_CUDA_WARPS)
#define HY_CUDA_SEGMENT (HY_LANES * HY_FLUSH_STEPS)
#define HY_CUDA_ROW_LANES 8 /* lanes of a row that a thread keeps, for a single query */

static_assert(HY_CUDA_OWN_NORM <= HY_CUDA_SEGMENT, "such a query has one segment");

#define HY_CUDA_ALL_THREADS 0xffffffffu

/* HyKind: the parameters for which a kernel over rows is compiled. */
template <int Metric, class Type, int Rows, int Queries> struct HyKind
{
	typedef Type Element;

	static const int metric = Metric;
	static const int rows = Rows; /* number of rows that a warp processes at a time */
	static const int queries =
		Queries; /* queries of a block; rows x queries is a power of two, at most 32 */
	static const int pairs = Rows * Queries;

	/*
	 * Number of blocks that a multiprocessor should hold.  For a single query it is high, because
	 * memory bandwidth limits the speed.  The sums of several queries, or norms, take more
	 * registers, and with more blocks the compiler would spill them.
	 */
	static const int resident_blocks = Queries > 1 ? 2 : Metric == HY_METRIC_COSINE ? 3 : 4;

	/*
	 * Whether the kernel reads norms of rows if the caller gives them.  For a single query it
	 * always computes them: memory bandwidth limits the speed, so the sums cost little time.
	 */
	static const bool takes_norms = Metric == HY_METRIC_COSINE && Queries > 1;
};

/* HyInOrder: consecutive queries of a block, beginning with 'first'. */
struct HyInOrder
{
	int first;
	int count; /* number of queries in the launch */
};

/*
 * hy_query_at: return the number, within the launch, of the block's query q, or -1 if there is no
 * such query.  Every type that identifies queries has an overload.
 */
__device__ __forceinline__ int
hy_query_at(const HyInOrder &which, int q)
{
	return which.first + q < which.count ? which.first + q : -1;
}

/* HyLanes, HyTwins: lanes t and t + 32 of a thread, and their fp64 twins. */
struct HyLanes
{
	float low;
	float high;
};

struct HyTwins
{
	double low;
	double high;
};

__device__ __forceinline__ float
hy_widen(float value)
{
	return value;
}

__device__ __forceinline__ float
hy_widen(uint16_t half)
{
#ifdef __CUDA_ARCH__
	float value;

	asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
	return value;
#else
	return hy_half_to_float(half);
#endif
}

/* hy_step: add one element to its lane. */
template <int Metric>
__device__ __forceinline__ float
hy_step(float lane, float a, float b)
{
	if (Metric == HY_METRIC_L2)
	{
		float d = __fsub_rn(a, b);

		return __fmaf_rn(d, d, lane);
	}
	if (Metric == HY_METRIC_L1)
		return __fadd_rn(lane, fabsf(__fsub_rn(a, b)));
	return __fmaf_rn(a, b, lane);
}

/* hy_flush: add the lanes to their twins, and reset the lanes to +0. */
__device__ __forceinline__ void
hy_flush(HyLanes *lanes, HyTwins *twins)
{
	twins->low = __dadd_rn(twins->low, (double) lanes->low);
	twins->high = __dadd_rn(twins->high, (double) lanes->high);
	lanes->low = 0.0f;
	lanes->high = 0.0f;
}

/*
 * hy_fold_level: fold several levels of the tree, for the `Left` sums that a thread still has.  At
 * the first of these levels, two partner threads are H threads apart.  This distance is halved at
 * each level, down to `Last`.
 */
template <int Left, int H, int Last = 1>
__device__ __forceinline__ void
hy_fold_level(double *sum, int lane)
{
	const bool upper = (lane & H) != 0;

	if (Left == 1)
		sum[0] = __dadd_rn(sum[0], __shfl_xor_sync(HY_CUDA_ALL_THREADS, sum[0], H));
		/*
		 * a thread keeps half of its sums and gives the other half to its partner; in exchange, it
		 * gets the partner's parts of the kept sums
		 */
#pragma unroll
	for (int i = 0; i < Left / 2; i++)
	{
		const double kept = upper ? sum[i + Left / 2] : sum[i];
		const double given = upper ? sum[i] : sum[i + Left / 2];

		sum[i] = __dadd_rn(kept, __shfl_xor_sync(HY_CUDA_ALL_THREADS, given, H));
	}
	if constexpr (H > Last)
		hy_fold_level<(Left + 1) / 2, H / 2, Last>(sum, lane);
}

/*
 * hy_fold: fold `Count` sums over the tree h = 32 .. 1, and round each once at the end.  A thread
 * gets sum number lane * Count / 32.  With xor shuffles, the threads of a sum add the same pairs,
 * some of them in reverse order.  That does not change the sum of two numbers.
 */
template <int Count>
__device__ __forceinline__ float
hy_fold(const HyTwins (&twins)[Count], int lane)
{
	double sum[Count];

#pragma unroll
	for (int i = 0; i < Count; i++)
		sum[i] = __dadd_rn(twins[i].low, twins[i].high);
	hy_fold_level<Count, HY_CUDA_WARP / 2>(sum, lane);
	return __double2float_rn(sum[0]);
}

__device__ __forceinline__ double
hy_nan()
{
	return __longlong_as_double(0x7ff8000000000000LL);
}

/* hy_norm_has_cosine: do the same as hy_has_cosine, on the device. */
__device__ __forceinline__ bool
hy_norm_has_cosine(float norm_sq)
{
	return norm_sq > 0.0f && norm_sq <= FLT_MAX;
}

/*
 * hy_cosine: do the same as hy_cosine_from_sums, on the device.  Uses comparisons, because fmin
 * would lose a NaN.
 */
__device__ __forceinline__ double
hy_cosine(float dot, float aa, float bb)
{
	double similarity;

	if (!hy_norm_has_cosine(aa) || !hy_norm_has_cosine(bb) || dot != dot)
		return hy_nan();
	similarity = __ddiv_rn((double) dot, __dsqrt_rn(__dmul_rn((double) aa, (double) bb)));
	if (similarity > 1.0)
		similarity = 1.0;
	else if (similarity < -1.0)
		similarity = -1.0;
	return __dsub_rn(1.0, similarity);
}

/* hy_finish: do the same as hy_distance_from_sums, on the device. */
template <int Metric>
__device__ __forceinline__ double
hy_finish(float sum, float aa, float bb)
{
	if (Metric == HY_METRIC_L2)
		return __dsqrt_rn((double) sum);
	if (Metric == HY_METRIC_IP)
		return sum != sum ? hy_nan() : -(double) sum;
	if (Metric == HY_METRIC_COSINE)
		return hy_cosine(sum, aa, bb);
	return (double) sum;
}

/*
 * hy_query_place: return the position in shared memory of element i of a query's segment.  For a
 * single query and float16 rows, thread t of a row needs the elements 8 t .. 8 t + 7 of each 64,
 * and reads them in two halves.  The first halves of all threads are stored next to each other,
 * followed by the second halves.  So the threads of a row read 128 neighboring bytes at a time,
 * from different banks.
 */
template <class Kind>
__device__ __forceinline__ int
hy_query_place(int i)
{
	if (Kind::queries == 1 && sizeof(typename Kind::Element) == 2)
		return i / HY_LANES * HY_LANES + i / 4 % 2 * HY_CUDA_WARP +
		       i % HY_LANES / HY_CUDA_ROW_LANES * 4 + i % 4;
	return i;
}

/*
 * hy_load_queries: load one segment of the block's queries into shared memory.  Elements beyond
 * dims, and queries that do not exist, become +0.
 */
template <class Kind, class Which>
__device__ __forceinline__ void
hy_load_queries(const HyCudaRows &args, const Which &which, int start,
                float (*query)[HY_CUDA_SEGMENT])
{
	const int stride = args.query_stride > 0 ? args.query_stride : args.dims;

#pragma unroll
	for (int q = 0; q < Kind::queries; q++)
	{
		const int at = hy_query_at(which, q);
		const float *source = args.queries + (int64_t) (at < 0 ? 0 : at) * stride + start;

		for (int i = threadIdx.x; i < HY_CUDA_SEGMENT; i += HY_CUDA_THREADS)
			query[q][hy_query_place<Kind>(i)] = at >= 0 && start + i < args.dims ? source[i] : 0.0f;
	}
}

template <class Kind>
__device__ __forceinline__ void
hy_load_queries(const HyCudaRows &args, int first_query, int start, float (*query)[HY_CUDA_SEGMENT])
{
	hy_load_queries<Kind>(args, HyInOrder{first_query, args.query_count}, start, query);
}

/*
 * hy_with_norm: return a copy of args.  For cosine and a single query whose norm is not given,
 * compute the norm from the query in shared memory, and add it to the copy.  All threads of the
 * block must call this after a barrier.
 */
template <class Kind>
__device__ __forceinline__ HyCudaRows
hy_with_norm(const HyCudaRows &args, const float (*query)[HY_CUDA_SEGMENT])
{
	HyCudaRows rows = args;

	if constexpr (Kind::metric == HY_METRIC_COSINE && Kind::queries == 1)
	{
		__shared__ float norm;

		if (args.query_norms == NULL)
		{
			if (threadIdx.x < HY_CUDA_WARP)
			{
				HyTwins twins[1] = {};
				HyLanes lanes = {};

				/* beyond dims the query is padded with +0 */
				for (int i = threadIdx.x; i < args.dims; i += HY_LANES)
				{
					const float low = query[0][hy_query_place<Kind>(i)];
					const float high = query[0][hy_query_place<Kind>(i + HY_CUDA_WARP)];

					lanes.low = __fmaf_rn(low, low, lanes.low);
					lanes.high = __fmaf_rn(high, high, lanes.high);
				}
				hy_flush(&lanes, &twins[0]);

				const float sum = hy_fold(twins, threadIdx.x);

				if (threadIdx.x == 0)
					norm = sum;
			}
			__syncthreads();
			rows.query_norms = &norm;
		}
	}
	return rows;
}

/*
 * hy_accumulate: add one step of 64 elements, of which only the first `count` (at most 64) exist.
 * The others are +0, which changes no bit (core/distance.h).
 */
template <class Kind, bool Whole, bool Norms>
__device__ __forceinline__ void
hy_accumulate(const typename Kind::Element *const *target, const float (*query)[HY_CUDA_SEGMENT],
              int start, int step, int count, HyLanes *lanes, HyLanes *norms)
{
	const int lane = threadIdx.x % HY_CUDA_WARP;
	float low[Kind::rows];
	float high[Kind::rows];

#pragma unroll
	for (int r = 0; r < Kind::rows; r++)
	{
		low[r] = 0.0f;
		high[r] = 0.0f;
		if (Whole || lane < count)
			low[r] = hy_widen(target[r][start + step + lane]);
		if (Whole || lane + HY_CUDA_WARP < count)
			high[r] = hy_widen(target[r][start + step + lane + HY_CUDA_WARP]);
	}
#pragma unroll
	for (int q = 0; q < Kind::queries; q++)
	{
		const float a = query[q][step + lane];
		const float b = query[q][step + lane + HY_CUDA_WARP];

#pragma unroll
		for (int r = 0; r < Kind::rows; r++)
		{
			HyLanes *pair = &lanes[r * Kind::queries + q];

			pair->low = hy_step<Kind::metric>(pair->low, a, low[r]);
			pair->high = hy_step<Kind::metric>(pair->high, b, high[r]);
		}
	}
	if (Norms)
	{
#pragma unroll
		for (int r = 0; r < Kind::rows; r++)
		{
			norms[r].low = __fmaf_rn(low[r], low[r], norms[r].low);
			norms[r].high = __fmaf_rn(high[r], high[r], norms[r].high);
		}
	}
}

/*
 * hy_accumulate_segment: add all steps of the segment that begins at `start` and has `length`
 * elements.
 */
template <class Kind, bool Norms>
__device__ __forceinline__ void
hy_accumulate_segment(const typename Kind::Element *const *target,
                      const float (*query)[HY_CUDA_SEGMENT], int start, int length, HyLanes *lanes,
                      HyLanes *norms)
{
	const int whole = length - length % HY_LANES;

#pragma unroll(2)
	for (int step = 0; step < whole; step += HY_LANES)
		hy_accumulate<Kind, true, Norms>(target, query, start, step, HY_LANES, lanes, norms);
	if (whole < length)
		hy_accumulate<Kind, false, Norms>(target, query, start, whole, length - whole, lanes,
		                                  norms);
}

/* hy_row: return the address of a row. */
template <class Kind>
__device__ __forceinline__ const typename Kind::Element *
hy_row(const HyCudaRows &args, int64_t row)
{
	return (const typename Kind::Element *) ((const char *) args.targets + row * args.stride);
}

/*
 * hy_gathered_sums: compute the canonical sums of the block's queries with the warp's rows, which
 * lie at arbitrary addresses.  For cosine, also compute the rows' norms, unless they are given.  A
 * thread gets the sum of pair number lane * pairs / 32.  This pair is row number pair / queries and
 * query number pair % queries.  The sum is undefined if the warp has no rows (`there` is false).
 * If dims fit into one segment, `query` must already hold the queries.  Otherwise this function
 * loads them, and all threads of the block must call it.
 */
template <class Kind, class Which>
__device__ __forceinline__ float
hy_gathered_sums(const HyCudaRows &args, const Which &which, bool there,
                 const typename Kind::Element *const *target, float (*query)[HY_CUDA_SEGMENT],
                 float *norm)
{
	const int lane = threadIdx.x % HY_CUDA_WARP;
	const bool finds =
		Kind::metric == HY_METRIC_COSINE && (!Kind::takes_norms || args.target_norms == NULL);
	HyTwins twins[Kind::pairs] = {};
	HyTwins norm_twins[Kind::rows] = {};

	for (int start = 0; start < args.dims; start += HY_CUDA_SEGMENT)
	{
		const int left = args.dims - start;
		const int length = left < HY_CUDA_SEGMENT ? left : HY_CUDA_SEGMENT;
		HyLanes lanes[Kind::pairs] = {};
		HyLanes norms[Kind::rows] = {};

		if (args.dims > HY_CUDA_SEGMENT)
		{
			__syncthreads();
			hy_load_queries<Kind>(args, which, start, query);
			__syncthreads();
		}
		if (!there)
			continue;
		if (finds)
			hy_accumulate_segment<Kind, true>(target, query, start, length, lanes, norms);
		else
			hy_accumulate_segment<Kind, false>(target, query, start, length, lanes, norms);
#pragma unroll
		for (int i = 0; i < Kind::pairs; i++)
			hy_flush(&lanes[i], &twins[i]);
		if (finds)
		{
#pragma unroll
			for (int r = 0; r < Kind::rows; r++)
				hy_flush(&norms[r], &norm_twins[r]);
		}
	}

	const float sum = hy_fold(twins, lane);

	if (finds)
		*norm = hy_fold(norm_twins, lane);
	return sum;
}

/*
 * hy_row_sums: compute the sums of hy_gathered_sums for consecutive rows, from first_row on.  Some
 * of these rows may not exist.
 */
template <class Kind, class Which>
__device__ __forceinline__ float
hy_row_sums(const HyCudaRows &args, const Which &which, int64_t first_row,
            float (*query)[HY_CUDA_SEGMENT], float *norm)
{
	const typename Kind::Element *target[Kind::rows];

#pragma unroll
	for (int r = 0; r < Kind::rows; r++)
		target[r] = hy_row<Kind>(args, first_row + r < args.rows ? first_row + r : args.rows - 1);
	if (Kind::takes_norms && args.target_norms != NULL)
	{
		const int64_t row =
			first_row + threadIdx.x % HY_CUDA_WARP * Kind::pairs / HY_CUDA_WARP / Kind::queries;

		*norm = args.target_norms[row < args.rows ? row : args.rows - 1];
	}
	return hy_gathered_sums<Kind>(args, which, first_row < args.rows, target, query, norm);
}

/* hy_distance_of: return the distance that belongs to a thread's sum. */
template <class Kind>
__device__ __forceinline__ double
hy_distance_of(const HyCudaRows &args, int first_query, float sum, float norm)
{
	const int lane = threadIdx.x % HY_CUDA_WARP;
	const int at = first_query + lane * Kind::pairs / HY_CUDA_WARP % Kind::queries;

	return hy_finish<Kind::metric>(
		sum,
		Kind::metric == HY_METRIC_COSINE ? args.query_norms[at < args.query_count ? at : 0] : 0.0f,
		norm);
}

#endif
