/*
 * postings_pass.c
 *		A pass of an exact scan over sparse vectors, by their inverted lists.
 *
 * The pass goes through the list pages. At a page that names another segment than the page before, it adds up the
 * segment's postings for the query's dimensions (core/postings.h). The sums give a lower and an upper bound of the
 * distance of each row that the segment describes. A row is excluded if its lower bound is above the k-th least upper
 * bound, or above the distance of the k-th nearest candidate. Equal distances are ordered by position. The two bounds
 * of a row are nearly equal, so only a few more than k values must be read. They are read after the last page of the
 * segment, because only then the k-th least upper bound is known.
 *
 * No lock is held from one page to the next. When a list page is read again, it may name another segment, which is then
 * scored. It is safe that an old segment excludes a row: the row was live on a page that named this segment, and was not
 * fresh (written after the segment). So the row was the one that the segment describes.
 *
 * (500,000 rows of 120 elements in 30,000 dimensions by Zipf's law, queries of 40 elements, bench/types.sh sparse: 237
 * queries/s, against 2.7 queries/s by a scan of the table.)
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "server/compat.h"
#include "server/memory.h"
#include "server/position.h"
#include "types/sparsevec.h"

#include "index/page/list_read.h"
#include "index/scan/postings_pass.h"
#include "index/tree/tree.h"

#define FIRST_ROOM 256
#define TRIES 100 /* number of times that a list page is read again because its segment is gone */

static void read_page(IndexScanDesc scan);
static bool score_segment(IndexScanDesc scan, HybridLink link);
static bool add_dimension(HybridPostingsPass *pass, const HybridSegmentReader *reader,
                          HyMetric metric, int element);
static bool add_page(HybridPostingsPass *pass, const HybridSegmentReader *reader, HyMetric metric,
                     int element, BlockNumber *block, float *step, float *loss);
static bool find_rows(IndexScanDesc scan, HybridLink *link);
static void
find_row(HybridScan *state, const HybridBlock *block, int row, BlockNumber number, int slot);
static uint32 near_rows(HybridScan *state, const HybridBlock *block, int b);
static const float *sums_of(const HybridScan *state, int slot, int count);
static double limit_of(const HyTopK *nearest);
static bool is_beyond(const HyNeighbor *lower, const HyTopK *nearest);
static void read_found(IndexScanDesc scan);

HybridPostingsPass *
hybrid_postings_pass_new(void)
{
	HybridPostingsPass *pass = palloc0(sizeof(HybridPostingsPass));

	pass->sums = palloc(HY_POSTING_ROWS * sizeof(float));
	pass->context = CurrentMemoryContext;
	return pass;
}

void
hybrid_postings_pass(IndexScanDesc scan)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	HybridPostingsPass *pass = state->postings;
	int k = state->candidates.k, tries = 0;

	pass->query = hybrid_sparsevec_view((HybridSparsevec *) unconstify(void *, state->value));
	pass->segment.head = InvalidBlockNumber;
	pass->count = 0;
	/* an index without codes has one list */
	pass->list = state->store.lists[0];
	/* a segment has at most HY_POSTING_ROWS rows; with a greater k, it has no k-th least upper bound */
	if (k < HY_POSTING_ROWS)
		hy_topk_init(&pass->nearest, palloc(k * sizeof(HyNeighbor)), k);
	else
		memset(&pass->nearest, 0, sizeof(pass->nearest));
	while (state->store.list < state->store.stop)
	{
		HybridLink link;

		CHECK_FOR_INTERRUPTS();
		if (find_rows(scan, &link))
			continue;
		if (!BlockNumberIsValid(link.head))
		{
			read_page(scan);
			continue;
		}
		read_found(scan);
		if (score_segment(scan, link))
			tries = 0;
		/* VACUUM has replaced the segment, so the list page should name another one now */
		else if (tries++ == TRIES)
			ereport(ERROR,
			        (errcode(ERRCODE_INDEX_CORRUPTED),
			         errmsg("index \"%s\" refers to block %u as a segment, but it is not one",
			                RelationGetRelationName(scan->indexRelation), link.head),
			         errhint("REINDEX it.")));
	}
	read_found(scan);
	hybrid_scan_score_batch(scan);
	if (pass->nearest.items != NULL)
		pfree(pass->nearest.items);
}

/* read_page: read the rows of the current list page, which no segment describes, and go to the next page. */
static void
read_page(IndexScanDesc scan)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	HybridStore *store = &state->store;
	HybridScanBatch *batch = &state->batch;
	BlockNumber block = store->block;
	int64 excluded = store->excluded;

	while (store->list < store->stop && store->block == block)
	{
		batch->rows = hybrid_store_read_page(store, &batch->store, batch->rows, batch->capacity);
		if (batch->rows == batch->capacity)
			hybrid_scan_score_batch(scan);
	}
	/* hybrid_last_scan() reports rows - excluded, so excluded rows are counted in both */
	state->done.work.rows += store->excluded - excluded;
}

