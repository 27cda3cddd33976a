/*
 * bits.c
 *		Selects the bit kernels, and computes distances from their counts.
 */
#include "core/bits.h"

#include "core/bits_levels.h"
#include "core/distance.h"

const HyBitKernels *
hy_bit_kernels(void)
{
	return hy_bit_kernels_at(hy_kernels()->level);
}

const HyBitKernels *
hy_bit_kernels_at(HySimd level)
{
	if (!hy_simd_available(level))
		return NULL;
	switch (level)
	{
		case HY_SIMD_SCALAR:
			return &hy_bit_kernels_scalar;
#if defined(__x86_64__)
		case HY_SIMD_AVX2:
			return &hy_bit_kernels_avx2;
		case HY_SIMD_AVX512:
		case HY_SIMD_AMX:
			return hy_simd_has_vpopcntdq() ? &hy_bit_kernels_avx512 : &hy_bit_kernels_avx2;
#endif
#if defined(__aarch64__)
		case HY_SIMD_NEON:
			return &hy_bit_kernels_neon;
#endif
		default:
			return NULL;
	}
}

double
hy_hamming(const uint8_t *a, const uint8_t *b, size_t bytes)
{
	return (double) hy_bit_kernels()->differing(a, b, bytes);
}

double
hy_jaccard(const uint8_t *a, const uint8_t *b, size_t bytes)
{
	uint64_t both;
	uint64_t either;

	hy_bit_kernels()->common(a, b, bytes, &both, &either);
	if (both == 0)
		return 1.0;
	return 1.0 - (double) both / (double) either;
}

/*
 * Let the two strings have a and b bits set, i of them in common. Let c = i / sqrt(a b) be their cosine,
 * and d their Jaccard distance. Then
 *
 *		1 - d = i / (a + b - i) <= i / (2 sqrt(a b) - i) = c / (2 - c)
 *
 * because a + b >= 2 sqrt(a b). So c is at least 2 (1 - d) / (2 - d). The squared distance of the
 * directions is 2 - 2 c, and so at most 2 d / (2 - d). Two strings with equally many bits set reach this
 * limit.
 */
double
hy_jaccard_square(double distance)
{
	return 2 * distance / (2 - distance);
}
