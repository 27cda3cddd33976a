/*
 * rows.c
 *		Reads the rows of a relation as (tid, vector or halfvec): see rows.h.
 *
 * A raw scan of the table would return more than a SELECT if row security applies, or if the user
 * has privileges only on single columns. A view or a foreign table cannot be scanned at all. In
 * those cases the rows come from a query that runs with the caller's privileges. The query's errors
 * are raised here. A query guarantees no order, so the caller breaks ties by tid.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/relscan.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "knn/fetched.h"
#include "knn/relation.h"
#include "knn/rows.h"
#include "server/compat.h"
#include "server/position.h"
#include "miscadmin.h"
#include "server/query.h"
#include "storage/bufmgr.h"
#include "types/vector.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

struct HybridRows
{
	Relation relation;
	AttrNumber attnum;
	AttrNumber id_attnum; /* number of the id column; 0 if there is none */
	Oid id_type;
	HyDtype dtype;
	char *text;     /* query that returns the rows; NULL if the table itself is scanned */
	char *ids_text; /* query that returns (tid, id) of the rows */
	HybridTidSet *filter;

	/* blocks, block: progress of the current read */
	BlockNumber blocks;
	BlockNumber block;
	int64 next_allowed;
	double share_at; /* share passed to hybrid_rows_at; 0: not read by hybrid_rows_at */

	/* scan: the current read of the table; NULL: no read, or the rows come from a query */
	TableScanDesc scan;
	bool ended;            /* whether the scan has returned all rows */
	TupleTableSlot *ahead; /* slot of a row that is read ahead */
	MemoryContext ahead_context;

	HybridFetched fetched;
};

/* Taker: the receiver of the rows that a query returns. */
typedef struct Taker
{
	HybridRows *rows;
	HybridTakeRow take;
	void *arg;
} Taker;

/* Ids: a request for the ids of rows at given positions. */
typedef struct Ids
{
	HybridRows *rows;
	const int64 *positions; /* requested positions, ascending */
	int64 count;
	int64 *ids;
	bool *found; /* whether each row has been found */
} Ids;

static bool may_scan(Relation relation);
static AttrNumber find_column(Relation relation, const char *column);
static HyDtype
find_dtype(const HybridRows *rows, const char *column, const HybridVectorTypes *types);
static void set_vector(const HybridRows *rows, HybridRow *row, Datum value);
static void find_id_column(HybridRows *rows, const char *column);
static char *make_query(const HybridRows *rows, const char *column, const char *other);
static int64 get_id(const HybridRows *rows, Datum value, bool isnull);
static void read_table(HybridRows *rows, HybridTakeRow take, void *arg);
static bool next_slot(HybridRows *rows, TupleTableSlot *slot);
static bool pass_row(HybridRows *rows, TupleTableSlot *slot, MemoryContext context,
                     HybridTakeRow take, void *arg);
static void expect_fetched(void *arg, SPIPlanPtr plan);
static void check_row_columns(void *arg, TupleDesc columns);
static bool take_row(void *arg, TupleTableSlot *slot);
static void check_id_columns(void *arg, TupleDesc columns);
static bool take_id(void *arg, TupleTableSlot *slot);
static void get_ctid(const HybridRows *rows, TupleTableSlot *slot, ItemPointer tid);
pg_noreturn static void report_no_ctid(Relation relation);
pg_noreturn static void report_several(Relation relation, const ItemPointerData *tid);
static void check_found(const Ids *wanted);

HybridRows *
hybrid_rows_open(Oid relid, const char *column, const HybridVectorTypes *types, const char *filter,
                 const char *id_column)
{
	HybridRows *rows = palloc0(sizeof(HybridRows));

	rows->relation = try_relation_open(relid, AccessShareLock);
	if (rows->relation == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
		                errmsg("relation with OID %u does not exist", relid)));
	hybrid_check_relation(rows->relation, column);
	rows->fetched.relation = RelationGetRelationName(rows->relation);
	rows->fetched.column = column;
	rows->attnum = find_column(rows->relation, column);
	rows->dtype = find_dtype(rows, column, types);
	if (id_column != NULL)
		find_id_column(rows, id_column);
	if (!may_scan(rows->relation))
	{
		rows->text = make_query(rows, column, id_column);
		if (id_column != NULL)
			rows->ids_text = make_query(rows, id_column, NULL);
	}
	if (filter != NULL)
		rows->filter = hybrid_tid_set_read(filter);
	return rows;
}

