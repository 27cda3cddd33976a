/*
 * filter.cu
 *		Device code: the kernels of 'topk' and 'assign' that round vectors, multiply them and
 *		settle candidates.
 */
#include "cuda/assign_filter_launch.cuh"
#include "cuda/filter_launch.cuh"
