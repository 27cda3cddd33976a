/*
 * tree.c
 *		Find and read the lists of an index.
 *
 * Each inner list is read page by page. If the list changed meanwhile, it is read again. The lists that an
 * inner list names are read even if they have been moved since, because a moved list keeps all entries
 * that an older snapshot can see.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "server/compat.h"
#include "server/memory.h"

#include "index/page/buffers.h"
#include "index/tree/tree.h"

#define CHAIN_PAGES 256 /* number of pages of a list between two checks of the file's length */

/* Found: lists found so far. */
typedef struct Found
{
	HybridLink *links;
	int count;
	int allocated;
	const HyWordCondition *conditions; /* leave out a list if its bounds have no word for these */
	int conditions_count;
} Found;

static HybridLink *find_lists(Relation index, const HybridIndex *open, const HybridTree *tree,
                              int level, Snapshot snapshot, Found *found, int *count);
static bool may_have(const HybridLayout *layout, const Found *found, HybridSlot slot);
static void find_below(Relation index, const HybridLayout *layout, HybridLink list, int level,
                       int wanted, Snapshot snapshot, Found *found);

void
hybrid_chain_step(Relation index, const HybridLink *list, uint32 *pages)
{
	CHECK_FOR_INTERRUPTS();
	if (++*pages % CHAIN_PAGES == 0 && *pages > RelationGetNumberOfBlocks(index))
		ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
		                errmsg("index \"%s\" has a list without end at block %u",
		                       RelationGetRelationName(index), list->head),
		                errhint("REINDEX it.")));
}

uint64
hybrid_list_changes(Relation index, const HybridLayout *layout, const HybridLink *list, int level,
                    Snapshot snapshot)
{
	Buffer buffer = hybrid_list_read(index, layout, list, level, list->head, NULL);
	uint64 changes = hybrid_list_page(BufferGetPage(buffer))->changes;

	TestForOldSnapshot(snapshot, index, BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
	return changes;
}

bool
hybrid_list_lives(Relation index, const HybridLink *list)
{
	Buffer buffer = hybrid_buffer_read(index, list->head, NULL);
	Page page = BufferGetPage(buffer);
	bool lives;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	lives = hybrid_page_belongs(page, HYBRID_PAGE_LIST, list) &&
	        hybrid_list_page(page)->state == HYBRID_LIST_LIVE;
	UnlockReleaseBuffer(buffer);
	return lives;
}

HybridLink *
hybrid_tree_lists(Relation index, const HybridIndex *open, const HybridTree *tree, int level,
                  Snapshot snapshot, int *count)
{
	Found found;

	memset(&found, 0, sizeof(found));
	return find_lists(index, open, tree, level, snapshot, &found, count);
}

HybridLink *
hybrid_tree_leaves(Relation index, const HybridIndex *open, const HybridTree *tree,
                   Snapshot snapshot, const HyWordCondition *conditions, int conditions_count,
                   int *count)
{
	Found found;

	memset(&found, 0, sizeof(found));
	found.conditions = conditions;
	found.conditions_count = open->layout.bounds > 0 ? conditions_count : 0;
	return find_lists(index, open, tree, 0, snapshot, &found, count);
}

bool
hybrid_bounds_may_have(const HybridBounds *bounds, const HyWordCondition *conditions, int count)
{
	int i;

	for (i = 0; i < count; i++)
	{
		/* bounds have only the words of the first key, which is column 0 */
		if (conditions[i].column == 0 &&
		    !hy_word_between(&conditions[i], bounds->least, bounds->most))
			return false;
	}
	return true;
}

/* find_lists: do the work of hybrid_tree_lists and hybrid_tree_leaves. *found has the conditions. */
static HybridLink *
find_lists(Relation index, const HybridIndex *open, const HybridTree *tree, int level,
           Snapshot snapshot, Found *found, int *count)
{
	found->allocated = level == 0 ? Max((int) Min(tree->leaves, 1 << 20), 1) : 64;
	found->links = palloc(found->allocated * sizeof(HybridLink));
	if (tree->height == level)
		found->links[found->count++] = tree->root;
	else if (tree->height > level)
		find_below(index, &open->layout, tree->root, tree->height, level, snapshot, found);
	*count = found->count;
	return found->links;
}

/* may_have: test whether rows below a slot of an inner list may satisfy the conditions. */
static bool
may_have(const HybridLayout *layout, const Found *found, HybridSlot slot)
{
	HybridBounds bounds;

	if (found->conditions_count == 0)
		return true;
	hybrid_bounds_get(layout, slot, &bounds);
	return hybrid_bounds_may_have(&bounds, found->conditions, found->conditions_count);
}

/*
 * find_below: add the lists of level `wanted` below an inner list to *found. The entries of each inner
 * list are read as of one moment: if the list changed while its pages were read, it is read again.
 */
static void
find_below(Relation index, const HybridLayout *layout, HybridLink list, int level, int wanted,
           Snapshot snapshot, Found *found)
{
	const HybridListLayout *shape = &layout->inner;
	BlockNumber block = list.head;
	int before = found->count, i;
	uint64 changes = 0;
	uint32 pages = 0;
	Found below;

	check_stack_depth();
	memset(&below, 0, sizeof(below));
	do
	{
		Buffer buffer;
		Page page;
		int slot;

		hybrid_chain_step(index, &list, &pages);
		buffer = hybrid_list_read(index, layout, &list, level, block, NULL);
		page = BufferGetPage(buffer);
		TestForOldSnapshot(snapshot, index, page);
		for (slot = 0; slot < hybrid_list_page(page)->used; slot++)
		{
			const HybridBlock *entries = hybrid_block(shape, page, slot / HY_CODE_ROWS);
			Found *to = level - 1 == wanted ? found : &below;

			if ((entries->live & (1U << slot % HY_CODE_ROWS)) == 0 ||
			    !may_have(layout, found, (HybridSlot){page, level, slot}))
				continue;
			if (to->count == to->allocated)
			{
				to->allocated = Max(64, to->allocated * 2);
				to->links = hybrid_enlarge(CurrentMemoryContext, to->links,
				                           to->allocated * sizeof(HybridLink));
			}
			to->links[to->count++] = hybrid_tid_link(&entries->tid[slot % HY_CODE_ROWS]);
		}
		if (block == list.head)
			changes = hybrid_list_page(page)->changes;
		block = hybrid_list_page(page)->next;
		UnlockReleaseBuffer(buffer);
		if (!BlockNumberIsValid(block) &&
		    hybrid_list_changes(index, layout, &list, level, snapshot) != changes)
		{
			found->count = before;
			below.count = 0;
			block = list.head;
			pages = 0;
		}
	} while (BlockNumberIsValid(block));
	for (i = 0; i < below.count; i++)
		find_below(index, layout, below.links[i], level - 1, wanted, snapshot, found);
	if (below.links != NULL)
		pfree(below.links);
}
