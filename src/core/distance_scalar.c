/*
 * distance_scalar.c
 *		The canonical reduction in plain C, for every machine.
 */
#include "core/distance_levels.h"

#include <math.h>
#include <string.h>

#include "core/fma.h"

#define HY_LEVEL HY_SIMD_SCALAR
#define HY_TABLE hy_kernels_scalar
#define HY_TARGET
#define HY_UNROLL
#define HY_WIDTH 1
#define HY_WIDE_WIDTH 1
#define HY_PAIR_STEPS 1

#define vec_sub_apart vec_sub

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

/* The loops never call the next two functions: a register of one lane is never partly filled. */
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

static inline void
vec_store_half(uint16_t *p, float v)
{
	*p = hy_float_to_half(v);
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

static inline float
vec_fma(float a, float b, float c)
{
	return hy_fma(a, b, c);
}

static inline double
wide_from(const float *p)
{
	return *p;
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
