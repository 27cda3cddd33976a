/*
 * tile_scalar.c
 *		Tiles of 4 queries by 8 targets in plain C: the reference for the other levels.
 */
#include <math.h>

#include "core/tile.h"

#define QUERIES 4
#define TARGETS 8

static void
dot_products(const int16_t *queries, const int16_t *targets, int pairs, float *out)
{
	int32_t sums[QUERIES][TARGETS] = {{0}};
	int p;
	int i;
	int j;

	for (p = 0; p < pairs; p++, queries += 2 * QUERIES, targets += 2 * TARGETS)
	{
		for (i = 0; i < QUERIES; i++)
		{
			for (j = 0; j < TARGETS; j++)
				sums[i][j] +=
					queries[2 * i] * targets[2 * j] + queries[2 * i + 1] * targets[2 * j + 1];
		}
	}
	for (i = 0; i < QUERIES; i++)
	{
		for (j = 0; j < TARGETS; j++)
			out[i * TARGETS + j] = (float) sums[i][j];
	}
}

static uint32_t
reaching(const float *dots, const HyTileTargets *rows, float weight, float threshold)
{
	uint32_t bits = 0;
	int j;

	for (j = 0; j < TARGETS; j++)
	{
		float bound = rows->factor[j] * dots[j] + rows->reach[j] + rows->shift[j] * weight;

		bits |= (uint32_t) (bound >= threshold) << j;
	}
	return bits;
}

static float
largest(const float *x, int n)
{
	float found = 0.0f;
	int i;

	for (i = 0; i < n; i++)
		found = fabsf(x[i]) > found ? fabsf(x[i]) : found;
	return found;
}

static float
quantize(const float *x, int n, float inverse, float scale, int16_t *out)
{
	float sum = 0.0f;
	int i;

	for (i = 0; i < n; i++)
	{
		float whole = rintf(x[i] * inverse);
		float rest = x[i] - scale * whole;

		out[i] = (int16_t) whole;
		sum += rest * rest;
	}
	return sum;
}

static void
interleave(const int16_t *rows, size_t stride, int length, int16_t *panel)
{
	hy_tile_pack(rows, stride, TARGETS, length, TARGETS, panel);
}

const HyTileKernels hy_tile_scalar = {.level = HY_SIMD_SCALAR,
                                      .name = "scalar",
                                      .queries = QUERIES,
                                      .targets = TARGETS,
                                      .element = 2,
                                      .run = 2,
                                      .length = HY_TILE_LENGTH,
                                      .largest_element = HY_TILE_ELEMENT,
                                      .dots = dot_products,
                                      .reaching = reaching,
                                      .largest = largest,
                                      .quantize = quantize,
                                      .interleave = interleave};
