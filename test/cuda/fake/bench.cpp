/*
 * bench.cpp
 *		Compiles the bench's own kernels for fibers instead of a device.
 */
#include "simt.h"

#include "fake_launch.h"

/* Their time is nobody's. */
#define HY_CUDA_LAUNCH(kernel, grid, threads, stream, ...)                                         \
	fake_launch([](auto... copies) { kernel(copies...); }, grid, threads, stream, __VA_ARGS__)

template <class Kernel, class... Arguments>
static cudaError_t
fake_launch(Kernel kernel, dim3 grid, int threads, cudaStream_t stream, Arguments... copies)
{
	return hy_fake_queue_kernel(
		NULL, stream, 1,
		[=]() { return hy_simt::launch(grid, threads, [&]() { kernel(copies...); }); });
}

#include "bench/gpu_loops.cuh"
