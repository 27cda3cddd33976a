/*
 * check.c
 *		hybrid_index_check(): whether an index says what its table says.
 *
 * Three looks.  The index: every page is sane, its counts are right, every norm is that of the
 * vector beside it, no heap position is there twice.  The table, under a snapshot taken before the
 * index was read: every row it shows is in the index with the values it has.  The entries: each
 * points to a line pointer in use, or a later row could be taken for an indexed one.
 *
 * A lock that excludes VACUUM keeps heap positions from being reused meanwhile.  On a standby it
 * cannot be had: there the third look is left out, and a position met twice is looked at again.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "core/distance.h"

#include "index/index.h"

/* CheckedEntry: a live entry and where it is. */
typedef struct CheckedEntry
{
	int64 position; /* hybrid_position() */
	BlockNumber head;
	int slot;
} CheckedEntry;

typedef struct CheckState
{
	Relation heap;
	Relation relation;
	HybridIndex index;
	BufferAccessStrategy strategy;
	CheckedEntry *entries;
	Size count;
	Size allocated;
	char *stored;   /* a vector as the index holds it */
	char *expected; /* the same as the table's row makes it */
	MemoryContext row_context;
} CheckState;

static void check_groups(CheckState *check);
static void check_group(CheckState *check, BlockNumber head);
static void check_slot(CheckState *check, Page page, BlockNumber head, int slot);
static void check_duplicates(CheckState *check);
static bool still_holds(CheckState *check, const CheckedEntry *entry);
static void check_rows(CheckState *check, Snapshot snapshot);
static void
check_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg);
static void check_pointers(CheckState *check);
static int compare_entries(const void *a, const void *b);
static void corrupted(CheckState *check, int64 position, const char *what) pg_attribute_noreturn();

PG_FUNCTION_INFO_V1(hybrid_index_check);
Datum
hybrid_index_check(PG_FUNCTION_ARGS)
{
	Oid oid = PG_GETARG_OID(0);
	Oid heap_oid = IndexGetRelation(oid, true);
	LOCKMODE lock = RecoveryInProgress() ? AccessShareLock : ShareUpdateExclusiveLock;
	CheckState check;
	Snapshot snapshot;
	Oid save_user;
	int save_context, save_nest;

	memset(&check, 0, sizeof(check));
	/* the table before the index, as everybody does */
	if (OidIsValid(heap_oid))
	{
		if (!pg_class_ownercheck(heap_oid, GetUserId()))
			aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(heap_oid));
		check.heap = table_open(heap_oid, lock);
	}
	check.relation = hybrid_open_index(oid, AccessShareLock);
	if (check.heap == NULL || heap_oid != IndexGetRelation(oid, false))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
		                errmsg("could not open the table of index \"%s\"",
		                       RelationGetRelationName(check.relation))));
	if (!check.relation->rd_index->indisvalid)
		ereport(ERROR,
		        (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		         errmsg("index \"%s\" is not valid", RelationGetRelationName(check.relation))));

	/* Index expressions run with the rights of the table's owner, as in CREATE INDEX. */
	GetUserIdAndSecContext(&save_user, &save_context);
	SetUserIdAndSecContext(check.heap->rd_rel->relowner,
	                       save_context | SECURITY_RESTRICTED_OPERATION);
	save_nest = NewGUCNestLevel();

	check.index = hybrid_index_open(check.relation);
	check.strategy = GetAccessStrategy(BAS_BULKREAD);
	check.stored = palloc(check.index.layout.stride);
	check.expected = palloc(check.index.layout.stride);
	check.row_context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid check row", ALLOCSET_DEFAULT_SIZES);

	snapshot = RegisterSnapshot(GetLatestSnapshot());
	check_groups(&check);
	qsort(check.entries, check.count, sizeof(CheckedEntry), compare_entries);
	check_duplicates(&check);
	check_rows(&check, snapshot);
	UnregisterSnapshot(snapshot);
	if (!RecoveryInProgress() && check.heap->rd_rel->relam == HEAP_TABLE_AM_OID)
		check_pointers(&check);

	AtEOXact_GUC(false, save_nest);
	SetUserIdAndSecContext(save_user, save_context);
	MemoryContextDelete(check.row_context);
	FreeAccessStrategy(check.strategy);
	if (check.entries != NULL)
		pfree(check.entries);
	relation_close(check.relation, AccessShareLock);
	table_close(check.heap, lock);
	PG_RETURN_INT64((int64) check.count);
}

