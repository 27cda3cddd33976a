/*
 * check_tree.c
 *		Checks the lists of an index: each list must be reached once, and no page may belong to two
 *		lists.
 *
 * The tree is read once, from the root down. A list may be moved after its name was read. The old list
 * then keeps its entries, and these are checked. This suffices, because the snapshot does not see rows
 * that were inserted after the move.
 */
#include "postgres.h"

#include <math.h>

#include "access/xlog.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "server/compat.h"

#include "index/check/check.h"
#include "index/page/packed.h"
#include "index/tree/tree.h"

static void own_frame(HybridCheck *check);
static void check_list(HybridCheck *check, HybridCheckedList *list);
static void read_centroid(HybridCheck *check, HybridCheckedList *list);
static void check_head(HybridCheck *check, const HybridCheckedList *list, Page page);
static void
check_moved(HybridCheck *check, const HybridCheckedList *list, const HybridListPage *content);
static bool is_moved(HybridCheck *check, const HybridLink *list, int level);
static void
check_page(HybridCheck *check, const HybridCheckedList *list, BlockNumber block, Page page);
static void
check_codes_page(HybridCheck *check, const HybridCheckedList *list, BlockNumber block, int number);
static void check_vectors_page(HybridCheck *check, const HybridCheckedList *list, BlockNumber block,
                               int part, int needed);
static void
check_values(HybridCheck *check, const HybridCheckedList *list, BlockNumber block, Page page);
static void check_bounds(HybridCheck *check, Page page, BlockNumber block, Size lower, Size upper);
static void check_counts(HybridCheck *check, const HybridCheckedList *list);
pg_noreturn static void
corrupted(HybridCheck *check, const HybridLink *list, const char *what, BlockNumber block);

void
hybrid_check_tree(HybridCheck *check)
{
	HybridCheckedList list;
	HybridLevel lists, below;
	BlockNumber block;

	hybrid_tree_read(check->index, &check->tree);
	if (!check->open.coded && check->tree.height > 0)
		ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
		                errmsg("index \"%s\" has %d levels of lists without codes",
		                       RelationGetRelationName(check->index), check->tree.height),
		                errhint("REINDEX it.")));
	hybrid_frame_open(&check->frame, check->index, &check->open, check->tree.center);
	check->blocks = RelationGetNumberOfBlocks(check->index);
	check->owners =
		MemoryContextAllocHuge(CurrentMemoryContext, check->blocks * sizeof(BlockNumber));
	for (block = 0; block < check->blocks; block++)
		check->owners[block] = InvalidBlockNumber;
	own_frame(check);

	memset(&list, 0, sizeof(list));
	hybrid_walk_root(&check->tree, &lists);
	for (list.level = check->tree.height;; list.level--)
	{
		memset(&below, 0, sizeof(below));
		for (list.number = 0; list.number < lists.count; list.number++)
		{
			CHECK_FOR_INTERRUPTS();
			list.walked = &lists.lists[list.number];
			check_list(check, &list);
			if (list.level > 0)
				hybrid_walk_below(check->index, &check->open.layout, &list.walked->link, list.level,
				                  &below);
		}
		if (list.level == 0)
			break;
		hybrid_walk_free(&lists);
		lists = below;
	}
	check->leaves = lists;
}

bool
hybrid_check_holds(HybridCheck *check, const HybridLink *list, int level, BlockNumber block,
                   int slot, const ItemPointerData *tid)
{
	const HybridLayout *layout = &check->open.layout;
	Buffer buffer = hybrid_list_read(check->index, layout, list, level, block, NULL);
	Page page = BufferGetPage(buffer);
	bool holds = false;

	if (slot < hybrid_list_page(page)->used)
	{
		const HybridBlock *entries =
			hybrid_block(hybrid_list_layout(layout, level), page, slot / HY_CODE_ROWS);
		int row = slot % HY_CODE_ROWS;

		holds = (entries->live & (1U << row)) != 0 &&
		        memcmp(&entries->tid[row], tid, sizeof(*tid)) == 0;
	}
	UnlockReleaseBuffer(buffer);
	return holds;
}