/* score_segment: compute the sums of the rows of a segment. Returns false if the segment no longer exists. */
static bool
score_segment(IndexScanDesc scan, HybridLink link)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	HybridPostingsPass *pass = state->postings;
	HyMetric metric = state->index.metric;
	HybridSegmentReader reader;
	bool there = true;
	int i;

	pass->segment.head = InvalidBlockNumber;
	if (!hybrid_segment_open(scan->indexRelation, link, &reader))
		return false;
	hy_postings_clear(pass->sums);
	hy_postings_begin(&pass->bounds, metric, &pass->query);
	for (i = 0; i < pass->query.count && there; i++)
	{
		CHECK_FOR_INTERRUPTS();
		there = add_dimension(pass, &reader, metric, i);
	}
	hybrid_segment_close(&reader);
	pass->nearest.count = 0;
	hy_postings_test_init(&pass->test, &pass->bounds, INFINITY);
	pass->first = reader.head.first;
	pass->pages = reader.head.pages;
	if (there)
		pass->segment = link;
	return there;
}

/*
 * add_dimension: add the postings for the dimension of element number `element` of the query. Returns false if the
 * segment no longer exists.
 */
static bool
add_dimension(HybridPostingsPass *pass, const HybridSegmentReader *reader, HyMetric metric,
              int element)
{
	float step = 0, loss = 0;
	BlockNumber block;
	uint32 pages = 0;

	if (!hybrid_segment_find(reader, pass->query.indices[element], &block))
		return false;
	while (BlockNumberIsValid(block))
	{
		hybrid_chain_step(reader->index, &reader->link, &pages);
		if (!add_page(pass, reader, metric, element, &block, &step, &loss))
			return false;
	}
	if (step > 0)
		hy_postings_dimension(&pass->bounds, pass->query.values[element], step, loss);
	return true;
}

/*
 * add_page: add the postings for the element's dimension that are on page *block. Sets *block to the next page that may
 * have such postings, or to InvalidBlockNumber. Returns false if the segment no longer exists.
 */
static bool
add_page(HybridPostingsPass *pass, const HybridSegmentReader *reader, HyMetric metric, int element,
         BlockNumber *block, float *step, float *loss)
{
	int32 dim = pass->query.indices[element];
	Buffer buffer = hybrid_segment_page(reader, HYBRID_PAGE_POSTINGS, *block);
	const HybridRun *run = NULL;
	BlockNumber next;
	Page page;

	if (!BufferIsValid(buffer))
		return false;
	page = BufferGetPage(buffer);
	next = ((const HybridPostings *) PageGetContents(page))->next;
	while ((run = hybrid_run_next(reader->index, *block, page, run)) != NULL)
	{
		if (run->dim > dim)
		{
			next = InvalidBlockNumber;
			break;
		}
		if (run->dim < dim)
			continue;
		hy_postings_add(metric, pass->query.values[element], run->step, hybrid_run_rows(run),
		                hybrid_run_multiples(run), run->count, pass->sums);
		*step = Max(*step, run->step);
		*loss = Max(*loss, run->loss);
	}
	*block = next;
	UnlockReleaseBuffer(buffer);
	return true;
}

/*
 * find_rows: find the rows of the current page that may be among the nearest, and go to the next page. Sets *link to
 * the segment that the page names. If the sums of this segment are not known, does nothing else and returns false.
 */
static bool
find_rows(IndexScanDesc scan, HybridLink *link)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	HybridPostingsPass *pass = state->postings;
	HybridStore *store = &state->store;
	const HybridListLayout *shape = &store->open.layout.leaf;
	Buffer buffer = hybrid_list_read(store->index, &store->open.layout, &store->lists[store->list],
	                                 0, store->block, NULL);
	Page page = BufferGetPage(buffer);
	HybridListPage *content = hybrid_list_page(page);
	BlockNumber next = content->next;
	bool described;
	int b;

	*link = *hybrid_list_segment(content);
	described = BlockNumberIsValid(link->head) && hybrid_same_link(link, &pass->segment);
	TestForOldSnapshot(store->snapshot, store->index, page);
	for (b = 0; described && b * HY_CODE_ROWS < content->used; b++)
	{
		HybridBlock *block = hybrid_block(shape, page, b);
		uint32 mask = block->live;

		state->done.work.rows += pg_popcount32(mask);
		if (store->conditions_count > 0)
		{
			mask &= hy_words_mask(store->conditions, store->conditions_count,
			                      hybrid_block_words(block), block->live);
			store->excluded += pg_popcount32(block->live & ~mask);
		}
		mask &= near_rows(state, block, b) | block->fresh;
		for (; mask != 0; mask &= mask - 1)
		{
			int row = pg_rightmost_one_pos32(mask);

			find_row(state, block, row, store->block, b * HY_CODE_ROWS + row);
		}
	}
	UnlockReleaseBuffer(buffer);
	if (described)
		hybrid_store_pass_page(store, next);
	return described;
}

