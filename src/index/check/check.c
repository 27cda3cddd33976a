/*
 * check.c
 *		hybrid_index_check(): checks an index against itself and against its table.
 *
 * It makes four checks:
 *
 * * The tree. Every list is reached once, every page is valid and belongs to one list, and counts are
 *   right. Every code is the code of the vector stored with it. No heap position occurs twice, except
 *   in an index on arrays.
 * * The table, under a snapshot taken before the index was read. Every visible row that must have an
 *   entry is in the index with the same values.
 * * The entries. Each must point to a line pointer in use. Otherwise a later row could be taken for an
 *   indexed one.
 * * The file. Pages that no list names are reported, but are not damage.
 *
 * A lock that excludes VACUUM keeps heap positions from being reused during the check, and the snapshot
 * keeps moved lists from being freed. A standby has neither of these protections. There, line pointers
 * are not checked, and a contradiction is checked a second time.
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

#include "server/compat.h"
#include "server/position.h"

#include "index/check/check.h"
#include "index/tree/tree.h"

static void check_init(HybridCheck *check);
static void check_duplicates(HybridCheck *check);
static bool entry_holds(HybridCheck *check, const HybridCheckedEntry *entry);
static void check_rows(HybridCheck *check, Snapshot snapshot);
static void
check_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg);
static void
check_value(HybridCheck *check, ItemPointer tid, HybridRow *row, const HybridCheckedEntry *entry);
static void
check_array(HybridCheck *check, ItemPointer tid, HybridRow *row, const HybridCheckedEntry *entry);
static int
expect_elements(HybridCheck *check, ItemPointer tid, HybridRow *row, HybridEntry *expected);
static int compare_entries(const void *a, const void *b, void *arg);
static bool read_entry(HybridCheck *check, const HybridCheckedEntry *entry, HybridEntry *read);
static void check_pointers(HybridCheck *check);
pg_noreturn static void corrupted(HybridCheck *check, int64 position, const char *what);

PG_FUNCTION_INFO_V1(hybrid_index_check);
Datum
hybrid_index_check(PG_FUNCTION_ARGS)
{
	Oid oid = PG_GETARG_OID(0);
	Oid heap_oid = IndexGetRelation(oid, true);
	LOCKMODE lock = RecoveryInProgress() ? AccessShareLock : ShareUpdateExclusiveLock;
	HybridCheck check;
	Snapshot snapshot;
	MemoryContext context, old;
	Oid save_user;
	int save_context, save_nest;

	memset(&check, 0, sizeof(check));
	/* open the table before the index, as PostgreSQL does everywhere */
	if (OidIsValid(heap_oid))
	{
		if (!object_ownercheck(RelationRelationId, heap_oid, GetUserId()))
			aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(heap_oid));
		check.heap = table_open(heap_oid, lock);
	}
	check.index = hybrid_open_index(oid, AccessShareLock);
	if (check.heap == NULL || heap_oid != IndexGetRelation(oid, false))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
		                errmsg("could not open the table of index \"%s\"",
		                       RelationGetRelationName(check.index))));

	/* Index expressions run with the rights of the table's owner, as in CREATE INDEX. */
	GetUserIdAndSecContext(&save_user, &save_context);
	SetUserIdAndSecContext(check.heap->rd_rel->relowner,
	                       save_context | SECURITY_RESTRICTED_OPERATION);
	save_nest = NewGUCNestLevel();

	context = AllocSetContextCreate(CurrentMemoryContext, "hybrid check", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	check_init(&check);
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	hybrid_check_tree(&check);
	if (check.open.layout.packed)
		hybrid_check_segments(&check);
	qsort(check.entries, check.count, sizeof(HybridCheckedEntry), hybrid_compare_positions);
	check_duplicates(&check);
	check_rows(&check, snapshot);
	if (!RecoveryInProgress() && check.heap->rd_rel->relam == HEAP_TABLE_AM_OID)
		check_pointers(&check);
	hybrid_check_file(&check);
	UnregisterSnapshot(snapshot);

	AtEOXact_GUC(false, save_nest);
	SetUserIdAndSecContext(save_user, save_context);
	MemoryContextSwitchTo(old);
	relation_close(check.index, AccessShareLock);
	table_close(check.heap, lock);
	MemoryContextDelete(context);
	PG_RETURN_INT64((int64) check.count);
}

