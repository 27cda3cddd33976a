/*
 * assign_tile.h
 *		Inner products of a few rows with a few centroids in fp32: the fast part of assign.c.
 *
 * Additions may happen in any order, fused or not, so instruction-set levels may give different
 * results.  The error of an inner product of n elements is always below HY_ASSIGN_ERROR(n) times
 * the product of the lengths.
 */
#ifndef HY_ASSIGN_TILE_H
#define HY_ASSIGN_TILE_H

#include <stdint.h>

#define HY_ASSIGN_ROWS 12    /* maximum number of rows in a tile */
#define HY_ASSIGN_TARGETS 16 /* targets per panel; a panel stores their elements d together */
#define HY_ASSIGN_PANELS 2   /* maximum number of panels processed at a time */
#define HY_ASSIGN_DOTS (HY_ASSIGN_PANELS * HY_ASSIGN_ROWS * HY_ASSIGN_TARGETS)

/*
 * Error bound of an inner product: n + 8 roundings of 2^-24 each, and the roundings of the lengths.
 */
#define HY_ASSIGN_ERROR(n) (((n) + 24) * 6e-8)

typedef struct HyAssignTiles
{
	/*
	 * out[(p * HY_ASSIGN_ROWS + i) * HY_ASSIGN_TARGETS + j] = row i . target j of panel p.  Rows
	 * and panels are stored contiguously.  `rows` always has space for HY_ASSIGN_ROWS rows; rows
	 * beyond `count` may hold any numbers.
	 */
	void (*dots)(const float *rows, int count, const float *panels, int panel_count, int dims,
	             float *out);

	/*
	 * Sets bit j unless dots[j] - half[j] + error[j] * length < threshold.  A NaN therefore sets
	 * the bit.
	 */
	uint32_t (*reaching)(const float *dots, const float *half, const float *error, float length,
	                     float threshold);

	/*
	 * Sets out to x - middle, and returns the squared length of out.  May prefetch `dims` floats
	 * from next.
	 */
	float (*move)(const float *x, const float *middle, int dims, float *out, const float *next);

	/* Adds x to sums.  The result has the same bits on every level. */
	void (*add)(double *sums, const float *x, int dims);

	/*
	 * Adds x + grid - grid to sums.  Each step is rounded.  The result has the same bits on every
	 * level.
	 */
	void (*add_rounded)(double *sums, const float *x, int dims, double grid);
} HyAssignTiles;

/* hy_assign_tiles: return the kernels for the level of hy_kernels(). */
extern const HyAssignTiles *hy_assign_tiles(void);

extern const HyAssignTiles hy_assign_tiles_any; /* runs on every machine */
extern const HyAssignTiles hy_assign_tiles_avx2;
extern const HyAssignTiles hy_assign_tiles_avx512;

/* hy_assign_add_rounded: implement add_rounded for every machine. */
extern void hy_assign_add_rounded(double *sums, const float *x, int dims, double grid);

#endif
