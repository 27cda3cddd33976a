/*
 * spread.cu
 *		Device code: the kernels of spread_kernel.cuh for every width and way to combine.
 */
#include "cuda/spread_kernel.cuh"
#include "cuda/spread_launch.cuh"
