/*
 * assign_tile.c
 *		Tiles for every machine: loops that a compiler can vectorize.
 */
#include "core/assign_tile.h"

#include <string.h>

#include "core/distance.h"

#define LANES 8

static void
dot_products(const float *rows, int count, const float *panels, int panel_count, int dims,
             float *out)
{
	int p;
	int i;
	int j;
	int d;

	for (p = 0; p < panel_count; p++)
	{
		for (i = 0; i < count; i++)
		{
			const float *panel = panels + (size_t) p * HY_ASSIGN_TARGETS * (size_t) dims;
			const float *row = rows + (size_t) i * (size_t) dims;
			float sums[HY_ASSIGN_TARGETS] = {0};

			for (d = 0; d < dims; d++, panel += HY_ASSIGN_TARGETS)
			{
				for (j = 0; j < HY_ASSIGN_TARGETS; j++)
					sums[j] += row[d] * panel[j];
			}
			memcpy(out + (p * HY_ASSIGN_ROWS + i) * HY_ASSIGN_TARGETS, sums, sizeof(sums));
		}
	}
}

static uint32_t
reaching(const float *dots, const float *half, const float *error, float length, float threshold)
{
	uint32_t bits = 0;
	int j;

	for (j = 0; j < HY_ASSIGN_TARGETS; j++)
		bits |= (uint32_t) !(dots[j] - half[j] + error[j] * length < threshold) << j;
	return bits;
}

static float
move(const float *x, const float *middle, int dims, float *out, const float *next)
{
	float sums[LANES] = {0};
	float sum = 0;
	int d;
	int l;

	(void) next;
	for (d = 0; d + LANES <= dims; d += LANES)
	{
		for (l = 0; l < LANES; l++)
		{
			float moved = x[d + l] - middle[d + l];

			out[d + l] = moved;
			sums[l] += moved * moved;
		}
	}
	for (; d < dims; d++)
	{
		out[d] = x[d] - middle[d];
		sum += out[d] * out[d];
	}
	for (l = 0; l < LANES; l++)
		sum += sums[l];
	return sum;
}

static void
add(double *sums, const float *x, int dims)
{
	int d;

	for (d = 0; d < dims; d++)
		sums[d] += (double) x[d];
}

void
hy_assign_add_rounded(double *sums, const float *x, int dims, double grid)
{
	int d;

	for (d = 0; d < dims; d++)
		sums[d] += ((double) x[d] + grid) - grid;
}

const HyAssignTiles hy_assign_tiles_any = {.dots = dot_products,
                                           .reaching = reaching,
                                           .move = move,
                                           .add = add,
                                           .add_rounded = hy_assign_add_rounded};

const HyAssignTiles *
hy_assign_tiles(void)
{
#if defined(__x86_64__)
	if (hy_kernels()->level >= HY_SIMD_AVX512 && hy_kernels()->level != HY_SIMD_NEON)
		return &hy_assign_tiles_avx512;
	if (hy_kernels()->level >= HY_SIMD_AVX2)
		return &hy_assign_tiles_avx2;
#endif
	return &hy_assign_tiles_any;
}