static void
check_init(HybridCheck *check)
{
	const HybridLayout *layout = &check->open.layout;

	check->open = hybrid_index_open(check->index);
	hybrid_index_require_words(check->index, &check->open);
	check->strategy = GetAccessStrategy(BAS_BULKREAD);
	check->vector = palloc(Max(layout->leaf.carried, layout->inner.carried));
	check->expected = palloc(layout->leaf.carried);
	check->widened = palloc(layout->floats * sizeof(float));
	check->place = palloc(layout->floats * sizeof(float));
	check->rotated = palloc(Max(layout->padded, 1) * sizeof(float));
	check->codes = palloc(Max(layout->code_bytes, 1));
	check->bits = palloc(Max(hy_code_bits_size(layout->padded), 1));
	check->row_context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid check row", ALLOCSET_DEFAULT_SIZES);
}

static void
check_duplicates(HybridCheck *check)
{
	Size i;

	/* in an index on arrays, a row has several entries; check_array checks them */
	if (check->open.opclass->many)
		return;
	for (i = 1; i < check->count; i++)
	{
		const HybridCheckedEntry *a = &check->entries[i - 1], *b = &check->entries[i];

		if (a->position == b->position && entry_holds(check, a) && entry_holds(check, b))
			corrupted(check, a->position, "has two entries for one row");
	}
}

/* entry_holds: test whether an entry is still live in its slot, with the same heap position. */
static bool
entry_holds(HybridCheck *check, const HybridCheckedEntry *entry)
{
	ItemPointerData tid = hybrid_position_tid(entry->position);

	return hybrid_check_holds(check, &check->leaves.lists[entry->list].link, 0, entry->block,
	                          entry->slot, &tid);
}

static void
check_rows(HybridCheck *check, Snapshot snapshot)
{
	IndexInfo *info = BuildIndexInfo(check->index);
	TableScanDesc scan = table_beginscan_strat(check->heap, snapshot, 0, NULL, true, true);

	/* select rows by the snapshot, as the second scan of CREATE INDEX CONCURRENTLY does */
	info->ii_Concurrent = true;
	/* this also ends the scan */
	table_index_build_scan(check->heap, check->index, info, true, false, check_row, check, scan);
}

/* check_row: check a row that is visible to the snapshot and satisfies the index's predicate. */
static void
check_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg)
{
	HybridCheck *check = (HybridCheck *) arg;
	int64 position = hybrid_position(tid);
	const HybridCheckedEntry *entry = NULL;
	MemoryContext old = MemoryContextSwitchTo(check->row_context);
	HybridRow row;

	(void) index;
	(void) alive;

	if (check->count > 0)
		entry = bsearch(&position, check->entries, check->count, sizeof(HybridCheckedEntry),
		                hybrid_compare_positions);
	hybrid_row_begin(&check->open, values, isnull, &row);
	if (row.array != NULL)
		check_array(check, tid, &row, entry);
	else
		check_value(check, tid, &row, entry);
	MemoryContextSwitchTo(old);
	MemoryContextReset(check->row_context);
}

/* check_value: check a row against its entry. `entry` is NULL if the row has none. */
static void
check_value(HybridCheck *check, ItemPointer tid, HybridRow *row, const HybridCheckedEntry *entry)
{
	int64 position = hybrid_position(tid);
	HybridEntry expected = {.vector = check->expected}, read;
	bool indexed = row->entries > 0 && hybrid_entry_form(&check->open, row, 0, tid, &expected);

	if (!indexed)
	{
		if (entry != NULL && entry_holds(check, entry))
			corrupted(check, position, "has an entry for a row that is not indexed");
		return;
	}
	if (entry == NULL)
	{
		corrupted(check, position, "lacks a row");
		return;
	}
	if (read_entry(check, entry, &read) &&
	    compare_entries(&read, &expected, &check->open.layout) != 0 && entry_holds(check, entry))
		corrupted(check, position, "has other values than the table");
}

/*
 * check_array: check that the entries of a row are those of its array, in any order. `entry` is one of
 * them, or NULL if there is none. Equal vectors of an array may share an entry (vacuum/regroup_seen.c).
 */
