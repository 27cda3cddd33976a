/*
 * tile.c
 *		Which tiles are in use, and how panels are laid.
 */
#include "core/tile.h"

#include <string.h>

#include "core/distance.h"

const HyTileKernels *
hy_tile_kernels(void)
{
	return hy_tile_kernels_at(hy_kernels()->level);
}

const HyTileKernels *
hy_tile_kernels_at(HySimd level)
{
	if (!hy_simd_available(level))
		return NULL;
	switch (level)
	{
		case HY_SIMD_SCALAR:
			return &hy_tile_scalar;
#if defined(__x86_64__)
		case HY_SIMD_AVX2:
		case HY_SIMD_AVX512:
			return &hy_tile_avx2;
#endif
		default:
			return &hy_tile_scalar;
	}
}

void
hy_tile_pack(const int16_t *rows, size_t stride, int count, int length, int width, int16_t *panel)
{
	int i;
	int p;

	if (count < width)
		memset(panel, 0, (size_t) length * (size_t) width * sizeof(int16_t));
	for (p = 0; p < length / 2; p++)
	{
		for (i = 0; i < count; i++)
			memcpy(panel + ((size_t) p * (size_t) width + (size_t) i) * 2,
			       rows + (size_t) i * stride + 2 * p, 2 * sizeof(int16_t));
	}
}
