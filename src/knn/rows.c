/*
 * rows.c
 *		The rows of a relation as (tid, vector): see rows.h.
 *
 * A raw scan of the table sees more than a SELECT would where row security applies or the user
 * holds rights on single columns only, and there is none of a view or a foreign table.  In those
 * cases the rows come through a query with the caller's rights instead, and what that query
 * refuses is refused here.  A query does not promise any order, so ties are broken by the caller on
 * the tid itself.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/relscan.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/namespace.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "knn/rows.h"
#include "miscadmin.h"
#include "server/query.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#define FIRST_TIDS 1024
#define NAMED_LEAVES 5

struct HybridRows
{
	Relation relation;
	AttrNumber attnum;
	char *text; /* the query that the rows come from; NULL: from the table itself */

	/* the tids that the filter lets through, ascending and distinct; NULL without a filter */
	ItemPointerData *allowed;
	int64 allowed_count;
};

/* Taker: on the way through the rows. */
typedef struct Taker
{
	HybridRows *rows;
	HybridTakeRow take;
	void *arg;
} Taker;

/* Tids: of a filter, as they come. */
typedef struct Tids
{
	ItemPointerData *tid;
	int64 count;
	int64 room;
} Tids;

static bool may_scan(Relation relation);
static void refuse_children(Relation relation);
static AttrNumber find_column(Relation relation, const char *column, Oid vector_type);
static void read_filter(HybridRows *rows, const char *filter);
static void check_tid_column(void *arg, TupleDesc columns);
static bool take_tid(void *arg, TupleTableSlot *slot);
static void read_table(HybridRows *rows, HybridTakeRow take, void *arg);
static bool
next_slot(HybridRows *rows, TableScanDesc scan, int64 *next_allowed, TupleTableSlot *slot);
static void check_row_columns(void *arg, TupleDesc columns);
static bool take_row(void *arg, TupleTableSlot *slot);
static void report_no_ctid(Relation relation) pg_attribute_noreturn();
static bool is_allowed(const HybridRows *rows, ItemPointer tid);
static int compare_tids(const void *a, const void *b);

HybridRows *
hybrid_rows_open(Oid relid, const char *column, Oid vector_type, const char *filter)
{
	HybridRows *rows = palloc0(sizeof(HybridRows));

	rows->relation = try_relation_open(relid, AccessShareLock);
	if (rows->relation == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
		                errmsg("relation with OID %u does not exist", relid)));
	refuse_children(rows->relation);
	rows->attnum = find_column(rows->relation, column, vector_type);
	if (!may_scan(rows->relation))
		/* ONLY: a child may be attached from here on */
		rows->text = psprintf(
			"SELECT ctid, %s FROM ONLY %s", quote_identifier(column),
			quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rows->relation)),
		                               RelationGetRelationName(rows->relation)));
	if (filter != NULL)
		read_filter(rows, filter);
	return rows;
}

void
hybrid_rows_read(HybridRows *rows, HybridTakeRow take, void *arg)
{
	Taker taker = {.rows = rows, .take = take, .arg = arg};
	HybridReader reader = {
		.what = "relation", .columns = check_row_columns, .row = take_row, .arg = &taker};

	if (rows->text != NULL)
		hybrid_query_run(rows->text, &reader);
	else
		read_table(rows, take, arg);
}

void
hybrid_rows_close(HybridRows *rows)
{
	relation_close(rows->relation, NoLock);
	pfree(rows);
}

/* Whether a raw scan shows exactly what a SELECT by this user would. */
static bool
may_scan(Relation relation)
{
	char relkind = relation->rd_rel->relkind;
	Oid relid = RelationGetRelid(relation);

	if (relkind != RELKIND_RELATION && relkind != RELKIND_MATVIEW)
		return false;
	if (relkind == RELKIND_MATVIEW && !RelationIsPopulated(relation))
		return false; /* the query raises the usual error */
	if (RELATION_IS_OTHER_TEMP(relation))
		return false;
	/* an oid reaches what a name would not */
	if (pg_namespace_aclcheck(RelationGetNamespace(relation), GetUserId(), ACL_USAGE) !=
	    ACLCHECK_OK)
		return false;
	if (pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		return false;
	return check_enable_rls(relid, InvalidOid, true) != RLS_ENABLED;
}

/* A tid alone does not say which of several tables it belongs to. */
static void
refuse_children(Relation relation)
{
	Oid relid = RelationGetRelid(relation);
	List *inheritors;
	ListCell *cell;
	StringInfoData leaves;
	int named = 0;
	int count = 0;

	if (relation->rd_rel->relkind != RELKIND_PARTITIONED_TABLE && !has_subclass(relid))
		return;
	inheritors = find_all_inheritors(relid, AccessShareLock, NULL);
	initStringInfo(&leaves);
	foreach (cell, inheritors)
	{
		Oid child = lfirst_oid(cell);

		if (child == relid || get_rel_relkind(child) == RELKIND_PARTITIONED_TABLE)
			continue;
		count++;
		if (named == NAMED_LEAVES)
			continue;
		appendStringInfo(&leaves, "%s\"%s\"", named++ > 0 ? ", " : "", get_rel_name(child));
	}
	if (count == 0 && relation->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return; /* relhassubclass outlives the last child */
	ereport(ERROR,
	        (errcode(ERRCODE_WRONG_OBJECT_TYPE),
	         errmsg("\"%s\" has partitions or children, whose rows a tid does not tell apart",
	                RelationGetRelationName(relation)),
	         count == 0 ? errdetail("It has no leaf table.")
	         : count > named
	             ? errdetail("Its leaf tables are %s and %d more.", leaves.data, count - named)
	             : errdetail("Its leaf tables are %s.", leaves.data),
	         errhint("Ask each leaf table by itself.")));
}

static AttrNumber
find_column(Relation relation, const char *column, Oid vector_type)
{
	AttrNumber attnum = get_attnum(RelationGetRelid(relation), column);
	Oid type;

	if (attnum == InvalidAttrNumber)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
		                errmsg("column \"%s\" of \"%s\" does not exist", column,
		                       RelationGetRelationName(relation))));
	type = get_atttype(RelationGetRelid(relation), attnum);
	if (attnum < 0 || getBaseType(type) != vector_type)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
		                errmsg("column \"%s\" of \"%s\" is of type %s, not %s", column,
		                       RelationGetRelationName(relation), format_type_be(type),
		                       format_type_be(vector_type))));
	return attnum;
}

