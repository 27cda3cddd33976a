/*
 * stats.c
 *		hybrid_index_stats() and hybrid_index_curve(): the contents of an index, and its recall
 *		curve. Also the function behind the view hybrid_indexes.
 *
 * The list pages are read, level by level. They name the pages of codes and vectors, so those pages need
 * not be read.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/syscache.h"

#include "server/citus.h"
#include "server/compat.h"

#include "index/scan/settings.h"
#include "index/tree/tree.h"
#include "index/tree/walk.h"
#include "index/vacuum/regroup.h"

#define INDEX_COLUMNS 8 /* number of columns of hybrid_get_index() */

/* Tally: counts of lists, pages and entries. */
typedef struct Tally
{
	int64 live; /* number of live entries of leaves */
	int64 dead;
	int64 leaves;
	int64 inner;
	int64 least; /* minimum number of entries of a leaf */
	int64 most;
	int64 list_pages;
	int64 code_pages;
	int64 vector_pages;
	int64 moved_pages;
} Tally;

static char *try_index_columns(Relation index, Datum *values, bool *nulls);
static void index_columns(Relation index, Datum *values, bool *nulls);
static Relation open_readable(Oid oid);
static bool may_read(Oid oid);
static Relation try_readable(Oid oid);
static void
tally_tree(Tally *tally, Relation index, const HybridIndex *open, const HybridTree *tree);
static int64 tally_list(Tally *tally, Relation index, const HybridLayout *layout,
                        const HybridLink *list, int level);
static int64 tally_pages(Tally *tally, const HybridListLayout *shape, Page page);
static void tally_moved(Tally *tally, Relation index, const HybridLayout *layout);
static void tally_moved_in_file(Tally *tally, Relation index, const HybridLayout *layout);
static int64 moved_list_pages(Relation index, const HybridLayout *layout, const HybridLink *list);
static Datum row_of(TupleDesc descriptor, const HybridIndex *open, const HybridTree *tree,
                    const Tally *tally, int64 blocks);

PG_FUNCTION_INFO_V1(hybrid_index_stats);
Datum
hybrid_index_stats(PG_FUNCTION_ARGS)
{
	Relation index;
	TupleDesc descriptor;
	HybridIndex open;
	HybridTree tree;
	Tally tally;
	Datum row;

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	index = open_readable(PG_GETARG_OID(0));
	open = hybrid_index_open(index);
	hybrid_tree_read(index, &tree);
	memset(&tally, 0, sizeof(tally));
	tally.least = PG_INT64_MAX;
	tally_tree(&tally, index, &open, &tree);
	tally_moved(&tally, index, &open.layout);
	row = row_of(BlessTupleDesc(descriptor), &open, &tree, &tally,
	             (int64) RelationGetNumberOfBlocks(index));
	relation_close(index, AccessShareLock);
	PG_RETURN_DATUM(row);
}

/*
 * hybrid_get_index: return the columns of hybrid_indexes that are read from the index itself, or NULL
 * if the caller cannot read the index now. For an index in the format of another version, only
 * `outdated` is not NULL. For an index that is damaged, or that was built for other types of its
 * included columns, only `damage` is not NULL: the message of the error that reading the index raised.
 * So one such index does not make the view of all indexes fail.
 */
PG_FUNCTION_INFO_V1(hybrid_get_index);
Datum
hybrid_get_index(PG_FUNCTION_ARGS)
{
	Relation index = try_readable(PG_GETARG_OID(0));
	TupleDesc descriptor;
	Datum values[INDEX_COLUMNS] = {0};
	bool nulls[INDEX_COLUMNS];
	char *damage;

	if (index == NULL)
		PG_RETURN_NULL();
	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	descriptor = BlessTupleDesc(descriptor);
	memset(nulls, true, sizeof(nulls));
	damage = try_index_columns(index, values, nulls);
	if (damage != NULL)
	{
		memset(nulls, true, sizeof(nulls));
		values[7] = CStringGetTextDatum(damage);
		nulls[7] = false;
	}
	relation_close(index, AccessShareLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(descriptor, values, nulls)));
}

/*
 * try_index_columns: call index_columns() in a subtransaction. Returns NULL if it succeeds. If it
 * raises an error that an index in need of REINDEX can cause, returns the message of the error. Raises
 * other errors again.
 */