void
hybrid_check_copy(HybridCheck *check, const HybridLink *list, int level, BlockNumber block,
                  Page copy)
{
	Buffer buffer =
		hybrid_list_read(check->index, &check->open.layout, list, level, block, check->strategy);

	memcpy(copy, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
}

/* own_frame: record the meta page as the owner of itself and of the pages of the center. */
static void
own_frame(HybridCheck *check)
{
	HybridLink meta = {HYBRID_META_BLOCK, 0};
	Size left = check->open.layout.dims * sizeof(float);
	BlockNumber block = check->tree.center;

	hybrid_check_own(check, HYBRID_META_BLOCK, &meta);
	while (BlockNumberIsValid(block) && left > 0)
	{
		Buffer buffer = ReadBuffer(check->index, block);
		Size length;

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		/* hybrid_frame_open has read the page, so it is not empty */
		length = ((PageHeader) BufferGetPage(buffer))->pd_lower - SizeOfPageHeaderData;
		UnlockReleaseBuffer(buffer);
		hybrid_check_own(check, block++, &meta);
		left -= Min(left, length);
	}
}

/* check_list: check one list and all of its pages. */
static void
check_list(HybridCheck *check, HybridCheckedList *list)
{
	const HybridLink *link = &list->walked->link;
	BlockNumber block = link->head, room = InvalidBlockNumber;
	PGAlignedBlock image;
	Page page = (Page) image.data;
	uint32 pages = 0;
	bool roomy = false;

	if (!BlockNumberIsValid(block))
		corrupted(check, link, "has an invalid list reference", block);
	read_centroid(check, list);
	while (BlockNumberIsValid(block))
	{
		hybrid_check_own(check, block, link);
		hybrid_check_copy(check, link, list->level, block, page);
		if (block == link->head)
		{
			check_head(check, list, page);
			if (!check->open.coded)
				room = *hybrid_list_first_with_space(hybrid_list_page(page));
		}
		roomy = roomy || block == room;
		check_page(check, list, block, page);
		hybrid_check_entries(check, list, block, page);
		block = hybrid_list_page(page)->next;
		hybrid_chain_step(check->index, link, &pages);
	}
	if (BlockNumberIsValid(room) && !roomy)
		corrupted(check, link, "looks for room on a page that is not part of the list", room);
	check_counts(check, list);
	if (list->centroid != NULL)
	{
		pfree(list->centroid);
		pfree(list->rotated_centroid);
		list->centroid = list->rotated_centroid = NULL;
	}
}

/*
 * read_centroid: read the list's centroid and bounds from the parent list, unless its entry there is
 * gone.
 */
static void
read_centroid(HybridCheck *check, HybridCheckedList *list)
{
	const HybridLayout *layout = &check->open.layout;
	const HybridWalked *walked = list->walked;
	ItemPointerData tid = hybrid_link_tid(walked->link);
	PGAlignedBlock image;
	HybridStored stored;

	list->centroid = list->rotated_centroid = NULL;
	list->known = true;
	list->bounds.least = 0;
	list->bounds.most = PG_UINT64_MAX;
	if (!BlockNumberIsValid(walked->above.head))
		return;
	hybrid_check_copy(check, &walked->above, list->level + 1, walked->block, (Page) image.data);
	hybrid_vector_read(check->index, layout,
	                   (HybridSlot){(Page) image.data, list->level + 1, walked->slot}, &stored,
	                   check->vector, check->strategy);
	if (layout->bounds > 0)
		hybrid_bounds_get(layout, (HybridSlot){(Page) image.data, list->level + 1, walked->slot},
		                  &list->bounds);
	list->known = hybrid_check_holds(check, &walked->above, list->level + 1, walked->block,
	                                 walked->slot, &tid);
	if (!list->known)
		return;
	list->centroid = palloc(layout->dims * sizeof(float));
	list->rotated_centroid = palloc(layout->padded * sizeof(float));
	hybrid_widen_vector(layout->inner.storage, &stored, check->vector, layout->dims,
	                    list->centroid);
	hy_rotation_apply(check->frame.rotation, list->centroid, list->rotated_centroid);
}

/* check_head: check the state of a list, which its head stores. */
static void
check_head(HybridCheck *check, const HybridCheckedList *list, Page page)
{
	const HybridListPage *content = hybrid_list_page(page);

	if (content->state == HYBRID_LIST_MOVED)
		check_moved(check, list, content);
	else if (content->state != HYBRID_LIST_LIVE)
		corrupted(check, &list->walked->link, "has a list in an unknown state",
		          list->walked->link.head);
}

/*
 * check_moved: check a moved list. It must have been moved after its name was read, so the entry that
 * named it must be gone.
 */
static void
check_moved(HybridCheck *check, const HybridCheckedList *list, const HybridListPage *content)
{
	const HybridWalked *walked = list->walked;
	ItemPointerData tid = hybrid_link_tid(walked->link);
	HybridTree tree;
	bool named;
	int i;

	if (BlockNumberIsValid(walked->above.head))
		named = hybrid_check_holds(check, &walked->above, list->level + 1, walked->block,
		                           walked->slot, &tid) &&
		        !is_moved(check, &walked->above, list->level + 1);
	else
	{
		hybrid_tree_read(check->index, &tree);
		named =
			tree.root.head == walked->link.head && tree.root.generation == walked->link.generation;
	}
	if (named)
		corrupted(check, &walked->link, "refers to a list that was moved", walked->link.head);
	for (i = 0; i < (int) lengthof(content->forward); i++)
	{
		if (BlockNumberIsValid(content->forward[i].head))
			(void) is_moved(check, &content->forward[i], list->level);
		/*
		 * A moved list has a successor, with two exceptions. An old root has none if the new root is of
		 * another level. On a standby, the lists of a tree that VACUUM replaced have none; on a
		 * primary, VACUUM cannot run now.
		 */
		else if (i == 0 && BlockNumberIsValid(walked->above.head) && !RecoveryInProgress())
			corrupted(check, &walked->link, "has a moved list without its new location",
			          walked->link.head);
	}
}

/* is_moved: test whether a list was moved. Raises an error if the list does not exist. */
static bool
is_moved(HybridCheck *check, const HybridLink *list, int level)
{
	PGAlignedBlock image;
	const HybridListPage *content = hybrid_list_page((Page) image.data);

	if (list->head >= RelationGetNumberOfBlocks(check->index))
		corrupted(check, list, "refers to a page beyond its end", list->head);
	hybrid_check_copy(check, list, level, list->head, (Page) image.data);
	return content->state == HYBRID_LIST_MOVED;
}

/* check_page: check the counts and masks of a list page, and the pages that it names. */
static void
check_page(HybridCheck *check, const HybridCheckedList *list, BlockNumber block, Page page)
{
	const HybridLayout *layout = &check->open.layout;
	const HybridListLayout *shape = hybrid_list_layout(layout, list->level);
	const HybridListPage *content = hybrid_list_page(page);
	const BlockNumber *directory = hybrid_directory(page);
	int live = 0, used = content->used, i;

	for (i = 0; i * HY_CODE_ROWS < used; i++)
	{
		uint32 mask = hybrid_block(shape, page, i)->live;
		int rows = Min(used - i * HY_CODE_ROWS, HY_CODE_ROWS);

		if (rows < HY_CODE_ROWS && mask >> rows != 0)
			corrupted(check, &list->walked->link, "has a live entry in a slot never filled", block);
		live += pg_popcount32(mask);
	}
	if (live != content->live)
		ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
		                errmsg("index \"%s\" counts %u live entries at block %u and has %d",
		                       RelationGetRelationName(check->index), content->live, block, live),
		                errhint("REINDEX it.")));

	for (i = 0; i < shape->code_pages; i++)
	{
		if (BlockNumberIsValid(directory[i]))
			check_codes_page(check, list, directory[i], i);
		else if (used > 0)
			corrupted(check, &list->walked->link, "lacks a page of codes", block);
	}
	if (layout->packed)
	{
		check_values(check, list, block, page);
		return;
	}
	for (i = 0; i < shape->vector_pages; i++)
	{
		BlockNumber vectors = directory[shape->code_pages + i];
		int needed = used - i / shape->span * shape->per_page;

		if (BlockNumberIsValid(vectors))
			check_vectors_page(check, list, vectors, i % shape->span,
			                   Max(0, Min(needed, shape->per_page)));
		else if (needed > 0)
			corrupted(check, &list->walked->link, "lacks a page of vectors", block);
	}
}

