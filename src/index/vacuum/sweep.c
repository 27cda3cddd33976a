/*
 * sweep.c
 *		Finds unused pages by reading the whole file.
 *
 * The file is read in block order. A page is free if it was never written, if it is marked free, or if
 * it was reserved and then not written. Moved lists that no session reads any more are freed, too.
 * SWEEP_PAGES pages are processed at a time, under the lock of the meta page in exclusive mode. Writers
 * of new lists hold that lock in share mode from before they reserve pages until they have written
 * them. So while the sweep holds the lock, no reserved page is about to be written.
 *
 * After a crash or an error, some pages contain data but no page names them:
 *
 * * A list that was written and not linked. Its head is live, but the tree does not have it, although
 *   no session is writing a list. It is marked as moved without a successor, and freed like a moved
 *   list.
 * * A page of vectors, codes or values that no list page names, although its list exists or existed.
 *   The list's lock, held exclusively, ensures that no session is about to name the page.
 * * Pages of a center that the meta page does not name.
 * * Segments that no list page names. Only VACUUM makes segments, so none is being made.
 *
 * The sweep therefore records the heads that the tree does not name, the pages that belong to a list,
 * and the pages that list pages name. At the end it checks each head and page that nothing names once
 * more, under the necessary lock.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/indexfsm.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "server/compat.h"
#include "server/memory.h"

#include "index/page/segment.h"
#include "index/write/link.h"
#include "index/page/lock.h"
#include "index/vacuum/merge.h"
#include "index/tree/free_pages.h"
#include "index/vacuum/sweep.h"
#include "index/tree/tree.h"

#define SWEEP_PAGES 512

/* Stray: a page that no list page named when it was read. */
typedef struct Stray
{
	HybridLink list;
	BlockNumber block;
} Stray;

typedef struct Sweep
{
	IndexVacuumInfo *info;
	IndexBulkDeleteResult *stats;
	Relation index;
	HybridIndex open;
	HybridLinks known;     /* lists of the tree before the sweep, sorted */
	HybridLinks heads;     /* heads of live lists that are not in `known` */
	HybridLinks center;    /* pages of centers */
	HybridLinks segments;  /* segments that have pages; a segment may occur several times */
	HybridLinks described; /* segments that list pages name; a segment may occur several times */
	BlockNumber blocks;
	bool unread; /* no session reads any moved list */
	/* one bit per page, set for a part of a list that one of its list pages should name */
	uint8 *parts;
	uint8 *named; /* one bit per page, set if a list page names the page */
} Sweep;

static void read_known(Sweep *sweep, HybridLinks *known);
static void sweep_page(Sweep *sweep, BlockNumber block);
static void note_list_page(Sweep *sweep, Page page, BlockNumber block);
static void give_up_lists(Sweep *sweep);
static void give_up_list(Sweep *sweep, const HybridLink *list);
static void give_up_centers(Sweep *sweep);
static void add_link(HybridLinks *links, HybridLink link);
static void free_segments(Sweep *sweep);
static void free_strays(Sweep *sweep);
static int64 find_strays(Sweep *sweep, Stray **strays);
static void free_strays_of(Sweep *sweep, const Stray *strays, int64 count);
static void unmark_named(Sweep *sweep, const HybridLink *list);
static int compare_strays(const void *a, const void *b);

static inline void
mark(uint8 *bits, BlockNumber block)
{
	bits[block / 8] |= 1 << block % 8;
}

static inline void
unmark(uint8 *bits, BlockNumber block)
{
	bits[block / 8] &= ~(1 << block % 8);
}

static inline bool
marked(const uint8 *bits, BlockNumber block)
{
	return (bits[block / 8] & 1 << block % 8) != 0;
}

/* is_part: test whether pages of this kind belong to a list and are named by one of its list pages. */
static inline bool
is_part(uint16 kind)
{
	return kind == HYBRID_PAGE_CODES || kind == HYBRID_PAGE_VECTORS ||
	       kind == HYBRID_PAGE_VECTOR_TAIL || kind == HYBRID_PAGE_VALUES;
}

