/*
 * prefilter_rows.h
 *		Rows of a matrix rounded to integers, in panels, and what that took away from each.
 */
#ifndef HY_PREFILTER_ROWS_H
#define HY_PREFILTER_ROWS_H

#include "core/allocator.h"
#include "core/batch.h"
#include "core/status.h"
#include "core/tile.h"

typedef enum HyRowKind
{
	HY_ROW_BOUNDED = 0,
	HY_ROW_UNBOUNDED, /* too short or too long for its integers to say anything */
	HY_ROW_NEVER      /* has no distance to anything: a zero vector under cosine */
} HyRowKind;

typedef enum HyPanelSide
{
	HY_PANEL_QUERIES = 0,
	HY_PANEL_TARGETS
} HyPanelSide;

/*
 * HyPrefilterRows: room for some rows.  Lengths are those of x - middle, under cosine as parts of |x|,
 * so that length is 1.
 */
typedef struct HyPrefilterRows
{
	HyMetric metric;
	const HyTileKernels *tiles;
	int dims;
	int padded; /* units of two bytes of a row: dims, in whole runs */
	HyPanelSide side;
	int width;           /* vectors of a panel */
	const float *middle; /* dims; NULL: zero */

	int16_t *panels; /* of padded * width elements each */
	HyRowKind *kind;
	float *scale;  /* of the integers */
	float *length; /* |x| */
	float *rest;   /* at least |x - scale X| */
	float *norm;   /* canonical sum of squares of the row as it is; only under cosine */

	int16_t *whole; /* rows of one panel, one after the other */
	float *row;     /* one row, widened and moved */
} HyPrefilterRows;

/* hy_prefilter_rows_create: room for `room` rows, in panels of one side.  NULL: out of memory. */
extern HyPrefilterRows *
hy_prefilter_rows_create(const HyAllocator *allocator, HyMetric metric, const HyTileKernels *tiles,
                         int dims, HyPanelSide side, int room);

/* hy_prefilter_rows_free: NULL is allowed. */
extern void hy_prefilter_rows_free(const HyAllocator *allocator, HyPrefilterRows *rows);

/* hy_prefilter_rows_load: rows first .. first + n - 1 of the matrix, n within the room. */
extern void
hy_prefilter_rows_load(HyPrefilterRows *rows, const HyMatrix *matrix, int64_t first, int n);

/* hy_add_scaled: out = a + scale * b, n elements; out may be a or b. */
extern void hy_add_scaled(float *out, const float *a, const float *b, float scale, int n);

/* hy_prefilter_rows_panel: the panel that begins with row i, a multiple of the width. */
static inline const int16_t *
hy_prefilter_rows_panel(const HyPrefilterRows *rows, int i)
{
	return rows->panels + (size_t) i * (size_t) rows->padded;
}

#endif
