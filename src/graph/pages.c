/*
 * pages.c
 *		The pages of a registered graph's table, and the proofs that they are unchanged: see pages.h.
 *
 * For each page of the table, this module keeps data that can later prove that a snapshot S sees the same rows of
 * the page as the snapshot that read the page. There are two proofs:
 *
 * 1. The visibility map said, when the copy was last validated, that all rows of the page are visible
 *    to everyone, and the bit was not cleared since. Setting a bit changes the LSN of the map's page.
 *    So if the bit was set and is set now, and the LSN is the same, the bit was never cleared. (In some
 *    versions clearing a bit changes the LSN, too, and the proof applies less often.) The map is copied
 *    before any page is read. A bit in a map copied later might have been set after a change that the
 *    read of the page did not see.
 * 2. The page has the LSN that it had when it was read, so it holds the same rows. Let R be the snapshot of
 *    that read. S sees the same rows as R, because all transactions on the page had ended for both: their
 *    IDs precede the xmin of R (the page is "settled") and the xmin of S. The LSN alone proves nothing,
 *    since a transaction ends without a change to the page. S may be older than R, so the test for R does
 *    not cover S. The IDs include the updaters in multixacts.
 *
 * A change whose LSN is not on the page yet belongs to a transaction that S does not see. So the LSN is read
 * without a lock on the contents of the page. When a page is read, the LSN is taken after the visibility of its
 * rows is tested, under the same lock: the test sets hint bits, which can change the LSN.
 *
 * The new states of pages and the new map take effect only when all pages are read and the copy has their edges.
 * After an error or a cancel before that, the pages still count as unread, and the older map stays. The older map
 * is correct, too: it says which pages have not changed since an earlier time.
 *
 * Both proofs need tables whose changes raise the LSNs of pages. hybrid_registered_may_copy() excludes the others.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "access/visibilitymap.h"
#include "graph/pages.h"
#include "server/compat.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* the layout of the visibility map, as in visibilitymap.c */
#define MAP_BYTES (BLCKSZ - MAXALIGN(SizeOfPageHeaderData))
#define PAGES_PER_BYTE (BITS_PER_BYTE / BITS_PER_HEAPBLOCK)
#define PAGES_PER_MAP_PAGE (MAP_BYTES * PAGES_PER_BYTE)

/* pages whose bits are compared at once */
#define PAGES_PER_WORD (sizeof(uint64) * PAGES_PER_BYTE)
#define ALL_VISIBLE_WORD UINT64CONST(0x5555555555555555)

#define FIRST_PAGES 64

typedef enum PageState
{
	PAGE_UNREAD = 0,
	PAGE_SETTLED,  /* all transactions on the page had ended for the snapshot that read it */
	PAGE_UNSETTLED /* some had not: only the visibility map can prove that the page is unchanged */
} PageState;

struct HybridPage
{
	XLogRecPtr lsn;
	Buffer buffer;        /* buffer that last held the page; a hint */
	TransactionId newest; /* newest transaction on the page whose end matters; may be invalid */
	uint8 state;
	uint8 next; /* if the page was unread: its state after hybrid_pages_finish */
};

/* HybridMapPage: a copy of a page of the visibility map. */
struct HybridMapPage
{
	bool present;
	XLogRecPtr lsn;
	uint8 bits[MAP_BYTES];
};

/*
 * StoredPages: header of the data that hybrid_pages_store writes. The entries of pages follow, then the map's
 * pages.
 */
typedef struct StoredPages
{
	BlockNumber count;
	BlockNumber map_pages;
} StoredPages;

static void make_room(HybridPages *pages, BlockNumber count);
static void make_map_room(HybridPages *pages, BlockNumber map_pages);
static void read_map(HybridPageReader *reader, BlockNumber map_pages);
static void examine_map_page(HybridPageReader *reader, BlockNumber number);
static bool is_unchanged(HybridPageReader *reader, BlockNumber block);
static TransactionId newest_of(HeapTupleHeader row, TransactionId newest);