void
hybrid_sweep(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid sweep", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	BlockNumber block = HYBRID_META_BLOCK + 1;
	Sweep sweep;

	memset(&sweep, 0, sizeof(sweep));
	sweep.info = info;
	sweep.stats = stats;
	sweep.index = info->index;
	sweep.open = hybrid_index_open(info->index);
	sweep.blocks = RelationGetNumberOfBlocks(info->index);
	sweep.parts = MemoryContextAllocHuge(context, sweep.blocks / 8 + 1);
	sweep.named = MemoryContextAllocHuge(context, sweep.blocks / 8 + 1);
	memset(sweep.parts, 0, sweep.blocks / 8 + 1);
	memset(sweep.named, 0, sweep.blocks / 8 + 1);
	stats->num_pages = sweep.blocks;
	stats->pages_free = 0;
	stats->pages_deleted = 0;
	hybrid_moved_reclaim(sweep.index, &sweep.open.layout);
	hybrid_lock(sweep.index, HYBRID_META_BLOCK, ShareLock);
	read_known(&sweep, &sweep.known);
	hybrid_unlock(sweep.index, HYBRID_META_BLOCK, ShareLock);
	while (block < sweep.blocks)
	{
		BlockNumber end = Min(block + SWEEP_PAGES, sweep.blocks);

		hybrid_lock(sweep.index, HYBRID_META_BLOCK, ExclusiveLock);
		sweep.unread = hybrid_no_readers(sweep.index);
		for (; block < end; block++)
			sweep_page(&sweep, block);
		hybrid_unlock(sweep.index, HYBRID_META_BLOCK, ExclusiveLock);
		vacuum_delay_point(false);
	}
	if (sweep.heads.count > 0)
		give_up_lists(&sweep);
	if (sweep.center.count > 0)
		give_up_centers(&sweep);
	free_strays(&sweep);
	if (sweep.segments.count > 0)
		free_segments(&sweep);
	/* free the lists that were marked above, if no session reads them */
	hybrid_moved_reclaim(sweep.index, &sweep.open.layout);
	stats->pages_deleted = stats->pages_free;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/*
 * read_known: read all lists of the current tree into `known`, sorted. The caller holds the meta
 * page's lock.
 */
static void
read_known(Sweep *sweep, HybridLinks *known)
{
	HybridTree tree;
	int level, count, i;

	memset(known, 0, sizeof(*known));
	hybrid_tree_read(sweep->index, &tree);
	for (level = tree.height; level >= 0; level--)
	{
		HybridLink *lists =
			hybrid_tree_lists(sweep->index, &sweep->open, &tree, level, NULL, &count);

		for (i = 0; i < count; i++)
			hybrid_links_add(known, lists[i]);
		pfree(lists);
	}
	hybrid_links_sort(known);
}

/* sweep_page: process one page. The caller holds the meta page's lock exclusively. */
static void
sweep_page(Sweep *sweep, BlockNumber block)
{
	Relation index = sweep->index;
	Buffer buffer =
		ReadBufferExtended(index, MAIN_FORKNUM, block, RBM_NORMAL, sweep->info->strategy);
	Page page = BufferGetPage(buffer);
	HybridLink moved = {InvalidBlockNumber, 0};
	bool unused = false;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (PageIsNew(page))
		unused = true;
	else if (!hybrid_page_is_ours(page))
		ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
		                errmsg("index \"%s\" contains a page that is not its own at block %u",
		                       RelationGetRelationName(index), block),
		                errhint("REINDEX it.")));
	else
	{
		HybridPageSpecial *special = hybrid_special(page);
		HybridLink list = {special->list, special->generation};

		switch ((HybridPageKind) special->kind)
		{
			case HYBRID_PAGE_TAKEN:
				/* free the reserved page, because no session is writing a list now */
				special->kind = HYBRID_PAGE_FREE;
				MarkBufferDirtyHint(buffer, true);
				unused = true;
				break;
			case HYBRID_PAGE_FREE:
				unused = true;
				break;
			case HYBRID_PAGE_CENTER:
				list.head = block;
				list.generation = HYBRID_CENTER_GENERATION;
				hybrid_links_add(&sweep->center, list);
				break;
			case HYBRID_PAGE_LIST:
				note_list_page(sweep, page, block);
				if (list.head != block)
					break;
				if (hybrid_list_page(page)->state == HYBRID_LIST_MOVED)
					moved = list;
				else if (!hybrid_links_has(&sweep->known, &list))
					hybrid_links_add(&sweep->heads, list);
				break;
			case HYBRID_PAGE_SEGMENT:
			case HYBRID_PAGE_DIMENSIONS:
			case HYBRID_PAGE_POSTINGS:
				add_link(&sweep->segments, list);
				break;
			default:
				if (is_part(special->kind))
					mark(sweep->parts, block);
				break;
		}
	}
	UnlockReleaseBuffer(buffer);
	if (unused)
	{
		RecordFreeIndexPage(index, block);
		sweep->stats->pages_free++;
	}
	if (BlockNumberIsValid(moved.head))
		(void) hybrid_list_free(index, &sweep->open.layout, moved, sweep->unread);
}

