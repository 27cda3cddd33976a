/*
 * meta.c
 *		An open index: the meta page, read once, and the operator class's metric.
 *
 * The meta page is written when the index is built and never again, so what it says may be kept in
 * the relcache entry, which every build invalidates.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "index/index.h"

HybridIndex
hybrid_index_open(Relation index)
{
	Buffer buffer;
	Page page;
	HybridMeta meta;
	HybridIndex *open;
	HyMetric metric;

	if (index->rd_amcache != NULL)
		return *(const HybridIndex *) index->rd_amcache;

	metric = hybrid_index_metric(index);

	buffer = ReadBuffer(index, HYBRID_META_BLOCK);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	if (PageIsNew(page))
		ereport(ERROR,
		        (errcode(ERRCODE_INDEX_CORRUPTED),
		         errmsg("index \"%s\" has an empty meta page", RelationGetRelationName(index)),
		         errhint("REINDEX it.")));
	hybrid_page_check(index, NULL, page, HYBRID_META_BLOCK, HYBRID_PAGE_META);
	memcpy(&meta, PageGetContents(page), sizeof(meta));
	UnlockReleaseBuffer(buffer);

	if (meta.magic != HYBRID_INDEX_MAGIC)
		ereport(ERROR,
		        (errcode(ERRCODE_INDEX_CORRUPTED),
		         errmsg("index \"%s\" is not a hybrid index", RelationGetRelationName(index)),
		         errdetail("Magic number %08x instead of %08x.", meta.magic, HYBRID_INDEX_MAGIC)));
	if (meta.format != HYBRID_INDEX_FORMAT)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		                errmsg("index \"%s\" has format version %u, this library reads %u",
		                       RelationGetRelationName(index), meta.format, HYBRID_INDEX_FORMAT),
		                errhint("REINDEX it.")));
	if (meta.dims < 1 || meta.dims > HYBRID_MAX_DIM || meta.dtype >= HY_DTYPE_COUNT)
		ereport(ERROR,
		        (errcode(ERRCODE_INDEX_CORRUPTED),
		         errmsg("index \"%s\" has a damaged meta page", RelationGetRelationName(index)),
		         errdetail("%u dimensions, storage %u.", meta.dims, meta.dtype)));

	open = MemoryContextAllocZero(index->rd_indexcxt, sizeof(HybridIndex));
	open->metric = metric;
	hybrid_layout_init(&open->layout, (int) meta.dims, (HyDtype) meta.dtype);
	index->rd_amcache = open;
	return *open;
}

void
hybrid_index_define(Relation index, HybridIndex *definition)
{
	const HybridOptions *options = (const HybridOptions *) index->rd_options;
	Form_pg_attribute column = TupleDescAttr(RelationGetDescr(index), 0);
	int32 dims = column->atttypmod;

	/* a domain has the type modifier of what it is over */
	if (dims < 0)
		(void) getBaseTypeAndTypmod(column->atttypid, &dims);
	if (dims < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("column does not have dimensions"),
		                errhint("Declare it as vector(n), or index an expression such as "
		                        "((column::vector(3))).")));
	if (dims < 1 || dims > HYBRID_MAX_DIM)
		elog(ERROR, "unexpected number of dimensions: %d", dims);
	definition->metric = hybrid_index_metric(index);
	hybrid_layout_init(&definition->layout, dims,
	                   options != NULL ? (HyDtype) options->storage : HY_F32);
}

HyMetric
hybrid_index_metric(Relation index)
{
	FmgrInfo *procedure = index_getprocinfo(index, 1, HYBRID_METRIC_PROC);
	const HybridOpclass *opclass =
		(const HybridOpclass *) DatumGetPointer(FunctionCall1(procedure, PointerGetDatum(NULL)));

	return opclass->metric;
}

Relation
hybrid_open_index(Oid oid, LOCKMODE lock)
{
	Relation relation = relation_open(oid, lock);

	/* the routine of an index is in its relcache entry: the name of the access method is not asked */
	if (relation->rd_rel->relkind != RELKIND_INDEX || relation->rd_indam->ambuild != hybridbuild)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
		                errmsg("\"%s\" is not an index of access method hybrid",
		                       RelationGetRelationName(relation))));
	if (RELATION_IS_OTHER_TEMP(relation))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		                errmsg("cannot access temporary indexes of other sessions")));
	return relation;
}
