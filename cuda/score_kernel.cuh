/*
 * score_kernel.cuh
 *		The kernels of the operation 'score_codes'.  A bound is compared with the k best so far as
 *		soon as it is computed, so no matrix of bounds is stored.
 *
 * A warp processes a block of 32 rows and four queries.  The lookup tables of the four queries are
 * interleaved in shared memory: a word has the same entry of all four, so one lookup serves four
 * queries.  The 16 entries of two neighboring tables fill the 32 banks, so no two threads of a warp
 * use the same bank.  Half of the warp uses the even tables, and half the odd tables.  The byte of
 * the codes that a thread reads belongs to two rows.  So a thread has parts of the sums of two
 * rows.  At the end, it gives one part to another thread, and receives the missing part of its own
 * row's sum.  Sums are integers, so the order of addition does not matter.
 *
 * A row that precedes a query's k-th best row is added to the query's list.  Then a second kernel
 * merges each list into the k best.  The rows of a piece are processed in steps.  A step has at
 * most as many rows as a list can hold, so no list can overflow.  After n rows, only about one row
 * in n / k is added.
 */
#ifndef HY_CUDA_SCORE_KERNEL_CUH
#define HY_CUDA_SCORE_KERNEL_CUH

#include <float.h>

#include "cuda/row_sums.cuh"
#include "cuda/score_launch.h"

#define HY_CUDA_SCORE_QUERIES 4  /* queries per block of threads */
#define HY_CUDA_SCORE_TABLES 512 /* tables in shared memory; 16 bits hold their sum */
#define HY_CUDA_SCORE_SORTED 2048

/* HyFour: four words that are read at once. */
struct alignas(16) HyFour
{
	uint32_t word[4];
};

/* hy_score_key: return the key of a row (score_launch.h). */
__device__ __forceinline__ unsigned long long
hy_score_key(float lower, uint32_t row)
{
	uint32_t bits = __float_as_uint(lower);
	uint32_t zero = 0;

	if (lower != lower)
		bits = 0xff800000u; /* a NaN is treated as -infinity, so that its row is kept */
	else if (bits == 0x80000000u)
	{
		bits = 0;
		zero = 1;
	}
	bits = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
	return (unsigned long long) bits << 32 | (row << 1 | zero);
}

/*
 * hy_score_reach_kernel: compute the terms of the bounds for each list and query, as core/codes.c
 * does.  Also empties the queries' lists of found keys.
 */
__global__ void
__launch_bounds__(HY_CUDA_THREADS) hy_score_reach_kernel(const HyCudaScore args, int64_t pairs)
{
	const int64_t at = (int64_t) blockIdx.x * HY_CUDA_THREADS + threadIdx.x;

	for (int64_t i = at; i < args.query_count; i += (int64_t) gridDim.x * HY_CUDA_THREADS)
		args.counts[i] = 0;
	for (int64_t i = at; i < pairs; i += (int64_t) gridDim.x * HY_CUDA_THREADS)
	{
		HyCudaScoreReach *reach = &args.reach[i];
		const float loss = args.query[i % args.query_count].slack;
		const double rows = reach->reach;
		const double tables = __dmul_rn(HY_CODE_TYPICAL_RATIO, (double) loss);
		const double both = __dsqrt_rn(__dadd_rn(__dmul_rn(rows, rows), __dmul_rn(tables, tables)));

		reach->slack = __fmul_rn(args.eps, loss);
		reach->margin = __fmul_rn(args.eps, reach->reach);
		if (both > 0.0 && both <= DBL_MAX)
		{
			const double by = __ddiv_rn((double) args.eps, both);

			reach->margin = __double2float_rn(__dmul_rn(__dmul_rn(by, rows), rows));
			reach->slack = __double2float_rn(__dmul_rn(__dmul_rn(by, tables), (double) loss));
		}
	}
}

/*
 * hy_score_load: load tables first .. first + count - 1 of the block's queries into shared memory,
 * interleaved.
 */
__device__ __forceinline__ void
hy_score_load(const HyCudaScore &args, int first_query, int first, int count, HyFour *entries)
{
	const int64_t words = args.padded; /* words of the tables of one query */

	/*
	 * a word has four entries of one query; transpose four such words, so that each word has one
	 * entry of each query
	 */
	for (int i = threadIdx.x; i < count * 4; i += HY_CUDA_THREADS)
	{
		HyFour turned = {};

#pragma unroll
		for (int q = 0; q < HY_CUDA_SCORE_QUERIES; q++)
		{
			uint32_t word = 0;

			if (first_query + q < args.query_count)
				word = ((const uint32_t *) args.tables)[(first_query + q) * words + first * 4 + i];
#pragma unroll
			for (int e = 0; e < 4; e++)
				turned.word[e] |= (word >> (8 * e) & 255) << (8 * q);
		}
		entries[i] = turned;
	}
}