/* note_list_page: record the pages that a locked list page names. */
static void
note_list_page(Sweep *sweep, Page page, BlockNumber block)
{
	const HybridListLayout *shape;
	int i;

	hybrid_page_check(sweep->index, page, block, HYBRID_PAGE_LIST);
	/*
	 * Only the head records the level of a list, so the layout is derived from pd_lower. If the derived
	 * layout is wrong, bytes after the end of a shorter directory are read as block numbers. The pages
	 * with these numbers are then marked as named. The only effect is that they are not freed this
	 * time.
	 */
	shape = hybrid_page_shape(&sweep->open.layout, page);
	for (i = 0; i < shape->code_pages + shape->vector_pages; i++)
	{
		BlockNumber part = hybrid_directory(page)[i];

		if (part < sweep->blocks)
			mark(sweep->named, part);
	}
	if (sweep->open.layout.packed &&
	    BlockNumberIsValid(hybrid_list_segment(hybrid_list_page(page))->head))
		add_link(&sweep->described, *hybrid_list_segment(hybrid_list_page(page)));
}

/* add_link: add a link, unless it equals the last one: neighboring pages often have the same link. */
static void
add_link(HybridLinks *links, HybridLink link)
{
	if (links->count == 0 || !hybrid_same_link(&links->links[links->count - 1], &link))
		hybrid_links_add(links, link);
}

/* free_segments: free the pages of segments that no list page names. */
static void
free_segments(Sweep *sweep)
{
	HybridLinks lost;
	BlockNumber block;
	int i;

	memset(&lost, 0, sizeof(lost));
	if (sweep->described.count > 0)
		hybrid_links_sort(&sweep->described);
	for (i = 0; i < sweep->segments.count; i++)
	{
		if (sweep->described.count == 0 ||
		    !hybrid_links_has(&sweep->described, &sweep->segments.links[i]))
			hybrid_links_add(&lost, sweep->segments.links[i]);
	}
	if (lost.count == 0)
		return;
	hybrid_links_sort(&lost);
	for (block = HYBRID_META_BLOCK + 1; block < sweep->blocks; block++)
	{
		Buffer buffer = ReadBufferExtended(sweep->index, MAIN_FORKNUM, block, RBM_NORMAL,
		                                   sweep->info->strategy);
		Page page = BufferGetPage(buffer);
		HybridLink link = {InvalidBlockNumber, 0};

		vacuum_delay_point(false);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		if (hybrid_page_is_ours(page) && hybrid_page_of_segment(page))
			link = (HybridLink){hybrid_special(page)->list, hybrid_special(page)->generation};
		UnlockReleaseBuffer(buffer);
		if (BlockNumberIsValid(link.head) && hybrid_links_has(&lost, &link))
			sweep->stats->pages_free += hybrid_pages_free(sweep->index, &link, &block, 1);
	}
}

