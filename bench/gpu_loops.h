/*
 * gpu_loops.h
 *		Loops that do one thing, as fast as the device can: products of the matrix unit, reading.
 */
#ifndef HY_BENCH_GPU_LOOPS_H
#define HY_BENCH_GPU_LOOPS_H

#include <stddef.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C"
{
#endif

	/*
 * hy_bench_multiply: queues products of bfloat16, as the filter has them, of as many operations as
 * *operations then says (a multiplication and an addition are two); result: room for a float.
 */
	extern cudaError_t hy_bench_multiply(int multiprocessors, int rounds, float *result,
	                                     double *operations, cudaStream_t stream);

	/*
 * hy_bench_read: queues a kernel that reads so many bytes of the device's memory once; from and bytes
 * are multiples of 16; result: room for a word.
 */
	extern cudaError_t hy_bench_read(int multiprocessors, const void *from, size_t bytes,
	                                 unsigned *result, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
