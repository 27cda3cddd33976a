/*
 * score.cu
 *		The device's code: the kernels of score_kernel.cuh.
 */
#include "cuda/score_kernel.cuh"
#include "cuda/score_launch.cuh"
