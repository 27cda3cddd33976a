/*
 * fma.h
 *		fl(a * b + c) with one rounding, on every machine.
 *
 * If the compiler cannot use a fused multiply-add instruction, the result is computed in double
 * arithmetic.  The product of two floats is exact in double.  The sum is rounded to odd, which
 * preserves the information that the second rounding, to float, needs (S. Boldo and G. Melquiond,
 * "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
 */
#ifndef HY_FMA_H
#define HY_FMA_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "the canonical reduction needs arithmetic without excess precision"
#endif

#if defined(__FMA__) || defined(__aarch64__)

static inline float
hy_fma(float a, float b, float c)
{
	return __builtin_fmaf(a, b, c);
}

#else

static inline float
hy_fma(float a, float b, float c)
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

	/* The comparison is false for the NaN error of an infinite sum. */
	inexact = fabs(error) > 0.0;
	away = 1 - 2 * ((sum_bits ^ error_bits) >> 63);

	/*
	 * If the sum is inexact and even, move it to the odd neighbor on the side of the exact value.
	 */
	sum_bits += away * (inexact & ~sum_bits & 1);
	memcpy(&sum, &sum_bits, sizeof(sum));
	return (float) sum;
}

#endif

#endif
