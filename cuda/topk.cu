/*
 * topk.cu
 *		Device code: the kernels of topk_kernel.cuh for every metric and element type.
 */
#include "cuda/topk_kernel.cuh"
#include "cuda/topk_launch.cuh"
