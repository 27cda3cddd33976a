/*
 * maxsim.c
 *		MaxSim of a query and a document.
 *
 * If the query was rounded, the document is rounded as well, one block of rows at a time.  For each
 * vector of the query, the row with the largest rounded product is examined first.  Most other rows
 * have a bound below the canonical product of this row, and are excluded.  The rest are examined, too.
 */
#include "core/maxsim.h"

#include <math.h>

#include "core/distance.h"
#include "core/distance_blocks.h"
#include "core/prefilter_rows.h"
#include "core/tile.h"

#define LEAST_QUERIES 16   /* fewer vectors cost more to round than they save */
#define MOST_QUERIES 65536 /* more take too much memory */
#define BLOCK_BYTES (64 * 1024)
#define BLOCK_ROWS 256
#define POLL_ELEMENTS (1 << 20)

struct HyMaxsim
{
	const HyTileKernels *tiles;
	HyPrefilterRows *query;
	HyPrefilterExtent extent;
	HyPrefilterRows *target; /* the rows of a block */
	int block;               /* rows of a block, a multiple of the panel width */
	float *factor;           /* f and u of prefilter.h, for the rows of a block */
	float *reach;
	float *shift; /* zeros */
	float *dots;  /* products of a panel of queries with a block, tile by tile */
	float *best;  /* per vector of the query, the largest product so far; initially NaN */
};

static HyStatus
by_pairs(const HyMatrix *query, const HyMatrix *document, double *out, const HyCancel *cancel);
static void load_block(HyMaxsim *maxsim, const HyMatrix *document, int64_t first, int n);
static void multiply(HyMaxsim *maxsim, int panel, int n);
static void examine(HyMaxsim *maxsim, const HyMatrix *query, int i, const HyMatrix *document,
                    int64_t first, int n);
static int most_promising(const HyMaxsim *maxsim, int i, int n);
static float threshold_of(const HyMaxsim *maxsim, int i);
static inline void take(float *best, float product);

HyMaxsim *
hy_maxsim_create(const HyMatrix *query, const HyAllocator *allocator)
{
	const HyTileKernels *tiles = hy_tile_kernels();
	int count = (int) query->rows;
	HyMaxsim *maxsim;
	size_t block;

	if (query->rows < LEAST_QUERIES || query->rows > MOST_QUERIES)
		return NULL;
	maxsim = hy_alloc_zero(allocator, sizeof(HyMaxsim));
	if (maxsim == NULL)
		return NULL;
	block = BLOCK_BYTES / ((size_t) query->dims * 2);
	block = block < BLOCK_ROWS ? block : BLOCK_ROWS;
	block = (block / (size_t) tiles->targets + 1) * (size_t) tiles->targets;
	maxsim->tiles = tiles;
	maxsim->block = (int) block;
	maxsim->query = hy_prefilter_rows_create(allocator, HY_METRIC_IP, tiles, query->dims,
	                                         HY_PANEL_QUERIES, count);
	maxsim->target = hy_prefilter_rows_create(allocator, HY_METRIC_IP, tiles, query->dims,
	                                          HY_PANEL_TARGETS, maxsim->block);
	maxsim->factor = hy_alloc_array(allocator, block, sizeof(float));
	maxsim->reach = hy_alloc_array(allocator, block, sizeof(float));
	maxsim->shift = hy_alloc_zero(allocator, block * sizeof(float));
	maxsim->dots = hy_alloc_array(allocator, block, (size_t) tiles->queries * sizeof(float));
	maxsim->best = hy_alloc_array(allocator, (size_t) count, sizeof(float));
	if (maxsim->query == NULL || maxsim->target == NULL || maxsim->factor == NULL ||
	    maxsim->reach == NULL || maxsim->shift == NULL || maxsim->dots == NULL ||
	    maxsim->best == NULL)
	{
		hy_maxsim_free(maxsim, allocator);
		return NULL;
	}
	hy_prefilter_rows_load(maxsim->query, query, 0, count);
	hy_prefilter_rows_extent(maxsim->query, count, &maxsim->extent);
	return maxsim;
}

void
hy_maxsim_free(HyMaxsim *maxsim, const HyAllocator *allocator)
{
	if (maxsim == NULL)
		return;
	hy_prefilter_rows_free(allocator, maxsim->query);
	hy_prefilter_rows_free(allocator, maxsim->target);
	hy_free(allocator, maxsim->factor);
	hy_free(allocator, maxsim->reach);
	hy_free(allocator, maxsim->shift);
	hy_free(allocator, maxsim->dots);
	hy_free(allocator, maxsim->best);
	hy_free(allocator, maxsim);
}

HyStatus
hy_maxsim(const HyMatrix *query, HyMaxsim *rounded, const HyMatrix *document, double *out,
          const HyCancel *cancel)
{
	int queries = (int) query->rows;
	double sum = 0;
	int64_t work = 0;
	int64_t first;
	int panel;
	int i;

	if (query->rows < 1 || document->rows < 1 || !hy_shapes_agree(HY_METRIC_IP, query, document))
		return HY_INVALID;
	if (rounded == NULL)
		return by_pairs(query, document, out, cancel);
	for (i = 0; i < queries; i++)
		rounded->best[i] = NAN;
	for (first = 0; first < document->rows; first += rounded->block)
	{
		int64_t left = document->rows - first;
		int n = left < rounded->block ? (int) left : rounded->block;

		load_block(rounded, document, first, n);
		for (panel = 0; panel < queries; panel += rounded->tiles->queries)
		{
			work += (int64_t) n * query->dims * rounded->tiles->queries;
			if (work >= POLL_ELEMENTS)
			{
				work = 0;
				if (hy_cancelled(cancel))
					return HY_CANCELLED;
			}
			multiply(rounded, panel, n);
			for (i = panel; i < queries && i < panel + rounded->tiles->queries; i++)
				examine(rounded, query, i, document, first, n);
		}
	}
	for (i = 0; i < queries; i++)
		sum += rounded->best[i];
	*out = isnan(sum) ? (double) NAN : sum;
	return HY_OK;
}

