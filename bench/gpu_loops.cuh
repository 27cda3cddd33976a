/*
 * gpu_loops.cuh
 *		The loops of gpu_loops.h.
 *
 * HY_CUDA_LAUNCH and uint4 are the fake device's where this is compiled for the host.
 */
#ifndef HY_BENCH_GPU_LOOPS_CUH
#define HY_BENCH_GPU_LOOPS_CUH

#include "bench/gpu_loops.h"

#include "cuda/matrix.cuh"

#ifndef HY_CUDA_LAUNCH
#define HY_CUDA_LAUNCH(kernel, grid, threads, stream, ...)                                         \
	(kernel<<<grid, threads, 0, stream>>>(__VA_ARGS__), cudaGetLastError())
#endif

#define HY_BENCH_SUMS 8      /* of a warp, of which each waits for itself alone */
#define HY_BENCH_THREADS 256 /* of a block */
#define HY_BENCH_BLOCKS 4    /* of a multiprocessor: 32 warps */
#define HY_BENCH_READS 4     /* of 16 bytes, which a thread has on their way at once */

__global__ void
__launch_bounds__(HY_BENCH_THREADS, HY_BENCH_BLOCKS)
	hy_bench_multiply_kernel(int rounds, float *result)
{
	const uint32_t one = 0x3f803f80u + threadIdx.x; /* two of about 1 */
	const uint32_t a[4] = {one, one, one, one};
	const uint32_t b[2] = {one, one};
	float sum[HY_BENCH_SUMS][4] = {};
	float all = 0;

	for (int i = 0; i < rounds; i++)
	{
#pragma unroll
		for (int j = 0; j < HY_BENCH_SUMS; j++)
			hy_multiply(sum[j], a, b);
	}
#pragma unroll
	for (int j = 0; j < HY_BENCH_SUMS; j++)
		all += sum[j][0] + sum[j][1] + sum[j][2] + sum[j][3];
	/* nobody is to find out that the sums are not needed */
	if (all == -1)
		*result = all;
}

__global__ void
__launch_bounds__(HY_BENCH_THREADS)
	hy_bench_read_kernel(const uint4 *from, size_t count, unsigned *result)
{
	const size_t all = (size_t) gridDim.x * HY_BENCH_THREADS;
	size_t i = (size_t) blockIdx.x * HY_BENCH_THREADS + threadIdx.x;
	unsigned sum = 0;

	for (; i + (HY_BENCH_READS - 1) * all < count; i += HY_BENCH_READS * all)
	{
		uint4 words[HY_BENCH_READS];

#pragma unroll
		for (int j = 0; j < HY_BENCH_READS; j++)
			words[j] = from[i + j * all];
#pragma unroll
		for (int j = 0; j < HY_BENCH_READS; j++)
			sum += words[j].x + words[j].y + words[j].z + words[j].w;
	}
	for (; i < count; i += all)
	{
		uint4 words = from[i];

		sum += words.x + words.y + words.z + words.w;
	}
	if (sum == 0x9e3779b9u)
		*result = sum;
}

extern "C" cudaError_t
hy_bench_multiply(int multiprocessors, int rounds, float *result, double *operations,
                  cudaStream_t stream)
{
	dim3 grid;

	grid.x = (unsigned) (multiprocessors * HY_BENCH_BLOCKS);
	*operations =
		2.0 * 16 * 8 * 16 * HY_BENCH_SUMS * rounds * (double) grid.x * (HY_BENCH_THREADS / 32);
	return HY_CUDA_LAUNCH(hy_bench_multiply_kernel, grid, HY_BENCH_THREADS, stream, rounds, result);
}

extern "C" cudaError_t
hy_bench_read(int multiprocessors, const void *from, size_t bytes, unsigned *result,
              cudaStream_t stream)
{
	dim3 grid;

	grid.x = (unsigned) (multiprocessors * 8);
	return HY_CUDA_LAUNCH(hy_bench_read_kernel, grid, HY_BENCH_THREADS, stream,
	                      (const uint4 *) from, bytes / sizeof(uint4), result);
}

#endif