void
hybrid_rows_check_columns(Relation relation, const char *column, const HybridVectorTypes *types,
                          const char *id_column)
{
	HybridRows rows = {.relation = relation, .attnum = find_column(relation, column)};

	(void) find_dtype(&rows, column, types);
	find_id_column(&rows, id_column);
}

void
hybrid_rows_report_fetched(HybridRows *rows, const char *function)
{
	rows->fetched.function = function;
}

HyDtype
hybrid_rows_dtype(const HybridRows *rows)
{
	return rows->dtype;
}

void
hybrid_rows_read(HybridRows *rows, HybridTakeRow take, void *arg)
{
	Taker taker = {.rows = rows, .take = take, .arg = arg};
	HybridReader reader = {
		.what = "relation", .columns = check_row_columns, .row = take_row, .arg = &taker};

	if (rows->fetched.function != NULL)
		reader.check = expect_fetched;
	rows->block = 0;
	rows->next_allowed = 0;
	rows->share_at = 0;
	rows->blocks = 0;
	if (rows->text != NULL)
		hybrid_query_run(rows->text, &reader);
	else
		read_table(rows, take, arg);
}

bool
hybrid_rows_ahead(HybridRows *rows, int most, HybridTakeRow take, void *arg)
{
	int i;

	for (i = 0; i < most; i++)
	{
		if (rows->scan == NULL || !next_slot(rows, rows->ahead))
			return false;
		if (!pass_row(rows, rows->ahead, rows->ahead_context, take, arg))
			break;
	}
	return true;
}

bool
hybrid_rows_at(HybridRows *rows, const int64 *roots, int count, double share, HybridTakeRow take,
               void *arg)
{
	MemoryContext row_context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid row", ALLOCSET_SMALL_SIZES);
	IndexFetchTableData *fetch = table_index_fetch_begin(rows->relation);
	TupleTableSlot *slot = table_slot_create(rows->relation, NULL);
	bool more = true;
	int i;

	Assert(rows->text == NULL);
	rows->share_at = share;
	for (i = 0; i < count && more; i++)
	{
		ItemPointerData tid = hybrid_position_tid(roots[i]);
		bool again = false;

		if (table_index_fetch_tuple(fetch, &tid, GetActiveSnapshot(), slot, &again, NULL))
			more = pass_row(rows, slot, row_context, take, arg);
	}
	ExecDropSingleTupleTableSlot(slot);
	table_index_fetch_end(fetch);
	MemoryContextDelete(row_context);
	return more;
}

double
hybrid_rows_share(const HybridRows *rows)
{
	if (rows->share_at > 0)
		return rows->share_at;
	if (rows->filter != NULL && rows->text == NULL)
		return rows->filter->count > 0 ? (double) rows->next_allowed / rows->filter->count : 1;
	/* an estimate: a query usually reads a table from beginning to end */
	if (rows->blocks > 0)
		return Min((double) rows->block / rows->blocks, 1);
	return -1;
}

