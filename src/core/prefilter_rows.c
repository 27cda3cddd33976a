/*
 * prefilter_rows.c
 *		Rounding rows for prefilter.c.
 *
 * The scale of a row is the smallest scale at which the integers respect two limits of the tiles,
 * one on the length and one on the largest element.  For most rows the limit on the length decides.
 * The scales of these rows are about the same fraction of their lengths.
 */
#include "core/prefilter_rows.h"

#include <math.h>
#include <string.h>

#include "core/distance.h"

/*
 * Range of squared lengths.  Outside this range, fp32 arithmetic on rows, scales or products may
 * overflow or underflow.
 */
#define SHORTEST 1e-30f
#define LONGEST 1e30f

#define REST_MARGIN 1.02f /* covers the part of quantize's error that SUM_SLACK does not */
#define ADD_STEP 16

/*
 * Bounds the error of a canonical sum, and of the fp32 arithmetic that compares the products of a
 * tile with reach[] in prefilter.c.  It is relative to the product of the two lengths.
 */
#define SUM_SLACK 4e-6
#define ROUND_UP 1.00001

static int room_in_panels(int width, int room);
static const float *row_of(HyPrefilterRows *rows, const HyMatrix *matrix, int64_t row);
static void round_row(HyPrefilterRows *rows, const float *x, int i, int16_t *whole);

HyPrefilterRows *
hy_prefilter_rows_create(const HyAllocator *allocator, HyMetric metric, const HyTileKernels *tiles,
                         int dims, HyPanelSide side, int room)
{
	HyPrefilterRows *rows = hy_alloc_zero(allocator, sizeof(HyPrefilterRows));
	int width = side == HY_PANEL_QUERIES ? tiles->queries : tiles->targets;
	int widest = tiles->queries > tiles->targets ? tiles->queries : tiles->targets;
	size_t count = (size_t) room_in_panels(width, room);
	size_t run = (size_t) tiles->run * sizeof(int16_t);
	size_t padded = ((size_t) dims * (size_t) tiles->element + run - 1) / run * (size_t) tiles->run;

	if (rows == NULL)
		return NULL;
	rows->metric = metric;
	rows->tiles = tiles;
	rows->dims = dims;
	rows->padded = (int) padded;
	rows->side = side;
	rows->width = width;
	rows->panels = hy_alloc_array(allocator, count, padded * sizeof(int16_t));
	rows->kind = hy_alloc_array(allocator, count, sizeof(HyRowKind));
	rows->scale = hy_alloc_array(allocator, count, sizeof(float));
	rows->length = hy_alloc_array(allocator, count, sizeof(float));
	rows->rest = hy_alloc_array(allocator, count, sizeof(float));
	rows->norm = hy_alloc_array(allocator, count, sizeof(float));
	rows->whole = hy_alloc_array(allocator, (size_t) widest, padded * sizeof(int16_t));
	rows->row = hy_alloc_array(allocator, (size_t) dims, sizeof(float));
	if (rows->panels == NULL || rows->kind == NULL || rows->scale == NULL || rows->length == NULL ||
	    rows->rest == NULL || rows->norm == NULL || rows->whole == NULL || rows->row == NULL)
	{
		hy_prefilter_rows_free(allocator, rows);
		return NULL;
	}
	return rows;
}

void
hy_prefilter_rows_free(const HyAllocator *allocator, HyPrefilterRows *rows)
{
	if (rows == NULL)
		return;
	hy_free(allocator, rows->panels);
	hy_free(allocator, rows->kind);
	hy_free(allocator, rows->scale);
	hy_free(allocator, rows->length);
	hy_free(allocator, rows->rest);
	hy_free(allocator, rows->norm);
	hy_free(allocator, rows->whole);
	hy_free(allocator, rows->row);
	hy_free(allocator, rows);
}

void
hy_prefilter_rows_load(HyPrefilterRows *rows, const HyMatrix *matrix, int64_t first, int n)
{
	size_t padded = (size_t) rows->padded;
	int i;

	for (i = 0; i < n; i += rows->width)
	{
		int count = n - i < rows->width ? n - i : rows->width;
		int j;

		for (j = 0; j < count; j++)
		{
			int64_t row = first + i + j;
			const float *x = row_of(rows, matrix, row);

			if (rows->metric == HY_METRIC_COSINE)
				rows->norm[i + j] =
					matrix->norms != NULL
						? matrix->norms[row]
						: hy_norm_sq(matrix->dtype, hy_matrix_row(matrix, row), matrix->dims);
			round_row(rows, x, i + j, rows->whole + (size_t) j * padded);
		}
		if (rows->side == HY_PANEL_QUERIES)
			hy_tile_pack_runs(rows->whole, padded, count, rows->padded, rows->width,
			                  rows->tiles->run, rows->panels + (size_t) i * padded);
		else if (count == rows->width)
			rows->tiles->interleave(rows->whole, padded, rows->padded,
			                        rows->panels + (size_t) i * padded);
		else
			hy_tile_pack(rows->whole, padded, count, rows->padded, rows->width,
			             rows->panels + (size_t) i * padded);
	}
}

