/*
 * ground_truth_batches.c
 *		Gathers the codes of whole lists in batches and scores each batch for all queries, through
 *		the dispatcher.
 *
 * Each query keeps the rows with the lowest bounds (core/score.h) from one batch to the next.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/rel.h"

#include "server/executor.h"
#include "server/memory.h"

#include "index/page/buffers.h"
#include "index/tree/tree.h"
#include "index/build/ground_truth_state.h"

/* maximum bytes of codes per batch; each batch fills the heaps again */
#define LOT_BYTES (32 * 1024 * 1024)
#define LOT_SHARE 16 /* divisor of the memory for the codes of a batch */
/* a batch has at most one list per this many blocks of its capacity */
#define BLOCKS_A_LIST 2

static void begin_lot(Lot *lot, const HybridLayout *layout, int queries);
static void gather_leaf(Search *search, int which);
static void begin_list(Search *search, int which);
static void gather_page(Search *search, int which, Page page, BlockNumber block);
static void
copy_codes(Search *search, const HybridLink *list, Page page, HybridBlock *from, char *to);
static void note_block(Search *search, const Gathered *gathered);
static void score_lot(Search *search);

void
hybrid_ground_truth_gather(Search *search)
{
	int i;

	begin_lot(&search->lot, &search->open->layout, search->queries);
	for (i = 0; i < search->leaves_count; i++)
		gather_leaf(search, i);
	score_lot(search);
}

/* begin_lot: allocate the batch. */
static void
begin_lot(Lot *lot, const HybridLayout *layout, int queries)
{
	Size bytes = Min((Size) hybrid_maintenance_memory() * 1024 / LOT_SHARE, LOT_BYTES);

	lot->stride = layout->code_bytes + sizeof(HyCodeFactors);
	lot->most_blocks = Max((int) (bytes / lot->stride), layout->leaf.blocks);
	lot->most_lists = Max(lot->most_blocks / BLOCKS_A_LIST, 1);
	lot->content = MemoryContextAllocHuge(CurrentMemoryContext, lot->most_blocks * lot->stride);
	lot->live = palloc(lot->most_blocks * sizeof(uint32));
	lot->begin = palloc((lot->most_lists + 1) * sizeof(int32_t));
	lot->reach = MemoryContextAllocHuge(CurrentMemoryContext,
	                                    (Size) queries * lot->most_lists * sizeof(HyScoreReach));
	lot->out = MemoryContextAllocHuge(CurrentMemoryContext,
	                                  (Size) queries * HYBRID_TRUTHS_KEPT * sizeof(HyNeighbor));
	lot->counts = palloc(queries * sizeof(int32_t));
}

/* gather_leaf: add the blocks of a list to the batch. */
static void
gather_leaf(Search *search, int which)
{
	const HybridLayout *layout = &search->open->layout;
	const HybridLink *link = &search->leaves[which].link;
	BlockNumber block = link->head;
	uint32 pages = 0;

	CHECK_FOR_INTERRUPTS();
	if (search->lot.lists == search->lot.most_lists)
		score_lot(search);
	begin_list(search, which);
	do
	{
		Buffer buffer;
		BlockNumber next;

		/* the rest of the list becomes a list of the next batch */
		if (search->lot.blocks + layout->leaf.blocks > search->lot.most_blocks)
		{
			score_lot(search);
			begin_list(search, which);
		}
		buffer = hybrid_list_read(search->index, layout, link, 0, block, NULL);
		gather_page(search, which, BufferGetPage(buffer), block);
		next = hybrid_list_page(BufferGetPage(buffer))->next;
		UnlockReleaseBuffer(buffer);
		hybrid_chain_step(search->index, link, &pages);
		block = next;
	} while (BlockNumberIsValid(block));
	search->lot.begin[search->lot.lists] = search->lot.blocks;
}

/*
 * begin_list: begin a list in the batch, or the rest of a list that the last batch began. Computes the
 * list's distance from every query.
 */
static void
begin_list(Search *search, int which)
{
	const Leaf *leaf = &search->leaves[which];
	Lot *lot = &search->lot;
	int i;

	if (leaf->above != NULL)
		(void) hybrid_inner_reach(search->frontier.scorer, leaf->above, 1, leaf->entry,
		                          search->centroid);
	for (i = 0; i < search->queries; i++)
	{
		HybridReach reach = hybrid_scorer_reach_place(&search->scorers[i], search->centroid);

		lot->reach[(Size) i * lot->most_lists + lot->lists] =
			(HyScoreReach){reach.base, reach.reach};
	}
	lot->begin[lot->lists++] = lot->blocks;
}

