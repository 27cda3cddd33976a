/*
 * filter.cu
 *		The device's code: the kernels that round, multiply and settle.
 */
#include "cuda/filter_launch.cuh"