/*
 * give_up_lists: look up the recorded heads in the tree again. Mark the lists that are still not there
 * as moved.
 */
static void
give_up_lists(Sweep *sweep)
{
	HybridLinks known;
	int i;

	/*
	 * under this lock no session is writing a list, so a list that is not in the tree now will never be
	 * in it
	 */
	hybrid_lock(sweep->index, HYBRID_META_BLOCK, ExclusiveLock);
	read_known(sweep, &known);
	for (i = 0; i < sweep->heads.count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!hybrid_links_has(&known, &sweep->heads.links[i]))
			give_up_list(sweep, &sweep->heads.links[i]);
	}
	hybrid_unlock(sweep->index, HYBRID_META_BLOCK, ExclusiveLock);
}

/*
 * give_up_list: mark a list that no list names as moved without a successor. The list is not freed at
 * once, because it may be one of two lists that were merged. A crash may have kept the change of the
 * parent list, but lost the marks on the two old heads. If this server was a standby at that time and
 * has become a primary, one of its sessions may still read these lists.
 */
static void
give_up_list(Sweep *sweep, const HybridLink *list)
{
	static const HybridLink nowhere = {InvalidBlockNumber, 0};
	Buffer buffer = ReadBuffer(sweep->index, list->head);
	FullTransactionId now = ReadNextFullTransactionId();
	Page page = BufferGetPage(buffer);
	bool lost;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	lost = hybrid_page_belongs(page, HYBRID_PAGE_LIST, list) &&
	       hybrid_list_page(page)->state == HYBRID_LIST_LIVE;
	if (lost)
	{
		GenericXLogState *record = GenericXLogStart(sweep->index);

		page = GenericXLogRegisterBuffer(record, buffer, 0);
		hybrid_mark_moved(hybrid_list_page(page), nowhere, nowhere, now);
		GenericXLogFinish(record);
	}
	UnlockReleaseBuffer(buffer);
	if (lost)
		hybrid_moved_remember(sweep->index, list, now);
}

/*
 * give_up_centers: enter pages of old or unused centers into the ring of moved lists, so that they are
 * freed later.
 */
static void
give_up_centers(Sweep *sweep)
{
	int pages = hybrid_center_pages(&sweep->open.layout), i;
	HybridTree tree;

	/* sessions that replace the center hold this lock in share mode */
	hybrid_lock(sweep->index, HYBRID_META_BLOCK, ExclusiveLock);
	hybrid_tree_read(sweep->index, &tree);
	for (i = 0; i < sweep->center.count; i++)
	{
		const HybridLink *page = &sweep->center.links[i];

		if ((!BlockNumberIsValid(tree.center) || page->head < tree.center ||
		     page->head >= tree.center + pages) &&
		    !hybrid_moved_known(sweep->index, page))
			hybrid_moved_remember(sweep->index, page, ReadNextFullTransactionId());
	}
	hybrid_unlock(sweep->index, HYBRID_META_BLOCK, ExclusiveLock);
}

/* free_strays: free pages of vectors, values and codes that no list page names. */
static void
free_strays(Sweep *sweep)
{
	Stray *strays = NULL;
	int64 count = find_strays(sweep, &strays), first, last;

	if (count == 0)
		return;
	qsort(strays, count, sizeof(Stray), compare_strays);
	for (first = 0; first < count; first = last)
	{
		const HybridLink *list = &strays[first].list;

		for (last = first + 1; last < count && strays[last].list.head == list->head &&
		                       strays[last].list.generation == list->generation;
		     last++)
			;
		vacuum_delay_point(false);
		/* an insert holds this lock in share mode; a change of an inner list holds it exclusively */
		hybrid_lock(sweep->index, list->head, ExclusiveLock);
		free_strays_of(sweep, strays + first, last - first);
		hybrid_unlock(sweep->index, list->head, ExclusiveLock);
	}
}