static char *
try_index_columns(Relation index, Datum *values, bool *nulls)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		index_columns(index, values, nulls);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	if (error == NULL)
		return NULL;
	/*
	 * The two categories are those of damage, including references to missing blocks, and a file that
	 * is missing or cannot be read. The two errors are raised if the types of included columns have
	 * changed.
	 */
	if (ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_INTERNAL_ERROR &&
	    ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_SYSTEM_ERROR &&
	    error->sqlerrcode != ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE &&
	    error->sqlerrcode != ERRCODE_FEATURE_NOT_SUPPORTED)
		ReThrowError(error);
	return error->message;
}

/*
 * index_columns: compute the columns of hybrid_get_index(), except `damage`. The caller has set all of
 * them to NULL.
 */
static void
index_columns(Relation index, Datum *values, bool *nulls)
{
	HybridIndex open;
	HybridTree tree;
	Tally tally;
	double target;

	values[6] = BoolGetDatum(hybrid_index_outdated(index));
	nulls[6] = false;
	if (DatumGetBool(values[6]))
		return;
	open = hybrid_index_open(index);
	hybrid_index_require_words(index, &open);
	hybrid_tree_read(index, &tree);
	memset(&tally, 0, sizeof(tally));
	tally_tree(&tally, index, &open, &tree);
	target = open.coded ? hybrid_scan_settings(index).target_recall : 1;
	memset(nulls, false, 6 * sizeof(bool));
	values[0] = Int64GetDatum(tally.live);
	values[1] = Int64GetDatum(tally.dead);
	values[2] = CStringGetTextDatum(hybrid_storage_name(open.layout.leaf.storage));
	values[3] = Float8GetDatum(target);
	/* if hybrid.probes fixes the number of lists, searches have no target recall */
	nulls[3] = target < 1 && hybrid_probes > 0;
	values[4] = CStringGetTextDatum(tree.curve.by_queries ? "queries" : "rows");
	nulls[4] = tree.curve.size == 0;
	values[5] = BoolGetDatum(hybrid_regroup_due(index, &open));
}

PG_FUNCTION_INFO_V1(hybrid_index_curve);
Datum
hybrid_index_curve(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation index = open_readable(PG_GETARG_OID(0));
	HybridTree tree;
	int i;

	InitMaterializedSRF(fcinfo, 0);
	(void) hybrid_index_open(index);
	hybrid_tree_read(index, &tree);
	for (i = 0; i < (int) tree.curve.size; i++)
	{
		const HybridCurvePoint *point = &tree.curve.points[i];
		Datum missing[HYBRID_DIFFICULTIES], values[3];
		bool unknown[HYBRID_DIFFICULTIES], nulls[3] = {false};
		int dims[] = {HYBRID_DIFFICULTIES}, first[] = {1}, j;

		for (j = 0; j < HYBRID_DIFFICULTIES; j++)
		{
			missing[j] = Float4GetDatum(point->missing[j]);
			unknown[j] = point->missing[j] < 0;
		}
		values[0] = Float4GetDatum(point->recall);
		values[1] = PointerGetDatum(construct_md_array(missing, unknown, 1, dims, first, FLOAT4OID,
		                                               sizeof(float4), true, TYPALIGN_INT));
		values[2] = Float4GetDatum(point->rows);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	relation_close(index, AccessShareLock);
	PG_RETURN_NULL();
}

/*
 * open_readable: open an index for its owner or for members of pg_stat_scan_tables. Raises an error for
 * other users.
 */
static Relation
open_readable(Oid oid)
{
	Relation index = hybrid_open_index(oid, AccessShareLock);

	if (!may_read(oid))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, RelationGetRelationName(index));
	return index;
}

static bool
may_read(Oid oid)
{
	return object_ownercheck(RelationRelationId, oid, GetUserId()) ||
	       has_privs_of_role(GetUserId(), ROLE_PG_STAT_SCAN_TABLES);
}

/*
 * try_readable: open an index of this access method. Returns NULL if the index is gone or not valid,
 * has no rows that this session can read, or if the user may not read it.
 */