HyPrefilterRows
hy_prefilter_rows_from(const HyPrefilterRows *rows, int i, const HyPrefilterRows *scratch)
{
	HyPrefilterRows some = *rows;

	some.panels += (size_t) i * (size_t) rows->padded;
	some.kind += i;
	some.scale += i;
	some.length += i;
	some.rest += i;
	some.norm += i;
	some.whole = scratch->whole;
	some.row = scratch->row;
	return some;
}

void
hy_prefilter_rows_extent(const HyPrefilterRows *queries, int count, HyPrefilterExtent *extent)
{
	int i;

	extent->longest = 0;
	extent->roughest = 0;
	for (i = 0; i < count; i++)
	{
		if (queries->kind[i] == HY_ROW_BOUNDED && queries->length[i] > 0)
		{
			double scale = queries->scale[i];

			extent->longest = fmax(extent->longest, queries->length[i] / scale);
			extent->roughest = fmax(extent->roughest, queries->rest[i] / scale);
		}
	}
}

void
hy_prefilter_rows_reach(const HyPrefilterRows *targets, int n, const HyPrefilterExtent *extent,
                        float *factor, float *reach)
{
	double slack = SUM_SLACK + targets->tiles->slack * targets->dims;
	int i;

	for (i = 0; i < n; i++)
	{
		double length = targets->length[i];
		double rest = targets->rest[i];

		factor[i] = targets->scale[i];
		reach[i] = (float) ((extent->longest * (rest + slack * length) +
		                     extent->roughest * (length + rest)) *
		                    ROUND_UP);
		if (targets->kind[i] == HY_ROW_UNBOUNDED)
			reach[i] = INFINITY;
		else if (targets->kind[i] == HY_ROW_NEVER)
			reach[i] = -INFINITY;
	}
	for (; i % targets->width != 0; i++)
	{
		factor[i] = 0.0f;
		reach[i] = -INFINITY;
	}
}

/* hy_add_scaled: work in steps of a fixed length, which the compiler can vectorize. */
void
hy_add_scaled(float *out, const float *a, const float *b, float scale, int n)
{
	int i;
	int j;

	for (i = 0; i + ADD_STEP <= n; i += ADD_STEP)
	{
		float sum[ADD_STEP];

		for (j = 0; j < ADD_STEP; j++)
			sum[j] = a[i + j] + scale * b[i + j];
		memcpy(out + i, sum, sizeof(sum));
	}
	for (; i < n; i++)
		out[i] = a[i] + scale * b[i];
}

static int
room_in_panels(int width, int room)
{
	return (room + width - 1) / width * width;
}

/* row_of: return a row as fp32, relative to middle.  The result is valid until the next call. */
static const float *
row_of(HyPrefilterRows *rows, const HyMatrix *matrix, int64_t row)
{
	const void *given = hy_matrix_row(matrix, row);
	const float *x = given;

	if (matrix->dtype != HY_F32)
	{
		hy_kernels()->widen_f16(rows->row, given, rows->dims);
		x = rows->row;
	}
	if (rows->middle == NULL)
		return x;
	hy_add_scaled(rows->row, x, rows->middle, -1, rows->dims);
	return rows->row;
}

static void
round_row(HyPrefilterRows *rows, const float *x, int i, int16_t *whole)
{
	bool cosine = rows->metric == HY_METRIC_COSINE;
	float square = cosine ? rows->norm[i] : hy_norm_sq(HY_F32, x, rows->dims);
	const HyTileKernels *tiles = rows->tiles;
	size_t filled = (size_t) rows->dims * (size_t) tiles->element;
	float largest = tiles->largest(x, rows->dims);
	double length = sqrt((double) square);
	double scale = length / tiles->length;
	float rest;

	rows->kind[i] = HY_ROW_BOUNDED;
	if (!(square >= SHORTEST && square <= LONGEST))
	{
		if (largest > 0)
			rows->kind[i] = HY_ROW_UNBOUNDED;
		else if (cosine)
			rows->kind[i] = HY_ROW_NEVER;
		rows->scale[i] = 0.0f;
		rows->length[i] = 0.0f;
		rows->rest[i] = 0.0f;
		memset(whole, 0, (size_t) rows->padded * sizeof(int16_t));
		return;
	}
	if (scale < largest / tiles->largest_element)
		scale = largest / tiles->largest_element;
	memset((char *) whole + filled, 0, (size_t) rows->padded * sizeof(int16_t) - filled);
	/*
	 * Add a margin for the rounding of the inverse, so that the largest element cannot exceed the
	 * range.
	 */
	scale *= 1 + 1e-6;
	rest = sqrtf(tiles->quantize(x, rows->dims, (float) (1 / scale), (float) scale, whole));
	rest *= REST_MARGIN;
	if (cosine)
	{
		rows->scale[i] = (float) ((double) (float) scale / length);
		rows->length[i] = 1.0f;
		rows->rest[i] = (float) (rest / length);
	}
	else
	{
		rows->scale[i] = (float) scale;
		rows->length[i] = (float) length;
		rows->rest[i] = rest;
	}
}
