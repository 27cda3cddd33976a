/*
 * scorer.c
 *		Compute estimates, bounds and distances from a query, using codes, centroids and vectors.
 */
#include "postgres.h"

#include <math.h>

#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/varbit.h"

#include "core/distance.h"

#include "index/page/buffers.h"
#include "index/page/list_read.h"
#include "index/tree/scorer.h"
#include "index/tree/tree.h"
#include "index/page/distance_bound.h"

/* minimum number of standard deviations by which estimates from only a third of a block's codes may be wrong */
#define EARLY 3.0f
#define SAMPLED 4 /* number of rows that hybrid_scorer_sample measures in each of the first lists */
#define FIRST 4   /* number of these first lists; in each later list, one row is measured */
#define TABLE_BYTES 16 /* bytes of a block's codes for each table of four dimensions */

static HybridReach reach_of(HybridScorer *scorer, const void *view, HyDtype dtype, float *copy);
static void score_wanted(HybridScorer *scorer, const HybridAim *aim, const HyCodeBlocks *blocks,
                         int from, int to, const uint32 *wanted);
static void score_blocks(HybridScorer *scorer, const HybridAim *aim, const HyCodeBlocks *blocks,
                         int from, int count, bool whole);
static double distance_of(HybridScorer *scorer, const HybridLink *list, HybridVectorPosition at,
                          HyTaxicab *measured, HybridStored *stored);
static double taxicab_unit(const HybridScorer *scorer, double distance, float deviations);
static void place_query(HybridScorer *scorer, const float *x, float norm);
static Buffer
lock_vector(const HybridScorer *scorer, const HybridLink *list, HybridVectorPosition at);

void
hybrid_scorer_init(HybridScorer *scorer, Relation index, const HybridIndex *open)
{
	const HybridLayout *layout;
	int rows;

	memset(scorer, 0, sizeof(*scorer));
	scorer->index = index;
	scorer->open = *open;
	layout = &scorer->open.layout;
	scorer->frame_context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid frame", ALLOCSET_SMALL_SIZES);
	scorer->place = palloc(layout->dims * sizeof(float));
	scorer->absolute = palloc(layout->dims * sizeof(float));
	scorer->rotated = palloc(layout->padded * sizeof(float));
	scorer->tables = palloc(hy_code_tables_size(layout->padded));
	rows = Max(layout->leaf.rows, layout->inner.rows);
	scorer->estimates = palloc(rows * sizeof(float));
	scorer->lowers = palloc(rows * sizeof(float));
	scorer->masks = palloc(rows / HY_CODE_ROWS * sizeof(uint32));
	scorer->taken = palloc(rows / HY_CODE_ROWS * sizeof(uint32));
	scorer->vector = palloc(Max(layout->leaf.stride, layout->inner.stride));
	if (open->opclass->square != NULL)
		scorer->value = palloc(VARBITTOTALLEN(layout->dims));
	scorer->widened = palloc(layout->dims * sizeof(float));
}

void
hybrid_scorer_query(HybridScorer *scorer, const HybridProbe *probe)
{
	hybrid_scorer_begin(scorer, probe);
	hybrid_scorer_place(scorer, 0);
}

void
hybrid_scorer_begin(HybridScorer *scorer, const HybridProbe *probe)
{
	scorer->probe = probe;
	if (scorer->value != NULL)
		hybrid_bit_value(probe->x, probe->dims, scorer->value);
	hybrid_tree_read(scorer->index, &scorer->tree);
	if (!scorer->framed || scorer->center != scorer->tree.center)
	{
		MemoryContext old;

		MemoryContextReset(scorer->frame_context);
		old = MemoryContextSwitchTo(scorer->frame_context);
		hybrid_frame_open(&scorer->frame, scorer->index, &scorer->open, scorer->tree.center);
		scorer->center = scorer->tree.center;
		scorer->framed = true;
		MemoryContextSwitchTo(old);
	}
	hy_taxicab_clear(&scorer->read, probe->dims);
	hy_taxicab_clear(&scorer->sampled, probe->dims);
}

void
hybrid_scorer_place(HybridScorer *scorer, float length)
{
	const float *x = scorer->probe->x;
	int dims = scorer->open.layout.dims, i;
	float norm = hy_norm_sq(HY_F32, x, dims), factor = length / sqrtf(norm);

	scorer->stretch = 1;
	if (factor > 0 && isfinite(factor))
	{
		scorer->stretch = factor;
		for (i = 0; i < dims; i++)
			scorer->absolute[i] = x[i] * factor;
		x = scorer->absolute;
		norm = length * length;
	}
	place_query(scorer, x, norm);
}

