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

/*
 * maximum bytes of codes per batch; the scoring task starts each batch with empty binary heaps of
 * results
 */
#define BATCH_BYTES (32 * 1024 * 1024)
#define BATCH_SHARE 16 /* the codes of a batch take at most 1/BATCH_SHARE of the memory */
/* a batch has at most one list per this many blocks of its capacity */
#define BLOCKS_A_LIST 2

static void begin_batch(Batch *batch, const HybridLayout *layout, int queries);
static void gather_leaf(Search *search, int which);
static void begin_list(Search *search, int which);
static void gather_page(Search *search, int which, Page page, BlockNumber block);
static void
copy_codes(Search *search, const HybridLink *list, Page page, HybridBlock *from, char *to);
static void add_block(Search *search, const Gathered *gathered);
static void score_batch(Search *search);

void
hybrid_ground_truth_gather(Search *search)
{
	int i;

	begin_batch(&search->batch, &search->open->layout, search->queries);
	for (i = 0; i < search->leaves_count; i++)
		gather_leaf(search, i);
	score_batch(search);
}

/* begin_batch: allocate the batch. */
static void
begin_batch(Batch *batch, const HybridLayout *layout, int queries)
{
	Size bytes = Min((Size) hybrid_maintenance_memory() * 1024 / BATCH_SHARE, BATCH_BYTES);

	batch->stride = layout->code_bytes + sizeof(HyCodeFactors);
	batch->most_blocks = Max((int) (bytes / batch->stride), layout->leaf.blocks);
	batch->most_lists = Max(batch->most_blocks / BLOCKS_A_LIST, 1);
	batch->content =
		MemoryContextAllocHuge(CurrentMemoryContext, batch->most_blocks * batch->stride);
	batch->live = palloc(batch->most_blocks * sizeof(uint32));
	batch->begin = palloc((batch->most_lists + 1) * sizeof(int32_t));
	batch->reach = MemoryContextAllocHuge(CurrentMemoryContext, (Size) queries * batch->most_lists *
	                                                                sizeof(HyScoreReach));
	batch->out = MemoryContextAllocHuge(CurrentMemoryContext,
	                                    (Size) queries * HYBRID_TRUTHS_KEPT * sizeof(HyNeighbor));
	batch->counts = palloc(queries * sizeof(int32_t));
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
	if (search->batch.lists == search->batch.most_lists)
		score_batch(search);
	begin_list(search, which);
	do
	{
		Buffer buffer;
		BlockNumber next;

		/* the rest of the list becomes a list of the next batch */
		if (search->batch.blocks + layout->leaf.blocks > search->batch.most_blocks)
		{
			score_batch(search);
			begin_list(search, which);
		}
		buffer = hybrid_list_read(search->index, layout, link, 0, block, NULL);
		gather_page(search, which, BufferGetPage(buffer), block);
		next = hybrid_list_page(BufferGetPage(buffer))->next;
		UnlockReleaseBuffer(buffer);
		hybrid_chain_step(search->index, link, &pages);
		block = next;
	} while (BlockNumberIsValid(block));
	search->batch.begin[search->batch.lists] = search->batch.blocks;
}

/*
 * begin_list: begin a list in the batch, or the rest of a list that the last batch began. Computes the
 * list's distance from every query.
 */
static void
begin_list(Search *search, int which)
{
	const Leaf *leaf = &search->leaves[which];
	Batch *batch = &search->batch;
	int i;

	if (leaf->above != NULL)
		(void) hybrid_inner_reach(search->frontier.scorer, leaf->above, 1, leaf->entry,
		                          search->centroid);
	for (i = 0; i < search->queries; i++)
	{
		HybridReach reach = hybrid_scorer_reach_place(&search->scorers[i], search->centroid);

		batch->reach[(Size) i * batch->most_lists + batch->lists] =
			(HyScoreReach){reach.base, reach.reach};
	}
	batch->begin[batch->lists++] = batch->blocks;
}

/* gather_page: add the blocks of a locked list page. */
static void
gather_page(Search *search, int which, Page page, BlockNumber block)
{
	const HybridListLayout *shape = &search->open->layout.leaf;
	Batch *batch = &search->batch;
	int blocks = hybrid_list_blocks(page), b;

	for (b = 0; b < blocks; b++)
	{
		HybridBlock *from = hybrid_block(shape, page, b);
		Gathered gathered = {block, b * HY_CODE_ROWS, which};
		char *to = batch->content + batch->blocks * batch->stride;

		copy_codes(search, &search->leaves[which].link, page, from, to);
		memcpy(to + search->open->layout.code_bytes, &from->factors, sizeof(HyCodeFactors));
		batch->live[batch->blocks++] = from->live;
		add_block(search, &gathered);
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
add_block(Search *search, const Gathered *gathered)
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
 * score_batch: score the batch for all queries. Each query keeps the lowest bounds of all batches so
 * far.
 */
static void
score_batch(Search *search)
{
	Batch *batch = &search->batch;
	int64 before = (search->gathered_count - batch->blocks) * HY_CODE_ROWS;
	HyScoreTask *score;
	HyTask task;
	int i, j;

	if (batch->blocks > 0)
	{
		batch->begin[batch->lists] = batch->blocks;
		memset(&task, 0, sizeof(task));
		task.op = HY_OP_SCORE_CODES;
		task.numeric_class = HY_CLASS_EXACT;
		score = &task.u.score;
		score->rows.padded = search->open->layout.padded;
		score->rows.lists = batch->lists;
		score->rows.begin = batch->begin;
		score->rows.codes = (const uint8_t *) batch->content;
		score->rows.code_stride = batch->stride;
		score->rows.factors =
			(const HyCodeFactors *) (batch->content + search->open->layout.code_bytes);
		score->rows.factor_stride = batch->stride;
		score->rows.live = batch->live;
		score->rows.blocks = batch->blocks;
		score->queries.count = search->queries;
		score->queries.query = search->prepared;
		score->queries.reach = batch->reach;
		score->queries.reach_stride = batch->most_lists;
		score->queries.eps = HYBRID_TRUTHS_SURE;
		score->k = HYBRID_TRUTHS_KEPT;
		score->out = batch->out;
		score->counts = batch->counts;
		hybrid_run(&task, "score codes of an index");
		for (i = 0; i < search->queries; i++)
		{
			const HyNeighbor *out = batch->out + (Size) i * HYBRID_TRUTHS_KEPT;

			/* the results are ascending: once a result is not kept, no later one is */
			for (j = 0; j < batch->counts[i]; j++)
			{
				if (!hy_topk_push(&search->kept[i], out[j].distance, before + out[j].row))
					break;
			}
		}
	}
	batch->blocks = 0;
	batch->lists = 0;
}