/* by_pairs: compute MaxSim from the canonical products of all pairs. */
static HyStatus
by_pairs(const HyMatrix *query, const HyMatrix *document, double *out, const HyCancel *cancel)
{
	const HyPairKernels *pair = &hy_kernels()->pair[document->dtype];
	double sum = 0;
	int64_t work = 0;
	int64_t q;
	int64_t t;

	for (q = 0; q < query->rows; q++)
	{
		float best = NAN;

		for (t = 0; t < document->rows; t++)
		{
			work += query->dims + HY_LANES;
			if (work >= POLL_ELEMENTS)
			{
				work = 0;
				if (hy_cancelled(cancel))
					return HY_CANCELLED;
			}
			take(&best, pair->ip(hy_matrix_row(query, q), hy_matrix_row(document, t), query->dims));
		}
		sum += best;
	}
	*out = isnan(sum) ? (double) NAN : sum;
	return HY_OK;
}

/* load_block: round n rows of the document. */
static void
load_block(HyMaxsim *maxsim, const HyMatrix *document, int64_t first, int n)
{
	hy_prefilter_rows_load(maxsim->target, document, first, n);
	hy_prefilter_rows_reach(maxsim->target, n, &maxsim->extent, maxsim->factor, maxsim->reach);
}

/* multiply: compute the rounded products of a panel of queries with the n rows of the block. */
static void
multiply(HyMaxsim *maxsim, int panel, int n)
{
	const HyTileKernels *tiles = maxsim->tiles;
	const int16_t *left = hy_prefilter_rows_panel(maxsim->query, panel);
	int pairs = maxsim->query->padded / 2;
	int t;

	if (tiles->begin != NULL)
		tiles->begin();
	for (t = 0; t < n; t += tiles->targets)
		tiles->dots(left, hy_prefilter_rows_panel(maxsim->target, t), pairs,
		            maxsim->dots + (size_t) t * (size_t) tiles->queries);
	if (tiles->end != NULL)
		tiles->end();
}

/*
 * examine: compute the canonical products of vector i of the query with the rows of the block whose
 * product may be its largest.
 */
static void
examine(HyMaxsim *maxsim, const HyMatrix *query, int i, const HyMatrix *document, int64_t first,
        int n)
{
	const HyTileKernels *tiles = maxsim->tiles;
	const HyPairKernels *pair = &hy_kernels()->pair[document->dtype];
	const float *dots = maxsim->dots + i % tiles->queries * tiles->targets;
	const float *a = hy_matrix_row(query, i);
	int promising = most_promising(maxsim, i, n);
	float *best = &maxsim->best[i];
	int t;

	take(best, pair->ip(a, hy_matrix_row(document, first + promising), query->dims));
	for (t = 0; t < n; t += tiles->targets)
	{
		HyTileTargets rows = {maxsim->factor + t, maxsim->reach + t, maxsim->shift};
		uint32_t there = n - t < tiles->targets ? (UINT32_C(1) << (n - t)) - 1 : UINT32_MAX;
		uint32_t bits = tiles->reaching(dots + (size_t) t * (size_t) tiles->queries, &rows, 0.0f,
		                                threshold_of(maxsim, i)) &
		                there;

		for (; bits != 0; bits &= bits - 1)
		{
			int row = t + __builtin_ctz(bits);

			if (row != promising)
				take(best, pair->ip(a, hy_matrix_row(document, first + row), query->dims));
		}
	}
}

/*
 * most_promising: return the row of the block that has the largest rounded product with vector i.
 */
static int
most_promising(const HyMaxsim *maxsim, int i, int n)
{
	const HyTileKernels *tiles = maxsim->tiles;
	const float *dots = maxsim->dots + i % tiles->queries * tiles->targets;
	float most = -INFINITY;
	int row = 0;
	int t;
	int j;

	for (t = 0; t < n; t += tiles->targets, dots += tiles->queries * tiles->targets)
	{
		for (j = 0; j < tiles->targets && t + j < n; j++)
		{
			float product = maxsim->factor[t + j] * dots[j];

			if (product > most)
			{
				most = product;
				row = t + j;
			}
		}
	}
	return row;
}

/*
 * threshold_of: return t of prefilter.h, rounded down.  A row whose bound is below t cannot have
 * the largest product.
 */
static float
threshold_of(const HyMaxsim *maxsim, int i)
{
	const HyPrefilterRows *rows = maxsim->query;
	double t = maxsim->best[i] / (double) rows->scale[i];

	if (rows->kind[i] == HY_ROW_UNBOUNDED || !(rows->length[i] > 0) || isnan(t))
		return -INFINITY;
	return isinf(t) ? (float) t : (float) (t - fabs(t) * 1e-6);
}

/* take: keep a product if it is larger than the largest so far.  NaN does not count. */
static inline void
take(float *best, float product)
{
	if (!(product <= *best) && !isnan(product))
		*best = product;
}
