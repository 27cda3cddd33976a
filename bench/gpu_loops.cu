/*
 * gpu_loops.cu
 *		What nvcc compiles of the bench.
 */
#include "bench/gpu_loops.cuh"