/*
 * HyScoreSums: the sums of one row for four queries, as pairs of 16 bits: `even` for queries 0 and
 * 2, `odd` for queries 1 and 3.
 */
struct HyScoreSums
{
	uint32_t even;
	uint32_t odd;
};

/*
 * hy_score_add: add two words of four entries to the sums.  Entries have seven bits, so the sum of
 * two fits into a byte.
 */
__device__ __forceinline__ void
hy_score_add(HyScoreSums *sums, uint32_t a, uint32_t b)
{
	const uint32_t both = a + b;

	sums->even += both & 0x00ff00ffu;
	sums->odd += both >> 8 & 0x00ff00ffu;
}

/*
 * hy_score_sums: add the entries of `count` tables, a multiple of 16, to the sums of the thread's
 * row.  This is row number `lane` of the block.  All threads of the warp must call this. `staged`
 * belongs to the warp.
 */
__device__ __forceinline__ void
hy_score_sums(const HyFour *codes, int count, const uint32_t *entries, HyFour *staged, int lane,
              uint32_t *sums)
{
	const int half = lane / 16;
	const uint8_t *byte = (const uint8_t *) staged + lane % 16;
	HyScoreSums low = {};
	HyScoreSums high = {};

	for (int start = 0; start < count; start += HY_CUDA_WARP)
	{
		const int left = count - start < HY_CUDA_WARP ? count - start : HY_CUDA_WARP;
		HyFour mine = {};

		if (lane < left)
			mine = codes[start + lane];
		__syncwarp();
		staged[lane] = mine;
		__syncwarp();
#pragma unroll 4
		for (int t = half; t < left; t += 4)
		{
			const uint32_t *table = entries + (start + t) * 16;
			const uint32_t a = byte[t * 16];
			const uint32_t b = byte[(t + 2) * 16];

			hy_score_add(&low, table[a & 15], table[2 * 16 + (b & 15)]);
			hy_score_add(&high, table[a >> 4], table[2 * 16 + (b >> 4)]);
		}
	}

	/* the lower half of the warp keeps rows 0 .. 15, the upper half keeps rows 16 .. 31 */
	const uint32_t even = __shfl_xor_sync(HY_CUDA_ALL_THREADS, half ? low.even : high.even, 16) +
	                      (half ? high.even : low.even);
	const uint32_t odd = __shfl_xor_sync(HY_CUDA_ALL_THREADS, half ? low.odd : high.odd, 16) +
	                     (half ? high.odd : low.odd);

	sums[0] += even & 0xffff;
	sums[1] += odd & 0xffff;
	sums[2] += even >> 16;
	sums[3] += odd >> 16;
}

/*
 * hy_score_offer: compute the row's bound for a query.  If the row precedes `worst`, the key of the
 * k-th best row so far, append it to the query's list.
 */
__device__ __forceinline__ void
hy_score_offer(const HyCudaScore &args, int query, int block, int lane, uint32_t sum,
               unsigned long long worst)
{
	const HyCodeFactors *factors = &args.factors[block];
	const HyCudaScoreQuery known = args.query[query];
	const HyCudaScoreReach reach =
		args.reach[(int64_t) args.list[block] * args.query_count + query];
	const float rescale = factors->rescale[lane];
	const float bracket = __fadd_rn(__fmul_rn(known.scale, (float) (int) sum), known.offset);
	const float estimate =
		__fadd_rn(__fadd_rn(factors->add[lane], reach.base), __fmul_rn(rescale, bracket));
	const float lower = __fsub_rn(__fadd_rn(estimate, __fmul_rn(rescale, reach.slack)),
	                              __fmul_rn(factors->error[lane], reach.margin));
	const unsigned long long key =
		hy_score_key(lower, args.first_row + (uint32_t) block * HY_CODE_ROWS + lane);

	if (key < worst)
		args.found[(int64_t) query * args.room + atomicAdd(&args.counts[query], 1u)] = key;
}

/*
 * hy_score_kernel: score blocks first .. first + blocks - 1 of the piece for the queries of batch
 * blockIdx.y.
 */
