/*
 * score.cu
 *		Device code: the kernels of score_kernel.cuh.
 */
#include "cuda/score_kernel.cuh"
#include "cuda/score_launch.cuh"
