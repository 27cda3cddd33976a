/*
 * filter.cu
 *		The device's code: the kernels that round, multiply and settle, of 'topk' and of 'assign'.
 */
#include "cuda/assign_filter_launch.cuh"
#include "cuda/filter_launch.cuh"