void
hybrid_rows_ids(HybridRows *rows, const int64 *positions, int64 count, int64 *ids)
{
	Ids wanted = {.rows = rows, .positions = positions, .count = count, .ids = ids};
	HybridReader reader = {
		.what = "relation", .columns = check_id_columns, .row = take_id, .arg = &wanted};
	TupleTableSlot *slot;
	int64 i;

	Assert(rows->id_attnum != 0);
	if (rows->text != NULL)
	{
		wanted.found = MemoryContextAllocExtended(CurrentMemoryContext, count * sizeof(bool),
		                                          MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
		hybrid_query_run(rows->ids_text, &reader);
		check_found(&wanted);
		pfree(wanted.found);
		return;
	}
	slot = table_slot_create(rows->relation, NULL);
	for (i = 0; i < count; i++)
	{
		ItemPointerData tid;
		bool isnull;
		Datum id;

		CHECK_FOR_INTERRUPTS();
		tid = hybrid_position_tid(positions[i]);
		if (!table_tuple_fetch_row_version(rows->relation, &tid, GetActiveSnapshot(), slot))
			elog(ERROR, "row (%u,%u) of \"%s\" has gone", ItemPointerGetBlockNumber(&tid),
			     ItemPointerGetOffsetNumber(&tid), RelationGetRelationName(rows->relation));
		id = slot_getattr(slot, rows->id_attnum, &isnull);
		ids[i] = get_id(rows, id, isnull);
	}
	ExecDropSingleTupleTableSlot(slot);
}

void
hybrid_rows_check_ids(const HybridRows *rows)
{
	Relation table = rows->relation;
	TupleTableSlot *slot;
	TableScanDesc scan;

	Assert(rows->text == NULL && rows->id_attnum != 0);
	if (rows->id_attnum > 0 &&
	    TupleDescAttr(RelationGetDescr(table), rows->id_attnum - 1)->attnotnull)
		return;
	slot = table_slot_create(table, NULL);
	scan = table_beginscan(table, GetActiveSnapshot(), 0, NULL);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool isnull;
		Datum id = slot_getattr(slot, rows->id_attnum, &isnull);

		CHECK_FOR_INTERRUPTS();
		if (isnull && !slot_attisnull(slot, rows->attnum))
			(void) get_id(rows, id, isnull);
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
}

Relation
hybrid_rows_table(const HybridRows *rows, AttrNumber *attnum)
{
	*attnum = rows->attnum;
	return rows->text == NULL ? rows->relation : NULL;
}

const HybridTidSet *
hybrid_rows_filter(const HybridRows *rows)
{
	return rows->filter;
}

void
hybrid_rows_close(HybridRows *rows)
{
	relation_close(rows->relation, NoLock);
	pfree(rows);
}

/*
 * may_scan: return whether a raw scan shows exactly the rows that a SELECT by this user would
 * return.
 */
static bool
may_scan(Relation relation)
{
	char relkind = relation->rd_rel->relkind;
	Oid relid = RelationGetRelid(relation);

	if (relkind != RELKIND_RELATION && relkind != RELKIND_MATVIEW)
		return false;
	if (relkind == RELKIND_MATVIEW && !RelationIsPopulated(relation))
		return false; /* the query that is used instead raises the usual error */
	if (RELATION_IS_OTHER_TEMP(relation))
		return false;
	if (!RelationIsPermanent(relation) && RecoveryInProgress())
		return false; /* the query that is used instead raises the usual error */
	/* the user can pass the OID of a table in a schema that the user may not access */
	if (object_aclcheck(NamespaceRelationId, RelationGetNamespace(relation), GetUserId(),
	                    ACL_USAGE) != ACLCHECK_OK)
		return false;
	if (pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		return false;
	return check_enable_rls(relid, InvalidOid, true) != RLS_ENABLED;
}

static AttrNumber
find_column(Relation relation, const char *column)
{
	AttrNumber attnum = get_attnum(RelationGetRelid(relation), column);

	if (attnum == InvalidAttrNumber)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
		                errmsg("column \"%s\" of \"%s\" does not exist", column,
		                       RelationGetRelationName(relation))));
	return attnum;
}

static HyDtype
find_dtype(const HybridRows *rows, const char *column, const HybridVectorTypes *types)
{
	Oid type = get_atttype(RelationGetRelid(rows->relation), rows->attnum);
	Oid base = getBaseType(type);

	if (rows->attnum < 0 || (base != types->vector && base != types->halfvec))
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
		                errmsg("column \"%s\" of \"%s\" is of type %s, not %s or %s", column,
		                       RelationGetRelationName(rows->relation), format_type_be(type),
		                       format_type_be(types->vector), format_type_be(types->halfvec))));
	return base == types->vector ? HY_F32 : HY_F16;
}

/* set_vector: point `row` at the elements of `value`. */
static void
set_vector(const HybridRows *rows, HybridRow *row, Datum value)
{
	const HybridDense *vector = DatumGetHybridDense(value, rows->dtype);

	row->dims = vector->dim;
	row->x = vector->x;
}

static void
find_id_column(HybridRows *rows, const char *column)
{
	AttrNumber attnum = find_column(rows->relation, column);
	Oid type = get_atttype(RelationGetRelid(rows->relation), attnum);

	rows->id_attnum = attnum;
	rows->id_type = getBaseType(type);
	if (attnum < 0 ||
	    (rows->id_type != INT2OID && rows->id_type != INT4OID && rows->id_type != INT8OID))
		ereport(ERROR,
		        (errcode(ERRCODE_DATATYPE_MISMATCH),
		         errmsg("column \"%s\" of \"%s\" is of type %s, not smallint, integer or bigint",
		                column, RelationGetRelationName(rows->relation), format_type_be(type))));
}