static void
check_array(HybridCheck *check, ItemPointer tid, HybridRow *row, const HybridCheckedEntry *entry)
{
	const HybridCheckedEntry *end = check->entries + check->count;
	int64 position = hybrid_position(tid);
	HybridEntry *expected = palloc(Max(row->entries, 1) * sizeof(HybridEntry));
	bool *found = palloc0(Max(row->entries, 1) * sizeof(bool));
	int distinct = expect_elements(check, tid, row, expected), count = 0, i;

	while (entry != NULL && entry > check->entries && entry[-1].position == position)
		entry--;
	for (; entry != NULL && entry < end && entry->position == position; entry++)
	{
		const HybridEntry *same;
		HybridEntry read;

		CHECK_FOR_INTERRUPTS();
		/* the row is visible, so VACUUM does not remove its entries, but a split may move them */
		if (!read_entry(check, entry, &read))
			return;
		same = bsearch_arg(&read, expected, distinct, sizeof(HybridEntry), compare_entries,
		                   &check->open.layout);
		if (same == NULL)
			corrupted(check, position, "has other values than the table");
		found[same - expected] = true;
		if (++count > row->entries)
			corrupted(check, position, "has too many entries for a row");
	}
	for (i = 0; i < distinct; i++)
	{
		if (!found[i])
			corrupted(check, position, "lacks an element of a row");
	}
}

/*
 * expect_elements: form the entries of an array, sorted by compare_entries and without duplicates.
 * Returns their number.
 */
static int
expect_elements(HybridCheck *check, ItemPointer tid, HybridRow *row, HybridEntry *expected)
{
	HybridLayout *layout = &check->open.layout;
	int distinct = 0, i;

	for (i = 0; i < row->entries; i++)
	{
		expected[i].vector = palloc(layout->leaf.carried);
		(void) hybrid_entry_form(&check->open, row, i, tid, &expected[i]);
	}
	qsort_arg(expected, row->entries, sizeof(HybridEntry), compare_entries, layout);
	for (i = 0; i < row->entries; i++)
	{
		if (distinct == 0 || compare_entries(&expected[distinct - 1], &expected[i], layout) != 0)
			expected[distinct++] = expected[i];
	}
	return distinct;
}

/*
 * compare_entries: compare two entries of a row. Returns 0 if they have the same value and words. `arg`
 * is the layout.
 */
static int
compare_entries(const void *a, const void *b, void *arg)
{
	const HybridEntry *one = a, *other = b;
	const HybridLayout *layout = arg;
	Size bytes = hybrid_stored_bytes(layout->leaf.storage, layout->dims, one->vector);
	Size others = hybrid_stored_bytes(layout->leaf.storage, layout->dims, other->vector);
	int order = (bytes > others) - (bytes < others);

	CHECK_FOR_INTERRUPTS();
	if (order == 0)
		order = memcmp(&one->stored, &other->stored, sizeof(one->stored));
	if (order == 0)
		order = memcmp(one->vector, other->vector, bytes);
	if (order == 0)
		order = memcmp(hybrid_words(layout, one->vector), hybrid_words(layout, other->vector),
		               layout->words * sizeof(uint64));
	return order;
}

/* read_entry: read an entry, with its value in check->vector. Returns false if the entry is gone. */
static bool
read_entry(HybridCheck *check, const HybridCheckedEntry *entry, HybridEntry *read)
{
	PGAlignedBlock image;

	if (!entry_holds(check, entry))
		return false;
	hybrid_check_copy(check, &check->leaves.lists[entry->list].link, 0, entry->block,
	                  (Page) image.data);
	hybrid_vector_read(check->index, &check->open.layout,
	                   (HybridSlot){(Page) image.data, 0, entry->slot}, &read->stored,
	                   check->vector, check->strategy);
	read->vector = check->vector;
	hybrid_words_get(&check->open.layout, (HybridSlot){(Page) image.data, 0, entry->slot},
	                 check->vector);
	return true;
}

/* check_pointers: check that the heap has a line pointer in use at the position of each entry. */
static void
check_pointers(HybridCheck *check)
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

static void
corrupted(HybridCheck *check, int64 position, const char *what)
{
	ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
	                errmsg("index \"%s\" %s", RelationGetRelationName(check->index), what),
	                errdetail("Heap position (%u,%u).", (BlockNumber) (position >> 16),
	                          (OffsetNumber) (position & 0xFFFF)),
	                errhint("REINDEX it.")));
}
