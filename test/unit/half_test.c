/*
 * half_test.c
 *		Binary16 to binary32 and back, compared with the definition and with the hardware.
 */
#include "unit.h"

#include "core/distance.h"

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("f16c"))) static float
hardware_widen(uint16_t half)
{
	return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(half)));
}

__attribute__((target("f16c"))) static uint16_t
hardware_narrow(float value)
{
	return (uint16_t) _mm_cvtsi128_si32(_mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT));
}

static bool
hardware_can(void)
{
	return hy_simd_available(HY_SIMD_AVX2);
}
#elif defined(__aarch64__)
static float
hardware_widen(uint16_t half)
{
	__fp16 value;

	memcpy(&value, &half, sizeof(half));
	return (float) value;
}

static uint16_t
hardware_narrow(float value)
{
	__fp16 narrowed = (__fp16) value;
	uint16_t half;

	memcpy(&half, &narrowed, sizeof(half));
	return half;
}

static bool
hardware_can(void)
{
	return true;
}
#else
#define hardware_widen hy_half_to_float
#define hardware_narrow hy_float_to_half

static bool
hardware_can(void)
{
	return false;
}
#endif

static uint32_t
bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static float
float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* The value by definition: fraction * 2^(exponent - 25), with a hidden bit when normal. */
static double
defined_value(uint16_t half)
{
	int exponent = (half >> 10) & 31;
	double fraction = half & 1023;
	double value;

	if (exponent == 31)
		value = fraction != 0 ? NAN : INFINITY;
	else if (exponent == 0)
		value = ldexp(fraction, -24);
	else
		value = ldexp(fraction + 1024, exponent - 25);
	return half & 0x8000 ? -value : value;
}

static void
test_widen_by_definition(void)
{
	uint32_t i;

	for (i = 0; i < 65536; i++)
		CHECK_SAME_F32(hy_half_to_float((uint16_t) i), defined_value((uint16_t) i));
}

static void
test_round_trip(void)
{
	uint32_t i;

	for (i = 0; i < 65536; i++)
	{
		uint16_t half = (uint16_t) i;
		bool nan = (half & 0x7c00) == 0x7c00 && (half & 0x3ff) != 0;

		CHECK_INT(hy_float_to_half(hy_half_to_float(half)), nan ? half | 0x200 : half);
	}
}

static void
test_widen_as_hardware(void)
{
	uint32_t i;

	for (i = 0; i < 65536 && hardware_can(); i++)
		CHECK_INT(bits_of(hy_half_to_float((uint16_t) i)), bits_of(hardware_widen((uint16_t) i)));
}

/* Values around every half, and around the middle between neighbors, where rounding changes. */
static void
test_narrow_at_the_edges(void)
{
	uint32_t i;
	int step;

	for (i = 0; i < 0x7c00; i++)
	{
		double low = defined_value((uint16_t) i);
		double high = i + 1 == 0x7c00 ? 65536.0 : defined_value((uint16_t) (i + 1));
		uint32_t middle = bits_of((float) ((low + high) / 2));

		CHECK_SAME_F64((double) float_of(middle), (low + high) / 2);
		for (step = -2; step <= 2; step++)
		{
			float value = float_of(middle + (uint32_t) step);
			uint32_t expected = step < 0 || (step == 0 && (i & 1) == 0) ? i : i + 1;

			CHECK_MSG(hy_float_to_half(value) == expected, "%a gives %04x, expected %04x",
			          (double) value, hy_float_to_half(value), expected);
			CHECK_INT(hy_float_to_half(-value), expected | 0x8000);
		}
	}
	CHECK_INT(hy_float_to_half(65519.996f), 0x7bff);
	CHECK_INT(hy_float_to_half(65520.0f), 0x7c00);
	CHECK_INT(hy_float_to_half(3.4e38f), 0x7c00);
	CHECK_INT(hy_float_to_half(-INFINITY), 0xfc00);
	CHECK_INT(hy_float_to_half(0x1p-149f), 0);
	CHECK_INT(hy_float_to_half(-0x1p-26f), 0x8000);
	CHECK_INT(hy_float_to_half(0x1p-25f), 0);
	CHECK_INT(hy_float_to_half(0x1.000002p-25f), 1);
}