static Relation
try_readable(Oid oid)
{
	Relation index;

	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(oid)) || !may_read(oid))
		return NULL;
	index = try_relation_open(oid, AccessShareLock);
	if (index == NULL)
		return NULL;
	if (index->rd_rel->relkind == RELKIND_INDEX && hybrid_is_our_index(index) &&
	    index->rd_index->indisvalid && !RELATION_IS_OTHER_TEMP(index) &&
	    !(RecoveryInProgress() && index->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED) &&
	    !OidIsValid(hybrid_citus_table(list_make1_oid(index->rd_index->indrelid))))
		return index;
	relation_close(index, AccessShareLock);
	return NULL;
}

static void
tally_tree(Tally *tally, Relation index, const HybridIndex *open, const HybridTree *tree)
{
	HybridLevel lists, below;
	int level;
	int64 i;

	hybrid_walk_root(tree, &lists);
	for (level = tree->height;; level--)
	{
		memset(&below, 0, sizeof(below));
		for (i = 0; i < lists.count; i++)
		{
			const HybridLink *list = &lists.lists[i].link;
			int64 live = tally_list(tally, index, &open->layout, list, level);

			if (level > 0)
			{
				tally->inner++;
				hybrid_walk_below(index, &open->layout, list, level, &below);
				continue;
			}
			tally->leaves++;
			tally->live += live;
			tally->least = Min(tally->least, live);
			tally->most = Max(tally->most, live);
		}
		hybrid_walk_free(&lists);
		if (level == 0)
			break;
		lists = below;
	}
}

/*
 * tally_list: count the pages of a list, and the dead entries of a leaf. Returns the number of live
 * entries of the list.
 */
static int64
tally_list(Tally *tally, Relation index, const HybridLayout *layout, const HybridLink *list,
           int level)
{
	const HybridListLayout *shape = hybrid_list_layout(layout, level);
	BlockNumber block = list->head;
	int64 live = 0;
	uint32 pages = 0;

	do
	{
		Buffer buffer = hybrid_list_read(index, layout, list, level, block, NULL);
		Page page = BufferGetPage(buffer);
		const HybridListPage *content = hybrid_list_page(page);

		(void) tally_pages(tally, shape, page);
		live += content->live;
		if (level == 0)
			tally->dead += content->used - content->live;
		block = content->next;
		UnlockReleaseBuffer(buffer);
		hybrid_chain_step(index, list, &pages);
	} while (BlockNumberIsValid(block));
	return live;
}

/* tally_pages: count a list page and the pages that it names. Returns the number of pages counted. */
static int64
tally_pages(Tally *tally, const HybridListLayout *shape, Page page)
{
	const BlockNumber *directory = hybrid_directory(page);
	int64 pages = 1;
	int i;

	tally->list_pages++;
	for (i = 0; i < shape->code_pages + shape->vector_pages; i++)
	{
		if (!BlockNumberIsValid(directory[i]))
			continue;
		pages++;
		if (i < shape->code_pages)
			tally->code_pages++;
		else
			tally->vector_pages++;
	}
	return pages;
}

/*
 * tally_moved: count the pages of moved lists that are not freed yet. The ring in the meta page names
 * these lists. If the ring is full, there may be more, so the whole file is read.
 */