/*
 * check_codes_page: check a page of codes, which is number `number` in the directory of its list page.
 */
static void
check_codes_page(HybridCheck *check, const HybridCheckedList *list, BlockNumber block, int number)
{
	Size begin, length;
	Buffer buffer;
	Page page;

	hybrid_check_own(check, block, &list->walked->link);
	buffer = hybrid_part_read(check->index, &list->walked->link, HYBRID_PAGE_CODES, block,
	                          check->strategy);
	page = BufferGetPage(buffer);
	hybrid_page_check(check->index, page, block, HYBRID_PAGE_CODES);
	hybrid_codes_range(&check->open.layout, number, &begin, &length);
	check_bounds(check, page, block, length, 0);
	UnlockReleaseBuffer(buffer);
}

/*
 * check_vectors_page: check page number `part`, from 0, of the pages that hold a vector. Page 0 holds
 * the beginning of at least `needed` vectors.
 */
static void
check_vectors_page(HybridCheck *check, const HybridCheckedList *list, BlockNumber block, int part,
                   int needed)
{
	const HybridListLayout *shape = hybrid_list_layout(&check->open.layout, list->level);
	HybridPageKind kind = part == 0 ? HYBRID_PAGE_VECTORS : HYBRID_PAGE_VECTOR_TAIL;
	Buffer buffer;
	Page page;

	hybrid_check_own(check, block, &list->walked->link);
	buffer = hybrid_part_read(check->index, &list->walked->link, kind, block, check->strategy);
	page = BufferGetPage(buffer);
	hybrid_page_check(check->index, page, block, kind);
	if (part == 0)
	{
		int count = hybrid_special(page)->count;

		if (count < needed || count > shape->per_page)
			ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
			                errmsg("index \"%s\" has %d vectors at block %u instead of %d to %d",
			                       RelationGetRelationName(check->index), count, block, needed,
			                       shape->per_page),
			                errhint("REINDEX it.")));
		check_bounds(check, page, block, count * shape->in_first, count * sizeof(HybridStored));
	}
	else if (needed > 0)
	{
		Size begin, length;

		hybrid_tail_range(shape, part, &begin, &length);
		check_bounds(check, page, block, length, 0);
	}
	UnlockReleaseBuffer(buffer);
}

