/*
 * assign_avx2.c
 *		Tiles of 6 rows by 16 centroids in 256-bit registers; a tile of 12 rows is computed as two
 *		of them.
 */
#include "core/assign_tile.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <stddef.h>

#define TARGET __attribute__((target("avx2,fma")))
#define VECTORS (HY_ASSIGN_TARGETS / 8)
#define HALF (HY_ASSIGN_ROWS / 2)
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

static void half_tile(const float *rows, const float *panel, int dims, float *out);

TARGET static void
dot_products(const float *rows, int count, const float *panels, int panel_count, int dims,
             float *out)
{
	int p;
	int i;

	for (p = 0; p < panel_count; p++, panels += (size_t) HY_ASSIGN_TARGETS * (size_t) dims)
	{
		for (i = 0; i < count; i += HALF)
			half_tile(rows + (size_t) i * (size_t) dims, panels, dims,
			          out + (p * HY_ASSIGN_ROWS + i) * HY_ASSIGN_TARGETS);
	}
}

TARGET static void
half_tile(const float *rows, const float *panel, int dims, float *out)
{
	__m256 sums[HALF][VECTORS];
	int d;
	int i;
	int j;

	UNROLL
	for (i = 0; i < HALF; i++)
	{
		UNROLL
		for (j = 0; j < VECTORS; j++)
			sums[i][j] = _mm256_setzero_ps();
	}
	for (d = 0; d < dims; d++, panel += HY_ASSIGN_TARGETS)
	{
		__m256 target[VECTORS];

		UNROLL
		for (j = 0; j < VECTORS; j++)
			target[j] = _mm256_loadu_ps(panel + 8 * j);
		UNROLL
		for (i = 0; i < HALF; i++)
		{
			__m256 x = _mm256_broadcast_ss(rows + (size_t) i * (size_t) dims + (size_t) d);

			UNROLL
			for (j = 0; j < VECTORS; j++)
				sums[i][j] = _mm256_fmadd_ps(x, target[j], sums[i][j]);
		}
	}
	UNROLL
	for (i = 0; i < HALF; i++)
	{
		UNROLL
		for (j = 0; j < VECTORS; j++)
			_mm256_storeu_ps(out + i * HY_ASSIGN_TARGETS + 8 * j, sums[i][j]);
	}
}

TARGET static uint32_t
reaching(const float *dots, const float *half, const float *error, float length, float threshold)
{
	uint32_t bits = 0;
	int j;

	for (j = 0; j < HY_ASSIGN_TARGETS; j += 8)
	{
		__m256 value = _mm256_sub_ps(_mm256_loadu_ps(dots + j), _mm256_loadu_ps(half + j));

		value = _mm256_fmadd_ps(_mm256_loadu_ps(error + j), _mm256_set1_ps(length), value);
		bits |= (uint32_t) _mm256_movemask_ps(
					_mm256_cmp_ps(value, _mm256_set1_ps(threshold), _CMP_NLT_UQ))
		        << j;
	}
	return bits;
}

TARGET static float
move(const float *x, const float *middle, int dims, float *out, const float *next)
{
	__m256 sum0 = _mm256_setzero_ps();
	__m256 sum1 = sum0;
	float lanes[8];
	float sum = 0.0f;
	int d;

	for (d = 0; d + 16 <= dims; d += 16)
	{
		__m256 x0 = _mm256_sub_ps(_mm256_loadu_ps(x + d), _mm256_loadu_ps(middle + d));
		__m256 x1 = _mm256_sub_ps(_mm256_loadu_ps(x + d + 8), _mm256_loadu_ps(middle + d + 8));

		_mm_prefetch((const char *) (next + d), _MM_HINT_T0);
		_mm256_storeu_ps(out + d, x0);
		_mm256_storeu_ps(out + d + 8, x1);
		sum0 = _mm256_fmadd_ps(x0, x0, sum0);
		sum1 = _mm256_fmadd_ps(x1, x1, sum1);
	}
	for (; d < dims; d++)
	{
		out[d] = x[d] - middle[d];
		sum += out[d] * out[d];
	}
	_mm256_storeu_ps(lanes, _mm256_add_ps(sum0, sum1));
	for (d = 0; d < 8; d++)
		sum += lanes[d];
	return sum;
}

TARGET static void
add(double *sums, const float *x, int dims)
{
	int d;

	for (d = 0; d + 8 <= dims; d += 8)
	{
		__m256d x0 = _mm256_cvtps_pd(_mm_loadu_ps(x + d));
		__m256d x1 = _mm256_cvtps_pd(_mm_loadu_ps(x + d + 4));

		_mm256_storeu_pd(sums + d, _mm256_add_pd(_mm256_loadu_pd(sums + d), x0));
		_mm256_storeu_pd(sums + d + 4, _mm256_add_pd(_mm256_loadu_pd(sums + d + 4), x1));
	}
	for (; d < dims; d++)
		sums[d] += (double) x[d];
}

TARGET static void
add_rounded(double *sums, const float *x, int dims, double grid)
{
	__m256d g = _mm256_set1_pd(grid);
	int d;

	for (d = 0; d + 4 <= dims; d += 4)
	{
		__m256d rounded = _mm256_sub_pd(_mm256_add_pd(_mm256_cvtps_pd(_mm_loadu_ps(x + d)), g), g);

		_mm256_storeu_pd(sums + d, _mm256_add_pd(_mm256_loadu_pd(sums + d), rounded));
	}
	hy_assign_add_rounded(sums + d, x + d, dims - d, grid);
}

const HyAssignTiles hy_assign_tiles_avx2 = {.dots = dot_products,
                                            .reaching = reaching,
                                            .move = move,
                                            .add = add,
                                            .add_rounded = add_rounded};

#endif
