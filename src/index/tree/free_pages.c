/*
 * free_pages.c
 *		Allocate pages for new lists, and free the pages of moved lists.
 *
 * The free space map is only a hint. A page that it offers is used only after the page was locked, and
 * only if the page itself shows that it is free or was never written.
 *
 * A moved list can be freed by one of two rules. First, it can be freed when no snapshot is older than the
 * move, because only a transaction that followed a link from before the move still reads the list. But the
 * transaction that moved the list is itself as old as the move. So by this rule, a long transaction could
 * free none of the lists that it has moved. Second, a list can be freed when no other session has a
 * snapshot and nothing else in this process has the index open. (An INSERT of 50,000 rows of 32 dimensions
 * into an empty index leaves an index of 1,057 pages, and of 2,152 pages with the first rule alone.)
 *
 * The first rule ignores the snapshot of a VACUUM, as PostgreSQL's own horizons do. This is safe because VACUUM holds
 * the meta page's lock while it reads lists.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"
#include "storage/indexfsm.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "server/compat.h"

#include "index/page/buffers.h"
#include "index/page/lock.h"
#include "index/tree/free_pages.h"
#include "index/tree/tree.h"

static HybridLink logged_reserve(HybridSink *sink, HybridPageKind kind);
static void logged_write(HybridSink *sink, BlockNumber block, Page image);
static bool somebody_reads(void);
static bool pop_moved(Relation index, bool all, HybridLink *list);
static void free_center(Relation index, BlockNumber block);
static int free_pages(Relation index, const HybridLink *list, const BlockNumber *blocks, int count);

Buffer
hybrid_page_allocate(Relation index, uint16 *generation)
{
	bool lock = !RELATION_IS_LOCAL(index);
	BlockNumber block;
	Buffer buffer;

	while ((block = GetFreeIndexPage(index)) != InvalidBlockNumber)
	{
		/* after a crash, the map may offer pages that do not exist */
		if (block >= RelationGetNumberOfBlocks(index))
			continue;
		buffer = ReadBuffer(index, block);
		if (ConditionalLockBuffer(buffer))
		{
			Page page = BufferGetPage(buffer);

			*generation = 1;
			if (PageIsNew(page))
				return buffer;
			if (hybrid_page_is_ours(page) && hybrid_special(page)->kind == HYBRID_PAGE_FREE)
			{
				*generation = Max((uint16) (hybrid_special(page)->heads + 1), 1);
				return buffer;
			}
			LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
		}
		ReleaseBuffer(buffer);
	}

	if (lock)
		LockRelationForExtension(index, ExclusiveLock);
	buffer = ReadBuffer(index, P_NEW);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (lock)
		UnlockRelationForExtension(index, ExclusiveLock);
	*generation = 1;
	return buffer;
}

void
hybrid_page_give_back(Relation index, BlockNumber block)
{
	Buffer buffer = ReadBuffer(index, block);
	Page page = BufferGetPage(buffer);
	bool taken;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	taken = hybrid_page_is_ours(page) && hybrid_special(page)->kind == HYBRID_PAGE_TAKEN;
	if (taken)
	{
		hybrid_special(page)->kind = HYBRID_PAGE_FREE;
		MarkBufferDirtyHint(buffer, true);
	}
	UnlockReleaseBuffer(buffer);
	if (taken)
		RecordFreeIndexPage(index, block);
}

void
hybrid_logged_sink_init(HybridLoggedSink *sink, Relation index)
{
	sink->sink.reserve = logged_reserve;
	sink->sink.write = logged_write;
	sink->index = index;
}

BlockNumber
hybrid_list_extend(Relation index, const HybridLayout *layout, const HybridLink *list, int level,
                   BlockNumber tail)
{
	GenericXLogState *record;
	Buffer head = ReadBuffer(index, list->head), last = head, buffer;
	BlockNumber block;
	uint16 generation;
	Page page;

	LockBuffer(head, BUFFER_LOCK_EXCLUSIVE);
	if (tail != list->head)
	{
		last = ReadBuffer(index, tail);
		LockBuffer(last, BUFFER_LOCK_EXCLUSIVE);
	}
	buffer = hybrid_page_allocate(index, &generation);
	block = BufferGetBlockNumber(buffer);

	record = GenericXLogStart(index);
	page = GenericXLogRegisterBuffer(record, head, 0);
	hybrid_list_page(page)->tail = block;
	hybrid_list_page(page)->pages++;
	hybrid_list_page(page)->changes++;
	if (last != head)
		page = GenericXLogRegisterBuffer(record, last, 0);
	hybrid_list_page(page)->next = block;
	page = GenericXLogRegisterBuffer(record, buffer, GENERIC_XLOG_FULL_IMAGE);
	hybrid_page_empty(page, HYBRID_PAGE_LIST, list);
	hybrid_list_page_begin(layout, page, level);
	GenericXLogFinish(record);

	UnlockReleaseBuffer(buffer);
	if (last != head)
		UnlockReleaseBuffer(last);
	UnlockReleaseBuffer(head);
	return block;
}