HybridReach
hybrid_scorer_root(const HybridScorer *scorer)
{
	float norm = hy_norm_sq(HY_F32, scorer->place, scorer->open.layout.dims);
	HybridReach root;

	root.base = scorer->open.metric == HY_METRIC_IP ? -scorer->along : norm;
	root.reach = sqrtf(norm);
	return root;
}

void
hybrid_scorer_aim(HybridScorer *scorer, const HybridReach *reach, float eps, float threshold,
                  HybridAim *aim)
{
	aim->limits.base = reach->base;
	aim->limits.reach = reach->reach;
	aim->limits.eps = eps;
	aim->limits.threshold = threshold;
	aim->limits.early = isfinite(threshold) ? Max(eps, EARLY) : 0;
	hy_code_scorer_init(&aim->meeting, &scorer->query, &aim->limits);
	aim->whole = 0;
	aim->also = -1;
}

void
hybrid_scorer_page(HybridScorer *scorer, Page page, const HybridLink *list, const HybridAim *aim,
                   const uint32 *wanted, BlockNumber next)
{
	const HybridLayout *layout = &scorer->open.layout;
	const HybridListLayout *shape = &layout->leaf;
	HybridBlock *first = hybrid_block(shape, page, 0);
	uint32 sums[HY_CODE_ROWS];
	int also, i;

	if (shape->code_pages == 0)
	{
		const char *fetched = hybrid_buffer_guess(scorer->index, next);
		HyCodeBlocks blocks;

		blocks.codes = hybrid_block_codes(shape, first);
		blocks.code_stride = shape->block_bytes;
		blocks.factors = &first->factors;
		blocks.factor_stride = shape->block_bytes;
		blocks.count = hybrid_list_blocks(page);
		blocks.next = fetched == NULL
		                  ? NULL
		                  : (const uint8 *) fetched + shape->first_block + shape->codes_offset;
		also = aim->also < 0 ? (int) blocks.count : aim->also;
		score_blocks(scorer, aim, &blocks, 0, aim->whole, true);
		score_wanted(scorer, aim, &blocks, aim->whole, also, wanted);
		if (aim->also >= 0)
		{
			score_blocks(scorer, aim, &blocks, also, 1, true);
			score_wanted(scorer, aim, &blocks, also + 1, (int) blocks.count, wanted);
		}
		return;
	}
	scorer->masks[0] = 0;
	if (wanted != NULL && wanted[0] == 0 && aim->whole == 0 && aim->also < 0)
		return;
	memset(sums, 0, sizeof(sums));
	for (i = 0; i < shape->code_pages; i++)
	{
		BlockNumber block = hybrid_directory(page)[i];
		Buffer buffer = hybrid_part_read(scorer->index, list, HYBRID_PAGE_CODES, block, NULL);
		Size begin, length;

		hybrid_codes_range(layout, i, &begin, &length);
		hy_code_sums(&scorer->query, (const uint8 *) PageGetContents(BufferGetPage(buffer)),
		             (int) (begin / TABLE_BYTES), (int) (length / TABLE_BYTES), sums);
		UnlockReleaseBuffer(buffer);
	}
	scorer->masks[0] = hy_code_bounds(&scorer->query, sums, &first->factors, &aim->limits,
	                                  scorer->estimates, scorer->lowers);
}

/* score_wanted: score those of blocks `from` to `to` - 1 that have wanted rows. Set the masks of the others to 0. */
static void
score_wanted(HybridScorer *scorer, const HybridAim *aim, const HyCodeBlocks *blocks, int from,
             int to, const uint32 *wanted)
{
	while (from < to)
	{
		int end = from;

		while (end < to && (wanted == NULL || wanted[end] != 0))
			end++;
		score_blocks(scorer, aim, blocks, from, end - from, false);
		for (from = end; from < to && wanted[from] == 0; from++)
			scorer->masks[from] = 0;
	}
}

/* score_blocks: score `count` blocks of a page. If `whole` is set, each block is scored in full. */
static void
score_blocks(HybridScorer *scorer, const HybridAim *aim, const HyCodeBlocks *blocks, int from,
             int count, bool whole)
{
	HyCodeScorer meeting = aim->meeting;
	HyCodeBlocks some = *blocks;

	if (count <= 0)
		return;
	if (whole)
		meeting.early.count = meeting.count;
	some.codes += from * blocks->code_stride;
	some.factors = (const void *) ((const char *) blocks->factors + from * blocks->factor_stride);
	some.count = count;
	hy_code_scorer_run(&meeting, &some, scorer->estimates + from * HY_CODE_ROWS,
	                   scorer->lowers + from * HY_CODE_ROWS, scorer->masks + from);
}