static void
check_groups(CheckState *check)
{
	const HybridLayout *layout = &check->index.layout;
	BlockNumber groups = hybrid_groups(layout, RelationGetNumberOfBlocks(check->relation));
	BlockNumber group;

	for (group = 0; group < groups; group++)
	{
		CHECK_FOR_INTERRUPTS();
		check_group(check, hybrid_group_head(layout, group));
	}
}

static void
check_group(CheckState *check, BlockNumber head)
{
	const HybridLayout *layout = &check->index.layout;
	Buffer buffer =
		ReadBufferExtended(check->relation, MAIN_FORKNUM, head, RBM_NORMAL, check->strategy);
	Page page = BufferGetPage(buffer);
	int dead = 0, i;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (!PageIsNew(page))
	{
		hybrid_page_check(check->relation, layout, page, head, HYBRID_PAGE_HEAD);
		for (i = 0; i < hybrid_special(page)->count; i++)
		{
			if ((hybrid_slot(page, i)->flags & HYBRID_SLOT_LIVE) == 0)
				dead++;
			else
				check_slot(check, page, head, i);
		}
		if (dead != hybrid_special(page)->dead)
			ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
			                errmsg("index \"%s\" counts %u dead entries at block %u and has %d",
			                       RelationGetRelationName(check->relation),
			                       hybrid_special(page)->dead, head, dead)));
	}
	UnlockReleaseBuffer(buffer);
}

/* check_slot: a live slot of a locked page; remembers it. */
static void
check_slot(CheckState *check, Page page, BlockNumber head, int slot)
{
	const HybridLayout *layout = &check->index.layout;
	const HybridSlot *live = hybrid_slot(page, slot);
	CheckedEntry *entry;
	float norm;

	if (check->count == check->allocated)
	{
		check->allocated = Max(1024, check->allocated * 2);
		check->entries =
			check->entries == NULL
				? palloc(check->allocated * sizeof(CheckedEntry))
				: repalloc_huge(check->entries, check->allocated * sizeof(CheckedEntry));
	}
	entry = &check->entries[check->count++];
	entry->position = hybrid_position(&live->tid);
	entry->head = head;
	entry->slot = slot;

	if (!ItemPointerIsValid(&live->tid))
		corrupted(check, entry->position, "has an entry with an invalid heap position");
	hybrid_copy_vector(check->relation, layout, page, head, slot, check->stored, check->strategy);
	norm = hy_norm_sq(layout->dtype, check->stored, layout->dims);
	if (memcmp(&norm, &live->norm, sizeof(norm)) != 0)
		corrupted(check, entry->position, "has a norm that is not that of the stored vector");
	if (!(live->residual >= 0) || (layout->dtype == HY_F32 && live->residual != 0))
		corrupted(check, entry->position, "has an impossible residual");
}

static void
check_duplicates(CheckState *check)
{
	Size i;

	for (i = 1; i < check->count; i++)
	{
		const CheckedEntry *a = &check->entries[i - 1], *b = &check->entries[i];

		if (a->position == b->position && still_holds(check, a) && still_holds(check, b))
			corrupted(check, a->position, "has two entries for one row");
	}
}

/* still_holds: whether an entry is as it was when it was read. */
static bool
still_holds(CheckState *check, const CheckedEntry *entry)
{
	Buffer buffer = ReadBuffer(check->relation, entry->head);
	Page page = BufferGetPage(buffer);
	const HybridSlot *slot;
	bool same;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	hybrid_page_check(check->relation, &check->index.layout, page, entry->head, HYBRID_PAGE_HEAD);
	slot = hybrid_slot(page, entry->slot);
	same = entry->slot < hybrid_special(page)->count && (slot->flags & HYBRID_SLOT_LIVE) != 0 &&
	       hybrid_position(&slot->tid) == entry->position;
	UnlockReleaseBuffer(buffer);
	return same;
}

