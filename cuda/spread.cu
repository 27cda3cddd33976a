/*
 * spread.cu
 *		Device code: the kernels of spread_kernel.cuh, for every group width and for sum and
 *		maximum.
 */
#include "cuda/spread_kernel.cuh"
#include "cuda/spread_launch.cuh"