/* check_values: check the pieces of a list page, and the VALUES pages that contain them. */
static void
check_values(HybridCheck *check, const HybridCheckedList *list, BlockNumber block, Page page)
{
	const HybridLayout *layout = &check->open.layout;
	const BlockNumber *directory = hybrid_directory(page);
	Size *needed = palloc(layout->leaf.vector_pages * sizeof(Size));
	const char *fault = hybrid_packed_fault(layout, page, needed);
	int i;

	if (fault != NULL)
		corrupted(check, &list->walked->link, fault, block);
	for (i = 0; i < layout->leaf.vector_pages; i++)
	{
		PageHeader header;
		Buffer buffer;

		if (!BlockNumberIsValid(directory[i]))
		{
			if (needed[i] > 0)
				corrupted(check, &list->walked->link, "lacks a page of values", block);
			continue;
		}
		hybrid_check_own(check, directory[i], &list->walked->link);
		buffer = hybrid_part_read(check->index, &list->walked->link, HYBRID_PAGE_VALUES,
		                          directory[i], check->strategy);
		hybrid_page_check(check->index, BufferGetPage(buffer), directory[i], HYBRID_PAGE_VALUES);
		header = (PageHeader) BufferGetPage(buffer);
		/* after the last byte that is needed, there may be bytes that no entry names */
		if (header->pd_upper != header->pd_special ||
		    header->pd_lower < SizeOfPageHeaderData + needed[i])
			corrupted(check, &list->walked->link, "has a page that lacks values", directory[i]);
		UnlockReleaseBuffer(buffer);
	}
	pfree(needed);
}

