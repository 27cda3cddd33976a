/*
 * tid_set.c
 *		The set of tids that a user's query returns: see tid_set.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "knn/tid_set.h"
#include "miscadmin.h"
#include "server/query.h"
#include "utils/memutils.h"

#define FIRST_TIDS 1024

/* Tids: the tids in the order in which the query returns them. */
typedef struct Tids
{
	ItemPointerData *tid;
	int64 count;
	int64 room;
} Tids;

static void check_tid_column(void *arg, TupleDesc columns);
static bool take_tid(void *arg, TupleTableSlot *slot);
static int compare_tids(const void *a, const void *b);

HybridTidSet *
hybrid_tid_set_read(const char *query)
{
	HybridTidSet *filter = palloc(sizeof(HybridTidSet));
	Tids tids = {.room = FIRST_TIDS};
	HybridReader reader = {
		.what = "rows query", .columns = check_tid_column, .row = take_tid, .arg = &tids};
	int64 distinct = 0;
	int64 i;

	tids.tid = palloc(tids.room * sizeof(ItemPointerData));
	hybrid_query_run(query, &reader);
	qsort(tids.tid, tids.count, sizeof(ItemPointerData), compare_tids);
	for (i = 0; i < tids.count; i++)
	{
		if (distinct == 0 || compare_tids(&tids.tid[distinct - 1], &tids.tid[i]) != 0)
			tids.tid[distinct++] = tids.tid[i];
	}
	filter->tids = tids.tid;
	filter->count = distinct;
	return filter;
}

bool
hybrid_tid_set_allows(const HybridTidSet *filter, const ItemPointerData *tid)
{
	return filter->count > 0 &&
	       bsearch(tid, filter->tids, filter->count, sizeof(ItemPointerData), compare_tids) != NULL;
}

static void
check_tid_column(void *arg, TupleDesc columns)
{
	(void) arg;
	if (columns->natts != 1 || TupleDescAttr(columns, 0)->atttypid != TIDOID)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
		                errmsg("the rows query must return one column of type tid"),
		                errhint("For example: SELECT ctid FROM ... WHERE ...")));
}

static bool
take_tid(void *arg, TupleTableSlot *slot)
{
	Tids *tids = (Tids *) arg;

	if (slot->tts_isnull[0])
		return true;
	if (tids->count == tids->room)
	{
		tids->room *= 2;
		tids->tid = repalloc_huge(tids->tid, tids->room * sizeof(ItemPointerData));
	}
	ItemPointerCopy((ItemPointer) DatumGetPointer(slot->tts_values[0]), &tids->tid[tids->count++]);
	return true;
}

static int
compare_tids(const void *a, const void *b)
{
	/* ItemPointerCompare asserts that tids are valid, but the query may return an invalid tid */
	const ItemPointerData *x = (const ItemPointerData *) a;
	const ItemPointerData *y = (const ItemPointerData *) b;
	BlockNumber bx = ItemPointerGetBlockNumberNoCheck(x);
	BlockNumber by = ItemPointerGetBlockNumberNoCheck(y);

	CHECK_FOR_INTERRUPTS();
	if (bx != by)
		return bx < by ? -1 : 1;
	return (int) ItemPointerGetOffsetNumberNoCheck(x) - (int) ItemPointerGetOffsetNumberNoCheck(y);
}
