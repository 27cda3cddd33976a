/*
 * walk.c
 *		Visit all lists of an index, level by level.
 *
 * A split adds two links to an inner list and removes one, perhaps on different pages. A reader that goes
 * from page to page might see all three links. What was read is therefore used only if the list's change
 * counter did not change meanwhile.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/spccache.h"

#include "server/memory.h"

#include "index/tree/tree.h"
#include "index/tree/walk.h"

static void read_names(Relation index, const HybridLayout *layout, const HybridLink *list,
                       int level, HybridLevel *below);
static HybridWalked *add_list(HybridLevel *level);

void
hybrid_walk_root(const HybridTree *tree, HybridLevel *level)
{
	HybridWalked *root;

	memset(level, 0, sizeof(*level));
	root = add_list(level);
	root->link = tree->root;
	root->above.head = InvalidBlockNumber;
	root->block = InvalidBlockNumber;
}

void
hybrid_walk_below(Relation index, const HybridLayout *layout, const HybridLink *list, int level,
                  HybridLevel *below)
{
	int64 before = below->count;
	uint64 changes = hybrid_list_changes(index, layout, list, level, NULL), now;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		read_names(index, layout, list, level, below);
		now = hybrid_list_changes(index, layout, list, level, NULL);
		if (now == changes)
			return;
		changes = now;
		below->count = before;
	}
}

void
hybrid_walk_ahead(HybridAhead *ahead, Relation index)
{
	ahead->index = index;
	ahead->blocks = RelationGetNumberOfBlocks(index);
	ahead->next = 0;
	ahead->distance = get_tablespace_maintenance_io_concurrency(index->rd_rel->reltablespace);
}

void
hybrid_walk_expect(HybridAhead *ahead, const HybridLink *list)
{
	/* do not prefetch an impossible block; reading it will raise the error */
	if (list->head < ahead->blocks)
		PrefetchBuffer(ahead->index, MAIN_FORKNUM, list->head);
	ahead->next++;
}

void
hybrid_walk_free(HybridLevel *level)
{
	if (level->lists != NULL)
		pfree(level->lists);
	memset(level, 0, sizeof(*level));
}

/* read_names: append the lists that an inner list names to `below`, in one pass over its pages. */
static void
read_names(Relation index, const HybridLayout *layout, const HybridLink *list, int level,
           HybridLevel *below)
{
	BlockNumber block = list->head;
	uint32 pages = 0;

	do
	{
		Buffer buffer = hybrid_list_read(index, layout, list, level, block, NULL);
		Page page = BufferGetPage(buffer);
		int slot;

		for (slot = 0; slot < hybrid_list_page(page)->used; slot++)
		{
			HybridBlock *entries = hybrid_block(&layout->inner, page, slot / HY_CODE_ROWS);
			int row = slot % HY_CODE_ROWS;
			HybridWalked *found;

			if ((entries->live & (1U << row)) == 0)
				continue;
			found = add_list(below);
			found->link = hybrid_tid_link(&entries->tid[row]);
			found->above = *list;
			found->block = block;
			found->slot = slot;
			found->radius = hybrid_block_radii(entries)[row];
		}
		block = hybrid_list_page(page)->next;
		UnlockReleaseBuffer(buffer);
		hybrid_chain_step(index, list, &pages);
	} while (BlockNumberIsValid(block));
}

static HybridWalked *
add_list(HybridLevel *level)
{
	if (level->count == level->allocated)
	{
		Size bytes;

		level->allocated = Max(64, level->allocated * 2);
		bytes = level->allocated * sizeof(HybridWalked);
		level->lists = hybrid_enlarge(CurrentMemoryContext, level->lists, bytes);
	}
	memset(&level->lists[level->count], 0, sizeof(HybridWalked));
	return &level->lists[level->count++];
}
