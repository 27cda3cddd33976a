/*
 * assign_tile.h
 *		Inner products of a few rows with a few centroids in fp32: the fast part of assign.c.
 *
 * Additions may happen in any order, fused or not.  A product of n elements is always within
 * HY_ASSIGN_ERROR(n) times the product of the lengths, so instruction-set levels may give different
 * results.
 */
#ifndef HY_ASSIGN_TILE_H
#define HY_ASSIGN_TILE_H

#include <stdint.h>

#define HY_ASSIGN_ROWS 12    /* most rows in a tile */
#define HY_ASSIGN_TARGETS 16 /* a panel holds element d of all targets, then element d + 1 */
#define HY_ASSIGN_PANELS 2   /* most panels processed at a time */
#define HY_ASSIGN_DOTS (HY_ASSIGN_PANELS * HY_ASSIGN_ROWS * HY_ASSIGN_TARGETS)

/* n + 8 roundings of 2^-24, and the roundings of the lengths */
#define HY_ASSIGN_ERROR(n) (((n) + 24) * 6e-8)

typedef struct HyAssignTiles
{
	/*
	 * out[(p * HY_ASSIGN_ROWS + i) * HY_ASSIGN_TARGETS + j] = row i . target j of panel p.  Rows
	 * and panels are stored contiguously.  There is room for HY_ASSIGN_ROWS rows; rows beyond
	 * `count` may hold any numbers.
	 */
	void (*dots)(const float *rows, int count, const float *panels, int panel_count, int dims,
	             float *out);

	/*
	 * sets bit j unless dots[j] - half[j] + error[j] * length < threshold; NaN therefore sets the
	 * bit
	 */
	uint32_t (*reaching)(const float *dots, const float *half, const float *error, float length,
	                     float threshold);

	/* out = x - middle; returns its squared length.  next: as many floats to prefetch */
	float (*move)(const float *x, const float *middle, int dims, float *out, const float *next);

	/* sums += x, with the same bits on every level */
	void (*add)(double *sums, const float *x, int dims);

	/* sums += x + grid - grid, each step rounded, with the same bits on every level */
	void (*add_rounded)(double *sums, const float *x, int dims, double grid);
} HyAssignTiles;

/* hy_assign_tiles: the kernels for the level of hy_kernels(). */
extern const HyAssignTiles *hy_assign_tiles(void);

extern const HyAssignTiles hy_assign_tiles_any; /* for every machine */
extern const HyAssignTiles hy_assign_tiles_avx2;
extern const HyAssignTiles hy_assign_tiles_avx512;

/* hy_assign_add_rounded: add_rounded for every machine. */
extern void hy_assign_add_rounded(double *sums, const float *x, int dims, double grid);

#endif
