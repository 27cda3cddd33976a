/*
 * assign_tile.c
 *		Tiles for every machine: loops of which a compiler makes vector instructions.
 */
#include "core/assign_tile.h"

#include <string.h>

#include "core/distance.h"

#define LANES 8

static void
dot_products(const float *rows, const float *panel, int dims, float *out)
{
	float sums[HY_ASSIGN_ROWS][HY_ASSIGN_TARGETS] = {{0}};
	int d;
	int i;
	int j;

	for (d = 0; d < dims; d++, panel += HY_ASSIGN_TARGETS)
	{
		for (i = 0; i < HY_ASSIGN_ROWS; i++)
		{
			float x = rows[(size_t) i * (size_t) dims + (size_t) d];

			for (j = 0; j < HY_ASSIGN_TARGETS; j++)
				sums[i][j] += x * panel[j];
		}
	}
	memcpy(out, sums, sizeof(sums));
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
move(const float *x, const float *middle, int dims, float *out)
{
	float sums[LANES] = {0};
	float sum = 0;
	int d;
	int l;

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

const HyAssignTiles hy_assign_tiles_any = {
	.dots = dot_products, .reaching = reaching, .move = move, .add = add};

const HyAssignTiles *
hy_assign_tiles(void)
{
#if defined(__x86_64__)
	if (hy_kernels()->level >= HY_SIMD_AVX2)
		return &hy_assign_tiles_avx2;
#endif
	return &hy_assign_tiles_any;
}
