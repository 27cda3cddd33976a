/*
 * tile.c
 *		Selects the tile kernels, and packs panels.
 */
#include "core/tile.h"

#include <string.h>

#include "core/distance.h"

static const HyTileKernels *forced = NULL;

const HyTileKernels *
hy_tile_kernels(void)
{
	return forced != NULL ? forced : hy_tile_kernels_at(hy_kernels()->level);
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
			return &hy_tile_avx2;
		case HY_SIMD_AVX512:
			return hy_simd_has_vnni() ? &hy_tile_avx512_vnni : &hy_tile_avx512;
		case HY_SIMD_AMX:
			return &hy_tile_amx;
#endif
#if defined(__aarch64__)
		case HY_SIMD_NEON:
			return &hy_tile_neon;
#endif
		default:
			return NULL;
	}
}

const HyTileKernels *
hy_tile_kernels_nth(int n)
{
	static const HyTileKernels *const all[] = {
		&hy_tile_scalar,
#if defined(__x86_64__)
		&hy_tile_avx2,
		&hy_tile_avx512,
		&hy_tile_avx512_vnni,
		&hy_tile_amx,
		&hy_tile_amx_int8,
#endif
#if defined(__aarch64__)
		&hy_tile_neon,
#endif
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
	{
		if (!hy_simd_available(all[i]->level))
			continue;
#if defined(__x86_64__)
		if (all[i] == &hy_tile_avx512_vnni && !hy_simd_has_vnni())
			continue;
#endif
		if (n-- == 0)
			return all[i];
	}
	return NULL;
}

void
hy_tile_kernels_force(const HyTileKernels *kernels)
{
	forced = kernels;
}

void
hy_tile_pack(const int16_t *rows, size_t stride, int count, int length, int width, int16_t *panel)
{
	hy_tile_pack_runs(rows, stride, count, length, width, 2, panel);
}

void
hy_tile_pack_runs(const int16_t *rows, size_t stride, int count, int length, int width, int run,
                  int16_t *panel)
{
	int i;
	int p;

	if (count < width)
		memset(panel, 0, (size_t) length * (size_t) width * sizeof(int16_t));
	for (p = 0; p < length; p += run)
	{
		for (i = 0; i < count; i++)
			memcpy(panel + (size_t) p * (size_t) width + (size_t) i * (size_t) run,
			       rows + (size_t) i * stride + p, (size_t) run * sizeof(int16_t));
	}
}