HybridVectorPosition
hybrid_scorer_position(const HybridScorer *scorer, Page page, BlockNumber block, int level,
                       int slot)
{
	const HybridLayout *layout = &scorer->open.layout;
	const HybridListLayout *shape = hybrid_list_layout(layout, level);
	HybridVectorPosition at = {block, slot};

	if (shape->span == 1)
	{
		at.block = hybrid_directory(page)[shape->code_pages + slot / shape->per_page];
		at.slot = slot % shape->per_page;
	}
	return at;
}

void
hybrid_scorer_expect(const HybridScorer *scorer, HybridVectorPosition at)
{
	const HybridListLayout *shape = &scorer->open.layout.leaf;

	if (shape->span == 1)
		hybrid_buffer_expect(scorer->index, at.block,
		                     SizeOfPageHeaderData + at.slot * shape->stride, shape->stride);
}

void
hybrid_scorer_read(HybridScorer *scorer, const HybridLink *list, int level, HybridVectorPosition at,
                   HybridStored *stored, void *vector)
{
	const HybridLayout *layout = &scorer->open.layout;
	const HybridListLayout *shape = hybrid_list_layout(layout, level);
	Buffer buffer;

	if (shape->span > 1)
	{
		buffer = hybrid_list_read(scorer->index, layout, list, level, at.block, NULL);
		hybrid_vector_read(scorer->index, layout,
		                   (HybridSlot){BufferGetPage(buffer), level, at.slot}, stored, vector,
		                   NULL);
	}
	else
	{
		buffer = lock_vector(scorer, list, at);
		*stored = *hybrid_stored(BufferGetPage(buffer), at.slot);
		memcpy(vector, hybrid_vectors(BufferGetPage(buffer)) + at.slot * shape->stride,
		       shape->stride);
	}
	UnlockReleaseBuffer(buffer);
}

HybridReach
hybrid_scorer_reach(HybridScorer *scorer, const HybridStored *stored, const void *vector,
                    float *copy)
{
	const HybridLayout *layout = &scorer->open.layout;
	HyDtype dtype;
	const void *view = hybrid_stored_view(layout->inner.storage, stored, vector, layout->dims,
	                                      scorer->widened, &dtype);

	return reach_of(scorer, view, dtype, copy);
}

HybridReach
hybrid_scorer_reach_place(HybridScorer *scorer, const float *place)
{
	return reach_of(scorer, place, HY_F32, NULL);
}

/*
 * reach_of: return the distance to a centroid, which is given in a form that the distance kernels accept.
 * If `copy` is not NULL, it receives the centroid (dims floats).
 */
static HybridReach
reach_of(HybridScorer *scorer, const void *view, HyDtype dtype, float *copy)
{
	int dims = scorer->open.layout.dims;
	double squared = hy_l2_squared(scorer->place, dtype, view, dims);
	HybridReach reach;

	reach.reach = (float) sqrt(squared);
	reach.base = (float) squared;
	if (scorer->open.metric == HY_METRIC_IP)
		reach.base = (float) hy_distance_to(HY_METRIC_IP, scorer->absolute, dtype, view, dims) -
		             scorer->along;
	if (copy != NULL && dtype == HY_F32)
		memcpy(copy, view, dims * sizeof(float));
	else if (copy != NULL)
		hy_kernels()->widen_f16(copy, view, dims);
	return reach;
}

double
hybrid_scorer_row(HybridScorer *scorer, const HybridLink *list, HybridVectorPosition at,
                  float *width)
{
	HybridStored stored;
	double distance = distance_of(scorer, list, at, &scorer->read, &stored), lower, more;

	lower = hybrid_lower_bound(scorer->probe, distance, stored.norm, stored.residual);
	more = hybrid_upper_bound(scorer->probe, distance, stored.norm, stored.residual) - lower;
	*width = more > 0 ? nextafterf((float) more, INFINITY) : 0;
	return lower;
}

