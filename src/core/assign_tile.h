/*
 * assign_tile.h
 *		Inner products of a few rows with a few centroids in fp32: the fast half of assign.c.
 *
 * Whatever the order of the additions and whether they are fused, a product of n elements is off by no
 * more than HY_ASSIGN_ERROR(n) of the product of the lengths, so that levels may differ.
 */
#ifndef HY_ASSIGN_TILE_H
#define HY_ASSIGN_TILE_H

#include <stdint.h>

#define HY_ASSIGN_ROWS 12    /* of a tile, at most */
#define HY_ASSIGN_TARGETS 16 /* a panel has element d of each, then element d + 1 of each */
#define HY_ASSIGN_PANELS 2   /* at a time, at most */
#define HY_ASSIGN_DOTS (HY_ASSIGN_PANELS * HY_ASSIGN_ROWS * HY_ASSIGN_TARGETS)

/* n + 8 roundings of 2^-24, and those of the lengths */
#define HY_ASSIGN_ERROR(n) (((n) + 24) * 6e-8)

typedef struct HyAssignTiles
{
	/*
	 * out[(p * HY_ASSIGN_ROWS + i) * HY_ASSIGN_TARGETS + j] = row i . target j of panel p; rows and
	 * panels lie one after the other.  There is room for HY_ASSIGN_ROWS rows, those beyond `count`
	 * have any numbers.
	 */
	void (*dots)(const float *rows, int count, const float *panels, int panel_count, int dims,
	             float *out);

	/*
	 * bit j, unless dots[j] - half[j] + error[j] * length < threshold: also of what is not a number
	 */
	uint32_t (*reaching)(const float *dots, const float *half, const float *error, float length,
	                     float threshold);

	/* out = x - middle; returns the square of its length.  next: as many floats, wanted soon */
	float (*move)(const float *x, const float *middle, int dims, float *out, const float *next);

	/* sums += x: the same bits on every level */
	void (*add)(double *sums, const float *x, int dims);

	/* sums += x + grid - grid, each rounded: the same bits on every level */
	void (*add_rounded)(double *sums, const float *x, int dims, double grid);
} HyAssignTiles;

/* hy_assign_tiles: those of the level of hy_kernels(). */
extern const HyAssignTiles *hy_assign_tiles(void);

extern const HyAssignTiles hy_assign_tiles_any; /* every machine */
extern const HyAssignTiles hy_assign_tiles_avx2;
extern const HyAssignTiles hy_assign_tiles_avx512;

/* hy_assign_add_rounded: add_rounded for every machine. */
extern void hy_assign_add_rounded(double *sums, const float *x, int dims, double grid);

#endif
