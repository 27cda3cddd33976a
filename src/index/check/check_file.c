/*
 * check_file.c
 *		Checks the meta page, and finds pages of the file that neither a list nor the meta page names.
 *
 * A crash in the middle of a split leaves new pages that no page names. They are not damage, only lost
 * space.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "server/compat.h"
#include "server/memory.h"

#include "index/check/check.h"
#include "index/tree/free_pages.h"
#include "index/tree/tree.h"

/* Stray: a page that was not found in the tree, and the list that it belongs to. */
typedef struct Stray
{
	BlockNumber block;
	HybridLink list;
} Stray;

static void check_meta(HybridCheck *check);
static bool has_head(HybridCheck *check, const HybridLink *list, uint16 state);
static bool is_stray(HybridCheck *check, BlockNumber block, bool *empty, HybridLink *list);
static uint64 *list_keys(HybridCheck *check, int64 *count);
static bool names_page(HybridCheck *check, const HybridLink *list, BlockNumber block);
static uint64 link_key(const HybridLink *link);
static int compare_keys(const void *a, const void *b);
pg_noreturn static void damaged(HybridCheck *check, const char *what);

void
hybrid_check_file(HybridCheck *check)
{
	Stray *strays = NULL;
	int64 count = 0, allocated = 0, empty = 0, lost = 0, lists, i;
	uint64 *keys;
	BlockNumber block;

	check_meta(check);
	for (block = 0; block < check->blocks; block++)
	{
		bool is_empty = false;
		HybridLink list;

		if (BlockNumberIsValid(check->owners[block]))
			continue;
		CHECK_FOR_INTERRUPTS();
		if (!is_stray(check, block, &is_empty, &list))
			continue;
		if (is_empty)
		{
			empty++;
			continue;
		}
		if (count == allocated)
		{
			allocated = Max(64, allocated * 2);
			strays = hybrid_enlarge(CurrentMemoryContext, strays, allocated * sizeof(Stray));
		}
		strays[count].block = block;
		strays[count++].list = list;
	}
	if (count > 0)
	{
		/* recognize the pages of lists that were made since the tree was read */
		keys = list_keys(check, &lists);
		for (i = 0; i < count; i++)
		{
			uint64 key = link_key(&strays[i].list);

			if (bsearch(&key, keys, lists, sizeof(uint64), compare_keys) == NULL ||
			    !names_page(check, &strays[i].list, strays[i].block))
				lost++;
		}
		pfree(keys);
		pfree(strays);
	}
	if (lost + empty > 0)
		ereport(
			NOTICE,
			(errmsg("index \"%s\" has " INT64_FORMAT " unreferenced pages",
		            RelationGetRelationName(check->index), lost + empty),
		     errdetail(INT64_FORMAT " of them were never written.", empty),
		     errhint(
				 "A crash leaves such pages, and so does a list that is being created. They are "
				 "harmless, and VACUUM frees them.")));
}