void
hybrid_page_write(Relation index, BlockNumber block, Page image)
{
	GenericXLogState *state = GenericXLogStart(index);
	Buffer buffer = ReadBuffer(index, block);

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	memcpy(GenericXLogRegisterBuffer(state, buffer, GENERIC_XLOG_FULL_IMAGE), image, BLCKSZ);
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
}

void
hybrid_moved_remember(Relation index, const HybridLink *list, FullTransactionId since)
{
	Buffer buffer = ReadBuffer(index, HYBRID_META_BLOCK);
	GenericXLogState *state;
	HybridMeta *meta;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	(void) hybrid_meta_check(index, BufferGetPage(buffer));
	state = GenericXLogStart(index);
	meta = hybrid_meta(GenericXLogRegisterBuffer(state, buffer, 0));
	if (meta->moved_count >= HYBRID_MOVED_LISTS && list->generation != HYBRID_CENTER_GENERATION)
	{
		GenericXLogAbort(state);
		UnlockReleaseBuffer(buffer);
		return;
	}
	/*
	 * To make space for a page of a center, drop the newest entry of the ring. VACUUM finds moved lists
	 * that are not in the ring, but frees pages of a center only through the ring.
	 */
	if (meta->moved_count == HYBRID_MOVED_LISTS && list->generation == HYBRID_CENTER_GENERATION)
		meta->moved_count--;
	if (meta->moved_count < HYBRID_MOVED_LISTS)
	{
		HybridMovedList *moved =
			&meta->moved[(meta->moved_first + meta->moved_count++) % HYBRID_MOVED_LISTS];

		moved->since = since;
		moved->head = list->head;
		moved->generation = list->generation;
		moved->unused = 0;
	}
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
}

void
hybrid_tree_add_leaves(Relation index, int leaves)
{
	HybridMetaChange change;
	HybridMeta *meta = hybrid_meta_begin(index, &change);

	meta->leaves = (uint32) Max((int64) meta->leaves + leaves, 1);
	hybrid_meta_end(&change);
}

void
hybrid_tree_set_leaves(Relation index, int leaves)
{
	HybridMetaChange change;
	HybridMeta *meta = hybrid_meta_begin(index, &change);

	meta->leaves = (uint32) leaves;
	meta->regroup_leaves = hybrid_regroup_next(meta->leaves);
	hybrid_meta_end(&change);
}

bool
hybrid_moved_known(Relation index, const HybridLink *list)
{
	Buffer buffer = ReadBuffer(index, HYBRID_META_BLOCK);
	const HybridMeta *meta;
	bool known = false;
	uint32 i;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	meta = hybrid_meta_check(index, BufferGetPage(buffer));
	for (i = 0; i < meta->moved_count; i++)
	{
		const HybridMovedList *moved = &meta->moved[(meta->moved_first + i) % HYBRID_MOVED_LISTS];

		if (moved->head == list->head && moved->generation == list->generation)
			known = true;
	}
	UnlockReleaseBuffer(buffer);
	return known;
}

void
hybrid_moved_reclaim(Relation index, const HybridLayout *layout)
{
	HybridLink list;
	bool all;

	/* VACUUM is reading lists, or another process is already freeing pages */
	if (!hybrid_lock_now(index, HYBRID_META_BLOCK, ExclusiveLock))
		return;
	all = hybrid_no_readers(index);
	while (pop_moved(index, all, &list))
	{
		CHECK_FOR_INTERRUPTS();
		if (list.generation == HYBRID_CENTER_GENERATION)
			free_center(index, list.head);
		else
			(void) hybrid_list_free(index, layout, list, all);
	}
	hybrid_unlock(index, HYBRID_META_BLOCK, ExclusiveLock);
}

void
hybrid_moved_reuse(Relation index, const HybridLayout *layout)
{
	hybrid_unlock(index, HYBRID_META_BLOCK, ShareLock);
	hybrid_moved_reclaim(index, layout);
	vacuum_delay_point(false);
	hybrid_lock(index, HYBRID_META_BLOCK, ShareLock);
}

