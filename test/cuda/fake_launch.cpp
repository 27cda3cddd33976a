/*
 * fake_launch.cpp
 *		The plug-in's own kernels and launches, compiled for fibers instead of a device.
 */
#include "simt.h"

#include "fake_launch.h"

extern "C"
{
#include "core/distance.h"
}

static double hy_elements(const HyCudaDistance &args);
static double hy_elements(const float *queries, int32_t count, int32_t dims, float *norms);

#define HY_CUDA_LAUNCH(kernel, grid, threads, stream, ...)                                         \
	hy_fake_queue_kernel(stream, hy_elements(__VA_ARGS__),                                         \
						 [=]() { return hy_simt::launch(grid, threads, [&]() { kernel(__VA_ARGS__); }); })

#include "cuda/launch.h"
#include "cuda/distance_launch.cuh"

static double
hy_elements(const HyCudaDistance &args)
{
	return (double) args.rows * args.query_count * args.dims;
}

static double
hy_elements(const float *, int32_t count, int32_t dims, float *)
{
	return (double) count * dims;
}