static void
tally_moved(Tally *tally, Relation index, const HybridLayout *layout)
{
	Buffer buffer = ReadBuffer(index, HYBRID_META_BLOCK);
	PGAlignedBlock image;
	const HybridMeta *meta = hybrid_meta((Page) image.data);
	uint32 i;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	(void) hybrid_meta_check(index, BufferGetPage(buffer));
	memcpy(image.data, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	if (meta->moved_count >= HYBRID_MOVED_LISTS)
	{
		tally_moved_in_file(tally, index, layout);
		return;
	}
	for (i = 0; i < meta->moved_count; i++)
	{
		const HybridMovedList *moved = &meta->moved[(meta->moved_first + i) % HYBRID_MOVED_LISTS];
		HybridLink list = {moved->head, moved->generation};

		CHECK_FOR_INTERRUPTS();
		tally->moved_pages += moved_list_pages(index, layout, &list);
	}
}

/*
 * tally_moved_in_file: count the pages of moved lists by reading the heads of all moved lists in the
 * file.
 */
static void
tally_moved_in_file(Tally *tally, Relation index, const HybridLayout *layout)
{
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	BlockNumber blocks = RelationGetNumberOfBlocks(index), block;

	for (block = HYBRID_META_BLOCK + 1; block < blocks; block++)
	{
		Buffer buffer = ReadBufferExtended(index, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
		Page page = BufferGetPage(buffer);
		HybridLink list = {InvalidBlockNumber, 0};

		CHECK_FOR_INTERRUPTS();
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		if (hybrid_page_is_ours(page) && hybrid_special(page)->kind == HYBRID_PAGE_LIST &&
		    hybrid_special(page)->list == block &&
		    hybrid_list_page(page)->state == HYBRID_LIST_MOVED)
		{
			list.head = block;
			list.generation = hybrid_special(page)->generation;
		}
		UnlockReleaseBuffer(buffer);
		if (BlockNumberIsValid(list.head))
			tally->moved_pages += moved_list_pages(index, layout, &list);
	}
	FreeAccessStrategy(strategy);
}

/* moved_list_pages: return the number of pages of a moved list, or 0 if its pages have been reused. */
static int64
moved_list_pages(Relation index, const HybridLayout *layout, const HybridLink *list)
{
	const HybridListLayout *shape = NULL;
	BlockNumber block = list->head, blocks = RelationGetNumberOfBlocks(index);
	Tally unused;
	uint32 pages = 0;
	int64 found = 0;

	memset(&unused, 0, sizeof(unused));
	while (block < blocks)
	{
		Buffer buffer = ReadBuffer(index, block);
		Page page = BufferGetPage(buffer);

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		if (!hybrid_page_belongs(page, HYBRID_PAGE_LIST, list))
		{
			UnlockReleaseBuffer(buffer);
			break;
		}
		if (shape == NULL)
			shape = hybrid_list_layout(layout, hybrid_list_page(page)->level);
		found += tally_pages(&unused, shape, page);
		block = hybrid_list_page(page)->next;
		UnlockReleaseBuffer(buffer);
		hybrid_chain_step(index, list, &pages);
	}
	return found;
}

static Datum
row_of(TupleDesc descriptor, const HybridIndex *open, const HybridTree *tree, const Tally *tally,
       int64 blocks)
{
	const HybridLayout *layout = &open->layout;
	Size per_page = BLCKSZ - SizeOfPageHeaderData - MAXALIGN(sizeof(HybridPageSpecial));
	int64 center = 0, named;
	Datum values[20];
	bool nulls[20] = {false};
	int i = 0;

	if (BlockNumberIsValid(tree->center))
		center = (int64) ((layout->dims * sizeof(float) + per_page - 1) / per_page);
	named = 1 + center + tally->list_pages + tally->code_pages + tally->vector_pages +
	        tally->moved_pages;

	values[i++] = Int64GetDatum(tally->live);
	values[i++] = Int64GetDatum(tally->dead);
	values[i++] = Int32GetDatum(layout->dims);
	values[i++] = CStringGetTextDatum(hybrid_storage_name(layout->leaf.storage));
	values[i++] = Int32GetDatum(tree->height + 1);
	values[i++] = Int64GetDatum(tally->leaves);
	values[i++] = Int64GetDatum(tally->inner);
	/* an index that is a single list has no list_size, because the list is never split */
	nulls[i] = !open->coded;
	values[i++] = Int32GetDatum(open->list_size);
	values[i++] = Int64GetDatum(tally->least);
	values[i++] = Float8GetDatum((double) tally->live / tally->leaves);
	values[i++] = Int64GetDatum(tally->most);
	values[i++] = Int64GetDatum(blocks);
	values[i++] = Int64GetDatum(1 + center);
	values[i++] = Int64GetDatum(tally->list_pages);
	values[i++] = Int64GetDatum(tally->code_pages);
	values[i++] = Int64GetDatum(tally->vector_pages);
	values[i++] = Int64GetDatum(tally->moved_pages);
	values[i++] = Int64GetDatum(Max(blocks - named, 0));
	values[i++] = Int64GetDatum(blocks * BLCKSZ);
	nulls[i] = tree->curve.size == 0;
	values[i++] = CStringGetTextDatum(tree->curve.by_queries ? "queries" : "rows");
	Assert(i == descriptor->natts);
	return HeapTupleGetDatum(heap_form_tuple(descriptor, values, nulls));
}