static void
read_filter(HybridRows *rows, const char *filter)
{
	Tids tids = {.room = FIRST_TIDS};
	HybridReader reader = {
		.what = "rows query", .columns = check_tid_column, .row = take_tid, .arg = &tids};
	int64 distinct = 0;
	int64 i;

	tids.tid = palloc(tids.room * sizeof(ItemPointerData));
	hybrid_query_run(filter, &reader);
	qsort(tids.tid, tids.count, sizeof(ItemPointerData), compare_tids);
	for (i = 0; i < tids.count; i++)
	{
		if (distinct == 0 || compare_tids(&tids.tid[distinct - 1], &tids.tid[i]) != 0)
			tids.tid[distinct++] = tids.tid[i];
	}
	rows->allowed = tids.tid;
	rows->allowed_count = distinct;
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

/* read_table: in ascending order of tid. */
static void
read_table(HybridRows *rows, HybridTakeRow take, void *arg)
{
	MemoryContext row_context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid row", ALLOCSET_SMALL_SIZES);
	TupleTableSlot *slot = table_slot_create(rows->relation, NULL);
	Snapshot snapshot = GetActiveSnapshot();
	TableScanDesc scan;
	int64 next_allowed = 0;
	bool more = true;

	if (rows->allowed != NULL)
		scan = table_beginscan_tid(rows->relation, snapshot);
	else
		/* not synchronised with other scans */
		scan = table_beginscan_strat(rows->relation, snapshot, 0, NULL, true, false);
	while (more && next_slot(rows, scan, &next_allowed, slot))
	{
		bool isnull;
		Datum value = slot_getattr(slot, rows->attnum, &isnull);
		MemoryContext before;

		CHECK_FOR_INTERRUPTS();
		if (isnull)
			continue;
		before = MemoryContextSwitchTo(row_context);
		more = take(arg, &slot->tts_tid, DatumGetHybridVector(value));
		MemoryContextSwitchTo(before);
		MemoryContextReset(row_context);
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	MemoryContextDelete(row_context);
}

/* next_slot: by a scan, or by tid where there is a filter. */
static bool
next_slot(HybridRows *rows, TableScanDesc scan, int64 *next_allowed, TupleTableSlot *slot)
{
	if (rows->allowed == NULL)
		return table_scan_getnextslot(scan, ForwardScanDirection, slot);
	while (*next_allowed < rows->allowed_count)
	{
		ItemPointer wanted = &rows->allowed[(*next_allowed)++];

		if (table_tuple_tid_valid(scan, wanted) &&
		    table_tuple_fetch_row_version(rows->relation, wanted, scan->rs_snapshot, slot))
			return true;
		CHECK_FOR_INTERRUPTS();
	}
	return false;
}

static void
check_row_columns(void *arg, TupleDesc columns)
{
	if (TupleDescAttr(columns, 0)->atttypid != TIDOID)
		report_no_ctid(((Taker *) arg)->rows->relation);
}

static bool
take_row(void *arg, TupleTableSlot *slot)
{
	Taker *taker = (Taker *) arg;
	ItemPointer tid = (ItemPointer) DatumGetPointer(slot->tts_values[0]);

	if (slot->tts_isnull[0])
		report_no_ctid(taker->rows->relation);
	if (slot->tts_isnull[1] || (taker->rows->allowed != NULL && !is_allowed(taker->rows, tid)))
		return true;
	return taker->take(taker->arg, tid, DatumGetHybridVector(slot->tts_values[1]));
}

static void
report_no_ctid(Relation relation)
{
	ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
	                errmsg("\"%s\" has rows without a ctid of type tid",
	                       RelationGetRelationName(relation))));
}

static bool
is_allowed(const HybridRows *rows, ItemPointer tid)
{
	return rows->allowed_count > 0 && bsearch(tid, rows->allowed, rows->allowed_count,
	                                          sizeof(ItemPointerData), compare_tids) != NULL;
}

static int
compare_tids(const void *a, const void *b)
{
	/* not ItemPointerCompare: a tid from a query may be invalid, which that asserts against */
	const ItemPointerData *x = (const ItemPointerData *) a;
	const ItemPointerData *y = (const ItemPointerData *) b;
	BlockNumber bx = ItemPointerGetBlockNumberNoCheck(x);
	BlockNumber by = ItemPointerGetBlockNumberNoCheck(y);

	CHECK_FOR_INTERRUPTS();
	if (bx != by)
		return bx < by ? -1 : 1;
	return (int) ItemPointerGetOffsetNumberNoCheck(x) - (int) ItemPointerGetOffsetNumberNoCheck(y);
}
