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

#define FETCH_ROWS 1000
#define NAMED_LEAVES 5

struct HybridRows
{
	Relation relation;
	AttrNumber attnum;
	MemoryContext context; /* of this struct */
	MemoryContext value;   /* of the detoasted vector, reset for each row */

	/* the tids that the filter lets through, ascending and distinct; NULL without a filter */
	ItemPointerData *allowed;
	int64 allowed_count;
	int64 allowed_next;

	/* a scan of the table, or fetches by tid when there is a filter */
	TableScanDesc scan;
	TupleTableSlot *slot;

	/* or a query */
	bool by_query;
	bool query_open;
	HybridQuery query;
	char *text;
	uint64 fetched;
	uint64 next;
};

static bool may_scan(Relation relation);
static void refuse_children(Relation relation);
static AttrNumber find_column(Relation relation, const char *column, Oid vector_type);
static void read_filter(HybridRows *rows, const char *filter);
static void open_source(HybridRows *rows);
static void close_source(HybridRows *rows);
static bool next_slot(HybridRows *rows, Datum *value, bool *isnull, ItemPointer tid);
static bool next_of_query(HybridRows *rows, Datum *value, bool *isnull, ItemPointer tid);
static bool is_allowed(const HybridRows *rows, ItemPointer tid);
static int compare_tids(const void *a, const void *b);

HybridRows *
hybrid_rows_open(Oid relid, const char *column, Oid vector_type, const char *filter)
{
	HybridRows *rows = palloc0(sizeof(HybridRows));

	rows->context = CurrentMemoryContext;
	rows->value = AllocSetContextCreate(CurrentMemoryContext, "hybrid row", ALLOCSET_SMALL_SIZES);
	rows->relation = try_relation_open(relid, AccessShareLock);
	if (rows->relation == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
		                errmsg("relation with OID %u does not exist", relid)));
	refuse_children(rows->relation);
	rows->attnum = find_column(rows->relation, column, vector_type);
	rows->by_query = !may_scan(rows->relation);
	if (rows->by_query)
		/* ONLY: a child may be attached from here on */
		rows->text = psprintf(
			"SELECT ctid, %s FROM ONLY %s", quote_identifier(column),
			quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rows->relation)),
		                               RelationGetRelationName(rows->relation)));
	if (filter != NULL)
		read_filter(rows, filter);
	open_source(rows);
	return rows;
}

bool
hybrid_rows_next(HybridRows *rows, ItemPointer tid, const HybridVector **vector)
{
	MemoryContext previous;
	Datum value;
	bool isnull;

	do
	{
		CHECK_FOR_INTERRUPTS();
		if (!(rows->by_query ? next_of_query(rows, &value, &isnull, tid)
		                     : next_slot(rows, &value, &isnull, tid)))
			return false;
	} while (isnull);

	MemoryContextReset(rows->value);
	previous = MemoryContextSwitchTo(rows->value);
	*vector = DatumGetHybridVector(value);
	MemoryContextSwitchTo(previous);
	return true;
}

void
hybrid_rows_rewind(HybridRows *rows)
{
	close_source(rows);
	open_source(rows);
}