void
hybrid_pages_examine(HybridPageReader *reader)
{
	HybridPages *pages = reader->pages;
	BlockNumber count = RelationGetNumberOfBlocks(reader->table);
	BlockNumber map_pages = count / PAGES_PER_MAP_PAGE + (count % PAGES_PER_MAP_PAGE > 0);
	BlockNumber number;

	/* VACUUM has truncated the pages after `count` */
	for (; pages->count > count; pages->count--)
		pages->unread -= pages->page[pages->count - 1].state == PAGE_UNREAD;
	make_room(pages, count);
	read_map(reader, map_pages);
	/* reading a large table must not evict other tables' pages from shared buffers */
	if (reader->strategy == NULL && count > (BlockNumber) NBuffers / 4)
		reader->strategy = GetAccessStrategy(BAS_BULKREAD);
	for (number = 0; number < map_pages; number++)
		examine_map_page(reader, number);
}

void
hybrid_pages_forget(HybridPageReader *reader)
{
	HybridPages *pages = reader->pages;
	BlockNumber block;

	for (block = 0; block < pages->count; block++)
		pages->page[block].state = PAGE_UNREAD;
	pages->unread = pages->count;
	reader->validation->by_map = reader->validation->by_lsn = 0;
}

bool
hybrid_page_must_be_read(const HybridPages *pages, BlockNumber block)
{
	return pages->page[block].state == PAGE_UNREAD;
}

void
hybrid_pages_finish(HybridPages *pages)
{
	HybridMapPage *before = pages->map;
	BlockNumber block;

	for (block = 0; pages->unread > 0 && block < pages->count; block++)
	{
		HybridPage *page = &pages->page[block];

		if (page->state == PAGE_UNREAD)
			page->state = page->next;
	}
	pages->unread = 0;
	pages->map = pages->fresh;
	pages->fresh = before;
}

bool
hybrid_page_read(HybridPageReader *reader, BlockNumber block)
{
	Relation table = reader->table;
	HybridPage *page = &reader->pages->page[block];
	OffsetNumber visible[MaxHeapTuplesPerPage];
	TransactionId newest = InvalidTransactionId;
	HeapTupleData row = {.t_tableOid = RelationGetRelid(table)};
	Buffer buffer;
	Page contents;
	XLogRecPtr lsn;
	OffsetNumber last;
	OffsetNumber at;
	int visible_count = 0;
	bool all_visible;
	bool more = true;
	int i;

	buffer = ReadBufferExtended(table, MAIN_FORKNUM, block, RBM_NORMAL, reader->strategy);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	contents = BufferGetPage(buffer);
	last = PageIsNew(contents) ? InvalidOffsetNumber : PageGetMaxOffsetNumber(contents);
	/* as in heapgetpage; during recovery the page's flag proves nothing */
	all_visible = PageIsAllVisible(contents) && !reader->snapshot->takenDuringRecovery;
	for (at = FirstOffsetNumber; at <= last; at++)
	{
		ItemId item = PageGetItemId(contents, at);

		if (!ItemIdIsNormal(item))
			continue;
		row.t_data = (HeapTupleHeader) PageGetItem(contents, item);
		row.t_len = ItemIdGetLength(item);
		ItemPointerSet(&row.t_self, block, at);
		if (all_visible || HeapTupleSatisfiesVisibility(&row, reader->snapshot, buffer))
			visible[visible_count++] = at;
		newest = newest_of(row.t_data, newest);
	}
	lsn = BufferGetLSNAtomic(buffer);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);

	/* a visible row stays where it is while the page is pinned */
	for (i = 0; more && i < visible_count; i++)
	{
		ItemId item = PageGetItemId(contents, visible[i]);

		row.t_data = (HeapTupleHeader) PageGetItem(contents, item);
		row.t_len = ItemIdGetLength(item);
		ItemPointerSet(&row.t_self, block, visible[i]);
		more = reader->take(reader->arg, &row);
	}
	ReleaseBuffer(buffer);

	page->lsn = lsn;
	page->buffer = buffer;
	page->newest = newest;
	page->next =
		!TransactionIdIsNormal(newest) || TransactionIdPrecedes(newest, reader->snapshot->xmin)
			? PAGE_SETTLED
			: PAGE_UNSETTLED;
	reader->validation->read++;
	return more;
}

