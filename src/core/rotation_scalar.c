/*
 * rotation_scalar.c
 *		The rounds of a rotation in plain C.
 */
#include "core/rotation_levels.h"

#define HY_ROTATE hy_rotate_scalar
#define HY_TARGET
#define HY_REG_FLOATS 1
#if defined(__clang__)
#define HY_UNROLL _Pragma("clang loop unroll(full)")
#else
#define HY_UNROLL _Pragma("GCC unroll 64")
#endif

#define PRIMITIVE static inline

typedef float HyReg;

PRIMITIVE float
reg_load(const float *p)
{
	return *p;
}

PRIMITIVE void
reg_store(float *p, float r)
{
	*p = r;
}

PRIMITIVE float
reg_all(float f)
{
	return f;
}

PRIMITIVE float
reg_add(float a, float b)
{
	return a + b;
}

PRIMITIVE float
reg_sub(float a, float b)
{
	return a - b;
}

PRIMITIVE float
reg_mul(float a, float b)
{
	return a * b;
}

PRIMITIVE float
reg_within(float r)
{
	return r;
}

#include "core/rotation_loops.h"
