/*
 * rotation_loops.h
 *		The rounds of a rotation, shared by all instruction sets.
 *
 * A file that includes this header first defines its registers:
 *
 *		HY_ROTATE				name of the function
 *		HY_TARGET				function attribute that enables the instructions, or nothing
 *		HyReg, HY_REG_FLOATS	a register and its number of floats, a power of two up to 16
 *		HY_UNROLL				pragma that unrolls a loop over registers, or nothing
 *
 *		reg_load(p)				reg_store(p, r)
 *		reg_add(a, b)			reg_sub(a, b)		reg_mul(a, b)
 *		reg_all(f)				f in every lane
 *		reg_within(r)			the butterflies at distances below HY_REG_FLOATS, ascending
 *
 * A butterfly at distance h replaces x[i] and x[i + h] with their sum and their difference, for
 * each i in which bit h is not set.  A transform takes the distances 1, 2, 4, ... in turn.  The
 * order of elements within a distance does not affect the bits of the result.  Processing several
 * distances while the elements are in registers does not affect them either.
 */
#include <stddef.h>

#define HY_INLINE static inline __attribute__((always_inline)) HY_TARGET
#define HY_HALF_TURN 0.70710678118654752440f /* square root of 1/2 */
#define HY_STEP_REGS (HY_ROTATION_STEP / HY_REG_FLOATS)

/*
 * butterflies: apply the butterflies between `count` registers, at distances of 1, 2, 4, ...
 * registers.
 */
HY_INLINE void
butterflies(HyReg *r, int count)
{
	int h;
	int i;

	HY_UNROLL
	for (h = 1; h < count; h *= 2)
	{
		HY_UNROLL
		for (i = 0; i < count; i++)
		{
			if ((i & h) == 0)
			{
				HyReg sum = reg_add(r[i], r[i + h]);

				r[i + h] = reg_sub(r[i], r[i + h]);
				r[i] = sum;
			}
		}
	}
}

/*
 * first_distances: apply signs and scale, and the butterflies at distances below HY_ROTATION_STEP.
 */
HY_INLINE void
first_distances(float *x, const float *factors)
{
	HyReg r[HY_STEP_REGS];
	int i;

	HY_UNROLL
	for (i = 0; i < HY_STEP_REGS; i++)
		r[i] = reg_within(
			reg_mul(reg_load(x + i * HY_REG_FLOATS), reg_load(factors + i * HY_REG_FLOATS)));
	butterflies(r, HY_STEP_REGS);
	HY_UNROLL
	for (i = 0; i < HY_STEP_REGS; i++)
		reg_store(x + i * HY_REG_FLOATS, r[i]);
}

/*
 * distances_from: apply the butterflies at distances h, 2 h, ... below h * count.  count is a
 * constant.
 */
HY_INLINE void
distances_from(float *x, int part, int h, int count)
{
	HyReg r[8];
	int base;
	int i;
	int j;

	for (base = 0; base < part; base += h * count)
	{
		for (i = base; i < base + h; i += HY_REG_FLOATS)
		{
			HY_UNROLL
			for (j = 0; j < count; j++)
				r[j] = reg_load(x + i + j * h);
			butterflies(r, count);
			HY_UNROLL
			for (j = 0; j < count; j++)
				reg_store(x + i + j * h, r[j]);
		}
	}
}

HY_INLINE void
transform(float *x, const float *factors, int part)
{
	int h;

	for (h = 0; h < part; h += HY_ROTATION_STEP)
		first_distances(x + h, factors + h);
	for (h = HY_ROTATION_STEP; h < part;)
	{
		if (h * 4 < part)
		{
			distances_from(x, part, h, 8);
			h *= 8;
		}
		else if (h * 2 < part)
		{
			distances_from(x, part, h, 4);
			h *= 4;
		}
		else
		{
			distances_from(x, part, h, 2);
			h *= 2;
		}
	}
}

HY_TARGET void
HY_ROTATE(const HyRotation *rotation, float *x)
{
	int part = rotation->part;
	int rest = rotation->padded - part;
	int round;
	int i;

	for (round = 0; round < HY_ROTATION_ROUNDS; round++)
	{
		const float *factors = rotation->factors + (size_t) round * (size_t) rotation->padded;
		int start = round % 2 == 0 ? 0 : rest;
		int outside = round % 2 == 0 ? part : 0;

		transform(x + start, factors + start, part);
		for (i = outside; i < outside + rest; i += HY_REG_FLOATS)
			reg_store(x + i, reg_mul(reg_load(x + i), reg_load(factors + i)));
		for (i = 0; i < rest && round % 2 != 0; i += HY_REG_FLOATS)
		{
			HyReg a = reg_load(x + i);
			HyReg b = reg_load(x + part + i);

			reg_store(x + i, reg_mul(reg_add(a, b), reg_all(HY_HALF_TURN)));
			reg_store(x + part + i, reg_mul(reg_sub(a, b), reg_all(HY_HALF_TURN)));
		}
	}
}
