/*
 * half.c
 *		Conversion between IEEE binary16 and binary32.
 *
 * Results have the same bits as the results of F16C and Advanced SIMD.  A NaN is quieted and keeps
 * the upper bits of its payload.  Subnormals are exact.
 */
#include "core/distance.h"

#include <string.h>

float
hy_half_to_float(uint16_t half)
{
	uint32_t sign = (uint32_t) (half & 0x8000u) << 16;
	uint32_t exponent = (half >> 10) & 0x1fu;
	uint32_t fraction = half & 0x3ffu;
	uint32_t bits;
	float value;

	if (exponent == 0)
	{
		/* Zero or subnormal: fraction * 2^-24 is exact. */
		value = (float) fraction * 0x1p-24f;
		return sign ? -value : value;
	}
	if (exponent == 31)
		bits = sign | 0x7f800000u | (fraction << 13) | (fraction != 0 ? 0x00400000u : 0);
	else
		bits = sign | ((exponent + 112) << 23) | (fraction << 13);
	memcpy(&value, &bits, sizeof(value));
	return value;
}

uint16_t
hy_float_to_half(float value)
{
	uint32_t bits;
	uint32_t sign;
	uint32_t magnitude;
	uint32_t result;
	uint32_t rest;
	uint32_t halfway;

	memcpy(&bits, &value, sizeof(bits));
	sign = (bits >> 16) & 0x8000u;
	magnitude = bits & 0x7fffffffu;

	if (magnitude > 0x7f800000u)
		return (uint16_t) (sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
	if (magnitude >= 0x477ff000u) /* 65,520 and above, and infinity */
		return (uint16_t) (sign | 0x7c00u);

	if (magnitude >= 0x38800000u) /* 2^-14: a normal number */
	{
		result = (magnitude - 0x38000000u) >> 13;
		rest = magnitude & 0x1fffu;
		halfway = 0x1000u;
	}
	else if (magnitude >= 0x33000000u) /* 2^-25: may round to the smallest subnormal */
	{
		uint32_t fraction = (magnitude & 0x007fffffu) | 0x00800000u;
		uint32_t shift = 126 - (magnitude >> 23); /* 14 .. 24 */

		result = fraction >> shift;
		rest = fraction & ((1u << shift) - 1);
		halfway = 1u << (shift - 1);
	}
	else
		return (uint16_t) sign;

	/* A carry out of the fraction increments the exponent, which is correct. */
	if (rest > halfway || (rest == halfway && (result & 1)))
		result++;
	return (uint16_t) (sign | result);
}
