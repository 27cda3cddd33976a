/*
 * matrix_rate.h
 *		What a device's matrix unit does in a loop that reads no memory.
 */
#ifndef HY_BENCH_MATRIX_RATE_H
#define HY_BENCH_MATRIX_RATE_H

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

#ifdef __cplusplus
}
#endif

#endif