Size
hybrid_pages_bytes(const HybridPages *pages)
{
	return MAXALIGN(sizeof(StoredPages)) + sizeof(HybridPage) * (Size) pages->count +
	       sizeof(HybridMapPage) * (Size) pages->map_pages;
}

void
hybrid_pages_store(const HybridPages *pages, char *to)
{
	const StoredPages stored = {.count = pages->count, .map_pages = pages->map_pages};
	const Size bytes = sizeof(HybridPage) * (Size) stored.count;

	memcpy(to, &stored, sizeof(stored));
	to += MAXALIGN(sizeof(stored));
	if (stored.count > 0)
		memcpy(to, pages->page, bytes);
	if (stored.map_pages > 0)
		memcpy(to + bytes, pages->map, sizeof(HybridMapPage) * (Size) stored.map_pages);
}

void
hybrid_pages_load(HybridPages *pages, const char *from)
{
	StoredPages stored;
	BlockNumber number;
	Size bytes;

	memcpy(&stored, from, sizeof(stored));
	from += MAXALIGN(sizeof(stored));
	bytes = sizeof(HybridPage) * (Size) stored.count;
	pages->count = 0;
	pages->unread = 0;
	make_map_room(pages, stored.map_pages);
	make_room(pages, stored.count);
	for (number = stored.map_pages; number < pages->map_pages; number++)
		pages->map[number].present = false;
	if (stored.count > 0)
		memcpy(pages->page, from, bytes);
	if (stored.map_pages > 0)
		memcpy(pages->map, from + bytes, sizeof(HybridMapPage) * (Size) stored.map_pages);
	pages->unread = 0;
}

/* make_room: make entries for this many pages. New entries count as unread. */
static void
make_room(HybridPages *pages, BlockNumber count)
{
	if (count > pages->room)
	{
		BlockNumber room = Max(count, FIRST_PAGES);

		if (pages->room > 0)
			room += Min(room / 8, MaxBlockNumber - room);
		if (pages->page == NULL)
			pages->page = MemoryContextAllocHuge(pages->context, sizeof(HybridPage) * (Size) room);
		else
			pages->page = repalloc_huge(pages->page, sizeof(HybridPage) * (Size) room);
		pages->room = room;
	}
	if (count > pages->count)
	{
		memset(pages->page + pages->count, 0, sizeof(HybridPage) * (Size) (count - pages->count));
		pages->unread += count - pages->count;
		pages->count = count;
	}
}