/*
 * find_strays: collect the pages that no list page named when the file was read. Returns the number of
 * such pages.
 */
static int64
find_strays(Sweep *sweep, Stray **strays)
{
	int64 count = 0, allocated = 0;
	BlockNumber block;

	for (block = 0; block < sweep->blocks; block++)
	{
		Buffer buffer;
		Page page;

		if (!marked(sweep->parts, block) || marked(sweep->named, block))
			continue;
		CHECK_FOR_INTERRUPTS();
		if (count == allocated)
		{
			allocated = Max(64, allocated * 2);
			*strays = hybrid_enlarge(CurrentMemoryContext, *strays, allocated * sizeof(Stray));
		}
		buffer = ReadBufferExtended(sweep->index, MAIN_FORKNUM, block, RBM_NORMAL,
		                            sweep->info->strategy);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		page = BufferGetPage(buffer);
		if (hybrid_page_is_ours(page) && is_part(hybrid_special(page)->kind) &&
		    hybrid_special(page)->list < sweep->blocks)
		{
			(*strays)[count].list.head = hybrid_special(page)->list;
			(*strays)[count].list.generation = hybrid_special(page)->generation;
			(*strays)[count++].block = block;
		}
		UnlockReleaseBuffer(buffer);
	}
	return count;
}

/*
 * free_strays_of: free the strays of one list, except those that the list names now. The caller
 * holds the list's lock.
 */
static void
free_strays_of(Sweep *sweep, const Stray *strays, int64 count)
{
	BlockNumber *blocks = palloc(count * sizeof(BlockNumber));
	int lost = 0;
	int64 i;

	unmark_named(sweep, &strays[0].list);
	for (i = 0; i < count; i++)
	{
		if (marked(sweep->parts, strays[i].block))
			blocks[lost++] = strays[i].block;
	}
	sweep->stats->pages_free += hybrid_pages_free(sweep->index, &strays[0].list, blocks, lost);
	pfree(blocks);
}

/*
 * unmark_named: clear the bits in `parts` of the pages that a list names, if the list still exists. If
 * the list is being freed, its head is freed last. Pages that it still names are freed with it.
 */
static void
unmark_named(Sweep *sweep, const HybridLink *list)
{
	const HybridListLayout *shape = NULL;
	BlockNumber block = list->head;
	uint32 pages = 0;

	while (BlockNumberIsValid(block))
	{
		Buffer buffer = ReadBuffer(sweep->index, block);
		Page page = BufferGetPage(buffer);
		bool there;
		int i;

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		/* if a crash left a list half written, it ends at the first page that was not written */
		there = hybrid_page_belongs(page, HYBRID_PAGE_LIST, list);
		if (there && shape == NULL)
			shape = hybrid_list_layout(&sweep->open.layout, hybrid_list_page(page)->level);
		for (i = 0; there && i < shape->code_pages + shape->vector_pages; i++)
		{
			if (hybrid_directory(page)[i] < sweep->blocks)
				unmark(sweep->parts, hybrid_directory(page)[i]);
		}
		block = there ? hybrid_list_page(page)->next : InvalidBlockNumber;
		UnlockReleaseBuffer(buffer);
		if (there)
			hybrid_chain_step(sweep->index, list, &pages);
	}
}

static int
compare_strays(const void *a, const void *b)
{
	const Stray *x = (const Stray *) a, *y = (const Stray *) b;

	if (x->list.head != y->list.head)
		return x->list.head < y->list.head ? -1 : 1;
	if (x->list.generation != y->list.generation)
		return x->list.generation < y->list.generation ? -1 : 1;
	return (x->block > y->block) - (x->block < y->block);
}