bool
hybrid_no_readers(Relation index)
{
	/*
	 * It is enough to test for readers now. A session that opens the index or takes a snapshot later does
	 * not follow links that were replaced.
	 */
	if (index->rd_refcnt > 1)
		return false;
	return RELATION_IS_LOCAL(index) || !somebody_reads();
}

int
hybrid_list_free(Relation index, const HybridLayout *layout, HybridLink list, bool unread)
{
	BlockNumber block = list.head, *blocks = NULL;
	BlockNumber first_freed = InvalidBlockNumber, last_freed = 0;
	int count = 0, allocated = 0, named = 0, i;

	while (BlockNumberIsValid(block))
	{
		Buffer buffer = ReadBuffer(index, block);
		Page page = BufferGetPage(buffer);
		const HybridListPage *content = hybrid_list_page(page);
		int room;

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		/* Pages are freed from the end of a list. If this page is gone, an earlier call has freed the rest. */
		if (!hybrid_page_belongs(page, HYBRID_PAGE_LIST, &list))
		{
			UnlockReleaseBuffer(buffer);
			break;
		}
		if (block == list.head)
		{
			const HybridListLayout *shape = hybrid_list_layout(layout, content->level);

			if (content->state != HYBRID_LIST_MOVED ||
			    (!unread && !GlobalVisCheckRemovableFullXid(NULL, content->moved)))
			{
				UnlockReleaseBuffer(buffer);
				break;
			}
			named = shape->code_pages + shape->vector_pages;
			allocated = (int) content->pages * (named + 1);
			blocks = palloc(allocated * sizeof(BlockNumber));
		}
		/* The list has more pages than its head says. It is damaged, so do not make the damage worse. */
		if (count == allocated)
		{
			UnlockReleaseBuffer(buffer);
			break;
		}
		room = Min(named, allocated - count - 1);
		blocks[count++] = block;
		for (i = 0; i < room; i++)
		{
			if (BlockNumberIsValid(hybrid_directory(page)[i]))
				blocks[count++] = hybrid_directory(page)[i];
		}
		block = content->next;
		UnlockReleaseBuffer(buffer);
	}
	/* free the head last, so that the list can be found again after a crash */
	for (i = count; i > 0; i -= MAX_GENERIC_XLOG_PAGES)
	{
		int first = Max(i - MAX_GENERIC_XLOG_PAGES, 0);

		CHECK_FOR_INTERRUPTS();
		free_pages(index, &list, blocks + first, i - first);
	}
	for (i = 0; i < count; i++)
	{
		first_freed = Min(first_freed, blocks[i]);
		last_freed = Max(last_freed, blocks[i]);
	}
	/* update the upper levels of the free space map, so that searches for free pages find these */
	if (count > 0)
		FreeSpaceMapVacuumRange(index, first_freed, last_freed + 1);
	if (blocks != NULL)
		pfree(blocks);
	return count;
}

int
hybrid_pages_free(Relation index, const HybridLink *list, const BlockNumber *blocks, int count)
{
	int freed = 0, i;

	for (i = 0; i < count; i += MAX_GENERIC_XLOG_PAGES)
	{
		CHECK_FOR_INTERRUPTS();
		freed += free_pages(index, list, blocks + i, Min(count - i, MAX_GENERIC_XLOG_PAGES));
	}
	return freed;
}

static HybridLink
logged_reserve(HybridSink *sink, HybridPageKind kind)
{
	HybridLink link;
	Buffer buffer = hybrid_page_allocate(((HybridLoggedSink *) sink)->index, &link.generation);
	Page page = BufferGetPage(buffer);

	(void) kind;
	/*
	 * Mark the page as taken, because the map may offer it to another backend, too. After a crash the page
	 * is free again, or lost until VACUUM finds it.
	 */
	if (PageIsNew(page))
		hybrid_page_init(page, HYBRID_PAGE_TAKEN, InvalidBlockNumber, 0);
	else
		hybrid_special(page)->kind = HYBRID_PAGE_TAKEN;
	MarkBufferDirtyHint(buffer, true);
	link.head = BufferGetBlockNumber(buffer);
	UnlockReleaseBuffer(buffer);
	return link;
}

static void
logged_write(HybridSink *sink, BlockNumber block, Page image)
{
	CHECK_FOR_INTERRUPTS();
	hybrid_page_write(((HybridLoggedSink *) sink)->index, block, image);
}