/* check_meta: check the curve and the ring of moved lists. */
static void
check_meta(HybridCheck *check)
{
	Buffer buffer = ReadBuffer(check->index, HYBRID_META_BLOCK);
	FullTransactionId next;
	PGAlignedBlock image;
	const HybridMeta *meta = hybrid_meta((Page) image.data);
	const HybridCurve *curve = &meta->curve;
	float least = 0;
	uint32 i;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	(void) hybrid_meta_check(check->index, BufferGetPage(buffer));
	memcpy(image.data, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	/* read the next transaction ID after the page, so that no transaction ID on the page is newer */
	next = ReadNextFullTransactionId();

	/* a nearness can be negative only by inner product */
	if (curve->size > 0 && (!(curve->nearness[1] >= curve->nearness[0] && curve->outliers >= 0 &&
	                          curve->outliers <= 1 && curve->outlier_reach >= 0) ||
	                        (check->open.metric != HY_METRIC_IP && curve->nearness[0] < 0)))
		damaged(check, "an impossible curve");
	for (i = 0; i < curve->size; i++)
	{
		const HybridCurvePoint *point = &curve->points[i];
		int j;

		if (!(point->recall >= least && point->recall < 1) || !(point->rows >= 0))
			damaged(check, "an impossible curve");
		for (j = 0; j < HYBRID_DIFFICULTIES; j++)
		{
			if (!isfinite(point->missing[j]))
				damaged(check, "an impossible curve");
		}
		least = point->recall;
	}
	for (i = 0; i < meta->moved_count; i++)
	{
		const HybridMovedList *moved = &meta->moved[(meta->moved_first + i) % HYBRID_MOVED_LISTS];
		HybridLink list = {moved->head, moved->generation};

		/* the pages may have been reused, but not for a list with the same head and generation */
		if (moved->head >= RelationGetNumberOfBlocks(check->index) ||
		    moved->head == HYBRID_META_BLOCK || FullTransactionIdFollows(moved->since, next) ||
		    has_head(check, &list, HYBRID_LIST_LIVE))
			damaged(check, "an invalid moved list");
	}
}

/* has_head: test whether a list exists and is in this state. */
static bool
has_head(HybridCheck *check, const HybridLink *list, uint16 state)
{
	Buffer buffer;
	Page page;
	bool has;

	if (list->head >= RelationGetNumberOfBlocks(check->index))
		return false;
	buffer = ReadBuffer(check->index, list->head);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	has =
		hybrid_page_belongs(page, HYBRID_PAGE_LIST, list) && hybrid_list_page(page)->state == state;
	UnlockReleaseBuffer(buffer);
	return has;
}

/*
 * is_stray: test whether a page is neither free nor part of a moved list or an old center. Sets *empty
 * if the page was never written; such a page is a stray unless the free space map has it. Otherwise
 * sets *list to the list that the page belongs to.
 */
static bool
is_stray(HybridCheck *check, BlockNumber block, bool *empty, HybridLink *list)
{
	Buffer buffer =
		ReadBufferExtended(check->index, MAIN_FORKNUM, block, RBM_NORMAL, check->strategy);
	Page page = BufferGetPage(buffer);
	bool is_free = false;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	*empty = PageIsNew(page);
	if (!*empty)
	{
		const HybridPageSpecial *special;

		/* accept any kind of page that the index wrote */
		if (PageGetPageSize(page) != BLCKSZ ||
		    ((PageHeader) page)->pd_special != BLCKSZ - MAXALIGN(sizeof(HybridPageSpecial)) ||
		    hybrid_special(page)->page_id != HYBRID_PAGE_ID)
			ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
			                errmsg("index \"%s\" contains a page that is not its own at block %u",
			                       RelationGetRelationName(check->index), block),
			                errhint("REINDEX it.")));
		special = hybrid_special(page);
		is_free = special->kind == HYBRID_PAGE_FREE || special->kind == HYBRID_PAGE_TAKEN;
		list->head = special->list;
		list->generation = special->generation;
	}
	UnlockReleaseBuffer(buffer);
	if (*empty)
		return GetRecordedFreeSpace(check->index, block) == 0;
	/* a page of a center is a stray unless the ring of moved lists has it */
	if (!is_free && !BlockNumberIsValid(list->head))
		return !hybrid_moved_known(check->index, &(HybridLink){block, HYBRID_CENTER_GENERATION});
	return !is_free && !has_head(check, list, HYBRID_LIST_MOVED);
}

/* list_keys: return the links of all lists of the current tree as numbers (link_key), sorted. */
static uint64 *
list_keys(HybridCheck *check, int64 *count)
{
	HybridLevel lists, below;
	HybridTree tree;
	uint64 *keys = NULL;
	int level;
	int64 i;

	*count = 0;
	hybrid_tree_read(check->index, &tree);
	hybrid_walk_root(&tree, &lists);
	for (level = tree.height;; level--)
	{
		Size bytes = (*count + lists.count) * sizeof(uint64);

		keys = hybrid_enlarge(CurrentMemoryContext, keys, bytes);
		memset(&below, 0, sizeof(below));
		for (i = 0; i < lists.count; i++)
		{
			keys[(*count)++] = link_key(&lists.lists[i].link);
			if (level > 0)
				hybrid_walk_below(check->index, &check->open.layout, &lists.lists[i].link, level,
				                  &below);
		}
		hybrid_walk_free(&lists);
		lists = below;
		if (level == 0)
			break;
	}
	qsort(keys, *count, sizeof(uint64), compare_keys);
	return keys;
}

/*
 * names_page: test whether a list names a page now. If so, the page was added to the list after the list
 * was checked.
 */
static bool
names_page(HybridCheck *check, const HybridLink *list, BlockNumber block)
{
	const HybridListLayout *shape = NULL;
	BlockNumber at = list->head;
	uint32 pages = 0;

	do
	{
		Buffer buffer = hybrid_part_read(check->index, list, HYBRID_PAGE_LIST, at, NULL);
		Page page = BufferGetPage(buffer);
		bool named = at == block;
		int i;

		if (shape == NULL)
			shape = hybrid_list_layout(&check->open.layout, hybrid_list_page(page)->level);
		for (i = 0; i < shape->code_pages + shape->vector_pages && !named; i++)
			named = hybrid_directory(page)[i] == block;
		at = hybrid_list_page(page)->next;
		UnlockReleaseBuffer(buffer);
		if (named)
			return true;
		hybrid_chain_step(check->index, list, &pages);
	} while (BlockNumberIsValid(at));
	return false;
}

static uint64
link_key(const HybridLink *link)
{
	return (uint64) link->head << 16 | link->generation;
}

static int
compare_keys(const void *a, const void *b)
{
	uint64 x = *(const uint64 *) a, y = *(const uint64 *) b;

	CHECK_FOR_INTERRUPTS();
	return (x > y) - (x < y);
}

static void
damaged(HybridCheck *check, const char *what)
{
	ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
	                errmsg("index \"%s\" has a meta page with %s",
	                       RelationGetRelationName(check->index), what),
	                errhint("REINDEX it.")));
}
