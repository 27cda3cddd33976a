/*
 * single_sums.cuh
 *		The canonical sums of some rows and a single query, and the function that returns distances
 *		for any number of queries (hy_row_distance).
 *
 * The rate of reading rows limits the speed of a single query.  So a thread reads 16 bytes at a
 * time, and issues several reads before it uses the first.  Eight threads share a row, and together
 * read 128 neighboring bytes of it at a time.  A warp processes four rows at a time.
 *
 * On an H200, a search in a million rows reaches 0.81 (float32, 128 dims) and 0.94 (float16, 768
 * dims) of the rate of a kernel that only reads.  With reads of 2 or 4 bytes, it reached 0.57 and
 * 0.27.
 *
 * A thread keeps eight of a row's 64 canonical lanes.  A read has four float32 or eight float16
 * elements.  So with float32, thread t of a row keeps the lanes 4 t .. 4 t + 3 and 4 t + 32 ..
 * 4 t + 35.  With float16, it keeps the lanes 8 t .. 8 t + 7.
 *
 * If the address, the stride or the length of the rows is not a multiple of 16 bytes, a thread
 * reads the elements of its lanes one at a time.  The sums are the same.
 */
#ifndef HY_CUDA_SINGLE_SUMS_CUH
#define HY_CUDA_SINGLE_SUMS_CUH

#include "cuda/row_sums.cuh"

#define HY_CUDA_ROW_THREADS (HY_LANES / HY_CUDA_ROW_LANES) /* threads that share a row */
#define HY_CUDA_READS 4                                    /* reads of a thread in flight */

/* HyRead: the 16 bytes that a thread reads at a time. */
struct HyRead
{
	unsigned word[4];
};

__device__ __forceinline__ HyRead
hy_read_wide(const void *at)
{
#ifdef __CUDACC__
	const uint4 words = *(const uint4 *) at;
#else
	const uint4 words = hy_simt::read_wide(at);
#endif

	return HyRead{{words.x, words.y, words.z, words.w}};
}

/* hy_element: return element i of a read. */
template <class Element>
__device__ __forceinline__ float
hy_element(const HyRead &read, int i)
{
	if constexpr (sizeof(Element) == sizeof(float))
		return __uint_as_float(read.word[i]);
	else
		return hy_widen((uint16_t) (read.word[i / 2] >> i % 2 * 16));
}

/* hy_add: add an element to its lane.  For cosine, also add its square to the lane of the norm. */
template <int Metric>
__device__ __forceinline__ void
hy_add(float *lane, float *norm, float a, float b)
{
	*lane = hy_step<Metric>(*lane, a, b);
	if (Metric == HY_METRIC_COSINE)
		*norm = __fmaf_rn(b, b, *norm);
}

/*
 * hy_add_reads: add the elements of HY_CUDA_READS reads. `query` points to the thread's first value
 * of the query, in the order of hy_query_place.
 */
template <class Kind>
__device__ __forceinline__ void
hy_add_reads(const HyRead (&read)[HY_CUDA_READS], const float *query, float *lanes, float *norms)
{
	typedef typename Kind::Element Element;
	/* number of groups of four elements in a read */
	const int groups = sizeof(float) / sizeof(Element);

#pragma unroll
	for (int group = 0; group < HY_CUDA_READS * groups; group++)
	{
		const HyRead values = hy_read_wide(query + group * 4 * HY_CUDA_ROW_THREADS);

#pragma unroll
		for (int i = 0; i < 4; i++)
		{
			const int at = (group * 4 + i) % HY_CUDA_ROW_LANES;

			hy_add<Kind::metric>(&lanes[at], &norms[at], __uint_as_float(values.word[i]),
			                     hy_element<Element>(read[group / groups], group % groups * 4 + i));
		}
	}
}

/*
 * hy_add_segment: add the segment of a row that begins at `row` and has `length` elements.  If
 * `wide` is true, the segment consists of whole reads, aligned to 16 bytes.  Missing elements are
 * +0, which changes no bit (core/distance.h).
 */
