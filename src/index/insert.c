/*
 * insert.c
 *		One new entry: into a group known to have room, else into a new group.
 *
 * Looked at in turn: the group this backend wrote last, what the free space map offers, the last
 * group of the file, and then the file is extended by one group: a bounded number of pages
 * whatever the size of the index.  The map is a hint: a group that turns out full is struck off.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "index/index.h"

static void store_entry(Relation index, const HybridLayout *layout, const HybridEntry *entry);
static bool
try_group(Relation index, const HybridLayout *layout, BlockNumber head, const HybridEntry *entry);
static void
write_tails(Relation index, const HybridLayout *layout, BlockNumber head, const HybridEntry *entry,
            int first, int last, Buffer head_buffer, int slot);
static BlockNumber extend_by_group(Relation index, const HybridLayout *layout, BlockNumber blocks);

bool
hybridinsert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
             IndexUniqueCheck unique, bool unchanged, IndexInfo *info)
{
	HybridIndex open = hybrid_index_open(index);
	MemoryContext context, old;
	HybridEntry entry;

	(void) heap;
	(void) unique;
	(void) unchanged;
	(void) info;
	if (isnull[0])
		return false;

	context = AllocSetContextCreate(CurrentMemoryContext, "hybrid insert", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	entry.vector = palloc(open.layout.stride);
	if (hybrid_entry_form(&open, DatumGetHybridVector(values[0]), tid, &entry))
		store_entry(index, &open.layout, &entry);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return false;
}

static void
store_entry(Relation index, const HybridLayout *layout, const HybridEntry *entry)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(index);
	BlockNumber head = RelationGetTargetBlock(index);
	BlockNumber groups;

	if (head != InvalidBlockNumber && hybrid_is_group_head(layout, head, blocks) &&
	    try_group(index, layout, head, entry))
		return;

	head = GetPageWithFreeSpace(index, HYBRID_FSM_NEED);
	while (head != InvalidBlockNumber)
	{
		CHECK_FOR_INTERRUPTS();
		if (head >= blocks)
			blocks = RelationGetNumberOfBlocks(index);
		/* after a crash the map may offer what is no head or not there */
		if (hybrid_is_group_head(layout, head, blocks) && try_group(index, layout, head, entry))
		{
			RelationSetTargetBlock(index, head);
			return;
		}
		head = RecordAndGetPageWithFreeSpace(index, head, 0, HYBRID_FSM_NEED);
	}

	groups = hybrid_groups(layout, blocks);
	head = groups > 0 ? hybrid_group_head(layout, groups - 1) : InvalidBlockNumber;
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (head != InvalidBlockNumber && try_group(index, layout, head, entry))
		{
			RelationSetTargetBlock(index, head);
			return;
		}
		head = extend_by_group(index, layout, blocks);
		blocks = RelationGetNumberOfBlocks(index);
	}
}

/* try_group: stores the entry in this group; false when it is full. */
static bool
try_group(Relation index, const HybridLayout *layout, BlockNumber head, const HybridEntry *entry)
{
	Buffer buffer = ReadBuffer(index, head);
	Page page;
	int slot = 0, p;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	page = BufferGetPage(buffer);
	if (!PageIsNew(page))
	{
		hybrid_page_check(index, layout, page, head, HYBRID_PAGE_HEAD);
		slot = hybrid_free_slot(layout, page);
		if (slot < 0)
		{
			UnlockReleaseBuffer(buffer);
			return false;
		}
	}

	/*
	 * Tail pages first: the record that makes the slot live is the last one, so a crash in between
	 * leaves an empty group.  The head stays locked, so no reader of the old entry, dead as it is,
	 * and no other writer comes between.
	 */
	for (p = 1; layout->span - p >= MAX_GENERIC_XLOG_PAGES; p += MAX_GENERIC_XLOG_PAGES)
		write_tails(index, layout, head, entry, p, p + MAX_GENERIC_XLOG_PAGES, InvalidBuffer, 0);
	write_tails(index, layout, head, entry, p, layout->span, buffer, slot);
	UnlockReleaseBuffer(buffer);
	return true;
}

/*
 * write_tails: tail pages first .. last - 1 of an entry in one record, and with them the head page
 * and its slot unless head_buffer is invalid.
 */
static void
write_tails(Relation index, const HybridLayout *layout, BlockNumber head, const HybridEntry *entry,
            int first, int last, Buffer head_buffer, int slot)
{
	Buffer buffers[MAX_GENERIC_XLOG_PAGES];
	GenericXLogState *state = GenericXLogStart(index);
	Page page;
	int n = 0, p;

	for (p = first; p < last; p++)
	{
		Buffer buffer = ReadBuffer(index, head + p);

		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		buffers[n++] = buffer;
		/* Whatever an interrupted insert left there is overwritten. */
		page = GenericXLogRegisterBuffer(state, buffer, GENERIC_XLOG_FULL_IMAGE);
		hybrid_page_init(page, HYBRID_PAGE_TAIL);
		hybrid_put_tail(layout, page, p, entry->vector);
	}
	if (BufferIsValid(head_buffer))
	{
		bool fresh = PageIsNew(BufferGetPage(head_buffer));

		page = GenericXLogRegisterBuffer(state, head_buffer, fresh ? GENERIC_XLOG_FULL_IMAGE : 0);
		if (fresh)
			hybrid_page_init(page, HYBRID_PAGE_HEAD);
		hybrid_put(layout, page, slot, &entry->slot, entry->vector);
	}
	GenericXLogFinish(state);
	while (n > 0)
		UnlockReleaseBuffer(buffers[--n]);
}

/*
 * extend_by_group: adds a group to the file and returns its head; or, when somebody else has made
 * the file longer than blocks meanwhile and groups hold more than one entry, the head of the last
 * group there is now.  Pages stay zero: an empty group until something is put there.
 */
static BlockNumber
extend_by_group(Relation index, const HybridLayout *layout, BlockNumber blocks)
{
	BlockNumber now, groups, head;
	bool lock = !RELATION_IS_LOCAL(index);

	if (lock)
		LockRelationForExtension(index, ExclusiveLock);
	now = RelationGetNumberOfBlocks(index);
	groups = hybrid_groups(layout, now);
	if (now == blocks || layout->capacity == 1)
	{
		head = hybrid_group_head(layout, groups);
		/* completes a group that a crash cut short, or adds a whole one */
		while (now < head + layout->span)
		{
			Buffer buffer = ReadBuffer(index, P_NEW);

			now = BufferGetBlockNumber(buffer) + 1;
			ReleaseBuffer(buffer);
		}
	}
	else
		head = hybrid_group_head(layout, groups - 1);
	if (lock)
		UnlockRelationForExtension(index, ExclusiveLock);
	return head;
}