/*
 * near_rows: return a mask of the rows of block number b of the current page that may be among the nearest. This test
 * is cheap and rejects most rows; find_row tests the others more closely.
 */
static uint32
near_rows(HybridScan *state, const HybridBlock *block, int b)
{
	HybridPostingsPass *pass = state->postings;
	double limit = Min(limit_of(&state->candidates), limit_of(&pass->nearest));
	const float *sums = sums_of(state, b * HY_CODE_ROWS, HY_CODE_ROWS);

	if (sums == NULL)
		return PG_UINT32_MAX;
	if (limit != pass->test.limit)
		hy_postings_test_init(&pass->test, &pass->bounds, limit);
	return hy_postings_near(&pass->test, sums, block->factors.add);
}

/* sums_of: return the sums of `count` slots of the current page from `slot`, or NULL if the index is damaged. */
static const float *
sums_of(const HybridScan *state, int slot, int count)
{
	const HybridPostingsPass *pass = state->postings;
	uint32 page = state->store.pages - pass->first;
	uint32 row = page * state->index.layout.leaf.rows + slot;

	if (page >= pass->pages || row + count > HY_POSTING_ROWS)
		return NULL;
	return pass->sums + row;
}

/* limit_of: return the distance that a row must not exceed to be among the k nearest: infinite if fewer are known. */
static double
limit_of(const HyTopK *nearest)
{
	return nearest->k > 0 && nearest->count == nearest->k ? nearest->items[0].distance : INFINITY;
}

/* find_row: add a row to pass->found if it may be among the nearest. */
static void
find_row(HybridScan *state, const HybridBlock *block, int row, BlockNumber number, int slot)
{
	HybridPostingsPass *pass = state->postings;
	const float *sum = (block->fresh & (1U << row)) == 0 ? sums_of(state, slot, 1) : NULL;
	HyNeighbor lower = {.distance = -INFINITY, .row = hybrid_position(&block->tid[row])};
	HyNeighbor upper = {.distance = INFINITY, .row = lower.row};

	if (sum != NULL)
		hy_postings_bound(&pass->bounds, *sum, block->factors.add[row], &lower.distance,
		                  &upper.distance);
	/* Skip a row that earlier passes have returned, unless its distance may be NaN, which comes after all others. */
	if (state->bounded && isfinite(upper.distance) &&
	    hy_neighbor_compare(&upper, &state->last) <= 0)
		return;
	if (is_beyond(&lower, &state->candidates) || is_beyond(&lower, &pass->nearest))
		return;
	if (pass->nearest.k > 0 && isfinite(upper.distance) &&
	    (!state->bounded || hy_neighbor_compare(&lower, &state->last) > 0))
		(void) hy_topk_push(&pass->nearest, upper.distance, upper.row);
	if (pass->count == pass->room)
	{
		pass->room = Max(pass->room * 2, FIRST_ROOM);
		pass->found =
			hybrid_enlarge(pass->context, pass->found, pass->room * sizeof(HybridPostingsRow));
	}
	pass->found[pass->count].block = number;
	pass->found[pass->count].slot = (uint16) slot;
	pass->found[pass->count].upper = upper.distance;
	pass->found[pass->count++].lower = lower;
}

/* is_beyond: test whether a row comes after the k nearest known rows, in the order of distance and position. */
static bool
is_beyond(const HyNeighbor *lower, const HyTopK *nearest)
{
	return nearest->k > 0 && nearest->count == nearest->k &&
	       hy_neighbor_compare(lower, &nearest->items[0]) > 0;
}

/*
 * read_found: compute the distances of the rows in pass->found that may still be among the nearest.
 *
 * VACUUM may have removed such a row since its bounds were computed, and another row may be in its slot. The snapshot
 * sees neither of them. But the removed row's upper bound may have excluded other rows. So it stays a candidate, with a
 * distance within its bounds. Then k candidates precede each excluded row, as if VACUUM had come later.
 */
static void
read_found(IndexScanDesc scan)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	const HybridIndex *index = &state->index;
	HybridPostingsPass *pass = state->postings;
	int i;

	for (i = 0; i < pass->count; i++)
	{
		const HybridPostingsRow *found = &pass->found[i];
		double distance = found->upper;

		if (is_beyond(&found->lower, &state->candidates) ||
		    is_beyond(&found->lower, &pass->nearest))
			continue;
		CHECK_FOR_INTERRUPTS();
		state->done.work.rescored++;
		if (hybrid_store_read_slot(&state->store, &pass->list, found->block, found->slot))
			distance = index->opclass->distance(index->metric, index->layout.dims, state->value,
			                                    state->store.vector);
		else if (isinf(found->upper))
			continue;
		/* a row whose distance may be NaN has infinite bounds; with finite ones, another row is in the slot now */
		if (isnan(distance) && isfinite(found->upper))
			distance = found->upper;
		else if (!isnan(distance))
			distance = Min(Max(distance, found->lower.distance), found->upper);
		hybrid_scan_offer(state, distance, found->lower.row);
	}
	pass->count = 0;
}
