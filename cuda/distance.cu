/*
 * distance.cu
 *		Device code: the kernels of distance_kernel.cuh for every metric and element type.
 */
#include "cuda/distance_kernel.cuh"
#include "cuda/distance_launch.cuh"