template <class Kind>
__device__ __forceinline__ void
hy_add_segment(const typename Kind::Element *row, const float *query, int length, bool wide,
               float *lanes, float *norms)
{
	const int width = sizeof(HyRead) / sizeof(typename Kind::Element);
	/* distance in elements from one read to the next */
	const int apart = HY_CUDA_ROW_THREADS * width;
	const int thread = threadIdx.x % HY_CUDA_ROW_THREADS;

#pragma unroll 1
	for (int at = 0; wide && at < length; at += HY_CUDA_READS * apart)
	{
		const int mine = at + thread * width;
		HyRead read[HY_CUDA_READS];

		if (at + HY_CUDA_READS * apart <= length)
		{
#pragma unroll
			for (int i = 0; i < HY_CUDA_READS; i++)
				read[i] = hy_read_wide(row + mine + i * apart);
		}
		else
		{
#pragma unroll
			for (int i = 0; i < HY_CUDA_READS; i++)
				read[i] =
					mine + i * apart < length ? hy_read_wide(row + mine + i * apart) : HyRead{};
		}
		hy_add_reads<Kind>(read, query + at + thread * 4, lanes, norms);
	}
#pragma unroll 1
	for (int at = 0; !wide && at < length; at += HY_LANES)
	{
#pragma unroll
		for (int i = 0; i < HY_CUDA_ROW_LANES; i++)
		{
			const int mine = at + i / width * apart + thread * width + i % width;
			const float b = mine < length ? hy_widen(row[mine]) : 0.0f;

			hy_add<Kind::metric>(&lanes[i], &norms[i], query[hy_query_place<Kind>(mine)], b);
		}
	}
}

/*
 * hy_flush_row: add the lanes to their twins, and reset the lanes to +0.  The barrier keeps the
 * compiler from loading more twins at the same time, because there are no registers for them.
 */
__device__ __forceinline__ void
hy_flush_row(float *lanes, volatile double *twins)
{
#pragma unroll
	for (int i = 0; i < HY_CUDA_ROW_LANES; i++)
	{
		twins[i] = __dadd_rn(twins[i], (double) lanes[i]);
		lanes[i] = 0.0f;
	}
	__syncwarp();
}

/*
 * hy_fold_row: fold a row over the tree h = 32 .. 1, and round once at the end.  If `flushed` is
 * true, the sums are in the twins, else in the lanes.  All threads of the row get the sum.
 *
 * With float32, a thread has both partners of the level h = 32, so this level needs no shuffle.  At
 * the next three levels (with float16, the first three), the partner is another thread.  A thread
 * then keeps half of its sums and gives the other half to the partner, until it has one sum.  At
 * the remaining levels, the partner is another thread as well.
 */
template <class Element>
__device__ __forceinline__ float
hy_fold_row(const float *lanes, const volatile double *twins, bool flushed, int lane)
{
	const int width = sizeof(HyRead) / sizeof(Element);
	double sum[HY_CUDA_ROW_LANES];

	/* adding +0 turns -0 into +0, as adding the lanes to twins of +0 would */
#pragma unroll
	for (int i = 0; i < HY_CUDA_ROW_LANES; i++)
		sum[i] = (double) __fadd_rn(lanes[i], 0.0f);
	if (flushed)
	{
#pragma unroll
		for (int i = 0; i < HY_CUDA_ROW_LANES; i++)
			sum[i] = twins[i];
	}
#pragma unroll
	for (int i = width; i < HY_CUDA_ROW_LANES; i++)
		sum[i - width] = __dadd_rn(sum[i - width], sum[i]);
	hy_fold_level<width, HY_CUDA_ROW_THREADS / 2>(sum, lane);
	hy_fold_level<1, HY_CUDA_ROW_THREADS / 2, HY_CUDA_ROW_THREADS / width>(sum, lane);
	return __double2float_rn(sum[0]);
}