/* make_map_room: make space for this many pages of the visibility map. */
static void
make_map_room(HybridPages *pages, BlockNumber map_pages)
{
	HybridMapPage *map;
	HybridMapPage *fresh;

	if (map_pages <= pages->map_pages)
		return;
	map = MemoryContextAllocExtended(pages->context, sizeof(HybridMapPage) * (Size) map_pages,
	                                 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	fresh = MemoryContextAllocExtended(pages->context, sizeof(HybridMapPage) * (Size) map_pages,
	                                   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	if (pages->map_pages > 0)
	{
		memcpy(map, pages->map, sizeof(HybridMapPage) * (Size) pages->map_pages);
		pfree(pages->map);
		pfree(pages->fresh);
	}
	pages->map = map;
	pages->fresh = fresh;
	pages->map_pages = map_pages;
}

/* read_map: copy the first map_pages pages of the visibility map into `fresh`. Marks missing pages as not present. */
static void
read_map(HybridPageReader *reader, BlockNumber map_pages)
{
	HybridPages *pages = reader->pages;
	Buffer buffer = InvalidBuffer;
	BlockNumber number;

	make_map_room(pages, map_pages);
	for (number = 0; number < pages->map_pages; number++)
	{
		HybridMapPage *to = &pages->fresh[number];

		CHECK_FOR_INTERRUPTS();
		to->present = false;
		if (number >= map_pages)
			continue;
		/* pins the page of the map if it exists */
		(void) visibilitymap_get_status(reader->table, number * PAGES_PER_MAP_PAGE, &buffer);
		if (!BufferIsValid(buffer))
			continue;
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		memcpy(to->bits, PageGetContents(BufferGetPage(buffer)), MAP_BYTES);
		to->lsn = BufferGetLSNAtomic(buffer);
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
		to->present = true;
	}
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
}

/* examine_map_page: examine the pages of the table that this page of the visibility map covers. */
static void
examine_map_page(HybridPageReader *reader, BlockNumber number)
{
	HybridPages *pages = reader->pages;
	HybridValidation *validation = reader->validation;
	const HybridMapPage *was = &pages->map[number];
	const HybridMapPage *is = &pages->fresh[number];
	BlockNumber first = number * PAGES_PER_MAP_PAGE;
	BlockNumber count = Min(pages->count - first, PAGES_PER_MAP_PAGE);
	bool same = was->present && is->present && was->lsn == is->lsn;
	BlockNumber i = 0;

	while (i < count)
	{
		uint32 byte = i / PAGES_PER_BYTE;

		CHECK_FOR_INTERRUPTS();
		if (same && pages->unread == 0 && i % PAGES_PER_WORD == 0 && count - i >= PAGES_PER_WORD)
		{
			uint64 word, before;

			memcpy(&word, &is->bits[byte], sizeof(word));
			memcpy(&before, &was->bits[byte], sizeof(before));
			if ((word & before & ALL_VISIBLE_WORD) == ALL_VISIBLE_WORD)
			{
				validation->by_map += PAGES_PER_WORD;
				i += PAGES_PER_WORD;
				continue;
			}
		}
		if (same && pages->page[first + i].state != PAGE_UNREAD &&
		    ((is->bits[byte] & was->bits[byte]) >> (i % PAGES_PER_BYTE * BITS_PER_HEAPBLOCK) &
		     VISIBILITYMAP_ALL_VISIBLE) != 0)
			validation->by_map++;
		else if (is_unchanged(reader, first + i))
			validation->by_lsn++;
		else if (pages->page[first + i].state != PAGE_UNREAD)
		{
			pages->page[first + i].state = PAGE_UNREAD;
			pages->unread++;
		}
		i++;
	}
}

/* is_unchanged: return whether the LSN of a page proves that the snapshot sees the copied rows. */
static bool
is_unchanged(HybridPageReader *reader, BlockNumber block)
{
	Relation table = reader->table;
	HybridPage *page = &reader->pages->page[block];
	Buffer buffer = page->buffer;
	XLogRecPtr lsn;

	if (page->state != PAGE_SETTLED)
		return false;
	if (TransactionIdIsNormal(page->newest) &&
	    !TransactionIdPrecedes(page->newest, reader->snapshot->xmin))
		return false;
	if (!BufferIsValid(buffer) || !ReadRecentBuffer(table->rd_locator, MAIN_FORKNUM, block, buffer))
		buffer = ReadBufferExtended(table, MAIN_FORKNUM, block, RBM_NORMAL, reader->strategy);
	lsn = BufferGetLSNAtomic(buffer);
	ReleaseBuffer(buffer);
	page->buffer = buffer;
	return lsn == page->lsn;
}

/* newest_of: return the newest of `newest` and the transactions whose end decides whether a snapshot sees the row. */
static TransactionId
newest_of(HeapTupleHeader row, TransactionId newest)
{
	TransactionId ids[3] = {InvalidTransactionId, InvalidTransactionId, InvalidTransactionId};
	int i;

	if (!HeapTupleHeaderXminFrozen(row) && !HeapTupleHeaderXminInvalid(row))
		ids[0] = HeapTupleHeaderGetRawXmin(row);
	/* in a multixact, only the transaction that updates or deletes the row matters */
	if ((row->t_infomask & HEAP_XMAX_INVALID) == 0 && !HEAP_XMAX_IS_LOCKED_ONLY(row->t_infomask))
		ids[1] = HeapTupleHeaderGetUpdateXid(row);
	if ((row->t_infomask & HEAP_MOVED) != 0)
		ids[2] = HeapTupleHeaderGetXvac(row);
	for (i = 0; i < (int) lengthof(ids); i++)
	{
		if (TransactionIdIsNormal(ids[i]) &&
		    (!TransactionIdIsNormal(newest) || TransactionIdFollows(ids[i], newest)))
			newest = ids[i];
	}
	return newest;
}