/* gather_page: add the blocks of a locked list page. */
static void
gather_page(Search *search, int which, Page page, BlockNumber block)
{
	const HybridListLayout *shape = &search->open->layout.leaf;
	Lot *lot = &search->lot;
	int blocks = (hybrid_list_page(page)->used + HY_CODE_ROWS - 1) / HY_CODE_ROWS, b;

	for (b = 0; b < blocks; b++)
	{
		HybridBlock *from = hybrid_block(shape, page, b);
		Gathered gathered = {block, b * HY_CODE_ROWS, which};
		char *to = lot->content + lot->blocks * lot->stride;

		copy_codes(search, &search->leaves[which].link, page, from, to);
		memcpy(to + search->open->layout.code_bytes, &from->factors, sizeof(HyCodeFactors));
		lot->live[lot->blocks++] = from->live;
		note_block(search, &gathered);
	}
}

/* copy_codes: copy the codes of a block of a locked list page. */
static void
copy_codes(Search *search, const HybridLink *list, Page page, HybridBlock *from, char *to)
{
	const HybridLayout *layout = &search->open->layout;
	int i;

	if (layout->leaf.code_pages == 0)
		memcpy(to, hybrid_block_codes(&layout->leaf, from), layout->code_bytes);
	for (i = 0; i < layout->leaf.code_pages; i++)
	{
		Buffer buffer = hybrid_part_read(search->index, list, HYBRID_PAGE_CODES,
		                                 hybrid_directory(page)[i], NULL);
		Size begin, length;

		hybrid_codes_range(layout, i, &begin, &length);
		memcpy(to + begin, PageGetContents(BufferGetPage(buffer)), length);
		UnlockReleaseBuffer(buffer);
	}
}

static void
note_block(Search *search, const Gathered *gathered)
{
	if (search->gathered_count == search->gathered_allocated)
	{
		Size bytes;

		search->gathered_allocated = Max(1024, search->gathered_allocated * 2);
		bytes = search->gathered_allocated * sizeof(Gathered);
		search->gathered = search->gathered == NULL
		                       ? MemoryContextAllocHuge(CurrentMemoryContext, bytes)
		                       : repalloc_huge(search->gathered, bytes);
	}
	search->gathered[search->gathered_count++] = *gathered;
}

/*
 * score_lot: score the batch for all queries. Each keeps the lowest bounds of all batches so far.
 */
static void
score_lot(Search *search)
{
	Lot *lot = &search->lot;
	int64 before = (search->gathered_count - lot->blocks) * HY_CODE_ROWS;
	HyScoreTask *score;
	HyTask task;
	int i, j;

	if (lot->blocks > 0)
	{
		lot->begin[lot->lists] = lot->blocks;
		memset(&task, 0, sizeof(task));
		task.op = HY_OP_SCORE_CODES;
		task.numeric_class = HY_CLASS_EXACT;
		score = &task.u.score;
		score->rows.padded = search->open->layout.padded;
		score->rows.lists = lot->lists;
		score->rows.begin = lot->begin;
		score->rows.codes = (const uint8_t *) lot->content;
		score->rows.code_stride = lot->stride;
		score->rows.factors =
			(const HyCodeFactors *) (lot->content + search->open->layout.code_bytes);
		score->rows.factor_stride = lot->stride;
		score->rows.live = lot->live;
		score->rows.blocks = lot->blocks;
		score->queries.count = search->queries;
		score->queries.query = search->prepared;
		score->queries.reach = lot->reach;
		score->queries.reach_stride = lot->most_lists;
		score->queries.eps = HYBRID_TRUTHS_SURE;
		score->k = HYBRID_TRUTHS_KEPT;
		score->out = lot->out;
		score->counts = lot->counts;
		hybrid_run(&task, "score codes of an index");
		for (i = 0; i < search->queries; i++)
		{
			const HyNeighbor *out = lot->out + (Size) i * HYBRID_TRUTHS_KEPT;

			/*
			 * the results are ascending, so all results after the first one that is not kept are not kept
			 * either
			 */
			for (j = 0; j < lot->counts[i]; j++)
			{
				if (!hy_topk_push(&search->kept[i], out[j].distance, before + out[j].row))
					break;
			}
		}
	}
	lot->blocks = 0;
	lot->lists = 0;
}