static void
check_rows(CheckState *check, Snapshot snapshot)
{
	IndexInfo *info = BuildIndexInfo(check->relation);
	TableScanDesc scan = table_beginscan_strat(check->heap, snapshot, 0, NULL, true, true);

	/* look at rows by the snapshot, as the second scan of CREATE INDEX CONCURRENTLY does */
	info->ii_Concurrent = true;
	/* ends the scan, too */
	table_index_build_scan(check->heap, check->relation, info, true, false, check_row, check, scan);
}

/* check_row: a row that the snapshot sees and the index's predicate admits. */
static void
check_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg)
{
	CheckState *check = (CheckState *) arg;
	const HybridLayout *layout = &check->index.layout;
	CheckedEntry key, *entry;
	HybridEntry expected;
	MemoryContext old;
	Buffer buffer;
	Page page;
	HybridSlot slot;
	bool indexed = false;

	(void) index;
	(void) alive;

	memset(&key, 0, sizeof(key));
	key.position = hybrid_position(tid);
	entry = check->count == 0 ? NULL
	                          : bsearch(&key, check->entries, check->count, sizeof(CheckedEntry),
	                                    compare_entries);
	if (!isnull[0])
	{
		old = MemoryContextSwitchTo(check->row_context);
		expected.vector = check->expected;
		indexed = hybrid_entry_form(&check->index, DatumGetHybridVector(values[0]), tid, &expected);
		MemoryContextSwitchTo(old);
		MemoryContextReset(check->row_context);
	}
	if (!indexed)
	{
		if (entry != NULL)
			corrupted(check, key.position, "has an entry for a row that is not indexed");
		return;
	}
	if (entry == NULL)
	{
		corrupted(check, key.position, "lacks a row");
		return;
	}

	buffer =
		ReadBufferExtended(check->relation, MAIN_FORKNUM, entry->head, RBM_NORMAL, check->strategy);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	hybrid_page_check(check->relation, layout, page, entry->head, HYBRID_PAGE_HEAD);
	slot = *hybrid_slot(page, entry->slot);
	hybrid_copy_vector(check->relation, layout, page, entry->head, entry->slot, check->stored,
	                   check->strategy);
	UnlockReleaseBuffer(buffer);
	if (memcmp(&slot, &expected.slot, sizeof(slot)) != 0 ||
	    memcmp(check->stored, check->expected, layout->stride) != 0)
		corrupted(check, key.position, "has other values than the table");
}

/* check_pointers: whether the heap has something at the position of each entry. */
static void
check_pointers(CheckState *check)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(check->heap);
	BlockNumber at = InvalidBlockNumber;
	Buffer buffer = InvalidBuffer;
	Size i;

	for (i = 0; i < check->count; i++)
	{
		int64 position = check->entries[i].position;
		BlockNumber block = (BlockNumber) (position >> 16);
		OffsetNumber offset = (OffsetNumber) (position & 0xFFFF);
		Page page;
		bool used;

		CHECK_FOR_INTERRUPTS();
		if (block >= blocks)
			corrupted(check, position, "has an entry beyond the end of the table");
		if (block != at)
		{
			if (BufferIsValid(buffer))
				ReleaseBuffer(buffer);
			buffer =
				ReadBufferExtended(check->heap, MAIN_FORKNUM, block, RBM_NORMAL, check->strategy);
			at = block;
		}
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		page = BufferGetPage(buffer);
		used = !PageIsNew(page) && offset <= PageGetMaxOffsetNumber(page) &&
		       ItemIdIsUsed(PageGetItemId(page, offset));
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
		if (!used)
			corrupted(check, position, "has an entry for a row that does not exist");
	}
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
}

static int
compare_entries(const void *a, const void *b)
{
	int64 x = ((const CheckedEntry *) a)->position, y = ((const CheckedEntry *) b)->position;

	CHECK_FOR_INTERRUPTS();
	return (x > y) - (x < y);
}

static void
corrupted(CheckState *check, int64 position, const char *what)
{
	ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
	                errmsg("index \"%s\" %s", RelationGetRelationName(check->relation), what),
	                errdetail("Heap position (%u,%u).", (BlockNumber) (position >> 16),
	                          (OffsetNumber) (position & 0xFFFF)),
	                errhint("REINDEX it.")));
}