/*
 * somebody_reads: test whether another process has a snapshot, in any database. A walsender counts as
 * one: its xmin is that of a standby's snapshots (hot_standby_feedback). GetCurrentVirtualXIDs does not
 * return a walsender, because it is in no transaction. A standby with a slot reports its xmin to the slot.
 */
static bool
somebody_reads(void)
{
	TransactionId slots, unused;
	bool found = false;
	uint32 i;

	ProcArrayGetReplicationSlotXmin(&slots, &unused);
	if (TransactionIdIsValid(slots))
		return true;
	LWLockAcquire(ProcArrayLock, LW_SHARED);
	for (i = 0; i < ProcGlobal->allProcCount && !found; i++)
	{
		const PGPROC *process = &ProcGlobal->allProcs[i];

		found = process != MyProc && TransactionIdIsValid(process->xmin);
	}
	LWLockRelease(ProcArrayLock);
	return found;
}

/* free_center: free a page of a center that was replaced. */
static void
free_center(Relation index, BlockNumber block)
{
	Buffer buffer = ReadBuffer(index, block);
	Page page = BufferGetPage(buffer);
	bool there;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	there = hybrid_page_is_ours(page) && hybrid_special(page)->kind == HYBRID_PAGE_CENTER;
	if (there)
	{
		GenericXLogState *state = GenericXLogStart(index);

		hybrid_page_empty(GenericXLogRegisterBuffer(state, buffer, GENERIC_XLOG_FULL_IMAGE),
		                  HYBRID_PAGE_FREE, NULL);
		GenericXLogFinish(state);
	}
	UnlockReleaseBuffer(buffer);
	if (there)
	{
		RecordFreeIndexPage(index, block);
		FreeSpaceMapVacuumRange(index, block, block + 1);
	}
}

/*
 * pop_moved: remove the oldest list from the ring if its pages can be freed. With `all`, every list can
 * be freed. Returns whether a list was removed.
 */
static bool
pop_moved(Relation index, bool all, HybridLink *list)
{
	Buffer buffer = ReadBuffer(index, HYBRID_META_BLOCK);
	GenericXLogState *state;
	HybridMovedList *moved;
	HybridMeta *meta;
	bool popped = false;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	meta = hybrid_meta_check(index, BufferGetPage(buffer));
	moved = &meta->moved[meta->moved_first];
	if (meta->moved_count > 0 && (all || GlobalVisCheckRemovableFullXid(NULL, moved->since)))
	{
		list->head = moved->head;
		list->generation = moved->generation;
		state = GenericXLogStart(index);
		meta = hybrid_meta(GenericXLogRegisterBuffer(state, buffer, 0));
		meta->moved_first = (meta->moved_first + 1) % HYBRID_MOVED_LISTS;
		meta->moved_count--;
		GenericXLogFinish(state);
		popped = true;
	}
	UnlockReleaseBuffer(buffer);
	return popped;
}

/*
 * free_pages: free those of the given pages that still belong to the list, in one WAL record, and record
 * them in the free space map. Returns the number of pages freed. In a damaged index a block may occur
 * twice. The second occurrence is skipped, because this process already holds the lock of the page.
 */
static int
free_pages(Relation index, const HybridLink *list, const BlockNumber *blocks, int count)
{
	GenericXLogState *state = GenericXLogStart(index);
	Buffer buffers[MAX_GENERIC_XLOG_PAGES];
	int freed = 0, i, j;

	Assert(count <= MAX_GENERIC_XLOG_PAGES);
	for (i = 0; i < count; i++)
	{
		Buffer buffer;
		Page page;

		for (j = 0; j < freed && BufferGetBlockNumber(buffers[j]) != blocks[i]; j++)
			;
		if (j < freed)
			continue;
		buffer = hybrid_buffer_read(index, blocks[i], NULL);
		page = BufferGetPage(buffer);
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		if (!hybrid_page_of_list(page, list))
		{
			UnlockReleaseBuffer(buffer);
			continue;
		}
		page = GenericXLogRegisterBuffer(state, buffer, GENERIC_XLOG_FULL_IMAGE);
		hybrid_page_empty(page, HYBRID_PAGE_FREE, NULL);
		buffers[freed++] = buffer;
	}
	GenericXLogFinish(state);
	for (i = 0; i < freed; i++)
	{
		BlockNumber block = BufferGetBlockNumber(buffers[i]);

		UnlockReleaseBuffer(buffers[i]);
		RecordFreeIndexPage(index, block);
	}
	return freed;
}
