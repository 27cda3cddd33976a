/*
 * tile.h
 *		Many dot products at once, of vectors rounded to small integers: the fast half of prefilter.h.
 *
 * A vector x is held as integers X with a scale s, so that s X is near x.  The length of X is at
 * most HY_TILE_LENGTH and no element above HY_TILE_ELEMENT: by Cauchy and Schwarz no partial sum of
 * X . Y leaves int32, whatever the order of the additions, so a product is exact and the same on
 * every instruction set; only its conversion to fp32 rounds.
 *
 * Vectors lie in panels, `queries` or `targets` of them side by side: the elements 2p and 2p + 1 of
 * the first, then those of the second, and so on; then the next pair.  What is missing, vectors or
 * elements, is 0.
 *
 * A matrix unit (tile_amx.c) has smaller elements: bytes, of which a pair above is four, or bfloat16,
 * whose sums are not exact.  What is different there, a table says; int16_t is then only a unit of
 * two bytes.
 */
#ifndef HY_TILE_H
#define HY_TILE_H

#include <stddef.h>
#include <stdint.h>

#include "core/cpu_features.h"

#define HY_TILE_LENGTH 46000.0 /* with the roundings of 16,000 elements still below 2^15.5 */
#define HY_TILE_ELEMENT 32767.0
#define HY_TILE_QUERIES 32 /* widest panels of any level */
#define HY_TILE_TARGETS 32

/* HyTileRows: what reaching needs of the targets of a panel. */
typedef struct HyTileRows
{
	const float *factor; /* f, u and v of prefilter.h; of the targets of one panel */
	const float *reach;
	const float *shift;
} HyTileRows;

typedef struct HyTileKernels
{
	HySimd level;
	const char *name; /* the level's, and what it is made of where there are several */
	int queries;      /* of a panel, a tile's rows */
	int targets;      /* of a panel, a tile's columns */
	int element;      /* bytes of an element */
	int run;       /* units of a query side by side in a panel; rows are whole runs, 0 at the end */
	double length; /* largest length of X, and largest element */
	double largest_element;
	double slack; /* a dim: what a sum may err by, as part of the product of the lengths */

	/* before the first and after the last of some calls of dots, with nothing else between; or NULL */
	void (*begin)(void);
	void (*end)(void);

	/* out[i * targets + j] = (float) (query i . target j); both panels have so many pairs */
	void (*dots)(const int16_t *queries, const int16_t *targets, int pairs, float *out);

	/*
	 * bit j: factor[j] * dots[j] + reach[j] + shift[j] * weight >= threshold, of one query's row of
	 * dots.  Contracted or not as the level pleases: prefilter.h allows for the rounding.
	 */
	uint32_t (*reaching)(const float *dots, const HyTileRows *rows, float weight, float threshold);

	/* the largest |x[i]|, n >= 1 */
	float (*largest)(const float *x, int n);

	/*
	 * out[i] = x[i] * inverse, rounded to nearest even; returns the sum of (x[i] - scale * out[i])^2
	 * in fp32, whose root is off by less than 1e-3 of itself and 1e-7 of the length of x.  No
	 * |x[i] * inverse| is above largest_element.
	 */
	float (*quantise)(const float *x, int n, float inverse, float scale, int16_t *out);

	/* hy_tile_pack of `targets` rows, all there */
	void (*interleave)(const int16_t *rows, size_t stride, int length, int16_t *panel);
} HyTileKernels;

/* hy_tile_kernels: those of the level of hy_kernels(), or what hy_tile_kernels_force has said. */
extern const HyTileKernels *hy_tile_kernels(void);

/* hy_tile_kernels_at: those of one level, NULL when it is not available here. */
extern const HyTileKernels *hy_tile_kernels_at(HySimd level);

/* hy_tile_kernels_nth: all that are available here, whatever their level; NULL after the last. */
extern const HyTileKernels *hy_tile_kernels_nth(int n);

/* hy_tile_kernels_force: for tests and measurements; NULL: again those of the level. */
extern void hy_tile_kernels_force(const HyTileKernels *kernels);

/*
 * hy_tile_pack: a panel of `width` vectors out of rows of int16_t, `stride` elements apart, of which
 * `count` are there and `length` elements long, length a multiple of 2.
 */
extern void
hy_tile_pack(const int16_t *rows, size_t stride, int count, int length, int width, int16_t *panel);

/* hy_tile_pack_runs: as hy_tile_pack, but `run` units at a time instead of two. */
extern void hy_tile_pack_runs(const int16_t *rows, size_t stride, int count, int length, int width,
                              int run, int16_t *panel);

/* To be reached through the functions above, which know what this processor may run. */
extern const HyTileKernels hy_tile_scalar;
extern const HyTileKernels hy_tile_avx2;        /* x86-64, and so the rest but the last */
extern const HyTileKernels hy_tile_avx512;      /* vpmaddwd */
extern const HyTileKernels hy_tile_avx512_vnni; /* vpdpwssd */
extern const HyTileKernels hy_tile_amx;         /* bfloat16 */
extern const HyTileKernels hy_tile_amx_int8;    /* bytes */
extern const HyTileKernels hy_tile_neon;        /* AArch64 */

#endif
