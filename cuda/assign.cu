/*
 * assign.cu
 *		Device code: the kernels of assign_kernel.cuh.
 */
#include "cuda/assign_kernel.cuh"
#include "cuda/assign_launch.cuh"