/* make_query: return the text of a query for ctid, `column` and, unless it is NULL, `other`. */
static char *
make_query(const HybridRows *rows, const char *column, const char *other)
{
	Relation relation = rows->relation;

	/* ONLY is needed because a child may be attached after the check */
	return psprintf("SELECT ctid, %s%s%s FROM ONLY %s", quote_identifier(column),
	                other != NULL ? ", " : "", other != NULL ? quote_identifier(other) : "",
	                quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)),
	                                           RelationGetRelationName(relation)));
}

static int64
get_id(const HybridRows *rows, Datum value, bool isnull)
{
	if (isnull)
		ereport(ERROR,
		        (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
		         errmsg("column \"%s\" of \"%s\" contains NULL",
		                get_attname(RelationGetRelid(rows->relation), rows->id_attnum, false),
		                RelationGetRelationName(rows->relation))));
	if (rows->id_type == INT2OID)
		return DatumGetInt16(value);
	if (rows->id_type == INT4OID)
		return DatumGetInt32(value);
	return DatumGetInt64(value);
}

/* read_table: pass the rows of the table to `take`, in ascending order of tid. */
static void
read_table(HybridRows *rows, HybridTakeRow take, void *arg)
{
	MemoryContext row_context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid row", ALLOCSET_SMALL_SIZES);
	TupleTableSlot *slot = table_slot_create(rows->relation, NULL);
	Snapshot snapshot = GetActiveSnapshot();

	rows->blocks = RelationGetNumberOfBlocks(rows->relation);
	rows->ended = false;
	rows->ahead = table_slot_create(rows->relation, NULL);
	rows->ahead_context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid row ahead", ALLOCSET_SMALL_SIZES);
	if (rows->filter != NULL)
		rows->scan = table_beginscan_tid(rows->relation, snapshot);
	else
		/* a scan synchronized with other scans would not start at the first block */
		rows->scan = table_beginscan_strat(rows->relation, snapshot, 0, NULL, true, false);
	while (next_slot(rows, slot) && pass_row(rows, slot, row_context, take, arg))
		;
	ExecDropSingleTupleTableSlot(slot);
	ExecDropSingleTupleTableSlot(rows->ahead);
	table_endscan(rows->scan);
	rows->scan = NULL;
	MemoryContextDelete(row_context);
	MemoryContextDelete(rows->ahead_context);
}

/*
 * next_slot: fetch the next row, from the scan or, if there is a filter, by the filter's next tid.
 * Returns false at the end.
 */
static bool
next_slot(HybridRows *rows, TupleTableSlot *slot)
{
	TableScanDesc scan = rows->scan;

	/* if called again after its end, a scan would start over */
	if (rows->ended)
		return false;
	if (rows->filter == NULL)
	{
		rows->ended = !table_scan_getnextslot(scan, ForwardScanDirection, slot);
		return !rows->ended;
	}
	while (rows->next_allowed < rows->filter->count)
	{
		ItemPointer wanted = &rows->filter->tids[rows->next_allowed++];

		if (table_tuple_tid_valid(scan, wanted) &&
		    table_tuple_fetch_row_version(rows->relation, wanted, scan->rs_snapshot, slot))
			return true;
		CHECK_FOR_INTERRUPTS();
	}
	rows->ended = true;
	return false;
}

/*
 * pass_row: pass the row in a slot to `take`, unless its vector is NULL. `take` runs in the given
 * context, which is then reset. Returns false if `take` returns false.
 */
static bool
pass_row(HybridRows *rows, TupleTableSlot *slot, MemoryContext context, HybridTakeRow take,
         void *arg)
{
	HybridRow row = {.tid = slot->tts_tid};
	bool isnull;
	Datum value = slot_getattr(slot, rows->attnum, &isnull);
	MemoryContext before;
	bool more;

	CHECK_FOR_INTERRUPTS();
	if (isnull)
		return true;
	rows->block = ItemPointerGetBlockNumber(&row.tid);
	if (rows->id_attnum != 0)
	{
		Datum id = slot_getattr(slot, rows->id_attnum, &isnull);

		row.id = get_id(rows, id, isnull);
	}
	before = MemoryContextSwitchTo(context);
	set_vector(rows, &row, value);
	more = take(arg, &row);
	MemoryContextSwitchTo(before);
	MemoryContextReset(context);
	return more;
}

