/*
 * filter.cu
 *		Device code for the filters of 'topk' and 'assign': the kernels that round vectors, multiply
 *		them and settle candidates.
 */
#include "cuda/assign_filter_launch.cuh"
#include "cuda/filter_launch.cuh"
