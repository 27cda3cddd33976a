/*
 * distance_scalar.c
 *		The canonical reduction in plain C, for every machine.
 *
 * Where the compiler has no fused multiply-add to use, it is made of double arithmetic: the
 * product of two floats is exact in double, and a sum rounded to odd keeps what the second
 * rounding, to float, must know (S. Boldo and G. Melquiond, "Emulation of a FMA and correctly
 * rounded sums: proved algorithms using rounding to odd", 2008).
 */
#include "core/distance_levels.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "the canonical reduction needs arithmetic without excess precision"
#endif

#define HY_LEVEL HY_SIMD_SCALAR
#define HY_TABLE hy_kernels_scalar
#define HY_TARGET
#define HY_UNROLL
#define HY_WIDTH 1
#define HY_WIDE_WIDTH 1
#define HY_PAIR_VECS 64
#define HY_NORM_APART 0

#define vec_sub_widened vec_sub

typedef float HyVec;
typedef double HyWide;

static inline float
vec_zero(void)
{
	return 0.0f;
}

static inline float
vec_load(const float *p)
{
	return *p;
}

static inline float
vec_load_half(const uint16_t *p)
{
	return hy_half_to_float(*p);
}

/* A register of one lane is never partly filled. */
static inline float
vec_load_part(const float *p, int n)
{
	(void) n;
	return *p;
}

static inline float
vec_load_half_part(const uint16_t *p, int n)
{
	(void) n;
	return hy_half_to_float(*p);
}

static inline void
vec_store(float *p, float v)
{
	*p = v;
}

static inline float
vec_add(float a, float b)
{
	return a + b;
}

static inline float
vec_sub(float a, float b)
{
	return a - b;
}

static inline float
vec_abs(float a)
{
	return fabsf(a);
}

#if defined(__FMA__) || defined(__aarch64__)

static inline float
vec_fma(float a, float b, float c)
{
	return __builtin_fmaf(a, b, c);
}

#else

static inline float
vec_fma(float a, float b, float c)
{
	double product = (double) a * (double) b;
	double addend = c;
	double sum = product + addend;
	double shadow = sum - product;
	double error = (product - (sum - shadow)) + (addend - shadow);
	uint64_t sum_bits;
	uint64_t error_bits;
	uint64_t inexact;
	uint64_t away;

	memcpy(&sum_bits, &sum, sizeof(sum));
	memcpy(&error_bits, &error, sizeof(error));

	/* False for the NaN that an infinite sum leaves. */
	inexact = fabs(error) > 0.0;
	away = 1 - 2 * ((sum_bits ^ error_bits) >> 63);

	/* An inexact even sum moves to its odd neighbour on the side of the exact value. */
	sum_bits += away * (inexact & ~sum_bits & 1);
	memcpy(&sum, &sum_bits, sizeof(sum));
	return (float) sum;
}

#endif

static inline double
wide_of(float v, int i)
{
	(void) i;
	return v;
}

static inline double
wide_load(const double *p)
{
	return *p;
}

static inline void
wide_store(double *p, double w)
{
	*p = w;
}

static inline double
wide_add(double a, double b)
{
	return a + b;
}

static inline double
wide_fold(double w)
{
	return w;
}

#include "core/distance_loops.h"
