/*
 * assign_avx512.c
 *		Tiles of up to 12 rows by 32 centroids in 512-bit registers: AVX-512 F, BW, VL, DQ.
 */
#include "core/assign_tile.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <stddef.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")))
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/*
 * Each iteration processes one element of every vector.  It broadcasts the element of each row, and
 * multiplies it by one or two registers of 16 centroids.
 */
#define DOT_PRODUCTS(name, row_count, panel_count)                                                 \
	TARGET static void name(const float *rows, const float *panels, int dims, float *out)          \
	{                                                                                              \
		__m512 sums[row_count][panel_count];                                                       \
		int d;                                                                                     \
		int i;                                                                                     \
		int p;                                                                                     \
                                                                                                   \
		UNROLL                                                                                     \
		for (i = 0; i < (row_count); i++)                                                          \
		{                                                                                          \
			UNROLL                                                                                 \
			for (p = 0; p < (panel_count); p++)                                                    \
				sums[i][p] = _mm512_setzero_ps();                                                  \
		}                                                                                          \
		for (d = 0; d < dims; d++, panels += HY_ASSIGN_TARGETS)                                    \
		{                                                                                          \
			__m512 target[panel_count];                                                            \
                                                                                                   \
			UNROLL                                                                                 \
			for (p = 0; p < (panel_count); p++)                                                    \
				target[p] =                                                                        \
					_mm512_loadu_ps(panels + (size_t) p * HY_ASSIGN_TARGETS * (size_t) dims);      \
			UNROLL                                                                                 \
			for (i = 0; i < (row_count); i++)                                                      \
			{                                                                                      \
				__m512 x = _mm512_set1_ps(rows[(size_t) i * (size_t) dims + (size_t) d]);          \
                                                                                                   \
				UNROLL                                                                             \
				for (p = 0; p < (panel_count); p++)                                                \
					sums[i][p] = _mm512_fmadd_ps(x, target[p], sums[i][p]);                        \
			}                                                                                      \
		}                                                                                          \
		UNROLL                                                                                     \
		for (i = 0; i < (row_count); i++)                                                          \
		{                                                                                          \
			UNROLL                                                                                 \
			for (p = 0; p < (panel_count); p++)                                                    \
				_mm512_storeu_ps(out + (p * HY_ASSIGN_ROWS + i) * HY_ASSIGN_TARGETS, sums[i][p]);  \
		}                                                                                          \
	}

DOT_PRODUCTS(dots_4_1, 4, 1)
DOT_PRODUCTS(dots_8_1, 8, 1)
DOT_PRODUCTS(dots_12_1, 12, 1)
DOT_PRODUCTS(dots_4_2, 4, 2)
DOT_PRODUCTS(dots_8_2, 8, 2)
DOT_PRODUCTS(dots_12_2, 12, 2)

static void
dot_products(const float *rows, int count, const float *panels, int panel_count, int dims,
             float *out)
{
	static void (*const tiles[HY_ASSIGN_PANELS][HY_ASSIGN_ROWS / 4])(
		const float *, const float *, int, float *) = {{dots_4_1, dots_8_1, dots_12_1},
	                                                   {dots_4_2, dots_8_2, dots_12_2}};

	tiles[panel_count - 1][(count - 1) / 4](rows, panels, dims, out);
}

TARGET static uint32_t
reaching(const float *dots, const float *half, const float *error, float length, float threshold)
{
	__m512 value = _mm512_sub_ps(_mm512_loadu_ps(dots), _mm512_loadu_ps(half));

	value = _mm512_fmadd_ps(_mm512_loadu_ps(error), _mm512_set1_ps(length), value);
	return _mm512_cmp_ps_mask(value, _mm512_set1_ps(threshold), _CMP_NLT_UQ);
}

TARGET static float
move(const float *x, const float *middle, int dims, float *out, const float *next)
{
	__m512 sum0 = _mm512_setzero_ps();
	__m512 sum1 = sum0;
	float sum = 0.0f;
	int d;

	for (d = 0; d + 32 <= dims; d += 32)
	{
		__m512 x0 = _mm512_sub_ps(_mm512_loadu_ps(x + d), _mm512_loadu_ps(middle + d));
		__m512 x1 = _mm512_sub_ps(_mm512_loadu_ps(x + d + 16), _mm512_loadu_ps(middle + d + 16));

		_mm_prefetch((const char *) (next + d), _MM_HINT_T0);
		_mm_prefetch((const char *) (next + d + 16), _MM_HINT_T0);
		_mm512_storeu_ps(out + d, x0);
		_mm512_storeu_ps(out + d + 16, x1);
		sum0 = _mm512_fmadd_ps(x0, x0, sum0);
		sum1 = _mm512_fmadd_ps(x1, x1, sum1);
	}
	for (; d < dims; d++)
	{
		out[d] = x[d] - middle[d];
		sum += out[d] * out[d];
	}
	return sum + _mm512_reduce_add_ps(_mm512_add_ps(sum0, sum1));
}

TARGET static void
add(double *sums, const float *x, int dims)
{
	int d;

	for (d = 0; d + 8 <= dims; d += 8)
		_mm512_storeu_pd(sums + d, _mm512_add_pd(_mm512_loadu_pd(sums + d),
		                                         _mm512_cvtps_pd(_mm256_loadu_ps(x + d))));
	for (; d < dims; d++)
		sums[d] += (double) x[d];
}

TARGET static void
add_rounded(double *sums, const float *x, int dims, double grid)
{
	__m512d g = _mm512_set1_pd(grid);
	int d;

	for (d = 0; d + 8 <= dims; d += 8)
	{
		__m512d rounded =
			_mm512_sub_pd(_mm512_add_pd(_mm512_cvtps_pd(_mm256_loadu_ps(x + d)), g), g);

		_mm512_storeu_pd(sums + d, _mm512_add_pd(_mm512_loadu_pd(sums + d), rounded));
	}
	hy_assign_add_rounded(sums + d, x + d, dims - d, grid);
}

const HyAssignTiles hy_assign_tiles_avx512 = {.dots = dot_products,
                                              .reaching = reaching,
                                              .move = move,
                                              .add = add,
                                              .add_rounded = add_rounded};

#endif