/*
 * hy_single_distance: compute the distance between the thread's row and query number `which`.  The
 * eight threads of a row pass the same address.  The distance is undefined if the warp has no rows
 * (`there` is false).  If dims fit into one segment, `query` must already hold the query.
 * Otherwise this function loads it, and all threads of the block must call the function.
 */
template <class Kind>
__device__ __forceinline__ double
hy_single_distance(const HyCudaRows &args, int which, bool there, const typename Kind::Element *row,
                   float (*query)[HY_CUDA_SEGMENT])
{
	typedef typename Kind::Element Element;
	static_assert(Kind::queries == 1 && Kind::rows * HY_CUDA_ROW_THREADS == HY_CUDA_WARP,
	              "a thread has one row");
	const int lane = threadIdx.x % HY_CUDA_WARP;
	const uint64_t places = (uintptr_t) args.targets | (uint64_t) args.stride |
	                        (uint64_t) args.dims * sizeof(typename Kind::Element);
	const bool wide = places % sizeof(HyRead) == 0;
	const bool flushed = args.dims > HY_CUDA_SEGMENT;
	float lanes[HY_CUDA_ROW_LANES] = {};
	float norms[HY_CUDA_ROW_LANES] = {};
	/* volatile keeps the twins in memory, because the registers are needed for reads */
	volatile double twins[HY_CUDA_ROW_LANES];
	volatile double norm_twins[HY_CUDA_ROW_LANES];
	float norm = 0.0f;

	if (flushed)
	{
#pragma unroll
		for (int i = 0; i < HY_CUDA_ROW_LANES; i++)
		{
			twins[i] = 0.0;
			if (Kind::metric == HY_METRIC_COSINE)
				norm_twins[i] = 0.0;
		}
	}
#pragma unroll 1
	for (int start = 0; start < args.dims; start += HY_CUDA_SEGMENT)
	{
		const int left = args.dims - start;
		const int length = left < HY_CUDA_SEGMENT ? left : HY_CUDA_SEGMENT;

		if (flushed)
		{
			__syncthreads();
			hy_load_queries<Kind>(args, which, start, query);
			__syncthreads();
		}
		if (there)
			hy_add_segment<Kind>(row + start, query[0], length, wide, lanes, norms);
		if (!flushed)
			break;
		hy_flush_row(lanes, twins);
		if (Kind::metric == HY_METRIC_COSINE)
			hy_flush_row(norms, norm_twins);
	}

	const float sum = hy_fold_row<Element>(lanes, twins, flushed, lane);

	if (Kind::metric == HY_METRIC_COSINE)
		norm = hy_fold_row<Element>(norms, norm_twins, flushed, lane);
	return hy_distance_of<Kind>(args, which, sum, norm);
}

/*
 * hy_row_distance: compute the distances between the block's queries and the warp's rows, which
 * begin with first_row.  Some of these rows may not exist.  A thread gets the distance of pair
 * number lane * pairs / 32.  This pair is row number pair / queries and query number pair %
 * queries.
 */
template <class Kind>
__device__ __forceinline__ double
hy_row_distance(const HyCudaRows &args, int first_query, int64_t first_row,
                float (*query)[HY_CUDA_SEGMENT])
{
	if constexpr (Kind::queries == 1)
	{
		const int64_t row = first_row + threadIdx.x % HY_CUDA_WARP / HY_CUDA_ROW_THREADS;

		return hy_single_distance<Kind>(args, first_query, first_row < args.rows,
		                                hy_row<Kind>(args, row < args.rows ? row : args.rows - 1),
		                                query);
	}
	else
	{
		float norm = 0.0f;
		const float sum = hy_row_sums<Kind>(args, HyInOrder{first_query, args.query_count},
		                                    first_row, query, &norm);

		return hy_distance_of<Kind>(args, first_query, sum, norm);
	}
}

#endif
