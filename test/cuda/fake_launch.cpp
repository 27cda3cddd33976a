/*
 * fake_launch.cpp
 *		Compiles the plug-in's own kernels and launches for fibers instead of a device.
 */
#include "simt.h"

#include "fake_launch.h"

extern "C"
{
#include "core/distance.h"
}

#include "cuda/assign_filter_launch.h"
#include "cuda/assign_launch.h"
#include "cuda/filter_launch.h"
#include "cuda/launch.h"
#include "cuda/score_launch.h"
#include "cuda/spread_launch.h"

static double hy_elements(const HyCudaDistance &args);
static double hy_elements(const HyCudaTopK &args);
static double hy_elements(const HyCudaTopK &args, int list_count);
static double hy_elements(const HyCudaAssign &args, int64_t share);
static double
hy_elements(const HyCudaAssignGroups &groups, int row_count, unsigned long long *found);
static double hy_elements(const HyCudaAssignGroups &groups, int row_count);
static double hy_elements(const HyCudaAssignGroups &groups);
static double hy_elements(const HyCudaScore &args);
static double hy_elements(const HyCudaScore &args, int64_t pairs);
static double hy_elements(const HyCudaScore &args, int first, int blocks);
static double hy_elements(const HyCudaSpreadState &state, const HyCudaSpreadStep &step);
static double hy_elements(const float *queries, int32_t count, int32_t dims, float *norms);
static double hy_elements(const HyCudaRows &rows, float *middle);
static double hy_elements(const HyCudaRound &args);
static double hy_elements(const HyCudaFiltered &args);
static double hy_elements(const HyCudaFiltered &args, int each);
static double hy_elements(const HyCudaAssignFiltered &args);
static double hy_elements(const HyCudaAssignFiltered &args, int each);

/* makes blocks process several tiles even for small shapes */
#define HY_CUDA_MANY_BLOCKS 2

/* Arguments are copied when the kernel is queued, as CUDA does. */
#define HY_CUDA_START(kernel, grid, threads, bytes, stream, ...)                                   \
	hy_fake_launch([](auto... copies) { kernel(copies...); }, (const void *) &kernel, grid,        \
	               threads, bytes, stream, __VA_ARGS__)

template <class Kernel, class... Arguments>
static cudaError_t
hy_fake_launch(Kernel kernel, const void *address, dim3 grid, int threads, size_t shared,
               cudaStream_t stream, Arguments... copies)
{
	const cudaError_t error = hy_fake_launches(address, grid.x, grid.y, grid.z, threads, shared);

	static_assert((sizeof(Arguments) + ... + 0) <= 4096, "more arguments than a launch takes");
	if (error != cudaSuccess)
		return error;
	return hy_fake_queue_kernel(address, stream, hy_elements(copies...),
	                            [=]()
	                            {
									return hy_simt::launch(
										grid, threads, [&]() { kernel(copies...); }, shared);
								});
}

#include "cuda/distance_launch.cuh"
#include "cuda/filter_launch.cuh"
#include "cuda/topk_launch.cuh"
#include "cuda/spread_launch.cuh"
#include "cuda/assign_launch.cuh"
#include "cuda/assign_filter_launch.cuh"
#include "cuda/score_launch.cuh"

static double
hy_elements(const HyCudaDistance &args)
{
	return (double) args.rows.rows * args.rows.query_count * args.rows.dims;
}

static double
hy_elements(const HyCudaTopK &args)
{
	return (double) args.rows.rows * args.rows.query_count * args.rows.dims;
}

static double
hy_elements(const HyCudaTopK &args, int list_count)
{
	return (double) args.rows.query_count * args.k * list_count;
}

static double
hy_elements(const float *, int32_t count, int32_t dims, float *)
{
	return (double) count * dims;
}

static double
hy_elements(const HyCudaSpreadState &, const HyCudaSpreadStep &step)
{
	return (double) step.work;
}

static double
hy_elements(const HyCudaAssign &args, int64_t)
{
	const HyCudaAssignGroups &groups = args.groups;
	double met = args.end - args.first;

	if (groups.groups > 0)
		met = (double) groups.largest * groups.probes;
	return (double) args.row_count * met * args.dims;
}

static double
hy_elements(const HyCudaAssignGroups &groups, int row_count, unsigned long long *)
{
	return (double) row_count * (1 + groups.probes) + groups.groups;
}

static double
hy_elements(const HyCudaAssignGroups &groups, int row_count)
{
	return (double) row_count * groups.probes;
}

static double
hy_elements(const HyCudaAssignGroups &groups)
{
	return groups.groups;
}

static double
hy_elements(const HyCudaScore &args)
{
	return args.query_count;
}

static double
hy_elements(const HyCudaScore &, int64_t pairs)
{
	return (double) pairs;
}

static double
hy_elements(const HyCudaScore &args, int, int blocks)
{
	return (double) blocks * HY_CODE_ROWS * args.query_count * args.padded;
}

static double
hy_elements(const HyCudaRows &rows, float *)
{
	return (double) rows.dims * HY_CUDA_MIDDLE_ROWS;
}

static double
hy_elements(const HyCudaRound &args)
{
	return (double) args.room * args.padded;
}

/* The products take less time than other kernels. */
static double
hy_elements(const HyCudaFiltered &args)
{
	return (double) args.rows.rows * args.rows.query_count * args.padded / 32;
}

static double
hy_elements(const HyCudaFiltered &args, int)
{
	return hy_elements(args);
}

static double
hy_elements(const HyCudaAssignFiltered &args, int)
{
	return hy_elements(args);
}

static double
hy_elements(const HyCudaAssignFiltered &args)
{
	const int rows = (args.assign.row_count + HY_CUDA_TILE - 1) / HY_CUDA_TILE * HY_CUDA_TILE;

	return (double) rows * (args.assign.end - args.assign.first) * args.padded / 32;
}
