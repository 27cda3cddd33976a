/*
 * prefilter_rows.h
 *		Rows of a matrix rounded to integers, in panels, with the rounding error of each row.
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
	HY_ROW_UNBOUNDED, /* too short or too long for a bound in fp32 arithmetic */
	HY_ROW_NEVER      /* has only NaN distances: a zero vector under cosine */
} HyRowKind;

typedef enum HyPanelSide
{
	HY_PANEL_QUERIES = 0,
	HY_PANEL_TARGETS
} HyPanelSide;

/*
 * HyPrefilterRows: storage for rounded rows.  Below, x stands for the row minus middle.  Under
 * cosine, lengths are relative to |x|, so `length` is 1.
 */
typedef struct HyPrefilterRows
{
	HyMetric metric;
	const HyTileKernels *tiles;
	int dims;
	int padded; /* two-byte units per row, rounded up to whole runs */
	HyPanelSide side;
	int width;           /* vectors per panel */
	const float *middle; /* dims elements; NULL means zero */

	int16_t *panels; /* panels of padded * width elements each */
	HyRowKind *kind;
	float *scale;  /* scale of the integers */
	float *length; /* |x| */
	float *rest;   /* upper bound of |x - scale X|; X are the integers */
	float *norm;   /* canonical sum of squares of the original row; only for cosine */

	int16_t *whole; /* scratch space: rounded rows of one panel, contiguous */
	float *row;     /* scratch space: one row, widened, relative to middle */
} HyPrefilterRows;

/*
 * hy_prefilter_rows_create: allocate storage for up to `room` rows, in panels of queries or of
 * targets.  Returns NULL when out of memory.
 */
extern HyPrefilterRows *
hy_prefilter_rows_create(const HyAllocator *allocator, HyMetric metric, const HyTileKernels *tiles,
                         int dims, HyPanelSide side, int room);

/* hy_prefilter_rows_free: free the rows.  rows may be NULL. */
extern void hy_prefilter_rows_free(const HyAllocator *allocator, HyPrefilterRows *rows);

/*
 * hy_prefilter_rows_load: load rows first .. first + n - 1 of the matrix.  n must not exceed the
 * allocated rows.
 */
extern void
hy_prefilter_rows_load(HyPrefilterRows *rows, const HyMatrix *matrix, int64_t first, int n);

/*
 * hy_prefilter_rows_from: return a view of the rows from row i, a multiple of the width.  Loading
 * rows into the view uses the scratch space of `scratch`, so several threads can load rows at the
 * same time.
 */
extern HyPrefilterRows
hy_prefilter_rows_from(const HyPrefilterRows *rows, int i, const HyPrefilterRows *scratch);

/*
 * HyPrefilterExtent: the largest values of |q| / s and of |q - q~| / s among some queries, in the terms
 * of prefilter.h.
 */
typedef struct HyPrefilterExtent
{
	double longest;
	double roughest;
} HyPrefilterExtent;

/* hy_prefilter_rows_extent: compute the extent of the first `count` rows, which are queries. */
extern void
hy_prefilter_rows_extent(const HyPrefilterRows *queries, int count, HyPrefilterExtent *extent);

/*
 * hy_prefilter_rows_reach: compute f and u of prefilter.h for the first n targets, for queries of
 * this extent.  Fills whole panels.  A row that does not exist or has only NaN distances reaches no
 * threshold above -infinity.  An unbounded row reaches every threshold.
 */
extern void hy_prefilter_rows_reach(const HyPrefilterRows *targets, int n,
                                    const HyPrefilterExtent *extent, float *factor, float *reach);

/* hy_add_scaled: set out = a + scale * b, n elements.  out may be a or b. */
extern void hy_add_scaled(float *out, const float *a, const float *b, float scale, int n);

/* hy_prefilter_rows_panel: return the panel that starts with row i, a multiple of the width. */
static inline const int16_t *
hy_prefilter_rows_panel(const HyPrefilterRows *rows, int i)
{
	return rows->panels + (size_t) i * (size_t) rows->padded;
}

#endif
