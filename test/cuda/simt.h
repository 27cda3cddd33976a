/*
 * simt.h
 *		Runs the plug-in's kernels on the host, without a device: the parts of CUDA that they use,
 *		with warps of 32 threads.
 *
 * Every thread of a block is a fiber with its own stack.  A shuffle waits for the 32 threads of its
 * warp, and __syncthreads waits for the block.  In between, the fibers run one at a time in a
 * random order, and some warps of a block advance faster than others.  So a missing barrier shows
 * in the results.  What hardware leaves undefined ends the launch as a fault, which
 * hy_simt::fault() returns: a shuffle that not all 32 threads reach, different shuffles at once, or
 * a barrier that some threads never reach.
 *
 * Blocks run one after another in a random order, so a __shared__ variable can be a static one.
 * The shared memory that a launch requests begins as garbage.  Reading matrices or copying
 * asynchronously beyond its end, or at an unaligned address, is a fault, too.  The data of an
 * asynchronous copy arrives only when the kernel waits for it.
 *
 * The matrix unit multiplies the matrices that the threads of a warp pass in, in one of two ways.
 * It is exact (in fp64), or as inexact as real units were measured to be (hy_simt::cut_off): every
 * addend is truncated at the last place of the largest one, all in the same direction.
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
#define __align__(bytes) __attribute__((aligned(bytes)))

struct dim3
{
	unsigned x = 1;
	unsigned y = 1;
	unsigned z = 1;
};

/* 16 bytes that are read at once, of any type. */
struct __attribute__((aligned(16), may_alias)) uint4
{
	unsigned x, y, z, w;
};

extern dim3 threadIdx;
extern dim3 blockIdx;
extern dim3 gridDim;

namespace hy_simt
{
/*
 * launch: run `body` once for every thread of every block, with `shared` bytes of shared memory.
 * Returns false after a fault.
 */
extern bool
launch(const dim3 &grid, int threads, const std::function<void()> &body, size_t shared = 0);

/* fault: return what went wrong since the last call, as a static text, or NULL. */
extern const char *fault();

/* seed: set the seed of the order in which the fibers run. */
extern void seed(uint64_t value);

extern void sync_threads();
extern bool sync_threads_or(bool value);
extern uint64_t shuffle_xor(unsigned mask, uint64_t bits, int lanes);

/*
 * multiply: compute sum += a b for matrices of 16 x 16 and 16 x 8, in the layout of mma.m16n8k16
 * for bfloat16.
 */
extern void multiply(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);

/* read_wide: return 16 bytes, read at once from an address that must be a multiple of 16. */
extern uint4 read_wide(const void *at);

/* load_matrices: load four matrices of 8 rows by 16 bytes, like ldmatrix. */
extern void load_matrices(uint32_t (&words)[4], const void *row);

/* dynamic_shared: return the shared memory that the launch requested. */
extern void *dynamic_shared();

/* cut_off: set whether the matrix unit truncates, downwards, instead of being exact. */
extern void cut_off(bool cuts);

/* capability: set the compute capability: 75 is 7.5.  A later instruction is a fault. */
extern void capability(int version);

extern void copy_async(void *to, const void *from, size_t bytes);
extern void copies_commit();
extern void copies_wait(size_t prior);
} // namespace hy_simt

static inline void *
hy_dynamic_shared()
{
	return hy_simt::dynamic_shared();
}

/* Hints for a cache to evict a value first: the value is the same. */
template <class T>
static inline T
__ldcs(const T *at)
{
	return *at;
}

template <class T>
static inline void
__stcs(T *at, T value)
{
	*at = value;
}

static inline void
__syncthreads()
{
	hy_simt::sync_threads();
}

static inline int
__syncthreads_or(int value)
{
	return hy_simt::sync_threads_or(value != 0);
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

/* A shuffle whose result nobody reads makes all threads of the warp arrive. */
static inline void
__syncwarp()
{
	(void) hy_simt::shuffle_xor(0xffffffffu, 0, 0);
}

/* What a thread has written is visible to the others at once. */
static inline void
__threadfence()
{
}

static inline void
__pipeline_memcpy_async(void *to, const void *from, size_t bytes)
{
	hy_simt::copy_async(to, from, bytes);
}

static inline void
__pipeline_commit()
{
	hy_simt::copies_commit();
}

static inline void
__pipeline_wait_prior(size_t prior)
{
	hy_simt::copies_wait(prior);
}

/*
 * No atomic instruction is needed, because one fiber runs at a time and switches only in shuffles
 * and barriers.
 */
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

static inline unsigned
atomicInc(unsigned *at, unsigned most)
{
	unsigned before = *at;

	*at = before >= most ? 0 : before + 1;
	return before;
}

static inline unsigned
atomicMin(unsigned *at, unsigned value)
{
	unsigned before = *at;

	*at = value < before ? value : before;
	return before;
}

static inline unsigned long long
atomicMin(unsigned long long *at, unsigned long long value)
{
	unsigned long long before = *at;

	*at = value < before ? value : before;
	return before;
}

/*
 * Rounding to nearest: the host rounds to nearest even, and this is compiled with
 * -ffp-contract=off.
 */
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

/*
 * Directed rounding: round to nearest, then correct the result by the sign of the rounding error,
 * which fp64 arithmetic gives.
 */
static inline float
hy_simt_directed(double sum, double lacks, bool up)
{
	float value = (float) sum;
	bool below = (double) value < sum || ((double) value == sum && lacks > 0);
	bool above = (double) value > sum || ((double) value == sum && lacks < 0);

	if (up && below)
		return nextafterf(value, INFINITY);
	if (!up && above)
		return nextafterf(value, -INFINITY);
	return value;
}

static inline float
__fmaf_ru(float a, float b, float c)
{
	double product = (double) a * b; /* exact */
	double sum = product + c;
	double part = sum - product;

	return hy_simt_directed(sum, (product - (sum - part)) + (c - part), true);
}

static inline float
__double2float_ru(double a)
{
	return hy_simt_directed(a, 0, true);
}

static inline float
__double2float_rd(double a)
{
	return hy_simt_directed(a, 0, false);
}

static inline int
__popc(unsigned bits)
{
	return __builtin_popcount(bits);
}

static inline int
__ffs(int bits)
{
	return __builtin_ffs(bits);
}

static inline unsigned
__float_as_uint(float value)
{
	unsigned bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline float
__uint_as_float(unsigned bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline double
__longlong_as_double(long long bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

#endif