/*
 * check_bounds: check pd_lower and pd_upper: `lower` bytes follow the header, and `upper` bytes precede
 * the special space.
 */
static void
check_bounds(HybridCheck *check, Page page, BlockNumber block, Size lower, Size upper)
{
	PageHeader header = (PageHeader) page;

	if (header->pd_lower != SizeOfPageHeaderData + lower ||
	    header->pd_upper != header->pd_special - upper)
		ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
		                errmsg("index \"%s\" contains inconsistent counts at block %u",
		                       RelationGetRelationName(check->index), block),
		                errdetail("Bounds %u and %u.", header->pd_lower, header->pd_upper),
		                errhint("REINDEX it.")));
}

/*
 * check_counts: check the head's totals against the chain. If other sessions change the list meanwhile,
 * repeats the check. After 100 attempts, gives up without an error.
 */
static void
check_counts(HybridCheck *check, const HybridCheckedList *list)
{
	const HybridLink *link = &list->walked->link;
	PGAlignedBlock head, image;
	const HybridListPage *content = hybrid_list_page((Page) head.data);
	int attempts;

	for (attempts = 0; attempts < 100; attempts++)
	{
		BlockNumber block = link->head, last = InvalidBlockNumber;
		uint32 pages = 0, total = 0;

		hybrid_check_copy(check, link, list->level, block, (Page) head.data);
		while (BlockNumberIsValid(block))
		{
			hybrid_check_copy(check, link, list->level, block, (Page) image.data);
			total += hybrid_list_page((Page) image.data)->live;
			last = block;
			block = hybrid_list_page((Page) image.data)->next;
			hybrid_chain_step(check->index, link, &pages);
		}
		hybrid_check_copy(check, link, list->level, link->head, (Page) image.data);
		if (hybrid_list_page((Page) image.data)->changes != content->changes)
			continue;
		if (content->total != total || content->pages != pages || content->tail != last)
			ereport(
				ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
			     errmsg("index \"%s\" has a list with wrong counts at block %u",
			            RelationGetRelationName(check->index), link->head),
			     errdetail("%u live entries instead of %u, %u pages instead of %u, the last is %u "
			               "instead of %u.",
			               total, content->total, pages, content->pages, last, content->tail),
			     errhint("REINDEX it.")));
		return;
	}
}

void
hybrid_check_own(HybridCheck *check, BlockNumber block, const HybridLink *list)
{
	if (block >= RelationGetNumberOfBlocks(check->index))
		corrupted(check, list, "refers to a page beyond its end", block);
	/* the page was added after the check began */
	if (block >= check->blocks)
		return;
	/* on a standby, replay may reuse pages during the check */
	if (BlockNumberIsValid(check->owners[block]) && !RecoveryInProgress())
		ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
		                errmsg("index \"%s\" uses block %u twice",
		                       RelationGetRelationName(check->index), block),
		                errdetail("In list %u and list %u.", check->owners[block], list->head),
		                errhint("REINDEX it.")));
	check->owners[block] = list->head;
}

static void
corrupted(HybridCheck *check, const HybridLink *list, const char *what, BlockNumber block)
{
	ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
	                errmsg("index \"%s\" %s at block %u", RelationGetRelationName(check->index),
	                       what, block),
	                errdetail("List %u, generation %u.", list->head, list->generation),
	                errhint("REINDEX it.")));
}