void
hybrid_rows_close(HybridRows *rows)
{
	close_source(rows);
	relation_close(rows->relation, NoLock);
	MemoryContextDelete(rows->value);
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
	HybridQuery query;
	int64 room = FETCH_ROWS;
	int64 count = 0;
	int64 distinct = 0;
	uint64 fetched;
	int64 i;
	ItemPointerData *tids = MemoryContextAllocHuge(rows->context, room * sizeof(ItemPointerData));

	hybrid_query_open(&query, filter, "rows query");
	while ((fetched = hybrid_query_fetch(&query, FETCH_ROWS)) > 0)
	{
		TupleDesc desc = SPI_tuptable->tupdesc;
		uint64 row;

		if (desc->natts != 1 || TupleDescAttr(desc, 0)->atttypid != TIDOID)
			ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
			                errmsg("the rows query must return one column of type tid"),
			                errhint("For example: SELECT ctid FROM ... WHERE ...")));
		for (row = 0; row < fetched; row++)
		{
			bool isnull;
			Datum value = SPI_getbinval(SPI_tuptable->vals[row], desc, 1, &isnull);

			if (isnull)
				continue;
			if (count == room)
			{
				room *= 2;
				tids = repalloc_huge(tids, room * sizeof(ItemPointerData));
			}
			ItemPointerCopy((ItemPointer) DatumGetPointer(value), &tids[count]);
			count++;
		}
	}
	hybrid_query_close(&query);

	qsort(tids, count, sizeof(ItemPointerData), compare_tids);
	for (i = 0; i < count; i++)
	{
		if (distinct == 0 || compare_tids(&tids[distinct - 1], &tids[i]) != 0)
			tids[distinct++] = tids[i];
	}
	rows->allowed = tids;
	rows->allowed_count = distinct;
}

static void
open_source(HybridRows *rows)
{
	if (rows->by_query)
	{
		hybrid_query_open(&rows->query, rows->text, "relation");
		rows->query_open = true;
		rows->fetched = 0;
		rows->next = 0;
		return;
	}
	rows->slot = table_slot_create(rows->relation, NULL);
	rows->allowed_next = 0;
	if (rows->allowed != NULL)
		rows->scan = table_beginscan_tid(rows->relation, GetActiveSnapshot());
	else
		/* not synchronised with other scans: in ascending order of tid */
		rows->scan =
			table_beginscan_strat(rows->relation, GetActiveSnapshot(), 0, NULL, true, false);
}

static void
close_source(HybridRows *rows)
{
	if (rows->by_query)
	{
		if (rows->query_open)
			hybrid_query_close(&rows->query);
		rows->query_open = false;
		return;
	}
	ExecDropSingleTupleTableSlot(rows->slot);
	table_endscan(rows->scan);
}

static bool
next_slot(HybridRows *rows, Datum *value, bool *isnull, ItemPointer tid)
{
	if (rows->allowed == NULL)
	{
		if (!table_scan_getnextslot(rows->scan, ForwardScanDirection, rows->slot))
			return false;
	}
	else
	{
		for (;;)
		{
			ItemPointer wanted;

			if (rows->allowed_next == rows->allowed_count)
				return false;
			wanted = &rows->allowed[rows->allowed_next++];
			if (table_tuple_tid_valid(rows->scan, wanted) &&
			    table_tuple_fetch_row_version(rows->relation, wanted, GetActiveSnapshot(),
			                                  rows->slot))
				break;
			CHECK_FOR_INTERRUPTS();
		}
	}
	*value = slot_getattr(rows->slot, rows->attnum, isnull);
	ItemPointerCopy(&rows->slot->tts_tid, tid);
	return true;
}

static bool
next_of_query(HybridRows *rows, Datum *value, bool *isnull, ItemPointer tid)
{
	do
	{
		HeapTuple tuple;
		TupleDesc desc;
		Datum ctid;
		bool nowhere;

		if (rows->next == rows->fetched)
		{
			rows->fetched = hybrid_query_fetch(&rows->query, FETCH_ROWS);
			rows->next = 0;
			if (rows->fetched == 0)
				return false;
		}
		tuple = SPI_tuptable->vals[rows->next++];
		desc = SPI_tuptable->tupdesc;
		ctid = SPI_getbinval(tuple, desc, 1, &nowhere);
		if (nowhere || SPI_gettypeid(desc, 1) != TIDOID)
			ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
			                errmsg("\"%s\" has rows without a ctid of type tid",
			                       RelationGetRelationName(rows->relation))));
		ItemPointerCopy((ItemPointer) DatumGetPointer(ctid), tid);
		*value = SPI_getbinval(tuple, desc, 2, isnull);
	} while (rows->allowed != NULL && !is_allowed(rows, tid));
	return true;
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
