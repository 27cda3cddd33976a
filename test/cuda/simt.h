/*
 * simt.h
 *		A warp of 32 on the host: enough of CUDA to run the plug-in's kernels without a device.
 *
 * Every thread of a block is a fiber with its own stack.  A shuffle waits for the 32 threads of its
 * warp, __syncthreads for the block; in between the fibers run one at a time in an order drawn at
 * random, so a missing barrier shows.  What hardware leaves undefined (a shuffle that not all 32
 * threads reach, different shuffles at once, a barrier that some never reach) ends the launch as a
 * fault, which hy_simt::fault() then tells.  Blocks run one after another, so a __shared__ variable
 * is a static one.
 */
#ifndef HY_TEST_SIMT_H
#define HY_TEST_SIMT_H

#include <cmath>
#include <stdint.h>
#include <string.h>

#include <functional>

#define __global__ static
#define __device__ static
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)

struct dim3
{
	unsigned x = 1;
	unsigned y = 1;
	unsigned z = 1;
};

extern dim3 threadIdx;
extern dim3 blockIdx;
extern dim3 gridDim;

namespace hy_simt
{
/* launch: runs body once for every thread of every block; false after a fault. */
extern bool launch(const dim3 &grid, int threads, const std::function<void()> &body);

/* fault: what went wrong since the last call, or NULL; static text. */
extern const char *fault();

/* seed: of the order in which the fibers run. */
extern void seed(uint64_t value);

extern void sync_threads();
extern uint64_t shuffle_xor(unsigned mask, uint64_t bits, int lanes);
} // namespace hy_simt

static inline void
__syncthreads()
{
	hy_simt::sync_threads();
}

static inline double
__shfl_xor_sync(unsigned mask, double value, int lanes)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	bits = hy_simt::shuffle_xor(mask, bits, lanes);
	memcpy(&value, &bits, sizeof(bits));
	return value;
}

static inline unsigned
__shfl_xor_sync(unsigned mask, unsigned value, int lanes)
{
	return (unsigned) hy_simt::shuffle_xor(mask, value, lanes);
}

/* A shuffle that nobody reads: the warp has come. */
static inline void
__syncwarp()
{
	(void) hy_simt::shuffle_xor(0xffffffffu, 0, 0);
}

/* One fiber runs at a time, and gives way in shuffles and barriers only. */
static inline int
atomicAdd(int *at, int value)
{
	int before = *at;

	*at = before + value;
	return before;
}

static inline unsigned
atomicAdd(unsigned *at, unsigned value)
{
	unsigned before = *at;

	*at = before + value;
	return before;
}

static inline unsigned long long
atomicMin(unsigned long long *at, unsigned long long value)
{
	unsigned long long before = *at;

	*at = value < before ? value : before;
	return before;
}

/* The roundings: the host rounds to nearest even, and this is compiled with -ffp-contract=off. */
static inline float
__fmaf_rn(float a, float b, float c)
{
	return fmaf(a, b, c);
}

static inline double
__fma_rn(double a, double b, double c)
{
	return fma(a, b, c);
}

static inline float
__fadd_rn(float a, float b)
{
	return a + b;
}

static inline float
__fsub_rn(float a, float b)
{
	return a - b;
}

static inline float
__fmul_rn(float a, float b)
{
	return a * b;
}

static inline double
__dadd_rn(double a, double b)
{
	return a + b;
}

static inline double
__dsub_rn(double a, double b)
{
	return a - b;
}

static inline double
__dmul_rn(double a, double b)
{
	return a * b;
}

static inline double
__ddiv_rn(double a, double b)
{
	return a / b;
}

static inline double
__dsqrt_rn(double a)
{
	return sqrt(a);
}

static inline float
__double2float_rn(double a)
{
	return (float) a;
}

static inline unsigned
__float_as_uint(float a)
{
	unsigned bits;

	memcpy(&bits, &a, sizeof(bits));
	return bits;
}

static inline double
__longlong_as_double(long long bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

#endif