static void
expect_fetched(void *arg, SPIPlanPtr plan)
{
	hybrid_fetched_expect(&((Taker *) arg)->rows->fetched, plan);
}

static void
check_row_columns(void *arg, TupleDesc columns)
{
	HybridRows *rows = ((Taker *) arg)->rows;

	if (TupleDescAttr(columns, 0)->atttypid != TIDOID)
		report_no_ctid(rows->relation);
	if (RELKIND_HAS_TABLE_AM(rows->relation->rd_rel->relkind))
		rows->blocks = RelationGetNumberOfBlocks(rows->relation);
}

static bool
take_row(void *arg, TupleTableSlot *slot)
{
	Taker *taker = (Taker *) arg;
	HybridRows *rows = taker->rows;
	HybridRow row;

	hybrid_fetched_row(&rows->fetched);
	get_ctid(rows, slot, &row.tid);
	if (slot->tts_isnull[1] ||
	    (rows->filter != NULL && !hybrid_tid_set_allows(rows->filter, &row.tid)))
		return true;
	rows->block = Max(rows->block, ItemPointerGetBlockNumberNoCheck(&row.tid));
	row.id = 0;
	if (rows->id_attnum != 0)
		row.id = get_id(rows, slot->tts_values[2], slot->tts_isnull[2]);
	set_vector(rows, &row, slot->tts_values[1]);
	return taker->take(taker->arg, &row);
}

static void
check_id_columns(void *arg, TupleDesc columns)
{
	if (TupleDescAttr(columns, 0)->atttypid != TIDOID)
		report_no_ctid(((Ids *) arg)->rows->relation);
}

static bool
take_id(void *arg, TupleTableSlot *slot)
{
	Ids *wanted = (Ids *) arg;
	ItemPointerData tid;
	int64 position;
	const int64 *place;
	int64 i;

	get_ctid(wanted->rows, slot, &tid);
	position = hybrid_position(&tid);
	place = bsearch(&position, wanted->positions, wanted->count, sizeof(int64),
	                hybrid_compare_positions);
	/* this row was not requested: it has no vector, and its id may be NULL */
	if (place == NULL)
		return true;
	i = place - wanted->positions;
	if (wanted->found[i])
		report_several(wanted->rows->relation, &tid);
	wanted->found[i] = true;
	wanted->ids[i] = get_id(wanted->rows, slot->tts_values[1], slot->tts_isnull[1]);
	return true;
}

/* get_ctid: return the ctid of a row that a query returned. */
static void
get_ctid(const HybridRows *rows, TupleTableSlot *slot, ItemPointer tid)
{
	if (slot->tts_isnull[0])
		report_no_ctid(rows->relation);
	*tid = *(ItemPointer) DatumGetPointer(slot->tts_values[0]);
	/* a foreign table has ctids only if its foreign-data wrapper provides them */
	if (rows->relation->rd_rel->relkind == RELKIND_FOREIGN_TABLE && !ItemPointerIsValid(tid))
		report_no_ctid(rows->relation);
}

static void
report_no_ctid(Relation relation)
{
	ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
	                errmsg("\"%s\" has rows without a ctid of type tid",
	                       RelationGetRelationName(relation)),
	                errhint("Use ORDER BY and LIMIT instead.")));
}

/*
 * report_several: raise the error for two rows with the same ctid. A view over several tables may
 * return such rows.
 */
static void
report_several(Relation relation, const ItemPointerData *tid)
{
	ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
	                errmsg("\"%s\" has several rows whose ctid is (%u,%u)",
	                       RelationGetRelationName(relation), ItemPointerGetBlockNumberNoCheck(tid),
	                       ItemPointerGetOffsetNumberNoCheck(tid)),
	                errhint("Call the function for each of its tables.")));
}

/*
 * check_found: raise if the query did not return a requested row again. A view or a policy may
 * select different rows each time.
 */
static void
check_found(const Ids *wanted)
{
	int64 i;

	for (i = 0; i < wanted->count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!wanted->found[i])
			ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			                errmsg("\"%s\" returned different rows when it was read again",
			                       RelationGetRelationName(wanted->rows->relation)),
			                errhint("A view or a policy must return the same rows each time.")));
	}
}
