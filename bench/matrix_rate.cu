/*
 * matrix_rate.cu
 *		The loop of matrix_rate.h: eight sums a warp, of which each waits for itself alone.
 */
#include "bench/matrix_rate.h"

#include "cuda/matrix.cuh"

#define SUMS 8
#define THREADS 256
#define BLOCKS 4 /* of a multiprocessor: 32 warps */

__global__ void
__launch_bounds__(THREADS, BLOCKS) hy_bench_multiply_kernel(int rounds, float *result)
{
	const uint32_t one = 0x3f803f80u + threadIdx.x; /* two of about 1 */
	const uint32_t a[4] = {one, one, one, one};
	const uint32_t b[2] = {one, one};
	float sum[SUMS][4] = {};
	float all = 0;

	for (int i = 0; i < rounds; i++)
	{
#pragma unroll
		for (int j = 0; j < SUMS; j++)
			hy_multiply(sum[j], a, b);
	}
#pragma unroll
	for (int j = 0; j < SUMS; j++)
		all += sum[j][0] + sum[j][1] + sum[j][2] + sum[j][3];
	/* nobody is to find out that the sums are not needed */
	if (all == -1)
		*result = all;
}

extern "C" cudaError_t
hy_bench_multiply(int multiprocessors, int rounds, float *result, double *operations,
                  cudaStream_t stream)
{
	const int blocks = multiprocessors * BLOCKS;

	*operations = 2.0 * 16 * 8 * 16 * SUMS * rounds * blocks * (THREADS / 32);
	hy_bench_multiply_kernel<<<blocks, THREADS, 0, stream>>>(rounds, result);
	return cudaGetLastError();
}