__global__ void
__launch_bounds__(HY_CUDA_THREADS, 4) hy_score_kernel(const HyCudaScore args, int first, int blocks)
{
	__shared__ HyFour entries[HY_CUDA_SCORE_TABLES * 4];
	__shared__ HyFour staged[HY_CUDA_WARPS][HY_CUDA_WARP];
	__shared__ unsigned long long worst[HY_CUDA_SCORE_QUERIES];
	const int lane = threadIdx.x % HY_CUDA_WARP;
	const int warp = threadIdx.x / HY_CUDA_WARP;
	const int first_query = blockIdx.y * HY_CUDA_SCORE_QUERIES;
	const int tables = args.padded / 4;

	if (threadIdx.x < HY_CUDA_SCORE_QUERIES)
	{
		const int64_t query = first_query + threadIdx.x;

		/* no row precedes the `worst` of a query that does not exist */
		worst[threadIdx.x] = query < args.query_count ? args.best[query * args.k + args.k - 1] : 0;
	}
	if (tables <= HY_CUDA_SCORE_TABLES)
		hy_score_load(args, first_query, 0, tables, entries);
	__syncthreads();

	/*
	 * all warps of the block must run the same number of iterations, because all of them must reach
	 * the barriers
	 */
	for (int turn = blockIdx.x * HY_CUDA_WARPS; turn < blocks; turn += gridDim.x * HY_CUDA_WARPS)
	{
		const bool there = turn + warp < blocks;
		const int block = first + turn + warp;
		const HyFour *codes = (const HyFour *) args.codes + (int64_t) block * tables;
		uint32_t sums[HY_CUDA_SCORE_QUERIES] = {};

		for (int start = 0; start < tables; start += HY_CUDA_SCORE_TABLES)
		{
			const int left = tables - start;
			const int count = left < HY_CUDA_SCORE_TABLES ? left : HY_CUDA_SCORE_TABLES;

			if (tables > HY_CUDA_SCORE_TABLES)
			{
				__syncthreads();
				hy_score_load(args, first_query, start, count, entries);
				__syncthreads();
			}
			if (there)
				hy_score_sums(codes + start, count, (const uint32_t *) entries, staged[warp], lane,
				              sums);
		}
		if (!there || (args.live[block] >> lane & 1) == 0)
			continue;
#pragma unroll
		for (int q = 0; q < HY_CUDA_SCORE_QUERIES; q++)
		{
			if (first_query + q < args.query_count)
				hy_score_offer(args, first_query + q, block, lane, sums[q], worst[q]);
		}
	}
}

/*
 * hy_score_sort: sort `size` keys in ascending order. `size` is a power of two.  All threads of the
 * block must call this.
 */
__device__ __forceinline__ void
hy_score_sort(unsigned long long *keys, int size)
{
	for (int width = 2; width <= size; width *= 2)
	{
		for (int step = width / 2; step > 0; step /= 2)
		{
			for (int i = threadIdx.x; i < size / 2; i += HY_CUDA_THREADS)
			{
				const int low = i / step * step * 2 + i % step;
				const unsigned long long a = keys[low];
				const unsigned long long b = keys[low + step];

				if ((a > b) == ((low & width) == 0))
				{
					keys[low] = b;
					keys[low + step] = a;
				}
			}
			__syncthreads();
		}
	}
}

/*
 * hy_score_merge_kernel: merge the list of query blockIdx.x into the query's k best, and empty the
 * list.
 */
__global__ void
__launch_bounds__(HY_CUDA_THREADS) hy_score_merge_kernel(const HyCudaScore args)
{
	__shared__ unsigned long long keys[HY_CUDA_SCORE_SORTED];
	__shared__ int count;
	const int64_t query = blockIdx.x;
	const int found = (int) args.counts[query];
	unsigned long long *best = args.best + query * args.k;
	const unsigned long long *list = args.found + query * args.room;
	const int part = HY_CUDA_SCORE_SORTED - args.k;

	if (found == 0)
		return;
	for (int i = threadIdx.x; i < args.k; i += HY_CUDA_THREADS)
		keys[i] = best[i];
	for (int start = 0; start < found; start += part)
	{
		const int end = found - start < part ? found : start + part;
		int size = 2;

		if (threadIdx.x == 0)
			count = args.k;
		__syncthreads();
		/* the k-th best may be better now than when the key was added to the list */
		for (int i = start + threadIdx.x; i < end; i += HY_CUDA_THREADS)
		{
			const unsigned long long candidate = list[i];

			if (candidate < keys[args.k - 1])
				keys[atomicAdd(&count, 1)] = candidate;
		}
		__syncthreads();
		while (size < count)
			size *= 2;
		for (int i = count + threadIdx.x; i < size; i += HY_CUDA_THREADS)
			keys[i] = HY_CUDA_SCORE_NONE;
		__syncthreads();
		if (count > args.k)
			hy_score_sort(keys, size);
		/* no thread may reset the count before all threads have read it */
		__syncthreads();
	}
	for (int i = threadIdx.x; i < args.k; i += HY_CUDA_THREADS)
		best[i] = keys[i];
	if (threadIdx.x == 0)
		args.counts[query] = 0;
}

#endif