static void
test_narrow_as_hardware(void)
{
	UnitRandom random = {77};
	uint32_t bits;
	int i;

	for (bits = 0; hardware_can(); bits += 40009)
	{
		CHECK_INT(hy_float_to_half(float_of(bits)), hardware_narrow(float_of(bits)));
		if (bits > UINT32_MAX - 40009)
			break;
	}
	for (i = 0; i < 1000000 && hardware_can(); i++)
	{
		/* Exponents that binary16 has something to say about. */
		bits = (uint32_t) unit_random(&random) & 0x807fffffu;
		bits |= (uint32_t) (100 + unit_random_below(&random, 46)) << 23;
		CHECK_INT(hy_float_to_half(float_of(bits)), hardware_narrow(float_of(bits)));
	}
}

static void
test_widen_arrays(void)
{
	static uint16_t halves[65536 + 1];
	static float widened[65536 + 1];
	int level;
	int i;
	int n;

	for (i = 0; i < 65536; i++)
		halves[i + 1] = (uint16_t) i;
	for (level = 0; level < HY_SIMD_COUNT; level++)
	{
		const HyKernels *kernels = hy_kernels_at((HySimd) level);

		if (kernels == NULL)
			continue;
		kernels->widen_f16(widened, halves + 1, 65536);
		for (i = 0; i < 65536; i++)
			CHECK_INT(bits_of(widened[i]), bits_of(hy_half_to_float((uint16_t) i)));
		for (n = 0; n <= 70; n++)
		{
			widened[n] = -7.0f;
			kernels->widen_f16(widened, halves + 1 + 0x3c00, n);
			for (i = 0; i < n; i++)
				CHECK_SAME_F32(widened[i], defined_value((uint16_t) (0x3c00 + i)));
			CHECK_SAME_F32(widened[n], -7.0);
		}
	}
}

/* Every half, the middle between two and values beside it, and arbitrary bits. */
static void
test_narrow_arrays(void)
{
	static float floats[4 * 65536 + 200000 + 1];
	static uint16_t halves[4 * 65536 + 200000 + 1];
	UnitRandom random = {78};
	int level;
	int count = 1;
	int i;
	int n;

	for (i = 0; i < 65536; i++)
	{
		uint32_t bits = bits_of(hy_half_to_float((uint16_t) i));

		floats[count++] = float_of(bits);
		floats[count++] = float_of(bits + 0x1000u);
		floats[count++] = float_of(bits + 0x0fffu);
		floats[count++] = float_of(bits + 0x1001u);
	}
	for (i = 0; i < 200000; i++)
	{
		uint32_t bits = (uint32_t) unit_random(&random);

		/* half of them subnormal as binary16, or nearly */
		if (i & 1)
			bits = (bits & 0x807fffffu) | (uint32_t) (100 + unit_random_below(&random, 16)) << 23;
		floats[count++] = float_of(bits);
	}
	for (level = 0; level < HY_SIMD_COUNT; level++)
	{
		const HyKernels *kernels = hy_kernels_at((HySimd) level);

		if (kernels == NULL)
			continue;
		kernels->narrow_f16(halves + 1, floats + 1, count - 1);
		for (i = 1; i < count; i++)
			CHECK_MSG(halves[i] == hy_float_to_half(floats[i]), "%s: %a gives %04x, expected %04x",
			          hy_simd_name((HySimd) level), (double) floats[i], halves[i],
			          hy_float_to_half(floats[i]));
		for (n = 0; n <= 70; n++)
		{
			halves[n + 1] = 0xbeef;
			kernels->narrow_f16(halves + 1, floats + 1 + 60000, n);
			for (i = 0; i < n; i++)
				CHECK_INT(halves[i + 1], hy_float_to_half(floats[i + 1 + 60000]));
			CHECK_INT(halves[n + 1], 0xbeef);
		}
	}
}

int
main(void)
{
	UNIT_RUN(test_widen_by_definition);
	UNIT_RUN(test_round_trip);
	UNIT_RUN(test_widen_as_hardware);
	UNIT_RUN(test_narrow_at_the_edges);
	UNIT_RUN(test_narrow_as_hardware);
	UNIT_RUN(test_widen_arrays);
	UNIT_RUN(test_narrow_arrays);
	return unit_finish();
}