/* distance_of: return the distance of a row's stored vector. For taxicab distance, also add the row to *measured. */
static double
distance_of(HybridScorer *scorer, const HybridLink *list, HybridVectorPosition at,
            HyTaxicab *measured, HybridStored *stored)
{
	const HybridLayout *layout = &scorer->open.layout;
	const HybridOpclass *opclass = scorer->open.opclass;
	const void *vector = scorer->vector, *view;
	Buffer buffer = InvalidBuffer;
	HyDtype dtype;
	double distance;

	if (layout->leaf.span > 1)
		hybrid_scorer_read(scorer, list, 0, at, stored, scorer->vector);
	else
	{
		buffer = lock_vector(scorer, list, at);
		*stored = *hybrid_stored(BufferGetPage(buffer), at.slot);
		vector = hybrid_vectors(BufferGetPage(buffer)) + at.slot * layout->leaf.stride;
	}
	if (scorer->value != NULL)
		distance = opclass->distance(opclass->metric, layout->dims, scorer->value, vector);
	else
	{
		view = hybrid_stored_view(layout->leaf.storage, stored, vector, layout->dims,
		                          scorer->widened, &dtype);
		distance = hy_distance_to(scorer->open.metric, scorer->probe->x, dtype, view, layout->dims);
		if (scorer->open.metric == HY_METRIC_L1)
			hy_taxicab_add(measured, distance,
			               hy_l2_squared(scorer->probe->x, dtype, view, layout->dims));
	}
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
	return distance;
}

void
hybrid_scorer_sample(HybridScorer *scorer, const HybridLink *list)
{
	const HybridLayout *layout = &scorer->open.layout;
	HybridVectorPosition at[SAMPLED];
	HybridStored stored;
	Buffer buffer;
	int some = scorer->sampled.rows < FIRST * SAMPLED ? SAMPLED : 1, used, count = 0, i;

	if (scorer->open.metric != HY_METRIC_L1)
		return;
	buffer = hybrid_list_read(scorer->index, layout, list, 0, list->head, NULL);
	used = hybrid_list_page(BufferGetPage(buffer))->used;
	for (i = 0; i < some; i++)
	{
		int slot = used * i / some;
		const HybridBlock *block =
			hybrid_block(&layout->leaf, BufferGetPage(buffer), slot / HY_CODE_ROWS);

		if (slot < used && (block->live & (1U << (slot % HY_CODE_ROWS))) != 0)
			at[count++] =
				hybrid_scorer_position(scorer, BufferGetPage(buffer), list->head, 0, slot);
	}
	UnlockReleaseBuffer(buffer);
	for (i = 0; i < count; i++)
		(void) distance_of(scorer, list, at[i], &scorer->sampled, &stored);
}

float
hybrid_scorer_unit(const HybridScorer *scorer, double distance, float deviations)
{
	if (scorer->value != NULL)
		return (float) scorer->open.opclass->square(distance, scorer->length);
	switch (scorer->open.metric)
	{
		case HY_METRIC_L2:
			return (float) (distance * distance);
		case HY_METRIC_COSINE:
			return (float) (2 * distance);
		case HY_METRIC_L1:
			return (float) taxicab_unit(scorer, distance, deviations);
		default:
			return (float) (distance * scorer->stretch);
	}
}

/* taxicab_unit: do the work of hybrid_scorer_unit for taxicab distance. */
static double
taxicab_unit(const HybridScorer *scorer, double distance, float deviations)
{
	double square;

	if (!hy_taxicab_known(&scorer->read))
		return INFINITY;
	square = hy_taxicab_square(&scorer->read, distance, deviations);
	if (hy_taxicab_known(&scorer->sampled))
		square = Max(square, hy_taxicab_square(&scorer->sampled, distance, deviations));
	return square;
}

/* place_query: compute the place of the query x (frame.h), and all that depends on the place. `norm` is |x|^2. */
static void
place_query(HybridScorer *scorer, const float *x, float norm)
{
	const HybridLayout *layout = &scorer->open.layout;
	const float *center = scorer->frame.center;
	int i;

	hybrid_frame_place(&scorer->frame, x, norm, scorer->place);
	hy_rotation_apply(scorer->frame.rotation, scorer->place, scorer->rotated);
	hy_code_query_init(&scorer->query, scorer->rotated, layout->padded, scorer->tables);
	scorer->along = 0;
	scorer->length = (float) sqrt(norm);
	if (scorer->open.metric != HY_METRIC_IP)
		return;
	for (i = 0; i < layout->dims; i++)
		scorer->absolute[i] = scorer->place[i] + (center != NULL ? center[i] : 0);
	if (center != NULL)
		scorer->along = (float) -hy_distance(HY_METRIC_IP, scorer->absolute, center, layout->dims);
}

/* lock_vector: return the page of a vector, locked in share mode. Raises an error if the page lacks the slot. */
static Buffer
lock_vector(const HybridScorer *scorer, const HybridLink *list, HybridVectorPosition at)
{
	Buffer buffer = hybrid_part_read(scorer->index, list, HYBRID_PAGE_VECTORS, at.block, NULL);

	if (at.slot >= hybrid_special(BufferGetPage(buffer))->count)
		ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
		                errmsg("index \"%s\" lacks a vector at block %u",
		                       RelationGetRelationName(scorer->index), at.block)));
	return buffer;
}
