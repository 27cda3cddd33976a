/*
 * tile.h
 *		Many dot products at once of vectors rounded to small integers: the fast part of prefilter.h.
 *
 * A vector x is held as integers X with a scale s, so that s X is near x.  The length of X is at
 * most HY_TILE_LENGTH, and no element exceeds HY_TILE_ELEMENT.  By the Cauchy-Schwarz inequality,
 * no partial sum of X . Y overflows int32, whatever the order of the additions.  A product is
 * therefore exact and the same on every instruction set.  Only its conversion to fp32 rounds.
 *
 * Vectors are stored in panels, with `queries` or `targets` vectors side by side.  A panel holds
 * the elements 2p and 2p + 1 of the first vector, then those of the second, and so on; then the
 * next pair.  Missing vectors or elements are 0.
 *
 * A matrix unit (tile_amx.c) uses other elements, which are either bytes or bfloat16.  With bytes,
 * a pair as described above holds four elements.  Sums of bfloat16 products are not exact.  The
 * table of kernels describes these differences; int16_t is then only a unit of two bytes.
 */
#ifndef HY_TILE_H
#define HY_TILE_H

#include <stddef.h>
#include <stdint.h>

#include "core/cpu_features.h"

#define HY_TILE_LENGTH 46000.0 /* below 2^15.5 even with the roundings of 16,000 elements */
#define HY_TILE_ELEMENT 32767.0
#define HY_TILE_QUERIES 32 /* widest panels of any level */
#define HY_TILE_TARGETS 32

/* HyTileTargets: values of the targets of a panel that `reaching` needs. */
typedef struct HyTileTargets
{
	const float *factor; /* f, u and v of prefilter.h, for the targets of one panel */
	const float *reach;
	const float *shift;
} HyTileTargets;

typedef struct HyTileKernels
{
	HySimd level;
	const char *name; /* name of the level, and of the variant if there are several */
	int queries;      /* vectors per panel: rows of a tile */
	int targets;      /* vectors per panel: columns of a tile */
	int element;      /* bytes of an element */
	int run; /* consecutive units of a query in a panel; rows are padded with 0 to whole runs */
	double length;          /* maximum length of X */
	double largest_element; /* maximum magnitude of an element of X */
	double slack; /* error of a sum per dimension, relative to the product of the lengths */

	/*
	 * begin is called before a series of dots calls, and end after it.  Between the two, call
	 * nothing that may use the processor's tile registers, except dots.  Both may be NULL.
	 */
	void (*begin)(void);
	void (*end)(void);

	/*
	 * Sets out[i * targets + j] to (float) (query i . target j).  Both panels have `pairs` pairs.
	 */
	void (*dots)(const int16_t *queries, const int16_t *targets, int pairs, float *out);

	/*
	 * Sets bit j if factor[j] * dots[j] + reach[j] + shift[j] * weight >= threshold, for one
	 * query's row of dots.  A level may fuse the operations or not: prefilter.h allows for the
	 * rounding.
	 */
	uint32_t (*reaching)(const float *dots, const HyTileTargets *rows, float weight,
	                     float threshold);

	/* returns the largest |x[i]|; n >= 1 */
	float (*largest)(const float *x, int n);

	/*
	 * out[i] = x[i] * inverse, rounded to nearest even.  Returns, in fp32, the sum of
	 *
	 *		(x[i] - scale * out[i])^2
	 *
	 * The error of the square root of this sum is below 1e-3 of the root plus 1e-7 of the length of
	 * x.  No |x[i] * inverse| may exceed largest_element.
	 */
	float (*quantize)(const float *x, int n, float inverse, float scale, int16_t *out);

	/* works like hy_tile_pack, for exactly `targets` rows */
	void (*interleave)(const int16_t *rows, size_t stride, int length, int16_t *panel);
} HyTileKernels;

/*
 * hy_tile_kernels: return the kernels for the level of hy_kernels(), or those set by
 * hy_tile_kernels_force.
 */
extern const HyTileKernels *hy_tile_kernels(void);

/*
 * hy_tile_kernels_at: return the kernels for one level, or NULL when the level is not available
 * here.
 */
extern const HyTileKernels *hy_tile_kernels_at(HySimd level);

/*
 * hy_tile_kernels_nth: return the n-th of all kernels available here, whatever their level, or NULL
 * after the last.
 */
extern const HyTileKernels *hy_tile_kernels_nth(int n);

/*
 * hy_tile_kernels_force: use these kernels, for tests and measurements.  NULL restores the kernels
 * of the level.
 */
extern void hy_tile_kernels_force(const HyTileKernels *kernels);

/*
 * hy_tile_pack: pack a panel of `width` vectors from rows of int16_t that are `stride` elements
 * apart.  `count` rows exist.  Each has `length` elements, a multiple of 2.
 */
extern void
hy_tile_pack(const int16_t *rows, size_t stride, int count, int length, int width, int16_t *panel);

/* hy_tile_pack_runs: pack as hy_tile_pack does, but with `run` units at a time instead of two. */
extern void hy_tile_pack_runs(const int16_t *rows, size_t stride, int count, int length, int width,
                              int run, int16_t *panel);

/* Select a table with the functions above, which return only tables that this processor can run. */
extern const HyTileKernels hy_tile_scalar;
extern const HyTileKernels hy_tile_avx2;        /* x86-64, like the next four */
extern const HyTileKernels hy_tile_avx512;      /* vpmaddwd */
extern const HyTileKernels hy_tile_avx512_vnni; /* vpdpwssd */
extern const HyTileKernels hy_tile_amx;         /* bfloat16 */
extern const HyTileKernels hy_tile_amx_int8;    /* bytes */
extern const HyTileKernels hy_tile_neon;        /* AArch64 */

#endif
